/* recent.c - a few counters; recent.h tells what they guarantee. */
#include "engine/heat/recent.h"

#include "base/must.h"
#include "engine/admission/admission.h"

/* ---- counters ---- */

static int64_t recent_counted_all(const struct recent_stretch *s)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < RECENT_KEYS; i++)
        sum += s->above[i] > s->lost_mcu ? s->above[i] - s->lost_mcu : 0;
    return sum;
}

static inline void recent_check(const struct recent_stretch *s)
{
    must_in_tests(s->lost_mcu >= 0);
    must_in_tests((RECENT_KEYS + 1) * s->lost_mcu <= s->sum_mcu); /* RECENT-2 */
    /* What is lost of a key was lost of RECENT_KEYS others at the same time: RECENT-1 */
    must_in_tests(recent_counted_all(s) + (RECENT_KEYS + 1) * s->lost_mcu == s->sum_mcu);
}

static uint32_t recent_find(const struct recent_stretch *s, uint64_t hash)
{
    uint32_t at = 0;
    while (at < RECENT_KEYS && s->hashes[at] != hash)
        at++;
    return at;
}

static void recent_count(struct recent_stretch *s, uint64_t hash, int64_t mcu)
{
    uint32_t at = recent_find(s, hash);
    s->sum_mcu += mcu;
    if (at == RECENT_KEYS) { /* takes the place of the least, if more is left than that has */
        at = 0;
        for (uint32_t i = 1; i < RECENT_KEYS; i++)
            at = s->above[i] < s->above[at] ? i : at;
        const int64_t least = s->above[at] - s->lost_mcu;
        const int64_t lower = least <= 0 ? 0 : mcu < least ? mcu : least;
        s->lost_mcu += lower;
        if (mcu == lower)
            return;
        s->hashes[at] = hash;
        mcu -= lower;
    }
    s->above[at] = (s->above[at] > s->lost_mcu ? s->above[at] : s->lost_mcu) + mcu;
}

static int64_t recent_counted(const struct recent_stretch *s, uint64_t hash)
{
    const uint32_t at = recent_find(s, hash);
    return at < RECENT_KEYS && s->above[at] > s->lost_mcu ? s->above[at] - s->lost_mcu : 0;
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
    must(stretch_ns > 0);
    must(!instant_before(now, r->from));
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
    must(mcu > 0);
    recent_turn(r, now, stretch_ns);
    if (r->has_last && r->now.sum_mcu + mcu > r->step_mcu)
        recent_begin(r, now);
    recent_count(&r->now, hash, mcu);
    recent_check(&r->now);
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

int64_t recent_min(const struct recent *r, uint64_t hash)
{
    return recent_counted(&r->now, hash) + recent_counted(&r->last, hash);
}

int64_t recent_max(const struct recent *r, uint64_t hash)
{
    return recent_min(r, hash) + r->now.lost_mcu + r->last.lost_mcu;
}
