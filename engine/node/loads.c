/* loads.c - what the catalog's leader has heard of the load on partitions and nodes. */
#include "engine/node/loads.h"

#include <stdlib.h>

#include "base/must.h"

struct loads *loads_create(void)
{
    struct loads *l = calloc(1, sizeof *l);
    must(l != NULL);
    return l;
}

void loads_destroy(struct loads *l)
{
    if (l == NULL)
        return;
    for (uint32_t i = 0; i < l->partitions_size; i++) {
        if (l->partitions[i] != NULL)
            free(l->partitions[i]->counts);
        free(l->partitions[i]);
    }
    free(l->partitions);
    free(l);
}

/* What came since the last report; a counter that fell belongs to a node that was restarted. */
static int64_t loads_since(int64_t *last, int64_t now)
{
    int64_t more = now >= *last ? now - *last : now;
    *last = now;
    return more;
}

/* A node that lies can make a total useless, and no more. */
static void loads_add(int64_t *total, int64_t more)
{
    if (__builtin_add_overflow(*total, more, total))
        *total = INT64_MAX;
}

void loads_take_node(struct loads *l, struct instant now, const struct node_report *r)
{
    struct node_load *n = &l->nodes[r->node];
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t more = loads_since(&n->reported_mcu[kind], r->consumed_mcu[kind]);
        loads_add(&n->totals_mcu[kind], n->heard ? more : 0);
        n->capacity_mcu[kind] = r->capacity_mcu[kind];
    }
    n->heard = true;
    n->heard_at = now;
}

static struct partition_load *find_or_add(struct loads *l, uint32_t partition)
{
    if (partition >= l->partitions_size) {
        uint32_t size =
            l->partitions_size * 2 > partition ? l->partitions_size * 2 : partition + 64;
        l->partitions = realloc(l->partitions, size * sizeof l->partitions[0]);
        must(l->partitions != NULL);
        memset(l->partitions + l->partitions_size, 0,
               (size - l->partitions_size) * sizeof l->partitions[0]);
        l->partitions_size = size;
    }
    if (l->partitions[partition] == NULL) {
        l->partitions[partition] = calloc(1, sizeof *l->partitions[0]);
        must(l->partitions[partition] != NULL);
    }
    return l->partitions[partition];
}

static const struct load_counts nothing;

/* `known`: the last report was the same member's. */
static void loads_count(struct partition_load *p, const struct partition_report *r, bool known)
{
    if (p->counts == NULL && memcmp(r->totals, nothing.totals, sizeof r->totals) == 0)
        return;
    if (p->counts == NULL) {
        p->counts = calloc(1, sizeof *p->counts);
        must(p->counts != NULL);
    }
    for (int kind = 0; kind < ADMIT_KINDS && known; kind++) {
        struct load_total *total = &p->counts->totals[kind], *last = &p->counts->reported[kind];
        const struct load_total *t = &r->totals[kind];
        loads_add(&total->consumed_mcu, loads_since(&last->consumed_mcu, t->consumed_mcu));
        loads_add(&total->refused_mcu, loads_since(&last->refused_mcu, t->refused_mcu));
        for (int reason = 0; reason < ADMIT_REASONS; reason++)
            loads_add(&total->refused[reason],
                      loads_since(&last->refused[reason], t->refused[reason]));
    }
    memcpy(p->counts->reported, r->totals, sizeof r->totals);
}

void loads_take_partition(struct loads *l, struct instant now, const struct partition_report *r)
{
    struct partition_load *p = find_or_add(l, r->partition);
    loads_count(p, r, p->member == r->member);
    p->table_id = r->table_id;
    p->member = r->member;
    p->epoch = r->epoch;
    memcpy(p->excess_ms, r->excess_ms, sizeof p->excess_ms);
    p->heard_at = now;
    p->items = r->items;
    p->bytes = r->bytes;
}

const struct partition_load *loads_of(const struct loads *l, uint32_t partition)
{
    return partition < l->partitions_size ? l->partitions[partition] : NULL;
}

const struct load_total *loads_totals(const struct partition_load *p)
{
    return p->counts != NULL ? p->counts->totals : nothing.totals;
}
