/* policy_calls.h - the policies of plug-ins that a scenario names and that no decision of a run
 * called.
 *
 * The host may put its own partition policy in the place of a plug-in's: then the run shows nothing
 * of the plug-in. The calls of all decision points but `node` are counted. The calls of weir's own
 * policies are not.
 *
 * Not here: the runs of a policy together (lab/run/result_uncalled.c). */
#pragma once

#include "base/policies.h"
#include "lab/scenario/scenario.h"

struct policy_calls {
    uint32_t count;
    struct {
        const struct policy_entry *entry; /* borrows */
        uint64_t calls;                   /* before the run */
    } at[POLICIES_MAX];
};

/* Before the run. */
void policy_calls_begin(struct policy_calls *a, const struct scenario *s);

/* After the run: the member `uncalled` of an object in JSON, a list of texts. Writes nothing if
 * all policies were called. */
void policy_calls_write_uncalled(const struct policy_calls *a, struct buffer *out);
