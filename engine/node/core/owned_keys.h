/* owned_keys.h - the keys a partition owns, and the cursors that read them.
 *
 * A partition is a range of items' storage keys, [lo, hi). It may own rows under other keys (enum
 * key_space), in further ranges that follow from lo and hi. Snapshots, erasing and verifying go
 * over all owned ranges (key_ranges_of). Code that reads items, such as counting, uses an
 * items_cursor, which skips other rows. */
#pragma once

#include "engine/node/core/partition.h"
#include "engine/store/store.h"

enum {
    KEY_RANGES_MAX = 5 + LOCAL_INDEXES_MAX
};

struct key_range {
    struct slice lo;
    struct slice hi; /* empty: no end */
};

/* Ascending; they do not overlap. */
struct key_ranges {
    uint32_t count;
    struct key_range at[KEY_RANGES_MAX];
};

/* The ranges of all key spaces of a partition [lo, hi) whose table has these indexes: one for items
 * and collections' rows, one for each local index, one for changes that global indexes lack, two
 * for the rows of transactions, one for records of streams. Lends from lo, hi and the arena. */
struct key_ranges key_ranges_of(struct slice lo, struct slice hi, struct slice indexes,
                                struct arena *arena);
/* The same key in another key space. */
struct slice key_in_space(struct slice key, uint8_t space, struct arena *arena);
bool key_ranges_hold(const struct key_ranges *ranges, struct slice key);
/* Drops the keys before `from`. */
void key_ranges_skip(struct key_ranges *ranges, struct slice from);
void key_ranges_drop_first(struct key_ranges *ranges);

/* ---- everything a partition owns, in order ---- */

struct owned_cursor {
    struct store *store;
    struct key_ranges ranges; /* the ranges that are not read to the end */
    struct store_cursor cursor;
};

void owned_seek(struct store *store, const struct key_ranges *ranges, struct owned_cursor *out);
/* Reads the key again that was read last. */
void owned_seek_again(struct owned_cursor *c, struct slice key);
/* As store_next. */
enum status owned_next(struct owned_cursor *c, struct slice *key, struct slice *value);

/* ---- its items ---- */

struct items_cursor {
    const struct partition *partition;
    struct store_cursor cursor;
};

/* The items with keys in [lo, hi). The range must lie within the partition. */
void items_seek(const struct partition *p, struct store *store, struct slice lo, struct slice hi,
                bool reverse, struct items_cursor *out);
/* As store_next. Does not check the item's checksum. */
enum status items_next(struct items_cursor *c, struct slice *key, struct slice *item);
