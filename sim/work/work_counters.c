/* work_counters.c - clients that add to counters, and read them. */
#include "sim/work/work_counters.h"

#include <stdio.h>

const char work_counters_table[] = "tallies";

enum {
    PAUSE_DOUBLINGS = 5,
    READ_PERCENT = 25,
    QUERY_PERCENT = 40 /* of reads */
};

enum counter_step {
    COUNTER_ADD = WORK_STEPS,
    COUNTER_READ,
};

struct counter_client {
    struct work_client client;
    uint32_t key; /* of the call */
    uint64_t invocation;
    uint32_t attempt;
    uint64_t min; /* that a read may find */
    bool queries;
    uint32_t last_read; /* at last: counters that were read */
    uint32_t refusals;  /* one after the other */
};

struct work_counters {
    struct work_clients clients;
    struct {
        uint64_t begun;
        uint64_t acknowledged;
        uint64_t read; /* the most */
    } keys[WORK_COUNTERS_KEYS];
    uint64_t invocations;
};

static struct work_counters *counters_of(const struct counter_client *c)
{
    return (struct work_counters *)c->client.all;
}

void work_counters_key(uint32_t key, char out[8])
{
    snprintf(out, 8, "t%u", key);
}

/* ---- requests ---- */

static const char *counter_table(const void *client, struct dynamo_spec *spec)
{
    static const struct dynamo_keys keys = {.partition = ATTR_STRING, .sort = ATTR_STRING};
    *spec = (struct dynamo_spec){
        .keys = &keys,
        .units = plan_counter_units(work_clients_plan(&counters_of(client)->clients)),
        .key_sharding = DYNAMO_COUNTERS};
    return work_counters_table;
}

static const char *counter_write_add(struct counter_client *c)
{
    char key[8];
    struct http_client *http = &c->client.http;
    work_counters_key(c->key, key);
    snprintf(http->lines, sizeof http->lines,
             "amz-sdk-invocation-id: %016llx\r\namz-sdk-request: attempt=%u; max=9\r\n",
             (unsigned long long)c->invocation, ++c->attempt);
    buffer_append_format(&c->client.body,
                         "{\"TableName\":\"%s\",\"Key\":{\"k\":{\"S\":\"%s\"},\"s\":{\"S\":\"x\"}},"
                         "\"UpdateExpression\":\"ADD n :one\",\"ExpressionAttributeValues\":{"
                         "\":one\":{\"N\":\"1\"}}}",
                         work_counters_table, key);
    return "UpdateItem";
}

static const char *counter_write_read(struct counter_client *c)
{
    char key[8];
    struct buffer *out = &c->client.body;
    work_counters_key(c->key, key);
    buffer_append_format(out, "{\"ConsistentRead\":true,\"TableName\":\"%s\",",
                         work_counters_table);
    if (c->queries)
        buffer_append_format(out,
                             "\"KeyConditionExpression\":\"k = :k\",\"ExpressionAttributeValues\":{"
                             "\":k\":{\"S\":\"%s\"}}}",
                             key);
    else
        buffer_append_format(out, "\"Key\":{\"k\":{\"S\":\"%s\"},\"s\":{\"S\":\"x\"}}}", key);
    return c->queries ? "Query" : "GetItem";
}

static const char *counter_write(void *client)
{
    struct counter_client *c = client;
    buffer_clear(&c->client.body);
    return c->client.step == COUNTER_ADD ? counter_write_add(c) : counter_write_read(c);
}

/* ---- answers ---- */

static void counter_end_read(struct counter_client *c, struct slice body)
{
    struct work_counters *t = counters_of(c);
    const uint64_t n = dynamo_number(body, "\"n\":{\"N\":\""), max = t->keys[c->key].begun;
    if (n < c->min || n > max)
        buffer_append_format(&t->clients.wrong,
                             "%s of counter %u finds %llu, and must find %llu to %llu\n",
                             c->queries ? "a Query" : "a GetItem", c->key, (unsigned long long)n,
                             (unsigned long long)c->min, (unsigned long long)max);
    t->keys[c->key].read = MAX(t->keys[c->key].read, n);
    c->last_read += t->clients.ending;
}

static void counter_answered(void *client, int status, struct slice body)
{
    struct counter_client *c = client;
    c->client.http.lines[0] = '\0';
    if (status != 200)
        return;
    if (c->client.step == COUNTER_ADD)
        counters_of(c)->keys[c->key].acknowledged++;
    else
        counter_end_read(c, body);
    c->client.step = WORK_STEP_IDLE;
}

/* Long pauses save units for all cells. Tokens that a router has asked for must be used soon, and
 * the policy `periodic` gives it as many as it was asked for in a period, which must be a whole
 * one. */
static int64_t counter_pause(void *client, int status)
{
    struct counter_client *c = client;
    const int64_t think_ns = work_client_think(&c->client);
    c->refusals = status == 200 ? 0 : c->refusals + 1;
    return status == 200 ? think_ns
                         : work_client_pause_ns(c->refusals, WORK_RETRY_MS, PAUSE_DOUBLINGS);
}

/* ---- what to do ---- */

static void counter_begin_read(struct counter_client *c, uint32_t key)
{
    const struct work_counters *t = counters_of(c);
    c->key = key;
    c->client.step = COUNTER_READ;
    c->queries = prng_below(&c->client.prng, 100) < QUERY_PERCENT;
    c->min = MAX(t->keys[key].acknowledged, t->keys[key].read);
}

static void counter_choose_load(struct counter_client *c)
{
    struct work_counters *t = counters_of(c);
    const uint32_t key = (uint32_t)prng_below(&c->client.prng, WORK_COUNTERS_KEYS);
    if (prng_below(&c->client.prng, 100) < READ_PERCENT) {
        counter_begin_read(c, key);
        return;
    }
    c->key = key;
    c->client.step = COUNTER_ADD;
    c->invocation = ++t->invocations;
    c->attempt = 0;
    t->keys[key].begun++;
}

/* The first client reads all counters once every addition is acknowledged: then begun,
 * acknowledged and found must be the same. */
static void counter_choose_last(struct counter_client *c)
{
    const struct work_clients *all = c->client.all;
    bool quiet = true;
    for (uint32_t i = 0; i < all->options.count; i++)
        quiet &= work_clients_step(all, i) != COUNTER_ADD;
    if (c->client.number > 0 || c->last_read == WORK_COUNTERS_KEYS || all->wrong.size > 0)
        c->client.step = WORK_STEP_DONE;
    else if (quiet)
        counter_begin_read(c, c->last_read);
}

static void counter_choose(void *client)
{
    struct counter_client *c = client;
    if (!work_client_has_tables(&c->client))
        return;
    if (c->client.all->ending)
        counter_choose_last(c);
    else
        counter_choose_load(c);
}

static const struct work_client_kind counter_kind = {.name = "of counters",
                                                     .size = sizeof(struct work_counters),
                                                     .client_size = sizeof(struct counter_client),
                                                     .idle_ms = WORK_POLL_MS,
                                                     .choose = counter_choose,
                                                     .write = counter_write,
                                                     .answered = counter_answered,
                                                     .pause = counter_pause,
                                                     .table = counter_table};

struct work_clients *work_counters_create(const struct work_clients_options *options)
{
    struct work_counters *t = work_clients_create(&counter_kind, options);
    t->clients.tables = 1;
    return &t->clients;
}
