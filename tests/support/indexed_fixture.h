/* indexed_fixture.h - a lone node whose table has a global index, `by-v`: by the versions of
 * items. Or several of the same kind: `by-v`, `by-v1`, .. */
#pragma once

#include "engine/node/index/index_feed_internal.h"
#include "engine/node/node_internal.h"
#include "tests/support/lone_node.h"

struct indexed_fixture {
    struct lone_node w;
    struct buffer indexes;
    struct buffer globals;
    struct buffer table_bytes;
    struct arena arena;
    struct table index; /* as the catalog says */
};

/* The index has so many write units per second. There is no table yet. */
void indexed_open(struct indexed_fixture *s, int64_t index_wcu);
/* The same with so many indexes, GLOBAL_INDEXES_MAX at most. */
void indexed_open_many(struct indexed_fixture *s, int64_t index_wcu, uint32_t count);
/* Opens the node, and creates the table. */
void indexed_table(struct indexed_fixture *s);
void indexed_close(struct indexed_fixture *s);
/* Fetches the index's table again. From now on the fixture looks at this index. */
void indexed_fetch(struct indexed_fixture *s);
void indexed_fetch_other(struct indexed_fixture *s, uint32_t number);
/* Lets time pass, and writes what is to be written. */
void indexed_pass(struct indexed_fixture *s, int64_t ms);
void indexed_put(struct indexed_fixture *s, uint32_t name, uint32_t version);
/* The rows of the index, which has one partition. */
uint32_t indexed_rows(struct indexed_fixture *s);
/* The storage key of the name's row, at this version. */
void indexed_row_key(struct indexed_fixture *s, uint32_t name, uint32_t version,
                     struct buffer *out);
/* Whether the index has a row of the name with this version. */
bool indexed_has(struct indexed_fixture *s, uint32_t name, uint32_t version);
/* The answer to the deletion of an item at its old place, which its move prepares. REPLY_UNKNOWN:
 * it is on its way. */
enum reply_code indexed_leave(struct indexed_fixture *s, uint32_t name);
/* Asks that a piece of the table from this key on is filled into the index. REPLY_UNKNOWN: it is on
 * its way. */
enum reply_code indexed_fill(struct indexed_fixture *s, struct slice from);
/* The table's partition, and its feed. */
const struct partition *indexed_base(struct indexed_fixture *s);
struct index_feed *indexed_feed(struct indexed_fixture *s);
/* Bytes that the index lacks. */
size_t indexed_backlog(struct indexed_fixture *s);
/* A step of a merge, without the catalog, whose map stays as it is. */
void indexed_merge(struct indexed_fixture *s, enum merge_step step, uint64_t epoch);
