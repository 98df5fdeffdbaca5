/* index_feed_change.h - what a write of an item means for the table's global indexes, as bytes in
 * the log and in the store.
 *
 * The leader adds a change of SPACE_INDEX_FEED to the log entry of a write that changes rows of
 * global indexes. It says which rows the item may have had before. Which row it has now follows
 * from the item. Each replica keeps the change as a row of its own until the indexes have it
 * (index_feed.h). So the changes of a partition survive any crash, and go with their items in
 * splits, merges and snapshots.
 *
 * Key of the row: the item's storage key in the key space SPACE_INDEX_FEED_KEYS | id of the
 * partition that wrote the item (u64 BE) | index of the entry in its log (u64 BE). In the log entry
 * the key is without the last two. Epochs would not do for ids: every part that was split off
 * begins with epoch 1, and with a log of its own. Value: i64 milliseconds since 1970 | for each
 * index: u32 table id | u32 cost in units | u32 size and bytes of the storage key of the row
 * before; size 0: there was none, or it stays. */
#pragma once

#include "engine/index/index.h"
#include "engine/item/step_budget.h"
#include "engine/store/change_set.h"

enum {
    SPACE_INDEX_FEED_KEYS = 1 + LOCAL_INDEXES_MAX, /* the first byte of keys */
    INDEX_FEED_SUFFIX_SIZE = 16
};

/* One index in a change. */
struct index_feed_part {
    uint32_t table_id;
    uint32_t units;
    struct slice old_row; /* a storage key; empty: none */
};

/* Appends the value of the change of a write. Nothing: no global index changes. `old`, `now`: the
 * item; empty: none. */
void index_feed_change_append(struct buffer *out, const struct index_set *set,
                              struct slice item_key, struct slice old, struct slice now,
                              int64_t wall_ms, struct steps *steps);

/* The time of a change; `value` becomes its parts. */
int64_t index_feed_change_open(struct slice *value);
/* Takes the next part off. False: no more. */
bool index_feed_change_next(struct slice *value, struct index_feed_part *out);
/* Whether bytes from another node are a value. */
bool index_feed_change_is_valid(struct slice value);

/* Appends the key of the row. `key`: as in the log entry. */
void index_feed_key_append(struct buffer *out, struct slice key, uint64_t partition,
                           uint64_t index);
/* The index in the last INDEX_FEED_SUFFIX_SIZE bytes of a row's key. */
uint64_t index_feed_suffix_index(struct slice suffix);
/* The row's key without its last 16 bytes. False: it is no row's key. */
bool index_feed_key_split(struct slice row_key, struct slice *item_key);
