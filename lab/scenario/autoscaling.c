/* autoscaling.c - rows of periods above and below the target, and what follows from them. */
#include "lab/scenario/autoscaling.h"

#include <math.h>

#include "base/instant.h"

enum {
    READS, /* as enum admit_kind */
    WRITES,
    UNITS_MAX = 100000000,
    MCU = 1000, /* in a unit */
    PPM = 1000000
};

#define DAY_NS     (86400 * NS_PER_S)
#define TARGET_MIN 0.2
#define TARGET_MAX 0.9

/* ---- the fields ---- */

#define AT_KIND(member) FIELD_MEMBER(struct autoscaling_kind_options, member)
#define AT(member)      FIELD_MEMBER(struct autoscaling_options, member)

static const struct field kind_fields[] = {
    {"min", FIELD_INTEGER, AT_KIND(min), .required = true, .min = 1, .max = UNITS_MAX,
     .help = "Minimum of units per second."},
    {"max", FIELD_INTEGER, AT_KIND(max), .required = true, .min = 1, .max = UNITS_MAX,
     .help = "Maximum of units per second."},
    {"target", FIELD_REAL, AT_KIND(target), .min = 0, .max = 1,
     .help = "The target of consumed / provisioned units: 0.2 to 0.9. Default: 0.7."},
    FIELDS_END};

const struct field autoscaling_fields[] = {
    {"reads", FIELD_MAP, AT(kinds[READS]), .fields = kind_fields,
     .help = "The range of read units for scaling. Default: reads are not scaled."},
    {"writes", FIELD_MAP, AT(kinds[WRITES]), .fields = kind_fields,
     .help = "The range of write units for scaling. Default: writes are not scaled."},
    {"period", FIELD_DURATION, AT(period_ns), .min = 10 * NS_PER_MS, .max = DAY_NS,
     .help = "Consumption is compared with the target at this interval. Default: 1m."},
    {"out_after", FIELD_DURATION, AT(out_after_ns), .min = 1, .max = DAY_NS,
     .help = "Throughput is raised after this time above the target. Default: 2m."},
    {"in_after", FIELD_DURATION, AT(in_after_ns), .min = 1, .max = DAY_NS,
     .help =
         "Throughput is lowered after this time below the target minus in_margin. Default: 15m."},
    {"in_margin", FIELD_REAL, AT(in_margin), .min = 0, .max = 1,
     .help = "The distance below the target, as a part of the provisioned units. Default: 0.2."},
    {"delay", FIELD_DURATION, AT(delay_ns), .min = 0, .max = DAY_NS,
     .help = "Time from the decision to the request to the cluster. Default: 3m."},
    FIELDS_END};

static const char *const kind_names[AUTOSCALING_KINDS] = {"reads", "writes"};

static bool kind_check(struct reading *r, const struct document_node *n,
                       const struct autoscaling_options *o, int kind)
{
    const struct autoscaling_kind_options *k = &o->kinds[kind];
    if (k->max == 0)
        return true;
    if (k->target < TARGET_MIN || k->target > TARGET_MAX)
        return reading_fail(r, n, "target of %s is %g, but must be from %g to %g", kind_names[kind],
                            k->target, TARGET_MIN, TARGET_MAX);
    if (k->min > k->max)
        return reading_fail(r, n, "min of %s is %lld, but must be at most max, which is %lld",
                            kind_names[kind], (long long)k->min, (long long)k->max);
    if (o->in_margin >= k->target)
        return reading_fail(r, n,
                            "in_margin is %g, but must be below the target of %s, which is %g",
                            o->in_margin, kind_names[kind], k->target);
    return true;
}

bool autoscaling_read(struct reading *r, const struct document_node *n, void *target)
{
    struct autoscaling_options *o = target;
    *o = (struct autoscaling_options){.on = true,
                                      .kinds = {{.target = 0.7}, {.target = 0.7}},
                                      .period_ns = 60 * NS_PER_S,
                                      .out_after_ns = 120 * NS_PER_S,
                                      .in_after_ns = 900 * NS_PER_S,
                                      .in_margin = 0.2,
                                      .delay_ns = 180 * NS_PER_S};
    if (!fields_read(r, n, autoscaling_fields, o))
        return false;
    if (o->kinds[READS].max == 0 && o->kinds[WRITES].max == 0)
        return reading_fail(r, n, "autoscaling needs reads or writes");
    return kind_check(r, n, o, READS) && kind_check(r, n, o, WRITES);
}

const char *autoscaling_check(const struct autoscaling_options *o, bool on_demand,
                              const int64_t units[AUTOSCALING_KINDS])
{
    if (o->on && on_demand)
        return "a table on demand has no throughput that autoscaling could change";
    for (int kind = 0; kind < AUTOSCALING_KINDS && o->on; kind++) {
        const struct autoscaling_kind_options *k = &o->kinds[kind];
        if (k->max > 0 && (units[kind] < k->min || units[kind] > k->max))
            return kind == READS ? "rcu must be from min to max of autoscaling's reads"
                                 : "wcu must be from min to max of autoscaling's writes";
    }
    return NULL;
}

/* ---- decisions ---- */

void autoscaling_init(struct autoscaling *a, const struct autoscaling_options *o,
                      const int64_t units[AUTOSCALING_KINDS])
{
    *a = (struct autoscaling){.options = o};
    autoscaling_done(a, units);
}

void autoscaling_done(struct autoscaling *a, const int64_t units[AUTOSCALING_KINDS])
{
    a->changing = false;
    autoscaling_changed(a, units);
}

void autoscaling_changed(struct autoscaling *a, const int64_t units[AUTOSCALING_KINDS])
{
    for (int kind = 0; kind < AUTOSCALING_KINDS; kind++) {
        a->units[kind] = units[kind];
        a->above[kind] = a->below[kind] = (struct autoscaling_row){0};
    }
}

static void row_add(struct autoscaling_row *row, bool goes_on, int64_t mcu)
{
    if (!goes_on)
        *row = (struct autoscaling_row){0};
    else if (row->periods++ == 0 || mcu > row->highest_mcu)
        row->highest_mcu = mcu;
}

static bool row_lasts(const struct autoscaling *a, const struct autoscaling_row *row, int64_t ns)
{
    return row->periods > 0 && row->periods * a->options->period_ns >= ns;
}

/* A part in 1/1,000,000: fractions of floats must not cost a unit. */
static int64_t ppm_of(double part)
{
    return llround(part * PPM);
}

/* The units of which the consumption is the target. */
static int64_t units_for(const struct autoscaling_kind_options *k, int64_t mcu)
{
    const int64_t unit = ppm_of(k->target) * MCU;
    int64_t units = (int64_t)(((__int128)mcu * PPM + unit - 1) / unit);
    return units < k->min ? k->min : units > k->max ? k->max : units;
}

static void kind_evaluate(struct autoscaling *a, int kind, int64_t mcu)
{
    const struct autoscaling_options *o = a->options;
    const struct autoscaling_kind_options *k = &o->kinds[kind];
    const __int128 consumed = (__int128)mcu * PPM, provisioned = (__int128)a->units[kind] * MCU;
    a->requested[kind] = 0;
    if (k->max == 0)
        return;
    row_add(&a->above[kind], consumed > provisioned * ppm_of(k->target), mcu);
    row_add(&a->below[kind], mcu > 0 && consumed < provisioned * ppm_of(k->target - o->in_margin),
            mcu);
    if (row_lasts(a, &a->above[kind], o->out_after_ns))
        a->requested[kind] = units_for(k, a->above[kind].highest_mcu);
    else if (row_lasts(a, &a->below[kind], o->in_after_ns))
        a->requested[kind] = units_for(k, a->below[kind].highest_mcu);
    if (a->requested[kind] == a->units[kind])
        a->requested[kind] = 0;
}

bool autoscaling_evaluate(struct autoscaling *a, const int64_t consumed_mcu[AUTOSCALING_KINDS])
{
    if (a->changing)
        return false;
    for (int kind = 0; kind < AUTOSCALING_KINDS; kind++) {
        must(consumed_mcu[kind] >= 0);
        kind_evaluate(a, kind, consumed_mcu[kind]);
        a->changing |= a->requested[kind] > 0;
    }
    return a->changing;
}
