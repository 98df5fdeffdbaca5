/* owned_keys.h - the keys a partition owns, and the cursors that read them.
 *
 * A partition is a range of items' storage keys, [lo, hi). What belongs to it under other keys
 * (enum key_space) stands in further ranges, which follow from lo and hi. Whatever concerns all that
 * a partition owns goes over key_ranges_of: snapshots, erasing, verifying. Whatever concerns items
 * reads them by an items_cursor, which passes over what is no item. */
#ifndef WEIR_ENGINE_NODE_RANGES_H
#define WEIR_ENGINE_NODE_RANGES_H

#include "engine/node/partition.h"
#include "engine/store/store.h"

enum {
    KEY_RANGES_MAX = 4
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

/* Of items and their collections' rows: the partition's own range. Lends from lo and hi. */
struct key_ranges key_ranges_of(struct slice lo, struct slice hi);
bool key_ranges_hold(const struct key_ranges *ranges, struct slice key);
/* What lies before `from` is dropped. */
void key_ranges_skip(struct key_ranges *ranges, struct slice from);
void key_ranges_drop_first(struct key_ranges *ranges);

/* ---- everything a partition owns, in order ---- */

struct owned_cursor {
    struct store *store;
    struct key_ranges ranges; /* those that are not read to the end */
    struct store_cursor cursor;
};

void owned_seek(struct store *store, const struct key_ranges *ranges, struct owned_cursor *out);
/* As store_next. */
enum status owned_next(struct owned_cursor *c, struct slice *key, struct slice *value);

/* ---- its items ---- */

struct items_cursor {
    const struct partition *partition;
    struct store_cursor cursor;
};

/* Those with keys in [lo, hi), which lies within the partition. */
void items_seek(const struct partition *p, struct store *store, struct slice lo, struct slice hi,
                bool reverse, struct items_cursor *out);
/* As store_next; the item's checksum is not looked at. */
enum status items_next(struct items_cursor *c, struct slice *key, struct slice *item);

#endif
