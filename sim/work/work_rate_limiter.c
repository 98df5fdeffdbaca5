/* work_rate_limiter.c - the clients' requests: what they take, give back, set and look at. */
#include "sim/work/work_rate_limiter_internal.h"

#include <stdio.h>

const char work_rate_limiter_table[] = "weir-limiter";
const char *const work_rate_limiter_entities[WORK_LIMITER_BUCKETS] = {"solo", "kid0", "kid1",
                                                                      "top"};

enum {
    RETRY_MS = 50,
    PAUSE_DOUBLINGS = 6,
    KEYED_PERCENT = 50,
    LEASE_PERCENT = 40,
    LEASE_MS_MAX = 20000,
    REPEAT_PERCENT = 25, /* of requests with a key that were answered */
    MOVE_PERCENT = 40,   /* of repetitions that go to another router */
    PRESS_PERCENT = 8,
    STATUS_PERCENT = 4,
    CHANGE_PERCENT = 3, /* of the first client's requests */
    USE_PERCENT = 60    /* of the requests of a client with a lease */
};

void work_rate_limiter_key(uint64_t draw, char out[64])
{
    snprintf(out, 64, "sim/BUCKET#%s#api#%u",
             work_rate_limiter_entities[draw % WORK_LIMITER_BUCKETS],
             (unsigned)(draw / WORK_LIMITER_BUCKETS % 8));
}

void work_rate_limiter_wrong(struct work_rate_limiter *l, const char *what, struct slice body)
{
    if (l->clients.wrong.size == 0)
        buffer_append_format(&l->clients.wrong, "%s: %.*s\n", what, TEXT_OF(body));
}

bool work_rate_limiter_often(struct limiter_client *c, uint32_t percent)
{
    return prng_below(&c->client.prng, 100) < percent;
}

/* ---- rules ---- */

/* The limits of a bucket after so many changes. */
void work_rate_limiter_rules(const struct work_rate_limiter *l, uint32_t bucket, uint32_t version,
                             struct limiter_ledger_rule out[LIMITER_LEDGER_LIMITS])
{
    static const int64_t halves[] = {2, 3, 1, 4};
    const int64_t times = halves[version % COUNT_OF(halves)];
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS; i++) {
        const int64_t capacity = l->capacity[bucket][i] * times / 2;
        const int64_t period_ms = i == LIMIT_FAST ? 1000 + 500 * (version % 3) : HOUR_MS;
        out[i] = (struct limiter_ledger_rule){capacity, capacity, period_ms};
    }
    if (version == WORK_LIMITER_VERSION_LAST)
        out[LIMIT_SLOW].period_ms = 1000;
}

/* The least capacity that the bucket ever has. */
static int64_t capacity_min(const struct work_rate_limiter *l, uint32_t bucket, uint32_t limit)
{
    return l->capacity[bucket][limit] / 2;
}

uint32_t work_rate_limiter_group(uint32_t bucket)
{
    return bucket == 0 ? 0 : bucket == WORK_LIMITER_TOP ? 2 : 1;
}

static void append_tokens(struct buffer *out, int64_t mtok)
{
    const int64_t size = mtok < 0 ? -mtok : mtok;
    buffer_append_format(out, "%s%lld.%03lld", mtok < 0 ? "-" : "", (long long)(size / 1000),
                         (long long)(size % 1000));
}

/* PUT limits of the group's level. */
void work_rate_limiter_write_set(struct limiter_client *c, uint32_t group, uint32_t version)
{
    static const char *const levels[WORK_LIMITER_GROUPS] = {
        "\"entity\":\"solo\",\"resource\":\"api\"", "\"resource\":\"api\"", "\"entity\":\"top\""};
    static const char *const names[LIMITER_LEDGER_LIMITS] = {"fast", "slow"};
    struct limiter_ledger_rule rules[LIMITER_LEDGER_LIMITS];
    struct work_rate_limiter *l = limiter_of(c);
    work_rate_limiter_rules(l, group == 2 ? WORK_LIMITER_TOP : group, version, rules);
    c->operation = "PUT /limiter/v1/limits";
    buffer_append_format(&c->client.body, "{\"namespace\":\"sim\",%s,\"limits\":[", levels[group]);
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS; i++) {
        buffer_append_format(&c->client.body, "%s{\"name\":\"%s\",\"capacity\":", i > 0 ? "," : "",
                             names[i]);
        append_tokens(&c->client.body, rules[i].capacity);
        buffer_append_text(&c->client.body, ",\"refill_amount\":");
        append_tokens(&c->client.body, rules[i].amount);
        buffer_append_format(&c->client.body, ",\"refill_period_ms\":%lld,\"smallest_request\":",
                             (long long)rules[i].period_ms);
        append_tokens(&c->client.body, rules[i].capacity / (int64_t)l->shards_max);
        buffer_append_text(&c->client.body, "}");
    }
    buffer_append_text(&c->client.body, "]}");
    c->client.step = LIMITER_STEP_SET;
    for (uint32_t i = 0; i < WORK_LIMITER_BUCKETS; i++) {
        work_rate_limiter_rules(l, i, version, rules);
        if (work_rate_limiter_group(i) == group)
            limiter_ledger_change(&l->ledger[i], limiter_now(l), rules);
    }
}

static void write_parent(struct limiter_client *c, uint32_t bucket)
{
    c->operation = "PUT /limiter/v1/entities";
    buffer_append_format(&c->client.body,
                         "{\"namespace\":\"sim\",\"entity\":\"%s\",\"parent\":\"top\"}",
                         work_rate_limiter_entities[bucket]);
    c->client.step = LIMITER_STEP_SET;
}

/* ---- requests ---- */

static void append_amounts(struct buffer *out, const char *name, const int64_t *amounts)
{
    bool any = false;
    buffer_append_format(out, "\"%s\":{", name);
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS; i++) {
        if (amounts[i] == 0 && (any || i + 1 < LIMITER_LEDGER_LIMITS))
            continue;
        buffer_append_format(out, "%s\"%s\":", any ? "," : "", i == LIMIT_FAST ? "fast" : "slow");
        append_tokens(out, amounts[i]);
        any = true;
    }
    buffer_append_text(out, "}");
}

/* Entries of the bucket, and of its parent. */
static void take_note(struct limiter_client *c, bool allows_debt)
{
    struct work_rate_limiter *l = limiter_of(c);
    const struct instant now = limiter_now(l);
    c->entries[0] = limiter_ledger_begin(&l->ledger[c->bucket], now, c->amounts, allows_debt);
    if (work_rate_limiter_group(c->bucket) == 1)
        c->entries[1] =
            limiter_ledger_begin(&l->ledger[WORK_LIMITER_TOP], now, c->amounts, allows_debt);
}

static void take_end(struct limiter_client *c, enum limiter_ledger_outcome outcome)
{
    struct work_rate_limiter *l = limiter_of(c);
    const struct instant now = limiter_now(l);
    limiter_ledger_end(&l->ledger[c->bucket], c->entries[0], now, outcome);
    if (work_rate_limiter_group(c->bucket) == 1)
        limiter_ledger_end(&l->ledger[WORK_LIMITER_TOP], c->entries[1], now, outcome);
}

/* By nodes' clocks that differ by minutes a token may be forgotten early: then a repetition may
 * count. */
static void take_doubt(struct limiter_client *c)
{
    if (limiter_of(c)->nodes_spread_ms < TOKEN_SPREAD_MS)
        return;
    const size_t entries[2] = {c->entries[0], c->entries[1]};
    take_note(c, c->use == LIMITER_USE_ADJUST);
    take_end(c, LIMITER_LEDGER_UNKNOWN);
    memcpy(c->entries, entries, sizeof entries);
}

static int64_t some_amount(struct limiter_client *c, int64_t max, int64_t usual)
{
    const uint64_t draw = prng_below(&c->client.prng, 100);
    const int64_t top = draw < 5 ? max : draw < 25 ? max / 4 : MIN(usual, max);
    return prng_between(&c->client.prng, 1, MAX(top, 1));
}

static void choose_amounts(struct limiter_client *c)
{
    const struct work_rate_limiter *l = limiter_of(c);
    const uint64_t draw = prng_below(&c->client.prng, 10);
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS; i++) {
        int64_t max = capacity_min(l, c->bucket, i);
        const int64_t top = capacity_min(l, WORK_LIMITER_TOP, i);
        if (work_rate_limiter_group(c->bucket) == 1 && top < max)
            max = top;
        const int64_t amount = some_amount(c, max, i == LIMIT_FAST ? 5000 : 1500);
        const bool takes = i == LIMIT_FAST ? draw < 8 : draw >= 5;
        c->amounts[i] = takes ? amount : 0;
    }
}

void work_rate_limiter_write_acquire(struct limiter_client *c, bool keyed, int64_t lease_ms)
{
    struct work_rate_limiter *l = limiter_of(c);
    c->use = LIMITER_USE_ACQUIRE;
    c->keyed = keyed;
    c->leases = lease_ms > 0;
    c->client.step = LIMITER_STEP_TAKE;
    c->operation = "POST /limiter/v1/acquire";
    if (c->keyed)
        snprintf(c->client.http.lines, sizeof c->client.http.lines, "Idempotency-Key: key-%llu\r\n",
                 (unsigned long long)++l->keys);
    buffer_append_format(&c->client.body,
                         "{\"namespace\":\"sim\",\"entity\":\"%s\",\"resource\":\"api\",",
                         work_rate_limiter_entities[c->bucket]);
    if (c->leases)
        buffer_append_format(&c->client.body, "\"lease_ms\":%lld,", (long long)lease_ms);
    append_amounts(&c->client.body, "consume", c->amounts);
    buffer_append_text(&c->client.body, "}");
    take_note(c, false);
}

static void begin_acquire(struct limiter_client *c)
{
    const int64_t lease_ms = work_rate_limiter_often(c, LEASE_PERCENT)
                                 ? prng_between(&c->client.prng, 100, LEASE_MS_MAX)
                                 : 0;
    c->bucket = (uint32_t)prng_below(&c->client.prng, WORK_LIMITER_TOP);
    choose_amounts(c);
    work_rate_limiter_write_acquire(c, work_rate_limiter_often(c, KEYED_PERCENT), lease_ms);
}

/* What a use of the lease changes. */
static void choose_use_amounts(struct limiter_client *c)
{
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS; i++) {
        const int64_t held = c->held[i];
        int64_t amount = 0;
        if (c->use == LIMITER_USE_ROLLBACK)
            amount = -held;
        else if (c->use == LIMITER_USE_RELEASE)
            amount = -prng_between(&c->client.prng, 0, held);
        else if (c->use == LIMITER_USE_ADJUST)
            amount = prng_between(&c->client.prng, -held, 3000);
        c->amounts[i] = amount;
    }
}

void work_rate_limiter_write_use(struct limiter_client *c, enum limiter_use use)
{
    static const struct {
        const char *operation;
        const char *amounts;
    } uses[LIMITER_USES] = {[LIMITER_USE_CONSUME] = {"POST /limiter/v1/consume", "consume"},
                            [LIMITER_USE_ADJUST] = {"POST /limiter/v1/adjust", "adjust"},
                            [LIMITER_USE_RELEASE] = {"POST /limiter/v1/release", "release"},
                            [LIMITER_USE_COMMIT] = {"POST /limiter/v1/commit", NULL},
                            [LIMITER_USE_ROLLBACK] = {"POST /limiter/v1/rollback", NULL}};
    int64_t shown[LIMITER_LEDGER_LIMITS];
    c->use = use;
    c->client.step = LIMITER_STEP_TAKE;
    c->bucket = c->lease_bucket;
    c->operation = uses[c->use].operation;
    c->keyed = true; /* a lease has the token of its next use */
    if (c->use == LIMITER_USE_CONSUME)
        choose_amounts(c);
    else
        choose_use_amounts(c);
    buffer_append_format(&c->client.body, "{\"lease\":\"%.*s\"", TEXT_OF(c->lease));
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS; i++)
        shown[i] = c->use == LIMITER_USE_RELEASE ? -c->amounts[i] : c->amounts[i];
    if (uses[c->use].amounts != NULL) {
        buffer_append_text(&c->client.body, ",");
        append_amounts(&c->client.body, uses[c->use].amounts, shown);
    }
    buffer_append_text(&c->client.body, "}");
    take_note(c, c->use == LIMITER_USE_ADJUST);
}

static void begin_use(struct limiter_client *c)
{
    work_rate_limiter_write_use(
        c, LIMITER_USE_CONSUME +
               (enum limiter_use)prng_below(&c->client.prng, LIMITER_USES - LIMITER_USE_CONSUME));
}

/* Writes to a shard's item as if it had been written too often. */
void work_rate_limiter_write_press(struct limiter_client *c, uint32_t bucket, uint32_t shard,
                                   int64_t units)
{
    c->client.step = LIMITER_STEP_PRESS;
    c->operation = "UpdateItem";
    buffer_append_format(
        &c->client.body,
        "{\"TableName\":\"%s\",\"Key\":{\"PK\":{\"S\":\"sim/BUCKET#%s#api#%u\"},\"SK\":{\"S\":"
        "\"#STATE\"}},\"UpdateExpression\":\"SET lm.wcu.tk = :n\",\"ConditionExpression\":"
        "\"attribute_exists(lm.wcu)\",\"ExpressionAttributeValues\":{\":n\":{\"N\":\"%lld\"}}}",
        work_rate_limiter_table, work_rate_limiter_entities[bucket], shard,
        (long long)units * 1000);
}

static void begin_press(struct limiter_client *c)
{
    const struct work_rate_limiter *l = limiter_of(c);
    const uint32_t bucket = (uint32_t)prng_below(&c->client.prng, WORK_LIMITER_BUCKETS);
    const uint32_t shard = (uint32_t)prng_below(&c->client.prng, l->shards[bucket]);
    work_rate_limiter_write_press(c, bucket, shard, prng_between(&c->client.prng, -1000, 100));
}

void work_rate_limiter_write_query(struct limiter_client *c, const char *page, uint32_t bucket)
{
    snprintf(c->path, sizeof c->path, "GET /limiter/v1/%s?namespace=sim&entity=%s&resource=api",
             page, work_rate_limiter_entities[bucket]);
    c->operation = c->path;
    c->bucket = bucket;
    c->client.step = LIMITER_STEP_QUERY;
}

/* ---- answers ---- */

/* Whether the request may be sent again as it was. */
static bool answer_is_none(int status)
{
    return status == HTTP_CLIENT_NOT_SENT || status == HTTP_CLIENT_CUT;
}

static bool answer_is_unknown(int status)
{
    return http_client_is_unknown(status) || status == 503;
}

static void lease_keep(struct limiter_client *c, struct slice body)
{
    buffer_set(&c->lease, dynamo_text(body, "\"lease\":\""));
    if (c->lease.size == 0)
        return;
    c->lease_bucket = c->bucket;
    if (c->use == LIMITER_USE_ACQUIRE)
        memset(c->held, 0, sizeof c->held);
    for (uint32_t i = 0; i < LIMITER_LEDGER_LIMITS; i++)
        c->held[i] += c->amounts[i];
}

static void take_allowed(struct limiter_client *c, struct slice body)
{
    if (!c->counted)
        take_end(c, LIMITER_LEDGER_DONE);
    if (!c->counted && c->keyed && work_rate_limiter_often(c, REPEAT_PERCENT)) {
        c->counted = true; /* sent again, it must be answered in the same way */
        take_doubt(c);
        return;
    }
    if (c->use == LIMITER_USE_COMMIT || c->use == LIMITER_USE_ROLLBACK)
        buffer_clear(&c->lease);
    else if (c->use != LIMITER_USE_ACQUIRE || c->leases)
        lease_keep(c, body);
    c->client.step = WORK_STEP_IDLE;
}

/* A refusal. An earlier attempt that nobody has answered may be done all the same. */
static void take_refused(struct limiter_client *c, struct slice body)
{
    const bool loose = limiter_of(c)->nodes_spread_ms >= TOKEN_SPREAD_MS;
    if (c->counted && !loose)
        work_rate_limiter_wrong(limiter_of(c),
                                "a request that was done is refused when it is sent again", body);
    if (!c->counted)
        take_end(c, c->doubtful ? LIMITER_LEDGER_UNKNOWN : LIMITER_LEDGER_NOT_DONE);
    if (c->use != LIMITER_USE_ACQUIRE &&
        (c->doubtful || c->use != LIMITER_USE_CONSUME || c->counted))
        buffer_clear(&c->lease);
    c->client.step = WORK_STEP_IDLE;
}

static void take_answered(struct limiter_client *c, int status, struct slice body)
{
    const bool again = c->doubtful || c->counted;
    if (status == 200) {
        take_allowed(c, body);
    } else if (status == 429 && again && dynamo_contains(body, "\"reason\":\"writes\"")) {
        return; /* it says: try again */
    } else if (status == 429 || (status == 409 && dynamo_contains(body, "lease_over"))) {
        take_refused(c, body);
    } else if (answer_is_unknown(status) && c->keyed) {
        if (!c->doubtful || !c->counted)
            take_doubt(c);
        c->doubtful = true;
    } else if (answer_is_unknown(status)) {
        take_end(c, LIMITER_LEDGER_UNKNOWN);
        c->client.step = WORK_STEP_IDLE;
    } else if (!answer_is_none(status)) {
        work_rate_limiter_wrong(limiter_of(c), "a request is answered wrongly", body);
        c->client.step = WORK_STEP_IDLE;
    }
}

static void set_answered(struct limiter_client *c, int status)
{
    struct work_rate_limiter *l = limiter_of(c);
    if (status != 200) {
        if (!answer_is_none(status))
            l->change_from = instant_add_ms(limiter_now(l), WORK_QUIET_MS);
        return;
    }
    for (uint32_t i = 0; i < WORK_LIMITER_BUCKETS && c->sets < WORK_LIMITER_GROUPS; i++) {
        if (work_rate_limiter_group(i) == c->sets)
            limiter_ledger_changed(&l->ledger[i], limiter_now(l));
    }
    l->made += l->made < WORK_LIMITER_SETTINGS;
    c->client.step = WORK_STEP_IDLE;
}

/* `shards` of a status. */
static void status_answered(struct limiter_client *c, int status, struct slice body)
{
    static const char name[] = "\"shards\":";
    c->client.step = WORK_STEP_IDLE;
    if (status != 200 || !dynamo_contains(body, name))
        return;
    const uint64_t shards = dynamo_number(body, name);
    if (shards < 1 || shards > 128 || (shards & (shards - 1)) != 0)
        work_rate_limiter_wrong(limiter_of(c), "a status has a number of shards that cannot be",
                                body);
    else
        limiter_of(c)->shards[c->bucket] = (uint32_t)shards;
    if (shards > limiter_of(c)->shards_seen)
        limiter_of(c)->shards_seen = (uint32_t)shards;
}

/* What a router or a node has asked for because of the request must be used soon. */
int64_t work_rate_limiter_pause(uint32_t *tries)
{
    return work_client_pause_ns(++*tries, RETRY_MS, PAUSE_DOUBLINGS);
}

static void limiter_answered(void *client, int status, struct slice body)
{
    struct limiter_client *c = client;
    switch ((enum limiter_step)c->client.step) {
    case LIMITER_STEP_SET:
        set_answered(c, status);
        break;
    case LIMITER_STEP_TAKE:
        take_answered(c, status, body);
        break;
    case LIMITER_STEP_PRESS:
        c->client.step = WORK_STEP_IDLE;
        break;
    case LIMITER_STEP_QUERY:
        if (c->final == FINAL_NONE)
            status_answered(c, status, body);
        break;
    case LIMITER_STEP_SCAN:
        break;
    }
    if (c->final != FINAL_NONE)
        final_check_answered(c, status, body);
    if (c->client.step != WORK_STEP_IDLE && work_rate_limiter_often(c, MOVE_PERCENT))
        http_client_move(&c->client.http);
}

static int64_t limiter_pause(void *client, UNUSED int status)
{
    struct limiter_client *c = client;
    const int64_t think_ns = work_client_think(&c->client);
    return c->client.step != WORK_STEP_IDLE ? work_rate_limiter_pause(&c->tries)
           : c->final != FINAL_NONE         ? limiter_of(c)->pause_ns
                                            : think_ns;
}

/* ---- what to do ---- */

/* The first client sets all limits, one after the other. */
static void choose_setting(struct limiter_client *c)
{
    const uint32_t next = limiter_of(c)->made;
    c->sets = next;
    if (next < WORK_LIMITER_GROUPS)
        work_rate_limiter_write_set(c, next, 0);
    else
        write_parent(c, 1 + next - WORK_LIMITER_GROUPS);
}

static void choose_change(struct limiter_client *c)
{
    struct work_rate_limiter *l = limiter_of(c);
    c->sets = (uint32_t)prng_below(&c->client.prng, WORK_LIMITER_GROUPS);
    work_rate_limiter_write_set(c, c->sets, ++l->versions[c->sets]);
}

static void choose_load(struct limiter_client *c)
{
    struct work_rate_limiter *l = limiter_of(c);
    const uint64_t draw = prng_below(&c->client.prng, 100);
    const bool may_change =
        c->client.number == 0 && !instant_before(limiter_now(l), l->change_from);
    if (draw < PRESS_PERCENT)
        begin_press(c);
    else if (draw < PRESS_PERCENT + STATUS_PERCENT)
        work_rate_limiter_write_query(c, "status",
                                      (uint32_t)prng_below(&c->client.prng, WORK_LIMITER_BUCKETS));
    else if (may_change && work_rate_limiter_often(c, CHANGE_PERCENT))
        choose_change(c);
    else if (c->lease.size > 0 && work_rate_limiter_often(c, USE_PERCENT))
        begin_use(c);
    else
        begin_acquire(c);
}

static void limiter_choose(void *client)
{
    struct limiter_client *c = client;
    struct work_rate_limiter *l = limiter_of(c);
    buffer_clear(&c->client.body);
    c->client.http.lines[0] = '\0';
    c->doubtful = c->counted = false;
    c->tries = 0;
    if (l->clients.wrong.size > 0)
        c->client.step = WORK_STEP_DONE;
    else if (l->made < WORK_LIMITER_SETTINGS && c->client.number == 0)
        choose_setting(c);
    else if (l->made < WORK_LIMITER_SETTINGS)
        c->client.step = WORK_STEP_IDLE;
    else if (!l->clients.ending)
        choose_load(c);
    else if (c->client.number > 0)
        c->client.step = WORK_STEP_DONE;
    else
        final_check_choose(c);
}

/* What was chosen has written the request. */
static const char *limiter_write(void *client)
{
    const struct limiter_client *c = client;
    return c->operation;
}

static void limiter_describe(const void *client, struct buffer *out)
{
    const struct limiter_client *c = client;
    buffer_append_format(out, ", %s %.*s", c->operation != NULL ? c->operation : "",
                         TEXT_OF(c->client.body));
}

/* ---- life ---- */

static void limiter_client_deinit(void *client)
{
    struct limiter_client *c = client;
    buffer_deinit(&c->lease);
}

static void limiter_deinit(void *all)
{
    struct work_rate_limiter *l = all;
    for (uint32_t i = 0; i < WORK_LIMITER_BUCKETS; i++)
        limiter_ledger_deinit(&l->ledger[i]);
    buffer_deinit(&l->next);
}

static bool limiter_check(const void *all, struct buffer *why)
{
    const struct work_rate_limiter *l = all;
    bool good = true;
    for (uint32_t i = 0; i < WORK_LIMITER_BUCKETS && good && l->clients.options.count > 0; i++)
        good = limiter_ledger_check_times(&l->ledger[i], work_rate_limiter_entities[i], why);
    return good;
}

static const struct work_client_kind limiter_kind = {.name = "of the rate limiter",
                                                     .size = sizeof(struct work_rate_limiter),
                                                     .client_size = sizeof(struct limiter_client),
                                                     .idle_ms = WORK_POLL_MS,
                                                     .choose = limiter_choose,
                                                     .write = limiter_write,
                                                     .answered = limiter_answered,
                                                     .pause = limiter_pause,
                                                     .describe = limiter_describe,
                                                     .client_deinit = limiter_client_deinit,
                                                     .check = limiter_check,
                                                     .deinit = limiter_deinit};

struct work_clients *work_rate_limiter_create(const struct work_clients_options *options)
{
    struct work_rate_limiter *l = work_clients_create(&limiter_kind, options);
    const struct world *world = &options->run->world;
    struct prng p = prng_seeded(world_seed(world, options->stream, 0) ^ UINT64_C(0x72756c6573));
    l->nodes_spread_ms = world_wall_spread_ms(world, false);
    l->spread_ms = world_wall_spread_ms(world, true);
    l->shards_max = 2U << prng_below(&p, 4);
    for (uint32_t i = 0; i < WORK_LIMITER_BUCKETS; i++) {
        l->ledger[i].spread_ms = l->nodes_spread_ms;
        l->shards[i] = 1;
        l->capacity[i][LIMIT_FAST] = prng_between(&p, 100, 400) * 1000;
        l->capacity[i][LIMIT_SLOW] = prng_between(&p, 40, 80) * 1000;
    }
    memcpy(l->capacity[2], l->capacity[1], sizeof l->capacity[2]); /* of one resource */
    return &l->clients;
}

bool work_rate_limiter_are_quiet(const struct work_clients *all)
{
    const struct limiter_client *first = all->options.count > 0 ? work_clients_at(all, 0) : NULL;
    must(all->kind == &limiter_kind);
    return work_clients_others_are_done(all) &&
           (first == NULL || all->wrong.size > 0 || first->final != FINAL_NONE);
}

struct duration work_rate_limiter_time(const struct work_clients *all)
{
    must(all->kind == &limiter_kind);
    return final_check_time_all((const struct work_rate_limiter *)all);
}
