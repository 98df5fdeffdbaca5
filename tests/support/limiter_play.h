/* limiter_play.h - a bucket of the rate limiter under random commands, and what must hold meanwhile.
 *
 * Senders know what they have read once. Commands are lost, doubled, late, and overtake each other.
 * Leaders' clocks differ by up to PLAY_CLOCKS_MS. Items that are over go at any time. Senders heed what
 * bucket.h asks of them, and nothing else.
 * Checked at each command: it makes and loses nothing but what it takes; the tokens in all shards
 * and gifts are at most the capacity. Within each window of time no more is taken than the capacity
 * and what is refilled. All sums are exact: in mtok / period_ms.
 * The first fault is kept; the play ends with it. */
#pragma once

#include "base/prng.h"
#include "tests/support/limiter_scene.h"

enum {
    PLAY_CLOCKS_MS = 500,
    PLAY_SENDERS = 4,
    PLAY_MESSAGES = 256,
};

struct play_sender {
    struct limiter_shards known;
    int64_t known_ms;     /* when it was read */
    uint64_t merge_epoch; /* of the merging that `absorbed` is about */
    bool absorbed[LIMITER_SHARDS_MAX];
};

struct play_message {
    int64_t at_ms; /* when it arrives */
    uint32_t sender;
    struct limiter_command command;
};

/* Of one limit: what was taken, and the least of (taken * period - amount * time) so far. With the
 * adjustments that give back, and with all. */
struct play_window {
    int64_t taken, taken_all;
    __int128 least, least_all;
    bool begun;
};

struct play {
    struct limiter_scene scene;           /* the items, and the limits of today */
    struct prng *p;                       /* borrows */
    int64_t now_ms;                       /* true time */
    int64_t ahead_ms[LIMITER_SHARDS_MAX]; /* of each shard's leader's clock */
    bool single;                          /* one shard and one clock: bounds are exact */
    bool slow;                            /* messages are late often */
    bool changes;                         /* limits change; their highest: */
    struct limiter_limit highest[LIMITER_LIMITS_MAX];
    struct play_sender senders[PLAY_SENDERS];
    struct play_message messages[PLAY_MESSAGES];
    uint32_t message_count;
    struct play_window windows[LIMITER_LIMITS_MAX];
    uint64_t done[LIMITER_VERBS];
    uint64_t refused[LIMITER_REFUSALS];
    uint64_t expired;
    const char *fault; /* NULL: none yet; a static text */
};

void play_init(struct play *y, struct prng *p);
void play_deinit(struct play *y);
/* Time passes, messages arrive, items go, a sender does something. */
void play_step(struct play *y);
/* Nothing is lost any more. The merging that is under way ends, nobody asks until all limits are full;
 * then each shard must serve its share, and no more. */
void play_settle(struct play *y);
