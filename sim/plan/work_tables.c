/* work_tables.c - tables come and go while clients work on them; checks what answers may say
 * then. */
#include "sim/plan/work_tables.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/probe.h"

enum {
    RETRY_MS = 100,
    CALL_TIMEOUT_MS = 6000,
    QUIET_MS = 12000 /* then no abandoned call is on its way any more */
};

/* What is known of a table. Gone: it certainly does not exist. Otherwise it may exist. */
struct slot {
    bool gone;
    bool create_unknown;         /* a CreateTable may still happen: nothing is certain */
    struct instant create_until; /* that CreateTable happens before, or not at all */
    uint64_t gone_count;
    uint64_t incarnations;
    struct recording_ticket *clears; /* owns; by key; the present deletion */
    bool clearing;
};

/* The client's work, on one table at a time.
 *
 *   IDLE -> CREATE -> AWAIT_ACTIVE -> IDLE      create_or_retry, await_active
 *   IDLE -> UPDATE -> AWAIT_ACTIVE -> IDLE      update
 *   IDLE -> DELETE -> AWAIT_GONE -> IDLE        delete_or_retry, await_gone
 *   IDLE -> ADD_INDEX -> AWAIT_INDEX -> IDLE    await_index; of table 0 only
 *   IDLE -> DROP_INDEX -> AWAIT_INDEX -> IDLE */
enum work {
    WORK_IDLE,
    WORK_CREATE,
    WORK_UPDATE,
    WORK_DELETE,
    WORK_AWAIT_ACTIVE,
    WORK_AWAIT_GONE,
    WORK_ADD_INDEX,
    WORK_DROP_INDEX,
    WORK_AWAIT_INDEX,
};

struct work_tables {
    struct work_tables_options options;
    struct http_client http;
    struct prng prng;
    struct slot slots[TABLES_MAX];
    enum work work;
    uint32_t at;        /* the table of the work */
    bool without_index; /* table 0 shall be without its first index */
    bool renews;        /* once the index is dropped, it is made anew */
    bool on;
    bool settling;
    uint32_t settled; /* tables below this one exist or are being made */
    uint32_t made;
    bool scheduled;
    bool calling;
    struct instant quiet_until;
    struct buffer body;
};

static void work_tables_next(struct work_tables *t, int64_t ns);

static struct instant work_tables_now(const struct work_tables *t)
{
    return t->options.http.scheduler->now;
}

const char *work_tables_name(uint32_t table)
{
    static const char *const names[TABLES_MAX] = {"sim", "sim-1", "sim-2", "sim-3"};
    must(table < TABLES_MAX);
    return names[table];
}

/* ---- what answers may say ---- */

uint64_t work_tables_mark(const struct work_tables *t, uint32_t table)
{
    const struct slot *s = &t->slots[table];
    return s->gone && !s->create_unknown ? s->gone_count : 0;
}

void work_tables_answered(struct work_tables *t, uint32_t table, uint64_t mark)
{
    const struct slot *s = &t->slots[table];
    if (mark == 0 || !s->gone || s->create_unknown || s->gone_count != mark)
        return;
    char text[160];
    int size = snprintf(text, sizeof text,
                        "a request to table %s is answered 200, and the table was gone before it "
                        "began\n",
                        work_tables_name(table));
    t->options.failed(t->options.context, slice_make(text, (size_t)size));
}

/* ---- the history ---- */

static void work_tables_clear_begin(struct work_tables *t)
{
    struct slot *s = &t->slots[t->at];
    uint32_t keys = t->options.workload->keys;
    if (s->clears == NULL)
        s->clears = must_calloc(keys, sizeof s->clears[0]);
    for (uint32_t key = 0; key < keys; key++)
        s->clears[key] =
            recording_clear(t->options.history, work_tables_now(t), t->at * keys + key);
}

/* Without this call the deletion may happen at any later time. */
static void work_tables_clear_end(struct work_tables *t)
{
    struct slot *s = &t->slots[t->at];
    for (uint32_t key = 0; key < t->options.workload->keys; key++)
        recording_return(t->options.history, work_tables_now(t), &s->clears[key], HISTORY_OK, 0);
    s->clearing = false;
}

/* ---- calls ---- */

static void work_tables_done(void *context, int status, struct slice body);

static void work_tables_call(struct work_tables *t, const char *operation)
{
    t->calling = true;
    http_client_call(&t->http, operation, buffer_slice(&t->body), duration_ms(CALL_TIMEOUT_MS),
                     work_tables_done, t);
}

static uint32_t some_units(struct work_tables *t)
{
    const struct workload *w = t->options.workload;
    if (prng_below(&t->prng, 2) == 0)
        return 0;
    return w->units * (uint32_t)prng_between(&t->prng, 1, TABLE_PARTITIONS_MAX);
}

static void work_tables_change(struct work_tables *t, const char *name)
{
    bool tag = prng_below(&t->prng, 4) == 0;
    if (tag)
        dynamo_tag_table(&t->body, name, (uint32_t)prng_below(&t->prng, 100));
    else
        dynamo_update_table(&t->body, name, some_units(t));
    work_tables_call(t, tag ? "TagResource" : "UpdateTable");
}

static void work_tables_change_index(struct work_tables *t, const char *name)
{
    const struct workload *w = t->options.workload;
    if (t->work == WORK_ADD_INDEX)
        dynamo_add_index(&t->body, name, 0,
                         w->index_units > 0 ? w->index_units : w->partitions * w->units);
    else
        dynamo_drop_index(&t->body, name, 0);
    work_tables_call(t, "UpdateTable");
}

static void work_tables_run(void *context, UNUSED uint64_t argument)
{
    struct work_tables *t = context;
    const char *name = work_tables_name(t->at);
    struct dynamo_spec spec = {.keys = &t->options.workload->shapes[t->at],
                               .indexed = prng_below(&t->prng, 3) == 0,
                               .key_sharding = t->options.workload->sharded ? DYNAMO_SHARDED
                                                                            : DYNAMO_UNSHARDED};
    t->scheduled = false;
    buffer_clear(&t->body);
    switch (t->work) {
    case WORK_IDLE:
        break;
    case WORK_CREATE:
        t->slots[t->at].gone = false;
        spec.units = some_units(t);
        spec.weight = spec.units % 4;
        dynamo_create_table(&t->body, name, &spec);
        t->made++;
        work_tables_call(t, "CreateTable");
        break;
    case WORK_UPDATE:
        work_tables_change(t, name);
        break;
    case WORK_DELETE:
        if (!instant_before(work_tables_now(t), t->slots[t->at].create_until))
            t->slots[t->at].create_unknown = false; /* what it made, this deletes */
        if (!t->slots[t->at].clearing)
            work_tables_clear_begin(t);
        t->slots[t->at].clearing = true;
        dynamo_table(&t->body, name);
        work_tables_call(t, "DeleteTable");
        break;
    case WORK_ADD_INDEX:
    case WORK_DROP_INDEX:
        work_tables_change_index(t, name);
        break;
    case WORK_AWAIT_ACTIVE:
    case WORK_AWAIT_GONE:
    case WORK_AWAIT_INDEX:
        dynamo_table(&t->body, name);
        work_tables_call(t, "DescribeTable");
        break;
    }
}

/* ---- answers ---- */

static void create_or_retry(struct work_tables *t, int status, struct slice body)
{
    if (http_client_is_unknown(status)) {
        t->slots[t->at].create_unknown = true;
        t->slots[t->at].create_until = instant_add(work_tables_now(t), duration_ms(QUIET_MS));
    }
    if (status == 200) {
        t->slots[t->at].incarnations++;
        if (t->slots[t->at].incarnations > 1)
            PROBE("a table is made anew under its name");
    }
    if (status == 200 || dynamo_contains(body, "ResourceInUse"))
        t->work = WORK_AWAIT_ACTIVE;
}

static void delete_or_retry(struct work_tables *t, int status, struct slice body)
{
    if (http_client_is_unknown(status)) {
        /* The outcome of this deletion stays unknown. The next deletion has its own tickets. */
        t->slots[t->at].clearing = false;
        t->quiet_until = instant_add(work_tables_now(t), duration_ms(QUIET_MS));
    } else if (status == 200 || dynamo_contains(body, "ResourceNotFound"))
        t->work = WORK_AWAIT_GONE;
}

static void await_active(struct work_tables *t, int status, struct slice body)
{
    if (status == 200 && dynamo_contains(body, "\"TableStatus\":\"ACTIVE\""))
        t->work = WORK_IDLE;
    else if (dynamo_contains(body, "ResourceNotFound")) /* a DeleteTable came late */
        t->work = WORK_CREATE;
}

static void await_gone(struct work_tables *t, int status, struct slice body)
{
    struct slot *s = &t->slots[t->at];
    if (status == 200 && dynamo_contains(body, "\"TableStatus\":\"ACTIVE\"")) {
        PROBE("a CreateTable comes between a deletion and the proof that the table is gone");
        s->clearing = false; /* deleted twice: the second deletion has its own tickets */
        t->work = WORK_DELETE;
    }
    if (!dynamo_contains(body, "ResourceNotFound"))
        return;
    PROBE("a table is deleted under load");
    work_tables_clear_end(t);
    s->gone = true;
    s->gone_count++;
    t->work = WORK_IDLE;
}

/* Once the table rests: is the index as it shall be? A request that was late may have changed
 * it. */
static void await_index(struct work_tables *t, int status, struct slice body)
{
    char name[32];
    snprintf(name, sizeof name, "\"IndexName\":\"%s\"", dynamo_globals[0]);
    const bool there = dynamo_contains(body, name);
    if (status != 200 || !dynamo_contains(body, "\"TableStatus\":\"ACTIVE\""))
        return;
    if (there == t->without_index)
        t->work = there ? WORK_DROP_INDEX : WORK_ADD_INDEX;
    else if (!dynamo_contains(body, "\"Backfilling\""))
        t->work = WORK_IDLE;
    if (t->work == WORK_IDLE && there)
        PROBE("an index is filled under load");
    if (t->work == WORK_IDLE && t->renews) {
        t->renews = t->without_index = false;
        t->work = WORK_ADD_INDEX;
    }
}

/* Also if it was refused: then the look finds what is missing. */
static void index_changed(struct work_tables *t, int status)
{
    if (http_client_is_unknown(status))
        t->quiet_until = instant_add(work_tables_now(t), duration_ms(QUIET_MS));
    t->work = WORK_AWAIT_INDEX;
}

/* Whether the next work is of the index. */
static bool work_tables_choose_index(struct work_tables *t)
{
    const struct workload *w = t->options.workload;
    if (!w->index_churn || (w->tables > 1 && prng_below(&t->prng, 2) == 0))
        return false;
    t->at = 0;
    t->without_index = !t->without_index;
    t->work = t->without_index ? WORK_DROP_INDEX : WORK_ADD_INDEX;
    return true;
}

/* Chooses the next work. False: there is none. True with WORK_IDLE: look again later. */
static bool work_tables_choose(struct work_tables *t)
{
    uint32_t count = t->options.workload->tables;
    if (t->settling) {
        if (instant_before(work_tables_now(t), t->quiet_until))
            return true;
        if (t->settled >= count)
            return false;
        t->at = t->settled++;
        t->work = t->at == 0 ? WORK_AWAIT_INDEX : WORK_AWAIT_ACTIVE;
        return true;
    }
    if (!t->on)
        return false;
    if (work_tables_choose_index(t))
        return true;
    t->at = 1 + (uint32_t)prng_below(&t->prng, count - 1);
    t->work = t->slots[t->at].gone           ? WORK_CREATE
              : prng_below(&t->prng, 3) == 0 ? WORK_UPDATE
                                             : WORK_DELETE;
    return true;
}

static void work_tables_done(void *context, int status, struct slice body)
{
    struct work_tables *t = context;
    enum work before = t->work;
    t->calling = false;
    switch (t->work) {
    case WORK_IDLE:
        break;
    case WORK_CREATE:
        create_or_retry(t, status, body);
        break;
    case WORK_UPDATE:
        t->work = WORK_AWAIT_ACTIVE; /* also if the change was refused */
        break;
    case WORK_DELETE:
        delete_or_retry(t, status, body);
        break;
    case WORK_AWAIT_ACTIVE:
        await_active(t, status, body);
        break;
    case WORK_AWAIT_GONE:
        await_gone(t, status, body);
        break;
    case WORK_ADD_INDEX:
    case WORK_DROP_INDEX:
        index_changed(t, status);
        break;
    case WORK_AWAIT_INDEX:
        await_index(t, status, body);
        break;
    }
    bool idle = t->work == WORK_IDLE && before != WORK_IDLE;
    work_tables_next(t, idle && !t->settling
                            ? prng_between(&t->prng, 0, 2 * t->options.workload->churn_ns)
                            : prng_between(&t->prng, 1, RETRY_MS) * NS_PER_MS);
}

static void work_tables_poll(void *context, UNUSED uint64_t argument)
{
    struct work_tables *t = context;
    t->scheduled = false;
    bool more = t->work != WORK_IDLE || work_tables_choose(t);
    if (t->work != WORK_IDLE)
        work_tables_run(t, 0);
    else if (more)
        work_tables_next(t, RETRY_MS * NS_PER_MS);
}

static void work_tables_next(struct work_tables *t, int64_t ns)
{
    if (t->scheduled || t->calling)
        return;
    t->scheduled = true;
    scheduler_in(t->options.http.scheduler, (struct duration){ns}, work_tables_poll, t, 0);
}

/* ---- life ---- */

void work_tables_begin(struct work_tables *t)
{
    t->on = t->options.workload->tables > 1 || t->options.workload->index_churn;
    if (t->on)
        work_tables_next(t, 0);
}

void work_tables_end(struct work_tables *t)
{
    t->on = false;
    t->settling = true;
    t->settled = t->options.workload->index_churn ? 0 : 1;
    t->without_index = false;
    work_tables_next(t, 0);
}

void work_tables_renew_index(struct work_tables *t)
{
    if (!t->options.workload->index_churn)
        return;
    t->at = 0;
    t->without_index = t->renews = true;
    t->work = WORK_DROP_INDEX;
    work_tables_next(t, 0);
}

uint32_t work_tables_made(const struct work_tables *t)
{
    return t->made;
}

bool work_tables_are_settled(const struct work_tables *t)
{
    return !t->calling && !t->scheduled && t->work == WORK_IDLE;
}

void work_tables_describe(const struct work_tables *t, struct buffer *out)
{
    static const char *const works[] = {"nothing",
                                        "a table's creation",
                                        "a table's change",
                                        "a deletion",
                                        "a table to be active",
                                        "a table to be gone",
                                        "an index to be asked for",
                                        "an index to be dropped",
                                        "an index"};
    buffer_append_format(out, "the client of tables waits for %s: %s", works[t->work],
                         work_tables_name(t->at));
    http_client_describe(&t->http, out);
}

struct work_tables *work_tables_create(const struct work_tables_options *options)
{
    struct work_tables *t = must_calloc(1, sizeof *t);
    must(options->workload->tables >= 1 && options->workload->tables <= TABLES_MAX);
    t->options = *options;
    t->prng = prng_seeded(options->seed);
    for (uint32_t i = 1; i < options->workload->tables; i++) {
        t->slots[i].gone = true;
        t->slots[i].gone_count = 1;
    }
    http_client_init(&t->http, &options->http);
    return t;
}

void work_tables_destroy(struct work_tables *t)
{
    for (uint32_t i = 0; i < TABLES_MAX; i++)
        free(t->slots[i].clears);
    http_client_deinit(&t->http);
    buffer_deinit(&t->body);
    free(t);
}
