/* limits.h - clients of the rate limiter: they take tokens of a few buckets, and give some back.
 *
 * Two buckets of entities have a parent that is charged too; one stands alone. Each has a limit that
 * refills fast and one that refills in hours. Requests with a key and uses of leases are sent again, at any
 * router, until they are answered; so each counts once. Some clients write to the items, as any client may, so
 * that the shards are short of write units and the buckets grow.
 *   What was taken never exceeds what there was (sim/limit_books.h).
 *   At last, when nobody takes any more: each bucket has one shard. Its items have counted exactly what the
 *   clients know. A parent has counted what its entities have. Each bucket gets full, and can be emptied at
 *   once. */
#pragma once

#include "sim/http_client.h"

struct limits_options {
    struct scheduler *scheduler;                                        /* borrows */
    struct http_client_options (*http)(void *context, uint32_t client); /* of client i */
    void *context;
    uint32_t clients;
    int64_t nodes_spread_ms; /* between the wall clocks of two nodes, at most */
    int64_t spread_ms;       /* between those of any two processes */
    int64_t merge_ms;        /* limiter_merge_ms */
    int64_t think_ns;
    uint64_t seed;
};

struct limits;

struct limits *limits_create(const struct limits_options *options);
void limits_destroy(struct limits *l);

/* The name of the limiter's table. */
extern const char limits_table[];
/* The partition key of some shard of some bucket; `draw` chooses. */
void limits_key(uint64_t draw, char out[64]);

/* Sets the limits, and then works until limits_end. */
void limits_begin(struct limits *l);
/* Ends the load: at last the buckets are looked at. */
void limits_end(struct limits *l);
/* No client but the first is at work. */
bool limits_are_quiet(const struct limits *l);
bool limits_are_done(const struct limits *l);
/* How long that takes at most after limits_are_quiet. */
struct duration limits_time(const struct limits *l);
void limits_describe(const struct limits *l, struct buffer *out);
/* False: `why` tells what was wrong. */
bool limits_check(const struct limits *l, struct buffer *why);
