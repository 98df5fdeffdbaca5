/* subranges.c - cuts ranges at sharded keys, and makes ranges of their shards. */
#include "router/plan/subranges.h"

#include "base/mutation.h"
#include "router/core/item_placement.h"

/* A sharded key's place: [lo, hi) has its items as if it were not sharded. */
struct place {
    const struct sharded_key *key; /* NULL: none */
    struct slice lo;
    struct slice hi;
};

/* The first place that ends after the storage key. */
static struct place subranges_find(struct call *c, const struct table *t, struct slice from)
{
    struct place at = {.key = key_sharding_from(t->sharded_keys, from)};
    struct buffer *scratch = &c->router->scratch;
    if (at.key == NULL)
        return at;
    buffer_clear(scratch);
    sharded_key_append_prefix(scratch, at.key, t->id, 0);
    at.lo = arena_copy(&c->arena, buffer_slice(scratch));
    storage_key_successor(scratch);
    at.hi = arena_copy(&c->arena, buffer_slice(scratch));
    return at;
}

static void subranges_use_shards(struct call *c, struct ranges_plan *p, const struct sharded_key *k,
                                 struct slice lo, struct slice hi)
{
    struct arena *arena = &c->arena;
    p->key = k;
    p->count = sharded_key_extent(k);
    p->ranges = arena_zalloc(arena, p->count * sizeof *p->ranges);
    for (uint32_t i = 0; i < p->count; i++)
        p->ranges[i] =
            (struct plan_range){.lo = sharded_key_in(arena, k, lo, i),
                                .hi = sharded_key_in(arena, k, hi, i),
                                .prefix = STORAGE_KEY_BOUND_SIZE,
                                .shard = i,
                                .rank = MUTATED(MUTATION_NO_RANKS) ? 0 : sharded_key_rank(k, i)};
}

static void subranges_use_plain(struct call *c, struct ranges_plan *p, struct slice lo,
                                struct slice hi)
{
    p->key = NULL;
    p->count = 1;
    p->ranges = arena_zalloc(&c->arena, sizeof *p->ranges);
    *p->ranges = (struct plan_range){.lo = lo, .hi = hi};
}

void subranges_next(struct call *c, struct ranges_plan *p, struct plan_range *rest)
{
    const struct place at = subranges_find(c, ranges_table(p), rest->lo);
    const struct slice lo = rest->lo;
    struct slice hi = rest->hi;
    const bool shards = at.key != NULL && slice_compare(at.lo, lo) <= 0;
    const struct slice cut = shards ? at.hi : at.lo;
    if (at.key != NULL && slice_compare(cut, hi) < 0)
        hi = cut;
    if (shards)
        subranges_use_shards(c, p, at.key, lo, hi);
    else
        subranges_use_plain(c, p, lo, hi);
    p->begun = p->reverse ? hi : lo;
    if (p->reverse)
        rest->hi = rest->lo; /* one partition key has one subrange */
    else
        rest->lo = hi;
}

void subranges_give_back(struct call *c, struct ranges_plan *p, struct plan_range *rest)
{
    const struct plan_range *first = &p->ranges[0];
    const bool alone =
        p->count == 1; /* it tells how far it was read; its place is that of shard 0 */
    if (p->reverse)
        rest->hi = alone ? first->hi : p->begun;
    else
        rest->lo = alone ? first->lo : p->begun;
    if (!alone && p->taken_key.size > 0)
        plan_range_skip_past(c, rest, p->reverse,
                             sharded_key_in(&c->arena, p->key, p->taken_key, 0));
    p->route = p->newer;
    p->stale = false;
}
