/* controller.c - an evaluation of the controller: its decisions and their answers. */
#include "control/controller.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/settings/control.h"
#include "control/controller_internal.h"

enum {
    SPREAD_AFTER_MS = 10000 /* after a new term: by then the loads of nodes are known */
};

struct controller *controller_create(const struct config *config)
{
    struct controller *c = must_calloc(1, sizeof *c);
    c->config = config;
    return c;
}

void controller_destroy(struct controller *c)
{
    if (c == NULL)
        return;
    control_history_deinit(c);
    control_split_reset(c);
    control_advice_reset(c);
    control_split_hold_deinit(c);
    arena_deinit(&c->arena);
    free(c);
}

struct instant controller_deadline(const struct controller *c, uint64_t term,
                                   struct instant urgent_at)
{
    if (term == 0)
        return INSTANT_NEVER;
    if (term != c->term)
        return (struct instant){0};
    return instant_before(c->now, urgent_at) ? instant_earlier(c->next_at, urgent_at) : c->next_at;
}

/* ---- decisions ---- */

void control_event(struct controller *c, struct decision *d, enum event_kind kind,
                   const struct table *t, uint32_t partition, const char *format, ...)
{
    char text[EVENT_TEXT_SIZE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    d->has_event = true;
    d->event = (struct event){.kind = kind,
                              .table_id = t == NULL ? 0 : t->id,
                              .partition = partition,
                              .table = t == NULL ? slice_make(NULL, 0) : t->name,
                              .reason = arena_copy(&c->arena, slice_of(text))};
}

void control_figures(struct decision *d, const char *what, int64_t before, int64_t after)
{
    must_in_tests(d->has_event);
    d->event.figure = slice_of(what);
    d->event.before = before;
    d->event.after = after;
}

const char *control_kind_name(enum admit_kind kind)
{
    return kind == ADMIT_READ ? "read" : "write";
}

struct request *control_add_request(struct controller *c, uint32_t node, enum request_op op)
{
    must(control_has_room(c));
    struct control_request *r = &c->requests[c->request_count++];
    *r = (struct control_request){.node = node,
                                  .request = {.id = CONTROL_ID_BIT | ++c->next_id, .op = op}};
    return &r->request;
}

void control_decide(struct controller *c, enum catalog_op op, struct decision *d)
{
    must_in_tests(d->has_event || d->table_id != 0);
    must(!c->kept_waiting); /* CONTROL-1 */
    struct buffer body = {0};
    decision_encode(&body, d);
    struct request *r = control_add_request(c, c->view->self, REQUEST_DECIDE);
    r->decide.op = (uint8_t)op;
    r->decide.decision = arena_take(&c->arena, &body);
    c->unanswered++;
}

const struct control_request *controller_next_request(struct controller *c)
{
    return c->request_next < c->request_count ? &c->requests[c->request_next++] : NULL;
}

void controller_reply(struct controller *c, const struct reply *reply)
{
    must(c->request_count <= DECISIONS_MAX && c->request_next <= c->request_count);
    uint64_t id = reply->id & ~CONTROL_ID_BIT, first = c->next_id - c->request_count + 1;
    if (control_split_reply(c, reply))
        return;
    if (id < first || id > c->next_id || c->unanswered == 0)
        return;
    c->unanswered--;
    if (c->unanswered == 0 && c->kept_waiting)
        c->next_at = c->now;
}

/* ---- an evaluation ---- */

/* A new term: earlier knowledge is outdated. */
static void control_begin(struct controller *c, const struct control_view *view)
{
    control_history_deinit(c);
    c->term = view->term;
    control_split_reset(c);
    c->unanswered = 0;
    c->adapted_at = c->balanced_at = c->peaks_at = c->peaks_quiet_until = c->now;
    c->spread_at = instant_add_ms(c->now, SPREAD_AFTER_MS);
    memset(c->key_sharding_notes, 0, sizeof c->key_sharding_notes);
    control_advice_reset(c);
    control_split_hold_deinit(c);
    c->advised_at = c->now;
    for (uint32_t node = 0; node <= NODES_MAX; node++)
        c->nodes[node] = (struct node_history){
            .unresponsive_since = INSTANT_NEVER, .quiet_until = c->now, .sampled_at = c->now};
}

/* What was decided was within what nodes have, or was there before: no sum falls below zero. */
static bool reservations_are_valid(const struct controller *c)
{
    for (uint32_t node = 1; node <= c->view->node_count; node++) {
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            if (c->reservations.loads_mcu[node][kind] < 0)
                return false;
        }
    }
    return true;
}

void controller_evaluate(struct controller *c, struct instant now, const struct control_view *view)
{
    must(c->request_next == c->request_count);
    must_in_tests(!instant_before(now, c->now));
    must_in_tests(view->term != 0 && view->self >= 1 && view->self <= view->node_count);
    must(view->node_count <= NODES_MAX);
    c->now = now;
    c->view = view;
    if (view->term != c->term)
        control_begin(c, view);
    c->next_at = instant_add_ms(now, config_control(c->config)->control_ms);
    control_history_update(c);
    control_split_hold_update(c);
    if (config_control(c->config)->control_merge)
        control_note_cold(c);
    c->kept_waiting = c->unanswered > 0 && instant_before(now, c->timeout_at);
    if (c->kept_waiting)
        return;
    c->unanswered = c->request_count = c->request_next = c->moved_count = 0;
    c->timeout_at = instant_add_ms(now, config_control(c->config)->control_answer_ms);
    arena_reset(&c->arena);
    catalog_count_reservations(view->catalog, CATALOG_TABLE_ID, &c->reservations);
    if (config_control(c->config)->control_placement)
        control_place(c);
    if (config_control(c->config)->control_adaptive)
        control_adapt(c);
    if (config_control(c->config)->control_on_demand)
        control_on_demand(c);
    control_indexes(c);
    control_streams(c);
    if (config_control(c->config)->control_key_sharding)
        control_key_sharding(c);
    if (config_control(c->config)->control_advice)
        control_advise(c);
    if (config_control(c->config)->control_split)
        control_split(c);
    if (config_control(c->config)->control_merge)
        control_merge(c);
    if (config_control(c->config)->control_balance)
        control_balance(c);
    if (config_control(c->config)->control_leaders)
        control_lead(c);
    must_in_tests(reservations_are_valid(c));
}
