/* tallies.c - clients that add to counters, and read them. */
#include "sim/tallies.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/prng.h"
#include "sim/dynamo.h"

const char tallies_table[] = "tallies";

enum {
    CALL_TIMEOUT_MS = 6000,
    RETRY_MS = 100,
    REFUSALS_MOST = 5, /* then pauses do not double any more */
    SHORT_PAUSES = 8,  /* one after the other */
    LOOK_MS = 200,
    READ_PERCENT = 25,
    QUERY_PERCENT = 40 /* of reads */
};

enum tally_work {
    TALLY_IDLE,
    TALLY_MAKE,  /* the table */
    TALLY_AWAIT, /* it is active */
    TALLY_ADD,
    TALLY_READ,
    TALLY_DONE,
};

struct tally_client {
    struct tallies *all; /* borrows */
    struct http_client http;
    struct prng prng;
    enum tally_work work;
    uint32_t number; /* of the client */
    uint32_t key;    /* of the call */
    uint64_t invocation;
    uint32_t attempt;
    uint64_t least; /* that a read may find */
    bool queries;
    uint32_t last_read; /* at last: counters that were read */
    uint32_t refusals;  /* one after the other */
    int last_status;
    struct buffer body;
    struct buffer last_error;
};

struct tallies {
    struct tallies_options options;
    struct tally_client *clients; /* owns */
    struct {
        uint64_t begun;
        uint64_t acknowledged;
        uint64_t read; /* the most */
    } keys[TALLIES_KEYS];
    uint64_t invocations;
    struct buffer wrong; /* empty: nothing */
    bool made;           /* the table is there */
    bool on;
    bool ending;
};

static void client_next(struct tally_client *c, int64_t ns);

void tallies_key(uint32_t key, char out[8])
{
    snprintf(out, 8, "t%u", key);
}

/* ---- requests ---- */

static const char *client_write_add(struct tally_client *c)
{
    char key[8];
    tallies_key(c->key, key);
    snprintf(c->http.lines, sizeof c->http.lines,
             "amz-sdk-invocation-id: %016llx\r\namz-sdk-request: attempt=%u; max=9\r\n",
             (unsigned long long)c->invocation, c->attempt);
    buffer_append_format(&c->body,
                         "{\"TableName\":\"%s\",\"Key\":{\"k\":{\"S\":\"%s\"},\"s\":{\"S\":\"x\"}},"
                         "\"UpdateExpression\":\"ADD n :one\",\"ExpressionAttributeValues\":{"
                         "\":one\":{\"N\":\"1\"}}}",
                         tallies_table, key);
    return "UpdateItem";
}

static const char *client_write_read(struct tally_client *c)
{
    char key[8];
    tallies_key(c->key, key);
    buffer_append_format(&c->body, "{\"ConsistentRead\":true,\"TableName\":\"%s\",", tallies_table);
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

static uint64_t number_in(struct slice body)
{
    static const char begin[] = "\"n\":{\"N\":\"";
    const uint8_t *at = memmem(body.data, body.size, begin, sizeof begin - 1);
    return at == NULL ? 0 : strtoull((const char *)at + sizeof begin - 1, NULL, 10);
}

static void client_end_read(struct tally_client *c, struct slice body)
{
    struct tallies *t = c->all;
    const uint64_t n = number_in(body), most = t->keys[c->key].begun;
    if (n < c->least || n > most)
        buffer_append_format(&t->wrong, "%s of counter %u finds %llu, and must find %llu to %llu\n",
                             c->queries ? "a Query" : "a GetItem", c->key, (unsigned long long)n,
                             (unsigned long long)c->least, (unsigned long long)most);
    if (n > t->keys[c->key].read)
        t->keys[c->key].read = n;
    c->last_read += t->ending;
}

static void client_made(struct tally_client *c, int status, struct slice body)
{
    if (c->work == TALLY_MAKE && (status == 200 || dynamo_says(body, "ResourceInUse")))
        c->work = TALLY_AWAIT;
    else if (c->work == TALLY_AWAIT && status == 200 &&
             dynamo_says(body, "\"TableStatus\":\"ACTIVE\""))
        c->all->made = true;
    else if (c->work == TALLY_AWAIT && dynamo_says(body, "ResourceNotFound"))
        c->work = TALLY_MAKE;
    if (c->all->made)
        c->work = TALLY_IDLE;
}

/* After a refusal. Now and then it is long, and longer each time, so that units for all cells are saved
 * meanwhile. Between, pauses are short: tokens that a router has asked for must be used soon, and the policy
 * `periodic` gives it as many as it was asked for in a period, which must be a whole one. */
static int64_t client_pause(struct tally_client *c)
{
    const uint32_t rounds = ++c->refusals / SHORT_PAUSES;
    const uint32_t doubles = rounds < REFUSALS_MOST ? rounds : REFUSALS_MOST;
    return (RETRY_MS * NS_PER_MS) << (c->refusals % SHORT_PAUSES != 0 ? 0 : doubles);
}

static void client_done(void *context, int status, struct slice body)
{
    struct tally_client *c = context;
    c->http.lines[0] = '\0';
    c->last_status = status;
    buffer_clear(&c->last_error);
    if (status != 200)
        buffer_append_slice(&c->last_error, body);
    if (c->work == TALLY_MAKE || c->work == TALLY_AWAIT)
        client_made(c, status, body);
    else if (c->work == TALLY_ADD && status == 200)
        c->all->keys[c->key].acknowledged++;
    else if (c->work == TALLY_READ && status == 200)
        client_end_read(c, body);
    if (status == 200 && (c->work == TALLY_ADD || c->work == TALLY_READ))
        c->work = TALLY_IDLE;
    const int64_t think = prng_between(&c->prng, 0, c->all->options.think_ns);
    client_next(c, status == 200 ? think : client_pause(c));
    if (status == 200)
        c->refusals = 0;
}

/* ---- what to do ---- */

static void client_begin_read(struct tally_client *c, uint32_t key)
{
    const struct tallies *t = c->all;
    c->key = key;
    c->work = TALLY_READ;
    c->queries = prng_below(&c->prng, 100) < QUERY_PERCENT;
    c->least = t->keys[key].acknowledged > t->keys[key].read ? t->keys[key].acknowledged
                                                             : t->keys[key].read;
}

static void client_choose_load(struct tally_client *c)
{
    const uint32_t key = (uint32_t)prng_below(&c->prng, TALLIES_KEYS);
    if (prng_below(&c->prng, 100) < READ_PERCENT) {
        client_begin_read(c, key);
        return;
    }
    c->key = key;
    c->work = TALLY_ADD;
    c->invocation = ++c->all->invocations;
    c->attempt = 0;
    c->all->keys[key].begun++;
}

/* The first client reads all counters once every addition is acknowledged: then begun, acknowledged and
 * found must be the same. */
static void client_choose_last(struct tally_client *c)
{
    const struct tallies *t = c->all;
    bool quiet = true;
    for (uint32_t i = 0; i < t->options.clients; i++)
        quiet &= t->clients[i].work != TALLY_ADD;
    if (c->number > 0 || c->last_read == TALLIES_KEYS || t->wrong.size > 0)
        c->work = TALLY_DONE;
    else if (quiet)
        client_begin_read(c, c->last_read);
}

static void client_choose(struct tally_client *c)
{
    const struct tallies *t = c->all;
    if (c->work != TALLY_IDLE)
        return;
    if (!t->made)
        c->work = c->number == 0 ? TALLY_MAKE : TALLY_IDLE;
    else if (t->ending)
        client_choose_last(c);
    else if (t->on)
        client_choose_load(c);
}

static void client_run(void *context, uint64_t argument)
{
    struct tally_client *c = context;
    const struct dynamo_keys keys = {.partition = ATTR_STRING, .sort = ATTR_STRING};
    const struct dynamo_spec spec = {
        .keys = &keys, .units = c->all->options.units, .key_sharding = DYNAMO_COUNTERS};
    const char *operation = "DescribeTable";
    (void)argument;
    client_choose(c);
    buffer_clear(&c->body);
    switch (c->work) {
    case TALLY_IDLE:
        client_next(c, LOOK_MS * NS_PER_MS);
        return;
    case TALLY_DONE:
        return;
    case TALLY_MAKE:
        dynamo_create_table(&c->body, tallies_table, &spec);
        operation = "CreateTable";
        break;
    case TALLY_AWAIT:
        dynamo_table(&c->body, tallies_table);
        break;
    case TALLY_ADD:
        c->attempt++;
        operation = client_write_add(c);
        break;
    case TALLY_READ:
        operation = client_write_read(c);
        break;
    }
    http_client_call(&c->http, operation, buffer_slice(&c->body), duration_ms(CALL_TIMEOUT_MS),
                     client_done, c);
}

static void client_next(struct tally_client *c, int64_t ns)
{
    scheduler_in(c->all->options.scheduler, (struct duration){ns}, client_run, c, 0);
}

/* ---- life ---- */

struct tallies *tallies_create(const struct tallies_options *options)
{
    struct tallies *t = must_calloc(1, sizeof *t);
    t->options = *options;
    t->clients = must_calloc(options->clients, sizeof t->clients[0]);
    for (uint32_t i = 0; i < options->clients; i++) {
        const struct http_client_options http = options->http(options->context, i);
        struct tally_client *c = &t->clients[i];
        c->all = t;
        c->number = i;
        c->prng = prng_seeded(options->seed + i);
        http_client_init(&c->http, &http);
    }
    return t;
}

void tallies_destroy(struct tallies *t)
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

void tallies_begin(struct tallies *t)
{
    t->on = true;
    for (uint32_t i = 0; i < t->options.clients; i++)
        client_next(&t->clients[i], 0);
}

void tallies_end(struct tallies *t)
{
    t->ending = true;
}

bool tallies_are_done(const struct tallies *t)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        if (t->clients[i].work != TALLY_DONE)
            return false;
    }
    return true;
}

void tallies_describe(const struct tallies *t, struct buffer *out)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        const struct tally_client *c = &t->clients[i];
        if (c->work != TALLY_DONE)
            buffer_append_format(
                out, "client %u of counters is at step %d; the last answer was %d %.*s\n", i,
                (int)c->work, c->last_status, TEXT_OF(c->last_error));
    }
}

bool tallies_check(const struct tallies *t, struct buffer *why)
{
    buffer_append_slice(why, buffer_slice(&t->wrong));
    return t->wrong.size == 0;
}
