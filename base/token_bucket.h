/* token_bucket.h - integer token bucket that may go into debt.
 *
 * Units: tokens are whole numbers of the owner's unit (admission: mcu); the rate is tokens per
 * second. Why integers: a simulated run must replay bit for bit on every compiler. Why debt: a
 * request is charged an estimate; the truth may cost more.
 *
 * Invariants, checked on entry to and exit from every function:
 *   BUCKET-1  balance <= capacity.
 *   BUCKET-2  balance >= -debt_max.
 *   BUCKET-3  the fraction of a token is kept, so refilling at t1 and t2 equals refilling once at
 *             t2.
 *   BUCKET-4  updated_at never moves back.
 *   BUCKET-5  0 < enough <= capacity, unless the capacity is 0.
 *
 * Not here: the payer, and the fate of a refused request (engine/admission). */
#pragma once

#include "base/instant.h"

struct token_bucket {
    int64_t balance;  /* tokens; below zero is debt */
    int64_t capacity; /* tokens */
    int64_t enough;   /* tokens that any cost is let in with; at most the capacity */
    int64_t debt_max; /* tokens */
    int64_t rate;     /* tokens per second */
    int64_t fraction; /* of a token, in 1/NS_PER_S */
    struct instant updated_at;
};

void token_bucket_init(struct token_bucket *b, int64_t capacity, int64_t rate, int64_t debt_max,
                       int64_t balance, struct instant now);

/* Brings the balance up to `now`; returns the tokens that did not fit. Whole tokens fall at fixed
 * instants, also into a full bucket: a full bucket keeps its fraction too. So an overflow into
 * another bucket loses nothing, and no window gets more than ceil(rate * window) tokens. */
int64_t token_bucket_refill(struct token_bucket *b, struct instant now);

/* Adds tokens from elsewhere (unused allocation into burst). Returns the tokens that did not
 * fit. */
int64_t token_bucket_add(struct token_bucket *b, int64_t tokens);

/* Whether balance >= min(cost, enough). The caller refills first. Always false for cost > 0 and
 * capacity 0. */
bool token_bucket_has(const struct token_bucket *b, int64_t cost);

/* Takes the whole cost; the balance stops at -debt_max. */
void token_bucket_debit(struct token_bucket *b, int64_t cost);

/* The time from updated_at until token_bucket_has(cost), if no tokens are taken meanwhile and the
 * rate does not fall. INT64_MAX ns: never. */
struct duration token_bucket_wait(const struct token_bucket *b, int64_t cost);

/* Sets a new rate and capacity; the caller refills first. The balance is cut to the new capacity.
 * Debt is kept; the new debt limit is at least the debt. */
void token_bucket_set_rate(struct token_bucket *b, int64_t capacity, int64_t rate,
                           int64_t debt_max);
/* The same, but keeps the times that token_bucket_wait has told: what was enough for a cost above
 * the former capacity is enough until the next tokens are taken. */
void token_bucket_change_rate(struct token_bucket *b, int64_t capacity, int64_t rate,
                              int64_t debt_max);
