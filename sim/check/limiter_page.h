/* limiter_page.h - the items of the rate limiter's buckets, from the answers to a Scan of its
 * table.
 *
 * Units: thousandths of tokens (mtok). engine/limiter/bucket_item.c says what an item has. */
#pragma once

#include "router/json/json.h"
#include "router/limiter/limit_scope.h"

/* All lends from the page. */
struct limiter_item {
    struct bucket_name name;
    uint32_t shard;
    uint32_t shards; /* its share is that of one of so many */
    bool open;       /* it takes requests */
    uint32_t count;  /* of shard 0: the number of shards */
    bool merging;    /* of shard 0 */
    int64_t epoch;   /* up to which it knows of changes of the number of shards */
    int64_t refused; /* requests that it has counted */
    struct json_value levels;
};

/* One limit. */
struct limiter_item_level {
    int64_t capacity;
    int64_t tokens;
    int64_t taken;
    int64_t refilled_ms; /* by the wall clock of its leader */
};

/* Without the limit all is 0. */
struct limiter_item_level limiter_item_level(const struct limiter_item *item, const char *limit);

typedef void (*limiter_page_take)(void *context, const struct limiter_item *item);

/* Appends the Scan of the first page. */
void limiter_page_first(struct buffer *out);
/* Hands over the items of an answer. `next` becomes the Scan of the next page; empty: there is
 * none. False: the answer cannot be read. */
bool limiter_page_read(struct slice body, limiter_page_take take, void *context,
                       struct buffer *next);
