/* processor.c - the time at which work is done. */
#include "sim/processor.h"

#include "base/must.h"
#include "engine/admission/admission.h"

struct processor processor_make(int64_t cores)
{
    must(cores >= 1);
    return (struct processor){.cores = cores, .slow_ppm = PROCESSOR_PPM};
}

static int64_t queue_wait_ns(int64_t until_ns, struct instant now)
{
    return until_ns > now.ns ? until_ns - now.ns : 0;
}

int64_t processor_wait_ns(const struct processor *p, struct instant now)
{
    return queue_wait_ns(p->busy_until_ns, now);
}

int64_t processor_own_wait_ns(const struct processor *p, struct instant now)
{
    return queue_wait_ns(p->own_until_ns, now);
}

/* `own`: the work waits for no work of others. */
static struct worked work_add(struct processor *p, struct instant now, int64_t ns, bool own)
{
    must(ns >= 0);
    if (ns == 0)
        return (struct worked){0};
    const int64_t wait_ns = processor_wait_ns(p, now);
    const int64_t own_wait_ns = processor_own_wait_ns(p, now);
    const struct worked w = {.wait_ns = own ? own_wait_ns : wait_ns,
                             .work_ns = (int64_t)((__int128)ns * p->slow_ppm / PROCESSOR_PPM)};
    p->busy_until_ns = now.ns + wait_ns + w.work_ns / p->cores;
    p->own_until_ns = now.ns + own_wait_ns + w.work_ns / p->cores;
    return w;
}

struct worked processor_work(struct processor *p, struct instant now, int64_t ns)
{
    return work_add(p, now, ns, false);
}

void processor_occupy(struct processor *p, struct instant now, int64_t ns)
{
    p->busy_until_ns += ns;
    if (p->busy_until_ns < now.ns)
        p->busy_until_ns = now.ns;
}

void processor_clear(struct processor *p)
{
    p->busy_until_ns = p->own_until_ns = 0;
}

struct worked processor_serve(struct processor *p, struct instant now,
                              const struct processor_costs *c, enum served_kind kind,
                              const struct served *before, const struct served *after)
{
    const bool own = kind == SERVED_FOLLOW;
    const int64_t requests = after->kinds[kind].requests - before->kinds[kind].requests;
    const int64_t units = (after->kinds[kind].mcu - before->kinds[kind].mcu) / MCU_PER_UNIT;
    const int64_t more_ns = units > requests ? (units - requests) * c->unit_ns : 0;
    if (requests == 0) /* a request of an earlier look turned out to cost more */
        return work_add(p, now, more_ns, own);
    struct worked last = {0};
    for (int64_t i = 0; i < requests; i++)
        last = work_add(p, now, c->first_ns[kind] + more_ns / requests, own);
    return last;
}
