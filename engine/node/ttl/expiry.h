/* expiry.h - items whose time is over are deleted by the leader of their partition.
 *
 * A leader goes over its items in rounds. A round reads all items, a slice at a time
 * (expiry_scan.h), and has each item deleted whose time is over: by a deletion that the node asks
 * of itself (WRITE_BY_EXPIRY), which is judged again by the newest item and becomes an entry
 * of the log. A round begins ttl_window_ms / 2 after the last one began, or when that has ended.
 *
 * Promises
 *   EXPIRY-1  An item is deleted only if its time is over by the clocks of the leader and of most
 *             nodes (CLOCKS-1), when the leader proposes the deletion. A later write of the item is
 *             never lost.
 *   EXPIRY-2  If rounds take no longer than ttl_window_ms / 2, an item is gone ttl_window_ms after
 *             its time, or after a leader was elected.
 *   EXPIRY-3  A node reads at most expiry_bytes_s, and deletes at most expiry_items_s; while it
 *             serves requests, expiry_busy_percent of that.
 *   EXPIRY-4  No tokens of the table, of the partition or of an account are taken.
 *
 * An item that a transaction has locked is left for the next round. A deletion that is refused
 * because the node is busy, or because an index lags, is tried again within the round.
 *
 * Not here: which attribute it is (engine/catalog/ttl.c), and how it reaches the partition
 * (replicas.c). */
#pragma once

#include "base/token_bucket.h"
#include "engine/node/background/background.h"
#include "engine/node/core/internal_calls.h"
#include "engine/node/core/throughput.h"

enum {
    EXPIRY_CALLS_MAX = 128 /* deletions of a node on their way */
};

struct expiry {
    struct node_env *env;
    struct partitions *partitions;
    struct throughput *throughput;
    struct internal_calls *calls;
    struct background *background;
    struct token_bucket items; /* deletions */
    struct token_bucket bytes; /* to read */
    int64_t served_mcu;        /* by the node, at the last check */
    uint32_t numbers;          /* of owners of rounds, so far */
    uint32_t last;             /* the partition that was looked at first */
    struct instant at;
    struct {
        uint32_t number; /* of the owner of its round; 0: the slot is free */
        struct buffer key;
    } calls_out[EXPIRY_CALLS_MAX];
};

void expiry_start(struct expiry *expiry);
void expiry_deinit(struct expiry *expiry);
/* The partition was stepped: perhaps it is led here now, or its items expire now. */
void expiry_see(struct expiry *expiry, const struct partition *p);
void expiry_tick(struct expiry *expiry);
/* A deletion was answered. */
void expiry_answered(struct expiry *expiry, const struct internal_call_answer *answer);
struct instant expiry_deadline(const struct expiry *expiry);
/* Since the beginning of the last round that has ended: what was over then is gone. Before a
 * leader's first round has ended: since it looks. 0: the items do not expire. */
int64_t expiry_lag_ms(const struct node_env *env, const struct partition *p);
