/* node_server.c - events in, effects out, and the controller beside the node. */
#include "server/node_server.h"

#include <stdlib.h>

#include "base/settings/storage.h"
#include "control/controller.h"
#include "control/decision_points.h"
#include "server/node_recovery.h"
#include "server/node_space.h"

/* A read that pages in data for the node. */
struct node_touch {
    LIST_ENTRY(node_touch) entry;
    struct node_server *server; /* borrows */
    uint32_t ticket;
    bool reverse;
    struct slice key; /* lends until node_touched */
    uint64_t bytes;
};

struct node_server {
    struct node_server_options options;
    struct node *node;               /* owns */
    struct controller *controller;   /* owns; active while the node leads the catalog */
    LIST_HEAD(, node_touch) touches; /* owns; reads without an answer */
    enum status checkpoint_status;   /* the job's, until its answer */
    uint64_t segment_bytes;
    uint64_t next_lsn; /* until the start */
    uint64_t replayed;
    struct node_space space;
    uint32_t calls; /* of functions of this driver that have not returned */
};

static void server_enter(struct node_server *s)
{
    s->calls++;
}

static void server_leave(struct node_server *s)
{
    must(s->calls > 0);
    s->calls--;
}

/* An answer comes. It is taken in no other call, unless a port refuses at once. */
static void server_enter_answer(struct node_server *s, bool refused)
{
    must(s->calls == 0 || refused); /* PORT-2 */
    server_enter(s);
}

static struct instant server_now(const struct node_server *s)
{
    return s->options.clock.now(s->options.clock.context);
}

/* ---- effects ---- */

static void effects_take(struct node_server *s);

static void checkpoint_job(void *argument)
{
    struct node_server *s = argument;
    s->checkpoint_status = store_checkpoint_write(node_store(s->node));
}

static void checkpoint_done(void *argument)
{
    struct node_server *s = argument;
    server_enter_answer(s, false);
    node_checkpoint_done(s->node, server_now(s), s->checkpoint_status);
    effects_take(s);
    server_leave(s);
}

static void touch_job(void *argument)
{
    struct node_touch *t = argument;
    store_touch(node_store(t->server->node), t->key, t->reverse, t->bytes);
}

static void touch_done(void *argument)
{
    struct node_touch *t = argument;
    struct node_server *s = t->server;
    uint32_t ticket = t->ticket;
    server_enter_answer(s, false);
    LIST_REMOVE(t, entry);
    free(t);
    node_touched(s->node, server_now(s), ticket);
    effects_take(s);
    server_leave(s);
}

static void touch_begin(struct node_server *s, const struct node_effect *e)
{
    struct node_touch *t = must_calloc(1, sizeof *t);
    *t = (struct node_touch){.server = s,
                             .ticket = e->touch.ticket,
                             .reverse = e->touch.reverse,
                             .key = e->touch.key,
                             .bytes = e->touch.bytes};
    LIST_INSERT_HEAD(&s->touches, t, entry);
    s->options.work.submit(s->options.work.context, WORK_READ, touch_job, touch_done, t);
}

static void effect_take(struct node_server *s, const struct node_effect *e)
{
    const struct message_port *m = &s->options.messages;
    switch (e->kind) {
    case NODE_REPLY:
        if (e->to == CONTROL_FROM)
            controller_reply(s->controller, &e->reply);
        else
            m->reply(m->context, e->to, &e->reply);
        break;
    case NODE_REQUEST:
        m->request(m->context, (uint32_t)e->to, &e->request);
        break;
    case NODE_SEND:
        m->envelope(m->context, (uint32_t)e->to, e->frame);
        break;
    case NODE_CHECKPOINT:
        s->options.work.submit(s->options.work.context, WORK_CHECKPOINT, checkpoint_job,
                               checkpoint_done, s);
        break;
    case NODE_TOUCH:
        touch_begin(s, e);
        break;
    case NODE_TRIM_LOG:
        s->options.log.trim(s->options.log.context, e->lsn / s->segment_bytes);
        break;
    }
}

static void effects_take(struct node_server *s)
{
    const struct node_effect *e;
    while ((e = node_next_effect(s->node)) != NULL)
        effect_take(s, e);
    if (s->options.stepped != NULL)
        s->options.stepped(s->options.stepped_context);
}

/* ---- events ---- */

void node_server_request(struct node_server *s, uint64_t from, const struct request *r)
{
    const struct clock_port *clock = &s->options.clock;
    const struct waiting waited = clock->waited(clock->context);
    server_enter(s);
    node_request(s->node, server_now(s), waited, from, r);
    effects_take(s);
    server_leave(s);
}

void node_server_reply(struct node_server *s, const struct reply *r)
{
    if (r->id & CONTROL_ID_BIT) {
        controller_reply(s->controller, r);
        return;
    }
    server_enter(s);
    node_reply(s->node, server_now(s), r);
    effects_take(s);
    server_leave(s);
}

enum status node_server_envelope(struct node_server *s, struct slice frame)
{
    server_enter(s);
    enum status status = node_receive(s->node, server_now(s), frame);
    effects_take(s);
    server_leave(s);
    return status;
}

void node_server_segment_made(struct node_server *s, int error)
{
    server_enter_answer(s, error != 0);
    node_space_made(&s->space, server_now(s), error);
    server_leave(s);
}

void node_server_log_written(struct node_server *s, uint64_t lsn, int error)
{
    server_enter_answer(s, error != 0);
    node_log_written(s->node, server_now(s), lsn, error);
    effects_take(s);
    server_leave(s);
}

/* ---- turns ---- */

static void clock_set(struct node_server *s, struct instant now)
{
    const struct clock_port *clock = &s->options.clock;
    node_set_wall_clock(s->node, now, clock->wall_ms(clock->context));
}

static struct instant control_deadline(const struct node_server *s)
{
    return controller_deadline(s->controller, node_control_term(s->node),
                               node_control_urgent(s->node));
}

/* The controller evaluates, and the node executes its decisions. */
static void control_evaluate(struct node_server *s)
{
    const struct message_port *m = &s->options.messages;
    struct instant now = server_now(s);
    if (instant_before(now, control_deadline(s)))
        return;
    struct control_view view;
    node_control_view(s->node, &view);
    controller_evaluate(s->controller, now, &view);
    const struct control_request *r;
    while ((r = controller_next_request(s->controller)) != NULL) {
        if (r->node != s->options.node.id) {
            m->request(m->context, r->node, &r->request);
            continue;
        }
        node_request(s->node, now, (struct waiting){0}, CONTROL_FROM, &r->request);
        effects_take(s);
    }
}

static void batches_write(struct node_server *s)
{
    const struct log_batch *b;
    while ((b = node_next_batch(s->node)) != NULL)
        s->options.log.append(s->options.log.context, b->lsn, buffer_slice(&b->bytes));
}

void node_server_turn(struct node_server *s)
{
    struct instant now = server_now(s);
    server_enter(s);
    clock_set(s, now);
    if (!instant_before(now, node_deadline(s->node))) {
        node_tick(s->node, now);
        effects_take(s);
    }
    control_evaluate(s);
    node_space_prepare(&s->space, now);
    node_end_turn(s->node, now);
    effects_take(s);
    batches_write(s);
    server_leave(s);
}

struct instant node_server_deadline(const struct node_server *s)
{
    struct instant t = instant_earlier(node_deadline(s->node), control_deadline(s));
    return instant_earlier(t, node_space_deadline(&s->space));
}

struct node *node_server_node(struct node_server *s)
{
    return s->node;
}

uint64_t node_server_replayed(const struct node_server *s)
{
    return s->replayed;
}

/* ---- life ---- */

static enum status server_recover(struct node_server *s, struct store *store, struct buffer *error)
{
    enum status status = node_create(&s->options.node, store, error, &s->node);
    if (status != STATUS_OK) {
        s->node = NULL;
        return status;
    }
    struct node_recovery recovery = {.node = s->node,
                                     .log = &s->options.log,
                                     .place = s->options.place,
                                     .segment_bytes = s->segment_bytes};
    status = node_recover(&recovery, error);
    s->next_lsn = recovery.next_lsn;
    s->replayed = recovery.replayed;
    return status;
}

enum status node_server_open(const struct node_server_options *options, struct store *store,
                             struct buffer *error, struct node_server **out)
{
    if (control_policies_check(options->node.config, error) != STATUS_OK) {
        store_destroy(store);
        return STATUS_MALFORMED;
    }
    struct node_server *s = must_calloc(1, sizeof *s);
    s->options = *options;
    s->segment_bytes = (uint64_t)config_storage(options->node.config)->log_segment_bytes;
    LIST_INIT(&s->touches);
    s->controller = controller_create(options->node.config);
    enum status status = server_recover(s, store, error);
    if (status != STATUS_OK) {
        node_server_destroy(s);
        return status;
    }
    node_space_init(&s->space, &s->options.log, s->node, s->segment_bytes,
                    s->next_lsn / s->segment_bytes);
    *out = s;
    return STATUS_OK;
}

void node_server_start(struct node_server *s)
{
    struct instant now = server_now(s);
    clock_set(s, now);
    server_enter(s);
    node_start(s->node, now, s->segment_bytes, s->next_lsn);
    node_space_prepare(&s->space, now);
    effects_take(s);
    server_leave(s);
}

void node_server_destroy(struct node_server *s)
{
    if (s == NULL)
        return;
    for (struct node_touch *t; (t = LIST_FIRST(&s->touches)) != NULL;) {
        LIST_REMOVE(t, entry);
        free(t);
    }
    controller_destroy(s->controller);
    if (s->node != NULL)
        node_destroy(s->node);
    free(s);
}
