/* transacts.c - clients whose transactions append numbers to lists, and read them. */
#include "sim/transacts.h"

#include <stdlib.h>

#include "base/prng.h"
#include "sim/dynamo.h"

const char *const transacts_tables[TRANSACT_TABLES] = {"lists", "sorted-lists"};

enum {
    CALL_TIMEOUT_MS = 6000,
    RETRY_MS = 100,
    QUIET_MS = 12000, /* then no abandoned call is on its way any more */
    PARTS_MAX = 4     /* of a transaction */
};

enum transact_work {
    TRANSACT_IDLE,
    TRANSACT_MAKE,   /* the next table */
    TRANSACT_AWAIT,  /* it is active */
    TRANSACT_APPEND, /* an operation, as the next two */
    TRANSACT_READ,
    TRANSACT_READ_ALL,
    TRANSACT_DONE,
};

struct transact_client {
    struct transacts *all; /* borrows */
    struct http_client http;
    struct prng prng;
    enum transact_work work;
    uint32_t number; /* of the client */
    uint32_t place;  /* of the operation in the history */
    uint32_t op_number;
    bool single; /* the operation is no transaction */
    bool again;  /* an append whose outcome is unknown is sent again, with its token */
    uint32_t key_count;
    uint32_t keys[TRANSACT_KEYS_MAX];
    bool checks; /* a transaction that appends: the key after the last one is only checked */
    bool fails;  /* the check does not hold */
    int last_status;
    struct buffer body;
    struct buffer last_error;
};

struct transacts {
    struct transacts_options options;
    struct serial_history history;
    struct transact_client *clients; /* owns */
    uint32_t numbers;                /* used so far */
    uint32_t committed;
    struct instant quiet_from; /* 0: not known yet */
    uint32_t read;             /* at last: lists that have been read */
    uint32_t made;             /* tables that are there */
    bool on;
    bool ending;
};

static void client_next(struct transact_client *c, int64_t ns);

static struct instant transacts_now(const struct transacts *t)
{
    return t->options.scheduler->now;
}

/* ---- requests ---- */

static void append_key(struct buffer *out, uint32_t key)
{
    const uint32_t table = key % TRANSACT_TABLES;
    buffer_append_format(out, "\"TableName\":\"%s\",\"Key\":{\"k\":{\"S\":\"%u\"}%s}",
                         transacts_tables[table], key, table == 0 ? "" : ",\"s\":{\"S\":\"x\"}");
}

static void append_update(struct buffer *out, uint32_t key, uint32_t number)
{
    append_key(out, key);
    buffer_append_format(
        out,
        ",\"UpdateExpression\":\"SET l = list_append(if_not_exists(l, :none), :one), v = :v\","
        "\"ExpressionAttributeValues\":{\":none\":{\"L\":[]},\":v\":{\"N\":\"%u\"},"
        "\":one\":{\"L\":[{\"N\":\"%u\"}]}}",
        number, number);
}

static void append_check(struct buffer *out, uint32_t key, bool fails)
{
    buffer_append_text(out, ",{\"ConditionCheck\":{");
    append_key(out, key);
    buffer_append_format(out, ",\"ConditionExpression\":\"attribute_%sexists(absent)\"}}",
                         fails ? "" : "not_");
}

static const char *client_write_append(struct transact_client *c)
{
    struct buffer *out = &c->body;
    if (c->single) {
        buffer_append_text(out, "{");
        append_update(out, c->keys[0], c->op_number);
        buffer_append_text(out, "}");
        return "UpdateItem";
    }
    buffer_append_format(out, "{\"ClientRequestToken\":\"n%u\",\"TransactItems\":[", c->op_number);
    for (uint32_t i = 0; i < c->key_count; i++) {
        buffer_append_text(out, i > 0 ? ",{\"Update\":{" : "{\"Update\":{");
        append_update(out, c->keys[i], c->op_number);
        buffer_append_text(out, "}}");
    }
    if (c->checks)
        append_check(out, c->keys[c->key_count], c->fails);
    buffer_append_text(out, "]}");
    return "TransactWriteItems";
}

static const char *client_write_read(struct transact_client *c)
{
    struct buffer *out = &c->body;
    if (c->single) {
        buffer_append_text(out, "{\"ConsistentRead\":true,");
        append_key(out, c->keys[0]);
        buffer_append_text(out, "}");
        return "GetItem";
    }
    buffer_append_text(out, "{\"TransactItems\":[");
    for (uint32_t i = 0; i < c->key_count; i++) {
        buffer_append_text(out, i > 0 ? ",{\"Get\":{" : "{\"Get\":{");
        append_key(out, c->keys[i]);
        buffer_append_text(out, "}}");
    }
    buffer_append_text(out, "]}");
    return "TransactGetItems";
}

/* ---- answers ---- */

/* The numbers of the next list of the answer. False: no item follows. `rest` goes on behind it. */
static bool next_list(struct slice *rest, struct serial_list *out)
{
    static const char begin[] = "\"L\":[", number[] = "{\"N\":\"";
    *out = (struct serial_list){0};
    const uint8_t *at = memmem(rest->data, rest->size, begin, sizeof begin - 1);
    if (at == NULL)
        return false;
    at += sizeof begin - 1;
    const uint8_t *end = rest->data + rest->size;
    size_t capacity = 0;
    while (at < end && *at != ']') {
        if (*at != '{' || (size_t)(end - at) < sizeof number) {
            at++;
            continue;
        }
        out->numbers = must_grow(out->numbers, out->count, &capacity, sizeof out->numbers[0]);
        out->numbers[out->count++] =
            (uint32_t)strtoul((const char *)at + sizeof number - 1, NULL, 10);
        at = memchr(at, '}', (size_t)(end - at));
        must(at != NULL);
    }
    *rest = slice_make(at, (size_t)(end - at));
    return true;
}

/* The part of the answer that belongs to the next item: up to the next one. */
static struct slice next_part(struct slice *rest, bool single)
{
    static const char begin[] = "{\"Item\":", none[] = "{}";
    if (single)
        return *rest;
    const uint8_t *item = memmem(rest->data, rest->size, begin, sizeof begin - 1);
    const uint8_t *empty = memmem(rest->data, rest->size, none, sizeof none - 1);
    if (item == NULL && empty == NULL)
        return slice_make(NULL, 0);
    if (item == NULL || (empty != NULL && empty < item)) {
        const size_t size = (size_t)(empty - rest->data) + sizeof none - 1;
        *rest = slice_make(rest->data + size, rest->size - size);
        return slice_make(empty, sizeof none - 1);
    }
    const size_t from = (size_t)(item - rest->data) + sizeof begin - 1;
    struct slice after = slice_make(rest->data + from, rest->size - from);
    const uint8_t *next = memmem(after.data, after.size, begin, sizeof begin - 1);
    const uint8_t *next_none = memmem(after.data, after.size, ",{}", 3);
    const uint8_t *end = after.data + after.size;
    if (next != NULL && next < end)
        end = next;
    if (next_none != NULL && next_none < end)
        end = next_none;
    struct slice part = slice_make(item, (size_t)(end - item));
    *rest = slice_make(end, (size_t)(after.data + after.size - end));
    return part;
}

static void client_take_lists(struct transact_client *c, struct slice body)
{
    struct slice rest = body;
    for (uint32_t i = 0; i < c->key_count; i++) {
        struct slice part = next_part(&rest, c->single);
        struct serial_list list;
        next_list(&part, &list);
        serial_saw(&c->all->history, c->place, i, list);
    }
}

static enum serial_outcome outcome_of(int status)
{
    return status == 200                    ? SERIAL_DONE
           : http_client_is_unknown(status) ? SERIAL_UNKNOWN
                                            : SERIAL_REFUSED;
}

static void client_end_operation(struct transact_client *c, int status, struct slice body)
{
    struct transacts *t = c->all;
    const enum serial_outcome outcome = c->fails ? SERIAL_REFUSED : outcome_of(status);
    const bool appends = c->work == TRANSACT_APPEND;
    const bool second = c->again;
    c->again = appends && !c->single && !second && outcome == SERIAL_UNKNOWN &&
               prng_below(&c->prng, 2) == 0 && t->options.tokens_last;
    if (c->again)
        return;
    /* A second attempt that was refused tells nothing of the first. */
    serial_end(&t->history, c->place, transacts_now(t),
               second && outcome == SERIAL_REFUSED ? SERIAL_UNKNOWN : outcome);
    if (outcome == SERIAL_DONE && !appends)
        client_take_lists(c, body);
    t->committed += outcome == SERIAL_DONE && !c->single;
    if (c->work != TRANSACT_READ_ALL)
        c->work = TRANSACT_IDLE;
    else if (outcome == SERIAL_DONE && ++t->read == t->options.keys)
        c->work = TRANSACT_DONE;
}

static void client_done(void *context, int status, struct slice body)
{
    struct transact_client *c = context;
    c->last_status = status;
    buffer_clear(&c->last_error);
    if (status != 200)
        buffer_append_slice(&c->last_error, body);
    switch (c->work) {
    case TRANSACT_MAKE:
        if (status == 200 || dynamo_says(body, "ResourceInUse"))
            c->work = TRANSACT_AWAIT;
        break;
    case TRANSACT_AWAIT:
        if (status == 200 && dynamo_says(body, "\"TableStatus\":\"ACTIVE\"")) {
            c->work = ++c->all->made < TRANSACT_TABLES ? TRANSACT_MAKE : TRANSACT_IDLE;
        } else if (dynamo_says(body, "ResourceNotFound")) {
            c->work = TRANSACT_MAKE;
        }
        break;
    case TRANSACT_APPEND:
    case TRANSACT_READ:
    case TRANSACT_READ_ALL:
        client_end_operation(c, status, body);
        break;
    case TRANSACT_IDLE:
    case TRANSACT_DONE:
        break;
    }
    const int64_t think = prng_between(&c->prng, 0, c->all->options.think_ns);
    client_next(c, status == 200 ? think : RETRY_MS * NS_PER_MS);
}

/* ---- what to do ---- */

static void client_choose_keys(struct transact_client *c)
{
    const uint32_t most = c->all->options.keys < PARTS_MAX ? c->all->options.keys : PARTS_MAX;
    c->single = prng_below(&c->prng, 4) == 0;
    c->key_count = c->single ? 1 : (uint32_t)prng_between(&c->prng, 1, most);
    c->checks = c->work == TRANSACT_APPEND && !c->single && c->key_count < most &&
                prng_below(&c->prng, 4) == 0;
    c->fails = c->checks && prng_below(&c->prng, 4) == 0;
    for (uint32_t i = 0; i < c->key_count + c->checks;) {
        c->keys[i] = (uint32_t)prng_below(&c->prng, c->all->options.keys);
        uint32_t k = 0;
        while (c->keys[k] != c->keys[i])
            k++;
        i += k == i;
    }
}

static void client_begin_operation(struct transact_client *c)
{
    struct transacts *t = c->all;
    if (c->again)
        return;
    if (c->work == TRANSACT_READ_ALL) {
        c->single = true; /* nobody writes any more */
        c->checks = c->fails = false;
        c->key_count = 1;
        c->keys[0] = t->read;
    } else {
        client_choose_keys(c);
    }
    c->op_number = c->work == TRANSACT_APPEND ? ++t->numbers : 0;
    c->place = serial_begin(&t->history, transacts_now(t), c->op_number, c->keys, c->key_count);
}

/* Whether nothing is written any more, not even by a call whose outcome is unknown. */
static bool writes_are_over(struct transacts *t)
{
    for (uint32_t i = 1; i < t->options.clients; i++) {
        if (t->clients[i].work != TRANSACT_DONE)
            return false;
    }
    if (t->quiet_from.ns == 0)
        t->quiet_from = instant_add_ms(transacts_now(t), QUIET_MS);
    return !instant_before(transacts_now(t), t->quiet_from);
}

static void client_choose(struct transact_client *c)
{
    struct transacts *t = c->all;
    if (c->work != TRANSACT_IDLE)
        return;
    if (t->made < TRANSACT_TABLES)
        c->work = c->number == 0 ? TRANSACT_MAKE : TRANSACT_IDLE;
    else if (t->ending && c->number > 0)
        c->work = TRANSACT_DONE;
    else if (t->ending)
        c->work = writes_are_over(t) ? TRANSACT_READ_ALL : TRANSACT_IDLE;
    else if (t->on)
        c->work = prng_below(&c->prng, 3) > 0 ? TRANSACT_APPEND : TRANSACT_READ;
}

static void client_run(void *context, uint64_t argument)
{
    struct transact_client *c = context;
    const struct transacts *t = c->all;
    const bool second = t->made == 1;
    const struct dynamo_keys keys = {.partition = ATTR_STRING, .sort = second ? ATTR_STRING : 0};
    const struct dynamo_spec spec = {.keys = &keys,
                                     .units = t->options.units,
                                     .indexed = second && t->options.indexed,
                                     .global_indexes = second && t->options.global_indexes,
                                     .index_units = t->options.index_units,
                                     .streams = second && t->options.streams,
                                     .salting = second && t->options.salted ? DYNAMO_SALTED
                                                                            : DYNAMO_UNSALTED};
    const char *operation = "DescribeTable";
    (void)argument;
    client_choose(c);
    buffer_clear(&c->body);
    switch (c->work) {
    case TRANSACT_IDLE:
        client_next(c, RETRY_MS * NS_PER_MS);
        return;
    case TRANSACT_DONE:
        return;
    case TRANSACT_MAKE:
        dynamo_create_table(&c->body, transacts_tables[t->made], &spec);
        operation = "CreateTable";
        break;
    case TRANSACT_AWAIT:
        dynamo_table(&c->body, transacts_tables[t->made]);
        break;
    case TRANSACT_APPEND:
        client_begin_operation(c);
        operation = client_write_append(c);
        break;
    case TRANSACT_READ:
    case TRANSACT_READ_ALL:
        client_begin_operation(c);
        operation = client_write_read(c);
        break;
    }
    http_client_call(&c->http, operation, buffer_slice(&c->body), duration_ms(CALL_TIMEOUT_MS),
                     client_done, c);
}

static void client_next(struct transact_client *c, int64_t ns)
{
    scheduler_in(c->all->options.scheduler, (struct duration){ns}, client_run, c, 0);
}

/* ---- life ---- */

struct transacts *transacts_create(const struct transacts_options *options)
{
    struct transacts *t = must_calloc(1, sizeof *t);
    t->options = *options;
    t->clients = must_calloc(options->clients, sizeof t->clients[0]);
    for (uint32_t i = 0; i < options->clients; i++) {
        const struct http_client_options http = options->http(options->context, i);
        t->clients[i].all = t;
        t->clients[i].number = i;
        t->clients[i].prng = prng_seeded(options->seed + i);
        http_client_init(&t->clients[i].http, &http);
    }
    return t;
}

void transacts_destroy(struct transacts *t)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        http_client_deinit(&t->clients[i].http);
        buffer_deinit(&t->clients[i].body);
        buffer_deinit(&t->clients[i].last_error);
    }
    free(t->clients);
    serial_deinit(&t->history);
    free(t);
}

void transacts_begin(struct transacts *t)
{
    t->on = true;
    for (uint32_t i = 0; i < t->options.clients; i++)
        client_next(&t->clients[i], 0);
}

void transacts_end(struct transacts *t)
{
    t->ending = true;
}

bool transacts_are_done(const struct transacts *t)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        if (t->clients[i].work != TRANSACT_DONE)
            return false;
    }
    return true;
}

void transacts_describe(const struct transacts *t, struct buffer *out)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        const struct transact_client *c = &t->clients[i];
        if (c->work != TRANSACT_DONE)
            buffer_append_format(out,
                                 "client %u of transactions is at step %d; the last answer was %d "
                                 "%.*s\n",
                                 i, (int)c->work, c->last_status, (int)c->last_error.size,
                                 (const char *)c->last_error.data);
    }
}

bool transacts_check(const struct transacts *t, struct buffer *why)
{
    return serial_check(&t->history, why);
}

uint32_t transacts_committed(const struct transacts *t)
{
    return t->committed;
}
