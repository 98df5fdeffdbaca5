/* hedges.c - reads that a client sends a second time while the first attempt is out.
 *
 * The rules are those of lab/fidelity/admission/hedges.c. */
#include "lab/clients/clients_internal.h"

static struct hedge *hedge_of(const struct attempt *a)
{
    return &a->source->hedges[a->client];
}

static void hedge_send(struct clients *c, struct attempt *first)
{
    struct clients_source *s = first->source;
    struct attempt *a = attempt_take(c);
    const uint32_t router = demand_other_router(first->pool->router, c->router_count, &s->hedging);
    *a = (struct attempt){.source = s,
                          .copy = first->copy,
                          .traffic = first->traffic,
                          .retry = first->retry,
                          .due_ns = first->due_ns,
                          .client = first->client,
                          .pool = &s->workload->pools[router],
                          .sent_ns = first->sent_ns,
                          .other = first,
                          .hedge = true};
    first->other = a;
    pool_submit(c, a);
}

/* `argument`: the serial of the attempt, whose memory may have another use by now. */
static void hedge_due(void *context, uint64_t argument)
{
    struct attempt *a = context;
    if (a->serial == argument && hedge_take(hedge_of(a)))
        hedge_send(a->source->workload->clients, a);
}

void hedges_begin(struct clients *c, struct attempt *a)
{
    struct clients_source *s = a->source;
    a->serial = ++c->attempts;
    a->sent_ns = clients_now_ns(c);
    if (s->hedges == NULL || traffic_kind_writes(a->traffic.kind))
        return;
    const int64_t delay_ns = hedge_begin(hedge_of(a), &s->workload->scenario->hedge);
    if (delay_ns >= 0)
        scheduler_at(c->options.scheduler,
                     (struct instant){c->options.scheduler->now.ns + delay_ns}, hedge_due, a,
                     a->serial);
}

/* What the client learns of the latency: a first attempt that lost was out until now. */
static void hedges_learn(struct clients *c, const struct attempt *a, enum retry_result result)
{
    const bool first_is_late = !a->hedge && result == RETRY_TIMEOUT;
    if (a->source->hedges != NULL && !traffic_kind_writes(a->traffic.kind) &&
        (result == RETRY_DONE || first_is_late))
        hedge_learn(hedge_of(a), clients_now_ns(c) - a->sent_ns);
}

bool hedges_answered(struct clients *c, struct attempt *a, enum retry_result result)
{
    struct attempt *other = a->other;
    a->serial = 0; /* it is not hedged any more */
    if (a->unawaited)
        return false;
    hedges_learn(c, a, result);
    if (other == NULL)
        return true;
    a->other = other->other = NULL;
    if (result != RETRY_DONE)
        return false;
    other->unawaited = true;
    other->serial = 0;
    return true;
}
