/* ledger.h - what one table, or index, may use of one kind of throughput, and who holds how much.
 *
 * The bank refills at the rate. It keeps unused tokens, up to `bank` worth of seconds, less the
 * tokens that routers hold: a token counts as the bank's until it is spent, also while a request
 * that is not done has it. Granting takes tokens from the bank. Unspent tokens come back when their
 * holder reports them; tokens that were spent without being held are taken when that is reported. A
 * silent holder may use its tokens elsewhere: they count until the holder is known to be gone, or
 * they are too old.
 *
 * Invariants
 *   LEDGER-1  bank + held + pending <= capacity: no window W ever sees more than rate * W +
 *             capacity, and one request's debt. A request that costs more than a second of the rate
 *             is granted all of its cost once the bank has that second, as at a node
 *             (engine/admission): the bank owes the rest, and a bank that owes makes no further
 *             debt. After the rate was lowered routers may hold more than the bank may: then two
 *             grants' worth of what comes in is kept for others.
 *   LEDGER-2  an ask with a number that was seen changes nothing; its answer is given again.
 *   LEDGER-3  a grant whose answer did not come in time is back in the bank with the next ask,
 *             which says what is held without it: only the answer to the last ask is ever taken.
 *   LEDGER-4  only the part of the rate that belongs to the routers that ask here comes in: where
 *             two servers take themselves for the owner, both together vend one rate, and what both
 *             have saved up is one bank, but for two grants, so that what comes in is always of
 *             use, whatever routers hold that do not ask here.
 * Not here: how much is granted (vend.h), who is alive (server.h). */
#ifndef WEIR_GAC_LEDGER_H
#define WEIR_GAC_LEDGER_H

#include "base/token_bucket.h"
#include "gac/gac_message.h"

/* A router, in one ledger's eyes. */
struct holder {
    uint64_t router;
    struct gac_ask ask;       /* the last one */
    struct gac_answer answer; /* to it */
    int64_t held;             /* of what was granted: not known to be spent, but for .. */
    int64_t pending;          /* .. what requests had that were not done at its last ask */
    int64_t credit;           /* lease: of what came in lately, its part that it was not given */
    int64_t root;             /* lease: of its demand */
    struct instant asked_at;
    struct instant credited_at;
};

struct ledger {
    struct gac_key key;
    uint64_t version;
    int64_t rate;
    bool started;  /* it has been given what a new table begins with */
    int64_t spent; /* before that: it is part of what the table begins with */
    struct token_bucket bank;
    int64_t elsewhere; /* at most so much of what was not used is in other servers' banks */
    struct instant used_at;
    uint32_t count;
    uint32_t capacity;
    struct holder *holders; /* owns */
};

struct ledger_terms {
    struct duration bank;     /* how much of the rate it may keep */
    struct duration lifetime; /* of tokens, and .. */
    struct duration longest;  /* .. where a router holds enough for a while */
    struct duration forget;   /* what a router held that has not asked for so long is gone */
    struct duration grant; /* of a router's even part of the rate: a grant, where it wants that */
    int64_t requests;      /* that a grant is enough for, where much is saved up */
    struct duration start; /* of what comes in: a ledger begins with it */
    struct duration start_new; /* the same for a new table, or .. */
    int64_t start_tokens;      /* .. so many tokens, if they are more */
    uint32_t routers;          /* that may be at work anywhere */
    uint32_t here;             /* of them: those who would ask here */
};

/* As the first ask of it says. */
void ledger_init(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                 const struct gac_ask *ask);
void ledger_deinit(struct ledger *l);

/* After a refill. The table is new: its bank gets the tokens of a new table, once in the ledger's
 * life. */
void ledger_start_table(struct ledger *l, const struct ledger_terms *terms);

/* Brings the bank up to `now` under these terms. */
void ledger_refill(struct ledger *l, struct instant now, const struct ledger_terms *terms);

/* After a refill. What the ask says is taken over; the holder whose answer is to be filled in, or
 * NULL: the ask is old, or `*again` is to be said again. */
struct holder *ledger_take(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                           uint64_t router, const struct gac_ask *ask,
                           const struct gac_answer **again);

/* What a request of this cost needs in the bank and in its router's hands before it is let in. */
int64_t ledger_enough(const struct ledger *l, int64_t cost);
/* Moves tokens from the bank to the holder: no more than the bank has, or as much as the holder's
 * dearest request needs, where the bank owes nothing. */
void ledger_grant(struct ledger *l, struct holder *h, int64_t tokens);

/* The router is known to be gone, and its tokens with it. */
void ledger_forget(struct ledger *l, uint64_t router);

/* Whether the holder has a claim on what comes in. A holder that has not asked for a lifetime lives
 * on the tokens it has. */
static inline bool holder_claims(const struct holder *h, struct instant now,
                                 const struct ledger_terms *terms)
{
    return instant_before(now, instant_add(h->asked_at, terms->lifetime));
}

/* Whether the holder's tokens may still be alive. */
static inline bool holder_is_live(const struct holder *h, struct instant now)
{
    return instant_before(now, instant_add(h->asked_at, h->answer.lifetime));
}

#endif
