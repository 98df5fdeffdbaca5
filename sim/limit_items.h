/* limit_items.h - reads the items of the rate limiter's buckets from the answer to a Scan.
 *
 * Units: thousandths of tokens (mtok). The names of the limits are `fast` and `slow`. */
#pragma once

#include "base/buffer.h"
#include "sim/limit_books.h"

/* All items of one bucket. */
struct limit_items {
    uint32_t items;
    uint32_t open;                /* shards that take requests */
    uint32_t count;               /* of shards, as shard 0 says; 0: there is no shard 0 */
    bool merging;                 /* as shard 0 says */
    int64_t taken[BOOKS_LIMITS];  /* counted by all items */
    int64_t where[BOOKS_LIMITS];  /* the same, each times its shard: tells which item has counted */
    int64_t epoch;                /* of shard 0 */
    int64_t tokens[BOOKS_LIMITS]; /* of open shards */
    int64_t capacity[2][BOOKS_LIMITS]; /* of open shards' limits: the least, and the most */
    int64_t refused;                   /* requests that all items have counted */
};

/* Adds what a page has. `entities`: of the buckets, in the order of `out`. `next` gets the JSON of the key
 * that the next page begins with; empty: there is none. False: `why` tells what is wrong with the page. */
bool limit_items_read(struct slice body, const char *const *entities, uint32_t count,
                      struct limit_items *out, struct buffer *next, struct buffer *why);
