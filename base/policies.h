/* policies.h - the policies that were loaded from files, by decision point and name.
 *
 * weir's own policies are not here: engine/admission, gac, control and workload know
 * them. A process has one struct
 * policies, and its configuration points to it (base/config.h). The struct counts what its policies
 * did wrong, and tells each kind of fault once for each policy.
 *
 * Invariants
 *   POLICY-1  An entry stays where it is, so pointers to its policy stay valid.
 *   POLICY-2  An invalid result of a policy changes no decision other than that one.
 *
 * No decision depends on the clock below: it is for people.
 *
 * Not here: opening files (server/host/policy_file.h); checking what policies
 * decide (engine/admission, gac, control). */
#pragma once

#include "base/buffer.h"
#include "base/status.h"

enum {
    POLICIES_MAX = 64,
    POLICY_SAMPLES = 16,      /* the last timed calls of a policy */
    POLICY_SAMPLE_EVERY = 16, /* after the first POLICY_SAMPLES, one call of so many is timed */
    POLICY_SLOW_NS = 10000,   /* a call that takes longer is slow */
    POLICY_SLOW_CONTROL_NS = 1000000, /* the same for a decision of the controller */
};

/* The largest struct of a policy. */
enum {
    POLICY_SIZE_MAX = 160
};

/* Marks a loaded policy in its `flags`: the host times its calls. */
#define POLICY_LOADED (UINT64_C(1) << 63)

enum policy_point {
    POLICY_PARTITION,
    POLICY_NODE,
    POLICY_HEADROOM,
    POLICY_TABLE,
    POLICY_OVERLOAD,
    POLICY_ADAPTIVE,
    POLICY_SPLIT,
    POLICY_DEMAND,
    POLICY_RELOCATE,
    POLICY_RETRY,
    POLICY_POINTS
};

struct policy_entry {
    enum policy_point point;
    const char *name; /* borrows from the plug-in */
    const char *file; /* borrows */
    /* The struct of the point (include/weir/policy_POINT.h). */
    _Alignas(int64_t) uint8_t policy[POLICY_SIZE_MAX];
    uint64_t invalid_results; /* decisions that were refused for it */
    uint64_t calls;
    uint64_t timed;
    uint64_t slow;        /* of the timed calls */
    uint32_t slow_lately; /* bit i: the timed call i before the last was slow */
    bool reported_slow;
};

struct policies {
    uint32_t count;
    struct policy_entry entries[POLICIES_MAX];
    /* Tells people a line about a policy. May be NULL. */
    void (*report)(void *context, const char *text);
    void *context;
    /* Monotonic time, to find slow policies; NULL: nothing is timed. */
    int64_t (*clock_ns)(void);
};

struct weir_policy_plugin;

/* Adds what a file offers. STATUS_MALFORMED: `error` names the file, the fault and what is
 * expected, and nothing was added. `is_own`: whether a policy of weir has the name. */
enum status policies_add(struct policies *p, const struct weir_policy_plugin *plugin,
                         const char *file,
                         bool (*is_own)(enum policy_point point, const char *name),
                         struct buffer *error);

/* The loaded policy with that name; NULL: none. `p` may be NULL. */
struct policy_entry *policies_find(const struct policies *p, enum policy_point point,
                                   struct slice name);
/* The entry's policy, a struct of its point; NULL: there is no entry. */
static inline const void *policies_policy(const struct policy_entry *e)
{
    return e != NULL ? e->policy : NULL;
}
/* Appends ", NAME" for each loaded policy of the point. `p` may be NULL. */
void policies_append_names(const struct policies *p, enum policy_point point, struct buffer *out);
const char *policy_point_name(enum policy_point point); /* "partition", "node", ... static */

/* The loaded policy at `policy` (a member of an entry) did what makes no sense. Counts it, and
 * tells it the first time. Anything that is no loaded policy is ignored. */
void policies_report_invalid(struct policies *p, const void *policy, const char *what)
    __attribute__((cold, noinline));

/* Around a call of a loaded policy. policies_begin returns a time, or -1: not timed. */
int64_t policies_begin(struct policies *p, const void *policy);
void policies_end(struct policies *p, const void *policy, int64_t begun_ns);
