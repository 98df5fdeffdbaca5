/* stream.h - the records of a table's stream: their keys and values, in the log and in the store.
 *
 * A stream has shards. A shard is a partition at one epoch: a split closes the shard of the
 * partition and opens one for each piece. The records of a shard are rows of the partition that
 * wrote them.
 *
 * In a log entry a record is a change of SPACE_STREAM before the change of its item. Its key is the
 * item's storage key in the key space SPACE_STREAM_KEYS. Its value (struct stream_change) has what
 * does not follow from the item: each replica makes the row from both.
 *
 * Key of the row: the least storage key that the partition may have, completed to a whole hash, in
 * the key space SPACE_STREAM_KEYS | u16 0 | u32 stream | u32 partition | u64 epoch | u64 index of
 * the entry | u16 place in the entry, all BE. A split leaves that least key where it is, so the
 * rows stay in their partition. No part of a storage key begins with two zeros, so no split between
 * items divides the rows. Value: struct stream_record.
 *
 * Promise
 *   STREAM-1  The records of a partition lie in the order in which they were written, those of
 *             earlier streams and epochs first. */
#pragma once

#include "base/codec.h"
#include "base/limits.h"

enum {
    SPACE_STREAM_KEYS = 4 + LOCAL_INDEXES_MAX, /* the first byte of keys */
    STREAM_SUFFIX_SIZE = 28
};

/* What the records of a stream show of an item. */
enum stream_view {
    STREAM_OFF = 0, /* there is no stream */
    STREAM_KEYS_ONLY,
    STREAM_NEW_IMAGE,
    STREAM_OLD_IMAGE,
    STREAM_BOTH_IMAGES
};

static inline bool stream_shows_new(enum stream_view view)
{
    return view == STREAM_NEW_IMAGE || view == STREAM_BOTH_IMAGES;
}

static inline bool stream_shows_old(enum stream_view view)
{
    return view == STREAM_OLD_IMAGE || view == STREAM_BOTH_IMAGES;
}

/* The last stream of a table, as its partitions know it. */
struct stream_latest {
    uint32_t id;  /* rises with each new stream of the table; 0: there never was one */
    uint8_t view; /* enum stream_view; STREAM_OFF: the stream is disabled */
};

/* Where a record is among those of its partition. */
struct stream_position {
    uint32_t stream;
    uint64_t epoch;
    uint64_t index; /* of the log entry; 0: before all records of the shard */
    uint16_t place; /* among the records of the entry */
};

enum stream_event {
    STREAM_INSERT = 1,
    STREAM_MODIFY,
    STREAM_REMOVE
};

/* A record in a log entry. Slices lend from the bytes. */
struct stream_change {
    uint32_t stream;
    uint64_t epoch; /* of the shard */
    uint8_t view;   /* enum stream_view */
    enum stream_event event;
    bool by_service; /* the service itself has removed the item, because its time was over */
    int64_t wall_ms;
    struct slice old; /* the item before; empty: there was none, or the view does not show it */
};

/* A record in the store. */
struct stream_record {
    enum stream_event event;
    bool by_service;
    int64_t wall_ms;
    struct slice key; /* the item's storage key */
    struct slice old; /* items; empty: not shown, or there was none */
    struct slice now;
};

void stream_latest_walk(struct codec *c, struct stream_latest *w);
void stream_position_walk(struct codec *c, struct stream_position *p);
/* < 0, 0 or > 0. */
int stream_position_compare(const struct stream_position *a, const struct stream_position *b);

void stream_change_encode(struct buffer *out, const struct stream_change *change);
/* STATUS_MALFORMED. Items are checked. */
enum status stream_change_decode(struct slice bytes, struct stream_change *out);
void stream_record_encode(struct buffer *out, const struct stream_record *record);
/* Does not check the items. */
enum status stream_record_decode(struct slice bytes, struct stream_record *out);
/* Whether bytes from elsewhere are a record, with sound items. */
bool stream_record_is_valid(struct slice bytes);

/* Appends the key of a row. `lo`: the least key of the partition. */
void stream_key_append(struct buffer *out, struct slice lo, uint32_t partition,
                       const struct stream_position *at);
/* Takes a row's key apart. False: it is no row's key. */
bool stream_key_split(struct slice row_key, uint32_t *partition, struct stream_position *out);
/* Whether a partition [lo, ..) may be split there: its rows stay below the point. */
bool stream_may_split(struct slice lo, struct slice point);
