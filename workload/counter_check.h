/* counter_check.h - could these increments and reads of one counter have happened one after the
 * other?
 *
 * A write adds 1 to the counter. `value` of a write that succeeded is what the counter held
 * after it; of other writes it is not used. `value` of a read is what the counter held; 0: no
 * counter. The counter is absent at the start and is never deleted. The check is exact. Time:
 * O(n log n). */
#pragma once

#include "workload/linearizability.h"

/* `ops` are operations of one counter, in any order. */
void history_check_counter(const struct history_op *ops, size_t count, struct history_verdict *out);
