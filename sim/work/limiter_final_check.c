/* limiter_final_check.c - the first client's final check, when nobody takes tokens any more. */
#include "base/settings/limiter.h"
#include "sim/check/limiter_page.h"
#include "sim/work/work_rate_limiter_internal.h"

enum {
    STEP_S = 60,      /* for what needs no merging */
    HALVINGS_MAX = 5, /* from the most shards that these limits allow to one */
    HALVING_S = 10,
};

/* How long the present step may take. By clocks that differ tokens come that much later. */
static struct duration final_check_time(const struct work_rate_limiter *l,
                                        enum limiter_final_step step)
{
    const int64_t halving_ms =
        HALVING_S * 1000 +
        config_limiter(&work_clients_plan(&l->clients)->config)->limiter_merge_ms;
    const int64_t ms =
        l->spread_ms + STEP_S * 1000 + (step == FINAL_SHAPE ? HALVINGS_MAX * halving_ms : 0);
    return duration_ms(ms);
}

struct duration final_check_time_all(const struct work_rate_limiter *l)
{
    const int64_t steps_ns =
        final_check_time(l, FINAL_SHAPE).ns + 4 * final_check_time(l, FINAL_FULL).ns;
    return (struct duration){WORK_LIMITER_BUCKETS * steps_ns};
}

void final_check_step(struct limiter_client *c, enum limiter_final_step step, uint32_t checked)
{
    struct work_rate_limiter *l = limiter_of(c);
    c->final = step;
    l->checked = checked;
    l->pause_ns = 0;
    l->tries = 0;
    l->tried = 0;
    l->fair = true;
    l->fair_rounds = 0;
    l->until = instant_add(limiter_now(l), final_check_time(l, step));
    l->unanswered = 0;
    c->client.step = WORK_STEP_IDLE;
}

void final_check_late(struct limiter_client *c, const char *what, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    l->pause_ns = work_rate_limiter_pause(&l->tries);
    if (!instant_before(limiter_now(l), l->until))
        work_rate_limiter_wrong(l, what, body);
}

void final_check_unanswered(struct limiter_client *c, const char *what, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (l->unanswered++ == 0)
        l->answer_until = instant_add(limiter_now(l), final_check_time(l, c->final));
    l->pause_ns = work_rate_limiter_pause(&l->tries);
    if (!instant_before(limiter_now(l), l->answer_until))
        work_rate_limiter_wrong(l, what, body);
}

/* ---- numbers in answers ---- */

/* A number with at most three decimals that follows the text, in thousandths. False: there is
 * none. */
static bool mtok_after(struct slice *rest, const char *text, int64_t *out)
{
    const uint8_t *at = dynamo_behind(*rest, text).data, *end = rest->data + rest->size;
    if (at == NULL)
        return false;
    const bool negative = at < end && *at == '-';
    int64_t value = 0, decimals = -1;
    for (at += negative; at < end && ((*at >= '0' && *at <= '9') || *at == '.'); at++) {
        decimals += decimals >= 0 || *at == '.';
        if (*at != '.')
            value = value * 10 + (*at - '0');
    }
    for (decimals = MAX(decimals, 0); decimals < 3; decimals++)
        value *= 10;
    *out = negative ? -value : value;
    *rest = slice_make(at, (size_t)(end - at));
    return true;
}

/* ---- one shard ---- */

static void shape_answered(struct limiter_client *c, int status, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    const bool single = status == 200 && dynamo_contains(body, "\"shards\":1,") &&
                        dynamo_contains(body, "\"merging\":false");
    const bool none = status == 404; /* nobody took anything */
    if (single || none)
        final_check_step(c, FINAL_SHAPE, l->checked + 1);
    else
        final_check_late(c, "a bucket that nobody uses has more than one shard", body);
}

/* ---- counting ---- */

/* The counts fit what the clients know (SIMLEDGER-2), and there is not more than there was
 * (SIMLEDGER-3). */
static void count_check(struct limiter_client *c, uint32_t bucket, uint32_t limit)
{
    struct work_rate_limiter *l = limiter_of(c);
    const struct limiter_ledger *b = &l->ledger[bucket];
    const struct limiter_bucket_items *i = &l->items[bucket];
    const int64_t min = limiter_ledger_min(b, limit), max = limiter_ledger_max(b, limit);
    const int64_t had = limiter_ledger_had_max(b, limit, limiter_now(l));
    struct buffer text = {0};
    if (i->taken[limit] < min || i->taken[limit] > max)
        buffer_append_format(&text,
                             "bucket %s has counted %lld mtok of limit %u, and must have counted "
                             "%lld to %lld",
                             work_rate_limiter_entities[bucket], (long long)i->taken[limit], limit,
                             (long long)min, (long long)max);
    else if (c->final == FINAL_COUNT && i->tokens[limit] + i->taken[limit] > had)
        buffer_append_format(&text,
                             "bucket %s has %lld mtok of limit %u after %lld were taken, and had "
                             "at most %lld",
                             work_rate_limiter_entities[bucket], (long long)i->tokens[limit], limit,
                             (long long)i->taken[limit], (long long)had);
    if (text.size > 0)
        work_rate_limiter_wrong(l, "tokens", buffer_slice(&text));
    buffer_deinit(&text);
}

static void counts_check(struct limiter_client *c)
{
    struct work_rate_limiter *l = limiter_of(c);
    struct buffer text = {0};
    for (uint32_t limit = 0; limit < LIMITER_LEDGER_LIMITS; limit++) {
        const struct limiter_bucket_items *i = l->items;
        const int64_t kids = i[1].taken[limit] + i[2].taken[limit];
        for (uint32_t k = 0; k < WORK_LIMITER_BUCKETS; k++)
            count_check(c, k, limit);
        if (kids != i[WORK_LIMITER_TOP].taken[limit])
            buffer_append_format(
                &text, "limit %u of a parent counts %lld mtok, and %lld of its entities", limit,
                (long long)i[WORK_LIMITER_TOP].taken[limit], (long long)kids);
    }
    for (uint32_t k = 0; k < WORK_LIMITER_BUCKETS && c->final == FINAL_COUNT; k++) {
        const struct limiter_bucket_items *i = &l->items[k];
        if (i->items > 0 && (i->count != 1 || i->open != 1 || i->merging))
            buffer_append_format(&text, "bucket %s has %u items, %u of them open, and %u shards%s",
                                 work_rate_limiter_entities[k], i->items, i->open, i->count,
                                 i->merging ? " that are being merged" : "");
    }
    if (text.size > 0)
        work_rate_limiter_wrong(l, "items", buffer_slice(&text));
    buffer_deinit(&text);
}

static void item_add(void *context, const struct limiter_item *item)
{
    static const char *const names[LIMITER_LEDGER_LIMITS] = {"fast", "slow"};
    struct work_rate_limiter *l = (struct work_rate_limiter *)context;
    uint32_t bucket = 0;
    while (bucket < WORK_LIMITER_BUCKETS &&
           !slice_is(item->name.entity, work_rate_limiter_entities[bucket]))
        bucket++;
    if (bucket == WORK_LIMITER_BUCKETS)
        return;
    struct limiter_bucket_items *out = &l->items[bucket];
    out->items++;
    out->open += item->open;
    out->refused += item->refused;
    if (item->shard == 0) {
        out->epoch = item->epoch;
        out->count = item->count;
        out->merging = item->merging;
    }
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS; i++) {
        const struct limiter_item_level level = limiter_item_level(item, names[i]);
        out->taken[i] += level.taken;
        out->where[i] += level.taken * item->shard;
        out->tokens[i] += item->open ? level.tokens : 0;
        if (item->open && (out->open == 1 || level.capacity < out->capacity[0][i]))
            out->capacity[0][i] = level.capacity;
        if (item->open && level.capacity > out->capacity[1][i])
            out->capacity[1][i] = level.capacity;
    }
}

bool final_check_counted(struct limiter_client *c, int status, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (status != 200) {
        final_check_unanswered(c, "the items cannot be read", body);
        return false;
    }
    l->unanswered = 0;
    if (!limiter_page_read(body, item_add, l, &l->next)) {
        work_rate_limiter_wrong(l, "the answer to a Scan cannot be read", body);
        return false;
    }
    return l->next.size == 0;
}

static void count_answered(struct limiter_client *c, int status, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (!final_check_counted(c, status, body))
        return;
    counts_check(c);
    for (uint32_t i = 0; i < WORK_LIMITER_BUCKETS; i++)
        memcpy(l->counted[i], l->items[i].taken, sizeof l->counted[i]);
    l->refused = l->items[0].refused;
    if (c->final == FINAL_COUNT)
        final_check_step(c, FINAL_FLOOD, 0);
    else
        c->client.step = WORK_STEP_DONE;
}

void final_check_write_count(struct limiter_client *c)
{
    struct work_rate_limiter *l = limiter_of(c);
    c->client.step = LIMITER_STEP_SCAN;
    c->operation = "Scan";
    if (l->next.size == 0) {
        memset(l->items, 0, sizeof l->items);
        limiter_page_first(&l->next);
    }
    buffer_append_slice(&c->client.body, buffer_slice(&l->next));
}

/* ---- full, and empty at once ---- */

static void full_answered(struct limiter_client *c, int status, struct slice body)
{
    struct work_rate_limiter *l = limiter_of(c);
    struct limiter_ledger_rule rules[LIMITER_LEDGER_LIMITS];
    struct slice rest = body;
    bool full = status == 200;
    work_rate_limiter_rules(l, l->checked, WORK_LIMITER_VERSION_LAST, rules);
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS && full; i++) {
        int64_t capacity, available;
        full = mtok_after(&rest, "\"capacity\":", &capacity) &&
               mtok_after(&rest, "\"available\":", &available);
        full = full && capacity == rules[i].capacity; /* the router knows the last limits */
        if (full && available > capacity)
            work_rate_limiter_wrong(l, "a bucket has more than its capacity", body);
        full = full && available == capacity;
    }
    if (full)
        final_check_step(c, FINAL_TAKE, l->checked);
    else
        final_check_late(c, "a bucket that nobody uses does not get full", body);
}

static void take_all_write(struct limiter_client *c)
{
    const struct work_rate_limiter *l = limiter_of(c);
    struct limiter_ledger_rule rules[LIMITER_LEDGER_LIMITS], top[LIMITER_LEDGER_LIMITS];
    c->bucket = l->checked;
    work_rate_limiter_rules(l, c->bucket, WORK_LIMITER_VERSION_LAST, rules);
    work_rate_limiter_rules(l, WORK_LIMITER_TOP, WORK_LIMITER_VERSION_LAST, top);
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS; i++) {
        const bool less =
            work_rate_limiter_group(c->bucket) == 1 && top[i].capacity < rules[i].capacity;
        c->amounts[i] = less ? top[i].capacity : rules[i].capacity;
    }
    work_rate_limiter_write_acquire(c, true, 0);
}

static void all_answered(struct limiter_client *c, int status, struct slice body)
{
    if (status == 200 && c->client.step != LIMITER_STEP_TAKE) /* otherwise it is sent again */
        final_check_step(c, FINAL_FULL, limiter_of(c)->checked + 1);
    else
        final_check_late(c, "a bucket that is full cannot be emptied at once", body);
}

/* ---- steps ---- */

void final_check_answered(struct limiter_client *c, int status, struct slice body)
{
    if (c->client.all->wrong.size > 0 || c->final == FINAL_WAIT)
        return;
    switch (c->final) {
    case FINAL_SHAPE:
        shape_answered(c, status, body);
        break;
    case FINAL_COUNT:
    case FINAL_RECOUNT:
        c->client.step = WORK_STEP_IDLE;
        count_answered(c, status, body);
        return;
    case FINAL_SET:
        if (c->client.step == WORK_STEP_IDLE)
            final_check_step(c, limiter_of(c)->checked == 0 ? FINAL_LIMITS_KNOWN : FINAL_SET,
                             limiter_of(c)->checked + 1);
        else
            final_check_late(c, "limits cannot be set", body);
        return;
    case FINAL_FULL:
        full_answered(c, status, body);
        break;
    case FINAL_TAKE:
        all_answered(c, status, body);
        return;
    case FINAL_FLOOD:
    case FINAL_GROW:
    case FINAL_OPEN:
    case FINAL_LEASE:
    case FINAL_LIMITS_KNOWN:
        trial_answered(c, status, body);
        return;
    case FINAL_WAIT:
    case FINAL_NONE:
        break;
    }
    c->client.step = WORK_STEP_IDLE;
}

/* Whether the step is over. */
static bool final_check_goes_on(const struct work_rate_limiter *l, uint32_t count)
{
    return l->checked == count;
}

static void final_check_begin(struct limiter_client *c)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (!work_clients_others_are_done(&l->clients))
        return;
    final_check_step(c, FINAL_WAIT, 0);
    l->until = instant_add_ms(limiter_now(l), WORK_QUIET_MS);
}

void final_check_choose(struct limiter_client *c)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (c->final == FINAL_NONE)
        final_check_begin(c);
    if (c->final == FINAL_WAIT && !instant_before(limiter_now(l), l->until))
        final_check_step(c, FINAL_SHAPE, 0);
    if (c->final == FINAL_SHAPE && final_check_goes_on(l, WORK_LIMITER_BUCKETS))
        final_check_step(c, FINAL_COUNT, 0);
    if (c->final == FINAL_SET && final_check_goes_on(l, WORK_LIMITER_GROUPS))
        final_check_step(c, FINAL_FULL, 0);
    if (c->final == FINAL_FULL && final_check_goes_on(l, WORK_LIMITER_TOP))
        final_check_step(c, FINAL_RECOUNT, 0);
    switch (c->final) {
    case FINAL_SHAPE:
        work_rate_limiter_write_query(c, "status", l->checked);
        break;
    case FINAL_COUNT:
    case FINAL_RECOUNT:
        final_check_write_count(c);
        break;
    case FINAL_SET:
        c->sets = l->checked;
        work_rate_limiter_write_set(c, l->checked, WORK_LIMITER_VERSION_LAST);
        break;
    case FINAL_FULL:
        work_rate_limiter_write_query(c, "available", l->checked);
        break;
    case FINAL_TAKE:
        take_all_write(c);
        break;
    case FINAL_FLOOD:
    case FINAL_GROW:
    case FINAL_OPEN:
    case FINAL_LEASE:
    case FINAL_LIMITS_KNOWN:
        trial_choose(c);
        break;
    case FINAL_NONE:
    case FINAL_WAIT:
        break;
    }
}
