/* lease_test.c - what the writer of leases writes, its reader reads: random leases up to
 * their bounds in names, parts, limits and amounts. One step beyond a bound, the lease does not
 * fit. */
#include "base/prng.h"
#include "router/limiter/app_lease.h"
#include "tests/check.h"

/* 1 or the largest, most of the time. */
static uint32_t size_up_to(struct prng *p, uint32_t most)
{
    const uint32_t kind = (uint32_t)prng_below(p, 3);
    return kind == 0 ? 1 : kind == 1 ? most : 1 + (uint32_t)prng_below(p, most);
}

static struct slice name_of(struct prng *p, struct arena *arena, uint32_t size_max, uint32_t number)
{
    const uint32_t size = 4 + size_up_to(p, size_max - 4);
    char *text = arena_alloc(arena, size + 1);
    memset(text, 'a', size);
    snprintf(text, size + 1, "%04u", number);
    text[4] = 'b';
    return slice_make(text, size);
}

static int64_t amount_of(struct prng *p)
{
    const int64_t size = prng_below(p, 2) == 0 ? LIMITER_MTOK_MAX : (int64_t)prng_below(p, 5000);
    return prng_below(p, 2) == 0 ? size : -size;
}

static struct app_lease lease_draw(struct prng *p, struct arena *arena)
{
    struct app_lease l = {.use_number = (uint32_t)prng_next(p), .expires_ms = INT64_MAX};
    struct slice entities[LIMITER_CHAIN_MAX];
    const uint32_t entity_count = size_up_to(p, LIMITER_CHAIN_MAX);
    for (uint32_t i = 0; i < entity_count; i++)
        entities[i] = name_of(p, arena, LIMITER_ENTITY_MAX, i);
    l.name_space = name_of(p, arena, LIMITER_NAMESPACE_MAX, 0);
    l.resource = name_of(p, arena, LIMITER_ENTITY_MAX, 0);
    l.limit_count = size_up_to(p, LIMITER_LIMITS_MAX);
    for (uint32_t i = 0; i < l.limit_count; i++)
        l.limits[i] = name_of(p, arena, LIMITER_NAME_MAX, i);
    l.part_count = size_up_to(p, APP_LEASE_PARTS_MAX);
    l.parts = arena_zalloc(arena, (APP_LEASE_PARTS_MAX + 1) * sizeof *l.parts);
    for (uint32_t i = 0; i <= APP_LEASE_PARTS_MAX; i++) {
        l.parts[i].entity = entities[prng_below(p, entity_count)];
        l.parts[i].shard = (uint32_t)prng_below(p, LIMITER_SHARDS_MAX);
        for (uint32_t k = 0; k < l.limit_count; k++)
            l.parts[i].amounts[k] = amount_of(p);
    }
    return l;
}

static void check_same(struct arena *arena, const struct app_lease *l)
{
    struct buffer text = {0}, again = {0};
    struct app_lease read;
    app_lease_write(&text, l);
    assert_true(text.size <= APP_LEASE_TEXT_MAX);
    assert_true(app_lease_read(arena, buffer_slice(&text), &read));
    assert_int_equal(read.part_count, l->part_count);
    for (uint32_t i = 0; i < l->part_count; i++) {
        assert_true(slice_equal(read.parts[i].entity, l->parts[i].entity));
        assert_int_equal(read.parts[i].shard, l->parts[i].shard);
        assert_memory_equal(read.parts[i].amounts, l->parts[i].amounts,
                            l->limit_count * sizeof l->parts[i].amounts[0]);
    }
    app_lease_write(&again, &read);
    assert_true(slice_equal(buffer_slice(&again), buffer_slice(&text)));
    buffer_deinit(&text);
    buffer_deinit(&again);
}

static void check_bounds(struct prng *p, struct arena *arena, const struct app_lease *l)
{
    struct app_lease other = *l;
    struct app_lease_part *part = &other.parts[prng_below(p, other.part_count)];
    int64_t *amount = &part->amounts[prng_below(p, other.limit_count)];
    const int64_t kept = *amount;
    *amount = LIMITER_MTOK_MAX + 1;
    assert_false(app_lease_fits(arena, &other));
    *amount = kept;
    other.part_count = APP_LEASE_PARTS_MAX + 1;
    assert_false(app_lease_fits(arena, &other));
    if (l->part_count > LIMITER_CHAIN_MAX) {
        other.part_count = l->part_count;
        for (uint32_t i = 0; i <= LIMITER_CHAIN_MAX; i++)
            other.parts[i].entity = name_of(p, arena, LIMITER_ENTITY_MAX, i + 100);
        assert_false(app_lease_fits(arena, &other));
    }
}

TEST(each_lease_within_its_bounds_is_read_as_it_was_written)
{
    for (int round = 0; round < 200; round++) {
        struct prng p = prng_seeded((uint64_t)round + 1);
        struct arena arena = {0};
        const struct app_lease l = lease_draw(&p, &arena);
        assert_true(app_lease_fits(&arena, &l));
        check_same(&arena, &l);
        check_bounds(&p, &arena, &l);
        arena_deinit(&arena);
    }
}
