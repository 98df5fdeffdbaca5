#include "sim/sim_client.h"

#include <stdlib.h>

#include "base/must.h"

enum {
    RETRY_MS = 50,
    SETUP_TIMEOUT_MS = 5000,
    WRITE_UNITS = 1000 /* a partition's: so many times that make so many partitions */
};

/* Steps of the plans that have steps. */
enum step {
    STEP_CREATE,
    STEP_DESCRIBE,
    STEP_WRITE,
    STEP_READ,
    STEP_DONE
};

struct sim_client {
    struct sim_client_options options;
    struct http_client http;
    struct prng prng;
    enum client_plan plan;
    enum step step;
    uint32_t probe_key;
    bool scheduled; /* the next operation is */
    bool calling;
    bool probing; /* what is called is the probe's step */
    struct recording_ticket ticket;
    bool writes;
    bool wants_old;
    int last_status;
    struct client_counters counters;
    struct buffer body;
    struct buffer pad;
};

static void next(struct sim_client *c, struct duration pause);

static struct instant now(const struct sim_client *c)
{
    return c->options.http.scheduler->now;
}

/* ---- requests ---- */

#define APPEND(b, text) buffer_append(b, text, sizeof text - 1)

static void append_key(struct sim_client *c, const char *member, uint32_t key)
{
    APPEND(&c->body, "{\"TableName\":\"sim\",\"");
    buffer_append_text(&c->body, member);
    APPEND(&c->body, "\":{\"k\":{\"S\":\"key-");
    buffer_append_decimal(&c->body, key);
    APPEND(&c->body, "\"}");
}

static void write_put(struct sim_client *c, uint32_t key, uint64_t value)
{
    append_key(c, "Item", key);
    APPEND(&c->body, ",\"v\":{\"N\":\"");
    buffer_append_decimal(&c->body, value);
    APPEND(&c->body, "\"}");
    size_t pad = c->pad.size > 0 ? prng_below(&c->prng, c->pad.size + 1) : 0;
    if (pad > 0) {
        APPEND(&c->body, ",\"p\":{\"S\":\"");
        buffer_append(&c->body, c->pad.data, pad);
        APPEND(&c->body, "\"}");
    }
    APPEND(&c->body, "}");
}

/* The number in "v"; 0: there is no item. */
static uint64_t value_in(struct slice body)
{
    static const char name[] = "\"v\":{\"N\":\"";
    const uint8_t *at = memmem(body.data, body.size, name, sizeof name - 1);
    uint64_t value = 0;
    if (at == NULL)
        return 0;
    for (at += sizeof name - 1; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    return value;
}

/* 500 may mean that nobody knows; everything else that is not 200 did nothing. */
static enum history_outcome outcome_of(int status)
{
    if (status == 200)
        return HISTORY_OK;
    bool unknown = status == 500 || status == HTTP_CLIENT_TIMEOUT || status == HTTP_CLIENT_LOST;
    return unknown ? HISTORY_INFO : HISTORY_FAIL;
}

static void count(struct sim_client *c, enum history_outcome outcome)
{
    c->counters.ok += outcome == HISTORY_OK;
    c->counters.failed += outcome == HISTORY_FAIL;
    c->counters.unknown += outcome == HISTORY_INFO;
}

/* ---- keys ---- */

static void probe_on(struct sim_client *c, bool ok)
{
    if (!ok)
        return;
    if (c->step == STEP_WRITE) {
        c->step = STEP_READ;
        return;
    }
    c->step = STEP_WRITE;
    c->probe_key += c->options.clients;
    if (c->probe_key >= c->options.workload->keys)
        c->step = STEP_DONE;
}

static void data_done(void *context, int status, struct slice body)
{
    struct sim_client *c = context;
    enum history_outcome outcome = outcome_of(status);
    bool ok = outcome == HISTORY_OK;
    c->calling = false;
    c->last_status = status;
    count(c, outcome);
    if (ok && c->wants_old)
        recording_replaced(c->options.history, &c->ticket, value_in(body));
    recording_return(c->options.history, now(c), &c->ticket, outcome,
                     ok && !c->writes ? value_in(body) : 0);
    if (c->plan == CLIENT_PROBE && c->probing)
        probe_on(c, ok);
    int64_t think = c->options.workload->think_ns;
    if (!ok)
        next(c, duration_ms(prng_between(&c->prng, 1, RETRY_MS)));
    else
        next(c, (struct duration){think > 0 ? prng_between(&c->prng, 0, think) : 0});
}

static void call(struct sim_client *c, const char *operation)
{
    c->calling = true;
    c->counters.calls++;
    http_client_call(&c->http, operation, buffer_slice(&c->body),
                     (struct duration){c->options.workload->timeout_ns}, data_done, c);
}

static void read_key(struct sim_client *c, uint32_t key, bool consistent)
{
    c->writes = c->wants_old = false;
    c->ticket = recording_invoke(c->options.history, now(c), c->options.number, key, HISTORY_READ,
                                 consistent, false);
    append_key(c, "Key", key);
    APPEND(&c->body, "}");
    if (consistent)
        APPEND(&c->body, ",\"ConsistentRead\":true");
    APPEND(&c->body, "}");
    call(c, "GetItem");
}

static void write_key(struct sim_client *c, uint32_t key, bool deletes, bool wants_old)
{
    c->writes = true;
    c->wants_old = wants_old;
    c->ticket = recording_invoke(c->options.history, now(c), c->options.number, key, HISTORY_WRITE,
                                 true, deletes);
    if (deletes) {
        append_key(c, "Key", key);
        APPEND(&c->body, "}");
    } else {
        write_put(c, key, c->ticket.id);
    }
    if (wants_old)
        APPEND(&c->body, ",\"ReturnValues\":\"ALL_OLD\"");
    APPEND(&c->body, "}");
    call(c, deletes ? "DeleteItem" : "PutItem");
}

static bool chance(struct sim_client *c, uint32_t percent)
{
    return prng_below(&c->prng, 100) < percent;
}

static void load(struct sim_client *c)
{
    const struct workload *w = c->options.workload;
    uint32_t key = (uint32_t)prng_below(&c->prng, w->keys);
    if (chance(c, w->read_percent))
        read_key(c, key, !chance(c, w->eventual_percent));
    else
        write_key(c, key, chance(c, w->delete_percent), chance(c, w->old_percent));
}

static void probe(struct sim_client *c)
{
    if (c->step == STEP_WRITE)
        write_key(c, c->probe_key, false, true);
    else
        read_key(c, c->probe_key, true);
}

/* ---- the table ---- */

static void setup_done(void *context, int status, struct slice body)
{
    struct sim_client *c = context;
    static const char active[] = "\"TableStatus\":\"ACTIVE\"", in_use[] = "ResourceInUse";
    c->calling = false;
    c->last_status = status;
    if (c->step == STEP_CREATE) {
        bool there = status == 400 && memmem(body.data, body.size, in_use, sizeof in_use - 1);
        if (status == 200 || there)
            c->step = STEP_DESCRIBE;
    } else if (status == 200 && memmem(body.data, body.size, active, sizeof active - 1) != NULL) {
        c->step = STEP_DONE;
    }
    next(c, duration_ms(prng_between(&c->prng, 1, RETRY_MS)));
}

static void setup(struct sim_client *c)
{
    if (c->step == STEP_CREATE)
        buffer_append_format(
            &c->body,
            "{\"TableName\":\"sim\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"}],"
            "\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":\"S\"}],"
            "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%u,\"WriteCapacityUnits\":%u}}",
            c->options.workload->partitions * WRITE_UNITS,
            c->options.workload->partitions * WRITE_UNITS);
    else
        APPEND(&c->body, "{\"TableName\":\"sim\"}");
    c->calling = true;
    http_client_call(&c->http, c->step == STEP_CREATE ? "CreateTable" : "DescribeTable",
                     buffer_slice(&c->body), duration_ms(SETUP_TIMEOUT_MS), setup_done, c);
}

/* ---- plans ---- */

static void run(void *context, uint64_t argument)
{
    struct sim_client *c = context;
    (void)argument;
    c->scheduled = false;
    buffer_clear(&c->body);
    c->probing = c->plan == CLIENT_PROBE;
    if (c->plan == CLIENT_LOAD)
        load(c);
    else if (c->plan == CLIENT_PROBE && c->step != STEP_DONE)
        probe(c);
    else if (c->plan == CLIENT_SETUP && c->step != STEP_DONE)
        setup(c);
}

static void next(struct sim_client *c, struct duration pause)
{
    if (c->scheduled || c->calling)
        return;
    c->scheduled = true;
    scheduler_in(c->options.http.scheduler, pause, run, c, 0);
}

void sim_client_set_plan(struct sim_client *c, enum client_plan plan)
{
    c->plan = plan;
    c->step = plan == CLIENT_SETUP ? STEP_CREATE : STEP_WRITE;
    c->probe_key = c->options.number;
    if (plan == CLIENT_PROBE && c->probe_key >= c->options.workload->keys)
        c->step = STEP_DONE;
    next(c, (struct duration){0});
}

bool sim_client_is_done(const struct sim_client *c)
{
    return !c->calling && !c->scheduled && (c->plan == CLIENT_IDLE || c->step == STEP_DONE);
}

struct client_counters sim_client_counters(const struct sim_client *c)
{
    return c->counters;
}

void sim_client_describe(const struct sim_client *c, struct buffer *out)
{
    static const char *const steps[] = {"the table's creation", "the table to be active",
                                        "a write of key", "a strong read of key", "nothing"};
    buffer_append_format(out, "client %u waits for %s", c->options.number, steps[c->step]);
    if (c->step == STEP_WRITE || c->step == STEP_READ)
        buffer_append_format(out, " %u", c->probe_key);
    buffer_append_format(out, "; the last answer was %d\n", c->last_status);
}

/* ---- life ---- */

struct sim_client *sim_client_create(const struct sim_client_options *options)
{
    struct sim_client *c = calloc(1, sizeof *c);
    must(c != NULL);
    c->options = *options;
    c->prng = prng_seeded(options->seed);
    http_client_init(&c->http, &options->http);
    for (uint32_t i = 0; i < options->workload->pad_bytes; i++)
        buffer_append_u8(&c->pad, (uint8_t)('a' + i % 26));
    return c;
}

void sim_client_destroy(struct sim_client *c)
{
    http_client_deinit(&c->http);
    buffer_deinit(&c->body);
    buffer_deinit(&c->pad);
    free(c);
}
