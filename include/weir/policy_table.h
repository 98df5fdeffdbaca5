/* weir/policy_table.h - the limit of a table. Part of weir/policy.h. */
#pragma once

#include "policy_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tokens of one table or index for reads or for writes, at a GAC server. */
struct weir_ledger;
/* A router that requests tokens of a ledger. */
struct weir_holder;

WEIR_POLICY_API int64_t weir_ledger_now_ns(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_rate(const struct weir_ledger *l); /* the limit of the table */
/* Tokens that can be granted: balance (below zero: debt), size, refill in a second. Less than the
 * limit of the table refills here while routers use other servers. */
WEIR_POLICY_API int64_t weir_ledger_bank(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_bank_capacity(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_bank_rate(const struct weir_ledger *l);
/* The minimum balance at which a request of `cost_mcu` is granted whole: min(cost, a second of the
 * rate, the bank's capacity). */
WEIR_POLICY_API int64_t weir_ledger_grant_threshold(const struct weir_ledger *l, int64_t cost_mcu);
/* Settings: the minimum and the maximum lifetime of tokens, the length of a period, the length of a
 * grant as time of a router's even part, requests that a grant covers, routers anywhere. */
WEIR_POLICY_API int64_t weir_ledger_lifetime_ns(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_lifetime_max_ns(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_grant_ns(const struct weir_ledger *l);
WEIR_POLICY_API int64_t weir_ledger_requests(const struct weir_ledger *l);
WEIR_POLICY_API uint32_t weir_ledger_routers(const struct weir_ledger *l);
WEIR_POLICY_API void *weir_ledger_state(const struct weir_ledger *l);
WEIR_POLICY_API uint32_t weir_ledger_holders(const struct weir_ledger *l);
/* NULL: no such index. */
WEIR_POLICY_API struct weir_holder *weir_ledger_holder(const struct weir_ledger *l, uint32_t index);
/* The max-min fair share of `rate`: the sum of min(demand, share) over all holders with a claim is
 * `rate`. INT64_MAX: all demand can be met. */
WEIR_POLICY_API int64_t weir_ledger_fair_share(const struct weir_ledger *l, int64_t rate);

/* Mcu per second; 0: none. */
WEIR_POLICY_API int64_t weir_holder_demand(const struct weir_holder *h);
/* From requests that cost more than the tokens that they took. */
WEIR_POLICY_API int64_t weir_holder_debt(const struct weir_holder *h);
/* For its costliest request, and its debt. */
WEIR_POLICY_API int64_t weir_holder_need(const struct weir_holder *h);
WEIR_POLICY_API int64_t
weir_holder_cost(const struct weir_holder *h); /* an average one; 0: unknown */
WEIR_POLICY_API int64_t weir_holder_held(const struct weir_holder *h); /* tokens */
/* A new number: the router has used another server since, or this one has restarted. */
WEIR_POLICY_API uint64_t weir_holder_epoch(const struct weir_holder *h);
/* It has sent a grant request within the minimum lifetime of tokens, so that it counts in a fair
 * share; its tokens may still be valid. */
WEIR_POLICY_API bool weir_holder_claims(const struct weir_ledger *l, const struct weir_holder *h);
WEIR_POLICY_API bool weir_holder_is_live(const struct weir_ledger *l, const struct weir_holder *h);
WEIR_POLICY_API void *weir_holder_state(const struct weir_holder *h);

/* Takes tokens from the bank for the answer; at most once in a `grant`. The bank may go into debt
 * only if it has none, and only for the holder's costliest request. */
WEIR_POLICY_API void weir_ledger_grant(struct weir_ledger *l, struct weir_holder *h,
                                       int64_t tokens_mcu);
/* The router sends its next grant request no sooner than that, unless its demand has fallen. */
WEIR_POLICY_API void weir_holder_wait(struct weir_holder *h, int64_t wait_ns);
/* The retry time of the router's costliest request is over. The ledger grants what that request
 * needs if `grant` does not, once the bank has enough. */
WEIR_POLICY_API bool weir_holder_is_due(const struct weir_ledger *l, const struct weir_holder *h);
/* The router's costliest request is admitted after that time at the latest, if no other request
 * comes. Routers send clients this time, and the ledger keeps it. Not set, or sooner than the bank
 * has enough for the request: once the bank has enough. Not sooner than the router may send a grant
 * request. */
WEIR_POLICY_API void weir_holder_admit_within(struct weir_holder *h, int64_t wait_ns);
/* The lifetime of all tokens that the router holds, from its grant request on; at most the maximum.
 * Not set: the minimum. */
WEIR_POLICY_API void weir_holder_set_lifetime(struct weir_holder *h, int64_t lifetime_ns);
/* Notifies the router of the demand of the other routers together, mcu per second >= 0: for
 * `share`. */
WEIR_POLICY_API void weir_holder_notify_demand(struct weir_holder *h, int64_t others_mcu);
/* What the router uses of the table's rate while it reaches no server, from this answer on, in mcu
 * per second >= 0. It gets less if the others' parts leave less, and at least a quarter of an even
 * part. Not set: as before, at first an even part. Only for the router that has sent the
 * request. */
WEIR_POLICY_API void weir_holder_set_reserve(struct weir_ledger *l, struct weir_holder *h,
                                             int64_t rate_mcu);

enum weir_table_flag {
    WEIR_TABLE_LIMITS = 1,          /* the limit of the table holds */
    WEIR_TABLE_REQUESTS_GRANTS = 2, /* routers request tokens. Otherwise each uses its reserve. */
    WEIR_TABLE_WHOLE_COST = 4,      /* a router admits a request only with all of its tokens */
    WEIR_TABLE_PERIODS =
        8, /* tokens live for gac_period_ms instead of gac_lifetime_ms, and the bank
                             * begins with those of a period */
    /* `grant` is called too when a router whose wait is not over reports that it spent its
     * tokens. The answer says when the router gets more. Without the flag it says when the bank
     * has enough. */
    WEIR_TABLE_TAKES_REPORTS = 16
};

/* Chosen by the setting gac, or by gac = named and the setting gac_policy. */
struct weir_table_policy {
    uint32_t size;
    uint32_t ledger_bytes;
    uint32_t holder_bytes;
    uint32_t unused;
    const char *name;
    uint64_t flags; /* bits of enum weir_table_flag */
    /* A router has sent a grant request, and the bank is refilled up to now. Required with
     * WEIR_TABLE_REQUESTS_GRANTS. */
    void (*grant)(struct weir_ledger *l, struct weir_holder *h);
    /* At routers: the mcu per second that a router uses while it reaches no server, or uses none.
     * NULL: rate / routers. More is cut to the rate. */
    int64_t (*reserve)(int64_t rate_mcu, uint32_t routers);
    /* At routers: the mcu per second that a router uses of its own accord, whether it reaches a
     * server or not. It saves up to gac_bank_ms of that, and uses no tokens that are granted; with
     * WEIR_TABLE_REQUESTS_GRANTS it sends a report when the wait of the last answer is over.
     * `demand_mcu`: that of its clients now. `others_mcu`: by weir_holder_notify_demand; below 0:
     * not known yet. NULL: routers use the tokens that they get. More is cut to the rate. */
    int64_t (*share)(int64_t rate_mcu, uint32_t routers, int64_t demand_mcu, int64_t others_mcu);
};

#ifdef __cplusplus
}
#endif
