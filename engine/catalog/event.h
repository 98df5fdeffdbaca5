/* event.h - a decision about the cluster, described for people: what, for which partition, why, and
 * a figure before and after.
 *
 * The last EVENTS_MAX events are part of the catalog: they are replicated, and numbered from 1
 * without a gap. */
#pragma once

#include "base/codec.h"

enum {
    EVENTS_MAX = 1000, /* kept */
    EVENT_TEXT_SIZE_MAX = 500
};

/* Numbers are never reused. */
#define EVENT_LIST(X)                                    \
    X(EVENT_REPLICA_ADDED, 1, "replica-added")           \
    X(EVENT_REPLICA_MOVED, 2, "replica-moved")           \
    X(EVENT_REPLICA_REPLACED, 3, "replica-replaced")     \
    X(EVENT_NODE_DRAINED, 4, "node-drain")               \
    X(EVENT_ALLOCATION_RAISED, 5, "allocation-raised")   \
    X(EVENT_ALLOCATION_LOWERED, 6, "allocation-lowered") \
    X(EVENT_NO_CAPACITY, 8, "no-capacity")               \
    X(EVENT_SPLIT, 9, "split")                           \
    X(EVENT_SPLIT_REFUSED, 10, "split-refused")          \
    X(EVENT_PEAK, 11, "peak")                            \
    X(EVENT_LEADER_MOVED, 12, "leader-moved")            \
    X(EVENT_MERGE, 13, "merge")                          \
    X(EVENT_MERGE_GIVEN_UP, 14, "merge-given-up")        \
    X(EVENT_INDEX_BEHIND, 15, "index-behind")            \
    X(EVENT_INDEX_CAUGHT_UP, 16, "index-caught-up")      \
    X(EVENT_STREAM_TRIMMED, 17, "stream-trimmed")        \
    X(EVENT_KEY_SHARDED, 18, "key-sharded")              \
    X(EVENT_KEY_GROWN, 19, "key-grown")                  \
    X(EVENT_KEY_MOVED, 20, "key-moved")                  \
    X(EVENT_KEY_SHRINKS, 21, "key-shrinks")              \
    X(EVENT_KEY_UNSHARDED, 22, "key-unsharded")          \
    X(EVENT_KEY_SHARDING_FULL, 23, "key-sharding-full")  \
    X(EVENT_ADVICE, 24, "advice")                        \
    X(EVENT_BUCKET_GROWN, 25, "bucket-grown")            \
    X(EVENT_BUCKET_MERGED, 26, "bucket-merged")

enum event_kind {
#define X(code, number, name) code = number,
    EVENT_LIST(X)
#undef X
    EVENT_KINDS
};

const char *event_kind_name(enum event_kind kind); /* static */

struct event {
    uint64_t number;
    int64_t wall_ms;
    enum event_kind kind;
    uint32_t table_id; /* 0: no table */
    uint32_t partition;
    struct slice table;  /* its name */
    struct slice reason; /* for people */
    struct slice figure; /* what `before` and `after` count; empty: no figure */
    int64_t before;
    int64_t after;
};

/* The bytes of an event (base/codec.h). */
void event_walk(struct codec *c, struct event *e);
void event_encode(struct buffer *out, const struct event *e);
/* Borrows from the bytes. STATUS_MALFORMED: also too long texts, and unknown kinds. */
enum status event_decode(struct reader *r, struct event *out);
