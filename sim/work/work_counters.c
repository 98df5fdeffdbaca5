/* work_counters.c - clients that add to counters, and read them. */
#include "sim/work/work_counters.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/prng.h"
#include "sim/world/dynamo.h"

const char work_counters_table[] = "tallies";

enum {
    CALL_TIMEOUT_MS = 6000,
    RETRY_MS = 100,
    REFUSALS_MAX = 5, /* then pauses do not double any more */
    SHORT_PAUSES = 8, /* one after the other */
    POLL_MS = 200,
    READ_PERCENT = 25,
    QUERY_PERCENT = 40 /* of reads */
};

enum counter_work {
    COUNTER_WORK_IDLE,
    COUNTER_WORK_MAKE,  /* the table */
    COUNTER_WORK_AWAIT, /* it is active */
    COUNTER_WORK_ADD,
    COUNTER_WORK_READ,
    COUNTER_WORK_DONE,
};

struct counter_client {
    struct work_counters *all; /* borrows */
    struct http_client http;
    struct prng prng;
    enum counter_work work;
    uint32_t number; /* of the client */
    uint32_t key;    /* of the call */
    uint64_t invocation;
    uint32_t attempt;
    uint64_t min; /* that a read may find */
    bool queries;
    uint32_t last_read; /* at last: counters that were read */
    uint32_t refusals;  /* one after the other */
    int last_status;
    struct buffer body;
    struct buffer last_error;
};

struct work_counters {
    struct work_counters_options options;
    struct counter_client *clients; /* owns */
    struct {
        uint64_t begun;
        uint64_t acknowledged;
        uint64_t read; /* the most */
    } keys[WORK_COUNTERS_KEYS];
    uint64_t invocations;
    struct buffer wrong; /* empty: nothing */
    bool made;           /* the table is there */
    bool on;
    bool ending;
};

static void client_next(struct counter_client *c, int64_t ns);

void work_counters_key(uint32_t key, char out[8])
{
    snprintf(out, 8, "t%u", key);
}

/* ---- requests ---- */

static const char *client_write_add(struct counter_client *c)
{
    char key[8];
    work_counters_key(c->key, key);
    snprintf(c->http.lines, sizeof c->http.lines,
             "amz-sdk-invocation-id: %016llx\r\namz-sdk-request: attempt=%u; max=9\r\n",
             (unsigned long long)c->invocation, c->attempt);
    buffer_append_format(&c->body,
                         "{\"TableName\":\"%s\",\"Key\":{\"k\":{\"S\":\"%s\"},\"s\":{\"S\":\"x\"}},"
                         "\"UpdateExpression\":\"ADD n :one\",\"ExpressionAttributeValues\":{"
                         "\":one\":{\"N\":\"1\"}}}",
                         work_counters_table, key);
    return "UpdateItem";
}

static const char *client_write_read(struct counter_client *c)
{
    char key[8];
    work_counters_key(c->key, key);
    buffer_append_format(&c->body, "{\"ConsistentRead\":true,\"TableName\":\"%s\",",
                         work_counters_table);
    if (c->queries)
        buffer_append_format(&c->body,
                             "\"KeyConditionExpression\":\"k = :k\",\"ExpressionAttributeValues\":{"
                             "\":k\":{\"S\":\"%s\"}}}",
                             key);
    else
        buffer_append_format(&c->body, "\"Key\":{\"k\":{\"S\":\"%s\"},\"s\":{\"S\":\"x\"}}}", key);
    return c->queries ? "Query" : "GetItem";
}

/* ---- answers ---- */

static void client_end_read(struct counter_client *c, struct slice body)
{
    struct work_counters *t = c->all;
    const uint64_t n = dynamo_number(body, "\"n\":{\"N\":\""), max = t->keys[c->key].begun;
    if (n < c->min || n > max)
        buffer_append_format(&t->wrong, "%s of counter %u finds %llu, and must find %llu to %llu\n",
                             c->queries ? "a Query" : "a GetItem", c->key, (unsigned long long)n,
                             (unsigned long long)c->min, (unsigned long long)max);
    if (n > t->keys[c->key].read)
        t->keys[c->key].read = n;
    c->last_read += t->ending;
}

static void client_made(struct counter_client *c, int status, struct slice body)
{
    if (c->work == COUNTER_WORK_MAKE && (status == 200 || dynamo_says(body, "ResourceInUse")))
        c->work = COUNTER_WORK_AWAIT;
    else if (c->work == COUNTER_WORK_AWAIT && status == 200 &&
             dynamo_says(body, "\"TableStatus\":\"ACTIVE\""))
        c->all->made = true;
    else if (c->work == COUNTER_WORK_AWAIT && dynamo_says(body, "ResourceNotFound"))
        c->work = COUNTER_WORK_MAKE;
    if (c->all->made)
        c->work = COUNTER_WORK_IDLE;
}

/* After a refusal. Now and then it is long, and longer each time, so that units for all cells are
 * saved meanwhile. Between, pauses are short: tokens that a router has asked for must be used
 * soon, and the policy `periodic` gives it as many as it was asked for in a period, which must be
 * a whole one. */
static int64_t client_pause(struct counter_client *c)
{
    const uint32_t rounds = ++c->refusals / SHORT_PAUSES;
    const uint32_t doubles = rounds < REFUSALS_MAX ? rounds : REFUSALS_MAX;
    return (RETRY_MS * NS_PER_MS) << (c->refusals % SHORT_PAUSES != 0 ? 0 : doubles);
}

static void client_done(void *context, int status, struct slice body)
{
    struct counter_client *c = context;
    c->http.lines[0] = '\0';
    c->last_status = status;
    buffer_clear(&c->last_error);
    if (status != 200)
        buffer_append_slice(&c->last_error, body);
    if (c->work == COUNTER_WORK_MAKE || c->work == COUNTER_WORK_AWAIT)
        client_made(c, status, body);
    else if (c->work == COUNTER_WORK_ADD && status == 200)
        c->all->keys[c->key].acknowledged++;
    else if (c->work == COUNTER_WORK_READ && status == 200)
        client_end_read(c, body);
    if (status == 200 && (c->work == COUNTER_WORK_ADD || c->work == COUNTER_WORK_READ))
        c->work = COUNTER_WORK_IDLE;
    const int64_t think = prng_between(&c->prng, 0, c->all->options.think_ns);
    client_next(c, status == 200 ? think : client_pause(c));
    if (status == 200)
        c->refusals = 0;
}

/* ---- what to do ---- */

static void client_begin_read(struct counter_client *c, uint32_t key)
{
    const struct work_counters *t = c->all;
    c->key = key;
    c->work = COUNTER_WORK_READ;
    c->queries = prng_below(&c->prng, 100) < QUERY_PERCENT;
    c->min = t->keys[key].acknowledged > t->keys[key].read ? t->keys[key].acknowledged
                                                           : t->keys[key].read;
}

static void client_choose_load(struct counter_client *c)
{
    const uint32_t key = (uint32_t)prng_below(&c->prng, WORK_COUNTERS_KEYS);
    if (prng_below(&c->prng, 100) < READ_PERCENT) {
        client_begin_read(c, key);
        return;
    }
    c->key = key;
    c->work = COUNTER_WORK_ADD;
    c->invocation = ++c->all->invocations;
    c->attempt = 0;
    c->all->keys[key].begun++;
}

/* The first client reads all counters once every addition is acknowledged: then begun,
 * acknowledged and found must be the same. */
static void client_choose_last(struct counter_client *c)
{
    const struct work_counters *t = c->all;
    bool quiet = true;
    for (uint32_t i = 0; i < t->options.clients; i++)
        quiet &= t->clients[i].work != COUNTER_WORK_ADD;
    if (c->number > 0 || c->last_read == WORK_COUNTERS_KEYS || t->wrong.size > 0)
        c->work = COUNTER_WORK_DONE;
    else if (quiet)
        client_begin_read(c, c->last_read);
}

static void client_choose(struct counter_client *c)
{
    const struct work_counters *t = c->all;
    if (c->work != COUNTER_WORK_IDLE)
        return;
    if (!t->made)
        c->work = c->number == 0 ? COUNTER_WORK_MAKE : COUNTER_WORK_IDLE;
    else if (t->ending)
        client_choose_last(c);
    else if (t->on)
        client_choose_load(c);
}

static void client_run(void *context, uint64_t argument)
{
    struct counter_client *c = context;
    const struct dynamo_keys keys = {.partition = ATTR_STRING, .sort = ATTR_STRING};
    const struct dynamo_spec spec = {
        .keys = &keys, .units = c->all->options.units, .key_sharding = DYNAMO_COUNTERS};
    const char *operation = "DescribeTable";
    (void)argument;
    client_choose(c);
    buffer_clear(&c->body);
    switch (c->work) {
    case COUNTER_WORK_IDLE:
        client_next(c, POLL_MS * NS_PER_MS);
        return;
    case COUNTER_WORK_DONE:
        return;
    case COUNTER_WORK_MAKE:
        dynamo_create_table(&c->body, work_counters_table, &spec);
        operation = "CreateTable";
        break;
    case COUNTER_WORK_AWAIT:
        dynamo_table(&c->body, work_counters_table);
        break;
    case COUNTER_WORK_ADD:
        c->attempt++;
        operation = client_write_add(c);
        break;
    case COUNTER_WORK_READ:
        operation = client_write_read(c);
        break;
    }
    http_client_call(&c->http, operation, buffer_slice(&c->body), duration_ms(CALL_TIMEOUT_MS),
                     client_done, c);
}

static void client_next(struct counter_client *c, int64_t ns)
{
    scheduler_in(c->all->options.scheduler, (struct duration){ns}, client_run, c, 0);
}

/* ---- life ---- */

struct work_counters *work_counters_create(const struct work_counters_options *options)
{
    struct work_counters *t = must_calloc(1, sizeof *t);
    t->options = *options;
    t->clients = must_calloc(options->clients, sizeof t->clients[0]);
    for (uint32_t i = 0; i < options->clients; i++) {
        const struct http_client_options http = options->http(options->context, i);
        struct counter_client *c = &t->clients[i];
        c->all = t;
        c->number = i;
        c->prng = prng_seeded(options->seed + i);
        http_client_init(&c->http, &http);
    }
    return t;
}

void work_counters_destroy(struct work_counters *t)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        http_client_deinit(&t->clients[i].http);
        buffer_deinit(&t->clients[i].body);
        buffer_deinit(&t->clients[i].last_error);
    }
    free(t->clients);
    buffer_deinit(&t->wrong);
    free(t);
}

void work_counters_begin(struct work_counters *t)
{
    t->on = true;
    for (uint32_t i = 0; i < t->options.clients; i++)
        client_next(&t->clients[i], 0);
}

void work_counters_end(struct work_counters *t)
{
    t->ending = true;
}

bool work_counters_are_done(const struct work_counters *t)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        if (t->clients[i].work != COUNTER_WORK_DONE)
            return false;
    }
    return true;
}

void work_counters_describe(const struct work_counters *t, struct buffer *out)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        const struct counter_client *c = &t->clients[i];
        if (c->work != COUNTER_WORK_DONE)
            buffer_append_format(
                out, "client %u of counters is at step %d; the last answer was %d %.*s\n", i,
                (int)c->work, c->last_status, TEXT_OF(c->last_error));
    }
}

bool work_counters_check(const struct work_counters *t, struct buffer *why)
{
    buffer_append_slice(why, buffer_slice(&t->wrong));
    return t->wrong.size == 0;
}
