/* limiter_model.h - a bucket of the rate limiter under random commands, and what must hold
 * meanwhile.
 *
 * Senders know what they have read once. Commands are lost, doubled, late, and overtake each other.
 * Leaders' clocks differ by up to MODEL_CLOCKS_MS. Items that are over go at any time. Senders heed
 * what bucket.h asks of them, and nothing else. Checked at each command: it makes and loses nothing
 * but what it takes; the tokens in all shards and reserved shares are at most the capacity. Within
 * each window of time no more is taken than the capacity and what is refilled. All sums are exact:
 * in mtok / period_ms. The first fault is kept; the run ends with it. */
#pragma once

#include "base/prng.h"
#include "tests/support/limiter_fixture.h"

enum {
    MODEL_CLOCKS_MS = 500,
    MODEL_SENDERS = 4,
    MODEL_MESSAGES = 256,
};

struct model_sender {
    struct limiter_shard_map shard_map;
    int64_t read_ms;      /* when it was read */
    uint64_t merge_epoch; /* of the merging that `merged_in` is about */
    bool merged_in[LIMITER_SHARDS_MAX];
};

struct model_message {
    int64_t at_ms; /* when it arrives */
    uint32_t sender;
    struct limiter_command command;
};

/* Of one limit: what was taken, and the least of (taken * period - amount * time) so far. With the
 * adjustments that give back, and with all. */
struct model_window {
    int64_t taken, taken_all;
    __int128 min, min_all;
    bool begun;
};

struct limiter_model {
    struct limiter_fixture fixture;       /* the items, and the limits of today */
    struct prng *p;                       /* borrows */
    int64_t now_ms;                       /* true time */
    int64_t ahead_ms[LIMITER_SHARDS_MAX]; /* of each shard's leader's clock */
    bool single;                          /* one shard and one clock: bounds are exact */
    bool slow;                            /* messages are late often */
    bool changes;                         /* limits change; their highest: */
    struct limiter_limit highest[LIMITER_LIMITS_MAX];
    struct model_sender senders[MODEL_SENDERS];
    struct model_message messages[MODEL_MESSAGES];
    uint32_t message_count;
    struct model_window windows[LIMITER_LIMITS_MAX];
    uint64_t done[LIMITER_VERBS];
    uint64_t refused[LIMITER_REFUSALS];
    uint64_t expired;
    const char *fault; /* NULL: none yet; a static text */
};

void limiter_model_init(struct limiter_model *model, struct prng *p);
void limiter_model_deinit(struct limiter_model *model);
/* Time passes, messages arrive, items go, a sender does something. */
void limiter_model_step(struct limiter_model *model);
/* Nothing is lost any more. The merging that is under way ends, nobody asks until all limits are
 * full; then each shard must serve its share, and no more. */
void limiter_model_settle(struct limiter_model *model);
