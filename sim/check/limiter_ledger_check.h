/* limiter_ledger_check.h - what clients of the rate limiter know was taken of a bucket, and
 * whether it may be.
 *
 * Each request has an entry from when it was sent first until it was answered. Its outcome is known
 * then, or it never is.
 *   SIMLEDGER-1  What was surely taken between two times is at most the capacity, what was
 *            refilled between them, and what may have been given back.
 *   SIMLEDGER-2  What all shards have counted lies between what was surely taken and what may have
 *                been.
 *   SIMLEDGER-3  What is left, and what was taken in all, are together at most what the bucket
 *            began with and what was refilled. The bucket begins full when the first request takes
 *            of it.
 * Units: tokens are thousandths (mtok); times are true times of the world. Nodes refill by
 * their wall clocks, which differ by at most `spread_ms`: a change of the leader may add so
 * much time. */
#pragma once

#include "base/buffer.h"
#include "base/instant.h"

enum {
    LIMITER_LEDGER_LIMITS = 2, /* of each bucket: LIMIT_FAST, LIMIT_SLOW */
    LIMIT_FAST = 0,            /* a second refills much of it */
    LIMIT_SLOW = 1             /* hours refill it: tokens that nobody took show */
};

struct limiter_ledger_rule {
    int64_t capacity;
    int64_t amount;
    int64_t period_ms;
};

enum limiter_ledger_outcome {
    LIMITER_LEDGER_OPEN, /* not answered yet */
    LIMITER_LEDGER_DONE,
    LIMITER_LEDGER_NOT_DONE,
    LIMITER_LEDGER_UNKNOWN,
};

struct limiter_ledger_entry {
    struct instant begun;
    struct instant ended; /* of an entry that may still be done: never */
    enum limiter_ledger_outcome outcome;
    bool allows_debt; /* it was an adjustment: the bucket need not have had so much */
    int64_t amounts[LIMITER_LEDGER_LIMITS];
};

/* Limits of the bucket from `begun` on, at the latest from `known` on. */
struct limiter_ledger_change {
    struct instant begun;
    struct instant known;
    struct limiter_ledger_rule rules[LIMITER_LEDGER_LIMITS];
};

struct limiter_ledger {
    int64_t spread_ms;
    struct limiter_ledger_change *changes; /* owns */
    size_t change_count;
    size_t change_capacity;
    struct limiter_ledger_entry *entries; /* owns */
    size_t entry_count;
    size_t entry_capacity;
};

void limiter_ledger_deinit(struct limiter_ledger *b);

/* The limits are being set; limiter_ledger_changed ends that. */
void limiter_ledger_change(struct limiter_ledger *b, struct instant now,
                           const struct limiter_ledger_rule *rules);
void limiter_ledger_changed(struct limiter_ledger *b, struct instant now);

/* A request for these amounts, below 0 what it gives back, is sent for the first time. Returns its
 * entry. */
size_t limiter_ledger_begin(struct limiter_ledger *b, struct instant now, const int64_t *amounts,
                            bool allows_debt);
void limiter_ledger_end(struct limiter_ledger *b, size_t entry, struct instant now,
                        enum limiter_ledger_outcome outcome);

/* What was taken of the limit in all, less what was given back. */
int64_t limiter_ledger_min(const struct limiter_ledger *b, uint32_t limit);
int64_t limiter_ledger_max(const struct limiter_ledger *b, uint32_t limit);
/* The most that the bucket can have had until `now` (SIMLEDGER-3). */
int64_t limiter_ledger_had_max(const struct limiter_ledger *b, uint32_t limit, struct instant now);

/* SIMLEDGER-1. False: `why` tells. */
bool limiter_ledger_check_times(const struct limiter_ledger *b, const char *name,
                                struct buffer *why);
