/* stream_sweep.h - finds records of streams that may go, a slice at a time: those that are older
 * than stream_retention_ms, and the oldest ones while a partition has more than stream_max_bytes of
 * them. stream_trim.h deletes them.
 *
 * The records of a partition lie in their order (STREAM-1), so those that may go are at the
 * beginning. */
#pragma once

#include "engine/node/core/env.h"
#include "engine/node/core/partition.h"

bool stream_sweep_is_needed(const struct partition *p);
struct slice stream_sweep_from(const struct partition *p);
/* Appends keys of rows to p->stream.expired. */
void stream_sweep_slice(struct node_env *env, struct partition *p);
/* How much longer than stream_retention_ms the oldest record is there, as far as the last slice
 * saw. */
int64_t stream_sweep_lag_ms(const struct node_env *env, const struct partition *p);
