/* load_history.c - the recent load of each partition.
 *
 * The time of a sample is the time at which its report was heard. So a rate uses the true time
 * between two reports. Reports and evaluations have about the same period: an evaluation may see
 * two reports or none. Samples are at least SPACING_MS apart. Together they cover the longest
 * window that a setting allows.
 *
 * A partition with another range (epoch) is a new partition: all samples are dropped. An idle
 * partition keeps one sample, and a partition that was never used keeps none: the samples would
 * differ only in time. The missing samples are made up once a request comes. */
#include <stdlib.h>

#include "base/settings/adaptive.h"
#include "base/settings/control.h"
#include "base/settings/reports.h"
#include "control/controller_internal.h"

enum {
    SPACING_MS = 430,
    WINDOW_MAX_MS = 15000 /* as base/settings/ has it */
};
_Static_assert((SAMPLES - 1) * SPACING_MS >= WINDOW_MAX_MS, "a window ends among the samples");

static void history_free(struct partition_history *w)
{
    free(w->samples);
    free(w);
}

void control_history_deinit(struct controller *c)
{
    size_t at = 0;
    for (struct partition_history *w; (w = id_map_next(&c->histories, &at)) != NULL;)
        history_free(w);
    id_map_deinit(&c->histories);
}

struct partition_history *control_history(const struct controller *c, uint32_t partition)
{
    return id_map_find(&c->histories, partition + UINT64_C(1));
}

static struct partition_history *history_find_or_add(struct controller *c, uint32_t partition)
{
    struct partition_history *w = control_history(c, partition);
    if (w == NULL) {
        w = must_calloc(1, sizeof *w);
        w->throttled_since[ADMIT_READ] = w->throttled_since[ADMIT_WRITE] = INSTANT_NEVER;
        w->created_at = c->now;
        id_map_add(&c->histories, partition + UINT64_C(1), w);
    }
    return w;
}

static struct sample *sample_at(const struct partition_history *w, uint64_t back)
{
    must(back < w->room && back < w->seen);
    return &w->samples[(w->seen - 1 - back) % w->room];
}

/* Unchanged figures are not reported: they hold as of now. */
static struct instant as_of(const struct controller *c, const struct partition_load *l)
{
    struct instant due =
        instant_add_ms(l->reported_at, 2 * config_reports(c->config)->load_report_ms);
    return instant_before(c->now, due) ? l->reported_at : c->now;
}

static bool watch_differ(const struct sample *a, const struct sample *b)
{
    return memcmp(a->totals, b->totals, sizeof a->totals) != 0;
}

static struct sample history_sample(const struct controller *c, const struct partition_history *w)
{
    struct sample s = {.at = as_of(c, w->load)};
    const struct load_total *totals = cluster_loads_totals(w->load);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        const struct load_total *t = &totals[kind];
        s.totals[kind] =
            (struct sampled_total){.consumed_mcu = t->consumed_mcu,
                                   .refused_mcu = t->refused_mcu,
                                   .refused_cap = t->refused[ADMIT_REFUSED_KEY_RANGE],
                                   .refused_burst = t->refused[ADMIT_REFUSED_ALLOCATION] +
                                                    t->refused[ADMIT_REFUSED_MEMBER]};
    }
    return s;
}

/* Keeps the last sample, and makes up the samples before it. */
static void history_set_room(const struct controller *c, struct partition_history *w, uint32_t room)
{
    must_in_tests(room == 1 || room == SAMPLES);
    struct sample last = {.at.ns = c->now.ns - SPACING_MS * NS_PER_MS};
    if (w->room > 0)
        last = *sample_at(w, 0);
    free(w->samples);
    w->samples = must_calloc(room, sizeof *w->samples);
    w->room = room;
    for (uint32_t back = 0; back < room && back < w->seen; back++) {
        struct sample *s = sample_at(w, back);
        *s = last;
        s->at.ns -= back * SPACING_MS * NS_PER_MS;
    }
}

static void history_add_sample(const struct controller *c, struct partition_history *w)
{
    static const struct sample unused;
    const struct sample present = history_sample(c, w);
    if (w->room < SAMPLES && watch_differ(w->room == 0 ? &unused : sample_at(w, 0), &present))
        history_set_room(c, w, SAMPLES);
    else if (w->seen > 0 && instant_before(c->now, instant_add_ms(w->sampled_at, SPACING_MS)))
        return;
    w->seen++;
    w->sampled_at = c->now;
    if (w->room == 0)
        return;
    *sample_at(w, 0) = present;
    if (w->room == SAMPLES && w->seen >= SAMPLES &&
        !watch_differ(sample_at(w, SAMPLES - 1), &present))
        history_set_room(c, w, 1);
}

/* The interpolated total at `at`, between two samples. */
static int64_t watch_between(struct instant at, const struct sample *old, int64_t from,
                             const struct sample *next, int64_t to)
{
    int64_t all_ns = next->at.ns - old->at.ns, part_ns = at.ns - old->at.ns;
    must_in_tests(part_ns >= 0); /* and <= all_ns, unless both samples are of one time */
    return all_ns <= 0 ? from : from + (int64_t)((__int128)(to - from) * part_ns / all_ns);
}

struct rates control_rates(const struct controller *c, const struct partition_history *w,
                           enum admit_kind kind, int64_t ms)
{
    struct rates r = {0};
    if (w == NULL || w->load == NULL || w->room < SAMPLES)
        return r;
    const struct sample present = history_sample(c, w);
    const struct sampled_total *to = &present.totals[kind];
    const struct sample *next = &present;
    struct instant now = next->at, start = {now.ns - ms * NS_PER_MS};
    uint64_t back = 0, max = MIN(w->seen, SAMPLES) - 1;
    for (; back < max && instant_before(start, sample_at(w, back)->at); back++)
        next = sample_at(w, back);
    const struct sample *old = sample_at(w, back);
    if (instant_before(start, old->at))
        start = old->at; /* the oldest sample is later */
    int64_t took_ms = (now.ns - start.ns) / NS_PER_MS;
    if (took_ms <= 0 || took_ms < ms / 2)
        return r;
    const struct sampled_total *from = &old->totals[kind], *then = &next->totals[kind];
    r.known = true;
    r.consumed_mcu = (to->consumed_mcu -
                      watch_between(start, old, from->consumed_mcu, next, then->consumed_mcu)) *
                     1000 / took_ms;
    r.refused_mcu =
        (to->refused_mcu - watch_between(start, old, from->refused_mcu, next, then->refused_mcu)) *
        1000 / took_ms;
    r.refused_cap = to->refused_cap - from->refused_cap;
    r.refused_burst = to->refused_burst - from->refused_burst;
    return r;
}

/* The partition has another range. */
static void history_reset(const struct controller *c, struct partition_history *w)
{
    free(w->samples);
    w->samples = NULL;
    w->room = 0;
    w->seen = 0;
    w->epoch = w->load->epoch;
    must_in_tests(!instant_before(c->now, w->created_at)); /* PIECE-1 */
    w->created_at = c->now;
    w->above_epoch = 0;
    w->throttled_since[ADMIT_READ] = w->throttled_since[ADMIT_WRITE] = INSTANT_NEVER;
}

static void keep_since(struct instant *since, struct instant now, bool still)
{
    *since = still ? instant_earlier(*since, now) : INSTANT_NEVER;
}

static void watch_partition(struct controller *c, uint32_t partition,
                            const struct partition_load *p)
{
    struct partition_history *w = history_find_or_add(c, partition);
    w->table_id = p->table_id;
    w->load = p;
    w->reported_in = c->evaluations;
    if (w->epoch != p->epoch)
        history_reset(c, w);
    history_add_sample(c, w);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        struct rates r = control_rates(c, w, (enum admit_kind)kind,
                                       config_adaptive(c->config)->adaptive_calm_ms);
        /* Refusals by a member count too: a larger allocation passes without headroom for
         * bursts. */
        keep_since(&w->throttled_since[kind], c->now, r.refused_burst > 0);
    }
}

static void watch_node(struct controller *c, uint32_t node)
{
    struct node_history *w = &c->nodes[node];
    w->unresponsive_since =
        c->view->reachable[node] ? INSTANT_NEVER : instant_earlier(w->unresponsive_since, c->now);
    int64_t took_ms = instant_since(c->now, w->sampled_at).ns / NS_PER_MS;
    if (took_ms < config_control(c->config)->balance_window_ms)
        return;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t total = c->view->loads->nodes[node].totals_mcu[kind];
        __int128 rate = ((__int128)total - w->sampled_mcu[kind]) * 1000 / took_ms;
        w->rate_mcu[kind] = rate > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)rate;
        w->sampled_mcu[kind] = total;
    }
    w->sampled_at = c->now;
}

/* The partition is gone, and its load with it. */
static bool history_is_over(void *context, void *value)
{
    const struct controller *c = context;
    struct partition_history *w = value;
    const bool over = w->reported_in != c->evaluations;
    if (over)
        history_free(w);
    return over;
}

void control_history_update(struct controller *c)
{
    size_t at = 0;
    c->evaluations++;
    for (const struct partition_load *l;
         (l = id_map_next(&c->view->loads->partitions, &at)) != NULL;) {
        watch_partition(c, l->partition, l);
    }
    if (c->histories.count > c->view->loads->partitions.count)
        id_map_remove_if(&c->histories, history_is_over, c);
    must(c->histories.count == c->view->loads->partitions.count);
    for (uint32_t node = 1; node <= c->view->node_count; node++)
        watch_node(c, node);
}
