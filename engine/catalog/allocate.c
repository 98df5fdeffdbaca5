/* allocate.c - allocations of a table's partitions, and the nodes that carry them.
 *
 * The partitions of a provisioned table share its throughput. The partitions of a table on demand
 * share what the table has shown to need (table.promised; docs/decisions/0009), and burst beyond
 * that. The promise of a node is the sum of the allocations of its replicas' partitions. The
 * maximum of a table on demand bounds each partition, unless routers keep the maximum.
 *
 * The nodes of all members carry the writes. The leader's node carries the reads. */
#include <stdlib.h>

#include "engine/admission/share.h"
#include "engine/catalog/catalog_internal.h"

static void node_take(const struct table *t, uint32_t index, uint32_t member,
                      int64_t (*loads)[ADMIT_KINDS], uint32_t *partitions)
{
    uint32_t node = partition_node(&t->partitions[index], member);
    const int64_t *rates = t->partitions[index].rate_mcu;
    partitions[node] += member == 0 ? 2 : 1; /* leading is work too */
    loads[node][ADMIT_WRITE] += rates[ADMIT_WRITE];
    if (member == 0)
        loads[node][ADMIT_READ] += rates[ADMIT_READ];
}

/* The loads of all tables but `except`. */
static void node_loads(const struct catalog *c, uint32_t except, int64_t (*loads)[ADMIT_KINDS],
                       uint32_t *partitions)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct table *t = &c->entries[i]->table;
        for (uint32_t p = 0; t->id != except && p < t->partition_count; p++) {
            for (uint32_t m = 0; m < t->partitions[p].member_count; m++)
                node_take(t, p, m, loads, partitions);
        }
    }
}

void catalog_node_loads(const struct catalog *c, int64_t (*loads)[ADMIT_KINDS],
                        uint32_t *partitions)
{
    node_loads(c, CATALOG_TABLE_ID, loads, partitions);
}

/* Among the known nodes that are not drained and not `taken`: the node with the fewest promised
 * writes, then the node with the least work. 0: there is no such node. */
static uint32_t least_loaded(const struct catalog *c, uint32_t node_count,
                             int64_t (*loads)[ADMIT_KINDS], const uint32_t *partitions,
                             const struct partition_info *taken)
{
    uint32_t best = 0;
    for (uint32_t node = 1; node <= node_count; node++) {
        bool free = c->generations[node] != 0 && !c->drained[node];
        for (uint32_t i = 0; i < taken->member_count; i++)
            free &= partition_node(taken, i) != node;
        if (free && (best == 0 || loads[node][ADMIT_WRITE] < loads[best][ADMIT_WRITE] ||
                     (loads[node][ADMIT_WRITE] == loads[best][ADMIT_WRITE] &&
                      partitions[node] < partitions[best])))
            best = node;
    }
    return best;
}

/* Puts the replica first that should lead: the one whose node is promised the fewest reads, then
 * the one whose node has the least work. Only leaders serve the promised reads. */
static void choose_leader(struct partition_info *p, int64_t (*loads)[ADMIT_KINDS],
                          const uint32_t *partitions)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < p->member_count; i++) {
        uint32_t node = partition_node(p, i), other = partition_node(p, best);
        if (loads[node][ADMIT_READ] < loads[other][ADMIT_READ] ||
            (loads[node][ADMIT_READ] == loads[other][ADMIT_READ] &&
             partitions[node] < partitions[other]))
            best = i;
    }
    uint64_t first = p->members[best];
    p->members[best] = p->members[0];
    p->members[0] = first;
}

/* Finds nodes for the replicas. The replica that should lead comes first. */
static bool allocate_place(struct catalog *c, const struct catalog_command *command,
                           struct partition_info *p, int64_t (*loads)[ADMIT_KINDS],
                           const uint32_t *partitions)
{
    p->member_count = p->joined = 0;
    while (p->member_count < command->replicas) {
        uint32_t node = least_loaded(c, command->node_count, loads, partitions, p);
        if (node == 0) {
            buffer_append_format(&c->text, "Only %u of the nodes needed for %u replicas are known",
                                 p->member_count, command->replicas);
            return false;
        }
        p->members[p->member_count++] = raft_member_id(node, c->generations[node], 0);
    }
    choose_leader(p, loads, partitions);
    return true;
}

/* Adds the table to the loads of its nodes; `placing`: finds the nodes first. */
static bool allocate_carry(struct catalog *c, const struct catalog_command *command,
                           struct table *t, bool placing)
{
    size_t size = NODES_MAX + 1;
    int64_t(*loads)[ADMIT_KINDS] = calloc(size, sizeof *loads);
    uint32_t *partitions = calloc(size, sizeof *partitions);
    must(loads != NULL && partitions != NULL);
    node_loads(c, t->id, loads, partitions);
    bool fits = true;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        struct partition_info *p = &t->partitions[i];
        if (placing && !allocate_place(c, command, p, loads, partitions))
            break;
        for (uint32_t m = 0; m < p->member_count; m++) {
            const int64_t *load = loads[partition_node(p, m)];
            node_take(t, i, m, loads, partitions);
            for (int kind = 0; kind < ADMIT_KINDS; kind++)
                fits &= load[kind] <= command->node_mcu[kind];
        }
    }
    free(loads);
    free(partitions);
    if (!fits && c->text.size == 0)
        buffer_append_text(&c->text, "The nodes of the cluster have no capacity left for this "
                                     "throughput: add nodes, raise node_wcu and node_rcu, or "
                                     "ask for less");
    return c->text.size == 0;
}

static bool routers_keep_maximum(const struct catalog_command *command, const struct table *t)
{
    return t->gac == GAC_AS_CONFIGURED ? command->gac != GAC_OFF : t->gac != 1 + GAC_OFF;
}

void catalog_share(const struct catalog_command *command, struct table *t)
{
    bool on_demand = t->billing == BILLING_ON_DEMAND;
    const int64_t units[ADMIT_KINDS] = {[ADMIT_READ] = on_demand ? t->promised[ADMIT_READ] : t->rcu,
                                        [ADMIT_WRITE] =
                                            on_demand ? t->promised[ADMIT_WRITE] : t->wcu};
    bool bounds = on_demand && !routers_keep_maximum(command, t);
    for (uint32_t i = 0; i < t->partition_count; i++) {
        struct partition_info *p = &t->partitions[i];
        p->on_demand = on_demand;
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            p->rate_mcu[kind] = share_equal_mcu(units[kind], t->partition_count, i);
            p->maximum_mcu[kind] = bounds ? t->maximum[kind] * MCU_PER_UNIT : 0;
        }
    }
}

/* Halves all shares until the nodes can carry them: after a split they may be promised more than
 * before. The table must burst for what is missing. */
static void catalog_share_what_fits(struct catalog *c, const struct catalog_command *command,
                                    struct table *t)
{
    catalog_share(command, t);
    while (!catalog_nodes_fit(c, command, t)) {
        int64_t left = 0;
        buffer_clear(&c->text);
        for (uint32_t i = 0; i < t->partition_count; i++) {
            for (int kind = 0; kind < ADMIT_KINDS; kind++)
                left += t->partitions[i].rate_mcu[kind] /= 2;
        }
        if (left == 0)
            return;
    }
}

bool catalog_allocate(struct catalog *c, const struct catalog_command *command, struct table *t,
                      bool placing)
{
    catalog_share(command, t);
    return allocate_carry(c, command, t, placing);
}

bool catalog_nodes_fit(struct catalog *c, const struct catalog_command *command,
                       const struct table *t)
{
    struct table same = *t;
    return allocate_carry(c, command, &same, false);
}

/* What a partition had beyond its equal share is its boost. The pieces of a cut partition get its
 * boost by their shares of the load. */
static void add_boosts(struct table *t, const struct table *before, uint32_t at,
                       const struct table_split *split)
{
    for (uint32_t i = 0; i < before->partition_count; i++) {
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            int64_t units = kind == ADMIT_READ ? t->rcu : t->wcu;
            int64_t boost = before->partitions[i].rate_mcu[kind] -
                            share_equal_mcu(units, before->partition_count, i);
            if (boost <= 0)
                continue;
            for (uint32_t k = 0; split != NULL && i == at && k <= split->cut_count; k++)
                t->partitions[at + k].rate_mcu[kind] +=
                    boost * split->share_ppm[kind][k] / SPLIT_WHOLE_PPM;
            if (split == NULL || i != at)
                t->partitions[i <= at         ? i
                              : split == NULL ? i - 1
                                              : i + split->cut_count]
                    .rate_mcu[kind] += boost;
        }
    }
}

bool catalog_share_anew(struct catalog *c, const struct catalog_command *command, struct table *t,
                        const struct table *before, uint32_t at, const struct table_split *split)
{
    if (t->billing == BILLING_ON_DEMAND) {
        catalog_share_what_fits(c, command, t);
        return true;
    }
    if (!catalog_allocate(c, command, t, false))
        return false;
    add_boosts(t, before, at, split);
    if (!catalog_nodes_fit(c, command, t)) {
        buffer_clear(&c->text);
        catalog_share(command, t);
    }
    return true;
}
