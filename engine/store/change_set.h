/* change_set.h - the payload of a write's log entry: changes that happen together.
 *
 * A value that follows from the item of the set need not be in it (`derived`).
 *
 * Bytes: head of CHANGE_SET_HEAD_SIZE: i64 cost_mcu | u32 number of changes | u32 burst; then each
 * change: head of CHANGE_HEAD_SIZE: i32 old_size | u32 key size | u32 value size | u8 space |
 * u8 flags | u16 0; its key; its value; with CHANGE_HAS_OLD: u32 size, the replaced value. */
#pragma once

#include "base/buffer.h"

/* The kind of data that a key belongs to. Numbers are never reused. */
enum key_space {
    SPACE_ITEMS = 1,
    SPACE_COLLECTIONS = 2,  /* rows of item collections: engine/node/core/collection.h */
    SPACE_LOCAL_ROWS = 3,   /* rows of local indexes: engine/index/row.h */
    SPACE_INDEX_FEED = 4,   /* what global indexes lack: engine/node/core/index_feed_change.h */
    SPACE_TRANSACTIONS = 5, /* locks, records and tokens: engine/transaction/transaction.h */
    SPACE_STREAM = 6,       /* records of a stream: engine/node/core/stream_rows.h */
    KEY_SPACES,
};

enum {
    CHANGE_SET_HEAD_SIZE = 16,
    CHANGE_HEAD_SIZE = 16,
    CHANGES_MAX = 2048,
};

struct change {
    enum key_space space;
    struct slice key;
    struct slice value; /* data NULL: the key is deleted, or the value is `derived` */
    bool derived;       /* the value follows from the set's item */
    int64_t old_size;   /* items and rows: item_size of what is replaced; -1: nothing */
    struct slice old;   /* the replaced value; data NULL: not contained */
};

struct change_set {
    int64_t cost_mcu; /* charged by the leader */
    uint32_t burst;   /* 1: from the burst bucket; 2: also with tokens that the members set aside */
    uint32_t count;   /* of changes that are not read yet */
    struct slice left;
};

/* ---- writing: `out` must be empty at change_set_begin ---- */

void change_set_begin(struct buffer *out, int64_t cost_mcu, uint32_t burst);
/* Sets what the set says of its cost, after its beginning. */
void change_set_charge(struct buffer *set, int64_t cost_mcu, uint32_t burst);
void change_set_append(struct buffer *out, const struct change *c);
/* Appends the last change without its value. The caller appends the value as the set's last bytes.
 * No old value. */
void change_set_append_last(struct buffer *out, const struct change *c);

/* ---- reading: slices point into the payload ---- */

/* False: not a whole set. */
bool change_set_open(struct slice payload, struct change_set *out);
/* Only for a payload that change_set_open has checked before: reads only the head. */
void change_set_reopen(struct slice payload, struct change_set *out);
/* Reads the next change. False: no more. */
bool change_set_next(struct change_set *set, struct change *out);
