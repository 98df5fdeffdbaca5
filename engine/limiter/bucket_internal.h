/* bucket_internal.h - what the files of engine/limiter share: whole buckets.
 *
 * Not here: whether a bucket may change so (command.c). */
#pragma once

#include "engine/limiter/bucket.h"

/* How many shards there were when the shard was created. */
static inline uint32_t limiter_size_at_creation(uint32_t shard)
{
    return UINT32_C(1) << limiter_size_of(shard);
}

/* The place in `grown` of a number of shards. */
static inline uint32_t limiter_size_index(uint32_t shards)
{
    return (uint32_t)__builtin_ctz(shards);
}

static inline bool limiter_is_size(uint64_t shards)
{
    return shards > 0 && shards <= LIMITER_SHARDS_MAX && (shards & (shards - 1)) == 0;
}

/* The limit's place; limits->count: no limit has this name. */
uint32_t limiter_limit_find(const struct limiter_limits *limits, struct slice name);

/* Full balances. */
void limiter_balances_fill(struct limiter_balance *balances, const struct limiter_limits *limits,
                           uint32_t shard, uint32_t shards, int64_t now_ms);
void limiter_balances_refill(struct limiter_balance *balances, const struct limiter_limits *limits,
                             uint32_t shard, uint32_t shards, int64_t now_ms);
/* Balances of `from` become those of `to`: by name; new limits are full. */
void limiter_balances_convert(struct limiter_balance *balances, const struct limiter_limits *from,
                              const struct limiter_limits *to, uint32_t shard, uint32_t shards,
                              int64_t now_ms);

/* Takes on other limits. The bucket keeps the names' slices. */
void limiter_bucket_set_limits(struct limiter_bucket *b, const struct limiter_limits *limits,
                               int64_t now_ms);
/* Divides a bucket that was refilled: the new reserved share has half of its tokens. */
void limiter_bucket_divide(struct limiter_bucket *b, uint64_t epoch, int64_t now_ms);
/* The reverse: takes over the balances of the child whose share was reserved last. They may have
 * changed since. The reserved share goes. */
void limiter_bucket_merge_in(struct limiter_bucket *b, const struct limiter_balance *balances,
                             int64_t now_ms);

/* When the item may go, in seconds since 1970; 0: never. */
int64_t limiter_bucket_expiry_s(const struct limiter_bucket *b);
/* Appends the bucket's item, with the key of `old`. */
void limiter_bucket_encode(struct slice old, const struct limiter_bucket *b, struct buffer *out);
