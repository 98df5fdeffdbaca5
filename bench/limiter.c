/* limiter.c - `weir-bench limiter`: the rate limiter beside plain updates, and beside a script in
 * Redis.
 *
 * One `weir local` of its own without limits, and one redis-server that syncs each change. All
 * loads come from the same client: a connection has one request in flight. Each load goes over the
 * same number of keys in turn, one limit each. Ratios are medians over the rounds.
 *
 * The last part asks for one entity at a fixed rate, well under its limit, and compares p99:
 * alone, while another entity is asked for far too often, and while as many requests come for a
 * path that does not exist. The last one tells what the requests cost as such: they share the
 * server's core with the limiter, and the client's. */
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "bench/bench.h"
#include "bench/flow.h"
#include "bench/one_server.h"
#include "bench/redis.h"
#include "router/json/json_writer.h"

enum {
    CALM_PER_S = 500,
    CALM_CONNECTIONS = 8,
    FLOOD_CONNECTIONS = 16,
    FLOOD_LONGER = 4, /* measurements of p99, than those of rates */
};
#define PREPARE_NS (600 * NS_PER_S) /* at most */

/* What takes tokens in Redis: KEYS[1] is the bucket; ARGV: capacity, refill amount, refill period
 * in ms, tokens wanted. As weir's bucket it refills by time, begins full, and expires an hour
 * after it must be full. Returns whether there were enough, what is left, and ms until there are
 * enough. */
static const char redis_script[] =
    "local time = redis.call('TIME')\n"
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"
    "local capacity, amount = tonumber(ARGV[1]), tonumber(ARGV[2])\n"
    "local period, wanted = tonumber(ARGV[3]), tonumber(ARGV[4])\n"
    "local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')\n"
    "local tokens, at = tonumber(bucket[1]) or capacity, tonumber(bucket[2]) or now\n"
    "if now > at then\n"
    "  tokens = math.min(capacity, tokens + (now - at) * amount / period)\n"
    "  at = now\n"
    "end\n"
    "if tokens < wanted then\n"
    "  return {0, math.floor(tokens), math.ceil((wanted - tokens) * period / amount)}\n"
    "end\n"
    "tokens = tokens - wanted\n"
    "redis.call('HMSET', KEYS[1], 'tokens', tokens, 'at', at)\n"
    "redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - tokens) * period / amount) + 3600000)\n"
    "return {1, math.floor(tokens), 0}\n";

/* Capacity, which is refilled in each period. */
#define ROOMY_TOKENS "1000000000"
#define ROOMY_MS     "3600000"

static const struct {
    const char *resource, *tokens, *period_ms;
} limits[] = {
    {"roomy", ROOMY_TOKENS, ROOMY_MS},
    {"empty", "1", "86400000"},
    {"small", "100", "1000"},
};

struct limiter_bench {
    struct bench_one_server *server; /* borrows */
    int64_t duration_ns, keys, flood_per_s;
    struct client_url url;
    struct bench_server redis; /* pid 0: none */
    char script[REDIS_SCRIPT_NAME_SIZE + 1];
    struct buffer body; /* of the request that is being written */
};

/* ---- requests ---- */

static void limiter_write_add(void *context, int64_t number, struct buffer *out)
{
    struct limiter_bench *l = context;
    buffer_clear(&l->body);
    buffer_append_format(&l->body,
                         "{\"TableName\":\"bench\",\"Key\":{\"pk\":{\"S\":\"key-%lld\"}},"
                         "\"UpdateExpression\":\"ADD v :one\",\"ExpressionAttributeValues\":"
                         "{\":one\":{\"N\":\"1\"}},\"ReturnValues\":\"UPDATED_NEW\"}",
                         (long long)(number % l->keys));
    client_write_operation(out, &l->url, "UpdateItem", buffer_slice(&l->body));
}

static void limiter_write_post(struct limiter_bench *l, const char *path, const char *entity,
                               int64_t number, const char *resource, struct buffer *out)
{
    buffer_clear(&l->body);
    buffer_append_format(&l->body,
                         "{\"entity\":\"%s-%lld\",\"resource\":\"%s\",\"consume\":{\"n\":1}}",
                         entity, (long long)number, resource);
    client_write_json(out, &l->url, path, NULL, buffer_slice(&l->body));
}

static const char ACQUIRE[] = "POST /limiter/v1/acquire";

static void limiter_write_acquire(void *context, int64_t number, struct buffer *out)
{
    struct limiter_bench *l = context;
    limiter_write_post(l, ACQUIRE, "key", number % l->keys, "roomy", out);
}

static void limiter_write_empty(void *context, int64_t number, struct buffer *out)
{
    struct limiter_bench *l = context;
    limiter_write_post(l, ACQUIRE, "key", number % l->keys, "empty", out);
}

static void limiter_write_calm(void *context, UNUSED int64_t number, struct buffer *out)
{
    limiter_write_post(context, ACQUIRE, "calm", 0, "roomy", out);
}

static void limiter_write_flood(void *context, UNUSED int64_t number, struct buffer *out)
{
    limiter_write_post(context, ACQUIRE, "busy", 0, "small", out);
}

/* The same bytes to a path that does not exist. */
static void limiter_write_nothing(void *context, UNUSED int64_t number, struct buffer *out)
{
    limiter_write_post(context, "POST /limiter/v1/nothing", "busy", 0, "small", out);
}

static void limiter_write_redis(void *context, int64_t number, struct buffer *out)
{
    struct limiter_bench *l = context;
    char key[32];
    snprintf(key, sizeof key, "key-%lld", (long long)(number % l->keys));
    const char *const words[] = {"EVALSHA",    l->script,    "1",      key,
                                 ROOMY_TOKENS, ROOMY_TOKENS, ROOMY_MS, "1"};
    redis_write_head(out, COUNT_OF(words));
    for (size_t i = 0; i < COUNT_OF(words); i++)
        redis_write_argument(out, slice_of(words[i]));
}

/* ---- loads ---- */

enum load {
    LOAD_ADDS,
    LOAD_ACQUIRES,
    LOAD_EMPTY,
    LOAD_SCRIPT,
    LOADS
};

struct limiter_load {
    const char *name;
    void (*write)(void *context, int64_t number, struct buffer *out);
    enum flow_end expected; /* of all requests */
};

static const struct limiter_load loads[LOADS] = {
    [LOAD_ADDS] = {"UpdateItem ADD", limiter_write_add, FLOW_ADMITTED},
    [LOAD_ACQUIRES] = {"acquire", limiter_write_acquire, FLOW_ADMITTED},
    [LOAD_EMPTY] = {"acquire of an empty bucket", limiter_write_empty, FLOW_REFUSED},
    [LOAD_SCRIPT] = {"script in Redis", limiter_write_redis, FLOW_ADMITTED},
};

static const struct {
    const char *name;
    enum load load, beside;
    double budget;
} comparisons[] = {
    {"acquire, beside UpdateItem ADD", LOAD_ACQUIRES, LOAD_ADDS, 0.8},
    {"acquire, beside a script in Redis", LOAD_ACQUIRES, LOAD_SCRIPT, 0.5},
    {"refusal, beside acquire", LOAD_EMPTY, LOAD_ACQUIRES, 3},
};

/* A load's flow and results. */
struct limiter_side {
    struct flow flow;
    const struct bench_server *server; /* borrows; NULL: the load is left out */
    double per_s[BENCH_ROUNDS_MAX];
    double cpu_us[BENCH_ROUNDS_MAX]; /* processor time of the server for a request */
};

/* All requests must have ended as wanted. */
static enum status limiter_check(const struct flow *f, enum flow_end expected, struct buffer *error)
{
    if (f->ends[expected] > 0 && f->ends[expected] == f->sent)
        return STATUS_OK;
    return buffer_explain(
        error, STATUS_IO,
        "%s: of %lld requests %lld were admitted, %lld refused, %lld failed: %.*s", f->name,
        (long long)f->sent, (long long)f->ends[FLOW_ADMITTED], (long long)f->ends[FLOW_REFUSED],
        (long long)f->ends[FLOW_OTHER], (int)MIN(f->other.size, 300), (const char *)f->other.data);
}

/* Sends one request for each key: items and buckets are made, small buckets emptied. */
static enum status limiter_prepare(struct limiter_bench *l, struct limiter_side *s,
                                   struct buffer *error)
{
    s->flow.requests_max = l->keys;
    enum status status = flows_run(&(struct flow *){&s->flow}, 1, PREPARE_NS, error);
    if (status == STATUS_OK)
        status = limiter_check(&s->flow, FLOW_ADMITTED, error);
    s->flow.requests_max = 0;
    return status;
}

static enum status limiter_round(struct limiter_side *s, enum load load, int round,
                                 int64_t duration_ns, struct buffer *error)
{
    struct flow *f = &s->flow;
    int64_t cpu_ns = bench_server_cpu_ns(s->server);
    enum status status = flows_run(&f, 1, duration_ns, error);
    if (status == STATUS_OK)
        status = limiter_check(f, loads[load].expected, error);
    if (status != STATUS_OK)
        return status;
    cpu_ns = bench_server_cpu_ns(s->server) - cpu_ns;
    s->per_s[round] = (double)f->sent * 1e9 / (double)f->elapsed_ns;
    s->cpu_us[round] = (double)cpu_ns / 1e3 / (double)f->sent;
    return STATUS_OK;
}

static void limiter_show_load(struct bench_one_server *b, enum load load, struct limiter_side *s)
{
    const size_t rounds = (size_t)b->rounds;
    const double per_s = bench_median(s->per_s, rounds);
    const double cpu_us = bench_median(s->cpu_us, rounds);
    if (!b->json) {
        printf("%-34s %8.0f/s %6.1f us\n", loads[load].name, per_s, cpu_us);
        return;
    }
    json_write_open(&b->out, '{');
    json_member_text(&b->out, "name", loads[load].name);
    json_member_real(&b->out, "per_s", per_s);
    json_member_real(&b->out, "cpu_us", cpu_us);
    json_write_close(&b->out, '}');
}

static void limiter_show_ratio(struct bench_one_server *b, const char *name, double ratio,
                               double cpu_ratio, double budget)
{
    b->missed |= ratio < budget;
    if (!b->json) {
        printf("%-34s %8.2f, processor %.2f (at least %.1f)\n", name, ratio, cpu_ratio, budget);
        return;
    }
    json_write_open(&b->out, '{');
    json_member_text(&b->out, "name", name);
    json_member_real(&b->out, "ratio", ratio);
    json_member_real(&b->out, "cpu_ratio", cpu_ratio);
    json_member_real(&b->out, "budget", budget);
    json_write_close(&b->out, '}');
}

/* Ratios come first: medians sort the rounds. */
static void limiter_compare(struct bench_one_server *b, struct limiter_side *sides)
{
    const size_t rounds = (size_t)b->rounds;
    for (size_t i = 0; i < COUNT_OF(comparisons); i++) {
        struct limiter_side *s = &sides[comparisons[i].load];
        struct limiter_side *beside = &sides[comparisons[i].beside];
        if (beside->server != NULL)
            limiter_show_ratio(
                b, comparisons[i].name, bench_median_ratio(s->per_s, beside->per_s, rounds),
                bench_median_ratio(beside->cpu_us, s->cpu_us, rounds), comparisons[i].budget);
    }
    for (enum load i = 0; i < LOADS; i++) {
        if (sides[i].server != NULL)
            limiter_show_load(b, i, &sides[i]);
    }
}

static enum status limiter_measure_loads(struct limiter_bench *l, struct buffer *error)
{
    struct bench_one_server *b = l->server;
    struct limiter_side *sides = must_calloc(LOADS, sizeof *sides);
    enum status status = STATUS_OK;
    for (enum load i = 0; i < LOADS && status == STATUS_OK; i++) {
        struct limiter_side *s = &sides[i];
        s->server = i != LOAD_SCRIPT ? &b->server : l->redis.pid > 0 ? &l->redis : NULL;
        if (s->server == NULL)
            continue;
        s->flow = (struct flow){.name = loads[i].name,
                                .port = s->server->port,
                                .protocol = i == LOAD_SCRIPT ? FLOW_REDIS : FLOW_HTTP,
                                .connections = b->load.connections,
                                .write = loads[i].write,
                                .context = l};
        status = limiter_prepare(l, s, error);
    }
    for (int i = 0; i < LOADS * (int)b->rounds && status == STATUS_OK; i++) {
        const int round = i / LOADS;
        const enum load load = (enum load)((i + round) % LOADS);
        if (sides[load].server != NULL)
            status = limiter_round(&sides[load], load, round, l->duration_ns, error);
    }
    if (status == STATUS_OK)
        limiter_compare(b, sides);
    for (enum load i = 0; i < LOADS; i++)
        flow_deinit(&sides[i].flow);
    free(sides);
    return status;
}

/* ---- an entity beside another one that is flooded ---- */

enum scene {
    SCENE_ALONE,
    SCENE_FLOOD,
    SCENE_NOTHING,
    SCENES
};

static const struct {
    const char *name;
    void (*write)(void *context, int64_t number, struct buffer *out); /* NULL: nobody else */
    enum flow_end expected;                                           /* of most requests */
} scenes[SCENES] = {
    [SCENE_ALONE] = {"an entity under its limit, alone", NULL, FLOW_ENDS},
    [SCENE_FLOOD] = {"beside another that is flooded", limiter_write_flood, FLOW_REFUSED},
    [SCENE_NOTHING] = {"beside requests for nothing", limiter_write_nothing, FLOW_OTHER},
};

static const double FLOOD_BUDGET = 1.1; /* times the p99 alone, at most */

struct limiter_flood {
    struct flow calm, flood;
    double p99_us[SCENES][BENCH_ROUNDS_MAX], p50_us[SCENES][BENCH_ROUNDS_MAX];
};

static enum status limiter_flood_round(struct limiter_flood *t, enum scene scene, int round,
                                       int64_t duration_ns, struct buffer *error)
{
    struct flow *const flows[] = {&t->calm, &t->flood};
    const bool alone = scenes[scene].write == NULL;
    t->flood.name = scenes[scene].name;
    t->flood.write = scenes[scene].write;
    enum status status = flows_run(flows, alone ? 1 : 2, duration_ns, error);
    if (status == STATUS_OK)
        status = limiter_check(&t->calm, FLOW_ADMITTED, error);
    if (status == STATUS_OK && !alone && t->flood.ends[scenes[scene].expected] < t->flood.sent / 2)
        status = limiter_check(&t->flood, scenes[scene].expected, error);
    t->p99_us[scene][round] = (double)histogram_percentile(&t->calm.latency, 99000) / 1e3;
    t->p50_us[scene][round] = (double)histogram_percentile(&t->calm.latency, 50000) / 1e3;
    return status;
}

static void limiter_show_flood(struct bench_one_server *b, struct limiter_flood *t)
{
    const size_t rounds = (size_t)b->rounds;
    double ratio[SCENES];
    for (enum scene i = 0; i < SCENES; i++)
        ratio[i] = bench_median_ratio(t->p99_us[SCENE_FLOOD], t->p99_us[i], rounds);
    b->missed |= ratio[SCENE_ALONE] > FLOOD_BUDGET;
    if (b->json) {
        json_write_open(&b->out, '{');
        json_member_text(&b->out, "name", scenes[SCENE_FLOOD].name);
        json_member_real(&b->out, "p99_ratio", ratio[SCENE_ALONE]);
        json_member_real(&b->out, "p99_ratio_to_nothing", ratio[SCENE_NOTHING]);
        json_member_real(&b->out, "p99_at_most", FLOOD_BUDGET);
        json_write_close(&b->out, '}');
    } else {
        printf("%-34s p99 %.2f times that alone (at most %.1f), %.2f times that beside requests "
               "for nothing\n",
               scenes[SCENE_FLOOD].name, ratio[SCENE_ALONE], FLOOD_BUDGET, ratio[SCENE_NOTHING]);
    }
    for (enum scene i = 0; i < SCENES; i++) {
        const double p50 = bench_median(t->p50_us[i], rounds);
        const double p99 = bench_median(t->p99_us[i], rounds);
        if (b->json) {
            json_write_open(&b->out, '{');
            json_member_text(&b->out, "name", scenes[i].name);
            json_member_real(&b->out, "p50_us", p50);
            json_member_real(&b->out, "p99_us", p99);
            json_write_close(&b->out, '}');
        } else {
            printf("%-34s p50 %6.0f us, p99 %6.0f us\n", scenes[i].name, p50, p99);
        }
    }
}

static enum status limiter_measure_flood(struct limiter_bench *l, struct buffer *error)
{
    struct bench_one_server *b = l->server;
    struct limiter_flood *t = must_calloc(1, sizeof *t);
    enum status status = STATUS_OK;
    t->calm = (struct flow){.name = scenes[SCENE_ALONE].name,
                            .port = b->server.port,
                            .connections = CALM_CONNECTIONS,
                            .per_s = CALM_PER_S,
                            .write = limiter_write_calm,
                            .context = l};
    t->flood = (struct flow){.port = b->server.port,
                             .connections = FLOOD_CONNECTIONS,
                             .per_s = l->flood_per_s,
                             .context = l};
    for (int i = 0; i < SCENES * (int)b->rounds && status == STATUS_OK; i++) {
        const int round = i / SCENES;
        const enum scene scene = (enum scene)((i + round) % SCENES);
        status = limiter_flood_round(t, scene, round, FLOOD_LONGER * l->duration_ns, error);
    }
    if (status == STATUS_OK)
        limiter_show_flood(b, t);
    flow_deinit(&t->calm);
    flow_deinit(&t->flood);
    free(t);
    return status;
}

/* ---- the bench ---- */

static enum status limiter_set_limits(struct limiter_bench *l, struct buffer *error)
{
    struct buffer body = {0}, request = {0};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(limits) && status == STATUS_OK; i++) {
        buffer_clear(&body);
        buffer_clear(&request);
        buffer_append_format(&body,
                             "{\"resource\":\"%s\",\"limits\":[{\"name\":\"n\",\"capacity\":%s,"
                             "\"refill_amount\":%s,\"refill_period_ms\":%s}]}",
                             limits[i].resource, limits[i].tokens, limits[i].tokens,
                             limits[i].period_ms);
        client_write_json(&request, &l->url, "PUT /limiter/v1/limits", NULL, buffer_slice(&body));
        status = bench_request(&l->url, limits[i].resource, buffer_slice(&request), error);
    }
    buffer_deinit(&body);
    buffer_deinit(&request);
    return status;
}

static enum status limiter_create_table(struct limiter_bench *l, struct buffer *error)
{
    static const char body[] =
        "{\"TableName\":\"bench\",\"BillingMode\":\"PAY_PER_REQUEST\",\"KeySchema\":[{"
        "\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"}],\"AttributeDefinitions\":[{"
        "\"AttributeName\":\"pk\",\"AttributeType\":\"S\"}]}";
    struct buffer request = {0};
    client_write_operation(&request, &l->url, "CreateTable", slice_of(body));
    const enum status status = bench_request(&l->url, "CreateTable", buffer_slice(&request), error);
    buffer_deinit(&request);
    return status;
}

/* Without a redis-server that part is left out. */
static enum status limiter_start_redis(struct limiter_bench *l, struct buffer *error)
{
    enum status status =
        bench_redis_start(&l->redis, l->server->data, l->server->server_cpu, error);
    if (status == STATUS_NOT_FOUND) {
        fprintf(stderr, "weir-bench limiter: without redis-server there is no comparison with it "
                        "(apt-get install redis-server)\n");
        return STATUS_OK;
    }
    return status == STATUS_OK ? bench_redis_load(&l->redis, redis_script, l->script, error)
                               : status;
}

static enum status limiter_run(struct bench_one_server *b, struct buffer *error)
{
    struct limiter_bench *l = b->context;
    must(client_url_parse(&l->url, b->url) == NULL);
    enum status status = limiter_start_redis(l, error);
    if (status == STATUS_OK)
        status = limiter_create_table(l, error);
    if (status == STATUS_OK)
        status = limiter_set_limits(l, error);
    if (status == STATUS_OK)
        status = limiter_measure_loads(l, error);
    if (status == STATUS_OK)
        status = limiter_measure_flood(l, error);
    bench_server_stop(&l->redis);
    buffer_deinit(&l->body);
    return status;
}

#define MEMBER(member) FIELD_MEMBER(struct limiter_bench, member)

static const struct field limiter_options[] = {
    {"duration", FIELD_SPAN, MEMBER(duration_ns), "TIME", .min = 1,
     .help = "The duration of each measurement of a rate."},
    {"keys", FIELD_INTEGER, MEMBER(keys), "N", .min = 1, .max = 1000000,
     .help = "The number of buckets, of items, and of keys of Redis."},
    {"flood", FIELD_INTEGER, MEMBER(flood_per_s), "RATE", .min = 1000, .max = 1000000,
     .help = "The requests a second for the flooded entity. Its limit is 100."},
};

#undef MEMBER

int bench_limiter(int argc, char **argv)
{
    struct limiter_bench l = {.duration_ns = NS_PER_S, .keys = 1000, .flood_per_s = 5000};
    struct bench_one_server b = {
        .name = "limiter",
        .about =
            "Acquires of the rate limiter (durable) over HTTP, beside UpdateItem ADD to as many "
            "items, and beside a token bucket as a script in a redis-server that syncs each "
            "change; refusals, beside acquires; and p99 of an entity under its limit (500 "
            "requests a second) while another entity is flooded, for four times the duration. "
            "Without redis-server on the PATH that comparison is omitted. Exit code 1: beyond a "
            "budget.\n",
        .examples = "  weir-bench limiter\n"
                    "  weir-bench limiter --rounds 15 --keys 10000 --json\n",
        .more = OPTION_GROUP(NULL, limiter_options, &l),
        .context = &l,
        .run = limiter_run};
    l.server = &b;
    return bench_on_one_server(&b, argc, argv);
}
