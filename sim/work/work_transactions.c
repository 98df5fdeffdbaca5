/* work_transactions.c - clients whose transactions append numbers to lists, and read them. */
#include "sim/work/work_transactions.h"

#include <stdlib.h>

#include "base/probe.h"
#include "sim/work/work_transactions_internal.h"
#include "sim/world/dynamo.h"

enum {
    CALL_TIMEOUT_MS = 6000,
    RETRY_MS = 100,
    ANSWER_MS = 4000, /* a strong read that fails is repeated, and answered within this */
    QUIET_MS = 12000  /* then no abandoned call is on its way any more */
};

static void client_next(struct transaction_client *c, int64_t ns);

static uint32_t tables_of(const struct work_transactions *t)
{
    return t->options.leaves_ns > 0 ? WORK_TRANSACTION_TABLES + 1 : WORK_TRANSACTION_TABLES;
}

/* ---- requests ---- */

static void write_parts(struct transaction_client *c)
{
    struct buffer *out = &c->body;
    buffer_append_format(out, "{\"ClientRequestToken\":\"n%u\",\"TransactItems\":[", c->token);
    for (uint32_t i = 0; i < c->part_count; i++) {
        buffer_append_text(out, i > 0 ? "," : "");
        list_append_part(out, &c->parts[i], c->op_number, c->pad);
    }
    buffer_append_text(out, "]}");
}

static const char *write_write(struct transaction_client *c)
{
    const bool shares = c->all->options.tokens_last && transaction_often(c, 10);
    struct transaction_client *other = shares ? transaction_find(c) : NULL;
    if (c->again) {
        write_parts(c);
    } else if (other != NULL && transaction_often(c, 50)) {
        PROBE("two clients send one transaction");
        c->work = TRANSACTION_WORK_JOIN;
        c->joined = other;
        other->calls++;
        buffer_set(&c->body, buffer_slice(&other->body));
        return "TransactWriteItems";
    } else if (other != NULL && transaction_begin_rival(c, other)) {
        write_parts(c);
    } else {
        transaction_begin_write(c);
        if (!c->single)
            write_parts(c);
    }
    c->calls++;
    if (!c->single)
        return "TransactWriteItems";
    buffer_append_text(&c->body, "{");
    list_append_update(&c->body, c->parts[0].key, c->op_number, c->pad);
    buffer_append_text(&c->body, "}");
    return "UpdateItem";
}

static const char *write_read(struct transaction_client *c)
{
    struct buffer *out = &c->body;
    transaction_begin_read(c);
    if (c->single) {
        buffer_append_text(out, "{\"ConsistentRead\":true,");
        list_append_key(out, c->parts[0].key, false);
        buffer_append_text(out, "}");
        return "GetItem";
    }
    buffer_append_text(out, "{\"TransactItems\":[");
    for (uint32_t i = 0; i < c->part_count; i++) {
        for (int mark = 0; mark <= (int)c->marks; mark++) {
            buffer_append_text(out, i + (uint32_t)mark > 0 ? ",{\"Get\":{" : "{\"Get\":{");
            list_append_key(out, c->parts[i].key, mark != 0);
            buffer_append_text(out, "}}");
        }
    }
    buffer_append_text(out, "]}");
    return "TransactGetItems";
}

/* The next list, and then its mark: nobody writes any more. */
static const char *write_read_all(struct transaction_client *c)
{
    struct work_transactions *t = c->all;
    const uint32_t key = t->read / 2;
    const bool mark = t->read % 2 != 0;
    c->single = true;
    c->marks = mark;
    c->part_count = 1;
    c->parts[0].key = key;
    if (!mark)
        c->place = serial_begin(&t->history, work_transactions_now(t), 0, &key, 1);
    buffer_append_text(&c->body, "{\"ConsistentRead\":true,");
    list_append_key(&c->body, key, mark);
    buffer_append_text(&c->body, "}");
    return "GetItem";
}

static const char *write_read_many(struct transaction_client *c)
{
    if (c->after.size == 0)
        transaction_begin_read_many(c);
    return list_append_read(&c->body, &c->read, buffer_slice(&c->after));
}

/* ---- answers ---- */

static void client_wrong(struct transaction_client *c, const char *what, struct slice answer)
{
    buffer_append_format(&c->all->wrong, "%s: %.*s\n", what,
                         (int)(answer.size < 1000 ? answer.size : 1000), (const char *)answer.data);
}

/* The client knows the list from now on. Takes ownership. */
static void client_learn(struct transaction_client *c, uint32_t key, struct serial_list list)
{
    free(c->known[key].list.numbers);
    c->known[key].known = true;
    c->known[key].list = list;
}

/* An item of an answer, which has at most the one that was asked for. */
static struct list_found take_item(struct transaction_client *c, struct slice part, uint32_t key,
                                   bool mark)
{
    struct list_found found = {.key = key, .mark = mark};
    struct slice item = dynamo_behind(part, "\"Item\":");
    if (item.size == 0)
        return found;
    if (!list_find(item, &found) || found.key != key || found.mark != mark) {
        client_wrong(c, "an item is not the one that was asked for, or not whole", part);
        free(found.list.numbers);
        found = (struct list_found){.key = key, .mark = mark};
    }
    return found;
}

static void take_lists(struct transaction_client *c, struct slice body)
{
    struct slice rest = dynamo_behind(body, "\"Responses\":["), part = body;
    for (uint32_t i = 0; i < c->part_count; i++) {
        const uint32_t key = c->parts[i].key;
        if (!c->single && !list_next(&rest, &part))
            client_wrong(c, "an answer lacks an item", body);
        const struct list_found list = take_item(c, part, key, false);
        serial_saw(&c->all->history, c->place, i, serial_list_copy(&list.list));
        client_learn(c, key, list.list);
        if (!c->marks || c->single)
            continue;
        if (!list_next(&rest, &part))
            client_wrong(c, "an answer lacks an item", body);
        serial_saw_mark(&c->all->history, c->place, i, take_item(c, part, key, true).value);
    }
}

/* The items of a page. */
static void take_page(struct transaction_client *c, struct slice body)
{
    struct slice rest = dynamo_behind(body, "\"Items\":["), item;
    struct list_found found;
    while (list_next(&rest, &item)) {
        const bool whole = list_find(item, &found);
        struct known_list *k = found.key < c->all->options.keys && list_is_in(&c->read, found.key)
                                   ? &c->known[found.key]
                                   : NULL;
        if (!whole || k == NULL || (!found.mark && k->named)) {
            client_wrong(c, "an item is not whole, not asked for or there twice", body);
            free(found.list.numbers);
        } else if (!found.mark) {
            k->named = true;
            client_learn(c, found.key, found.list);
        }
    }
}

/* All pages are there: lists that were not named are empty. */
static void end_read_many(struct transaction_client *c)
{
    struct work_transactions *t = c->all;
    uint32_t place = c->place;
    for (uint32_t key = 0; key < t->options.keys; key++) {
        struct known_list *k = &c->known[key];
        if (!list_is_in(&c->read, key))
            continue;
        if (!k->named)
            client_learn(c, key, (struct serial_list){0});
        serial_saw(&t->history, place, 0, serial_list_copy(&k->list));
        serial_end(&t->history, place++, work_transactions_now(t), SERIAL_DONE);
    }
}

static enum serial_outcome outcome_of(int status)
{
    return status == 200                    ? SERIAL_DONE
           : http_client_is_unknown(status) ? SERIAL_UNKNOWN
                                            : SERIAL_REFUSED;
}

/* A call of the operation has ended, of whichever client. */
static void end_write_call(struct transaction_client *c, enum serial_outcome outcome)
{
    struct work_transactions *t = c->all;
    c->calls--;
    c->unknown |= outcome == SERIAL_UNKNOWN;
    if (outcome == SERIAL_DONE && !c->done && !c->fails) {
        c->done = true;
        serial_end(&t->history, c->place, work_transactions_now(t), SERIAL_DONE);
        t->committed += !c->single;
    }
}

/* Whether the operation is over: no call is under way. A refusal tells nothing of a call whose
 * outcome is unknown; a check that never holds, and was answered, tells all. */
static bool write_is_over(struct transaction_client *c)
{
    struct work_transactions *t = c->all;
    if (c->calls > 0 || c->again)
        return false;
    if (c->fails || !c->done)
        serial_end(&t->history, c->place, work_transactions_now(t),
                   c->unknown && !c->fails ? SERIAL_UNKNOWN : SERIAL_REFUSED);
    return true;
}

static void client_end_write(struct transaction_client *c, int status)
{
    const enum serial_outcome outcome = outcome_of(status);
    const bool second = c->again;
    c->again = !c->single && !second && outcome == SERIAL_UNKNOWN && transaction_often(c, 50) &&
               c->all->options.tokens_last;
    end_write_call(c, outcome);
}

/* A strong read goes on failing though nothing is in its way. */
static void judge_patience(struct transaction_client *c, int status)
{
    struct work_transactions *t = c->all;
    const struct instant from = instant_before(c->asked, t->calm_from) ? t->calm_from : c->asked;
    if (instant_since(work_transactions_now(t), from).ns < ANSWER_MS * NS_PER_MS)
        return;
    struct buffer why = {0};
    buffer_append_format(&why, "a strong read of list %u was not answered for %lld ms: %d %.*s",
                         c->work == TRANSACTION_WORK_READ ? c->parts[0].key : c->read.first,
                         (long long)(instant_since(work_transactions_now(t), from).ns / NS_PER_MS),
                         status, (int)c->last_error.size, (const char *)c->last_error.data);
    t->options.failed(t->options.failed_context, buffer_slice(&why));
    buffer_deinit(&why);
}

/* The list, or its mark. Whatever is not answered is asked for again. */
static void client_end_read_all(struct transaction_client *c, int status, struct slice body)
{
    struct work_transactions *t = c->all;
    if (status != 200)
        return;
    if (c->marks) {
        serial_saw_mark(&t->history, c->place, 0, take_item(c, body, c->parts[0].key, true).value);
        serial_end(&t->history, c->place, work_transactions_now(t), SERIAL_DONE);
    } else {
        take_lists(c, body);
    }
    if (++t->read == 2 * t->options.keys)
        c->work = TRANSACTION_WORK_DONE;
}

/* False: the read goes on, or is sent again. */
static bool client_end_read(struct transaction_client *c, int status, struct slice body)
{
    struct work_transactions *t = c->all;
    const enum serial_outcome outcome = outcome_of(status);
    c->insists = t->expects_answers && outcome == SERIAL_UNKNOWN;
    if (c->insists)
        judge_patience(c, status);
    if (outcome != SERIAL_DONE) {
        if (!c->insists)
            buffer_clear(&c->after);
        return !c->insists;
    }
    c->asked = work_transactions_now(t);
    if (c->work == TRANSACTION_WORK_READ) {
        take_lists(c, body);
        c->fresh = !c->single;
        serial_end(&t->history, c->place, work_transactions_now(t), SERIAL_DONE);
        t->committed += !c->single;
        return true;
    }
    take_page(c, body);
    struct slice behind = dynamo_behind(body, "\"LastEvaluatedKey\":"), after = {NULL, 0};
    list_next(&behind, &after);
    buffer_set(&c->after, after);
    if (after.size > 0 && list_is_by_index(&c->read)) {
        buffer_clear(&c->after); /* lists that move between two pages may be in both or in none */
        return true;
    }
    if (after.size > 0)
        return false;
    end_read_many(c);
    return true;
}

static void client_end_operation(struct transaction_client *c, int status, struct slice body)
{
    if (c->work == TRANSACTION_WORK_APPEND) {
        client_end_write(c, status);
        if (write_is_over(c))
            c->work = TRANSACTION_WORK_IDLE;
    } else if (c->work == TRANSACTION_WORK_JOIN) {
        end_write_call(c->joined, outcome_of(status));
        c->joined = NULL;
        c->work = TRANSACTION_WORK_IDLE;
    } else if (c->work == TRANSACTION_WORK_READ_ALL) {
        client_end_read_all(c, status, body);
    } else if (client_end_read(c, status, body)) {
        c->work = TRANSACTION_WORK_IDLE;
    }
}

static void client_done(void *context, int status, struct slice body)
{
    struct transaction_client *c = context;
    c->last_status = status;
    buffer_clear(&c->last_error);
    if (status != 200)
        buffer_append_slice(&c->last_error, body);
    switch (c->work) {
    case TRANSACTION_WORK_MAKE:
        if (status == 200 || dynamo_says(body, "ResourceInUse"))
            c->work = TRANSACTION_WORK_AWAIT;
        break;
    case TRANSACTION_WORK_AWAIT:
        if (status == 200 && dynamo_says(body, "\"TableStatus\":\"ACTIVE\"")) {
            c->work =
                ++c->all->made < tables_of(c->all) ? TRANSACTION_WORK_MAKE : TRANSACTION_WORK_IDLE;
        } else if (dynamo_says(body, "ResourceNotFound")) {
            c->work = TRANSACTION_WORK_MAKE;
        }
        break;
    case TRANSACTION_WORK_APPEND:
    case TRANSACTION_WORK_READ:
    case TRANSACTION_WORK_READ_MANY:
    case TRANSACTION_WORK_JOIN:
    case TRANSACTION_WORK_READ_ALL:
        client_end_operation(c, status, body);
        break;
    case TRANSACTION_WORK_LEAVE:
        if (status == 200 || dynamo_says(body, "ResourceNotFound")) {
            c->all->anchors = false;
            c->work = TRANSACTION_WORK_IDLE;
        }
        break;
    case TRANSACTION_WORK_IDLE:
    case TRANSACTION_WORK_DONE:
        break;
    }
    const int64_t think = prng_between(&c->prng, 0, c->all->options.think_ns);
    client_next(c, status == 200 ? think : RETRY_MS * NS_PER_MS);
}

/* ---- what to do ---- */

/* Whether nothing is written any more, not even by a call whose outcome is unknown. */
static bool writes_are_over(struct work_transactions *t)
{
    for (uint32_t i = 1; i < t->options.clients; i++) {
        if (t->clients[i].work != TRANSACTION_WORK_DONE)
            return false;
    }
    if (t->quiet_from.ns == 0)
        t->quiet_from = instant_add_ms(work_transactions_now(t), QUIET_MS);
    return !instant_before(work_transactions_now(t), t->quiet_from);
}

static enum transaction_work choose_operation(struct transaction_client *c)
{
    const uint32_t draw = transaction_below(c, 100);
    return draw < 60   ? TRANSACTION_WORK_APPEND
           : draw < 85 ? TRANSACTION_WORK_READ
                       : TRANSACTION_WORK_READ_MANY;
}

static void client_choose(struct transaction_client *c)
{
    struct work_transactions *t = c->all;
    if (c->work != TRANSACTION_WORK_IDLE)
        return;
    if (t->made < tables_of(t))
        c->work = c->number == 0 ? TRANSACTION_WORK_MAKE : TRANSACTION_WORK_IDLE;
    else if (c->number == 0 && t->anchors &&
             (t->ending || !instant_before(work_transactions_now(t), t->leaves_at)))
        c->work = TRANSACTION_WORK_LEAVE;
    else if (t->ending && c->number > 0)
        c->work = TRANSACTION_WORK_DONE;
    else if (t->ending)
        c->work = writes_are_over(t) ? TRANSACTION_WORK_READ_ALL : TRANSACTION_WORK_IDLE;
    else if (t->on)
        c->work = choose_operation(c);
    if (!c->insists)
        c->asked = work_transactions_now(t);
}

static const char *client_make(struct transaction_client *c)
{
    const struct work_transactions *t = c->all;
    const bool second = t->made == 1;
    const struct dynamo_keys keys = {.partition = ATTR_STRING, .sort = second ? ATTR_STRING : 0};
    const struct dynamo_spec spec = {
        .keys = &keys,
        .units = t->options.units,
        .indexed = second && t->options.indexed,
        .global_indexes = second && t->options.global_indexes,
        .index_units = t->options.index_units,
        .streams = second && t->options.streams,
        .key_sharding = second && t->options.sharded ? DYNAMO_SHARDED : DYNAMO_UNSHARDED};
    dynamo_create_table(&c->body, work_transactions_tables[t->made], &spec);
    return "CreateTable";
}

/* The request of the present work. NULL: there is none. */
static const char *client_write(struct transaction_client *c)
{
    switch (c->work) {
    case TRANSACTION_WORK_MAKE:
        return client_make(c);
    case TRANSACTION_WORK_AWAIT:
        dynamo_table(&c->body, work_transactions_tables[c->all->made]);
        return "DescribeTable";
    case TRANSACTION_WORK_LEAVE:
        dynamo_table(&c->body, work_transactions_tables[WORK_TRANSACTION_TABLES]);
        return "DeleteTable";
    case TRANSACTION_WORK_APPEND:
        return write_write(c);
    case TRANSACTION_WORK_READ:
        return write_read(c);
    case TRANSACTION_WORK_READ_MANY:
        return write_read_many(c);
    case TRANSACTION_WORK_READ_ALL:
        return write_read_all(c);
    case TRANSACTION_WORK_IDLE:
    case TRANSACTION_WORK_JOIN:
    case TRANSACTION_WORK_DONE:
        break;
    }
    return NULL;
}

static void client_run(void *context, uint64_t argument)
{
    struct transaction_client *c = context;
    (void)argument;
    if (c->work == TRANSACTION_WORK_APPEND && write_is_over(c)) /* after another client's call */
        c->work = TRANSACTION_WORK_IDLE;
    client_choose(c);
    if (c->work == TRANSACTION_WORK_DONE)
        return;
    const bool waits = c->work == TRANSACTION_WORK_APPEND && c->calls > 0 && !c->again;
    const char *operation = NULL;
    if (!waits) {
        buffer_clear(&c->body);
        operation = client_write(c);
    }
    if (operation == NULL)
        client_next(c, RETRY_MS * NS_PER_MS);
    else
        http_client_call(&c->http, operation, buffer_slice(&c->body), duration_ms(CALL_TIMEOUT_MS),
                         client_done, c);
}

static void client_next(struct transaction_client *c, int64_t ns)
{
    scheduler_in(c->all->options.scheduler, (struct duration){ns}, client_run, c, 0);
}

/* ---- life ---- */

struct work_transactions *work_transactions_create(const struct work_transactions_options *options)
{
    struct work_transactions *t = must_calloc(1, sizeof *t);
    must(options->keys >= WORK_TRANSACTION_TABLES && options->keys <= WORK_LISTS_MAX);
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

void work_transactions_destroy(struct work_transactions *t)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        http_client_deinit(&t->clients[i].http);
        buffer_deinit(&t->clients[i].body);
        buffer_deinit(&t->clients[i].after);
        buffer_deinit(&t->clients[i].last_error);
        for (uint32_t key = 0; key < WORK_LISTS_MAX; key++)
            free(t->clients[i].known[key].list.numbers);
    }
    free(t->clients);
    buffer_deinit(&t->wrong);
    serial_deinit(&t->history);
    free(t);
}

void work_transactions_begin(struct work_transactions *t)
{
    t->on = true;
    t->anchors = t->options.leaves_ns > 0;
    t->leaves_at = instant_add(work_transactions_now(t), (struct duration){t->options.leaves_ns});
    for (uint32_t i = 0; i < t->options.clients; i++)
        client_next(&t->clients[i], 0);
}

void work_transactions_expect_answers(struct work_transactions *t)
{
    t->expects_answers = true;
    t->calm_from = work_transactions_now(t);
}

void work_transactions_end(struct work_transactions *t)
{
    t->ending = true;
}

bool work_transactions_are_done(const struct work_transactions *t)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        if (t->clients[i].work != TRANSACTION_WORK_DONE)
            return false;
    }
    return true;
}

void work_transactions_describe(const struct work_transactions *t, struct buffer *out)
{
    for (uint32_t i = 0; i < t->options.clients; i++) {
        const struct transaction_client *c = &t->clients[i];
        if (c->work != TRANSACTION_WORK_DONE)
            buffer_append_format(out,
                                 "client %u of transactions is at step %d; the last answer was %d "
                                 "%.*s\n",
                                 i, (int)c->work, c->last_status, (int)c->last_error.size,
                                 (const char *)c->last_error.data);
    }
}

bool work_transactions_check(const struct work_transactions *t, struct buffer *why)
{
    if (t->wrong.size > 0)
        buffer_append_slice(why, buffer_slice(&t->wrong));
    return t->wrong.size == 0 && serial_check(&t->history, why);
}

uint32_t work_transactions_committed(const struct work_transactions *t)
{
    return t->committed;
}
