/* index_feed_pace.c - how many changes of a feed may wait for an index that holds the feed up. */
#include "engine/node/index/index_feed_pace.h"

enum {
    STEP_PART = 6,    /* of what a window has done: so much the room moves in a window */
    AWAY_PART = 8,    /* of a window; an index that answers nothing for longer is away */
    BEYOND_PART = 2,  /* of the room at the rate: it is never larger by more */
    RATE_FIRST = 5,   /* a second until it is known, or as told: an index may be late for once */
    FEW = 3,          /* changes may wait until it is known */
    DONE_SURE = 4,    /* changes tell a rate, */
    KEPT_WINDOWS = 8, /* without a refusal a rate is kept for so long */
    COUNT_MAX = INT32_MAX,
};

/* What is done in a time, if so much is done in a span. */
static uint32_t pace_at_rate(uint32_t done, int64_t span_ns, int64_t time_ns)
{
    const __int128 max = (__int128)done * time_ns / span_ns;
    return max < COUNT_MAX ? (uint32_t)max : COUNT_MAX;
}

static uint32_t pace_room_of(const struct index_feed_pace *p, uint32_t done, int64_t span_ns)
{
    const uint32_t room = pace_at_rate(done, span_ns, p->wait_ns);
    return room > 0 ? room : 1;
}

static uint32_t pace_room_max(const struct index_feed_pace *p)
{
    return p->target + p->target / BEYOND_PART;
}

/* In the first window: by what was done since its begin, or in a moment. */
static uint32_t pace_first_room(const struct index_feed_pace *p, struct instant now)
{
    const int64_t span_ns = instant_since(now, p->begun).ns, ns_min = p->window_ns / AWAY_PART;
    const uint32_t room = pace_room_of(p, p->done, span_ns > ns_min ? span_ns : ns_min);
    return p->done >= DONE_SURE && room > p->room ? room : p->room;
}

/* Towards what is wanted. */
static uint32_t pace_step(const struct index_feed_pace *p)
{
    const uint32_t step = p->done < STEP_PART ? 1 : p->done / STEP_PART;
    if (p->target > p->room)
        return p->target - p->room < step ? p->target : p->room + step;
    const uint32_t less = p->room - p->target < step ? p->target : p->room - step;
    return less < pace_room_max(p) ? less : pace_room_max(p);
}

/* What the index would have taken counts as done. */
static void pace_go_on(struct index_feed_pace *p, struct instant now)
{
    const int64_t away_ns = instant_since(now, p->answered_at).ns;
    const uint32_t max = pace_room_max(p);
    if (away_ns < p->window_ns / AWAY_PART)
        return;
    p->was_away = true;
    if (p->room >= max)
        return;
    const uint32_t more = pace_at_rate(p->target, p->wait_ns, away_ns);
    p->room = more < max - p->room ? p->room + more : max;
    p->answered_at = more > 0 ? now : p->answered_at;
}

/* The rate of a window in which the index was away, or took nothing, is what it was before. */
static void pace_roll(struct index_feed_pace *p, struct instant now)
{
    const int64_t windows = instant_since(now, p->begun).ns / p->window_ns;
    if (windows == 0)
        return;
    if (p->done > 0 && !p->was_away) {
        p->target = pace_room_of(p, p->done, windows * p->window_ns);
        p->room = p->first ? p->target : pace_step(p);
        p->first = false;
    }
    p->done = 0;
    p->was_away = false;
    p->begun = instant_add(p->begun, (struct duration){windows * p->window_ns});
}

static void pace_hold(struct index_feed_pace *p, struct instant now, uint32_t room)
{
    p->held = true;
    p->was_away = p->first = false;
    p->begun = p->answered_at = now;
    p->done = 0;
    p->target = p->room = room;
}

bool index_feed_pace_holds(struct index_feed_pace *p, struct instant now)
{
    const struct duration kept = {p->first ? 0 : KEPT_WINDOWS * p->window_ns};
    if (p->held && p->goes_on && instant_since(now, p->until).ns >= p->window_ns) {
        p->kept_until = instant_add(p->until, kept);
        p->held = false;
    }
    return p->held;
}

/* The room until a rate is known: by the time that a row is told to wait. */
static uint32_t pace_room_by_wait(const struct index_feed_pace *p, int64_t retry_after_ns)
{
    const uint32_t max = pace_room_of(p, RATE_FIRST, NS_PER_S);
    const uint32_t room = retry_after_ns > 0 ? pace_room_of(p, 1, retry_after_ns) : max;
    return room < FEW ? FEW : room < max ? room : max;
}

void index_feed_pace_begin(struct index_feed_pace *p, struct instant now, struct duration window,
                           struct duration wait, bool held, uint32_t changes)
{
    *p = (struct index_feed_pace){.window_ns = window.ns, .wait_ns = wait.ns};
    p->until = p->kept_until = now;
    if (held)
        pace_hold(p, now, changes);
}

void index_feed_pace_refused(struct index_feed_pace *p, struct instant now, struct instant until)
{
    if (!index_feed_pace_holds(p, now)) {
        const bool first = !instant_before(now, p->kept_until);
        pace_hold(p, now, first ? pace_room_by_wait(p, instant_since(until, now).ns) : p->target);
        p->first = first;
    }
    pace_go_on(p, now);
    p->until = p->answered_at = until;
    p->goes_on = false;
}

void index_feed_pace_done(struct index_feed_pace *p, struct instant now)
{
    pace_go_on(p, now);
    pace_roll(p, now);
    p->done++;
    p->goes_on = true;
    p->answered_at = now;
}

uint32_t index_feed_pace_room(struct index_feed_pace *p, struct instant now)
{
    if (!index_feed_pace_holds(p, now))
        return UINT32_MAX;
    pace_go_on(p, now);
    pace_roll(p, now);
    return p->first ? pace_first_room(p, now) : p->room;
}
