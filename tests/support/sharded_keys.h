/* sharded_keys.h - sharded keys for tests: those whose partition key is a string. */
#pragma once

#include "engine/catalog/table.h"
#include "engine/item/storage_key.h"

/* The storage key in shard 0. Lends until the next call. `sort` NULL: what the collection's keys
 * begin with. */
static inline struct slice sharded_key_bare(const struct table *t, const char *name,
                                            const char *sort)
{
    static uint8_t bytes[512];
    struct buffer b = {0};
    const struct attr key = {ATTR_STRING, slice_of(name)};
    const struct attr second = {ATTR_STRING, slice_of(sort != NULL ? sort : "")};
    if (sort != NULL)
        storage_key_append(&b, t->id, &key, &second);
    else
        storage_key_append_collection(&b, t->id, &key);
    must(b.size <= sizeof bytes);
    memcpy(bytes, b.data, b.size);
    const size_t size = b.size;
    buffer_deinit(&b);
    return slice_make(bytes, size);
}

/* The key, whose bytes lend for the process's life. */
static inline struct sharded_key sharded_key_named(const struct table *t, const char *name,
                                                   uint64_t version, uint32_t shards,
                                                   uint32_t count, const uint32_t *before)
{
    static uint8_t kept[64][256];
    static uint32_t next;
    const struct slice prefix = sharded_key_bare(t, name, NULL);
    uint8_t *copy = kept[next++ % 64];
    struct sharded_key k = {.hash = key_shard_bare_hash(prefix),
                            .version = version,
                            .shards = shards,
                            .before_count = count};
    must(prefix.size <= sizeof kept[0]);
    memcpy(copy, prefix.data + STORAGE_KEY_BOUND_SIZE, prefix.size - STORAGE_KEY_BOUND_SIZE);
    k.key = slice_make(copy, prefix.size - STORAGE_KEY_BOUND_SIZE);
    for (uint32_t i = 0; i < count; i++)
        k.before[i] = before[i];
    return k;
}
