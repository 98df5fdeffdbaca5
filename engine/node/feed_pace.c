/* feed_pace.c - see feed_pace.h. */
#include "engine/node/feed_pace.h"

/* The first refusal after a while without one. */
static void pace_begin_window(struct feed_pace *p, struct instant now)
{
    p->begun = now;
    p->done = p->done_before = 0;
    p->has_before = false;
}

static bool pace_is_held(const struct feed_pace *p, struct instant now)
{
    return instant_before(now, p->held_until);
}

static void pace_roll(struct feed_pace *p, struct instant now)
{
    const int64_t windows = instant_since(now, p->begun).ns / p->window_ns;
    if (windows == 0)
        return;
    p->done_before = windows == 1 ? p->done : 0;
    p->done = 0;
    p->has_before = true;
    p->begun = instant_add(p->begun, (struct duration){windows * p->window_ns});
}

void feed_pace_begin(struct feed_pace *p, struct instant now, struct duration window, bool held,
                     uint32_t items)
{
    *p = (struct feed_pace){.window_ns = window.ns, .held_until = now, .loaded = UINT32_MAX};
    pace_begin_window(p, now);
    if (!held)
        return;
    p->held_until = instant_add(now, window);
    p->loaded = items;
}

void feed_pace_refused(struct feed_pace *p, struct instant now)
{
    if (!pace_is_held(p, now)) {
        pace_begin_window(p, now);
        p->loaded = UINT32_MAX;
    }
    p->held_until = instant_add(now, (struct duration){p->window_ns});
}

void feed_pace_done(struct feed_pace *p, struct instant now)
{
    pace_roll(p, now);
    p->done++;
}

struct duration feed_pace_wait(struct feed_pace *p, struct instant now, uint32_t items)
{
    if (!pace_is_held(p, now))
        return (struct duration){0};
    pace_roll(p, now);
    const int64_t span_ns = instant_since(now, p->begun).ns + (p->has_before ? p->window_ns : 0);
    const uint32_t done = p->done + p->done_before;
    if (!p->has_before && span_ns < p->window_ns / 2)
        return (struct duration){items > p->loaded ? INT64_MAX : 0};
    const __int128 ns = (__int128)span_ns * items / (done > 0 ? done : 1);
    return (struct duration){ns < INT64_MAX ? (int64_t)ns : INT64_MAX};
}
