/* token_sweep.h - finds clients' tokens that nobody needs any more, a slice at a time.
 * engine/node/transaction/transactions.h deletes them.
 *
 * A token is known for transaction_token_ms after its transaction was committed. */
#pragma once

#include "engine/node/core/env.h"
#include "engine/node/core/partition.h"

bool token_sweep_is_needed(const struct partition *p);
struct slice token_sweep_from(const struct partition *p);
/* Appends keys of rows to p->token_sweep.expired, until there are many. */
void token_sweep_slice(struct node_env *env, struct partition *p);
/* Whether a token of a transaction that was committed at this time is forgotten. */
bool token_is_over(const struct node_env *env, int64_t committed_ms);
/* Whether the value of a token's row says that nobody needs it any more. */
bool token_row_is_over(const struct node_env *env, struct slice value);
