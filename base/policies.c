/* policies.c - checking what a plug-in offers, and counting what its policies do wrong. */
#include "base/policies.h"

#include <ctype.h>
#include <stdio.h>

#include "include/weir/policy.h"

/* A decision about a request, and of the controller, and of a client. */
static const char refusals[] = "are refusals", nothing[] = "change nothing",
                  ends[] = "end the request";

#define FLAGS_AT(point) offsetof(struct weir_##point##_policy, flags)

static const struct {
    const char *name;
    const char *invalid; /* what decisions with an invalid result are */
    int64_t slow_ns;
    size_t flags_at;
    uint64_t flags; /* that this version knows */
} point_rules[POLICY_POINTS] = {
    [POLICY_PARTITION] = {"partition", refusals, POLICY_SLOW_NS, FLAGS_AT(partition),
                          WEIR_PARTITION_SAVES | WEIR_PARTITION_SHARES | WEIR_PARTITION_UNLIMITED |
                              WEIR_PARTITION_SAVED_ONLY},
    [POLICY_NODE] = {"node", refusals, POLICY_SLOW_NS, FLAGS_AT(node), 0},
    [POLICY_HEADROOM] = {"headroom", refusals, POLICY_SLOW_NS, FLAGS_AT(headroom),
                         WEIR_HEADROOM_LEASES | WEIR_HEADROOM_UNCHECKED},
    [POLICY_TABLE] = {"table", refusals, POLICY_SLOW_NS, FLAGS_AT(table),
                      WEIR_TABLE_LIMITS | WEIR_TABLE_REQUESTS_GRANTS | WEIR_TABLE_WHOLE_COST |
                          WEIR_TABLE_PERIODS | WEIR_TABLE_TAKES_REPORTS},
    [POLICY_OVERLOAD] = {"overload", refusals, POLICY_SLOW_NS, FLAGS_AT(overload),
                         WEIR_OVERLOAD_CLASSES},
    [POLICY_ADAPTIVE] = {"adaptive", nothing, POLICY_SLOW_CONTROL_NS, FLAGS_AT(adaptive), 0},
    [POLICY_SPLIT] = {"split", nothing, POLICY_SLOW_CONTROL_NS, FLAGS_AT(split), 0},
    [POLICY_DEMAND] = {"demand", nothing, POLICY_SLOW_CONTROL_NS, FLAGS_AT(demand), 0},
    [POLICY_RELOCATE] = {"relocate", nothing, POLICY_SLOW_CONTROL_NS, FLAGS_AT(relocate), 0},
    [POLICY_RETRY] = {"retry", ends, POLICY_SLOW_NS, FLAGS_AT(retry), WEIR_RETRY_TAKES_NUMBER},
};

const char *policy_point_name(enum policy_point point)
{
    must((unsigned)point < POLICY_POINTS);
    return point_rules[point].name;
}

/* ---- adding ---- */

/* What is read of a plug-in. */
struct policy_source {
    struct policies *to;
    const char *file;
    bool (*is_own)(enum policy_point point, const char *name);
    struct buffer *error;
};

static bool policy_name_fits(const char *name)
{
    size_t size = name == NULL ? 0 : strnlen(name, WEIR_POLICY_NAME_MAX);
    bool fits = size > 0 && size < WEIR_POLICY_NAME_MAX;
    for (size_t i = 0; fits && i < size; i++)
        fits = islower((unsigned char)name[i]) || isdigit((unsigned char)name[i]) ||
               name[i] == '_' || name[i] == '-';
    return fits;
}

static enum status policy_refuse(const struct policy_source *s, enum policy_point point,
                                 const char *name, const char *what)
{
    return buffer_explain(s->error, STATUS_MALFORMED, "%s: %s policy '%.*s' %s", s->file,
                          policy_point_name(point), WEIR_POLICY_NAME_MAX, name, what);
}

/* Takes the bytes that both sides know, and zero for the others. */
static enum status policy_copy(const struct policy_source *s, enum policy_point point,
                               const void *theirs, void *ours, size_t own_size)
{
    uint32_t size = 0;
    if (theirs != NULL)
        memcpy(&size, theirs, sizeof size);
    if (size < own_size)
        return buffer_explain(s->error, STATUS_MALFORMED,
                              "%s: a %s policy has size = %u; expected .size = sizeof of its "
                              "struct, at least %zu",
                              s->file, policy_point_name(point), size, own_size);
    memcpy(ours, theirs, own_size);
    return STATUS_OK;
}

/* The policy of an entry, by its point. */
union policy_any {
    struct weir_partition_policy partition;
    struct weir_node_policy node;
    struct weir_headroom_policy headroom;
    struct weir_table_policy table;
    struct weir_overload_policy overload;
    struct weir_adaptive_policy adaptive;
    struct weir_split_policy split;
    struct weir_demand_policy demand;
    struct weir_relocate_policy relocate;
    struct weir_retry_policy retry;
};
_Static_assert(sizeof(union policy_any) <= POLICY_SIZE_MAX, "raise POLICY_SIZE_MAX");

static union policy_any *policy_any_of(const struct policy_entry *e)
{
    return (union policy_any *)(uintptr_t)e->policy;
}

static const char *policy_lacks(const struct policy_entry *e)
{
    const union policy_any *p = policy_any_of(e);
    switch (e->point) {
    case POLICY_PARTITION:
        if (p->partition.decide == NULL || p->partition.settle == NULL)
            return "lacks a function: decide and settle are required";
        return p->partition.state_bytes > WEIR_POLICY_STATE_MAX ? "has too large a state" : NULL;
    case POLICY_NODE:
        if (p->node.has == NULL || p->node.wait_ns == NULL)
            return "lacks a function: has and wait_ns are required";
        return p->node.node_bytes > WEIR_POLICY_STATE_MAX ||
                       p->node.partition_bytes > WEIR_POLICY_STATE_MAX
                   ? "has too large a state"
                   : NULL;
    case POLICY_HEADROOM:
        return p->headroom.has == NULL && !(p->headroom.flags & WEIR_HEADROOM_UNCHECKED)
                   ? "lacks a function: has is required"
                   : NULL;
    case POLICY_TABLE:
        if (p->table.grant == NULL && (p->table.flags & WEIR_TABLE_REQUESTS_GRANTS))
            return "lacks a function: its flags require grant";
        return p->table.ledger_bytes > WEIR_POLICY_STATE_MAX ||
                       p->table.holder_bytes > WEIR_POLICY_STATE_MAX
                   ? "has too large a state"
                   : NULL;
    case POLICY_OVERLOAD:
        if (p->overload.arrive == NULL)
            return "lacks a function: arrive is required";
        return p->overload.state_bytes > WEIR_OVERLOAD_STATE_MAX ||
                       p->overload.peer_bytes > WEIR_POLICY_STATE_MAX
                   ? "has too large a state"
                   : NULL;
    case POLICY_ADAPTIVE:
        if (p->adaptive.adapt == NULL)
            return "lacks a function: adapt is required";
        return p->adaptive.partition_bytes > WEIR_POLICY_STATE_MAX ? "has too large a state" : NULL;
    case POLICY_SPLIT:
        if (p->split.trigger == NULL)
            return "lacks a function: trigger is required";
        return p->split.state_bytes > WEIR_POLICY_STATE_MAX ? "has too large a state" : NULL;
    case POLICY_DEMAND:
        return p->demand.raise == NULL ? "lacks a function: raise is required" : NULL;
    case POLICY_RELOCATE:
        return p->relocate.place == NULL ? "lacks a function: place is required" : NULL;
    case POLICY_RETRY:
        if (p->retry.after == NULL)
            return "lacks a function: after is required";
        if (p->retry.attempts_max < 1 || p->retry.attempts_max > WEIR_RETRY_ATTEMPTS_MAX)
            return "has attempts_max outside of 1 to 1000";
        return p->retry.state_bytes > WEIR_RETRY_STATE_MAX ? "has state_bytes above 512" : NULL;
    case POLICY_POINTS:
        break;
    }
    return NULL;
}

/* The entry is filled up to its names; it becomes one of the registry. */
static enum status policy_accept(const struct policy_source *s, struct policy_entry *e,
                                 const char *name)
{
    char text[96];
    uint64_t *flags = (uint64_t *)(void *)(e->policy + point_rules[e->point].flags_at);
    if (!policy_name_fits(name))
        return policy_refuse(s, e->point, name == NULL ? "" : name,
                             "has no valid name: expected 1 to 31 of a-z, 0-9, _ and -");
    if (s->is_own != NULL && s->is_own(e->point, name))
        return policy_refuse(s, e->point, name, "has the name of a policy of weir: choose another");
    if (policies_find(s->to, e->point, slice_of(name)) != NULL)
        return policy_refuse(s, e->point, name, "is there already: names must differ");
    const char *lacks = policy_lacks(e);
    if (lacks != NULL) {
        snprintf(text, sizeof text, "%s (a state has at most %d bytes)", lacks,
                 WEIR_POLICY_STATE_MAX);
        return policy_refuse(s, e->point, name, strstr(lacks, "a state") != NULL ? text : lacks);
    }
    if (*flags & ~point_rules[e->point].flags)
        return policy_refuse(s, e->point, name,
                             "has flags that this version of weir does not know");
    *flags |= POLICY_LOADED;
    e->name = name;
    e->file = s->file;
    s->to->count++;
    return STATUS_OK;
}

#define ADD_ALL(POINT, member)                                                        \
    for (uint32_t i = 0; status == STATUS_OK && i < plugin->member##_count; i++) {    \
        struct policy_entry *e = &p->entries[p->count];                               \
        *e = (struct policy_entry){.point = POINT};                                   \
        status = policy_copy(&s, POINT, plugin->member[i], &policy_any_of(e)->member, \
                             sizeof policy_any_of(e)->member);                        \
        if (status == STATUS_OK)                                                      \
            status = policy_accept(&s, e, policy_any_of(e)->member.name);             \
    }

/* The size of weir_policy_plugin when it had the fewest members. */
#define PLUGIN_SIZE_MIN offsetof(struct weir_policy_plugin, overload_count)

/* Reads the members that both sides know, and zero for the others. */
static enum status plugin_read(const struct weir_policy_plugin *theirs, const char *file,
                               struct weir_policy_plugin *ours, struct buffer *error)
{
    if (theirs == NULL)
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s: weir_policy_plugin() returned NULL; expected its struct", file);
    if (theirs->abi != WEIR_POLICY_ABI)
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s: was compiled for version %u of weir/policy.h; this weir has "
                              "version %u: compile it anew",
                              file, theirs->abi, WEIR_POLICY_ABI);
    if (theirs->size < PLUGIN_SIZE_MIN)
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s: its plug-in has size = %u; expected .size = sizeof (struct "
                              "weir_policy_plugin), at least %zu",
                              file, theirs->size, PLUGIN_SIZE_MIN);
    memset(ours, 0, sizeof *ours);
    memcpy(ours, theirs, theirs->size < sizeof *ours ? theirs->size : sizeof *ours);
    return STATUS_OK;
}

static uint64_t plugin_count(const struct weir_policy_plugin *plugin)
{
    return (uint64_t)plugin->partition_count + plugin->node_count + plugin->headroom_count +
           plugin->table_count + plugin->overload_count + plugin->adaptive_count +
           plugin->split_count + plugin->demand_count + plugin->relocate_count +
           plugin->retry_count;
}

enum status policies_add(struct policies *p, const struct weir_policy_plugin *theirs,
                         const char *file,
                         bool (*is_own)(enum policy_point point, const char *name),
                         struct buffer *error)
{
    const struct policy_source s = {p, file, is_own, error};
    const uint32_t before = p->count;
    struct weir_policy_plugin known, *const plugin = &known;
    enum status status = plugin_read(theirs, file, plugin, error);
    if (status != STATUS_OK)
        return status;
    uint64_t offered = plugin_count(plugin);
    if (offered == 0)
        return buffer_explain(error, STATUS_MALFORMED, "%s: offers no policy", file);
    if (offered > POLICIES_MAX - p->count)
        return buffer_explain(error, STATUS_MALFORMED,
                              "%s: offers %llu policies; all files together may offer %d", file,
                              (unsigned long long)offered, POLICIES_MAX);
    ADD_ALL(POLICY_PARTITION, partition)
    ADD_ALL(POLICY_NODE, node)
    ADD_ALL(POLICY_HEADROOM, headroom)
    ADD_ALL(POLICY_TABLE, table)
    ADD_ALL(POLICY_OVERLOAD, overload)
    ADD_ALL(POLICY_ADAPTIVE, adaptive)
    ADD_ALL(POLICY_SPLIT, split)
    ADD_ALL(POLICY_DEMAND, demand)
    ADD_ALL(POLICY_RELOCATE, relocate)
    ADD_ALL(POLICY_RETRY, retry)
    if (status != STATUS_OK)
        p->count = before;
    return status;
}

struct policy_entry *policies_find(const struct policies *p, enum policy_point point,
                                   struct slice name)
{
    for (uint32_t i = 0; p != NULL && i < p->count; i++) {
        const struct policy_entry *e = &p->entries[i];
        if (e->point == point && slice_is(name, e->name))
            return (struct policy_entry *)(uintptr_t)e;
    }
    return NULL;
}

void policies_append_names(const struct policies *p, enum policy_point point, struct buffer *out)
{
    for (uint32_t i = 0; p != NULL && i < p->count; i++) {
        if (p->entries[i].point == point)
            buffer_append_format(out, ", %s", p->entries[i].name);
    }
}

/* ---- what policies do wrong ---- */

static struct policy_entry *policies_entry(struct policies *p, const void *policy)
{
    for (uint32_t i = 0; p != NULL && i < p->count; i++) {
        struct policy_entry *e = &p->entries[i];
        if (policy == e->policy)
            return e;
    }
    return NULL;
}

static void policy_report(const struct policies *p, const struct policy_entry *e, const char *what)
{
    char text[512];
    if (p->report == NULL)
        return;
    snprintf(text, sizeof text, "%s policy '%s' of %s %s", policy_point_name(e->point), e->name,
             e->file, what);
    p->report(p->context, text);
}

void policies_report_invalid(struct policies *p, const void *policy, const char *what)
{
    struct policy_entry *e = policies_entry(p, policy);
    char text[256];
    if (e == NULL || e->invalid_results++ > 0)
        return;
    snprintf(text, sizeof text, "%s. Such decisions %s; they are counted and not reported again.",
             what, point_rules[e->point].invalid);
    policy_report(p, e, text);
}

int64_t policies_begin(struct policies *p, const void *policy)
{
    struct policy_entry *e = p == NULL || p->clock_ns == NULL ? NULL : policies_entry(p, policy);
    if (e == NULL)
        return -1;
    uint64_t call = e->calls++;
    return call < POLICY_SAMPLES || call % POLICY_SAMPLE_EVERY == 0 ? p->clock_ns() : -1;
}

/* A single call may have lost the processor meanwhile: a policy is slow if most calls are. */
void policies_end(struct policies *p, const void *policy, int64_t begun_ns)
{
    if (begun_ns < 0)
        return;
    struct policy_entry *e = policies_entry(p, policy);
    int64_t ns = p->clock_ns() - begun_ns;
    const int64_t slow_ns = point_rules[e->point].slow_ns;
    bool slow = ns > slow_ns;
    e->timed++;
    e->slow += slow;
    e->slow_lately = (e->slow_lately << 1 | slow) & ((UINT32_C(1) << POLICY_SAMPLES) - 1);
    if (e->reported_slow || __builtin_popcount(e->slow_lately) <= POLICY_SAMPLES / 2)
        return;
    char text[256];
    e->reported_slow = true;
    snprintf(text, sizeof text,
             "is slow: most of its decisions take longer than %lld us, the last one %lld us. "
             "Requests wait for it.",
             (long long)(slow_ns / 1000), (long long)(ns / 1000));
    policy_report(p, e, text);
}
