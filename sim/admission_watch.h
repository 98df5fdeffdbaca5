/* admission_watch.h - what admission must keep to whatever strikes, looked at while it does.
 *
 *   - No write is refused for want of headroom at a node that has been down for longer than
 *     report_deadline_ms, where dead_member is exclude: that node does no work.
 *   - No node owes more than each of the others could have spent of the second of its rate that it
 *     once told them it had. Where nobody checks members (write_check = off) there is no bound. */
#ifndef WEIR_SIM_ADMISSION_WATCH_H
#define WEIR_SIM_ADMISSION_WATCH_H

#include "base/trace.h"
#include "sim/plan.h"

struct admission_watch {
    const struct plan *plan;           /* borrows */
    const struct scheduler *scheduler; /* borrows */
    struct node_process *const *nodes; /* borrows; by id */
};

/* An event of a node's trace. False: it should not have happened; `why` says what. */
bool admission_watch_saw(const struct admission_watch *w, uint32_t node,
                         const struct trace_event *e, struct buffer *why);
/* At any time. */
bool admission_watch_look(const struct admission_watch *w, struct buffer *why);

#endif
