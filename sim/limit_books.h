/* limit_books.h - what clients of the rate limiter know was taken of a bucket, and whether it may be.
 *
 * Each request has an entry from when it was sent first until it was answered. Its outcome is known
 * then, or it never is.
 *   BOOKS-1  What was surely taken between two times is at most the capacity, what was refilled between
 *            them, and what may have been given back.
 *   BOOKS-2  What all shards have counted lies between what was surely taken and what may have been.
 *   BOOKS-3  What is left, and what was taken in all, are together at most what the bucket began with
 *            and what was refilled. The bucket begins full when the first request takes of it.
 * Units: tokens are thousandths (mtok); times are true times of the world. Nodes refill by their wall
 * clocks, which differ by at most `spread_ms`: a change of the leader may add so much time. */
#pragma once

#include "base/buffer.h"
#include "base/instant.h"

enum {
    BOOKS_LIMITS = 2, /* of each bucket: LIMIT_FAST, LIMIT_SLOW */
    LIMIT_FAST = 0,   /* a second refills much of it */
    LIMIT_SLOW = 1    /* hours refill it: tokens that nobody took show */
};

struct books_rule {
    int64_t capacity;
    int64_t amount;
    int64_t period_ms;
};

enum books_outcome {
    BOOKS_OPEN, /* not answered yet */
    BOOKS_DONE,
    BOOKS_NOT_DONE,
    BOOKS_UNKNOWN,
};

struct books_entry {
    struct instant begun;
    struct instant ended; /* of an entry that may still be done: never */
    enum books_outcome outcome;
    bool owes; /* it was an adjustment: the bucket need not have had so much */
    int64_t amounts[BOOKS_LIMITS];
};

/* Limits of the bucket from `begun` on, at the latest from `told` on. */
struct books_change {
    struct instant begun;
    struct instant told;
    struct books_rule rules[BOOKS_LIMITS];
};

struct limit_books {
    int64_t spread_ms;
    struct books_change *changes; /* owns */
    size_t change_count;
    size_t change_capacity;
    struct books_entry *entries; /* owns */
    size_t entry_count;
    size_t entry_capacity;
};

void books_deinit(struct limit_books *b);

/* The limits are being set; books_told ends that. */
void books_change(struct limit_books *b, struct instant now, const struct books_rule *rules);
void books_told(struct limit_books *b, struct instant now);

/* A request for these amounts, below 0 what it gives back, is sent for the first time. Returns its
 * entry. */
size_t books_begin(struct limit_books *b, struct instant now, const int64_t *amounts, bool owes);
void books_end(struct limit_books *b, size_t entry, struct instant now, enum books_outcome outcome);

/* What was taken of the limit in all, less what was given back. */
int64_t books_least(const struct limit_books *b, uint32_t limit);
int64_t books_most(const struct limit_books *b, uint32_t limit);
/* The most that the bucket can have had until `now` (BOOKS-3). */
int64_t books_had_most(const struct limit_books *b, uint32_t limit, struct instant now);

/* BOOKS-1. False: `why` tells. */
bool books_check_times(const struct limit_books *b, const char *name, struct buffer *why);
