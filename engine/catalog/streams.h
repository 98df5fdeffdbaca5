/* streams.h - the streams of a table and their shards, as the catalog knows them and as bytes.
 *
 * The catalog keeps a stream for stream_retention_ms after it was disabled, and a shard for that
 * time after it was closed. A shard is a partition at one epoch. The partition writes into it from
 * the entry of its log that begins the stream or the epoch, up to the entry that ends them: a
 * little later than the catalog says so.
 *
 * Not here: records (engine/stream/stream.h). */
#pragma once

#include "base/arena.h"
#include "base/codec.h"
#include "engine/stream/stream.h"

enum {
    TABLE_STREAMS_MAX = 8,      /* that a table keeps at once */
    STREAM_DEPTH_MAX = 9999998, /* so many digits has a sequence number for it */
    STREAM_SEQUENCE_SIZE = 32,  /* digits of a sequence number */
};

struct table_shard {
    uint32_t partition;
    uint64_t epoch;
    uint32_t depth;  /* 0, or one more than that of the parent */
    uint32_t parent; /* its partition and epoch; 0: none */
    uint64_t parent_epoch;
    int64_t closed_ms; /* wall clock; 0: open */
};

struct table_stream {
    uint32_t id;
    enum stream_view view;
    uint32_t version; /* the table's indexes_version when the stream was enabled or disabled last */
    int64_t created_ms;  /* also its label; no two streams of a table have the same */
    int64_t disabled_ms; /* 0: it is enabled */
    uint32_t shard_count;
    struct table_shard *shards; /* parents before their children */
};

struct table_streams {
    uint32_t last_id; /* of the last stream that there was */
    uint32_t count;
    struct table_stream at[TABLE_STREAMS_MAX]; /* oldest first */
};

void table_streams_encode(struct buffer *out, const struct table_streams *s);
/* `*out` is NULL if there are no bytes. The result comes from the arena. STATUS_MALFORMED. */
enum status table_streams_decode(struct slice bytes, struct arena *arena,
                                 const struct table_streams **out);

/* What partitions must know of the last stream. `s` may be NULL. */
struct stream_latest table_streams_latest(const struct table_streams *s);
/* The enabled stream. NULL: there is none. */
const struct table_stream *table_streams_enabled(const struct table_streams *s);
const struct table_shard *table_stream_shard(const struct table_stream *s, uint32_t partition,
                                             uint64_t epoch);
/* Whether what ended then need not be kept any more. 0: it has not ended. */
bool table_stream_is_over(int64_t ended_ms, int64_t retention_ms, int64_t wall_ms);

/* ---- names ---- */

/* Appends shardId- and numbers: the id of a shard. */
void table_shard_append_id(struct buffer *out, const struct table_stream *s,
                           const struct table_shard *shard);
/* The shard with this id. NULL: there is none. */
const struct table_shard *table_shard_find(const struct table_stream *s, struct slice id);

/* Appends a sequence number of the shard: digits. They rise along the shard and its descendants. */
void table_sequence_append(struct buffer *out, const struct table_shard *shard, uint64_t index,
                           uint32_t place);
/* False: it is no sequence number of the shard. */
bool table_sequence_read(const struct table_shard *shard, struct slice text, uint64_t *index,
                         uint32_t *place);
/* Appends the greatest sequence number that the shard may have. */
void table_sequence_append_last(struct buffer *out, const struct table_shard *shard);

/* Appends the label of the stream: when it was created, as 2015-05-11T21:21:33.291. */
void table_stream_append_label(struct buffer *out, const struct table_stream *s);
/* The stream with this label. NULL: there is none. */
const struct table_stream *table_streams_find_label(const struct table_streams *s,
                                                    struct slice label);
