/* faults.c - injects faults into the cluster at random times. */
#include "sim/plan/faults.h"

#include <stdlib.h>

#include "base/probe.h"
#include "base/settings/replication.h"

enum {
    CUTS_MAX = 64,
    RESTART_RETRY_MS = 200,
    WAKE_MS = 1000, /* after faults_end every machine goes on within this time */
    WALL_BACK_MS = 10 * 60000,
    WATCHED_MS = 30000 /* a checkpoint that fails late may have begun before faults_end */
};

/* A way that is cut. */
struct cut {
    bool used;
    uint32_t from;
    uint32_t to;
};

struct faults {
    struct run *run; /* borrows */
    struct prng prng;
    struct prng more_prng; /* for faults that came later: the draws of the others stay the same */
    struct prng late_prngs[SIM_FAULTS - SIM_FAULTS_MORE]; /* one for each of the latest faults */
    struct config configs[SIM_NODES_MAX + 1];
    bool on;
    struct instant watched_until; /* after faults_end: nodes that stop before this are restarted */
    uint64_t injected;
    uint32_t wipes;
    bool wiped[SIM_NODES_MAX + 1];
    struct instant ends_at;
    int64_t stepped_ms[1 + SIM_NODES_MAX + SIM_ROUTERS_MAX + SIM_GAC_MAX]; /* of wall clocks */
    struct cut cuts[CUTS_MAX];
    struct buffer error;
};

static struct instant faults_now(const struct faults *f)
{
    return f->run->world.scheduler.now;
}

static int64_t between_ms(struct faults *f, int64_t low, int64_t high)
{
    /* Short times are more likely than long times. */
    int64_t top = prng_between(&f->prng, low, high);
    return prng_between(&f->prng, low, top) * NS_PER_MS;
}

static void faults_note(struct faults *f, enum sim_fault fault, uint32_t process, int64_t ns)
{
    f->injected++;
    trace_add(&f->run->world.trace, faults_now(f), FAULTS_TRACE_INJECT,
              (uint32_t)fault << 16 | process, ns);
}

static struct node_process *node_at(const struct faults *f, uint64_t id)
{
    return f->run->world.nodes[id];
}

static uint32_t some_node(struct faults *f)
{
    return 1 + (uint32_t)prng_below(&f->prng, f->run->plan.nodes);
}

/* ---- processes ---- */

static void start_node(void *context, uint64_t id)
{
    struct faults *f = context;
    struct node_process *p = node_at(f, id);
    if (node_process_is_up(p))
        return;
    buffer_clear(&f->error);
    enum status status = node_process_start(p, &f->error);
    if ((status == STATUS_FULL || status == STATUS_IO) && f->on)
        scheduler_in(&f->run->world.scheduler, duration_ms(RESTART_RETRY_MS), start_node, f, id);
    else if (status != STATUS_OK)
        run_violate(f->run, "node %u cannot start: %.*s\n", (uint32_t)id, (int)f->error.size,
                    (const char *)f->error.data);
}

static void node_crash(struct faults *f, uint32_t id, bool power)
{
    int64_t ns = between_ms(f, 1, 3000);
    if (!node_process_is_up(node_at(f, id)))
        return;
    faults_note(f, power ? SIM_POWER : SIM_CRASH, id, ns);
    node_process_crash(node_at(f, id), power);
    scheduler_in(&f->run->world.scheduler, (struct duration){ns}, start_node, f, id);
}

static void ambush_crash(void *context, uint64_t id)
{
    struct faults *f = context;
    if (f->on)
        node_crash(f, (uint32_t)id, false);
}

static void ambush_power(void *context, uint64_t id)
{
    struct faults *f = context;
    if (f->on)
        node_crash(f, (uint32_t)id, true);
}

/* Injects at once, or waits for one of the short moments in enum node_point. */
static void inject_end(struct faults *f, bool power)
{
    uint32_t id = some_node(f);
    enum node_point point = (enum node_point)prng_below(&f->prng, 2 * NODE_POINTS);
    if (point > NODE_POINT_NONE && point < NODE_POINTS)
        node_process_arm(node_at(f, id), point, power ? ambush_power : ambush_crash, f);
    else
        node_crash(f, id, power);
}

static void inject_crash(struct faults *f)
{
    inject_end(f, false);
}

static void inject_power(struct faults *f)
{
    inject_end(f, true);
}

/* The limit lets a majority of each group keep its disks, whatever else happens. */
static void inject_wipe(struct faults *f)
{
    uint32_t id = some_node(f);
    int64_t ns = between_ms(f, 1, 3000);
    if (f->wipes == (f->run->plan.replicas - 1) / 2 || f->wiped[id] ||
        !node_process_is_up(node_at(f, id)))
        return;
    f->wipes++;
    f->wiped[id] = true;
    faults_note(f, SIM_WIPE, id, ns);
    PROBE("a node loses its disk");
    node_process_crash(node_at(f, id), true);
    node_process_wipe(node_at(f, id));
    scheduler_in(&f->run->world.scheduler, (struct duration){ns}, start_node, f, id);
}

static void start_router(void *context, uint64_t process)
{
    struct faults *f = context;
    if (!network_is_alive(f->run->world.network, (uint32_t)process))
        world_start_process(&f->run->world, (uint32_t)process);
}

static void inject_router(struct faults *f)
{
    struct world *w = &f->run->world;
    uint32_t routers_and_gac = f->run->plan.routers + f->run->plan.gac;
    uint32_t process = world_router(w, (uint32_t)prng_below(&f->prng, routers_and_gac));
    int64_t ns = between_ms(f, 1, 1000);
    if (!network_is_alive(f->run->world.network, process))
        return;
    faults_note(f, SIM_ROUTER, process, ns);
    if (process >= world_gac(w, 0))
        PROBE("a GAC server dies");
    world_crash_process(w, process);
    scheduler_in(&f->run->world.scheduler, (struct duration){ns}, start_router, f, process);
}

static uint32_t server_count(const struct faults *f)
{
    return f->run->plan.nodes + f->run->plan.routers + f->run->plan.gac;
}

static void inject_pause(struct faults *f)
{
    int64_t ns = between_ms(f, 1, 3000);
    uint32_t process = 1 + (uint32_t)prng_below(&f->prng, server_count(f));
    if (!network_is_alive(f->run->world.network, process))
        return;
    faults_note(f, SIM_PAUSE, process, ns);
    world_pause(&f->run->world, process, instant_add(faults_now(f), (struct duration){ns}));
}

/* Suspends a node's machine, often for so long that its peers give up the node. */
static void inject_suspend(struct faults *f)
{
    int64_t ns = prng_between(&f->more_prng, 100, 6000) * NS_PER_MS;
    uint32_t id = 1 + (uint32_t)prng_below(&f->more_prng, f->run->plan.nodes);
    if (!node_process_is_up(node_at(f, id)))
        return;
    PROBE("a machine is suspended");
    faults_note(f, SIM_SUSPEND, id, ns);
    node_process_suspend(node_at(f, id), instant_add(faults_now(f), (struct duration){ns}),
                         f->run->plan.mutation == SIM_MUTATION_CLOCK_STOPS);
}

/* Stops a machine, half of the times for long. */
static void inject_sleep(struct faults *f)
{
    struct prng *p = &f->late_prngs[SIM_SLEEP - SIM_FAULTS_MORE];
    const uint32_t process = 1 + (uint32_t)prng_below(p, server_count(f));
    const int64_t ms = prng_between(p, 100, prng_below(p, 2) == 0 ? 3000 : 20000);
    const bool links_first = prng_below(p, 2) == 0;
    const struct instant until =
        instant_earlier(instant_add_ms(faults_now(f), ms), instant_add_ms(f->ends_at, WAKE_MS));
    if (!world_is_up(&f->run->world, process))
        return;
    if (process > f->run->plan.nodes)
        PROBE("the machine of a router or GAC server stops");
    faults_note(f, SIM_SLEEP, process, instant_since(until, faults_now(f)).ns);
    world_suspend(&f->run->world, process, until, links_first);
}

/* One step of a rolling restart: the node comes back soon, with other settings. */
static void inject_settings(struct faults *f)
{
    int64_t ns = prng_between(&f->more_prng, 1, 300) * NS_PER_MS;
    uint32_t id = 1 + (uint32_t)prng_below(&f->more_prng, f->run->plan.nodes);
    if (!node_process_is_up(node_at(f, id)))
        return;
    PROBE("a node comes back with other settings");
    faults_note(f, SIM_SETTINGS, id, ns);
    node_process_crash(node_at(f, id), false);
    plan_vary_settings(&f->run->plan.config, &f->configs[id], &f->more_prng);
    node_process_set_config(node_at(f, id), &f->configs[id]);
    scheduler_in(&f->run->world.scheduler, (struct duration){ns}, start_node, f, id);
}

/* ---- ways ---- */

static void end_cut(void *context, uint64_t index)
{
    struct faults *f = context;
    struct cut *c = &f->cuts[index];
    if (!c->used)
        return;
    c->used = false;
    network_heal(f->run->world.network, c->from, c->to);
}

/* from << 16 | to */
static void reset_later(void *context, uint64_t argument)
{
    struct faults *f = context;
    network_reset(f->run->world.network, (uint32_t)(argument >> 16), (uint32_t)(argument & 0xFFFF));
}

/* A slot is in use until end_cut has run for it. */
static void cut_way(struct faults *f, uint32_t from, uint32_t to, int64_t ns)
{
    size_t i = 0;
    while (i < CUTS_MAX && f->cuts[i].used)
        i++;
    if (i == CUTS_MAX || from == to)
        return;
    f->cuts[i] = (struct cut){true, from, to};
    network_cut(f->run->world.network, from, to);
    scheduler_in(&f->run->world.scheduler, (struct duration){ns}, end_cut, f, i);
    if (prng_below(&f->prng, 2) == 0)
        scheduler_in(&f->run->world.scheduler,
                     (struct duration){between_ms(f, 1, 1 + ns / NS_PER_MS)}, reset_later, f,
                     (uint64_t)from << 16 | to);
}

/* Cuts one process off from all others, or divides the processes into two sides. */
static void inject_cut(struct faults *f)
{
    uint32_t all = server_count(f);
    int64_t ns = between_ms(f, 1, 4000);
    uint64_t side = prng_below(&f->prng, 2) == 0 ? UINT64_C(1) << (1 + prng_below(&f->prng, all))
                                                 : prng_next(&f->prng);
    faults_note(f, SIM_CUT, (uint32_t)side & 0xFFFF, ns);
    for (uint32_t a = 1; a <= all; a++) {
        for (uint32_t b = 1; b <= all; b++) {
            if ((side >> a & 1) != (side >> b & 1))
                cut_way(f, a, b, ns);
        }
    }
}

static void inject_one_way(struct faults *f)
{
    uint32_t from = 1 + (uint32_t)prng_below(&f->prng, server_count(f));
    uint32_t to = 1 + (uint32_t)prng_below(&f->prng, server_count(f));
    int64_t ns = between_ms(f, 1, 4000);
    faults_note(f, SIM_ONE_WAY, from << 8 | to, ns);
    cut_way(f, from, to, ns);
}

static void inject_reset(struct faults *f)
{
    uint32_t from = 1 + (uint32_t)prng_below(&f->prng, server_count(f) + f->run->plan.clients);
    uint32_t to = 1 + (uint32_t)prng_below(&f->prng, server_count(f));
    faults_note(f, SIM_RESET, from << 8 | to, 0);
    network_reset(f->run->world.network, from, to);
}

/* from << 16 | to */
static void end_late(void *context, uint64_t argument)
{
    struct faults *f = context;
    const uint32_t from = (uint32_t)(argument >> 16), to = (uint32_t)(argument & 0xFFFF);
    network_delay(f->run->world.network, from, to, 0);
    network_reset(f->run->world.network, from, to);
}

/* What one process sends to another is late, and at last the link is lost: the sender gives up, and
 * the requests arrive. */
static void inject_late(struct faults *f)
{
    enum {
        LATE_MS_MAX = 10000
    };
    struct prng *p = &f->late_prngs[SIM_LATE - SIM_FAULTS_MORE];
    const uint32_t from = 1 + (uint32_t)prng_below(p, server_count(f));
    const uint32_t to = 1 + (uint32_t)prng_below(p, server_count(f));
    const int64_t late_ms = prng_between(p, 1, prng_between(p, 1, LATE_MS_MAX));
    const int64_t lasts_ms = prng_between(p, 1, 1000);
    if (from == to)
        return;
    faults_note(f, SIM_LATE, from << 8 | to, late_ms * NS_PER_MS);
    network_delay(f->run->world.network, from, to, late_ms * NS_PER_MS);
    scheduler_in(&f->run->world.scheduler, duration_ms(lasts_ms), end_late, f,
                 (uint64_t)from << 16 | to);
}

/* ---- disks and clocks ---- */

static void end_slow(void *context, uint64_t id)
{
    node_at(context, id)->slow_times = 1;
}

static void inject_slow(struct faults *f)
{
    uint32_t id = some_node(f);
    int64_t ns = between_ms(f, 10, 3000);
    faults_note(f, SIM_SLOW_DISK, id, ns);
    node_at(f, id)->slow_times = prng_between(&f->prng, 2, 100);
    scheduler_in(&f->run->world.scheduler, (struct duration){ns}, end_slow, f, id);
}

static void set_full(struct faults *f, uint64_t id, bool full)
{
    struct log_disk *d = &node_at(f, id)->log_disk;
    d->no_files = full && prng_below(&f->more_prng, 4) == 0;
    d->full = full && !d->no_files;
    node_at(f, id)->store_disk.full = full;
}

static void end_full(void *context, uint64_t id)
{
    set_full(context, id, false);
}

static void inject_full(struct faults *f)
{
    uint32_t id = some_node(f);
    int64_t ns = between_ms(f, 10, 4000);
    faults_note(f, SIM_FULL_DISK, id, ns);
    set_full(f, id, true);
    scheduler_in(&f->run->world.scheduler, (struct duration){ns}, end_full, f, id);
}

/* A node whose disk has failed refuses writes until it is restarted. */
static void restart_stopped(void *context, uint64_t id)
{
    struct faults *f = context;
    struct node_process *p = node_at(f, id);
    if (node_process_is_up(p) && node_is_stopped(node_process_node(p))) {
        PROBE("a node that stopped for its disk is started anew");
        node_process_crash(p, prng_below(&f->prng, 2) == 0);
        start_node(f, id);
    } else if ((f->on || instant_before(faults_now(f), f->watched_until)) &&
               node_process_is_up(p)) {
        /* The fault has not hit a read or write yet, or the node has not noticed. */
        scheduler_in(&f->run->world.scheduler, duration_ms(RESTART_RETRY_MS), restart_stopped, f,
                     id);
    }
}

static void inject_failing(struct faults *f)
{
    uint32_t id = some_node(f);
    int64_t ns = between_ms(f, 10, 2000);
    faults_note(f, SIM_FAILING_DISK, id, ns);
    if (prng_below(&f->prng, 3) == 0)
        node_at(f, id)->store_disk.fails = true;
    else
        node_at(f, id)->fail_write = true;
    scheduler_in(&f->run->world.scheduler, (struct duration){ns}, restart_stopped, f, id);
}

static void set_unreadable(struct faults *f, uint64_t id, uint32_t records, uint32_t reads)
{
    struct store_disk *m = &node_at(f, id)->store_disk;
    m->unreadable = records;
    m->unreadable_left = reads;
    node_at(f, id)->log_disk.unreadable = false;
}

static void end_unreadable(void *context, uint64_t id)
{
    set_unreadable(context, id, 0, 0);
}

/* In the store one read fails, or for a while the reads of some or all records. Sometimes the node
 * also restarts, and cannot read its log. */
static void inject_read_error(struct faults *f)
{
    struct prng *p = &f->late_prngs[SIM_READ_ERROR - SIM_FAULTS_MORE];
    struct scheduler *scheduler = &f->run->world.scheduler;
    const uint32_t id = 1 + (uint32_t)prng_below(p, f->run->plan.nodes);
    const struct duration lasts = duration_ms(prng_between(p, 10, 3000));
    const bool once = prng_below(p, 2) == 0, log = prng_below(p, 4) == 0;
    faults_note(f, SIM_READ_ERROR, id, lasts.ns);
    set_unreadable(f, id, once ? 64 : 1 + (uint32_t)prng_below(p, 64), once ? 1 : UINT32_MAX);
    scheduler_in(scheduler, lasts, end_unreadable, f, id);
    scheduler_in(scheduler, lasts, restart_stopped, f, id);
    if (!log || !node_process_is_up(node_at(f, id)))
        return;
    node_at(f, id)->log_disk.unreadable = true;
    node_process_crash(node_at(f, id), false);
    scheduler_in(scheduler, (struct duration){lasts.ns / 2}, start_node, f, id);
}

static void inject_clock(struct faults *f)
{
    uint32_t process = 1 + (uint32_t)prng_below(&f->prng, server_count(f));
    int64_t max = f->run->plan.drift_ppm;
    int64_t ppm = prng_between(&f->prng, -max, max);
    faults_note(f, SIM_CLOCK, process, ppm);
    sim_clock_set_drift(world_clock(&f->run->world, process), faults_now(f), ppm);
}

static void step_wall(struct faults *f, uint32_t process, int64_t stepped_ms)
{
    world_step_wall(&f->run->world, process, stepped_ms - f->stepped_ms[process]);
    f->stepped_ms[process] = stepped_ms;
}

/* A wall clock steps ahead or back, or is set right again. */
static void inject_wall(struct faults *f)
{
    struct prng *p = &f->late_prngs[SIM_WALL - SIM_FAULTS_MORE];
    const uint32_t process = 1 + (uint32_t)prng_below(p, server_count(f));
    const uint64_t how = prng_below(p, 4);
    const int64_t back_ms = prng_between(p, -WALL_BACK_MS, 0);
    const int64_t ahead_ms = prng_between(p, 0, f->run->plan.wall_ahead_ms);
    if (f->run->plan.wall_ahead_ms == 0)
        return;
    faults_note(f, SIM_WALL, process, 0);
    step_wall(f, process, how == 0 ? 0 : how == 1 ? back_ms : ahead_ms);
}

static void inject_lying(struct faults *f)
{
    uint32_t id = some_node(f);
    faults_note(f, SIM_LYING_DISK, id, 0);
    node_at(f, id)->log_disk.lies = true;
}

/* ---- injection ---- */

static void (*const INJECTORS[SIM_FAULTS])(struct faults *f) = {
    [SIM_CRASH] = inject_crash,
    [SIM_POWER] = inject_power,
    [SIM_PAUSE] = inject_pause,
    [SIM_CUT] = inject_cut,
    [SIM_ONE_WAY] = inject_one_way,
    [SIM_RESET] = inject_reset,
    [SIM_SLOW_DISK] = inject_slow,
    [SIM_FULL_DISK] = inject_full,
    [SIM_FAILING_DISK] = inject_failing,
    [SIM_CLOCK] = inject_clock,
    [SIM_ROUTER] = inject_router,
    [SIM_LYING_DISK] = inject_lying,
    [SIM_WIPE] = inject_wipe,
    [SIM_SUSPEND] = inject_suspend,
    [SIM_SETTINGS] = inject_settings,
    [SIM_READ_ERROR] = inject_read_error,
    [SIM_SLEEP] = inject_sleep,
    [SIM_WALL] = inject_wall,
    [SIM_LATE] = inject_late,
    /* NULL: SIM_DRAIN is in sim/fault_drains; SIM_DROP, SIM_DUPLICATE and SIM_REORDER are in
     * sim/world/network, all the time. */
};

/* Draws one of the faults from `first` to before `end`. If the plan has the
 * fault, it is injected. */
static void inject_among(struct faults *f, struct prng *p, unsigned first, unsigned end)
{
    const unsigned fault = first + (unsigned)prng_below(p, end - first);
    if ((f->run->plan.faults & SIM_FAULT_BIT(fault)) != 0 && INJECTORS[fault] != NULL)
        INJECTORS[fault](f);
}

static void inject_later(struct faults *f, struct prng *p, int64_t mean_ns, scheduler_run *run,
                         uint64_t argument)
{
    scheduler_in(&f->run->world.scheduler, (struct duration){prng_between(p, 0, 2 * mean_ns)}, run,
                 f, argument);
}

/* Draws one of the faults from `first` on. Most draws of the first faults hit a fault that the plan
 * does not have. So there are four draws for each injection. */
static void faults_inject(void *context, uint64_t first)
{
    struct faults *f = context;
    const bool more = first != 0;
    struct prng *p = more ? &f->more_prng : &f->prng;
    if (!f->on)
        return;
    inject_among(f, p, (unsigned)first, more ? SIM_FAULTS_MORE : SIM_FAULTS_FIRST);
    inject_later(f, p, f->run->plan.fault_interval_ns / (more ? 1 : 4), faults_inject, first);
}

/* Each fault from SIM_FAULTS_MORE on is injected by itself. */
static void inject_alone(void *context, uint64_t fault)
{
    struct faults *f = context;
    if (!f->on)
        return;
    INJECTORS[fault](f);
    inject_later(f, &f->late_prngs[fault - SIM_FAULTS_MORE], 8 * f->run->plan.fault_interval_ns,
                 inject_alone, fault);
}

void faults_begin(struct faults *f)
{
    f->on = true;
    f->ends_at = instant_add(faults_now(f), (struct duration){f->run->plan.length_ns});
    network_set_faults(f->run->world.network, &f->run->plan.network_faults);
    const uint32_t faults = f->run->plan.faults;
    if (faults != 0)
        faults_inject(f, 0);
    if ((faults & (SIM_FAULT_BIT(SIM_FAULTS_MORE) - 1)) >> SIM_FAULTS_FIRST != 0)
        faults_inject(f, SIM_FAULTS_FIRST);
    for (unsigned fault = SIM_FAULTS_MORE; fault < SIM_FAULTS; fault++)
        if ((faults & SIM_FAULT_BIT(fault)) != 0)
            inject_alone(f, fault);
}

/* After the faults every key must answer. For that, leaders must be able to keep their support. */
static void calm_network(struct faults *f)
{
    static const struct network_faults none = {0};
    int64_t support_ms = config_replication(&f->run->plan.config)->support_ms;
    for (uint32_t id = 1; id <= f->run->plan.nodes; id++) {
        support_ms = MIN(support_ms, config_replication(&f->configs[id])->support_ms);
    }
    network_set_faults(f->run->world.network, &none);
    network_calm(f->run->world.network, support_ms * NS_PER_MS / 4);
}

void faults_end(struct faults *f)
{
    f->on = false;
    f->watched_until = instant_add(faults_now(f), duration_ms(WATCHED_MS));
    trace_add(&f->run->world.trace, faults_now(f), FAULTS_TRACE_END, 0, (int64_t)f->injected);
    calm_network(f);
    for (size_t i = 0; i < CUTS_MAX; i++)
        end_cut(f, i);
    for (uint32_t from = 1; from <= server_count(f); from++) {
        for (uint32_t to = 1; to <= server_count(f); to++)
            network_delay(f->run->world.network, from, to, 0);
    }
    for (uint32_t id = 1; id <= f->run->plan.nodes; id++) {
        struct node_process *p = node_at(f, id);
        set_full(f, id, false);
        set_unreadable(f, id, 0, 0);
        p->slow_times = 1;
        p->fail_write = p->store_disk.fails = false;
        start_node(f, id);
        restart_stopped(f, id); /* also later, if a write in flight fails */
    }
    struct world *w = &f->run->world;
    for (uint32_t process = 1; process < world_client(w, 0); process++)
        step_wall(f, process, 0);
    for (uint32_t process = world_router(w, 0); process < world_client(w, 0); process++)
        start_router(f, process);
}

bool faults_kill(struct faults *f, uint32_t node, bool power)
{
    bool can = f->on && node_process_is_up(node_at(f, node));
    if (can)
        node_crash(f, node, power);
    return can;
}

uint64_t faults_injected(const struct faults *f)
{
    return f->injected;
}

struct faults *faults_create(struct run *run)
{
    struct faults *f = must_calloc(1, sizeof *f);
    const uint64_t seed = world_seed(&run->world, WORLD_FAULTS, 0);
    f->run = run;
    f->prng = prng_seeded(seed);
    f->more_prng = prng_seeded(seed ^ UINT64_C(0x6d6f7265));
    for (unsigned i = 0; i < COUNT_OF(f->late_prngs); i++)
        f->late_prngs[i] = prng_seeded(seed ^ (UINT64_C(0x72656164) + i));
    memcpy(f->configs, run->plan.configs, sizeof f->configs);
    return f;
}

void faults_destroy(struct faults *f)
{
    buffer_deinit(&f->error);
    free(f);
}
