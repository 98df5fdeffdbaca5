/* lmdb_parts.h - values that need more than a page, as parts that fit a page each.
 *
 * LMDB keeps a value of several pages on pages that lie side by side. Where free pages lie apart,
 * such a value finds no place though most of the map is free. So a larger value is divided into
 * parts in a database of their own, and its record is a head:
 *     items: KEY -> head (the value's number 7, 9000 bytes)
 *     parts: 7,0 -> 4080 bytes | 7,1 -> 4080 bytes | 7,2 -> 840 bytes
 *
 * Invariants
 *   PARTS-1  No record of a write needs pages side by side, but LMDB's own list of freed pages.
 *   PARTS-2  Each part belongs to one head, and each head has all its parts.
 * A value that looks like a head is divided too, so a record of that form is always a head.
 * Not here: reading in place. A value in parts is put together in memory. */
#pragma once

#include <lmdb.h>

#include "base/slice.h"

enum {
    PARTS_HEAD_SIZE = 24, /* u64 mark | u64 number | u32 size | u32 checksum */
};

static inline MDB_val val_of(struct slice s)
{
    return (MDB_val){s.size, (void *)(uintptr_t)s.data};
}

static inline struct slice slice_of_val(MDB_val v)
{
    return slice_make(v.mv_data, v.mv_size);
}

struct parts_head {
    uint64_t number;
    uint32_t size; /* of the value; 0: the value is in the record itself */
};

void parts_head_encode(const struct parts_head *h, uint8_t out[PARTS_HEAD_SIZE]);
/* Whether the record is a head. If not, out->size is 0. */
bool parts_head_of(struct slice record, struct parts_head *out);
/* The bytes of the value that has this record. */
size_t parts_value_size(struct slice record);
/* So many parts it has. */
uint64_t parts_count(const struct parts_head *h, size_t page);
/* What is left without its first parts. */
struct parts_head parts_without(const struct parts_head *h, uint64_t parts, size_t page);
/* Whether the value must be divided. `page`: of the environment. */
bool parts_are_needed(struct slice value, size_t page);

/* All return 0 or an error of LMDB. `parts`: a cursor of their database. */

/* Writes the value's parts in place of those that `old` has (size 0: none), and their head to
 * `head`. */
int parts_write(MDB_cursor *parts, size_t page, const struct parts_head *old, struct slice value,
                uint8_t head[PARTS_HEAD_SIZE]);
/* The first `most` of the parts that are left. */
int parts_erase(MDB_cursor *parts, const struct parts_head *old, uint64_t most);
/* Copies the value to `out`, which has head->size bytes; NULL: only makes the parts resident.
 * MDB_CORRUPTED: a part is missing. */
int parts_read(MDB_cursor *parts, const struct parts_head *head, uint8_t *out);
