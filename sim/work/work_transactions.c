/* work_transactions.c - clients whose transactions append numbers to lists, and read them. */
#include "sim/work/work_transactions.h"

#include <stdlib.h>

#include "base/probe.h"
#include "sim/work/work_streams.h"
#include "sim/work/work_transactions_internal.h"

enum {
    ANSWER_MS = 4000, /* a strong read that fails is repeated, and answered within this */
    DOUBLINGS_MAX = 3 /* of the pause before it is sent again */
};

/* ---- requests ---- */

static void write_parts(struct transaction_client *c)
{
    struct buffer *out = &c->client.body;
    buffer_append_format(out, "{\"ClientRequestToken\":\"n%u\",\"TransactItems\":[", c->token);
    for (uint32_t i = 0; i < c->part_count; i++) {
        buffer_append_text(out, i > 0 ? "," : "");
        list_append_part(out, &c->parts[i], c->op_number, c->pad);
    }
    buffer_append_text(out, "]}");
}

static const char *write_write(struct transaction_client *c)
{
    const bool shares = plan_keeps_tokens(transactions_of(c)->plan) && transaction_often(c, 10);
    struct transaction_client *other = shares ? transaction_find(c) : NULL;
    if (c->again) {
        write_parts(c);
    } else if (other != NULL && transaction_often(c, 50)) {
        PROBE("two clients send one transaction");
        c->client.step = TRANSACTION_JOIN;
        c->joined = other;
        other->calls++;
        buffer_set(&c->client.body, buffer_slice(&other->client.body));
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
    buffer_append_text(&c->client.body, "{");
    list_append_update(&c->client.body, c->parts[0].key, c->op_number, c->pad);
    buffer_append_text(&c->client.body, "}");
    return "UpdateItem";
}

static const char *write_read(struct transaction_client *c)
{
    struct buffer *out = &c->client.body;
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
    struct work_transactions *t = transactions_of(c);
    const uint32_t key = t->read / 2;
    const bool mark = t->read % 2 != 0;
    c->single = true;
    c->marks = mark;
    c->part_count = 1;
    c->parts[0].key = key;
    if (!mark)
        c->place = serial_begin(&t->history, transactions_now(t), 0, &key, 1);
    buffer_append_text(&c->client.body, "{\"ConsistentRead\":true,");
    list_append_key(&c->client.body, key, mark);
    buffer_append_text(&c->client.body, "}");
    return "GetItem";
}

static const char *write_read_many(struct transaction_client *c)
{
    if (c->after.size == 0)
        transaction_begin_read_many(c);
    return list_append_read(&c->client.body, &c->read, buffer_slice(&c->after));
}

/* ---- answers ---- */

static void client_wrong(struct transaction_client *c, const char *what, struct slice answer)
{
    buffer_append_format(&c->client.all->wrong, "%s: %.*s\n", what, (int)MIN(answer.size, 1000),
                         (const char *)answer.data);
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
        serial_saw(&transactions_of(c)->history, c->place, i, serial_list_copy(&list.list));
        client_learn(c, key, list.list);
        if (!c->marks || c->single)
            continue;
        if (!list_next(&rest, &part))
            client_wrong(c, "an answer lacks an item", body);
        serial_saw_mark(&transactions_of(c)->history, c->place, i,
                        take_item(c, part, key, true).value);
    }
}

/* The items of a page. */
static void take_page(struct transaction_client *c, struct slice body)
{
    struct slice rest = dynamo_behind(body, "\"Items\":["), item;
    struct list_found found;
    while (list_next(&rest, &item)) {
        const bool whole = list_find(item, &found);
        struct known_list *k =
            found.key < transactions_of(c)->plan->work_lists && list_is_in(&c->read, found.key)
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
    struct work_transactions *t = transactions_of(c);
    uint32_t place = c->place;
    for (uint32_t key = 0; key < t->plan->work_lists; key++) {
        struct known_list *k = &c->known[key];
        if (!list_is_in(&c->read, key))
            continue;
        if (!k->named)
            client_learn(c, key, (struct serial_list){0});
        serial_saw(&t->history, place, 0, serial_list_copy(&k->list));
        serial_end(&t->history, place++, transactions_now(t), SERIAL_DONE);
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
    struct work_transactions *t = transactions_of(c);
    c->calls--;
    c->unknown |= outcome == SERIAL_UNKNOWN;
    if (outcome == SERIAL_DONE && !c->done && !c->fails) {
        c->done = true;
        serial_end(&t->history, c->place, transactions_now(t), SERIAL_DONE);
    }
}

/* Whether the operation is over: no call is under way. A refusal tells nothing of a call whose
 * outcome is unknown; a check that never holds, and was answered, tells all. */
static bool write_is_over(struct transaction_client *c)
{
    struct work_transactions *t = transactions_of(c);
    if (c->calls > 0 || c->again)
        return false;
    if (c->fails || !c->done)
        serial_end(&t->history, c->place, transactions_now(t),
                   c->unknown && !c->fails ? SERIAL_UNKNOWN : SERIAL_REFUSED);
    return true;
}

static void client_end_write(struct transaction_client *c, int status)
{
    const enum serial_outcome outcome = outcome_of(status);
    const bool second = c->again;
    c->again = !c->single && !second && outcome == SERIAL_UNKNOWN && transaction_often(c, 50) &&
               plan_keeps_tokens(transactions_of(c)->plan);
    end_write_call(c, outcome);
}

/* A strong read goes on failing though nothing is in its way. */
static void check_wait(struct transaction_client *c, int status)
{
    struct work_transactions *t = transactions_of(c);
    const struct instant from =
        instant_before(c->first_begun, t->calm_from) ? t->calm_from : c->first_begun;
    if (instant_since(transactions_now(t), from).ns < ANSWER_MS * NS_PER_MS)
        return;
    run_violate(t->clients.options.run,
                "a strong read of list %u was not answered for %lld ms: %d %.*s\n",
                c->client.step == TRANSACTION_READ ? c->parts[0].key : c->read.first,
                (long long)(instant_since(transactions_now(t), from).ns / NS_PER_MS), status,
                TEXT_OF(c->client.http.last_error));
}

/* The list, or its mark. Whatever is not answered is asked for again. */
static void client_end_read_all(struct transaction_client *c, int status, struct slice body)
{
    struct work_transactions *t = transactions_of(c);
    if (status != 200)
        return;
    if (c->marks) {
        serial_saw_mark(&t->history, c->place, 0, take_item(c, body, c->parts[0].key, true).value);
        serial_end(&t->history, c->place, transactions_now(t), SERIAL_DONE);
    } else {
        take_lists(c, body);
    }
    if (++t->read == 2 * t->plan->work_lists)
        c->client.step = WORK_STEP_DONE;
}

/* False: the read goes on, or is sent again. */
static bool client_end_read(struct transaction_client *c, int status, struct slice body)
{
    struct work_transactions *t = transactions_of(c);
    const enum serial_outcome outcome = outcome_of(status);
    c->insists = t->expects_answers && outcome == SERIAL_UNKNOWN;
    if (c->insists)
        check_wait(c, status);
    if (outcome != SERIAL_DONE) {
        if (!c->insists)
            buffer_clear(&c->after);
        return !c->insists;
    }
    c->first_begun = transactions_now(t);
    if (c->client.step == TRANSACTION_READ) {
        take_lists(c, body);
        c->fresh = !c->single;
        serial_end(&t->history, c->place, transactions_now(t), SERIAL_DONE);
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

static void transaction_answered(void *client, int status, struct slice body)
{
    struct transaction_client *c = client;
    switch ((enum transaction_step)c->client.step) {
    case TRANSACTION_APPEND:
        client_end_write(c, status);
        if (write_is_over(c))
            c->client.step = WORK_STEP_IDLE;
        break;
    case TRANSACTION_JOIN:
        end_write_call(c->joined, outcome_of(status));
        c->joined = NULL;
        c->client.step = WORK_STEP_IDLE;
        break;
    case TRANSACTION_READ:
    case TRANSACTION_READ_MANY:
        if (client_end_read(c, status, body))
            c->client.step = WORK_STEP_IDLE;
        break;
    case TRANSACTION_READ_ALL:
        client_end_read_all(c, status, body);
        break;
    case TRANSACTION_LEAVE:
        if (status == 200 || dynamo_contains(body, "ResourceNotFound")) {
            transactions_of(c)->anchors = false;
            c->client.step = WORK_STEP_IDLE;
        }
        break;
    }
}

/* ---- what to do ---- */

static enum transaction_step choose_operation(struct transaction_client *c)
{
    const uint32_t draw = transaction_below(c, 100);
    return draw < 60 ? TRANSACTION_APPEND : draw < 85 ? TRANSACTION_READ : TRANSACTION_READ_MANY;
}

static bool third_table_leaves(const struct work_transactions *t)
{
    return t->anchors && (t->clients.ending || !instant_before(transactions_now(t), t->leaves_at));
}

/* After another client's call the operation may be over. */
static void transaction_wake(void *client)
{
    struct transaction_client *c = client;
    if (c->client.step == TRANSACTION_APPEND && write_is_over(c))
        c->client.step = WORK_STEP_IDLE;
}

static void transaction_choose(void *client)
{
    struct transaction_client *c = client;
    struct work_transactions *t = transactions_of(c);
    const bool first = c->client.number == 0;
    if (!work_client_has_tables(&c->client))
        return;
    if (first && third_table_leaves(t))
        c->client.step = TRANSACTION_LEAVE;
    else if (!t->clients.ending)
        c->client.step = choose_operation(c);
    else if (!first)
        c->client.step = WORK_STEP_DONE;
    else if (work_clients_are_quiet(&t->clients))
        c->client.step = TRANSACTION_READ_ALL;
    if (!c->insists)
        c->first_begun = transactions_now(t);
}

/* As SDKs do: clients that repeat their reads without a rest would never let a node catch up. */
static int64_t transaction_pause(void *client, int status)
{
    struct transaction_client *c = client;
    c->repeated = c->insists ? c->repeated + 1 : 0;
    const uint32_t doublings = MIN(c->repeated, DOUBLINGS_MAX);
    const int64_t think_ns = work_client_think(&c->client);
    return status == 200 ? think_ns : (int64_t)(WORK_RETRY_MS * NS_PER_MS) << doublings;
}

static const char *transaction_table(const void *client, struct dynamo_spec *spec)
{
    static const struct dynamo_keys one = {.partition = ATTR_STRING},
                                    two = {.partition = ATTR_STRING, .sort = ATTR_STRING};
    const struct work_transactions *t = transactions_of(client);
    const struct workload *w = &t->plan->workload;
    const bool second = t->clients.made == 1;
    *spec = (struct dynamo_spec){.keys = second ? &two : &one,
                                 .units = plan_side_units(t->plan),
                                 .indexed = second && w->indexed,
                                 .global_indexes = second && w->global_indexes,
                                 .index_units = w->index_units,
                                 .streams = second && work_streams_has_lists(t->plan),
                                 .key_sharding =
                                     second && w->sharded ? DYNAMO_SHARDED : DYNAMO_UNSHARDED};
    return work_transactions_tables[t->clients.made];
}

/* While a call of another client is under way the body stays: a third one may send it. */
static const char *transaction_write(void *client)
{
    struct transaction_client *c = client;
    if (c->client.step == TRANSACTION_APPEND && c->calls > 0 && !c->again)
        return NULL;
    buffer_clear(&c->client.body);
    switch ((enum transaction_step)c->client.step) {
    case TRANSACTION_LEAVE:
        dynamo_table(&c->client.body, work_transactions_tables[WORK_TRANSACTION_TABLES]);
        return "DeleteTable";
    case TRANSACTION_APPEND:
        return write_write(c);
    case TRANSACTION_READ:
        return write_read(c);
    case TRANSACTION_READ_MANY:
        return write_read_many(c);
    case TRANSACTION_READ_ALL:
        return write_read_all(c);
    case TRANSACTION_JOIN:
        break;
    }
    return NULL;
}

/* ---- life ---- */

static void transactions_begin(void *all)
{
    struct work_transactions *t = all;
    t->anchors = plan_has(t->plan, SIM_LEAVING_TABLE);
    t->leaves_at = instant_add(transactions_now(t), (struct duration){t->plan->length_ns * 2 / 3});
}

static bool transactions_check(const void *all, struct buffer *why)
{
    const struct work_transactions *t = all;
    return serial_check(&t->history, why);
}

static void transaction_client_deinit(void *client)
{
    struct transaction_client *c = client;
    buffer_deinit(&c->after);
    for (uint32_t key = 0; key < WORK_LISTS_MAX; key++)
        free(c->known[key].list.numbers);
}

static void transactions_deinit(void *all)
{
    struct work_transactions *t = all;
    serial_deinit(&t->history);
}

static const struct work_client_kind transaction_kind = {.name = "of transactions",
                                                         .size = sizeof(struct work_transactions),
                                                         .client_size =
                                                             sizeof(struct transaction_client),
                                                         .idle_ms = WORK_RETRY_MS,
                                                         .pause = transaction_pause,
                                                         .choose = transaction_choose,
                                                         .write = transaction_write,
                                                         .answered = transaction_answered,
                                                         .wake = transaction_wake,
                                                         .table = transaction_table,
                                                         .client_deinit = transaction_client_deinit,
                                                         .begin = transactions_begin,
                                                         .check = transactions_check,
                                                         .deinit = transactions_deinit};

struct work_clients *work_transactions_create(const struct work_clients_options *options)
{
    struct work_transactions *t = work_clients_create(&transaction_kind, options);
    t->plan = work_clients_plan(&t->clients);
    must(t->plan->work_lists >= WORK_TRANSACTION_TABLES);
    must(t->plan->work_lists <= WORK_LISTS_MAX);
    t->clients.tables = WORK_TRANSACTION_TABLES + plan_has(t->plan, SIM_LEAVING_TABLE);
    return &t->clients;
}

void work_transactions_expect_answers(struct work_clients *all)
{
    struct work_transactions *t = (struct work_transactions *)all;
    must(all->kind == &transaction_kind);
    t->expects_answers = true;
    t->calm_from = work_clients_now(all);
}
