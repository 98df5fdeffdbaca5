/* hedges.c - reads that a client sends a second time while the first attempt is out.
 *
 * Both attempts are admitted, refused and worked on as any other. The client takes the first good
 * answer, and does not look at the other one. If the first attempt fails while its hedge is out,
 * the client waits for the hedge. */
#include "lab/fidelity/admission/model_internal.h"

/* A read of a workload that hedges, from the sending of an attempt on. */
struct model_pair {
    STAILQ_ENTRY(model_pair) entry;
    struct model_request first; /* as it was sent */
    uint32_t out;               /* attempts without an answer */
    uint32_t users;             /* those, and the time at which the hedge is due */
    bool over;                  /* the client has its answer */
};

static struct model_pair *pair_take(struct model *m)
{
    struct model_pair *p = STAILQ_FIRST(&m->pairs);
    if (p != NULL)
        STAILQ_REMOVE_HEAD(&m->pairs, entry);
    else
        p = arena_alloc(&m->pool, sizeof *p);
    *p = (struct model_pair){.out = 1, .users = 1};
    return p;
}

static void pair_release(struct model *m, struct model_pair *p)
{
    if (--p->users == 0)
        STAILQ_INSERT_HEAD(&m->pairs, p, entry);
}

static void hedge_due(void *context, uint64_t argument)
{
    struct model_pair *p = context;
    struct model_source *s = p->first.source;
    struct model *m = s->model;
    (void)argument;
    if (!p->over && hedge_take(&s->hedges[p->first.client])) {
        struct model_request hedge = p->first;
        hedge.hedge = true;
        hedge.sent_ns = m->scheduler.now.ns;
        hedge.router = demand_other_router(p->first.router, m->router_count, &s->hedging);
        p->out++;
        p->users++;
        model_routers_submit(m, &hedge);
    }
    pair_release(m, p);
}

void model_hedges_begin(struct model *m, struct model_request *r)
{
    struct model_source *s = r->source;
    r->pair = NULL;
    r->hedge = false;
    r->measured_mcu = 0;
    if (s->hedges == NULL || traffic_kind_writes(r->traffic.kind))
        return;
    const int64_t delay_ns = hedge_begin(&s->hedges[r->client], &s->workload->hedge);
    r->pair = pair_take(m);
    r->pair->first = *r;
    r->pair->first.pooled = false;
    if (delay_ns < 0)
        return;
    r->pair->users++;
    model_in(m, delay_ns, hedge_due, r->pair, 0);
}

/* What the client learns of the latency: a first attempt that lost was out until now. */
static void pair_learn(struct model *m, const struct model_pair *p, const struct model_request *r,
                       enum retry_result result)
{
    const bool first_is_late = !r->hedge && result == RETRY_TIMEOUT;
    if (result == RETRY_DONE || first_is_late)
        hedge_learn(&r->source->hedges[r->client], m->scheduler.now.ns - p->first.sent_ns);
}

/* The latency of what was admitted: until the answer, even if the client has given it up. */
static void pair_report(struct model *m, const struct model_request *r, enum retry_result result)
{
    const int64_t end_ns = result == RETRY_DONE ? m->scheduler.now.ns : r->done_ns;
    if (r->measured_mcu > 0)
        measure_finish(m->measure, r->measured_flow, r->measured_mcu, end_ns - r->due_ns);
    if (r->hedge && result == RETRY_DONE)
        measure_hedge_won(m->measure, r->measured_flow);
}

bool model_hedges_answered(struct model *m, struct model_request *r, enum retry_result result)
{
    struct model_pair *p = r->pair;
    p->out--;
    const bool counts = !p->over && (result == RETRY_DONE || p->out == 0);
    if (!p->over)
        pair_learn(m, p, r, result);
    if (counts) {
        p->over = true;
        pair_report(m, r, result);
    }
    pair_release(m, p);
    r->pair = NULL;
    return counts;
}
