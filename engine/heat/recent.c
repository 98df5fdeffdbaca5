/* recent.c - a few counters; recent.h tells what they promise. */
#include "engine/heat/recent.h"

#include "engine/admission/admission.h"

/* ---- counters ---- */

static void recent_lower(struct recent_stretch *s, int64_t mcu)
{
    for (uint32_t i = 0; i < RECENT_KEYS; i++)
        s->keys[i].mcu -= mcu;
    s->lost_mcu += mcu;
}

static void recent_count(struct recent_stretch *s, uint64_t hash, int64_t mcu)
{
    struct recent_key *least = &s->keys[0];
    s->sum_mcu += mcu;
    for (uint32_t i = 0; i < RECENT_KEYS; i++) {
        struct recent_key *k = &s->keys[i];
        if (k->hash == hash && k->mcu > 0) {
            k->mcu += mcu;
            return;
        }
        least = k->mcu < least->mcu ? k : least;
    }
    const int64_t lower = mcu < least->mcu ? mcu : least->mcu;
    if (lower > 0)
        recent_lower(s, lower);
    if (mcu > lower)
        *least = (struct recent_key){hash, mcu - lower};
}

static int64_t recent_counted(const struct recent_stretch *s, uint64_t hash)
{
    for (uint32_t i = 0; i < RECENT_KEYS; i++) {
        if (s->keys[i].hash == hash && s->keys[i].mcu > 0)
            return s->keys[i].mcu;
    }
    return 0;
}

/* ---- time ---- */

static void recent_begin(struct recent *r, struct instant now)
{
    r->from = now;
    r->has_last = false;
    r->now = r->last = (struct recent_stretch){0};
}

/* More than a sum is by chance: four times the root of its units. */
static int64_t recent_step(int64_t sum_mcu)
{
    const int64_t units = sum_mcu / MCU_PER_UNIT;
    int64_t root = 4;
    while (root * root < 16 * units)
        root++;
    return sum_mcu + root * MCU_PER_UNIT;
}

static void recent_turn(struct recent *r, struct instant now, int64_t stretch_ns)
{
    const int64_t gone_ns = instant_since(now, r->from).ns;
    if (gone_ns < stretch_ns)
        return;
    if (r->from.ns == 0 || gone_ns >= 2 * stretch_ns) {
        recent_begin(r, now);
        return;
    }
    r->from.ns += stretch_ns;
    r->has_last = true;
    r->last = r->now;
    r->now = (struct recent_stretch){0};
    r->step_mcu = recent_step(r->last.sum_mcu);
}

void recent_add(struct recent *r, struct instant now, int64_t stretch_ns, uint64_t hash,
                int64_t mcu)
{
    recent_turn(r, now, stretch_ns);
    if (r->has_last && r->now.sum_mcu + mcu > r->step_mcu)
        recent_begin(r, now);
    recent_count(&r->now, hash, mcu);
}

int64_t recent_took_ns(struct recent *r, struct instant now, int64_t stretch_ns)
{
    recent_turn(r, now, stretch_ns);
    return instant_since(now, r->from).ns + (r->has_last ? stretch_ns : 0);
}

/* ---- looking ---- */

int64_t recent_sum(const struct recent *r)
{
    return r->now.sum_mcu + r->last.sum_mcu;
}

int64_t recent_least(const struct recent *r, uint64_t hash)
{
    return recent_counted(&r->now, hash) + recent_counted(&r->last, hash);
}

int64_t recent_most(const struct recent *r, uint64_t hash)
{
    return recent_least(r, hash) + r->now.lost_mcu + r->last.lost_mcu;
}
