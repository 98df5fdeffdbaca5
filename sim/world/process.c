/* process.c - lives, pauses and clocks of simulated processes. */
#include "sim/world/process.h"

enum {
    ALARM_MIN_NS = 1000,
    DUE_MAX = 100000 /* in a row; work in steps may need some thousand turns */
};

void process_init(struct process *p, const struct surroundings *around, uint32_t number,
                  struct prng *prng, const struct network_handler *handler, void *context)
{
    *p = (struct process){.around = around, .number = number};
    p->clock = (struct sim_clock){.base = around->scheduler->now,
                                  .read = {prng_between(prng, 1, 1000 * NS_PER_S)}};
    network_attach(around->network, number, handler, context);
}

static struct instant process_clock_now(void *context)
{
    return process_now(context);
}

static int64_t process_clock_wall_ms(void *context)
{
    const struct process *p = context;
    return SIM_WALL_BASE_MS + p->around->scheduler->now.ns / NS_PER_MS + p->wall_skew_ms;
}

static struct waiting process_clock_waited(void *context)
{
    const struct process *p = context;
    return (struct waiting){.all = network_waited(p->around->network, p->number)};
}

struct clock_port process_clock(struct process *p)
{
    return (struct clock_port){p, process_clock_now, process_clock_wall_ms, process_clock_waited};
}

void process_note(const struct process *p, uint32_t kind, int64_t value)
{
    trace_add(p->around->trace, p->around->scheduler->now, kind, p->number, value);
}

void process_begin(struct process *p, uint32_t kind, int64_t value)
{
    must(!p->is_up);
    p->is_up = true;
    p->life++;
    p->paused = p->links_first = p->redial_scheduled = false;
    p->wake_at_ns = INT64_MAX;
    process_note(p, kind, value);
    network_start(p->around->network, p->number);
}

void process_end(struct process *p, uint32_t kind, int64_t value)
{
    must(p->is_up);
    p->is_up = p->paused = false;
    process_note(p, kind, value);
    network_kill(p->around->network, p->number);
}

bool process_reached(struct process *p, uint64_t life, scheduler_run *run, void *context,
                     uint64_t argument)
{
    if (!p->is_up || life != p->life)
        return false;
    if (p->paused) {
        const struct instant until = {p->paused_until.ns + (p->links_first ? ALARM_MIN_NS : 0)};
        scheduler_at(p->around->scheduler, until, run, context, argument);
        return false;
    }
    return true;
}

static void process_wake(void *context, uint64_t life)
{
    struct process *p = context;
    if (!process_reached(p, life, process_wake, p, life) ||
        p->around->scheduler->now.ns < p->wake_at_ns)
        return;
    p->wake_at_ns = INT64_MAX;
    p->woken(p);
}

static void process_count_due(struct process *p, bool due)
{
    const struct process_watch *watch = &p->around->watch;
    p->due = due ? p->due + 1 : 0;
    if (p->due == DUE_MAX && watch->spins != NULL)
        watch->spins(watch->context, p->number);
}

void process_alarm_set(struct process *p, struct instant at)
{
    const struct instant min = {p->around->scheduler->now.ns + ALARM_MIN_NS};
    struct instant t = sim_clock_when(&p->clock, at);
    process_count_due(p, instant_before(t, min));
    t = instant_before(t, min) ? min : t;
    if (t.ns >= p->wake_at_ns)
        return;
    p->wake_at_ns = t.ns;
    scheduler_at(p->around->scheduler, t, process_wake, p, p->life);
}

static void process_redial(void *context, uint64_t life)
{
    struct process *p = context;
    if (!process_reached(p, life, process_redial, p, life))
        return;
    p->redial_scheduled = false;
    p->redial(p);
}

void process_redial_in(struct process *p, struct duration pause)
{
    if (!p->redial_scheduled)
        scheduler_in(p->around->scheduler, pause, process_redial, p, p->life);
    p->redial_scheduled = true;
}

static void process_resume(void *context, uint64_t life)
{
    struct process *p = context;
    if (!p->is_up || life != p->life || !p->paused)
        return;
    p->paused = false;
    if (p->resumed != NULL)
        p->resumed(p);
    else if (p->links_first)
        network_resume_links_first(p->around->network, p->number);
    else
        network_pause(p->around->network, p->number, false);
    p->links_first = false;
}

bool process_pause(struct process *p, struct instant until)
{
    must(p->is_up);
    if (p->paused)
        return false;
    p->paused = true;
    p->paused_until = until;
    network_pause(p->around->network, p->number, true);
    scheduler_at(p->around->scheduler, until, process_resume, p, p->life);
    return true;
}

void process_refuse(struct process *p, uint64_t link, const char *why)
{
    const struct process_watch *w = &p->around->watch;
    if (w->refused != NULL)
        w->refused(w->context, p->number, why);
    network_close(p->around->network, link);
}

bool process_link_send(void *context, uint64_t link, struct slice frame)
{
    const struct process *p = context;
    return network_send(p->around->network, link, frame);
}

void process_link_accept(UNUSED void *context, UNUSED uint64_t link, UNUSED uint32_t from)
{
}

void process_datagram_refuse(UNUSED void *context, uint32_t from, UNUSED struct slice frame)
{
    must(from == 0); /* only nodes get datagrams */
}
