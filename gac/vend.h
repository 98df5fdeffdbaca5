/* vend.h - the policies that decide the size of grants, by name.
 *
 *   static    Nothing is granted: each router uses its even part of the rate (client.h).
 *   periodic  In each period the bank is divided by max-min over the demands; tokens expire
 *             (DynamoDB, USENIX ATC 2022, section 4.3, as far as it is described there).
 *   lease     Grants on demand, so large that messages are rare. With n asks a second and s idle
 *             tokens, n * s is least if grants are proportional to the square root of demand.
 *             A richer bank gives larger grants (docs/decisions/0010).
 *
 * Promises: a policy decides, ledger.c moves the tokens; deciding allocates nothing. */
#pragma once

#include "gac/ledger.h"

/* A policy fills `granted` and `wait` of h->answer and takes the tokens. `h` is of this ledger, and
 * the bank is up to date. Routers do not ask under the policies off and static: an ask under one of
 * them is answered as under `lease`. */
void vend_periodic(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                   struct holder *h);
void vend_lease(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                struct holder *h);

/* The max-min level: the sum of min(demand, level) over all holders is `rate`. INT64_MAX: all demand
 * can be met. */
int64_t vend_level(const struct ledger *l, struct instant now, const struct ledger_terms *terms,
                   int64_t rate);
