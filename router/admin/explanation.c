/* explanation.c - the limits that a request met, in their order, and what helps. */
#include "router/admin/explanation.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/settings/admission.h"
#include "engine/admission/capacity.h"

const char *limit_verdict_name(enum limit_verdict verdict)
{
    static const char *const NAMES[LIMIT_VERDICTS] = {[LIMIT_ENOUGH] = "enough",
                                                      [LIMIT_EMPTY] = "too little",
                                                      [LIMIT_REFUSED] = "REFUSED",
                                                      [LIMIT_NOT_NEEDED] = "not needed",
                                                      [LIMIT_NOT_REACHED] = "not reached"};
    return NAMES[verdict];
}

const char *help_kind_name(enum help_kind kind)
{
    static const char *const NAMES[HELP_KINDS] = {"now", "soon", "cure", "no"};
    return NAMES[kind];
}

const char *record_outcome_name(enum record_outcome outcome)
{
    static const char *const NAMES[RECORD_OUTCOMES] = {[RECORD_DONE] = "done",
                                                       [RECORD_REFUSED] = "refused",
                                                       [RECORD_OVERLOADED] = "overloaded",
                                                       [RECORD_CANCELLED] = "cancelled",
                                                       [RECORD_FAILED] = "failed"};
    return NAMES[outcome];
}

const char *record_reason_name(const struct decision_record *d)
{
    if (d->outcome == RECORD_REFUSED)
        return admit_reason_name(d->verdict.reason);
    if (d->outcome == RECORD_OVERLOADED)
        return "overload";
    if (d->outcome == RECORD_CANCELLED)
        return "conflict";
    if (d->causes & RECORD_OF_SLOW)
        return "slow";
    if (d->causes & RECORD_OF_WAIT)
        return "waited for tokens";
    return d->outcome == RECORD_FAILED ? "error" : "sample";
}

/* ---- limits ---- */

static struct explained_limit *limit_add(struct explanation *e, const char *name,
                                         enum limit_verdict verdict)
{
    must(e->limit_count < EXPLANATION_LIMITS);
    struct explained_limit *l = &e->limits[e->limit_count++];
    *l = (struct explained_limit){.verdict = verdict,
                                  .level = LIMIT_UNKNOWN,
                                  .capacity = LIMIT_UNKNOWN,
                                  .rate = LIMIT_UNKNOWN};
    snprintf(l->name, sizeof l->name, "%s", name);
    return l;
}

static bool was_refused(const struct decision_record *d, enum admit_reason reason)
{
    return d->verdict.reason == reason &&
           (d->outcome == RECORD_REFUSED || d->outcome == RECORD_OVERLOADED);
}

static void limits_add_table(struct explanation *e, const struct decision_record *d)
{
    if (d->rates.limit_rate_mcu == 0 && !was_refused(d, ADMIT_REFUSED_TABLE))
        return;
    struct explained_limit *l = limit_add(
        e, "table lease", was_refused(d, ADMIT_REFUSED_TABLE) ? LIMIT_REFUSED : LIMIT_ENOUGH);
    l->level = d->rates.limit_level_mcu;
    if (!d->short_form)
        l->rate = d->rates.limit_rate_mcu;
}

/* The verdict of a limit that comes before the one that has refused; `refusing`: its own. */
static enum limit_verdict verdict_of(bool is_reached, bool refuses)
{
    if (refuses)
        return LIMIT_REFUSED;
    return is_reached ? LIMIT_ENOUGH : LIMIT_NOT_REACHED;
}

static int64_t depth_of(int64_t rate, int64_t depth_ms)
{
    return (int64_t)((__int128)rate * depth_ms / 1000);
}

/* A partition's buckets, in the order in which they are asked (engine/admission). */
static void limits_add_partition(struct explanation *e, const struct decision_record *d,
                                 const struct config *config)
{
    const struct settings_admission *s = config_admission(config);
    const struct admit_balances *b = &d->verdict.balances;
    const int64_t rate = d->rates.allocation_mcu, maximum = d->rates.maximum_mcu;
    const bool reached = !was_refused(d, ADMIT_REFUSED_TABLE) &&
                         !was_refused(d, ADMIT_REFUSED_OVERLOAD) && d->node != 0;
    const bool beyond_cap = reached && !was_refused(d, ADMIT_REFUSED_KEY_RANGE);
    const bool bursts = d->verdict.burst || was_refused(d, ADMIT_REFUSED_NODE) ||
                        was_refused(d, ADMIT_REFUSED_MEMBER);
    const bool beyond_burst = beyond_cap && !was_refused(d, ADMIT_REFUSED_ALLOCATION);
    struct explained_limit *l;

    l = limit_add(e, "cap", verdict_of(reached, was_refused(d, ADMIT_REFUSED_KEY_RANGE)));
    snprintf(l->name, sizeof l->name, "cap, partition %u", d->partition);
    l->level = reached ? b->cap_mcu : LIMIT_UNKNOWN;
    l->capacity = depth_of(maximum, s->cap_depth_ms);
    l->rate = maximum;
    l = limit_add(e, "allocation",
                  verdict_of(beyond_cap, was_refused(d, ADMIT_REFUSED_ALLOCATION)));
    if (l->verdict == LIMIT_ENOUGH && bursts)
        l->verdict = LIMIT_EMPTY;
    l->level = reached ? b->allocation_mcu : LIMIT_UNKNOWN;
    l->capacity = depth_of(rate, s->allocation_depth_ms);
    l->rate = rate;
    if (d->rates.limit_rate_mcu == 0) { /* otherwise bursts need no savings: policy_burst.c */
        l = limit_add(e, "burst", verdict_of(beyond_cap, false));
        if (l->verdict == LIMIT_ENOUGH && !bursts)
            l->verdict = was_refused(d, ADMIT_REFUSED_ALLOCATION) ? LIMIT_EMPTY : LIMIT_NOT_NEEDED;
        l->level = reached ? b->burst_mcu : LIMIT_UNKNOWN;
        l->capacity = depth_of(rate, s->burst_max_s * 1000);
    }
    l = limit_add(e, "node", verdict_of(beyond_burst, was_refused(d, ADMIT_REFUSED_NODE)));
    snprintf(l->name, sizeof l->name, "node %u", d->node);
    l->level = reached ? b->node_mcu : LIMIT_UNKNOWN;
    l->rate = node_capacity_mcu(config, (enum admit_kind)d->kind);
    l->capacity = depth_of(l->rate, s->node_depth_ms);
}

/* A short record has only the level of the bucket that refused. */
static void limits_add_refusing(struct explanation *e, const struct decision_record *d)
{
    const struct admit_balances *b = &d->verdict.balances;
    char name[32];
    if (was_refused(d, ADMIT_REFUSED_KEY_RANGE)) {
        snprintf(name, sizeof name, "cap, partition %u", d->partition);
        limit_add(e, name, LIMIT_REFUSED)->level = b->cap_mcu;
    } else if (was_refused(d, ADMIT_REFUSED_ALLOCATION)) {
        limit_add(e, "allocation", LIMIT_REFUSED)->level = b->allocation_mcu;
    } else if (was_refused(d, ADMIT_REFUSED_NODE)) {
        snprintf(name, sizeof name, "node %u", d->node);
        limit_add(e, name, LIMIT_REFUSED)->level = b->node_mcu;
    }
}

static void limits_add_others(struct explanation *e, const struct decision_record *d)
{
    char name[32];
    if (was_refused(d, ADMIT_REFUSED_MEMBER)) {
        snprintf(name, sizeof name, "member, node %u", d->verdict.member);
        limit_add(e, name, LIMIT_REFUSED);
    }
    if (was_refused(d, ADMIT_REFUSED_INDEX)) {
        snprintf(name, sizeof name, "index, partition %u", d->verdict.member);
        limit_add(e, d->verdict.member != 0 ? name : "index", LIMIT_REFUSED);
    }
    if (d->outcome == RECORD_OVERLOADED) {
        snprintf(name, sizeof name, "queue of node %u", d->node);
        limit_add(e, d->moments_us[RECORD_SENT] == RECORD_NEVER ? "queue" : name, LIMIT_REFUSED);
    }
    if (d->outcome == RECORD_CANCELLED)
        limit_add(e, "lock of the item", LIMIT_REFUSED);
}

/* ---- what helps ---- */

__attribute__((format(printf, 3, 4))) static void
help_add(struct explanation *e, enum help_kind kind, const char *format, ...)
{
    va_list args;
    if (e->help_count == EXPLANATION_HELPS)
        return;
    struct explained_help *h = &e->helps[e->help_count++];
    h->kind = kind;
    va_start(args, format);
    vsnprintf(h->text, sizeof h->text, format, args);
    va_end(args);
}

static int64_t record_wait_ms(const struct decision_record *d)
{
    if (d->verdict.wait.ns <= 0 || d->verdict.wait.ns > INT64_MAX / 4)
        return 0;
    return (d->verdict.wait.ns + NS_PER_MS - 1) / NS_PER_MS;
}

static const char *units_of(const struct decision_record *d)
{
    return d->kind == ADMIT_READ ? "RCU" : "WCU";
}

static long long whole_units(int64_t mcu)
{
    return (mcu + MCU_PER_UNIT - 1) / MCU_PER_UNIT;
}

static void helps_add_table(struct explanation *e, const struct decision_record *d)
{
    if (d->rates.limit_demand_mcu > d->rates.limit_rate_mcu)
        help_add(e, HELP_CURE,
                 "more %s: this router's clients alone ask for %lld/s, the table has %lld/s",
                 units_of(d), whole_units(d->rates.limit_demand_mcu),
                 whole_units(d->rates.limit_rate_mcu));
    else
        help_add(e, HELP_CURE,
                 "more %s for the table, or requests that cost less (smaller items, %s)",
                 units_of(d), d->kind == ADMIT_READ ? "eventual reads" : "fewer indexes");
    help_add(e, HELP_NO, "other partition keys do not help: the limit is of the whole table");
}

static void helps_add_key_range(struct explanation *e, const struct decision_record *d,
                                const struct config *config)
{
    help_add(e, HELP_SOON,
             "the controller splits the partition if its keys can be divided (weir events)");
    help_add(e, HELP_CURE,
             "more partition key values; if it is one key: tag weir:key-sharding=auto");
    help_add(e, HELP_NO, "more %s do not help: a partition has at most %lld/s", units_of(d),
             whole_units(d->short_form ? partition_max_mcu(config, (enum admit_kind)d->kind)
                                       : d->rates.maximum_mcu));
}

static void helps_add_allocation(struct explanation *e, const struct decision_record *d)
{
    help_add(e, HELP_SOON,
             "adaptive capacity raises the allocation, if the table has units left (weir events)");
    help_add(e, HELP_CURE, "requests spread over more partition keys, or more %s for the table",
             units_of(d));
}

static void explanation_add_helps(struct explanation *e, const struct decision_record *d,
                                  const struct config *config)
{
    const int64_t wait_ms = record_wait_ms(d);
    if (d->outcome == RECORD_CANCELLED)
        help_add(e, HELP_NOW, "retry the whole request, with jitter");
    else if (wait_ms > 0)
        help_add(e, HELP_NOW, "retry after %lld ms, with jitter (x-amz-retry-after)",
                 (long long)wait_ms);
    else if (d->outcome == RECORD_REFUSED || d->outcome == RECORD_OVERLOADED)
        help_add(e, HELP_NOW, "retry with exponential backoff and jitter");
    if (d->outcome == RECORD_OVERLOADED) {
        help_add(e, HELP_CURE, "fewer requests at once, or more nodes: the processors are busy");
        help_add(e, HELP_NO, "more %s do not help: no token was short", units_of(d));
    }
    if (d->outcome == RECORD_CANCELLED)
        help_add(e, HELP_CURE,
                 "fewer writers of one item; a counter: tag weir:key-sharding=counter (ADD only)");
    if (d->outcome != RECORD_REFUSED)
        return;
    switch (d->verdict.reason) {
    case ADMIT_REFUSED_TABLE:
        helps_add_table(e, d);
        break;
    case ADMIT_REFUSED_KEY_RANGE:
        helps_add_key_range(e, d, config);
        break;
    case ADMIT_REFUSED_ALLOCATION:
        helps_add_allocation(e, d);
        break;
    case ADMIT_REFUSED_NODE:
    case ADMIT_REFUSED_MEMBER:
        help_add(e, HELP_SOON, "the controller moves replicas away from the node (weir events)");
        help_add(e, HELP_CURE, "more %s: a request within the allocation needs no burst",
                 units_of(d));
        break;
    case ADMIT_REFUSED_INDEX:
        help_add(e, HELP_CURE, "more write units for the index, or a key of it with more values");
        help_add(e, HELP_NO, "more units for the table do not help: the index is behind");
        break;
    default:
        break;
    }
}

void explanation_add_attempts(struct explanation *e, const struct records *records)
{
    e->attempt_count = records_attempts(records, e->record, e->attempts, EXPLANATION_ATTEMPTS);
}

void explanation_make(struct explanation *e, const struct decision_record *d,
                      const struct config *config)
{
    *e = (struct explanation){.record = d};
    if (record_wait_ms(d) > 0 && d->outcome == RECORD_REFUSED)
        e->would_pass_ms = d->wall_ms + record_wait_ms(d);
    limits_add_table(e, d);
    if (d->short_form)
        limits_add_refusing(e, d);
    else if (d->table_id != 0)
        limits_add_partition(e, d, config);
    limits_add_others(e, d);
    explanation_add_helps(e, d, config);
}
