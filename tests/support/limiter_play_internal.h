/* limiter_play_internal.h - commands with the checks around them. */
#pragma once

#include "base/must.h"
#include "tests/support/limiter_play.h"

void play_expect(struct play *y, bool holds, const char *fault);
/* Runs the command on its shard, and checks what it did. */
enum limiter_refusal play_run(struct play *y, const struct limiter_command *m);
/* Removes the shard's item if its time to live is over. */
void play_expire(struct play *y, uint32_t shard);
/* How long it takes until all limits of all shards are full. */
int64_t play_full_after_ms(const struct play *y);
/* All shards and gifts together have the capacity. */
void play_expect_full(struct play *y);
