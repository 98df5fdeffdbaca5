/* capacity.c - reservations on nodes.
 *
 * A node reserves the writes of every partition that has a replica there, and the reads of the
 * partitions that it should lead (engine/catalog/allocate.c). */
#include "engine/admission/capacity.h"
#include "control/controller_internal.h"
#include "engine/admission/share.h"

int64_t control_capacity_mcu(const struct controller *c, uint32_t node, enum admit_kind kind)
{
    must(node >= 1 && node <= NODES_MAX);
    const struct node_load *l = &c->view->loads->nodes[node];
    return l->has_report ? l->capacity_mcu[kind] : node_capacity_mcu(c->config, kind);
}

/* Reserves `more_mcu` more for one partition. False: a node's capacity is too small. */
static bool reserve_more(struct controller *c, const struct partition_info *p, enum admit_kind kind,
                         int64_t more_mcu)
{
    bool fits = true;
    for (uint32_t m = 0; m < control_carriers(p, kind); m++) {
        uint32_t node = partition_node(p, m);
        c->reservations.loads_mcu[node][kind] += more_mcu;
        fits &= more_mcu <= 0 ||
                c->reservations.loads_mcu[node][kind] <= control_capacity_mcu(c, node, kind);
    }
    return fits;
}

bool control_reserve(struct controller *c, const struct table *t, const int64_t units[ADMIT_KINDS],
                     const struct partition_info *without)
{
    const struct reservations before = c->reservations;
    uint32_t count = t->partition_count - (without != NULL), index = 0;
    must_in_tests(count > 0 && units[ADMIT_READ] >= 0 && units[ADMIT_WRITE] >= 0);
    bool fits = true;
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS && without != NULL; kind++)
        reserve_more(c, without, kind, -without->rate_mcu[kind]);
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        if (p == without)
            continue;
        for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
            fits &= reserve_more(c, p, kind,
                                 share_equal_mcu(units[kind], count, index) - p->rate_mcu[kind]);
        index++;
    }
    must_in_tests(index == count); /* `without` is the table's, or NULL */
    if (!fits)
        c->reservations = before;
    return fits;
}

bool control_is_decided(const struct controller *c, uint32_t partition)
{
    const struct partition_history *w = control_history(c, partition);
    bool decided = w != NULL && w->rated_in == c->evaluations;
    for (uint32_t i = 0; i < c->moved_count; i++)
        decided |= c->moved[i] == partition;
    return decided;
}

void control_note_moved(struct controller *c, uint32_t partition)
{
    must(c->moved_count < DECISIONS_MAX);
    must_in_tests(!control_is_decided(c, partition));
    c->moved[c->moved_count++] = partition;
}

void control_move(struct controller *c, const struct table *t, const struct partition_info *p,
                  uint32_t from, uint32_t to, struct decision *d)
{
    bool leads = from != 0 && partition_node(p, 0) == from;
    must_in_tests(to != 0 && to != from && partition_member_on(p, to) == 0);
    must_in_tests(p->leaving == 0 && (from == 0 || partition_member_on(p, from) != 0));
    d->table_id = t->id;
    d->partition = p->id;
    d->epoch = p->epoch;
    d->from_node = from;
    d->to_node = to;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t more = kind == ADMIT_READ && !leads ? 0 : p->rate_mcu[kind];
        c->reservations.loads_mcu[to][kind] += more;
        c->reservations.loads_mcu[from][kind] -= more;
    }
    control_note_moved(c, p->id);
    c->reservations.work[to] += leads ? 2 : 1;
    c->reservations.work[from] -= leads ? 2 : 1;
    control_decide(c, CATALOG_MOVE, d);
}

uint32_t control_moving(const struct controller *c)
{
    const struct table *itself = catalog_itself(c->view->catalog);
    uint32_t moving = itself != NULL && itself->partitions[0].leaving != 0;
    for (const struct table *t = NULL; (t = catalog_next(c->view->catalog, t)) != NULL;) {
        for (uint32_t i = 0; i < t->partition_count; i++)
            moving += t->partitions[i].leaving != 0;
    }
    return moving;
}
