/* ledger.h - the limit of one table or index for one kind of throughput, and the tokens that
 * routers hold of it.
 *
 * The bank refills at the rate. It keeps unused tokens, up to `bank` worth of seconds, less the
 * tokens that routers hold: a token counts as the bank's until it is spent, even while an
 * unfinished request holds it. Granting takes tokens from the bank. Unspent tokens come back when
 * their holder reports them; tokens spent without being held are taken from the bank when they are
 * reported. The tokens of a holder that sends nothing may be in use: they count until its link is
 * closed, or until they expire.
 *
 * Invariants
 *   LEDGER-1  bank + held + pending <= capacity: no window W ever sees more than rate * W +
 *             capacity, and one request's debt. A request that costs more than a second of the rate
 *             is granted all of its cost once the bank has that second, as at a node
 *             (engine/admission): the bank owes the rest, and a bank that owes makes no further
 *             debt. After the rate was lowered, routers may hold more than the bank's capacity:
 *             then the bank keeps two grants' worth of the refill for others.
 *   LEDGER-2  a grant request with a known number changes nothing; its answer is repeated.
 *   LEDGER-3  a grant whose answer came too late is back in the bank with the next grant request,
 *             which reports the tokens held without it. A router accepts only the answer to its
 *             last request.
 *   LEDGER-4  the bank refills only with the parts of the rate of the routers that use this
 *             server. If two servers both act as the owner, both together grant one rate. Their
 *             savings together are one bank, plus two grants: so the refill is useful whatever
 *             other routers hold.
 *   LEDGER-8  a router that has got a retry time for its costliest request, and sends a grant
 *             request then, is granted what the request needs if the bank has enough for it,
 *             whatever the policy decides. The retry time is not moved back while the router
 *             requests no more. It holds until tokens were spent: a router that gives them back
 *             unspent, or never got them, gets them again.
 *   LEDGER-9  the parts of the rate that routers use while they reach no server sum to the rate at
 *             most. A router brings its part to a ledger, and takes it to the next one. A ledger
 *             gives to one what others have given back: it lowers parts first, and counts a part
 *             until the router reports a lower one. Without any told, each has an even part.
 * Not here: the size of grants (grant_policy.h), who is alive (server.h). */
#pragma once

#include "base/token_bucket.h"
#include "gac/gac_message.h"
#include "include/weir/policy_base.h"

/* What a ledger knows of a router. */
struct weir_holder {
    uint64_t router;
    struct gac_request request; /* the last one */
    struct gac_answer answer;   /* to it */
    int64_t held;               /* granted, and not reported as spent or pending */
    int64_t pending;            /* tokens of unfinished requests at the last grant request */
    struct instant requested_at;
    struct instant retry_at; /* from then on a request of this cost is admitted: LEDGER-8 */
    int64_t retry_cost;      /* 0: there is no retry time; or the tokens were spent */
    int64_t retry_rate;      /* the limit's lowest since then */
    int64_t
        share;   /* of the rate, in millionths: the most that the router may use without a server */
    bool shares; /* it is told, here or elsewhere; false: an even part */
    _Alignas(int64_t) uint8_t state[WEIR_POLICY_STATE_MAX]; /* of the ledger's policy */
};

struct ledger {
    struct gac_key key;
    uint64_t version;
    int64_t rate;
    bool started;  /* the bank got the tokens of a new table */
    int64_t spent; /* spent before that; deducted from those tokens */
    struct token_bucket bank;
    const struct weir_table_policy *policy; /* borrows; that granted last; NULL: none */
    _Alignas(int64_t) uint8_t state[WEIR_POLICY_STATE_MAX]; /* of the policy */
    int64_t elsewhere; /* most unused tokens in other servers' banks */
    int64_t
        shares; /* LEDGER-9: of all that came, in millionths, and for holders to have together */
    struct instant used_at;
    uint32_t count;
    size_t capacity;
    struct weir_holder *holders; /* owns */
};

struct ledger_terms {
    struct duration bank;           /* capacity of the bank, as time at the rate */
    struct duration lifetime;       /* the least lifetime of tokens */
    struct duration lifetime_max;   /* the longest lifetime of tokens */
    struct duration router_timeout; /* a router that sends nothing for this long holds nothing */
    struct duration grant;          /* a grant, as time of a router's even part of the rate */
    int64_t requests;               /* requests that a grant covers if the bank is rich */
    struct duration start;          /* initial bank, as time of the refill */
    struct duration start_new;      /* initial bank of a new table, as time of the refill */
    int64_t start_tokens;           /* its least initial bank, in tokens */
    uint32_t routers;               /* routers that may be active anywhere */
    uint32_t here;                  /* those of them that ask here */
    int64_t shares_elsewhere;       /* of those that do not, in millionths: ledger_share_of */
    int64_t shares_here;            /* of those that do: ledger_share_known */
};

/* Starts a ledger with the limit in its first grant request. */
void ledger_init(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                 const struct gac_request *request);
void ledger_deinit(struct ledger *l);

/* After a refill. The table is new: its bank gets the tokens of a new table, once in the ledger's
 * life. */
void ledger_start_table(struct ledger *l, const struct ledger_terms *terms);

/* Brings the bank up to `now` under these terms. */
void ledger_refill(struct ledger *l, struct instant now, const struct ledger_terms *terms);

/* Call after a refill. Takes over the grant request's figures. Returns the holder whose answer
 * must be filled in. NULL: the grant request is old, or `*again` is the answer to repeat. */
struct weir_holder *ledger_take(struct ledger *l, struct instant now,
                                const struct ledger_terms *terms, uint64_t router,
                                const struct gac_request *request, const struct gac_answer **again);

/* The tokens that a request of this cost needs, in the bank and in its router's hands together,
 * before it is admitted. */
int64_t ledger_grant_threshold(const struct ledger *l, int64_t cost);
/* Whether the bank may grant so much >= 0: no more than it has, or as much as the holder's
 * costliest request needs, where the bank owes nothing. */
bool ledger_may_grant(const struct ledger *l, const struct weir_holder *h, int64_t tokens);
/* Moves tokens that ledger_may_grant from the bank to the holder. */
void ledger_grant(struct ledger *l, struct weir_holder *h, int64_t tokens);

/* The holder's part of the rate is to be that, in millionths. It gets it if others leave as much
 * (LEDGER-9), and at least a quarter of an even part. */
void ledger_set_share(struct ledger *l, const struct ledger_terms *terms, struct weir_holder *h,
                      int64_t share);
/* What the router may use without a server, in millionths. `routers`: as in the terms. */
int64_t ledger_share_of(const struct ledger *l, uint64_t router, uint32_t routers);
/* What the router may use without a server, if it was told a part; otherwise 0. */
int64_t ledger_share_known(const struct ledger *l, uint64_t router);
/* Whether a holder has another part than an even one. */
bool ledger_has_shares(const struct ledger *l);

/* The router is known to be gone, and its tokens with it. `moved`: it asked another server last,
 * and has taken its part of the rate there. */
void ledger_remove_router(struct ledger *l, uint64_t router, bool moved);

/* Whether the holder has a claim on the refill. A holder that has not asked for a lifetime lives on
 * the tokens it has. */
static inline bool holder_claims(const struct weir_holder *h, struct instant now,
                                 const struct ledger_terms *terms)
{
    return instant_before(now, instant_add(h->requested_at, terms->lifetime));
}

/* Whether the holder's tokens may still be alive. */
static inline bool holder_is_live(const struct weir_holder *h, struct instant now)
{
    return instant_before(now, instant_add(h->requested_at, h->answer.lifetime));
}
