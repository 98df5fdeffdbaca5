/* limits_trials.c - what the first client tries on purpose, while nobody else takes tokens. */
#include <stdlib.h>

#include "sim/dynamo.h"
#include "sim/limits_internal.h"

enum {
    FLOOD_REQUESTS = 20,
    FLOOD_LEAST = 5,  /* so many must be refused by the router alone */
    FLOODS_MOST = 10, /* some go to several routers, or take long */
    OPENING_REQUESTS = 12,
    LEASE_MS = 60000,
    ROUND_REQUESTS = 10,
    ROUND_PRESS = 4,
    SHORT_PAUSE_MS = 50,
    ROUND_PAUSE_MS = 100,
    ROUNDS_DOUBLING = 6,
    FAIR_ROUNDS = 3,   /* in so many a bucket must grow */
    UNFAIR_ROUNDS = 6, /* after so many, and none that is fair, there will be none */
    SMALL_MTOK = 1
};

/* ---- a flood ---- */

/* Whether the slow limit of the bucket that stands alone lacks tokens for long. */
static bool flood_is_short(const struct limits *l, const struct books_rule *rule)
{
    enum {
        FLOOD_MS = 10 * 60000
    };
    const int64_t ms = FLOOD_MS + l->options.spread_ms;
    const int64_t refill = (int64_t)((__int128)rule->amount * ms / rule->period_ms);
    return l->items[0].items > 0 && l->items[0].tokens[LIMIT_SLOW] + refill < rule->capacity;
}

/* Requests that are refused, then a small one: it tells the shard of the others. */
static void flood_choose(struct limit_client *c)
{
    struct limits *l = c->all;
    struct books_rule rules[BOOKS_LIMITS];
    limits_rules(l, 0, l->versions[0], rules);
    if (l->tried == 0 && !flood_is_short(l, &rules[LIMIT_SLOW])) {
        audit_step(c, AUDIT_GROW, 0);
        trial_choose(c);
        return;
    }
    if (l->tried > FLOOD_REQUESTS) {
        audit_write_count(c);
        return;
    }
    c->bucket = 0;
    c->amounts[LIMIT_FAST] = SMALL_MTOK;
    c->amounts[LIMIT_SLOW] = l->tried < FLOOD_REQUESTS ? rules[LIMIT_SLOW].capacity : 0;
    limits_write_acquire(c, false, 0);
}

/* The small request is sent until it is allowed: the shard may be short of write units. */
static void flood_told(struct limit_client *c, int status)
{
    struct limits *l = c->all;
    if (status == 200) {
        l->pause_ns = 0;
        l->tried++;
    } else if (instant_before(limits_now(l), l->until)) {
        l->pause_ns = limits_pause(&l->tries);
    } else {
        audit_step(c, AUDIT_GROW, 0);
    }
}

static void flood_answered(struct limit_client *c, int status, struct slice body)
{
    struct limits *l = c->all;
    if (l->tried < FLOOD_REQUESTS) {
        if (status == 200)
            limits_wrong(l, "more is allowed than there can be", body);
        l->tried++;
        return;
    }
    if (l->tried == FLOOD_REQUESTS) {
        flood_told(c, status);
        return;
    }
    if (!audit_counted(c, status, body))
        return;
    const bool seen = l->items[0].refused - l->refused >= FLOOD_LEAST;
    l->tried = 0;
    l->refused = l->items[0].refused;
    if (!seen && ++l->floods == FLOODS_MOST)
        limits_wrong(l, "no router refuses requests that it knows to be in vain", body);
    if (seen)
        audit_step(c, AUDIT_GROW, 0);
}

/* ---- growth ---- */

/* The parent, which is asked through an entity of it; then the bucket that stands alone. A round takes tokens,
 * writes to the shard, takes more, and looks. */
static void grow_choose(struct limit_client *c)
{
    struct limits *l = c->all;
    const uint32_t grows = l->looked == 0 ? LIMIT_TOP : 0, at = l->tried % ROUND_REQUESTS;
    if (at ==
        ROUND_PRESS) { /* after others: what is written counts from the shard's last write on */
        limits_write_press(c, grows, 0, -1000);
    } else if (at + 1 == ROUND_REQUESTS) {
        limits_write_look(c, "status", grows);
    } else {
        c->bucket = l->looked == 0 ? 1 : 0;
        c->amounts[LIMIT_FAST] = SMALL_MTOK;
        c->amounts[LIMIT_SLOW] = 0;
        limits_write_acquire(c, false, 0);
    }
}

/* The parent and the bucket that stands alone have been tried: shards are made. */
static void grow_over(struct limit_client *c)
{
    const uint32_t looked = c->all->looked;
    audit_step(c, looked == 0 ? AUDIT_GROW : AUDIT_OPEN, looked + 1);
}

/* A round is fair if the table had units for all that went before the bucket had to grow. Between rounds it saves
 * some. Where it never has enough, nothing can be said. */
static void grow_round_over(struct limit_client *c, int status, struct slice body)
{
    struct limits *l = c->all;
    const uint32_t rounds = l->tried / ROUND_REQUESTS;
    l->fair_rounds += l->fair && status == 200;
    const bool late = !instant_before(limits_now(l), l->until) ||
                      (l->fair_rounds == 0 && rounds == UNFAIR_ROUNDS);
    l->pause_ns = (ROUND_PAUSE_MS * NS_PER_MS)
                  << (rounds < ROUNDS_DOUBLING ? rounds : ROUNDS_DOUBLING);
    if (status == 200 && !dynamo_says(body, "\"shards\":1,"))
        grow_over(c);
    else if (late && l->fair_rounds >= FAIR_ROUNDS)
        limits_wrong(l, "a bucket that is short of write units does not grow", body);
    else if (late)
        grow_over(c);
    l->fair = true;
}

/* Pauses within a round are short: the shard is short for a second, and a router that has asked for units of the
 * table must use them soon. */
static void grow_answered(struct limit_client *c, int status, struct slice body)
{
    struct limits *l = c->all;
    if (status == HTTP_CLIENT_CUT || status == HTTP_CLIENT_NOT_SENT) {
        audit_unanswered(c, "a router cannot be asked whether a bucket has grown", body);
        return; /* the same again */
    }
    l->unanswered = 0;
    const uint32_t at = l->tried++ % ROUND_REQUESTS;
    l->pause_ns = SHORT_PAUSE_MS * NS_PER_MS;
    if (at <= ROUND_PRESS)
        l->fair &= status == 200;
    if (at + 1 == ROUND_REQUESTS)
        grow_round_over(c, status, body);
}

static void open_choose(struct limit_client *c)
{
    struct limits *l = c->all;
    if (l->tried++ == OPENING_REQUESTS) {
        audit_step(c, AUDIT_LEASE, 0);
        audit_choose(c);
        return;
    }
    c->bucket = 0;
    c->amounts[LIMIT_FAST] = SMALL_MTOK;
    c->amounts[LIMIT_SLOW] = 0;
    limits_write_acquire(c, false, 0);
}

/* ---- a lease ---- */

enum lease_step {
    LEASE_BEFORE, /* what each shard has counted */
    LEASE_TAKE,
    LEASE_BACK,
    LEASE_AFTER, /* each shard has counted what it had */
};

static void lease_choose(struct limit_client *c)
{
    switch (c->all->tried) {
    case LEASE_TAKE:
        c->bucket = 0;
        c->amounts[LIMIT_FAST] = SMALL_MTOK;
        c->amounts[LIMIT_SLOW] = 0;
        limits_write_acquire(c, false, LEASE_MS);
        break;
    case LEASE_BACK:
        limits_write_use(c, LIMIT_ROLLBACK);
        break;
    default:
        audit_write_count(c);
        break;
    }
}

/* The lease is over too soon, or the bucket was merged meanwhile: once more, while there is time. */
static void lease_again(struct limit_client *c)
{
    struct limits *l = c->all;
    l->pause_ns = limits_pause(&l->tries);
    l->tried = LEASE_BEFORE;
    if (!instant_before(limits_now(l), l->until))
        audit_step(c, AUDIT_SET, 0);
}

static void lease_check(struct limit_client *c, struct slice body)
{
    struct limits *l = c->all;
    const struct limit_items *now = &l->items[0];
    if (now->epoch != l->epoch || now->merging) {
        lease_again(c);
        return;
    }
    if (memcmp(now->where, l->where, sizeof l->where) != 0)
        limits_wrong(l, "a lease has given back to another shard than it is of", body);
    audit_step(c, AUDIT_SET, 0);
}

static void lease_answered(struct limit_client *c, int status, struct slice body)
{
    struct limits *l = c->all;
    const bool counts = l->tried == LEASE_BEFORE || l->tried == LEASE_AFTER;
    if (counts && !audit_counted(c, status, body))
        return;
    if (l->tried == LEASE_AFTER) {
        lease_check(c, body);
        return;
    }
    if (!counts && status != 200) {
        lease_again(c);
        return;
    }
    if (l->tried == LEASE_BEFORE) {
        memcpy(l->where, l->items[0].where, sizeof l->where);
        l->epoch = l->items[0].epoch;
    }
    l->tried++;
    l->pause_ns = 0;
}

/* ---- limits for all shards ---- */

static void told_answered(struct limit_client *c, int status, struct slice body)
{
    struct limits *l = c->all;
    struct books_rule rules[BOOKS_LIMITS];
    if (!audit_counted(c, status, body))
        return;
    limits_rules(l, 0, LIMITS_LAST, rules);
    for (uint32_t i = 0; i < BOOKS_LIMITS && !l->trial_is_open; i++) {
        if (l->items[0].capacity[0][i] != rules[i].capacity ||
            l->items[0].capacity[1][i] != rules[i].capacity)
            limits_wrong(l, "limits were set, and a shard has others", body);
    }
    audit_step(c, AUDIT_SET, 1);
}

/* ---- steps ---- */

void trial_choose(struct limit_client *c)
{
    switch (c->audit) {
    case AUDIT_FLOOD:
        flood_choose(c);
        break;
    case AUDIT_GROW:
        grow_choose(c);
        break;
    case AUDIT_OPEN:
        open_choose(c);
        break;
    case AUDIT_LEASE:
        lease_choose(c);
        break;
    default:
        audit_write_count(c);
        break;
    }
}

void trial_answered(struct limit_client *c, int status, struct slice body)
{
    struct limits *l = c->all;
    if (c->work == LIMIT_TAKE)
        return; /* it is sent again as it is */
    l->trial_is_open |= status != 200 && status != 429;
    c->work = LIMIT_IDLE;
    switch (c->audit) {
    case AUDIT_FLOOD:
        flood_answered(c, status, body);
        break;
    case AUDIT_GROW:
        grow_answered(c, status, body);
        break;
    case AUDIT_LEASE:
        lease_answered(c, status, body);
        break;
    case AUDIT_TOLD:
        told_answered(c, status, body);
        break;
    default:
        break;
    }
}
