/* watch.c - how loads went lately.
 *
 * Reports and looks have about the same period, so that a look may see two reports or none: rates
 * are taken over several looks only. Of a partition that nobody uses one sample tells them all, of
 * one that was never used none: they would differ in their time alone, so they are made up once
 * something is asked of it. */
#include <stdlib.h>

#include "base/must.h"
#include "control/controller_internal.h"

enum {
    NODE_RATE_MS = 5000
};

void control_forget(struct controller *c)
{
    for (uint32_t i = 0; i < c->watched_size; i++) {
        if (c->watched[i] != NULL)
            free(c->watched[i]->samples);
        free(c->watched[i]);
    }
    free(c->watched);
    c->watched = NULL;
    c->watched_size = 0;
}

struct watched *control_watched(const struct controller *c, uint32_t partition)
{
    return partition < c->watched_size ? c->watched[partition] : NULL;
}

static struct watched *find_or_add(struct controller *c, uint32_t partition)
{
    if (partition >= c->watched_size) {
        uint32_t size = c->view->loads->partitions_size;
        c->watched = realloc(c->watched, size * sizeof c->watched[0]);
        must(c->watched != NULL && partition < size);
        memset(c->watched + c->watched_size, 0, (size - c->watched_size) * sizeof c->watched[0]);
        c->watched_size = size;
    }
    if (c->watched[partition] == NULL) {
        struct watched *w = calloc(1, sizeof *w);
        must(w != NULL);
        w->throttled_since[ADMIT_READ] = w->throttled_since[ADMIT_WRITE] = INSTANT_NEVER;
        w->capped_since[ADMIT_READ] = w->capped_since[ADMIT_WRITE] = INSTANT_NEVER;
        c->watched[partition] = w;
    }
    return c->watched[partition];
}

static struct sample *sample_at(const struct watched *w, uint64_t back)
{
    return &w->samples[(w->seen - 1 - back) % w->room];
}

static bool differ(const struct sample *s, const struct load_total totals[ADMIT_KINDS])
{
    return memcmp(s->totals, totals, sizeof s->totals) != 0;
}

/* Keeps the last sample, and makes up those before it. */
static void set_room(const struct controller *c, struct watched *w, uint32_t room)
{
    struct sample last = {.at.ns = c->now.ns - c->config->control_ms * NS_PER_MS};
    if (w->room > 0)
        last = *sample_at(w, 0);
    free(w->samples);
    w->samples = calloc(room, sizeof *w->samples);
    must(w->samples != NULL);
    w->room = room;
    for (uint32_t back = 0; back < room && back < w->seen; back++) {
        struct sample *s = sample_at(w, back);
        *s = last;
        s->at.ns -= back * c->config->control_ms * NS_PER_MS;
    }
}

static void add_sample(const struct controller *c, struct watched *w,
                       const struct load_total totals[ADMIT_KINDS])
{
    static const struct sample unused;
    if (w->room < SAMPLES && differ(w->room == 0 ? &unused : sample_at(w, 0), totals))
        set_room(c, w, SAMPLES);
    w->seen++;
    if (w->room == 0)
        return;
    struct sample *s = sample_at(w, 0);
    s->at = c->now;
    memcpy(s->totals, totals, sizeof s->totals);
    if (w->room == SAMPLES && w->seen >= SAMPLES && !differ(sample_at(w, SAMPLES - 1), totals))
        set_room(c, w, 1);
}

struct rates control_rates(const struct controller *c, const struct watched *w,
                           enum admit_kind kind, int64_t ms)
{
    struct rates r = {0};
    if (w == NULL || w->room < SAMPLES || w->seen < 2)
        return r;
    uint64_t back = 0, most = (w->seen < SAMPLES ? w->seen : SAMPLES) - 1;
    while (back < most && instant_since(c->now, sample_at(w, back)->at).ns < ms * NS_PER_MS)
        back++;
    const struct sample *old = sample_at(w, back), *last = sample_at(w, 0);
    int64_t took_ms = instant_since(last->at, old->at).ns / NS_PER_MS;
    if (took_ms <= 0 || took_ms < ms / 2)
        return r;
    const struct load_total *from = &old->totals[kind], *to = &last->totals[kind];
    r.consumed_mcu = (to->consumed_mcu - from->consumed_mcu) * 1000 / took_ms;
    r.refused_mcu = (to->refused_mcu - from->refused_mcu) * 1000 / took_ms;
    for (int reason = 0; reason < ADMIT_REASONS; reason++)
        r.refused[reason] = to->refused[reason] - from->refused[reason];
    return r;
}

static void keep_since(struct instant *since, struct instant now, bool still)
{
    *since = still ? instant_earlier(*since, now) : INSTANT_NEVER;
}

static void watch_partition(struct controller *c, uint32_t partition,
                            const struct partition_load *p)
{
    enum {
        CALM_MS = 2000 /* without a refusal for so long, it is not throttled any more */
    };
    struct watched *w = find_or_add(c, partition);
    w->table_id = p->table_id;
    add_sample(c, w, loads_totals(p));
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        struct rates r = control_rates(c, w, (enum admit_kind)kind, CALM_MS);
        /* A larger allocation passes where a member has no headroom for bursts, too. */
        keep_since(&w->throttled_since[kind], c->now,
                   r.refused[ADMIT_REFUSED_ALLOCATION] + r.refused[ADMIT_REFUSED_MEMBER] > 0);
        keep_since(&w->capped_since[kind], c->now, r.refused[ADMIT_REFUSED_KEY_RANGE] > 0);
    }
}

static void watch_node(struct controller *c, uint32_t node)
{
    struct watched_node *w = &c->nodes[node];
    w->silent_since =
        c->view->reachable[node] ? INSTANT_NEVER : instant_earlier(w->silent_since, c->now);
    int64_t took_ms = instant_since(c->now, w->sampled_at).ns / NS_PER_MS;
    if (took_ms < NODE_RATE_MS)
        return;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        int64_t total = c->view->loads->nodes[node].totals_mcu[kind];
        w->rate_mcu[kind] = (total - w->sampled_mcu[kind]) * 1000 / took_ms;
        w->sampled_mcu[kind] = total;
    }
    w->sampled_at = c->now;
}

void control_watch(struct controller *c)
{
    for (uint32_t i = 0; i < c->view->loads->partitions_size; i++) {
        if (c->view->loads->partitions[i] != NULL)
            watch_partition(c, i, c->view->loads->partitions[i]);
    }
    for (uint32_t node = 1; node <= c->view->node_count; node++)
        watch_node(c, node);
}
