/* transact_get_items.c - TransactGetItems: many items as they are at one moment.
 *
 * All items are read. Then each partition is asked whether its items are still as they were. If so,
 * all of them were so at the moment between. If not, all is done again, a few times. */
#include "base/settings/requests.h"
#include "router/expression/expressions.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/transact.h"
#include "router/partiql/statement.h"
#include "router/plan/transact_owners.h"

enum {
    ATTEMPTS_MAX = 5
};

static const struct expression_members MEMBERS = {
    .idle = true,
    .names = GET_EXPRESSION_ATTRIBUTE_NAMES,
    .expressions = {[PARAMETER_PROJECTION] = GET_PROJECTION_EXPRESSION}};

/* ---- the request alone ---- */

static bool get_read(struct call *c, struct item_plan *plan, struct transact_get *t,
                     const struct json_value *value)
{
    struct json_value outer[SHAPE_MEMBERS_MAX], m[SHAPE_MEMBERS_MAX];
    struct item_request *q = &plan->items[plan->count];
    struct fault *f = call_fault(c);
    struct expressions e = {0};
    shape_bind(&shape_transact_get_item, value, outer);
    shape_bind(&shape_get, &outer[TRANSACT_GET_ITEM_GET], m);
    q->op = REQUEST_GET;
    q->consistent = true;
    q->table = transact_table(c, plan, call_table_named(c, &m[GET_TABLE_NAME]));
    if (!expressions_check(&MEMBERS, m, &e, f) ||
        !value_read_item(&c->bytes, &c->arena, &m[GET_KEY], &q->item, f) ||
        !expressions_read(&MEMBERS, m, &c->arena, &e, f))
        return false;
    t->shown[plan->count++] = e.projection;
    return true;
}

void transact_gets_init(struct call *c, struct transact_get *t, uint32_t count)
{
    t->ends = arena_zalloc(&c->arena, count * sizeof *t->ends);
    t->shown = arena_zalloc(&c->arena, count * sizeof *t->shown);
}

static bool transact_get_begin(struct call *c, const struct json_value m[])
{
    const struct json_value *list = &m[TRANSACT_GET_ITEMS_TRANSACT_ITEMS];
    const uint32_t count = (uint32_t)json_count(list);
    struct transact_get *t = arena_zalloc(&c->arena, sizeof *t);
    struct item_plan *plan = item_plan_create(c, count, count);
    struct json_cursor cursor = json_elements(list);
    struct json_value value;
    c->state = t;
    transact_gets_init(c, t, count);
    call_take_consumed(c, &m[TRANSACT_GET_ITEMS_RETURN_CONSUMED_CAPACITY]);
    plan->count = plan->table_count = 0; /* reading counts them up */
    while (plan->count < count && json_next_element(&cursor, &value)) {
        if (!get_read(c, plan, t, &value))
            return false;
    }
    items_begin(c, plan);
    return true;
}

/* ---- requests to nodes ---- */

static void get_send(struct call *c, bool checks)
{
    struct transact_get *t = c->state;
    t->checks = checks;
    for (uint32_t i = 0; i < c->plan->count; i++) {
        const struct item_request *q = &c->plan->items[i];
        struct subrequest *s = call_request(c, c->plan->tables[q->table].route,
                                            checks ? REQUEST_UNCHANGED : REQUEST_GET);
        s->index = i;
        if (checks) {
            s->request.unchanged.key = q->key;
            s->request.unchanged.since = t->ends[i].stamp;
        } else {
            s->request.get.key = q->key;
            s->request.get.consistent = s->request.get.transacts = true;
        }
        subrequest_start(c->router, s);
    }
}

bool transact_gets_send(struct call *c)
{
    if (!transact_keys_differ(c, c->plan))
        return false;
    get_send(c, false);
    return true;
}

static bool transact_get_ready(struct call *c)
{
    const struct transact_get *t = c->state;
    return transact_find_keys(c, t->ends, t->shown) && transact_gets_send(c);
}

/* ---- replies ---- */

bool transact_get_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct transact_get *t = c->state;
    transact_take_route(c, s);
    if (!t->checks)
        part_take(c, &t->ends[s->index], s, r);
    else if (r->code == REPLY_STALE_MAP)
        t->ends[s->index].code = REPLY_LOCKED; /* the item may have gone to another shard */
    else if (r->code != REPLY_OK)
        t->ends[s->index].code = r->code;
    if (r->code == REPLY_STALE_MAP)
        return true;
    if (r->code == REPLY_OK || part_cancels(r->code) || t->failed != NULL)
        return true;
    t->failed = s;
    t->failure = *r;
    t->failure.kind = ANSWER_NONE;
    t->failure.text = arena_copy(&c->arena, r->text);
    return true;
}

/* An item that has nothing of what is shown is left out, unlike in GetItem's answer. */
static void get_write_item(struct call *c, struct slice item, const struct projection *shown)
{
    struct buffer *scratch = &c->router->scratch;
    if (shown != NULL) {
        buffer_clear(scratch);
        projection_append(scratch, shown, item);
        item = buffer_slice(scratch);
        if (item_count(item) == 0)
            return;
    }
    json_write_key(&c->body, "Item");
    value_write_item(&c->body, item);
}

static void get_write_part(struct call *c, const struct transact_get *t, uint32_t i)
{
    json_write_open(&c->body, '{');
    if (t->ends[i].item.size > 0 && t->columns) {
        json_write_key(&c->body, "Item");
        statement_write_row(&c->body, t->shown[i], t->ends[i].item);
    } else if (t->ends[i].item.size > 0) {
        get_write_item(c, t->ends[i].item, t->shown[i]);
    }
    json_write_close(&c->body, '}');
}

static bool get_write_parts(struct call *c, struct transact_get *t)
{
    const size_t begin = c->body.size;
    for (; t->written < c->plan->count; t->written++) {
        if (call_ends_turn(c, begin))
            return true;
        get_write_part(c, t, t->written);
    }
    json_write_closes(&c->body, "]}");
    return true;
}

static bool get_begin_answer(struct call *c, struct transact_get *t)
{
    t->decided = true;
    c->router->counters.transactions_committed++;
    json_write_open(&c->body, '{');
    transact_write_capacity(c, t->ends);
    json_member_open(&c->body, "Responses", '[');
    return get_write_parts(c, t);
}

static bool transact_reads_fit(struct call *c, const struct transact_get *t)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < c->plan->count; i++)
        bytes += t->ends[i].item.size > 0 ? item_size(t->ends[i].item) : 0;
    return transact_bytes_fit(c, bytes);
}

bool transact_get_finish(struct call *c)
{
    struct transact_get *t = c->state;
    bool conflicts = false, cancels = false;
    if (t->decided)
        return get_write_parts(c, t);
    if (t->failed != NULL)
        return call_refuse(c, t->failed, &t->failure);
    for (uint32_t i = 0; i < c->plan->count; i++) {
        conflicts |= t->ends[i].code == REPLY_LOCKED;
        cancels |= t->ends[i].code != REPLY_OK && t->ends[i].code != REPLY_LOCKED;
    }
    const struct duration deadline =
        duration_ms(config_requests(c->router->config)->request_deadline_ms);
    const bool late = instant_since(c->router->now, c->begun).ns >= deadline.ns;
    if (cancels || (conflicts && (++t->attempts == ATTEMPTS_MAX || late)))
        return transact_cancel(c, t->ends, c->plan->count);
    if (conflicts || (!t->checks && c->plan->count > 1)) {
        get_send(c, !conflicts);
        return true;
    }
    return transact_reads_fit(c, t) && get_begin_answer(c, t);
}

OPERATION(transact_get_items, "TransactGetItems", .begin = transact_get_begin,
          .ready = transact_get_ready, .reply = transact_get_reply, .finish = transact_get_finish);
