/* node_sets.c - the nodes that bound eventual reads together. An eventual read may use the node of
 * any member, so no single node bounds it. But the members of a partition cannot read more than
 * their nodes have together, and all partitions no more than all nodes: two cuts, each a resource
 * of the optimum. Strong reads, which use their leader's node, debit the same two. The same two
 * cuts bound the nodes' processors, which writes use, too.
 *
 * The balance of a set is the sum of its nodes' balances, those of nodes that are down included: so
 * no capacity is told too low. */
#include <stdlib.h>

#include <xxhash.h>

#include "lab/fidelity/admission/model_internal.h"

struct model_node_set {
    uint32_t nodes[REPLICAS_MAX]; /* ascending */
    uint32_t count;
    uint32_t resource, processors;
    struct model_node_set *next; /* of the same hash */
};

static uint64_t hash_of(const uint32_t *nodes, uint32_t count)
{
    return XXH3_64bits(nodes, count * sizeof *nodes) | 1;
}

static uint32_t members_of(const struct model_partition *p, uint32_t nodes[REPLICAS_MAX])
{
    uint32_t count = 0;
    must(p->replica_count <= REPLICAS_MAX);
    for (uint32_t i = 0; i < p->replica_count; i++) {
        uint32_t at = count++;
        for (; at > 0 && nodes[at - 1] > p->replicas[i].node; at--)
            nodes[at] = nodes[at - 1];
        nodes[at] = p->replicas[i].node;
    }
    return count;
}

static struct model_node_set *set_of(struct model *m, const uint32_t *nodes, uint32_t count)
{
    const uint64_t hash = hash_of(nodes, count);
    struct model_node_set *first = id_map_find(&m->node_sets, hash);
    for (struct model_node_set *s = first; s != NULL; s = s->next) {
        if (s->count == count && memcmp(s->nodes, nodes, count * sizeof *nodes) == 0)
            return s;
    }
    struct model_node_set *s = must_calloc(1, sizeof *s);
    memcpy(s->nodes, nodes, count * sizeof *nodes);
    s->count = count;
    s->resource = measure_add_resource(m->measure, MEASURE_OTHER);
    s->processors = measure_add_resource(m->measure, MEASURE_PROCESSORS);
    if (first == NULL) {
        id_map_add(&m->node_sets, hash, s);
    } else {
        s->next = first->next;
        first->next = s;
    }
    return s;
}

struct node_set_sum {
    int64_t had_mcu, slack_mcu, rate_mcu, depth_mcu;
};

static void sum_add(struct node_set_sum *sum, const struct model_ideal *i)
{
    if (sum->had_mcu == OPTIMUM_UNLIMITED || i->had_mcu == OPTIMUM_UNLIMITED ||
        sum->had_mcu > OPTIMUM_MAX - i->had_mcu) {
        *sum = (struct node_set_sum){.had_mcu = OPTIMUM_UNLIMITED};
        return;
    }
    sum->had_mcu += i->had_mcu;
    sum->slack_mcu += i->slack_mcu;
    sum->rate_mcu += i->rate_mcu;
    sum->depth_mcu += i->capacity_mcu;
}

static void sum_report(struct model *m, uint32_t resource, const struct node_set_sum *sum)
{
    measure_set_bucket(m->measure, resource, sum->rate_mcu, sum->depth_mcu);
    measure_set_capacity(m->measure, resource, sum->had_mcu);
    measure_set_slack(m->measure, resource, m->costliest_mcu + sum->slack_mcu);
}

static void processors_report(struct model *m, uint32_t resource, const struct node_set_sum *sum)
{
    measure_set_bucket(m->measure, resource, sum->rate_mcu, sum->depth_mcu);
    measure_set_capacity(m->measure, resource, sum->had_mcu);
}

void node_sets_create(struct model *m)
{
    m->all_nodes = measure_add_resource(m->measure, MEASURE_OTHER);
    m->all_processors = measure_add_resource(m->measure, MEASURE_PROCESSORS);
}

void node_sets_destroy(struct model *m)
{
    for (struct model_node_set *s; (s = id_map_any(&m->node_sets)) != NULL;) {
        id_map_remove(&m->node_sets, hash_of(s->nodes, s->count));
        for (struct model_node_set *next; s != NULL; s = next) {
            next = s->next;
            free(s);
        }
    }
    id_map_deinit(&m->node_sets);
}

uint32_t node_sets_path(struct model *m, const struct model_partition *p, uint32_t path[2])
{
    uint32_t nodes[REPLICAS_MAX];
    const uint32_t count = members_of(p, nodes);
    path[0] = m->all_nodes;
    if (count == m->node_count)
        return 1;
    path[1] = set_of(m, nodes, count)->resource;
    return 2;
}

uint32_t node_sets_processors(struct model *m, const struct model_partition *p,
                              struct measure_processor path[2])
{
    uint32_t nodes[REPLICAS_MAX];
    const uint32_t count = members_of(p, nodes);
    path[0] = (struct measure_processor){m->all_processors, MEASURE_MEMBERS};
    if (count == m->node_count)
        return 1;
    path[1] = (struct measure_processor){set_of(m, nodes, count)->processors, MEASURE_MEMBERS};
    return 2;
}

static void set_window(struct model *m, const struct model_node_set *s)
{
    struct node_set_sum sum = {0}, work = {0};
    for (uint32_t i = 0; i < s->count; i++) {
        sum_add(&sum, &m->nodes[s->nodes[i]].ideal[ADMIT_READ]);
        sum_add(&work, &m->nodes[s->nodes[i]].processors.ideal);
    }
    sum_report(m, s->resource, &sum);
    processors_report(m, s->processors, &work);
}

void node_sets_window(struct model *m)
{
    struct node_set_sum all = {0}, work = {0};
    size_t at = 0;
    for (uint32_t node = 1; node <= m->node_count; node++) {
        sum_add(&all, &m->nodes[node].ideal[ADMIT_READ]);
        sum_add(&work, &m->nodes[node].processors.ideal);
    }
    sum_report(m, m->all_nodes, &all);
    processors_report(m, m->all_processors, &work);
    for (struct model_node_set *s; (s = id_map_next(&m->node_sets, &at)) != NULL;) {
        for (; s != NULL; s = s->next)
            set_window(m, s);
    }
}
