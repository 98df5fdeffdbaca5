/* leader_kill.c - kills the leader of a partition in the middle of a split, once in a run, at a
 * stage of the test's choice. */
#include "sim/leader_kill.h"

void leader_kill_init(struct leader_kill *k, struct run *run, struct faults *faults)
{
    *k = (struct leader_kill){
        .run = run,
        .faults = faults,
        .prng = prng_seeded(world_seed(&run->world, WORLD_LEADER_KILL, 0)),
    };
}

static enum split_stage stage_of(const struct leader_kill *k)
{
    const struct leader_kill_replica *leader = &k->replicas[k->leader];
    uint32_t applied = 0, durable = 0;
    if (!leader->applied)
        return leader->durable ? SPLIT_STAGE_LOGGED : SPLIT_STAGE_PROPOSED;
    if (!leader->durable)
        return SPLIT_STAGE_APPLIED;
    for (uint32_t node = 1; node <= SIM_NODES_MAX; node++) {
        applied += k->replicas[node].applied;
        durable += k->replicas[node].applied && k->replicas[node].durable;
    }
    if (durable >= k->run->plan.replicas)
        return SPLIT_STAGE_NONE;
    return applied > 1 ? SPLIT_STAGE_FOLLOWED : SPLIT_STAGE_DONE;
}

static void leader_kill_end_process(void *context, uint64_t watch)
{
    struct leader_kill *k = context;
    k->due = false;
    enum split_stage stage = stage_of(k);
    if (watch != k->watch || k->killed_at != SPLIT_STAGE_NONE ||
        stage != k->run->plan.kill_leader_at || !node_process_is_up(k->run->world.nodes[k->leader]))
        return; /* the moment has passed; the next split will do */
    if (faults_kill(k->faults, k->leader, prng_below(&k->prng, 2) == 0))
        k->killed_at = stage;
}

/* Often at once, else within the time that a disk write or two round trips take. */
static void leader_kill_consider(struct leader_kill *k)
{
    enum {
        SPREAD_US = 1000
    };
    if (k->due || k->partition == 0 || stage_of(k) != k->run->plan.kill_leader_at)
        return;
    int64_t us = prng_below(&k->prng, 2) == 0 ? 0 : prng_between(&k->prng, 0, SPREAD_US);
    k->due = true;
    scheduler_in(&k->run->world.scheduler, (struct duration){us * NS_PER_US},
                 leader_kill_end_process, k, k->watch);
}

static int64_t log_end(const struct leader_kill *k, uint32_t node)
{
    return (int64_t)node_log_end(node_process_node(k->run->world.nodes[node]));
}

static void leader_kill_begin(struct leader_kill *k, uint32_t node, uint32_t partition)
{
    memset(k->replicas, 0, sizeof k->replicas);
    k->partition = partition;
    k->leader = node;
    k->watch++;
    k->due = false;
    k->replicas[node].end_lsn = log_end(k, node);
}

void leader_kill_saw(struct leader_kill *k, uint32_t node, const struct trace_event *e)
{
    struct leader_kill_replica *r = &k->replicas[node];
    if (k->run->plan.kill_leader_at == SPLIT_STAGE_NONE || k->killed_at != SPLIT_STAGE_NONE)
        return;
    if (e->kind == NODE_TRACE_SPLIT_PROPOSED)
        leader_kill_begin(k, node, e->subject);
    else if (e->kind == NODE_TRACE_STARTED)
        *r = (struct leader_kill_replica){0};
    else if (e->kind == NODE_TRACE_SPLIT && e->subject == k->partition)
        *r = (struct leader_kill_replica){.applied = true, .end_lsn = log_end(k, node)};
    else if (e->kind == NODE_TRACE_LOG_WRITTEN && r->end_lsn > 0 && e->value >= r->end_lsn)
        r->durable = true;
    else
        return;
    leader_kill_consider(k);
}
