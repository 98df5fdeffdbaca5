/* grant_policy.h - the policies that decide the size of grants, by name.
 *
 *   off       Nothing is limited.
 *   static    Nothing is granted: each router uses its even part of the rate (client.h).
 *   periodic  In each period the bank is divided by max-min over the demands; tokens expire
 *             (DynamoDB, USENIX ATC 2022, section 4.3, as far as it is described there).
 *   lease     Grants on demand, so large that messages are rare. With n grant requests a second
 *             and s idle tokens, n * s is least if grants are proportional to the square root of
 *             demand. A richer bank gives larger grants (docs/decisions/0010).
 *   named     The policy gac_policy: one of these, or one that was added (base/policies.h): a
 *             baseline (lab/baselines/table_*.c), or from a file.
 *
 * Promises: a policy decides, ledger.c moves the tokens; deciding allocates nothing. */
#pragma once

#include "base/buffer.h"
#include "base/gac_policy.h"
#include "base/policies.h"
#include "base/status.h"
#include "gac/ledger.h"

struct weir_table_policy;

extern const struct weir_table_policy weir_table_off;
extern const struct weir_table_policy weir_table_static;
extern const struct weir_table_policy weir_table_periodic;
extern const struct weir_table_policy weir_table_lease;

/* The policy behind the setting or a table's choice. table_policy_check has found that it
 * exists. */
const struct weir_table_policy *table_policy_of(const struct config *config,
                                                enum gac_policy policy);
/* Whether routers limit tables under the policy; whether they ask servers. */
bool table_policy_limits(const struct config *config, enum gac_policy policy);
bool table_policy_requests_grants(const struct config *config, enum gac_policy policy);
/* Whether weir has a policy of tables with that name. False also for other points. */
bool table_policy_is_own(enum policy_point point, const char *name);
/* Whether gac_policy names a policy. STATUS_MALFORMED: `error` has the policies that exist. */
enum status table_policy_check(const struct config *config, struct buffer *error);

/* Fills `granted`, `wait` and `lifetime` of h->answer and takes the tokens. `h` is of this ledger,
 * and the bank is up to date. What makes no sense is counted with `policies` (may be NULL), and
 * grants nothing. Routers do not ask under a policy that grants nothing: a grant request under one
 * of them is answered as under `lease`. */
void ledger_grant_by_policy(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                            struct policies *policies, const struct weir_table_policy *policy,
                            struct weir_holder *h);
