/* limiter_model_internal.h - commands with the checks around them. */
#pragma once

#include "base/must.h"
#include "tests/support/limiter_model.h"

void limiter_model_expect(struct limiter_model *model, bool holds, const char *fault);
/* Runs the command on its shard, and checks what it did. */
enum limiter_refusal limiter_model_run(struct limiter_model *model,
                                       const struct limiter_command *m);
/* Removes the shard's item if its time to live is over. */
void limiter_model_expire(struct limiter_model *model, uint32_t shard);
/* How long it takes until all limits of all shards are full. */
int64_t limiter_model_full_after_ms(const struct limiter_model *model);
/* All shards and reserved shares together have the capacity. */
void limiter_model_expect_full(struct limiter_model *model);
