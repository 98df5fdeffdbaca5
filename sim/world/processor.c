/* processor.c - the time at which work is done. */
#include "sim/world/processor.h"

#include "base/must.h"
#include "engine/admission/admission.h"

struct processor processor_make(int64_t cores)
{
    must(cores >= 1);
    return (struct processor){.cores = cores, .slow_ppm = PROCESSOR_PPM};
}

int64_t processor_cost_ns(const struct processor_costs *c, enum served_kind kind, int64_t requests,
                          int64_t mcu)
{
    const int64_t units = mcu / MCU_PER_UNIT;
    return requests * c->first_ns[kind] + (units > requests ? units - requests : 0) * c->unit_ns;
}

int64_t processor_takes_ns(const struct processor *p, int64_t ns)
{
    must(ns >= 0);
    return (int64_t)((__int128)ns * p->slow_ppm / PROCESSOR_PPM);
}

int64_t processor_wait_ns(const struct processor *p, struct instant now)
{
    return p->busy_until_ns > now.ns ? p->busy_until_ns - now.ns : 0;
}

int64_t processor_work(struct processor *p, struct instant now, int64_t ns)
{
    if (ns == 0)
        return 0;
    const int64_t wait_ns = processor_wait_ns(p, now), takes_ns = processor_takes_ns(p, ns);
    p->busy_until_ns = now.ns + wait_ns + takes_ns / p->cores;
    return wait_ns + takes_ns;
}

void processor_occupy(struct processor *p, struct instant now, int64_t ns)
{
    p->busy_until_ns += ns;
    if (p->busy_until_ns < now.ns)
        p->busy_until_ns = now.ns;
}

int64_t processor_serve(struct processor *p, struct instant now, const struct processor_costs *c,
                        enum served_kind kind, const struct served_totals *before,
                        const struct served_totals *after)
{
    const int64_t requests = after->kinds[kind].requests - before->kinds[kind].requests;
    const int64_t mcu = after->kinds[kind].mcu - before->kinds[kind].mcu;
    const int64_t all_ns = processor_cost_ns(c, kind, requests, mcu);
    if (requests <= 1) /* 0: a request of an earlier look turned out to cost more */
        return processor_work(p, now, all_ns);
    int64_t done_ns = 0;
    for (int64_t i = 0; i < requests; i++)
        done_ns = processor_work(p, now, all_ns / requests);
    return done_ns;
}
