/* admission_watch.h - checks what admission guarantees under all faults, while the faults go on.
 *
 *   - With dead_member = exclude, no write is refused for want of headroom at a node that has been
 *     down for longer than report_deadline_ms: such a node does no work.
 *   - No node owes more than one second of its rate for each node of the cluster. The other nodes
 *     may each have spent the second that this node once told them of. The partitions of a new
 *     table begin with full buckets, and leave what they owe when the table is dropped: each
 *     table that was made adds its second. With write_check = off no node checks its members, and
 *     there is no bound. */
#pragma once

#include "base/trace.h"
#include "sim/plan/run.h"

/* Checks an event of a node's trace. */
void admission_watch_saw(struct run *r, uint32_t node, const struct trace_event *e);
/* Checks the debts of all nodes, after at most `tables_made` tables were new. May be called at any
 * time. */
void admission_watch_check(struct run *r, uint32_t tables_made);
