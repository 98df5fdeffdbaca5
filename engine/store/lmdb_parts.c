/* lmdb_parts.c - values that need more than a page, as parts that fit a page each. */
#include "engine/store/lmdb_parts.h"

#include <xxhash.h>

#include "base/must.h"

enum {
    PAGE_HEAD = 16, /* LMDB's, in front of a value that has pages of its own */
    PART_KEY_SIZE = 12,
};

static const uint8_t head_mark[8] = {0xf5, 'p', 'a', 'r', 't', 's', 0x00, 0xf5};

/* Big-endian, so that the parts of a value follow each other. */
struct part_key {
    uint8_t bytes[PART_KEY_SIZE];
};
_Static_assert(PART_KEY_SIZE == sizeof(uint64_t) + sizeof(uint32_t), "a number and a place");

static struct part_key part_key_of(uint64_t number, uint32_t place)
{
    struct part_key k;
    number = __builtin_bswap64(number);
    place = __builtin_bswap32(place);
    memcpy(k.bytes, &number, sizeof number);
    memcpy(k.bytes + sizeof number, &place, sizeof place);
    return k;
}

static uint64_t part_number(MDB_val k)
{
    uint64_t number = 0;
    if (k.mv_size == PART_KEY_SIZE)
        memcpy(&number, k.mv_data, sizeof number);
    return __builtin_bswap64(number);
}

/* ---- heads ---- */

void parts_head_encode(const struct parts_head *h, uint8_t out[PARTS_HEAD_SIZE])
{
    must(h->size > 0); /* parts_head_of: 0 is no head */
    memcpy(out, head_mark, 8);
    memcpy(out + 8, &h->number, 8);
    memcpy(out + 16, &h->size, 4);
    const uint32_t check = (uint32_t)XXH3_64bits(out, 20);
    memcpy(out + 20, &check, 4);
}

bool parts_head_of(struct slice record, struct parts_head *out)
{
    uint32_t check;
    out->size = 0;
    if (record.size != PARTS_HEAD_SIZE || memcmp(record.data, head_mark, 8) != 0)
        return false;
    memcpy(&check, record.data + 20, 4);
    if (check != (uint32_t)XXH3_64bits(record.data, 20))
        return false;
    memcpy(&out->number, record.data + 8, 8);
    memcpy(&out->size, record.data + 16, 4);
    return true;
}

size_t parts_value_size(struct slice record)
{
    struct parts_head head;
    return parts_head_of(record, &head) ? head.size : record.size;
}

bool parts_are_needed(struct slice value, size_t page)
{
    struct parts_head head;
    must(page > PAGE_HEAD);
    return value.size > page - PAGE_HEAD || parts_head_of(value, &head);
}

uint64_t parts_count(const struct parts_head *h, size_t page)
{
    return (h->size + page - PAGE_HEAD - 1) / (page - PAGE_HEAD);
}

struct parts_head parts_without(const struct parts_head *h, uint64_t parts, size_t page)
{
    must(parts <= parts_count(h, page));
    const uint64_t bytes = parts * (page - PAGE_HEAD);
    return (struct parts_head){h->number, bytes < h->size ? h->size - (uint32_t)bytes : 0};
}

/* ---- parts ---- */

/* A number that no value has: the one after the last. */
static int parts_next_number(MDB_cursor *parts, uint64_t *out)
{
    MDB_val k, v;
    const int error = mdb_cursor_get(parts, &k, &v, MDB_LAST);
    *out = error == 0 ? part_number(k) + 1 : 1;
    return error == MDB_NOTFOUND ? 0 : error;
}

/* From the part at this place on, `most` parts. */
static int parts_erase_from(MDB_cursor *parts, uint64_t number, uint32_t place, uint64_t most)
{
    struct part_key key = part_key_of(number, place);
    MDB_val k = {sizeof key, &key}, v;
    int error = mdb_cursor_get(parts, &k, &v, MDB_SET_RANGE);
    while (error == 0 && part_number(k) == number && most-- > 0) {
        error = mdb_cursor_del(parts, 0);
        if (error == 0)
            error = mdb_cursor_get(parts, &k, &v, MDB_NEXT); /* the one after the deleted one */
    }
    return error == MDB_NOTFOUND ? 0 : error;
}

int parts_write(MDB_cursor *parts, size_t page, const struct parts_head *old, struct slice value,
                uint8_t head[PARTS_HEAD_SIZE])
{
    const size_t most = page - PAGE_HEAD;
    struct parts_head h = {.number = old->number, .size = (uint32_t)value.size};
    uint32_t place = 0;
    must(value.size > 0);
    must(value.size <= UINT32_MAX);
    int error = old->size > 0 ? 0 : parts_next_number(parts, &h.number);
    for (size_t at = 0; error == 0 && at < value.size; at += most, place++) {
        struct part_key key = part_key_of(h.number, place);
        const size_t size = value.size - at < most ? value.size - at : most;
        MDB_val k = {sizeof key, &key}, v = {size, (void *)(uintptr_t)(value.data + at)};
        error = mdb_cursor_put(parts, &k, &v, 0);
    }
    must(error != 0 || place == parts_count(&h, page)); /* PARTS-2 */
    if (error == 0 && old->size > value.size)
        error = parts_erase_from(parts, h.number, place, UINT64_MAX);
    parts_head_encode(&h, head);
    return error;
}

int parts_erase(MDB_cursor *parts, const struct parts_head *old, uint64_t most)
{
    return old->size > 0 ? parts_erase_from(parts, old->number, 0, most) : 0;
}

/* A part lies on one page. */
static void parts_touch(MDB_val v)
{
    (void)*(const volatile uint8_t *)v.mv_data;
}

int parts_read(MDB_cursor *parts, const struct parts_head *head, uint8_t *out)
{
    struct part_key key = part_key_of(head->number, 0);
    MDB_val k = {sizeof key, &key}, v;
    int error = mdb_cursor_get(parts, &k, &v, MDB_SET_KEY);
    for (size_t at = 0; error == 0;) {
        if (part_number(k) != head->number || v.mv_size > head->size - at)
            return MDB_CORRUPTED;
        if (out != NULL)
            memcpy(out + at, v.mv_data, v.mv_size);
        else
            parts_touch(v);
        at += v.mv_size;
        if (at == head->size)
            return 0;
        error = mdb_cursor_get(parts, &k, &v, MDB_NEXT);
    }
    return error == MDB_NOTFOUND ? MDB_CORRUPTED : error;
}
