/* vend.h - how much of a ledger a router is granted: policies, by name.
 *
 *   static    nothing: each router uses its even part of the rate by itself (client.h)
 *   periodic  each period, what is in the bank, by max-min over what routers want; it expires
 *             (DynamoDB, USENIX ATC 2022, section 4.3, as far as it is told there)
 *   lease     as little as keeps messages rare, when it is wanted: with n asks a second and s
 *             tokens idle, n * s is least where grants go with the square root of demand; they are
 *             larger the more is saved up (docs/decisions/0010)
 *
 * Promises: a policy decides, ledger.c moves the tokens; deciding allocates nothing. */
#ifndef WEIR_GAC_VEND_H
#define WEIR_GAC_VEND_H

#include "gac/ledger.h"

struct vend_policy {
    /* Fills `granted` and `wait` of h->answer and takes the tokens. `h` is of this ledger, and the
     * bank is up to date. */
    void (*vend)(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                 struct holder *h);
};

extern const struct vend_policy vend_periodic;
extern const struct vend_policy vend_lease;

/* Routers do not ask under the policies off and static; an ask is answered as under `lease`. */
const struct vend_policy *vend_policy_of(enum gac_policy policy);

/* The max-min level: the sum of min(demand, level) over all holders is `rate`. INT64_MAX: all demand
 * can be met. */
int64_t vend_level(const struct ledger *l, struct instant now, const struct ledger_terms *terms,
                   int64_t rate);

#endif
