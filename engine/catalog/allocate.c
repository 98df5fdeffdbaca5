/* allocate.c - allocations of a table's partitions, and the nodes that carry them.
 *
 * The partitions of a provisioned table share its throughput. The partitions of a table on demand
 * share what the table has shown to need (table.reserved; docs/decisions/0009), and burst beyond
 * that. What a node reserves is the sum of the allocations of its replicas' partitions. The
 * maximum of a table on demand bounds each partition, unless routers keep the maximum. Routers keep
 * no limit of an index's writes.
 *
 * The nodes of all members carry the writes. The leader's node carries the reads. */
#include "base/gac_policy.h"
#include "engine/admission/share.h"
#include "engine/catalog/catalog_internal.h"

static void reserve_replica(const struct partition_info *p, uint32_t member,
                            struct reservations *out)
{
    uint32_t node = partition_node(p, member);
    must(node >= 1 && node <= NODES_MAX);
    out->work[node] += member == 0 ? 2 : 1; /* leading is work too */
    out->loads_mcu[node][ADMIT_WRITE] += p->rate_mcu[ADMIT_WRITE];
    if (member == 0)
        out->loads_mcu[node][ADMIT_READ] += p->rate_mcu[ADMIT_READ];
}

void catalog_count_reservations(const struct catalog *c, uint32_t except, struct reservations *out)
{
    *out = (struct reservations){0};
    for (size_t i = 0; i < c->count; i++) {
        const struct table *t = &c->entries[i]->table;
        for (uint32_t p = 0; t->id != except && p < t->partition_count; p++) {
            for (uint32_t m = 0; m < t->partitions[p].member_count; m++)
                reserve_replica(&t->partitions[p], m, out);
        }
    }
}

/* Whether node `a` has reserved less of the kind than node `b`, or the same with less work. */
static bool carries_less(const struct reservations *p, enum admit_kind kind, uint32_t a, uint32_t b)
{
    int64_t of_a = p->loads_mcu[a][kind], of_b = p->loads_mcu[b][kind];
    return of_a < of_b || (of_a == of_b && p->work[a] < p->work[b]);
}

/* Among the known nodes that are not drained and not `taken`: the node with the fewest reserved
 * writes, then the node with the least work. 0: there is no such node. */
static uint32_t least_loaded(const struct catalog *c, uint32_t node_count,
                             const struct reservations *reservations,
                             const struct partition_info *taken)
{
    uint32_t best = 0;
    for (uint32_t node = 1; node <= node_count; node++) {
        bool free =
            c->generations[node] != 0 && !c->drained[node] && partition_member_on(taken, node) == 0;
        if (free && (best == 0 || carries_less(reservations, ADMIT_WRITE, node, best)))
            best = node;
    }
    return best;
}

/* Puts the replica first that should lead: the one whose node has reserved the fewest reads, then
 * the one whose node has the least work. Only leaders serve the reserved reads. */
static void choose_leader(struct partition_info *p, const struct reservations *reservations)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < p->member_count; i++) {
        if (carries_less(reservations, ADMIT_READ, partition_node(p, i), partition_node(p, best)))
            best = i;
    }
    must(p->member_count >= 1);
    uint64_t first = p->members[best];
    p->members[best] = p->members[0];
    p->members[0] = first;
}

/* Finds nodes for the replicas. The replica that should lead comes first. */
static bool allocate_place(struct catalog *c, const struct catalog_command *command,
                           struct partition_info *p, const struct reservations *reservations)
{
    p->member_count = p->joined = 0;
    while (p->member_count < command->replicas) {
        uint32_t node = least_loaded(c, command->node_count, reservations, p);
        if (node == 0) {
            buffer_append_format(&c->text, "Only %u of the nodes needed for %u replicas are known",
                                 p->member_count, command->replicas);
            return false;
        }
        p->members[p->member_count++] = raft_member_id(node, c->generations[node], 0);
    }
    choose_leader(p, reservations);
    return true;
}

/* Adds the table to the reservations on its nodes; `placing`: finds the nodes first. */
static bool allocate_carry(struct catalog *c, const struct catalog_command *command,
                           struct table *t, bool placing)
{
    struct reservations reservations;
    catalog_count_reservations(c, t->id, &reservations);
    bool fits = true;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        struct partition_info *p = &t->partitions[i];
        if (placing && !allocate_place(c, command, p, &reservations))
            break;
        for (uint32_t m = 0; m < p->member_count; m++) {
            reserve_replica(p, m, &reservations);
            for (int kind = 0; kind < ADMIT_KINDS; kind++)
                fits &=
                    reservations.loads_mcu[partition_node(p, m)][kind] <= command->node_mcu[kind];
        }
    }
    if (!fits && c->text.size == 0)
        buffer_append_text(&c->text,
                           "The nodes of the cluster have no capacity left for this "
                           "throughput: add nodes, raise node_wcu and node_rcu, or request less");
    return c->text.size == 0;
}

static bool routers_keep_maximum(const struct catalog_command *command, const struct table *t,
                                 int kind)
{
    const uint8_t gac = table_gac_setting(t->gac, t->index_of != 0, kind);
    return gac == GAC_AS_CONFIGURED ? command->gac != GAC_OFF : gac != 1 + GAC_OFF;
}

/* Sets the allocation of each partition: its equal share. */
static void catalog_share(const struct catalog_command *command, struct table *t)
{
    bool on_demand = t->billing == BILLING_ON_DEMAND;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        struct partition_info *p = &t->partitions[i];
        p->on_demand = on_demand;
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            p->rate_mcu[kind] = share_equal_mcu(table_shared_units(t, kind), t->partition_count, i);
            p->maximum_mcu[kind] = on_demand && !routers_keep_maximum(command, t, kind)
                                       ? t->maximum[kind] * MCU_PER_UNIT
                                       : 0;
        }
    }
}

/* Halves all shares until the nodes can carry them: after a split they may have reserved more than
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

/* What a partition had beyond its equal share is its boost. The pieces of a split partition get its
 * boost by their shares of the load. */
static void add_boosts(struct table *t, const struct table *before, uint32_t at,
                       const struct table_split *split)
{
    must(split == NULL ? t->partition_count + 1 == before->partition_count
                       : t->partition_count == before->partition_count + split->point_count);
    for (uint32_t i = 0; i < before->partition_count; i++) {
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            int64_t units = table_shared_units(t, kind);
            int64_t boost = before->partitions[i].rate_mcu[kind] -
                            share_equal_mcu(units, before->partition_count, i);
            if (boost <= 0)
                continue;
            for (uint32_t k = 0; split != NULL && i == at && k <= split->point_count; k++)
                t->partitions[at + k].rate_mcu[kind] +=
                    boost * split->share_ppm[kind][k] / SPLIT_WHOLE_PPM;
            if (split == NULL || i != at)
                t->partitions[i <= at         ? i
                              : split == NULL ? i - 1
                                              : i + split->point_count]
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
