/* cluster_loads.c - the load on partitions and nodes, as reported to the catalog's leader. */
#include "engine/node/core/cluster_loads.h"

#include <stdlib.h>

struct cluster_loads *cluster_loads_create(void)
{
    struct cluster_loads *l = must_calloc(1, sizeof *l);
    return l;
}

static void partition_load_free(struct partition_load *p)
{
    free(p->counts);
    buffer_deinit(&p->heavy_bytes);
    free(p);
}

void cluster_loads_destroy(struct cluster_loads *l)
{
    if (l == NULL)
        return;
    size_t at = 0;
    for (struct partition_load *p; (p = id_map_next(&l->partitions, &at)) != NULL;)
        partition_load_free(p);
    id_map_deinit(&l->partitions);
    free(l);
}

/* The increase since the last report. If a counter fell, its node was restarted: then the whole
 * counter is the increase. */
static int64_t cluster_loads_since(int64_t *last, int64_t now)
{
    int64_t more = now >= *last ? now - *last : now;
    *last = now;
    return more;
}

/* False figures of a node can make a total useless, but do no other harm. */
static void cluster_loads_add(int64_t *total, int64_t more)
{
    if (__builtin_add_overflow(*total, more, total))
        *total = INT64_MAX;
}

void cluster_loads_take_node(struct cluster_loads *l, struct instant now,
                             const struct node_report *r)
{
    struct node_load *n = &l->nodes[r->node];
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t more = cluster_loads_since(&n->reported_mcu[kind], r->consumed_mcu[kind]);
        cluster_loads_add(&n->totals_mcu[kind], n->has_report ? more : 0);
        n->capacity_mcu[kind] = r->capacity_mcu[kind];
    }
    n->has_report = true;
    n->reported_at = now;
}

static struct partition_load *find_or_add(struct cluster_loads *l, uint32_t partition)
{
    struct partition_load *p = id_map_find(&l->partitions, partition + UINT64_C(1));
    if (p == NULL) {
        p = must_calloc(1, sizeof *p);
        p->partition = partition;
        id_map_add(&l->partitions, partition + UINT64_C(1), p);
    }
    return p;
}

static const struct load_counts nothing;

/* `known`: the last report came from the same member. Otherwise only the member's own totals are
 * noted. */
static void cluster_loads_count(struct partition_load *p, const struct partition_report *r,
                                bool known)
{
    if (p->counts == NULL && memcmp(r->totals, nothing.totals, sizeof r->totals) == 0)
        return;
    if (p->counts == NULL) {
        p->counts = must_calloc(1, sizeof *p->counts);
    }
    for (int kind = 0; kind < ADMIT_KINDS && known; kind++) {
        struct load_total *total = &p->counts->totals[kind], *last = &p->counts->reported[kind];
        const struct load_total *t = &r->totals[kind];
        cluster_loads_add(&total->consumed_mcu,
                          cluster_loads_since(&last->consumed_mcu, t->consumed_mcu));
        cluster_loads_add(&total->refused_mcu,
                          cluster_loads_since(&last->refused_mcu, t->refused_mcu));
        for (int reason = 0; reason < ADMIT_REASONS; reason++)
            cluster_loads_add(&total->refused[reason],
                              cluster_loads_since(&last->refused[reason], t->refused[reason]));
    }
    memcpy(p->counts->reported, r->totals, sizeof r->totals);
}

static void cluster_loads_take_heavy(struct partition_load *p, const struct partition_report *r)
{
    buffer_clear(&p->heavy_bytes);
    for (uint32_t i = 0; i < r->heavy_count; i++)
        buffer_append_slice(&p->heavy_bytes, r->heavy[i].key);
    const uint8_t *at = p->heavy_bytes.data;
    for (uint32_t i = 0; i < r->heavy_count; i++) {
        p->heavy[i] = (struct heavy_key){slice_make(at, r->heavy[i].key.size), r->heavy[i].mcu};
        at += r->heavy[i].key.size;
    }
    p->heavy_count = r->heavy_count;
}

void cluster_loads_take_partition(struct cluster_loads *l, struct instant now,
                                  const struct partition_report *r)
{
    struct partition_load *p = find_or_add(l, r->partition);
    cluster_loads_count(p, r, p->member == r->member);
    p->table_id = r->table_id;
    p->member = r->member;
    p->epoch = r->epoch;
    memcpy(p->excess_ms, r->excess_ms, sizeof p->excess_ms);
    p->index_refusal = r->index_refusal;
    p->trimmed_early = r->trimmed_early;
    p->write_direction = r->write_direction;
    cluster_loads_take_heavy(p, r);
    p->reported_at = now;
    p->items = r->items;
    p->bytes = r->bytes;
}

/* ---- partitions that are gone ---- */

size_t cluster_loads_expected(const struct catalog *catalog)
{
    const struct table *itself = catalog_itself(catalog);
    size_t count = itself == NULL ? 0 : itself->partition_count;
    for (const struct table *t = NULL; (t = catalog_next(catalog, t)) != NULL;)
        count += t->partition_count;
    return count;
}

static void cluster_loads_mark(struct cluster_loads *l, const struct table *t)
{
    for (uint32_t i = 0; i < t->partition_count; i++) {
        struct partition_load *p = id_map_find(&l->partitions, t->partitions[i].id + UINT64_C(1));
        if (p != NULL)
            p->kept = true;
    }
}

static bool partition_load_is_over(UNUSED void *context, void *value)
{
    struct partition_load *p = value;
    const bool over = !p->kept;
    p->kept = false;
    if (over)
        partition_load_free(p);
    return over;
}

void cluster_loads_keep(struct cluster_loads *l, const struct catalog *catalog)
{
    if (l->partitions.count <= cluster_loads_expected(catalog))
        return;
    if (catalog_itself(catalog) != NULL)
        cluster_loads_mark(l, catalog_itself(catalog));
    for (const struct table *t = NULL; (t = catalog_next(catalog, t)) != NULL;)
        cluster_loads_mark(l, t);
    id_map_remove_if(&l->partitions, partition_load_is_over, NULL);
}

const struct partition_load *cluster_loads_of(const struct cluster_loads *l, uint32_t partition)
{
    return id_map_find(&l->partitions, partition + UINT64_C(1));
}

const struct load_total *cluster_loads_totals(const struct partition_load *p)
{
    return p->counts != NULL ? p->counts->totals : nothing.totals;
}
