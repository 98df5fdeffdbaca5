/* limiter_scripted.c - what the first client tries on purpose, while nobody else takes tokens. */
#include "sim/work/work_rate_limiter_internal.h"

enum {
    FLOOD_REQUESTS = 20,
    FLOOD_MIN = 5,   /* so many must be refused by the router alone */
    FLOODS_MAX = 10, /* some go to several routers, or take long */
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

/* Takes as little as there can be. `lease_ms`: 0: without a lease. */
static void take_small(struct limiter_client *c, uint32_t bucket, int64_t lease_ms)
{
    c->bucket = bucket;
    c->amounts[LIMIT_FAST] = SMALL_MTOK;
    c->amounts[LIMIT_SLOW] = 0;
    work_rate_limiter_write_acquire(c, false, lease_ms);
}

/* ---- a flood ---- */

/* Whether the slow limit of the bucket that stands alone lacks tokens for long. */
static bool flood_is_short(const struct work_rate_limiter *l,
                           const struct limiter_ledger_rule *rule)
{
    enum {
        FLOOD_MS = 10 * 60000
    };
    const int64_t ms = FLOOD_MS + l->spread_ms;
    const int64_t refill = (int64_t)((__int128)rule->amount * ms / rule->period_ms);
    return l->items[0].items > 0 && l->items[0].tokens[LIMIT_SLOW] + refill < rule->capacity;
}

/* Requests that are refused, then a small one: it tells the shard of the others. */
static void flood_choose(struct limiter_client *c)
{
    struct work_rate_limiter *l = limiter_of(c);
    struct limiter_ledger_rule rules[LIMITER_LEDGER_LIMITS];
    work_rate_limiter_rules(l, 0, l->versions[0], rules);
    if (l->tried == 0 && !flood_is_short(l, &rules[LIMIT_SLOW])) {
        final_check_step(c, FINAL_GROW, 0);
        trial_choose(c);
        return;
    }
    if (l->tried > FLOOD_REQUESTS) {
        final_check_write_count(c);
        return;
    }
    c->bucket = 0;
    c->amounts[LIMIT_FAST] = SMALL_MTOK;
    c->amounts[LIMIT_SLOW] = l->tried < FLOOD_REQUESTS ? rules[LIMIT_SLOW].capacity : 0;
    work_rate_limiter_write_acquire(c, false, 0);
}

/* The small request is sent until it is allowed: the shard may be short of write units. */
static void flood_end(struct limiter_client *c, int status)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (status == 200) {
        l->pause_ns = 0;
        l->tried++;
    } else if (instant_before(limiter_now(l), l->until)) {
        l->pause_ns = work_rate_limiter_pause(&l->tries);
    } else {
        final_check_step(c, FINAL_GROW, 0);
    }
}

static void flood_answered(struct limiter_client *c, int status, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (l->tried < FLOOD_REQUESTS) {
        if (status == 200)
            work_rate_limiter_wrong(l, "more is allowed than there can be", body);
        l->tried++;
        return;
    }
    if (l->tried == FLOOD_REQUESTS) {
        flood_end(c, status);
        return;
    }
    if (!final_check_counted(c, status, body))
        return;
    const bool seen = l->items[0].refused - l->refused >= FLOOD_MIN;
    l->tried = 0;
    l->refused = l->items[0].refused;
    if (!seen && ++l->floods == FLOODS_MAX)
        work_rate_limiter_wrong(l, "no router refuses requests that it knows to be in vain", body);
    if (seen)
        final_check_step(c, FINAL_GROW, 0);
}

/* ---- growth ---- */

/* The parent, which is asked through an entity of it; then the bucket that stands alone. A round
 * takes tokens, writes to the shard, takes more, and looks. */
static void grow_choose(struct limiter_client *c)
{
    struct work_rate_limiter *l = limiter_of(c);
    const uint32_t grows = l->checked == 0 ? WORK_LIMITER_TOP : 0, at = l->tried % ROUND_REQUESTS;
    if (at ==
        ROUND_PRESS) { /* after others: what is written counts from the shard's last write on */
        work_rate_limiter_write_press(c, grows, 0, -1000);
    } else if (at + 1 == ROUND_REQUESTS) {
        work_rate_limiter_write_query(c, "status", grows);
    } else {
        take_small(c, l->checked == 0 ? 1 : 0, 0);
    }
}

/* The parent and the bucket that stands alone have been tried: shards are made. */
static void grow_over(struct limiter_client *c)
{
    const uint32_t checked = limiter_of(c)->checked;
    final_check_step(c, checked == 0 ? FINAL_GROW : FINAL_OPEN, checked + 1);
}

/* A round is fair if the table had units for all that went before the bucket had to grow. Between
 * rounds it saves some. Where it never has enough, nothing can be said. */
static void grow_round_over(struct limiter_client *c, int status, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    const uint32_t rounds = l->tried / ROUND_REQUESTS;
    l->fair_rounds += l->fair && status == 200;
    const bool late = !instant_before(limiter_now(l), l->until) ||
                      (l->fair_rounds == 0 && rounds == UNFAIR_ROUNDS);
    l->pause_ns = (ROUND_PAUSE_MS * NS_PER_MS) << MIN(rounds, ROUNDS_DOUBLING);
    if (status == 200 && !dynamo_contains(body, "\"shards\":1,"))
        grow_over(c);
    else if (late && l->fair_rounds >= FAIR_ROUNDS)
        work_rate_limiter_wrong(l, "a bucket that is short of write units does not grow", body);
    else if (late)
        grow_over(c);
    l->fair = true;
}

/* Pauses within a round are short: the shard is short for a second, and a router that has asked
 * for units of the table must use them soon. */
static void grow_answered(struct limiter_client *c, int status, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (status == HTTP_CLIENT_CUT || status == HTTP_CLIENT_NOT_SENT) {
        final_check_unanswered(c, "a router cannot be asked whether a bucket has grown", body);
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

static void open_choose(struct limiter_client *c)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (l->tried++ == OPENING_REQUESTS) {
        final_check_step(c, FINAL_LEASE, 0);
        final_check_choose(c);
        return;
    }
    take_small(c, 0, 0);
}

/* ---- a lease ---- */

enum lease_step {
    LEASE_BEFORE, /* what each shard has counted */
    LEASE_TAKE,
    LEASE_BACK,
    LEASE_AFTER, /* each shard has counted what it had */
};

static void lease_choose(struct limiter_client *c)
{
    switch (limiter_of(c)->tried) {
    case LEASE_TAKE:
        take_small(c, 0, LEASE_MS);
        break;
    case LEASE_BACK:
        work_rate_limiter_write_use(c, LIMITER_USE_ROLLBACK);
        break;
    default:
        final_check_write_count(c);
        break;
    }
}

/* The lease is over too soon, or the bucket was merged meanwhile: once more, while there is
 * time. */
static void lease_again(struct limiter_client *c)
{
    struct work_rate_limiter *l = limiter_of(c);
    l->pause_ns = work_rate_limiter_pause(&l->tries);
    l->tried = LEASE_BEFORE;
    if (!instant_before(limiter_now(l), l->until))
        final_check_step(c, FINAL_SET, 0);
}

static void lease_check(struct limiter_client *c, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    const struct limiter_bucket_items *now = &l->items[0];
    if (now->epoch != l->epoch || now->merging) {
        lease_again(c);
        return;
    }
    if (memcmp(now->where, l->where, sizeof l->where) != 0)
        work_rate_limiter_wrong(l, "a lease has given back to another shard than it is of", body);
    final_check_step(c, FINAL_SET, 0);
}

static void lease_answered(struct limiter_client *c, int status, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    const bool counts = l->tried == LEASE_BEFORE || l->tried == LEASE_AFTER;
    if (counts && !final_check_counted(c, status, body))
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

static void limits_known_answered(struct limiter_client *c, int status, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    struct limiter_ledger_rule rules[LIMITER_LEDGER_LIMITS];
    if (!final_check_counted(c, status, body))
        return;
    work_rate_limiter_rules(l, 0, WORK_LIMITER_VERSION_LAST, rules);
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS && !l->trial_is_open; i++) {
        if (l->items[0].capacity[0][i] != rules[i].capacity ||
            l->items[0].capacity[1][i] != rules[i].capacity)
            work_rate_limiter_wrong(l, "limits were set, and a shard has others", body);
    }
    final_check_step(c, FINAL_SET, 1);
}

/* ---- steps ---- */

void trial_choose(struct limiter_client *c)
{
    switch (c->final) {
    case FINAL_FLOOD:
        flood_choose(c);
        break;
    case FINAL_GROW:
        grow_choose(c);
        break;
    case FINAL_OPEN:
        open_choose(c);
        break;
    case FINAL_LEASE:
        lease_choose(c);
        break;
    default:
        final_check_write_count(c);
        break;
    }
}

void trial_answered(struct limiter_client *c, int status, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (c->client.step == LIMITER_STEP_TAKE)
        return; /* it is sent again as it is */
    l->trial_is_open |= status != 200 && status != 429;
    c->client.step = WORK_STEP_IDLE;
    switch (c->final) {
    case FINAL_FLOOD:
        flood_answered(c, status, body);
        break;
    case FINAL_GROW:
        grow_answered(c, status, body);
        break;
    case FINAL_LEASE:
        lease_answered(c, status, body);
        break;
    case FINAL_LIMITS_KNOWN:
        limits_known_answered(c, status, body);
        break;
    default:
        break;
    }
}
