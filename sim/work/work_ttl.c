/* work_ttl.c - clients whose items have a time to live. */
#include "sim/work/work_ttl.h"

#include <stdlib.h>

#include "base/prng.h"
#include "sim/world/clock.h"
#include "sim/world/dynamo.h"

const char work_ttl_table[] = "sessions";

enum {
    CALL_TIMEOUT_MS = 6000,
    RETRY_MS = 100,
    QUIET_MS = 12000, /* then no abandoned call is on its way any more */
    POLL_MS = 200,
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

enum ttl_work {
    TTL_WORK_IDLE,
    TTL_WORK_MAKE,   /* the table */
    TTL_WORK_AWAIT,  /* it is active */
    TTL_WORK_SWITCH, /* time to live */
    TTL_WORK_PUT,
    TTL_WORK_READ,
    TTL_WORK_DONE,
};

struct ttl_client {
    struct work_ttl *all; /* borrows */
    struct http_client http;
    struct prng prng;
    enum ttl_work work;
    uint32_t number; /* of the client */
    uint32_t key;    /* of the call */
    struct candidate put;
    uint64_t off_mark; /* when the call began */
    bool puts_last;
    struct ttl_key keys[WORK_TTL_KEYS];
    int last_status;
    struct buffer body;
    struct buffer last_error;
};

struct work_ttl {
    struct work_ttl_options options;
    struct ttl_client *clients; /* owns */
    uint32_t numbers;           /* of items, so far */
    int64_t at_last_ms;         /* world_most_ahead_ms before and after the faults */
    struct buffer wrong;        /* empty: nothing */
    bool made;                  /* the table is there, and its items expire */
    struct instant switched_by; /* until then a request that was abandoned may switch that on */
    bool on;
    bool ending;
};

static void client_next(struct ttl_client *c, int64_t ns);

static struct instant work_ttl_now(const struct work_ttl *e)
{
    return e->options.scheduler->now;
}

/* By a correct clock. */
static int64_t work_ttl_wall_ms(const struct work_ttl *e)
{
    return SIM_WALL_BASE_MS + work_ttl_now(e).ns / NS_PER_MS;
}

/* ---- requests ---- */

/* A transaction checks another item of the client besides, and so has two parts. */
static const char *client_write_put(struct ttl_client *c)
{
    const bool parts = c->all->options.mixed && prng_below(&c->prng, 2) == 0;
    if (parts)
        buffer_append_format(
            &c->body,
            "{\"TransactItems\":[{\"ConditionCheck\":{\"TableName\":\"%s\",\"Key\":{"
            "\"k\":{\"S\":\"%u.%u\"}},\"ConditionExpression\":"
            "\"attribute_not_exists(absent)\"}},{\"Put\":",
            work_ttl_table, c->number, (c->key + 1) % WORK_TTL_KEYS);
    buffer_append_format(&c->body,
                         "{\"TableName\":\"%s\",\"Item\":{\"k\":{\"S\":\"%u.%u\"},"
                         "\"v\":{\"N\":\"%u\"}",
                         work_ttl_table, c->number, c->key, c->put.number);
    if (c->put.end_ms != INT64_MAX)
        buffer_append_format(&c->body, ",\"t\":{\"N\":\"%lld\"}",
                             (long long)(c->put.end_ms / 1000));
    buffer_append_text(&c->body, parts ? "}}}]}" : "}}");
    return parts ? "TransactWriteItems" : "PutItem";
}

static const char *client_write_read(struct ttl_client *c)
{
    buffer_append_format(&c->body,
                         "{\"ConsistentRead\":true,\"TableName\":\"%s\",\"Key\":{\"k\":{\"S\":"
                         "\"%u.%u\"}}}",
                         work_ttl_table, c->number, c->key);
    return "GetItem";
}

static const char *client_write_switch(struct ttl_client *c)
{
    buffer_append_format(&c->body,
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
    const uint64_t mark = work_switches_mark(e->options.work_switches, SWITCH_TTL, &on);
    return on ? 0 : mark;
}

/* An item is there, or none. What the client knew before is in the key. */
static void client_saw_while_off(struct ttl_client *c, bool there)
{
    struct work_ttl *e = c->all;
    struct ttl_key *k = &c->keys[c->key];
    const uint64_t off = work_ttl_off(e);
    if (!there && off != 0 && k->off_mark == off)
        buffer_append_format(&e->wrong, "key %u.%u has no item, and nothing expires\n", c->number,
                             c->key);
    k->off_mark = there && off == c->off_mark ? off : 0;
}

static void client_saw(struct ttl_client *c, uint32_t number)
{
    struct work_ttl *e = c->all;
    struct ttl_key *k = &c->keys[c->key];
    const int64_t ahead_ms = k->last_put ? e->at_last_ms : world_max_ahead_ms(e->options.world);
    const int64_t over_ms = work_ttl_wall_ms(e) + ahead_ms + MARGIN_MS;
    for (uint32_t i = 0; i < k->count; i++) {
        const struct candidate was = k->all[i];
        if (was.number != number && (number != 0 || was.end_ms > over_ms))
            continue;
        k->all[0] = number == 0 ? (struct candidate){0, INT64_MAX} : was;
        k->count = 1;
        return;
    }
    buffer_append_format(&e->wrong, "key %u.%u has item %u at %lld, and may only have ", c->number,
                         c->key, number, (long long)work_ttl_wall_ms(e));
    candidates_append(k, &e->wrong);
    buffer_append_text(&e->wrong, "\n");
}

static void client_end_put(struct ttl_client *c, int status)
{
    struct ttl_key *k = &c->keys[c->key];
    if (status == 200) {
        k->count = 1;
        k->all[0] = c->put;
        client_saw_while_off(c, true);
        k->last_put = c->puts_last;
        k->gone_by = instant_add_ms(work_ttl_now(c->all), c->all->options.window_ms + SLACK_MS);
    } else if (http_client_is_unknown(status)) {
        must(k->count < CANDIDATES_MAX);
        k->off_mark = 0;
        k->all[k->count++] = c->put;
        k->quiet_from = instant_add_ms(work_ttl_now(c->all), QUIET_MS);
    }
}

/* At last: the item is gone, or it must stay. */
static void client_end_last(struct ttl_client *c)
{
    struct ttl_key *k = &c->keys[c->key];
    const bool stays = k->all[0].end_ms > work_ttl_wall_ms(c->all);
    const bool late = !instant_before(work_ttl_now(c->all), k->gone_by);
    k->done = stays ? late : k->all[0].number == 0;
    if (!stays && late && !k->done)
        buffer_append_format(&c->all->wrong, "key %u.%u still has item %u, whose time is over\n",
                             c->number, c->key, k->all[0].number);
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

static void client_done(void *context, int status, struct slice body)
{
    struct ttl_client *c = context;
    c->last_status = status;
    buffer_clear(&c->last_error);
    if (status != 200)
        buffer_append_slice(&c->last_error, body);
    switch (c->work) {
    case TTL_WORK_MAKE:
        if (status == 200 || dynamo_says(body, "ResourceInUse"))
            c->work = TTL_WORK_AWAIT;
        break;
    case TTL_WORK_AWAIT:
        if (status == 200 && dynamo_says(body, "\"TableStatus\":\"ACTIVE\""))
            c->work = TTL_WORK_SWITCH;
        else if (dynamo_says(body, "ResourceNotFound"))
            c->work = TTL_WORK_MAKE;
        break;
    case TTL_WORK_SWITCH:
        c->all->made = status == 200 || dynamo_says(body, "already enabled");
        if (http_client_is_unknown(status))
            c->all->switched_by = instant_add_ms(work_ttl_now(c->all), QUIET_MS);
        if (c->all->made)
            c->work = TTL_WORK_IDLE;
        break;
    case TTL_WORK_PUT:
        client_end_put(c, status);
        c->work = TTL_WORK_IDLE;
        break;
    case TTL_WORK_READ:
        client_end_read(c, status, body);
        c->work = TTL_WORK_IDLE;
        break;
    case TTL_WORK_IDLE:
    case TTL_WORK_DONE:
        break;
    }
    const int64_t think = prng_between(&c->prng, 0, c->all->options.think_ns);
    client_next(c, status == 200 ? think : RETRY_MS * NS_PER_MS);
}

/* ---- what to do ---- */

/* Times that are over by every clock, or by none, or soon. */
static int64_t client_choose_end(struct ttl_client *c)
{
    const int64_t now_ms = work_ttl_wall_ms(c->all);
    int64_t end_ms = INT64_MAX;
    switch (prng_below(&c->prng, 5)) {
    case 0:
    case 1:
        end_ms = now_ms - SURELY_MS;
        break;
    case 2:
        end_ms = now_ms + prng_between(&c->prng, 0, 2000);
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
    c->work = TTL_WORK_PUT;
    c->puts_last = last; /* one that was begun before may expire soon, by a clock that is behind */
    c->put = (struct candidate){++c->all->numbers, end_ms};
}

static void client_choose_load(struct ttl_client *c)
{
    c->key = (uint32_t)prng_below(&c->prng, WORK_TTL_KEYS);
    const struct ttl_key *k = &c->keys[c->key];
    if (instant_before(work_ttl_now(c->all), k->quiet_from))
        return;
    if (k->count > 1 || prng_below(&c->prng, 2) == 0)
        c->work = TTL_WORK_READ;
    else
        client_begin_put(c, client_choose_end(c), false);
}

/* Each key gets a last item: every other one expires. */
static void client_choose_last(struct ttl_client *c)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < WORK_TTL_KEYS; i++)
        done += c->keys[i].done;
    if (done == WORK_TTL_KEYS || c->all->wrong.size > 0) {
        c->work = TTL_WORK_DONE;
        return;
    }
    do
        c->key = (c->key + 1) % WORK_TTL_KEYS;
    while (c->keys[c->key].done);
    const struct ttl_key *k = &c->keys[c->key];
    const int64_t surely = c->key % 2 == 0 ? -SURELY_MS : SURELY_MS;
    if (instant_before(work_ttl_now(c->all), k->quiet_from))
        return;
    if (k->last_put || k->count > 1)
        c->work = TTL_WORK_READ;
    else
        client_begin_put(c, (work_ttl_wall_ms(c->all) + surely) / 1000 * 1000, true);
}

static void client_choose(struct ttl_client *c)
{
    struct work_ttl *e = c->all;
    if (c->work != TTL_WORK_IDLE)
        return;
    if (!e->made)
        c->work = c->number == 0 ? TTL_WORK_MAKE : TTL_WORK_IDLE;
    else if (e->ending && work_clients_are_done(e->options.work_switches))
        client_choose_last(c);
    else if (e->ending)
        return;
    else if (e->on)
        client_choose_load(c);
}

static void client_run(void *context, uint64_t argument)
{
    struct ttl_client *c = context;
    const struct dynamo_keys keys = {.partition = ATTR_STRING};
    const struct dynamo_spec spec = {
        .keys = &keys, .units = c->all->options.units, .global_indexes = c->all->options.mixed};
    const char *operation = "DescribeTable";
    (void)argument;
    client_choose(c);
    c->off_mark = work_ttl_off(c->all);
    buffer_clear(&c->body);
    switch (c->work) {
    case TTL_WORK_IDLE:
        client_next(c, POLL_MS * NS_PER_MS);
        return;
    case TTL_WORK_DONE:
        return;
    case TTL_WORK_MAKE:
        dynamo_create_table(&c->body, work_ttl_table, &spec);
        operation = "CreateTable";
        break;
    case TTL_WORK_AWAIT:
        dynamo_table(&c->body, work_ttl_table);
        break;
    case TTL_WORK_SWITCH:
        operation = client_write_switch(c);
        break;
    case TTL_WORK_PUT:
        operation = client_write_put(c);
        break;
    case TTL_WORK_READ:
        operation = client_write_read(c);
        break;
    }
    http_client_call(&c->http, operation, buffer_slice(&c->body), duration_ms(CALL_TIMEOUT_MS),
                     client_done, c);
}

static void client_next(struct ttl_client *c, int64_t ns)
{
    scheduler_in(c->all->options.scheduler, (struct duration){ns}, client_run, c, 0);
}

/* ---- life ---- */

struct work_ttl *work_ttl_create(const struct work_ttl_options *options)
{
    struct work_ttl *e = must_calloc(1, sizeof *e);
    e->options = *options;
    e->at_last_ms = world_max_ahead_ms(options->world);
    e->clients = must_calloc(options->clients, sizeof e->clients[0]);
    for (uint32_t i = 0; i < options->clients; i++) {
        const struct http_client_options http = options->http(options->context, i);
        struct ttl_client *c = &e->clients[i];
        c->all = e;
        c->number = i;
        c->prng = prng_seeded(options->seed + i);
        for (uint32_t k = 0; k < WORK_TTL_KEYS; k++)
            c->keys[k] = (struct ttl_key){.count = 1, .all = {{0, INT64_MAX}}};
        http_client_init(&c->http, &http);
    }
    return e;
}

void work_ttl_destroy(struct work_ttl *e)
{
    for (uint32_t i = 0; i < e->options.clients; i++) {
        http_client_deinit(&e->clients[i].http);
        buffer_deinit(&e->clients[i].body);
        buffer_deinit(&e->clients[i].last_error);
    }
    free(e->clients);
    buffer_deinit(&e->wrong);
    free(e);
}

void work_ttl_begin(struct work_ttl *e)
{
    e->on = true;
    for (uint32_t i = 0; i < e->options.clients; i++)
        client_next(&e->clients[i], 0);
}

void work_ttl_end(struct work_ttl *e)
{
    e->ending = true;
}

bool work_ttl_are_made(const struct work_ttl *e)
{
    return e->made && !instant_before(work_ttl_now(e), e->switched_by);
}

bool work_ttl_are_done(const struct work_ttl *e)
{
    for (uint32_t i = 0; i < e->options.clients; i++) {
        if (e->clients[i].work != TTL_WORK_DONE)
            return false;
    }
    return true;
}

void work_ttl_describe(const struct work_ttl *e, struct buffer *out)
{
    for (uint32_t i = 0; i < e->options.clients; i++) {
        const struct ttl_client *c = &e->clients[i];
        if (c->work != TTL_WORK_DONE)
            buffer_append_format(out,
                                 "client %u of items that expire is at step %d; the last answer "
                                 "was %d %.*s\n",
                                 i, (int)c->work, c->last_status, (int)c->last_error.size,
                                 (const char *)c->last_error.data);
    }
}

bool work_ttl_check(const struct work_ttl *e, struct buffer *why)
{
    buffer_append_slice(why, buffer_slice(&e->wrong));
    return e->wrong.size == 0;
}
