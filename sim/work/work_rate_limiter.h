/* work_rate_limiter.h - clients of the rate limiter: they take tokens of a few buckets, and give
 * some back.
 *
 * Two buckets of entities have a parent that is charged too; one stands alone. Each has a limit
 * that refills fast and one that refills in hours. Requests with a key and uses of leases are sent
 * again, at any router, until they are answered; so each counts once. Some clients write to the
 * items, as any client may, so that the shards are short of write units and the buckets grow.
 *   What was taken never exceeds what there was (sim/check/limiter_ledger_check.h). At last, when
 *   nobody
 *   takes any more: each bucket has one shard. Its items have counted exactly what the clients
 *   know. A parent has counted what its entities have. Each bucket gets full, and can be emptied
 *   at once. */
#pragma once

#include "sim/world/http_client.h"

struct work_rate_limiter_options {
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

struct work_rate_limiter;

struct work_rate_limiter *work_rate_limiter_create(const struct work_rate_limiter_options *options);
void work_rate_limiter_destroy(struct work_rate_limiter *l);

/* The name of the limiter's table. */
extern const char work_rate_limiter_table[];
/* The partition key of some shard of some bucket; `draw` chooses. */
void work_rate_limiter_key(uint64_t draw, char out[64]);

/* Sets the limits, and then works until work_rate_limiter_end. */
void work_rate_limiter_begin(struct work_rate_limiter *l);
/* Ends the load: at last the buckets are looked at. */
void work_rate_limiter_end(struct work_rate_limiter *l);
/* No client but the first is at work. */
bool work_rate_limiter_are_quiet(const struct work_rate_limiter *l);
bool work_rate_limiter_are_done(const struct work_rate_limiter *l);
/* How long that takes at most after work_rate_limiter_are_quiet. */
struct duration work_rate_limiter_time(const struct work_rate_limiter *l);
void work_rate_limiter_describe(const struct work_rate_limiter *l, struct buffer *out);
/* False: `why` tells what was wrong. */
bool work_rate_limiter_check(const struct work_rate_limiter *l, struct buffer *why);
