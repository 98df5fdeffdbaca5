/* late_replies.c - what was withdrawn, by the id of its request. */
#include "router/core/late_replies.h"

#include <stdlib.h>

#include "base/settings/requests.h"
#include "router/core/limit.h"
#include "router/core/shedding.h"

struct late_reply {
    uint64_t id; /* of the request */
    uint32_t node;
    uint64_t limit; /* gac_key_number of its table and kind */
    struct timer timer;
};

void late_replies_init(struct router *r)
{
    timer_queue_init(&r->late_timers, duration_ms(config_requests(r->config)->request_deadline_ms));
}

static void late_reply_end(struct router *r, struct late_reply *l, uint32_t hint)
{
    timer_stop(&l->timer);
    id_map_remove(&r->late_replies, l->id);
    shedding_answered(r, l->node, hint);
    free(l);
}

void late_replies_deinit(struct router *r)
{
    struct late_reply *l;
    while ((l = id_map_any(&r->late_replies)) != NULL) {
        id_map_remove(&r->late_replies, l->id);
        free(l);
    }
    id_map_deinit(&r->late_replies);
}

void late_reply_expect(struct router *r, const struct subrequest *s)
{
    struct late_reply *l = must_calloc(1, sizeof *l);
    *l = (struct late_reply){
        .id = s->request.id, .node = s->node, .limit = gac_key_number(limit_key_of(s))};
    id_map_add(&r->late_replies, l->id, l);
    timer_start(&l->timer, &r->late_timers, r->now);
}

void late_reply_take(struct router *r, uint32_t node, const struct reply *reply)
{
    struct late_reply *l = id_map_find(&r->late_replies, reply->id);
    if (l == NULL || l->node != node)
        return;
    shedding_note_verdict(r, l->limit, &reply->verdict);
    late_reply_end(r, l, reply->overload_hint);
}

void late_replies_node_lost(struct router *r, uint32_t node)
{
    for (struct timer *t = TAILQ_FIRST(&r->late_timers.timers), *next; t != NULL; t = next) {
        struct late_reply *l = TIMER_OWNER(t, struct late_reply, timer);
        next = TAILQ_NEXT(t, entry);
        if (l->node == node)
            late_reply_end(r, l, 0);
    }
}

void late_reply_expire(struct router *r, struct timer *t)
{
    late_reply_end(r, TIMER_OWNER(t, struct late_reply, timer), 0);
}
