/* work_ttl.c - clients whose items have a time to live. */
#include "sim/work/work_ttl.h"

#include "base/settings/expiry.h"

const char work_ttl_table[] = "sessions";

enum {
    SLACK_MS = 15000,       /* until all groups have leaders again */
    MARGIN_MS = 1000,       /* times are whole seconds */
    SURELY_MS = 20 * 60000, /* more than any clock is off */
    CANDIDATES_MAX = 8
};

/* An item that may be there. */
struct candidate {
    uint32_t number; /* 0: no item is there */
    int64_t end_ms;  /* its time, by a correct clock; INT64_MAX: it has none */
};

struct ttl_key {
    struct candidate all[CANDIDATES_MAX];
    uint32_t count;
    struct instant quiet_from; /* until then a write may come late: the key is left alone */
    uint64_t
        off_mark; /* while time to live is off since then, the item is known to be there; 0: not */
    struct instant gone_by; /* at last */
    bool last_put;
    bool done;
};

enum ttl_step {
    TTL_SWITCH = WORK_STEPS, /* time to live */
    TTL_PUT,
    TTL_READ,
};

struct ttl_client {
    struct work_client client;
    uint32_t key; /* of the call */
    struct candidate put;
    uint64_t off_mark; /* when the call began */
    bool puts_last;
    struct ttl_key keys[WORK_TTL_KEYS];
};

struct work_ttl {
    struct work_clients clients;
    uint32_t numbers;           /* of items, so far */
    int64_t at_last_ms;         /* world_most_ahead_ms before and after the faults */
    bool made;                  /* the table is there, and its items expire */
    struct instant switched_by; /* until then a request that was abandoned may switch that on */
};

static struct work_ttl *ttl_of(const struct ttl_client *c)
{
    return (struct work_ttl *)c->client.all;
}

static const struct plan *ttl_plan(const struct ttl_client *c)
{
    return work_clients_plan(c->client.all);
}

static struct instant ttl_now(const struct ttl_client *c)
{
    return work_clients_now(c->client.all);
}

/* By a correct clock. */
static int64_t ttl_wall_ms(const struct ttl_client *c)
{
    return SIM_WALL_BASE_MS + ttl_now(c).ns / NS_PER_MS;
}

/* ---- requests ---- */

static const char *ttl_table(const void *client, struct dynamo_spec *spec)
{
    static const struct dynamo_keys keys = {.partition = ATTR_STRING};
    const struct plan *p = ttl_plan(client);
    *spec = (struct dynamo_spec){
        .keys = &keys, .units = plan_side_units(p), .global_indexes = plan_has(p, SIM_MIXED)};
    return work_ttl_table;
}

/* A transaction checks another item of the client besides, and so has two parts. */
static const char *client_write_put(struct ttl_client *c)
{
    struct buffer *out = &c->client.body;
    const bool parts = plan_has(ttl_plan(c), SIM_MIXED) && prng_below(&c->client.prng, 2) == 0;
    if (parts)
        buffer_append_format(
            out,
            "{\"TransactItems\":[{\"ConditionCheck\":{\"TableName\":\"%s\",\"Key\":{"
            "\"k\":{\"S\":\"%u.%u\"}},\"ConditionExpression\":"
            "\"attribute_not_exists(absent)\"}},{\"Put\":",
            work_ttl_table, c->client.number, (c->key + 1) % WORK_TTL_KEYS);
    buffer_append_format(out,
                         "{\"TableName\":\"%s\",\"Item\":{\"k\":{\"S\":\"%u.%u\"},"
                         "\"v\":{\"N\":\"%u\"}",
                         work_ttl_table, c->client.number, c->key, c->put.number);
    if (c->put.end_ms != INT64_MAX)
        buffer_append_format(out, ",\"t\":{\"N\":\"%lld\"}", (long long)(c->put.end_ms / 1000));
    buffer_append_text(out, parts ? "}}}]}" : "}}");
    return parts ? "TransactWriteItems" : "PutItem";
}

static const char *client_write_read(struct ttl_client *c)
{
    buffer_append_format(&c->client.body,
                         "{\"ConsistentRead\":true,\"TableName\":\"%s\",\"Key\":{\"k\":{\"S\":"
                         "\"%u.%u\"}}}",
                         work_ttl_table, c->client.number, c->key);
    return "GetItem";
}

static const char *client_write_switch(struct ttl_client *c)
{
    buffer_append_format(&c->client.body,
                         "{\"TableName\":\"%s\",\"TimeToLiveSpecification\":{\"Enabled\":true,"
                         "\"AttributeName\":\"t\"}}",
                         work_ttl_table);
    return "UpdateTimeToLive";
}

/* ---- answers ---- */

static void candidates_append(const struct ttl_key *k, struct buffer *out)
{
    for (uint32_t i = 0; i < k->count; i++)
        buffer_append_format(out, "%s%u (%lld)", i > 0 ? ", " : "", k->all[i].number,
                             (long long)k->all[i].end_ms);
}

/* 0: items may expire. */
static uint64_t work_ttl_off(const struct work_ttl *e)
{
    bool on;
    const uint64_t mark = work_switches_mark(&e->clients, SWITCH_TTL, &on);
    return on ? 0 : mark;
}

/* An item is there, or none. What the client knew before is in the key. */
static void client_saw_while_off(struct ttl_client *c, bool there)
{
    struct work_ttl *e = ttl_of(c);
    struct ttl_key *k = &c->keys[c->key];
    const uint64_t off = work_ttl_off(e);
    if (!there && off != 0 && k->off_mark == off)
        buffer_append_format(&e->clients.wrong, "key %u.%u has no item, and nothing expires\n",
                             c->client.number, c->key);
    k->off_mark = there && off == c->off_mark ? off : 0;
}

static void client_saw(struct ttl_client *c, uint32_t number)
{
    struct work_ttl *e = ttl_of(c);
    struct ttl_key *k = &c->keys[c->key];
    const int64_t ahead_ms =
        k->last_put ? e->at_last_ms : world_max_ahead_ms(&e->clients.options.run->world);
    const int64_t over_ms = ttl_wall_ms(c) + ahead_ms + MARGIN_MS;
    for (uint32_t i = 0; i < k->count; i++) {
        const struct candidate was = k->all[i];
        if (was.number != number && (number != 0 || was.end_ms > over_ms))
            continue;
        k->all[0] = number == 0 ? (struct candidate){0, INT64_MAX} : was;
        k->count = 1;
        return;
    }
    buffer_append_format(&e->clients.wrong, "key %u.%u has item %u at %lld, and may only have ",
                         c->client.number, c->key, number, (long long)ttl_wall_ms(c));
    candidates_append(k, &e->clients.wrong);
    buffer_append_text(&e->clients.wrong, "\n");
}

static void client_end_put(struct ttl_client *c, int status)
{
    struct ttl_key *k = &c->keys[c->key];
    if (status == 200) {
        k->count = 1;
        k->all[0] = c->put;
        client_saw_while_off(c, true);
        k->last_put = c->puts_last;
        k->gone_by = instant_add_ms(ttl_now(c),
                                    config_expiry(&ttl_plan(c)->config)->ttl_window_ms + SLACK_MS);
    } else if (http_client_is_unknown(status)) {
        must(k->count < CANDIDATES_MAX);
        k->off_mark = 0;
        k->all[k->count++] = c->put;
        k->quiet_from = instant_add_ms(ttl_now(c), WORK_QUIET_MS);
    }
}

/* At last: the item is gone, or it must stay. */
static void client_end_last(struct ttl_client *c)
{
    struct ttl_key *k = &c->keys[c->key];
    const bool stays = k->all[0].end_ms > ttl_wall_ms(c);
    const bool late = !instant_before(ttl_now(c), k->gone_by);
    k->done = stays ? late : k->all[0].number == 0;
    if (!stays && late && !k->done)
        buffer_append_format(&c->client.all->wrong,
                             "key %u.%u still has item %u, whose time is over\n", c->client.number,
                             c->key, k->all[0].number);
}

static void client_end_read(struct ttl_client *c, int status, struct slice body)
{
    const struct ttl_key *k = &c->keys[c->key];
    if (status != 200)
        return;
    const bool last = k->last_put;
    client_saw_while_off(c, dynamo_value(body) != 0);
    client_saw(c, (uint32_t)dynamo_value(body));
    if (last)
        client_end_last(c);
}

static void client_end_switch(struct ttl_client *c, int status, struct slice body)
{
    struct work_ttl *e = ttl_of(c);
    e->made = status == 200 || dynamo_contains(body, "already enabled");
    if (http_client_is_unknown(status))
        e->switched_by = instant_add_ms(ttl_now(c), WORK_QUIET_MS);
    if (e->made)
        c->client.step = WORK_STEP_IDLE;
}

static void ttl_answered(void *client, int status, struct slice body)
{
    struct ttl_client *c = client;
    switch ((enum ttl_step)c->client.step) {
    case TTL_SWITCH:
        client_end_switch(c, status, body);
        return;
    case TTL_PUT:
        client_end_put(c, status);
        break;
    case TTL_READ:
        client_end_read(c, status, body);
        break;
    }
    c->client.step = WORK_STEP_IDLE;
}

/* ---- what to do ---- */

/* Times that are over by every clock, or by none, or soon. */
static int64_t client_choose_end(struct ttl_client *c)
{
    const int64_t now_ms = ttl_wall_ms(c);
    int64_t end_ms = INT64_MAX;
    switch (prng_below(&c->client.prng, 5)) {
    case 0:
    case 1:
        end_ms = now_ms - SURELY_MS;
        break;
    case 2:
        end_ms = now_ms + prng_between(&c->client.prng, 0, 2000);
        break;
    case 3:
        end_ms = now_ms + SURELY_MS;
        break;
    default:
        return INT64_MAX;
    }
    return end_ms / 1000 * 1000;
}

static void client_begin_put(struct ttl_client *c, int64_t end_ms, bool last)
{
    c->client.step = TTL_PUT;
    c->puts_last = last; /* one that was begun before may expire soon, by a clock that is behind */
    c->put = (struct candidate){++ttl_of(c)->numbers, end_ms};
}

static void client_choose_load(struct ttl_client *c)
{
    c->key = (uint32_t)prng_below(&c->client.prng, WORK_TTL_KEYS);
    const struct ttl_key *k = &c->keys[c->key];
    if (instant_before(ttl_now(c), k->quiet_from))
        return;
    if (k->count > 1 || prng_below(&c->client.prng, 2) == 0)
        c->client.step = TTL_READ;
    else
        client_begin_put(c, client_choose_end(c), false);
}

/* Each key gets a last item: every other one expires. */
static void client_choose_last(struct ttl_client *c)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < WORK_TTL_KEYS; i++)
        done += c->keys[i].done;
    if (done == WORK_TTL_KEYS || c->client.all->wrong.size > 0) {
        c->client.step = WORK_STEP_DONE;
        return;
    }
    do
        c->key = (c->key + 1) % WORK_TTL_KEYS;
    while (c->keys[c->key].done);
    const struct ttl_key *k = &c->keys[c->key];
    const int64_t surely = c->key % 2 == 0 ? -SURELY_MS : SURELY_MS;
    if (instant_before(ttl_now(c), k->quiet_from))
        return;
    if (k->last_put || k->count > 1)
        c->client.step = TTL_READ;
    else
        client_begin_put(c, (ttl_wall_ms(c) + surely) / 1000 * 1000, true);
}

static void ttl_choose(void *client)
{
    struct ttl_client *c = client;
    const struct work_ttl *e = ttl_of(c);
    if (!work_client_has_tables(&c->client))
        return;
    if (!e->made)
        c->client.step = c->client.number == 0 ? TTL_SWITCH : WORK_STEP_IDLE;
    else if (!e->clients.ending)
        client_choose_load(c);
    else if (work_clients_are_done(work_clients_of_run(&e->clients, WORK_SWITCHES)))
        client_choose_last(c);
}

static const char *ttl_write(void *client)
{
    struct ttl_client *c = client;
    c->off_mark = work_ttl_off(ttl_of(c));
    buffer_clear(&c->client.body);
    switch ((enum ttl_step)c->client.step) {
    case TTL_SWITCH:
        return client_write_switch(c);
    case TTL_PUT:
        return client_write_put(c);
    case TTL_READ:
        return client_write_read(c);
    }
    return NULL;
}

/* ---- life ---- */

static const struct work_client_kind ttl_kind = {.name = "of items that expire",
                                                 .size = sizeof(struct work_ttl),
                                                 .client_size = sizeof(struct ttl_client),
                                                 .idle_ms = WORK_POLL_MS,
                                                 .retry_ms = WORK_RETRY_MS,
                                                 .choose = ttl_choose,
                                                 .write = ttl_write,
                                                 .answered = ttl_answered,
                                                 .table = ttl_table};

struct work_clients *work_ttl_create(const struct work_clients_options *options)
{
    struct work_ttl *e = work_clients_create(&ttl_kind, options);
    e->clients.tables = 1;
    e->at_last_ms = world_max_ahead_ms(&options->run->world);
    for (uint32_t i = 0; i < options->count; i++) {
        struct ttl_client *c = work_clients_at(&e->clients, i);
        for (uint32_t k = 0; k < WORK_TTL_KEYS; k++)
            c->keys[k] = (struct ttl_key){.count = 1, .all = {{0, INT64_MAX}}};
    }
    return &e->clients;
}

bool work_ttl_are_made(const struct work_clients *all)
{
    const struct work_ttl *e = (const struct work_ttl *)all;
    must(all->kind == &ttl_kind);
    return e->made && !instant_before(work_clients_now(all), e->switched_by);
}
