/* sim_client.c - one simulated client: makes the first table, works on a few hot keys, or tests
 * that every key answers. */
#include "sim/plan/sim_client.h"

#include <stdlib.h>

#include "sim/plan/work_tables.h"

enum {
    RETRY_MS = 50,
    SETUP_TIMEOUT_MS = 5000,
    MANY_MAX = 25,
    FIRST_TABLE_PERCENT = 50, /* of the operations */
    INDEX_PERCENT = 30        /* of the reads of many items */
};

/* Steps of CLIENT_SETUP and CLIENT_PROBE. */
enum step {
    STEP_CREATE,
    STEP_DESCRIBE,
    STEP_WRITE,
    STEP_READ,
    STEP_READ_EVENTUAL, /* if tables come and go */
    STEP_DONE
};

/* An operation on one key in the present call, and its place in the history. */
struct client_operation {
    struct recording_ticket ticket;
    bool answered; /* the answer has told the outcome */
};

struct sim_client {
    struct sim_client_options options;
    struct http_client http;
    struct prng prng;
    enum client_plan plan;
    enum step step;
    uint32_t probe_key; /* index in the keys of all tables */
    uint32_t table;     /* of the present call */
    struct dynamo_table target;
    struct dynamo_query query; /* the last query */
    bool query_goes_on;        /* the next operation reads another page */
    bool querying;
    uint64_t mark;  /* work_tables_mark at the start of the call */
    bool scheduled; /* the next operation is scheduled */
    bool calling;
    bool probing; /* the present call is a step of CLIENT_PROBE */
    struct client_operation operations[MANY_MAX];
    uint32_t operation_count;
    bool writes;
    struct dynamo_write write; /* the present write of one key */
    uint64_t *seen;            /* owns; by key of all tables: the value seen last */
    struct client_counters counters;
    struct buffer body;
};

static void client_next(struct sim_client *c, struct duration pause);

static struct instant sim_client_now(const struct sim_client *c)
{
    return c->options.http.scheduler->now;
}

static bool client_chance(struct sim_client *c, uint32_t percent)
{
    return percent > 0 && prng_below(&c->prng, 100) < percent;
}

/* ---- outcomes ---- */

static const char condition_failed[] = "ConditionalCheckFailed";
static const char misfit[] = "does not exist in the item";

/* After 500, a time-out or a lost connection the outcome is unknown. Other failures did nothing. */
static enum history_outcome outcome_of(int status)
{
    return status == 200                    ? HISTORY_OK
           : http_client_is_unknown(status) ? HISTORY_INFO
                                            : HISTORY_FAIL;
}

static enum history_outcome take_outcome(struct sim_client *c, int status, struct slice body)
{
    enum history_outcome outcome = outcome_of(status);
    c->counters.shed += status == 503 && dynamo_contains(body, "is overloaded and did nothing");
    c->counters.behind += status == 400 && dynamo_contains(body, "(index: index");
    bool client_error = status >= 400 && status < 500;
    bool went = c->table > 0 && dynamo_contains(body, "ResourceNotFound");
    c->counters.rejected += client_error && !went && !dynamo_contains(body, "Throughput") &&
                            !dynamo_contains(body, "Throttling") &&
                            !dynamo_contains(body, condition_failed) &&
                            !dynamo_contains(body, misfit);
    if (status == 200)
        work_tables_answered(c->options.work_tables, c->table, c->mark);
    c->calling = false;
    c->counters.ok += outcome == HISTORY_OK;
    c->counters.failed += outcome == HISTORY_FAIL;
    c->counters.unknown += outcome == HISTORY_INFO;
    return outcome;
}

static void go_on(struct sim_client *c, bool ok)
{
    int64_t think = c->options.workload->think_ns;
    if (!ok)
        client_next(c, duration_ms(prng_between(&c->prng, 1, RETRY_MS)));
    else
        client_next(c, (struct duration){think > 0 ? prng_between(&c->prng, 0, think) : 0});
}

static void sim_client_call(struct sim_client *c, const char *operation, http_client_done *done)
{
    c->calling = true;
    c->counters.calls++;
    http_client_call(&c->http, operation, buffer_slice(&c->body),
                     (struct duration){c->options.workload->timeout_ns}, done, c);
}

static void client_aim(struct sim_client *c, uint32_t table, bool eventual)
{
    c->table = table;
    const struct workload *w = c->options.workload;
    c->target = (struct dynamo_table){work_tables_name(table), &w->shapes[table], &w->filler};
    c->mark = eventual ? 0 : work_tables_mark(c->options.work_tables, table);
}

/* Returns the number to write; 0 for a deletion. */
static uint64_t sim_client_begin_operation(struct sim_client *c, uint32_t key,
                                           enum history_kind kind, bool consistent, bool deletes)
{
    must(c->operation_count < MANY_MAX);
    struct client_operation *a = &c->operations[c->operation_count++];
    a->answered = false;
    a->ticket =
        recording_invoke(c->options.history, sim_client_now(c), c->options.number,
                         c->table * c->options.workload->keys + key, kind, consistent, deletes);
    return deletes ? 0 : a->ticket.id;
}

static void sim_client_answer(struct sim_client *c, struct client_operation *a,
                              enum history_outcome outcome, uint64_t value)
{
    if (a->answered) {
        recording_wrong(c->options.history, &a->ticket, "names it twice");
        return;
    }
    a->answered = true;
    recording_return(c->options.history, sim_client_now(c), &a->ticket, outcome, value);
}

/* ---- one key ---- */

static uint32_t all_keys(const struct sim_client *c)
{
    return c->options.workload->tables * c->options.workload->keys;
}

static void probe_on(struct sim_client *c)
{
    if (c->step == STEP_WRITE) {
        c->step = STEP_READ;
        return;
    }
    if (c->step == STEP_READ && c->options.workload->tables > 1) {
        c->step = STEP_READ_EVENTUAL;
        return;
    }
    c->step = STEP_WRITE;
    c->probe_key += c->options.clients;
    if (c->probe_key >= all_keys(c))
        c->step = STEP_DONE;
}

/* For recording_wrong. */
static const char report_incomplete[] = "has an item that nobody wrote like this";

static bool is_counter(const struct sim_client *c, uint32_t key)
{
    const struct workload *w = c->options.workload;
    return c->table == 0 && key >= w->keys - w->counters;
}

static uint64_t *seen_of(const struct sim_client *c, uint32_t key)
{
    return &c->seen[c->table * c->options.workload->keys + key];
}

/* A write of one key is done. */
static void write_is_done(struct sim_client *c, struct slice body)
{
    const struct dynamo_write *w = &c->write;
    const struct recording_ticket *t = &c->operations[0].ticket;
    const uint64_t old = dynamo_value(body);
    if (w->misfit)
        recording_wrong(c->options.history, t, "does an update that fits no item");
    if (w->returns_old && !dynamo_meets(w, old))
        recording_wrong(c->options.history, t, "replaced an item that fails the condition");
    if (w->returns_old)
        recording_replaced(c->options.history, t, old);
    *seen_of(c, w->key) = w->value;
}

/* A write was refused for its condition. False: it has not told which item failed it. */
static bool write_is_refused(struct sim_client *c, struct slice body)
{
    const struct dynamo_write *w = &c->write;
    const struct recording_ticket *t = &c->operations[0].ticket;
    const uint64_t met = dynamo_value(body);
    if (!w->returns_failed)
        return false;
    if (dynamo_meets(w, met))
        recording_wrong(c->options.history, t, "refuses an item that meets the condition");
    if (!dynamo_is_complete(&c->target, body, met))
        recording_wrong(c->options.history, t, report_incomplete);
    *seen_of(c, w->key) = met;
    c->operations[0].answered = true;
    recording_refused(c->options.history, sim_client_now(c), t, met);
    return true;
}

static void one_done(void *context, int status, struct slice body)
{
    struct sim_client *c = context;
    const bool refused = c->writes && status == 400 && dynamo_contains(body, condition_failed);
    enum history_outcome outcome = take_outcome(c, status, body);
    bool ok = outcome == HISTORY_OK;
    const uint64_t value = ok ? dynamo_value(body) : 0;
    if (ok && !is_counter(c, c->write.key) && !dynamo_is_complete(&c->target, body, value))
        recording_wrong(c->options.history, &c->operations[0].ticket, report_incomplete);
    if (ok && c->writes)
        write_is_done(c, body);
    else if (ok)
        *seen_of(c, c->write.key) = value;
    if (!refused || !write_is_refused(c, body))
        sim_client_answer(c, &c->operations[0], outcome, c->writes ? 0 : value);
    if (ok && c->plan == CLIENT_PROBE && c->probing)
        probe_on(c);
    go_on(c, ok);
}

static void read_key(struct sim_client *c, uint32_t key, bool consistent)
{
    c->writes = false;
    c->write = (struct dynamo_write){.key = key};
    sim_client_begin_operation(c, key, HISTORY_READ, consistent, false);
    dynamo_get(&c->body, &c->target, key, consistent);
    sim_client_call(c, "GetItem", one_done);
}

static size_t some_pad(struct sim_client *c)
{
    uint32_t max = c->options.workload->pad_bytes;
    return max > 0 ? prng_below(&c->prng, max + 1) : 0;
}

/* Chooses a condition, by what the client saw last. */
static void choose_condition(struct sim_client *c, struct dynamo_write *w)
{
    w->expected = *seen_of(c, w->key);
    w->returns_failed = client_chance(c, 90);
    w->condition = (enum dynamo_condition)prng_between(&c->prng, DYNAMO_IF_ABSENT, DYNAMO_IF_OTHER);
    if (w->expected == 0 && w->condition >= DYNAMO_IF_VALUE)
        w->condition = DYNAMO_IF_ABSENT;
}

static void write_key(struct sim_client *c, uint32_t key, bool deletes, bool returns_old)
{
    const struct workload *workload = c->options.workload;
    struct dynamo_write *w = &c->write;
    c->writes = true;
    *w = (struct dynamo_write){.key = key, .pad = some_pad(c), .returns_old = returns_old};
    if (c->plan == CLIENT_LOAD && client_chance(c, workload->condition_percent))
        choose_condition(c, w);
    w->updates = !deletes && client_chance(c, workload->update_percent);
    w->misfit = w->updates && c->plan == CLIENT_LOAD && client_chance(c, 5);
    w->value = sim_client_begin_operation(c, key, HISTORY_WRITE, true, deletes);
    if (w->condition == DYNAMO_IF_ABSENT || w->condition == DYNAMO_IF_VALUE)
        recording_replaced(c->options.history, &c->operations[0].ticket,
                           w->condition == DYNAMO_IF_VALUE ? w->expected : 0);
    dynamo_write(&c->body, &c->target, w);
    sim_client_call(c, deletes ? "DeleteItem" : w->updates ? "UpdateItem" : "PutItem", one_done);
}

/* ---- counters ---- */

static void increment_done(void *context, int status, struct slice body)
{
    struct sim_client *c = context;
    const enum history_outcome outcome = take_outcome(c, status, body);
    const bool ok = outcome == HISTORY_OK;
    sim_client_answer(c, &c->operations[0], outcome, ok ? dynamo_value(body) : 0);
    if (ok && c->plan == CLIENT_PROBE && c->probing)
        probe_on(c);
    go_on(c, ok);
}

static void increment_key(struct sim_client *c, uint32_t key)
{
    c->writes = true;
    sim_client_begin_operation(c, key, HISTORY_WRITE, true, false);
    dynamo_increment(&c->body, &c->target, key);
    sim_client_call(c, "UpdateItem", increment_done);
}

static void change_key(struct sim_client *c, uint32_t key, bool deletes, bool returns_old)
{
    if (is_counter(c, key))
        increment_key(c, key);
    else
        write_key(c, key, deletes, returns_old);
}

/* ---- many keys ---- */

static struct client_operation *operation_of(struct sim_client *c, uint32_t key)
{
    for (uint32_t i = 0; i < c->operation_count; i++) {
        if (c->operations[i].ticket.key == c->table * c->options.workload->keys + key)
            return &c->operations[i];
    }
    return NULL;
}

/* What is wrong with an item of the answer; NULL: nothing. `last`: the item before; NULL: none. */
static const char *fault_of(const struct sim_client *c, const struct dynamo_found *found,
                            const struct dynamo_found *last)
{
    const struct dynamo_query *q = &c->query;
    if (!is_counter(c, found->key) && !dynamo_is_complete(&c->target, found->item, found->value))
        return report_incomplete;
    if (c->querying && found->value < q->filter)
        return "has an item that the filter hides";
    if (!c->querying || last == NULL)
        return NULL;
    if (q->index == DYNAMO_BY_VALUE_FETCHED)
        return NULL; /* the items may have changed since the rows were read */
    const int order = q->index != DYNAMO_NO_INDEX
                          ? (last->value > found->value) - (last->value < found->value)
                          : dynamo_order(c->target.keys, last->key, found->key);
    if (q->index != DYNAMO_NO_INDEX && order == 0)
        return NULL; /* counters may have the same number */
    return (q->backward ? order >= 0 : order <= 0) ? NULL : "does not keep the order";
}

static void client_violate(struct sim_client *c, const char *what)
{
    recording_wrong(c->options.history, &c->operations[0].ticket, what);
}

static void many_read(struct sim_client *c, struct slice items)
{
    struct dynamo_found found, last;
    uint32_t count = 0;
    while (dynamo_next(&c->target, &items, &found)) {
        struct client_operation *a = operation_of(c, found.key);
        if (a == NULL) {
            client_violate(c, "names another key, which was not asked for");
            continue;
        }
        const char *what = fault_of(c, &found, count > 0 ? &last : NULL);
        if (what != NULL)
            recording_wrong(c->options.history, &a->ticket, what);
        sim_client_answer(c, a, HISTORY_OK, found.value);
        last = found;
        count++;
    }
    if (c->querying && c->query.limit > 0 && count > c->query.limit)
        client_violate(c, "has more items than the limit");
}

/* The answer does not name the key. If the answer reached the key, the key does not exist, or the
 * filter hides it. */
static void answer_unnamed(struct sim_client *c, struct client_operation *a, bool reached)
{
    const bool hidden = c->querying && c->query.filter > 0;
    sim_client_answer(c, a, reached && !hidden ? HISTORY_OK : HISTORY_FAIL, 0);
}

/* A page has ended. Keys up to the page's last key do not exist if the page does not name them. */
static void page_ended(struct sim_client *c, struct slice key)
{
    struct dynamo_found last;
    struct dynamo_query *q = &c->query;
    if (!dynamo_next(&c->target, &key, &last) || operation_of(c, last.key) == NULL) {
        client_violate(c, "ends in a key that was not asked for");
        return;
    }
    q->goes_on = true;
    q->after = last.key;
    c->query_goes_on = client_chance(c, c->options.workload->range_percent);
    for (uint32_t i = 0; i < c->operation_count; i++) {
        struct client_operation *a = &c->operations[i];
        const uint32_t number = a->ticket.key - c->table * c->options.workload->keys;
        const bool later = dynamo_query_covers(q, c->target.keys, number);
        if (a->answered && later)
            recording_wrong(c->options.history, &a->ticket, "ends in a key before it");
        if (!a->answered && !later)
            answer_unnamed(c, a, true);
    }
}

/* An unprocessed write may still have happened ("internal processing failure"). An unprocessed read
 * saw nothing. Of the other keys a read saw those that exist. */
static void many_ok(struct sim_client *c, struct slice body)
{
    static const char more[] = "\"LastEvaluatedKey\"";
    struct slice done, left, key = slice_make(NULL, 0);
    struct dynamo_found found;
    const uint8_t *at = memmem(body.data, body.size, more, sizeof more - 1);
    if (at != NULL) { /* the key in it is not an item */
        key = slice_make(at, (size_t)(body.data + body.size - at));
        body.size = (size_t)(at - body.data);
    }
    dynamo_split(body, &done, &left);
    while (dynamo_next(&c->target, &left, &found)) {
        struct client_operation *a = operation_of(c, found.key);
        must(a != NULL);
        sim_client_answer(c, a, c->writes ? HISTORY_INFO : HISTORY_FAIL, 0);
    }
    if (!c->writes)
        many_read(c, done);
    if (c->querying && at != NULL && c->query.index == DYNAMO_NO_INDEX)
        page_ended(c, key);
    for (uint32_t i = 0; i < c->operation_count; i++) {
        if (!c->operations[i].answered)
            answer_unnamed(c, &c->operations[i], at == NULL);
    }
}

static void many_done(void *context, int status, struct slice body)
{
    struct sim_client *c = context;
    enum history_outcome outcome = take_outcome(c, status, body);
    if (outcome == HISTORY_OK)
        many_ok(c, body);
    for (uint32_t i = 0; outcome != HISTORY_OK && i < c->operation_count; i++)
        sim_client_answer(c, &c->operations[i], outcome, 0);
    go_on(c, outcome == HISTORY_OK);
}

/* Chooses different keys, at least one. */
static uint32_t some_keys(struct sim_client *c, uint32_t *out)
{
    uint32_t count = 0, keys = c->options.workload->keys;
    uint32_t percent = (uint32_t)prng_between(&c->prng, 1, 100);
    for (uint32_t key = 0; key < keys && count < MANY_MAX; key++) {
        if (client_chance(c, percent))
            out[count++] = key;
    }
    if (count == 0)
        out[count++] = (uint32_t)prng_below(&c->prng, keys);
    return count;
}

/* Asks for the query's next page. False: no key can be in that page. */
static bool query_page(struct sim_client *c)
{
    const struct dynamo_query *q = &c->query;
    const struct dynamo_keys *k = c->target.keys;
    const uint32_t first = q->collection * k->collection;
    c->writes = false;
    for (uint32_t i = first; i < first + k->collection && i < c->options.workload->keys; i++) {
        if (dynamo_query_covers(q, k, i))
            sim_client_begin_operation(c, i, HISTORY_READ, q->consistent, false);
    }
    if (c->operation_count == 0)
        return false;
    c->querying = true;
    dynamo_query(&c->body, &c->target, q);
    sim_client_call(c, "Query", many_done);
    return true;
}

/* A range between two keys of the collection, from a key on, or below a key. */
static void choose_range(struct sim_client *c, uint32_t key)
{
    struct dynamo_query *q = &c->query;
    const struct dynamo_keys *k = c->target.keys;
    const uint32_t other =
        q->collection * k->collection + (uint32_t)prng_below(&c->prng, k->collection);
    const bool ascending = dynamo_order(k, key, other) <= 0;
    q->range = (enum dynamo_range)prng_between(&c->prng, DYNAMO_BETWEEN, DYNAMO_BELOW);
    q->low = ascending ? key : other;
    q->high = ascending ? other : key;
    if (q->range == DYNAMO_BELOW && q->low == q->high)
        q->range = DYNAMO_AT_MIN;
}

/* Reads the whole collection by an index. */
static void choose_index(struct sim_client *c)
{
    c->query.index = client_chance(c, 50) ? DYNAMO_BY_VALUE : DYNAMO_BY_VALUE_FETCHED;
    c->query.limit = 0;
    c->query.filter = 0;
}

/* Queries the key's collection. */
static void sim_client_query(struct sim_client *c, uint32_t key, bool consistent)
{
    const struct workload *w = c->options.workload;
    const struct dynamo_keys *k = c->target.keys;
    c->query = (struct dynamo_query){
        .collection = dynamo_collection(k, key),
        .limit = client_chance(c, 20) ? (uint32_t)prng_between(&c->prng, 1, 4) : 0,
        .filter = client_chance(c, 20) ? *seen_of(c, key) : 0,
        .consistent = consistent,
        .backward = client_chance(c, 50)};
    if (c->table == 0 && w->indexed && k->sort != 0 && client_chance(c, 50))
        choose_index(c);
    else if (k->sort != 0 && client_chance(c, w->range_percent))
        choose_range(c, key);
    if (!query_page(c)) {
        c->query.range = DYNAMO_ALL;
        query_page(c);
    }
}

/* Rows lag behind the items: what the index holds is compared at the end of the run
 * (sim/check/check.h). */
static void index_done(void *context, int status, struct slice body)
{
    struct sim_client *c = context;
    go_on(c, take_outcome(c, status, body) == HISTORY_OK);
}

/* Reads a global index of the first table; the first index may come and go. */
static void read_index(struct sim_client *c)
{
    const bool first = !c->options.workload->index_churn && client_chance(c, 50);
    c->writes = false;
    dynamo_scan_index(&c->body, &c->target, first ? 0 : 1);
    sim_client_call(c, "Scan", index_done);
}

static void read_many(struct sim_client *c, bool consistent)
{
    uint32_t keys[MANY_MAX], count = some_keys(c, keys);
    bool scan = client_chance(c, 40) && c->options.workload->keys <= MANY_MAX;
    c->writes = false;
    if (client_chance(c, c->options.workload->query_percent)) {
        sim_client_query(c, keys[0], consistent);
        return;
    }
    if (scan)
        count = c->options.workload->keys;
    for (uint32_t i = 0; i < count; i++)
        sim_client_begin_operation(c, scan ? i : keys[i], HISTORY_READ, consistent, false);
    if (scan)
        dynamo_scan(&c->body, &c->target, consistent);
    else
        dynamo_batch_get(&c->body, &c->target, keys, count, consistent);
    sim_client_call(c, scan ? "Scan" : "BatchGetItem", many_done);
}

static void write_many(struct sim_client *c)
{
    uint32_t keys[MANY_MAX], count = some_keys(c, keys);
    struct dynamo_write all[MANY_MAX];
    c->writes = true;
    while (count > 0 && is_counter(c, keys[count - 1]))
        count--;
    if (count == 0) {
        increment_key(c, keys[0]);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool deletes = client_chance(c, c->options.workload->delete_percent);
        all[i] = (struct dynamo_write){.key = keys[i], .pad = some_pad(c)};
        all[i].value = sim_client_begin_operation(c, keys[i], HISTORY_WRITE, true, deletes);
    }
    dynamo_batch_write(&c->body, &c->target, all, count);
    sim_client_call(c, "BatchWriteItem", many_done);
}

/* ---- plans ---- */

static void sim_client_load(struct sim_client *c)
{
    const struct workload *w = c->options.workload;
    bool many = client_chance(c, w->many_percent), reads = client_chance(c, w->read_percent);
    bool consistent = reads && !client_chance(c, w->eventual_percent);
    bool other = w->tables > 1 && !client_chance(c, FIRST_TABLE_PERCENT);
    client_aim(c, other ? 1 + (uint32_t)prng_below(&c->prng, w->tables - 1) : 0,
               reads && !consistent);
    if (many && reads) {
        if (c->table == 0 && w->global_indexes && client_chance(c, INDEX_PERCENT))
            read_index(c);
        else
            read_many(c, consistent);
        return;
    }
    if (many) {
        write_many(c);
        return;
    }
    uint32_t key = (uint32_t)prng_below(&c->prng, w->keys);
    if (reads)
        read_key(c, key, consistent);
    else
        change_key(c, key, client_chance(c, w->delete_percent), client_chance(c, w->old_percent));
}

static bool next_page(struct sim_client *c)
{
    client_aim(c, c->table, !c->query.consistent);
    return query_page(c);
}

static void client_probe(struct sim_client *c)
{
    uint32_t keys = c->options.workload->keys;
    client_aim(c, c->probe_key / keys, c->step == STEP_READ_EVENTUAL);
    if (c->step == STEP_WRITE)
        change_key(c, c->probe_key % keys, false, true);
    else
        read_key(c, c->probe_key % keys, c->step == STEP_READ);
}

static void setup_done(void *context, int status, struct slice body)
{
    struct sim_client *c = context;
    c->calling = false;
    if (c->step == STEP_CREATE && (status == 200 || dynamo_contains(body, "ResourceInUse")))
        c->step = STEP_DESCRIBE;
    else if (status == 200 && dynamo_contains(body, "\"TableStatus\":\"ACTIVE\""))
        c->step = STEP_DONE;
    client_next(c, duration_ms(prng_between(&c->prng, 1, RETRY_MS)));
}

static void sim_client_setup(struct sim_client *c)
{
    bool create = c->step == STEP_CREATE;
    const struct workload *w = c->options.workload;
    const struct dynamo_spec spec = {.keys = &w->shapes[0],
                                     .units = w->partitions * w->units,
                                     .indexed = w->indexed,
                                     .global_indexes = w->global_indexes,
                                     .index_units = w->index_units,
                                     .key_sharding =
                                         w->sharded ? DYNAMO_SHARDED : DYNAMO_UNSHARDED};
    if (create)
        dynamo_create_table(&c->body, "sim", &spec);
    else
        dynamo_table(&c->body, "sim");
    c->calling = true;
    http_client_call(&c->http, create ? "CreateTable" : "DescribeTable", buffer_slice(&c->body),
                     duration_ms(SETUP_TIMEOUT_MS), setup_done, c);
}

static void sim_client_run(void *context, UNUSED uint64_t argument)
{
    struct sim_client *c = context;
    c->scheduled = false;
    c->operation_count = 0;
    buffer_clear(&c->body);
    c->probing = c->plan == CLIENT_PROBE;
    c->querying = false;
    const bool goes_on = c->query_goes_on;
    c->query_goes_on = false;
    if (c->plan == CLIENT_LOAD && goes_on && next_page(c))
        return;
    if (c->plan == CLIENT_LOAD)
        sim_client_load(c);
    else if (c->plan == CLIENT_PROBE && c->step != STEP_DONE)
        client_probe(c);
    else if (c->plan == CLIENT_SETUP && c->step != STEP_DONE)
        sim_client_setup(c);
}

static void client_next(struct sim_client *c, struct duration pause)
{
    if (c->scheduled || c->calling)
        return;
    c->scheduled = true;
    scheduler_in(c->options.http.scheduler, pause, sim_client_run, c, 0);
}

void sim_client_set_plan(struct sim_client *c, enum client_plan plan)
{
    c->plan = plan;
    c->step = plan == CLIENT_SETUP ? STEP_CREATE : STEP_WRITE;
    c->probe_key = c->options.number;
    if (plan == CLIENT_PROBE && c->probe_key >= all_keys(c))
        c->step = STEP_DONE;
    client_next(c, (struct duration){0});
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
    static const char *const steps[] = {"the table's creation",    "the table to be active",
                                        "a write of key",          "a strong read of key",
                                        "an eventual read of key", "nothing"};
    buffer_append_format(out, "client %u waits for %s", c->options.number, steps[c->step]);
    if (c->step >= STEP_WRITE && c->step < STEP_DONE)
        buffer_append_format(out, " %u", c->probe_key);
    http_client_describe(&c->http, out);
}

/* ---- life ---- */

struct sim_client *sim_client_create(const struct sim_client_options *options)
{
    struct sim_client *c = must_calloc(1, sizeof *c);
    c->options = *options;
    c->prng = prng_seeded(options->seed);
    http_client_init(&c->http, &options->http);
    c->seen = must_calloc(all_keys(c), sizeof c->seen[0]);
    return c;
}

void sim_client_destroy(struct sim_client *c)
{
    http_client_deinit(&c->http);
    free(c->seen);
    buffer_deinit(&c->body);
    free(c);
}
