/* events.c - GET /weir/events[?after=N]: the latest decisions of the controller and their reasons,
 * as JSON. POST /weir/drain?node=N[&undo=1]: the controller drains a node; undo=1 ends that. */
#include <stdio.h>

#include "router/admin/pages.h"
#include "router/json/json_writer.h"

/* ---- events ---- */

static bool begin_events(struct call *c, UNUSED const struct json_value m[])
{
    static const char *const NAMES[] = {"after", NULL};
    struct slice text;
    if (!page_read_query(c, NAMES, &text))
        return false;
    int64_t after = slice_number(text);
    if (text.data != NULL && after < 0)
        return call_invalid(c, "after: the number of an event is expected, not '%.*s'",
                            SHOWN(text));
    struct subrequest *s = call_request(c, NULL, REQUEST_EVENTS);
    s->request.events.after = after > 0 ? (uint64_t)after : 0;
    subrequest_start(c->router, s);
    return true;
}

static void write_event(struct buffer *out, const struct event *e)
{
    json_write_open(out, '{');
    json_member_integer(out, "number", (int64_t)e->number);
    json_member_thousandths(out, "time", e->wall_ms);
    json_member_text(out, "kind", event_kind_name(e->kind));
    if (e->table.size > 0)
        json_member_string(out, "table", e->table);
    if (e->partition != 0)
        json_member_integer(out, "partition", e->partition);
    json_member_string(out, "reason", e->reason);
    if (e->figure.size > 0) {
        json_member_string(out, "figure", e->figure);
        json_member_integer(out, "before", e->before);
        json_member_integer(out, "after", e->after);
    }
    json_write_close(out, '}');
}

static bool reply_events(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct buffer *out = &c->body;
    struct reader records = {r->page.records, false};
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    json_write_open_with(out, "events", '[');
    while (records.left.size > 0) {
        struct reader record = {reader_sized(&records), false};
        struct event e;
        if (event_decode(&record, &e) != STATUS_OK)
            break;
        write_event(out, &e);
    }
    json_write_close(out, ']');
    json_member_bool(out, "more", r->page.more);
    json_write_close(out, '}');
    return true;
}

const struct operation operation_events = {
    .name = "events", .begin = begin_events, .reply = reply_events};

/* ---- drain ---- */

void page_send_decision(struct call *c, enum catalog_op op, const struct decision *d)
{
    struct buffer body = {0};
    struct subrequest *s = call_request(c, NULL, REQUEST_DECIDE);
    decision_encode(&body, d);
    s->request.decide.op = op;
    s->request.decide.decision = arena_take(&c->arena, &body);
    subrequest_start(c->router, s);
}

static bool begin_drain(struct call *c, UNUSED const struct json_value m[])
{
    static const char *const NAMES[] = {"node", "undo", NULL};
    struct slice values[2];
    if (!page_read_query(c, NAMES, values))
        return false;
    int64_t node = slice_number(values[0]);
    if (node < 1 || node > c->router->options.node_count)
        return call_invalid(c, "There is no node %.*s; nodes are 1 to %u", SHOWN(values[0]),
                            c->router->options.node_count);
    const bool undo = slice_is(values[1], "1");
    if (values[1].data != NULL && !undo)
        return call_invalid(c, "undo=%.*s: undo must be 1, or not be given", SHOWN(values[1]));
    struct decision d = {.to_node = (uint32_t)node,
                         .drain = !undo,
                         .has_event = true,
                         .event = {.kind = EVENT_NODE_DRAINED}};
    char reason[100];
    snprintf(reason, sizeof reason, "node %lld %s", (long long)node,
             undo ? "may hold replicas again" : "is drained, on request");
    d.event.reason = slice_of(reason);
    page_send_decision(c, CATALOG_DRAIN, &d);
    return true;
}

static bool reply_drain(struct call *c, struct subrequest *s, const struct reply *r)
{
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    buffer_append_text(&c->body, "{}");
    return true;
}

const struct operation operation_drain = {
    .name = "drain", .begin = begin_drain, .reply = reply_drain};
