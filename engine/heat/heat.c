/* heat.c - two sketches, exact sums beside them, and counters of the last seconds' keys.
 *
 * Invariants
 *   METER-1  A meter without a sketch has no weight and no samples.
 *   METER-2  Sums decay with the sketches, at the same instants.
 *   METER-3  covered_ns is the decayed length of the time that the sums cover: sum / covered is a
 *            rate.
 *
 * Decay goes in steps: once per half-life everything is halved. After a long time with a steady
 * rate r the sum is r times one to two half-lives; covered_ns is this time. */
#include "engine/heat/heat.h"

#include <stdlib.h>

#include "base/big_endian.h"
#include "base/settings/heat.h"
#include "engine/admission/capacity.h"
#include "engine/heat/recent.h"
#include "engine/item/storage_key.h"

struct heat_meter {
    struct sketch *sketch; /* owns; NULL: nothing was asked for */
    int64_t total_mcu;     /* decayed; exact, except for the rounding of halves */
    int64_t samples;       /* decayed */
    struct recent recent;
};

struct heat_state {
    struct heat_meter meters[ADMIT_KINDS];
    struct instant started_at; /* of the current step */
    int64_t covered_ns;        /* decayed, up to started_at */
    struct instant slot_at;    /* start of the current stretch of recent_ms */
    int64_t slot_mcu[ADMIT_KINDS];
    int64_t last_slot_mcu[ADMIT_KINDS];
    bool has_last; /* last_slot_mcu covers a whole stretch */
};
_Static_assert(sizeof(struct heat_state) <= 1024, "HEAT_MEMORY_MAX"); /* HEAT-2 */

static inline void heat_check(const struct heat *h, const struct heat_meter *m)
{
    must_in_tests(m->sketch != NULL || m->total_mcu == 0); /* METER-1 */
    must_in_tests(m->sketch != NULL || m->samples == 0);
    must_in_tests(m->total_mcu >= 0);
    must_in_tests(m->samples >= 0);
    must_in_tests(h->state->covered_ns >= 0);
    must_in_tests(h->state->covered_ns <= h->half_life_ms * NS_PER_MS); /* METER-3 */
}

/* The least cost of a request: whole units are not sampled until there are too many. */
static const int64_t unit_mcu[ADMIT_KINDS] = {[ADMIT_READ] = 500, [ADMIT_WRITE] = 1000};

static uint32_t shared_size(struct slice lo, struct slice hi)
{
    uint32_t size = 0;
    if (hi.size == 0)
        return 0;
    while (size < lo.size && size < hi.size && lo.data[size] == hi.data[size])
        size++;
    return size;
}

void heat_init(struct heat *h, struct slice lo, struct slice hi, uint64_t seed,
               const struct config *config)
{
    *h = (struct heat){.seed = seed,
                       .shared = shared_size(lo, hi),
                       .half_life_ms = (uint32_t)config_heat(config)->heat_half_life_ms,
                       .recent_ms = (uint32_t)config_heat(config)->heat_recent_ms};
    must(heat_is_init(h));
    must(h->recent_ms > 0);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++)
        h->start_mcu[kind] =
            partition_max_mcu(config, kind) * config_heat(config)->heat_start_percent / 100;
}

static void heat_drop(struct heat *h)
{
    for (int kind = 0; h->state != NULL && kind < ADMIT_KINDS; kind++)
        free(h->state->meters[kind].sketch);
    free(h->state);
    h->state = NULL;
}

void heat_deinit(struct heat *h)
{
    heat_drop(h);
    *h = (struct heat){0};
}

/* ---- decay ---- */

static void meter_decay(struct heat_meter *m)
{
    if (m->sketch == NULL)
        return;
    m->total_mcu /= 2;
    m->samples /= 2;
    if (m->samples > 0) {
        sketch_decay(m->sketch);
        return;
    }
    free(m->sketch);
    *m = (struct heat_meter){0};
}

static void heat_decay(struct heat_state *s, struct instant now, int64_t half_life_ns)
{
    enum {
        STEPS_MAX = 64 /* nothing is left after this many */
    };
    int64_t steps = instant_since(now, s->started_at).ns / half_life_ns;
    s->started_at.ns += steps * half_life_ns;
    for (int64_t i = 0; i < steps && i < STEPS_MAX; i++) {
        s->covered_ns = (s->covered_ns + half_life_ns) / 2;
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            meter_decay(&s->meters[kind]);
    }
    must(!instant_before(now, s->started_at));
    if (s->meters[ADMIT_READ].sketch == NULL && s->meters[ADMIT_WRITE].sketch == NULL)
        /* The time without heat must not count in the rate that follows. */
        *s = (struct heat_state){.started_at = now, .slot_at = now};
}

/* The state as of now. NULL: there is no heat. */
static struct heat_state *state_at(struct heat *h, struct instant now)
{
    struct heat_state *s = h->state;
    if (s == NULL)
        return NULL;
    must(!instant_before(now, s->started_at));
    if (instant_since(now, s->started_at).ns >= h->half_life_ms * NS_PER_MS)
        heat_decay(s, now, h->half_life_ms * NS_PER_MS);
    return s;
}

bool heat_cool(struct heat *h, struct instant now)
{
    const struct heat_state *s = state_at(h, now);
    if (s == NULL)
        return false;
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        if (s->meters[kind].sketch != NULL)
            return true;
    heat_drop(h);
    return false;
}

/* ---- adding ---- */

static struct heat_state *state_new(struct instant now)
{
    struct heat_state *s = must_have(malloc(sizeof *s));
    *s = (struct heat_state){.started_at = now, .slot_at = now};
    return s;
}

static void turn_slot(struct heat_state *s, struct instant now, int64_t slot_ns)
{
    must(!instant_before(now, s->slot_at));
    int64_t gone_ns = instant_since(now, s->slot_at).ns;
    if (gone_ns < slot_ns)
        return;
    bool next = gone_ns < 2 * slot_ns;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        s->last_slot_mcu[kind] = next ? s->slot_mcu[kind] : 0;
        s->slot_mcu[kind] = 0;
    }
    s->has_last = true;
    s->slot_at = next ? (struct instant){s->slot_at.ns + slot_ns} : now;
}

/* Whether enough was asked for to begin with a sketch. */
static bool heat_starts(struct heat *h, struct instant now, enum admit_kind kind, int64_t cost_mcu)
{
    if (instant_since(now, h->cold_at).ns >= NS_PER_S) {
        h->cold_at = now;
        memset(h->cold_mcu, 0, sizeof h->cold_mcu);
    }
    h->cold_mcu[kind] += cost_mcu;
    return h->cold_mcu[kind] > h->start_mcu[kind];
}

void heat_add(struct heat *h, struct instant now, enum admit_kind kind, struct slice key,
              int64_t cost_mcu)
{
    must(heat_is_init(h));
    must(kind < ADMIT_KINDS);
    struct heat_state *s = state_at(h, now);
    must(key.size >= h->shared);
    must(cost_mcu > 0);
    if ((s == NULL || s->meters[kind].sketch == NULL) && !heat_starts(h, now, kind, cost_mcu))
        return;
    if (s == NULL)
        s = h->state = state_new(now);
    struct heat_meter *m = &s->meters[kind];
    if (m->sketch == NULL) {
        m->sketch = must_have(malloc(sizeof *m->sketch));
        sketch_init(m->sketch, unit_mcu[kind], h->seed * ADMIT_KINDS + (uint64_t)kind);
    }
    turn_slot(s, now, h->recent_ms * NS_PER_MS);
    s->slot_mcu[kind] += cost_mcu;
    m->total_mcu += cost_mcu;
    if (key.size >= STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE)
        recent_add(&m->recent, now, h->recent_ms * NS_PER_MS,
                   be64_get(key.data + STORAGE_KEY_TABLE_SIZE), cost_mcu);
    key = slice_make(key.data + h->shared, key.size - h->shared);
    m->samples += sketch_add(m->sketch, key, cost_mcu);
    heat_check(h, m);
}

/* ---- looking ---- */

int64_t heat_rate(struct heat *h, struct instant now, enum admit_kind kind)
{
    const struct heat_state *s = state_at(h, now);
    if (s == NULL)
        return 0;
    int64_t covered_ns = s->covered_ns + instant_since(now, s->started_at).ns;
    covered_ns = MAX(covered_ns, NS_PER_S);
    return (int64_t)((__int128)s->meters[kind].total_mcu * NS_PER_S / covered_ns);
}

/* The difference from its mean that a sum of random single units has by chance: up to three times
 * the root of their number. */
static int64_t chance_mcu(int64_t sum_mcu)
{
    must(sum_mcu >= 0);
    int64_t units = sum_mcu / MCU_PER_UNIT, root = 1;
    while (root * root < 9 * units)
        root++;
    return root * MCU_PER_UNIT;
}

int64_t heat_rate_now(struct heat *h, struct instant now, enum admit_kind kind)
{
    int64_t mean = heat_rate(h, now, kind);
    struct heat_state *s = h->state;
    if (s == NULL)
        return mean;
    const int64_t slot_ns = h->recent_ms * NS_PER_MS;
    turn_slot(s, now, slot_ns);
    int64_t took_ns = instant_since(now, s->slot_at).ns + (s->has_last ? slot_ns : 0);
    int64_t sum = s->slot_mcu[kind] + (s->has_last ? s->last_slot_mcu[kind] : 0);
    took_ns = MAX(took_ns, slot_ns);
    int64_t expected = (int64_t)((__int128)mean * took_ns / NS_PER_S);
    int64_t difference = sum > expected ? sum - expected : expected - sum;
    int64_t recent = (int64_t)((__int128)sum * NS_PER_S / took_ns);
    bool by_chance = difference <= chance_mcu(sum > expected ? sum : expected);
    return by_chance && mean < recent ? mean : recent;
}

int64_t heat_key_rate(struct heat *h, struct instant now, enum admit_kind kind, uint64_t hash,
                      int64_t mcu)
{
    struct heat_state *s = state_at(h, now);
    const int64_t stretch_ns = h->recent_ms * NS_PER_MS;
    if (s == NULL || s->meters[kind].sketch == NULL)
        return 0;
    struct recent *r = &s->meters[kind].recent;
    const int64_t took_ns = recent_took_ns(r, now, stretch_ns);
    if (took_ns < stretch_ns)
        return 0;
    int64_t part = (int64_t)((__int128)mcu * took_ns / NS_PER_S);
    const int64_t least = recent_min(r, hash), most = recent_max(r, hash);
    if (least - part > chance_mcu(least))
        part = least;
    else if (part - most > chance_mcu(part))
        part = most;
    return (int64_t)((__int128)part * NS_PER_S / took_ns);
}

int64_t heat_samples(struct heat *h, struct instant now, enum admit_kind kind)
{
    const struct heat_state *s = state_at(h, now);
    return s == NULL ? 0 : s->meters[kind].samples;
}

int64_t heat_error(struct heat *h, struct instant now, enum admit_kind kind)
{
    int64_t rate = heat_rate_now(h, now, kind);
    if (h->state == NULL || h->state->meters[kind].total_mcu == 0)
        return 0;
    const struct heat_meter *m = &h->state->meters[kind];
    return (int64_t)((__int128)sketch_error(m->sketch) * rate / m->total_mcu);
}

bool heat_is_recently(struct heat *h, struct instant now, enum admit_kind kind, int64_t mcu)
{
    struct heat_state *s = state_at(h, now);
    const int64_t stretch_ns = h->recent_ms * NS_PER_MS;
    if (s == NULL || s->meters[kind].sketch == NULL)
        return false;
    struct recent *r = &s->meters[kind].recent;
    const int64_t took_ns = recent_took_ns(r, now, stretch_ns);
    return took_ns >= stretch_ns && (__int128)recent_sum(r) * NS_PER_S >= (__int128)mcu * took_ns;
}

uint32_t heat_items(struct heat *h, struct instant now, enum admit_kind kind,
                    struct sketch_item *out)
{
    const struct heat_state *s = state_at(h, now);
    return s == NULL || s->meters[kind].sketch == NULL ? 0
                                                       : sketch_items(s->meters[kind].sketch, out);
}

enum sketch_direction heat_direction(const struct heat *h, enum admit_kind kind)
{
    if (h->state == NULL || h->state->meters[kind].sketch == NULL)
        return SKETCH_UNKNOWN;
    return sketch_direction(h->state->meters[kind].sketch);
}

size_t heat_memory(const struct heat *h)
{
    if (h->state == NULL)
        return 0;
    size_t size = sizeof *h->state;
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        size += h->state->meters[kind].sketch == NULL ? 0 : sizeof(struct sketch);
    return size;
}

static int by_key(const void *a, const void *b)
{
    return slice_compare(((const struct heat_point *)a)->key, ((const struct heat_point *)b)->key);
}

/* Unites equal neighbours. */
static uint32_t heat_unite(struct heat_point *points, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || !slice_equal(points[kept - 1].key, points[i].key)) {
            points[kept++] = points[i];
            continue;
        }
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            points[kept - 1].mcu[kind] += points[i].mcu[kind];
    }
    return kept;
}

uint32_t heat_points(struct heat *h, struct instant now, struct arena *arena,
                     struct heat_point **out)
{
    const struct heat_state *s = state_at(h, now);
    struct sketch_item *items = arena_alloc(arena, SKETCH_ENTRIES * sizeof *items);
    struct heat_point *points = arena_alloc(arena, HEAT_POINTS_MAX * sizeof *points);
    uint32_t count = 0;
    for (int kind = 0; s != NULL && kind < ADMIT_KINDS; kind++) {
        const struct heat_meter *m = &s->meters[kind];
        uint32_t found = m->sketch == NULL ? 0 : sketch_items(m->sketch, items);
        for (uint32_t i = 0; i < found; i++) {
            must(count < HEAT_POINTS_MAX);
            points[count] = (struct heat_point){.key = items[i].key};
            points[count++].mcu[kind] = items[i].mcu;
        }
    }
    qsort(points, count, sizeof *points, by_key);
    *out = points;
    return heat_unite(points, count);
}
