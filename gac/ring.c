/* ring.c - the points of all servers, sorted; a key is found by bisection. */
#include "gac/ring.h"

#include <stdlib.h>

#include <xxhash.h>

static int compare_points(const void *a, const void *b)
{
    const struct ring_point *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->server < y->server ? -1 : x->server > y->server;
}

static bool ring_is_sorted(const struct ring *r)
{
    for (size_t i = 1; i < (size_t)r->servers * RING_POINTS; i++) {
        if (compare_points(&r->points[i - 1], &r->points[i]) >= 0)
            return false;
    }
    return true;
}

void ring_init(struct ring *r, uint32_t servers)
{
    must(servers <= GAC_SERVERS_MAX);
    r->servers = servers;
    for (uint32_t s = 0; s < servers; s++) {
        for (uint32_t i = 0; i < RING_POINTS; i++) {
            const uint32_t name[2] = {s + 1, i};
            r->points[s * RING_POINTS + i] =
                (struct ring_point){XXH3_64bits(name, sizeof name), s + 1};
        }
    }
    qsort(r->points, (size_t)servers * RING_POINTS, sizeof r->points[0], compare_points);
    must_in_tests(ring_is_sorted(r));
}

static uint64_t ring_hash(struct gac_key key)
{
    const uint32_t words[3] = {key.table, key.index, (uint32_t)key.kind};
    return XXH3_64bits(words, sizeof words);
}

uint32_t ring_owner(const struct ring *r, struct gac_key key, uint64_t alive)
{
    size_t count = (size_t)r->servers * RING_POINTS, low = 0, high = count;
    uint64_t hash = ring_hash(key);
    LOWER_BOUND(low, high, middle, r->points[middle].hash < hash);
    for (size_t i = 0; i < count; i++) {
        uint32_t server = r->points[(low + i) % count].server;
        if (alive >> (server - 1) & 1)
            return server;
    }
    return 0;
}
