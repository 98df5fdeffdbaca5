/* Which shard an item has: how many items move when a key gets more shards, and how even the shards
 * are.
 *
 * The product's map is jump hashing (engine/key_sharding/key_sharding.h). The two others of
 * docs/decisions/0038 are here for comparison; `build/fast/tests/property --filter
 * shard_map_property` prints the figures of all three. */
#include <math.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/key_sharding/key_sharding.h"
#include "tests/check.h"

enum {
    ITEMS = 300000, /* 5,000 a second for a minute */
    SECOND = 5000
};

typedef uint32_t (*shard_map)(uint64_t hash, uint32_t shards);

static uint32_t map_mod(uint64_t hash, uint32_t shards)
{
    return (uint32_t)(hash % shards);
}

/* The shard whose hash with the item's is the highest. */
static uint32_t map_rendezvous(uint64_t hash, uint32_t shards)
{
    uint64_t highest = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < shards; i++) {
        const uint64_t both[2] = {hash, i};
        const uint64_t h = XXH3_64bits(both, sizeof both);
        if (h >= highest) {
            highest = h;
            found = i;
        }
    }
    return found;
}

static const struct {
    const char *name;
    shard_map map;
} maps[] = {{"mod N", map_mod}, {"rendezvous", map_rendezvous}, {"jump", key_shard_jump}};

enum {
    MAPS = sizeof maps / sizeof maps[0]
};

/* The hashes of sort keys in ascending order, as those of messages are. */
static uint64_t item_hash(uint64_t first, uint32_t item)
{
    char text[24];
    const int size = snprintf(text, sizeof text, "%020llu", (unsigned long long)first + item);
    return XXH3_64bits(text, (size_t)size);
}

/* The part of the items that has another shard with `more` shards than with `few`. */
static double moved(shard_map map, uint64_t first, uint32_t few, uint32_t more)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ITEMS; i++) {
        const uint64_t hash = item_hash(first, i);
        count += map(hash, few) != map(hash, more);
    }
    return (double)count / ITEMS;
}

/* The greatest distance of a shard's part of the items from the mean, as part of the mean. */
static double imbalance(shard_map map, uint64_t first, uint32_t items, uint32_t shards)
{
    uint32_t counts[KEY_SHARDS_MAX] = {0};
    const double mean = (double)items / shards;
    double worst = 0;
    for (uint32_t i = 0; i < items; i++)
        counts[map(item_hash(first, i), shards)]++;
    for (uint32_t i = 0; i < shards; i++)
        worst = fmax(worst, fabs(counts[i] - mean) / mean);
    return worst;
}

/* Nearly nothing more than must: the new shards get their even part of all items, from the old
 * ones. */
static void growth_moves_what_the_new_shards_need(struct prng *p)
{
    static const uint32_t numbers[] = {1, 2, 3, 5};
    const uint64_t first = prng_next(p) >> 8;
    for (uint32_t m = 0; m < MAPS; m++) {
        double sum = 0;
        printf("%s moves", maps[m].name);
        for (uint32_t i = 1; i < sizeof numbers / sizeof numbers[0]; i++) {
            const double part = moved(maps[m].map, first, numbers[i - 1], numbers[i]);
            const double least = 1 - (double)numbers[i - 1] / numbers[i];
            printf(" %u->%u: %.3f", numbers[i - 1], numbers[i], part);
            sum += part;
            assert_true(part > least - 0.005);
            assert_true(maps[m].map == map_mod || part < least + 0.005);
        }
        printf(", in all %.2f moves for each item\n", sum);
    }
}

/* 5,000 a second over 10 shards are 500 for each, within 5 % over a minute. Within a second chance
 * alone makes it more: the standard deviation of a shard is 4.2 % then. */
static void shards_get_even_parts(struct prng *p)
{
    const uint64_t first = prng_next(p) >> 8;
    for (uint32_t m = 0; m < MAPS; m++) {
        const double minute = imbalance(maps[m].map, first, ITEMS, 10);
        const double second = imbalance(maps[m].map, first, SECOND, 10);
        printf("%s: of 10 shards the worst is off by %.1f %% within a minute, %.1f %% within a "
               "second\n",
               maps[m].name, 100 * minute, 100 * second);
        assert_true(minute < 0.05);
        assert_true(second < 0.25);
    }
}

TEST(growth_moves_what_it_must)
{
    check_seeds(2, growth_moves_what_the_new_shards_need);
}

TEST(parts_are_even)
{
    check_seeds(5, shards_get_even_parts);
}
