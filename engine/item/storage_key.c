/* storage_key.c - writes, reads and checks storage keys. */
#include "engine/item/storage_key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    ESCAPE = 0x00,
    ESCAPED_ZERO = 0xFF,
    END = 0x01
};

static struct slice key_bytes(const struct attr *key)
{
    must(key->type == ATTR_STRING || key->type == ATTR_NUMBER || key->type == ATTR_BINARY);
    return key->body;
}

/* Copies runs without a zero byte at once: most keys have no zero byte. */
static void append_escaped(struct buffer *out, struct slice bytes)
{
    while (bytes.size > 0) {
        const uint8_t *zero = memchr(bytes.data, ESCAPE, bytes.size);
        size_t run = zero == NULL ? bytes.size : (size_t)(zero - bytes.data);
        buffer_append(out, bytes.data, run);
        if (zero == NULL)
            return;
        buffer_append_u8(out, ESCAPE);
        buffer_append_u8(out, ESCAPED_ZERO);
        bytes = slice_make(zero + 1, bytes.size - run - 1);
    }
}

static void append_end(struct buffer *out)
{
    buffer_append_u8(out, ESCAPE);
    buffer_append_u8(out, END);
}

uint64_t storage_key_hash(const struct attr *partition)
{
    struct slice bytes = key_bytes(partition);
    return XXH3_64bits(bytes.data, bytes.size);
}

void storage_key_append_hash(struct buffer *out, uint32_t table_id, uint64_t hash)
{
    buffer_append_be32(out, table_id);
    buffer_append_be64(out, hash);
}

struct slice storage_key_write_bound(uint8_t out[STORAGE_KEY_BOUND_SIZE], uint32_t table_id,
                                     uint64_t hash)
{
    be64_put(be32_put(out, table_id), hash);
    return slice_make(out, STORAGE_KEY_BOUND_SIZE);
}

uint64_t storage_key_bound_hash(struct slice bound, uint64_t open)
{
    if (bound.size <= STORAGE_KEY_TABLE_SIZE)
        return open;
    return slice_head(
        slice_make(bound.data + STORAGE_KEY_TABLE_SIZE, bound.size - STORAGE_KEY_TABLE_SIZE));
}

uint64_t storage_key_even_split(uint64_t lo, uint64_t hi, uint32_t i, uint32_t pieces)
{
    return lo + (uint64_t)((unsigned __int128)(hi - lo) * i / pieces);
}

void storage_key_append_collection(struct buffer *out, uint32_t table_id,
                                   const struct attr *partition)
{
    storage_key_append_hash(out, table_id, storage_key_hash(partition));
    append_escaped(out, key_bytes(partition));
    append_end(out);
}

void storage_key_append_sort(struct buffer *out, const struct attr *sort, bool terminated)
{
    append_escaped(out, key_bytes(sort));
    if (terminated)
        append_end(out);
}

void storage_key_append_in_space(struct buffer *out, uint8_t space, struct slice key)
{
    const size_t at = out->size;
    must(key.size > 0);
    buffer_append_slice(out, key);
    out->data[at] = space;
}

void storage_key_append(struct buffer *out, uint32_t table_id, const struct attr *partition,
                        const struct attr *sort)
{
    storage_key_append_collection(out, table_id, partition);
    if (sort != NULL)
        storage_key_append_sort(out, sort, true);
}

size_t storage_key_collection_size(struct slice key)
{
    size_t at = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    for (; at + 1 < key.size; at++)
        if (key.data[at] == ESCAPE && key.data[at + 1] == END)
            return at + 2;
    return key.size;
}

/* The end of the key part that begins at `at`. 0: no end, or a zero byte that is not escaped. */
static size_t end_of_part(struct slice key, size_t at)
{
    while (at + 1 < key.size) {
        const uint8_t *escape = memchr(key.data + at, ESCAPE, key.size - at - 1);
        if (escape == NULL || (escape[1] != END && escape[1] != ESCAPED_ZERO))
            return 0;
        at = (size_t)(escape - key.data) + 2;
        if (escape[1] == END)
            return at;
    }
    return 0;
}

size_t storage_key_part_size(struct slice key, size_t at)
{
    const size_t end = end_of_part(key, at);
    return end > 0 ? end - at : 0;
}

void storage_key_skip_hash(struct slice *key)
{
    size_t size = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    size = MIN(key->size, size);
    *key = slice_make(key->data + size, key->size - size);
}

bool storage_key_next_part(struct slice *key, struct buffer *out)
{
    size_t at = 0;
    bool whole = false;
    while (at < key->size && !whole) {
        uint8_t byte = key->data[at++];
        bool escape = byte == ESCAPE;
        whole = escape && at < key->size && key->data[at] == END;
        if (!whole && (!escape || at < key->size))
            buffer_append_u8(out, byte);
        at += escape && at < key->size;
    }
    *key = slice_make(key->data + at, key->size - at);
    return whole;
}

bool storage_key_is_complete(struct slice key)
{
    size_t at = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    if (key.size <= at || key.size > STORAGE_KEY_SIZE_MAX)
        return false;
    while (at != 0 && at < key.size)
        at = end_of_part(key, at);
    return at == key.size;
}

struct slice storage_key_begun_behind(struct slice lo)
{
    if (lo.size == 0 || lo.data[lo.size - 1] != 0)
        return lo;
    const struct slice key = slice_make(lo.data, lo.size - 1);
    return storage_key_is_complete(key) ? key : lo;
}

bool storage_key_is_bound(struct slice key, uint32_t parts)
{
    size_t at = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE;
    for (uint32_t i = 0; i < parts; i++) {
        at = at < key.size ? end_of_part(key, at) : 0;
        if (at == 0)
            return true;
    }
    return at == key.size;
}

void storage_key_successor(struct buffer *key)
{
    while (key->size > 0 && key->data[key->size - 1] == 0xFF)
        key->size--;
    if (key->size > 0)
        key->data[key->size - 1]++;
}
