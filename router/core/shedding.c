/* shedding.c - requests that the router refuses because it, or a node, has too much work. */
#include "router/core/shedding.h"

#include <stdlib.h>

#include "engine/message/request_traits.h"
#include "router/core/limit.h"
#include "router/core/router_internal.h"

void shedding_init(struct router *r)
{
    overload_init(&r->overload, r->config);
    r->overload_peers = must_calloc(r->options.node_count + 1, sizeof r->overload_peers[0]);
}

void shedding_deinit(struct router *r)
{
    free(r->overload_peers);
}

static struct overload_arrival shedding_arrival(const struct router *r, const struct subrequest *s)
{
    return (struct overload_arrival){.now = r->now,
                                     .waited = s->waited,
                                     .within_limit = s->within_limit,
                                     .key_hash =
                                         storage_key_bound_hash(request_key(&s->request), 0)};
}

bool shedding_arrive(struct router *r, struct subrequest *s, bool within_limit)
{
    s->waited = r->waited.all;
    s->within_limit = within_limit || s->waited.ns <= r->overload.target_ns;
    struct overload_arrival a = shedding_arrival(r, s);
    a.now = instant_add(r->now, r->waited.ahead);
    if (overload_arrive(&r->overload, &a))
        return true;
    r->counters.shed++;
    s->shed = "the request has waited too long for the router's processor";
    subrequest_refuse_later(r, s);
    return false;
}

bool shedding_may_send(struct router *r, struct subrequest *s)
{
    const struct overload_arrival a = shedding_arrival(r, s);
    if (overload_may_send(&r->overload, &r->overload_peers[s->node], &a))
        return true;
    r->counters.shed++;
    s->shed = "the node has reported overload";
    return false;
}

bool shedding_is_excess(const struct router *r, struct gac_key table)
{
    return overload_is_excess(&r->excess, gac_key_number(table), r->now);
}

void shedding_note_reply(struct router *r, const struct subrequest *s, const struct reply *reply)
{
    if (traits_of(&s->request)->data)
        shedding_note_verdict(r, gac_key_number(limit_key_of(s)), &reply->verdict);
}

void shedding_note_verdict(struct router *r, uint64_t limit, const struct admit_verdict *verdict)
{
    if (verdict->burst || verdict->reason == ADMIT_REFUSED_OVERLOAD)
        overload_note_excess(&r->excess, limit, r->now);
}

void shedding_answered(struct router *r, uint32_t node, uint32_t hint)
{
    overload_answered(&r->overload, &r->overload_peers[node], r->now, hint);
}
