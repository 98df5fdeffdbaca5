/* split_event.c - the events of splits: reason, place and gain. */
#include <stdio.h>

#include "control/controller_internal.h"
#include "engine/catalog/key_text.h"

enum {
    SPLITS_NAMED = 3 /* more are not listed: the text of an event is bounded */
};

static void split_event_describe(const struct split_job *j, char text[200])
{
    if (j->required > 0)
        snprintf(text, 200, "the table needs %u partitions for its warm throughput", j->required);
    else if (j->for_size)
        snprintf(text, 200, "the partition holds %lld bytes", (long long)j->bytes);
    else
        snprintf(text, 200,
                 j->refused
                     ? "the partition is at its maximum, with a demand of %lld %s units a second"
                     : "the partition consumes %lld %s units a second",
                 (long long)(j->rate_mcu / MCU_PER_UNIT), control_kind_name(j->kind));
}

void control_split_event(struct controller *c, const struct table *t, const struct split_job *j,
                         enum event_kind kind, const char *what)
{
    struct decision d = {0};
    char why[200];
    must_in_tests(kind != EVENT_SPLIT ||
                  t->partition_count > j->point_count); /* the catalog has split it */
    split_event_describe(j, why);
    control_event(c, &d, kind, t, j->partition, "%s; %s", why, what);
    control_figures(&d, "partitions",
                    t->partition_count - (kind == EVENT_SPLIT ? j->point_count : 0),
                    t->partition_count);
    control_decide(c, CATALOG_EVENT, &d);
}

/* ---- why not ---- */

/* Why a partition stays whole, in parts of a sentence. */
struct refusal {
    const char *reason;
    const char *advice; /* NULL: no advice */
};

static struct refusal split_event_explain(bool for_size, enum split_verdict v)
{
    switch (v) {
    case SPLIT_REFUSED_POPULAR_KEY:
        return (struct refusal){"for one item", "Spread it over several keys (add a suffix)"};
    case SPLIT_REFUSED_SEQUENTIAL:
        return (struct refusal){"access that only moves forward",
                                "Put a varying prefix before the time or number in the key, or tag "
                                "the table with weir:key-sharding=auto"};
    case SPLIT_REFUSED_COLLECTION:
        return (struct refusal){"in one item collection that must stay whole",
                                for_size ? NULL : "Use more partition keys"};
    default:
        return (struct refusal){for_size ? "in one item" : "where a split would hardly divide it",
                                NULL};
    }
}

/* Whether key sharding helps where no split does (key_sharding.c): then people need not do
 * anything. */
static bool key_sharding_helps(const struct table *t, enum split_verdict v)
{
    uint32_t fixed;
    switch (table_key_sharding_mode(t, &fixed)) {
    case KEY_SHARDING_AUTO:
    case KEY_SHARDING_FIXED:
        return v == SPLIT_REFUSED_SEQUENTIAL;
    case KEY_SHARDING_COUNTER:
        return v == SPLIT_REFUSED_POPULAR_KEY;
    default:
        return false;
    }
}

void control_split_refusal_event(struct controller *c, const struct table *t,
                                 const struct split_job *j, const struct split_advice *a)
{
    must_in_tests(a->verdict != SPLIT_ADVISED);
    struct refusal r = split_event_explain(j->for_size, a->verdict);
    struct buffer what = {0};
    if (key_sharding_helps(t, a->verdict))
        return;
    buffer_append_text(&what, "not split: ");
    if (a->key.size > 0)
        buffer_append_format(&what, "%u %% of ", a->key_share_ppm / (SPLIT_WHOLE_PPM / 100));
    buffer_append_format(&what, "%s is %s", j->for_size ? "it" : "the load", r.reason);
    if (a->key.size > 0) {
        buffer_append_text(&what, ", ");
        key_text_append(&what, t, a->key);
    }
    if (r.advice != NULL)
        buffer_append_format(&what, ". %s", r.advice);
    buffer_append_u8(&what, 0);
    control_split_event(c, t, j, EVENT_SPLIT_REFUSED, (const char *)what.data);
    buffer_deinit(&what);
}

/* ---- where, and what for ---- */

/* Appends the key of a split point. A point within the hash is printed as that part of the hash. */
static void append_split_point(struct buffer *out, const struct table *t, struct slice point)
{
    size_t before = out->size;
    key_text_append(out, t, point);
    if (out->size > before)
        return;
    buffer_append_text(out, "hash ");
    for (size_t i = STORAGE_KEY_TABLE_SIZE; i < point.size; i++)
        buffer_append_format(out, "%02x", point.data[i]);
}

/* Whether the point is the end of the key that is split out. */
static bool ends_key(const struct split_advice *a, struct slice point)
{
    struct buffer end = {0};
    buffer_append_slice(&end, a->key);
    storage_key_successor(&end);
    bool ends = a->key.size > 0 && slice_equal(buffer_slice(&end), point);
    buffer_deinit(&end);
    return ends;
}

/* The text before part `i` of "a, b and c"; `last` is the last part. */
static const char *split_event_joint(uint32_t i, uint32_t last)
{
    if (i == 0)
        return "";
    return i < last ? ", " : " and ";
}

static void append_split_points(struct buffer *out, const struct table *t,
                                const struct split_advice *a)
{
    uint32_t named = MIN(a->point_count, SPLITS_NAMED);
    must(a->point_count >= 1 && a->point_count <= SPLIT_POINTS_MAX);
    buffer_append_text(out, "; split at ");
    for (uint32_t i = 0; i < named; i++) {
        bool ends = ends_key(a, a->points[i]),
             begins = i > 0 && slice_equal(a->points[i - 1], a->key);
        buffer_append_text(out, split_event_joint(i, a->point_count - 1));
        if (ends)
            buffer_append_text(out, begins ? "behind it" : "the end of ");
        if (!ends || !begins)
            append_split_point(out, t, ends ? a->key : a->points[i]);
    }
    if (named < a->point_count)
        buffer_append_format(out, " and %u more", a->point_count - named);
}

static void append_shares(struct buffer *out, const struct split_job *j,
                          const struct split_advice *a)
{
    const uint32_t percent = SPLIT_WHOLE_PPM / 100;
    buffer_append_text(out, ", with ");
    for (uint32_t i = 0; i <= a->point_count; i++)
        buffer_append_format(out, "%s%u", split_event_joint(i, a->point_count),
                             (a->share_ppm[j->kind][i] + percent / 2) / percent);
    buffer_append_format(out, " %% of the %ss", control_kind_name(j->kind));
}

/* The gain is an estimate from the heat, which decays (heat_half_life_ms): soon after a key has
 * turned hot, its neighbours seem to have more of the demand than they have. */
static void append_gain(struct buffer *out, const struct table *t, const struct split_job *j,
                        const struct split_advice *a)
{
    int64_t after = a->served_after_mcu[j->kind], of_key = a->key_served_mcu[j->kind];
    int64_t gain = after - a->served_before_mcu[j->kind];
    if (gain < MCU_PER_UNIT)
        return;
    buffer_append_format(out, "; gains an estimated %lld %s units a second",
                         (long long)(gain / MCU_PER_UNIT), control_kind_name(j->kind));
    if (a->key.size == 0)
        return;
    buffer_append_format(out, ": %lld of ", (long long)(of_key / MCU_PER_UNIT));
    key_text_append(out, t, a->key);
    buffer_append_format(out, " and %lld of its neighbours are served instead of %lld in total",
                         (long long)((after - of_key) / MCU_PER_UNIT),
                         (long long)(a->served_before_mcu[j->kind] / MCU_PER_UNIT));
}

void control_split_describe(const struct table *t, const struct split_job *j,
                            const struct split_advice *a, struct buffer *out)
{
    if (j->for_size)
        return;
    if (a->point_count == 1 && a->share_ppm[j->kind][1] == SPLIT_WHOLE_PPM) {
        buffer_append_text(out, " above the newest key, because access only moves forward");
        return;
    }
    append_shares(out, j, a);
    append_gain(out, t, j, a);
    append_split_points(out, t, a);
}
