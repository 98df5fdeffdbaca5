/* work_fill.c - clients that fill the stores of a cluster, and make room as users do. */
#include "sim/work/work_fill.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "base/prng.h"
#include "base/probe.h"
#include "base/settings/storage.h"
#include "sim/world/dynamo.h"

enum {
    CALL_TIMEOUT_MS = 6000,
    RETRY_MS = 200,
    POLL_MS = 200,
    ENOUGH_PART = 6,    /* of the map */
    KEYS = 4096,        /* of a client, one after the other */
    FAULTS_OVER_S = 20, /* until what a fault has begun is over */
    ENDING_FILL_S = 10, /* at last a store is filled for so long; perhaps it does not get full */
    TABLE_GOES_PERCENT = 15 /* of the rounds: a client deletes its table in place of items */
};

enum fill_phase {
    FILL_UP, /* all clients put, until a put finds no space */
    FILL_MAKE_ROOM,
    FILL_AGAIN, /* whose put was refused puts again */
    FILL_LEAVE, /* all tables go */
};

enum fill_work {
    FILL_IDLE,
    FILL_MAKE_TABLE,
    FILL_AWAIT_TABLE,
    FILL_PUT,
    FILL_DELETE,
    FILL_DELETE_TABLE,
    FILL_AWAIT_GONE,
    FILL_DONE,
};

struct fill_client {
    struct work_fill *all; /* borrows */
    struct http_client http;
    struct prng prng;
    enum fill_work work;
    char table[16];
    uint32_t size;  /* of its items */
    bool made;      /* its table is there */
    bool refused;   /* a put found no space, and none has since */
    bool made_room; /* in this round */
    bool table_goes;
    uint32_t key;         /* of the call */
    uint32_t next;        /* the first key that was never used since the table was made */
    uint32_t there;       /* items that may be there */
    uint32_t to_delete;   /* of them, in this round */
    uint8_t stored[KEYS]; /* whether the item may be there */
    int64_t wanted_ns;    /* since when the call is to succeed */
    int last_status;
    struct buffer body;
    struct buffer last_error;
};

struct work_fill {
    struct run *run;             /* borrows */
    struct fill_client *clients; /* owns */
    enum fill_phase phase;
    int64_t calm_ns; /* from then on no fault is injected */
    int64_t ending_ns;
    int64_t freed_bytes; /* in this round */
    bool ending;
};

static void client_next(struct fill_client *c, int64_t ns);

static int64_t work_fill_now(const struct work_fill *f)
{
    return f->run->world.scheduler.now.ns;
}

/* ---- rounds ---- */

static bool is_in_calm(const struct fill_client *c)
{
    return c->all->phase == FILL_AGAIN || c->all->phase == FILL_MAKE_ROOM;
}

static void work_fill_begin_round(struct work_fill *f)
{
    PROBE("a store is full, and its clients make room");
    f->phase = FILL_MAKE_ROOM;
    f->freed_bytes = 0;
    for (uint32_t i = 0; i < f->run->plan.work_fill; i++) {
        struct fill_client *c = &f->clients[i];
        c->made_room = !c->made;
        c->table_goes = prng_below(&c->prng, 100) < TABLE_GOES_PERCENT;
        c->to_delete = (c->there + 1) / 2;
    }
}

static void work_fill_go_on(struct work_fill *f)
{
    bool made_room = true, refused = false;
    for (uint32_t i = 0; i < f->run->plan.work_fill; i++) {
        made_room &= f->clients[i].made_room;
        refused |= f->clients[i].refused;
    }
    if (f->phase == FILL_MAKE_ROOM && made_room)
        f->phase = FILL_AGAIN;
    if (f->phase == FILL_AGAIN && !refused)
        f->phase = f->ending ? FILL_LEAVE : FILL_UP;
    const int64_t filled_ns = f->ending_ns + ENDING_FILL_S * NS_PER_S;
    if (f->phase == FILL_UP && f->ending && work_fill_now(f) >= filled_ns)
        f->phase = FILL_LEAVE;
}

/* ---- answers ---- */

static bool is_for_space(const struct fill_client *c)
{
    const struct slice error = buffer_slice(&c->last_error);
    return c->last_status == 503 &&
           (dynamo_says(error, "no space left") || dynamo_says(error, "short of space"));
}

/* So many bytes must be deleted before a put is sure to find space: the other clients and what they
 * leave behind may take some. */
static int64_t work_fill_enough_bytes(const struct work_fill *f)
{
    return config_storage(&f->run->plan.config)->map_max_bytes / ENOUGH_PART;
}

static void client_refused(struct fill_client *c)
{
    struct work_fill *f = c->all;
    const int64_t since = c->wanted_ns > f->calm_ns ? c->wanted_ns : f->calm_ns;
    const bool full = dynamo_says(buffer_slice(&c->last_error), "that add data");
    const bool little = f->freed_bytes < work_fill_enough_bytes(f);
    if (c->work == FILL_PUT && full && f->phase == FILL_UP) {
        c->refused = true;
        work_fill_begin_round(f);
        c->work = FILL_IDLE;
        return;
    }
    if (!is_in_calm(c) || work_fill_now(f) - since < WORK_FILL_BOUND_S * NS_PER_S)
        return;
    if (c->work == FILL_PUT && little) { /* others may have taken it (FILLS-2) */
        c->refused = false;
        c->work = FILL_IDLE;
        return;
    }
    /* FILLS-1, FILLS-2 */
    run_violate(f->run,
                "%s of %u bytes in table %s finds no space for %lld ms, and %lld bytes of items "
                "were deleted: %.*s\n",
                c->work == FILL_PUT ? "a put" : "a deletion", c->size, c->table,
                (long long)((work_fill_now(f) - c->wanted_ns) / NS_PER_MS),
                (long long)f->freed_bytes, TEXT_OF(c->last_error));
}

static void client_forget_items(struct fill_client *c)
{
    memset(c->stored, 0, sizeof c->stored);
    c->next = c->there = 0;
}

static void client_store(struct fill_client *c, bool stored)
{
    c->there += stored;
    c->there -= c->stored[c->key] != 0;
    c->stored[c->key] = stored;
}

static void client_end_put(struct fill_client *c, int status)
{
    if (status == 200 || http_client_is_unknown(status))
        client_store(c, true);
    c->refused &= status != 200;
    c->work = status == 200 ? FILL_IDLE : FILL_PUT;
}

static void client_end_delete(struct fill_client *c)
{
    c->all->freed_bytes += c->size;
    client_store(c, false);
    c->to_delete--;
    c->work = FILL_IDLE;
}

static void client_end_table(struct fill_client *c, int status, struct slice body)
{
    const bool exists = status == 200 || dynamo_says(body, "ResourceInUse");
    const bool absent = status == 400 && dynamo_says(body, "ResourceNotFound");
    if (c->work == FILL_MAKE_TABLE && exists) {
        c->work = FILL_AWAIT_TABLE;
    } else if (c->work == FILL_AWAIT_TABLE && absent) {
        c->work = FILL_MAKE_TABLE;
    } else if (c->work == FILL_AWAIT_TABLE && dynamo_says(body, "\"TableStatus\":\"ACTIVE\"")) {
        c->made = true;
        c->work = FILL_IDLE;
    } else if ((c->work == FILL_DELETE_TABLE || c->work == FILL_AWAIT_GONE) && absent) {
        c->all->freed_bytes += (int64_t)c->there * c->size;
        client_forget_items(c);
        c->made = c->table_goes = false;
        c->made_room = true;
        c->work = FILL_IDLE;
    } else if (c->work == FILL_DELETE_TABLE && status == 200) {
        c->work = FILL_AWAIT_GONE;
    }
}

static void client_done(void *context, int status, struct slice body)
{
    struct fill_client *c = context;
    c->last_status = status;
    buffer_clear(&c->last_error);
    if (status != 200)
        buffer_append_slice(&c->last_error, body);
    if (c->work == FILL_PUT)
        client_end_put(c, status);
    else if (c->work == FILL_DELETE && status == 200)
        client_end_delete(c);
    else if (c->work != FILL_DELETE)
        client_end_table(c, status, body);
    if (is_for_space(c))
        client_refused(c);
    client_next(c, status == 200 ? 0 : RETRY_MS * NS_PER_MS);
}

/* ---- what to do ---- */

/* Some item that may be there. */
static uint32_t client_some_item(struct fill_client *c)
{
    uint32_t key = (uint32_t)prng_below(&c->prng, c->next);
    while (c->stored[key] == 0)
        key = (key + 1) % c->next;
    return key;
}

static void client_begin(struct fill_client *c, enum fill_work work)
{
    c->work = work;
    c->wanted_ns = work_fill_now(c->all);
}

static void client_make_room(struct fill_client *c)
{
    if (c->made_room)
        return;
    if (c->table_goes) {
        client_begin(c, FILL_DELETE_TABLE);
        return;
    }
    if (c->to_delete == 0) {
        c->made_room = true;
        return;
    }
    c->key = client_some_item(c);
    client_begin(c, FILL_DELETE);
}

static void client_put(struct fill_client *c)
{
    if (c->next == KEYS)
        return;
    c->key = c->next++;
    client_begin(c, FILL_PUT);
}

static void client_choose(struct fill_client *c)
{
    const struct work_fill *f = c->all;
    if (c->work == FILL_PUT && (f->phase == FILL_MAKE_ROOM || f->phase == FILL_LEAVE))
        c->work = FILL_IDLE; /* another client's put found no space, or all is over */
    if (c->work != FILL_IDLE)
        return;
    if (f->phase == FILL_LEAVE)
        client_begin(c, c->made ? FILL_DELETE_TABLE : FILL_DONE);
    else if (f->phase == FILL_MAKE_ROOM)
        client_make_room(c);
    else if (!c->made)
        client_begin(c, FILL_MAKE_TABLE);
    else if (f->phase == FILL_UP || c->refused)
        client_put(c);
}

static const char *client_write_put(struct fill_client *c)
{
    buffer_append_format(&c->body,
                         "{\"TableName\":\"%s\",\"Item\":{\"k\":{\"S\":\"%u\"},\"p\":{\"S\":\"",
                         c->table, c->key);
    memset(buffer_reserve(&c->body, c->size), 'x', c->size);
    c->body.size += c->size;
    buffer_append_text(&c->body, "\"}}}");
    return "PutItem";
}

static const char *client_write(struct fill_client *c)
{
    const struct dynamo_keys keys = {.partition = ATTR_STRING};
    const struct dynamo_spec spec = {.keys = &keys, .units = plan_side_units(&c->all->run->plan)};
    if (c->work == FILL_PUT)
        return client_write_put(c);
    if (c->work == FILL_DELETE) {
        buffer_append_format(&c->body, "{\"TableName\":\"%s\",\"Key\":{\"k\":{\"S\":\"%u\"}}}",
                             c->table, c->key);
        return "DeleteItem";
    }
    if (c->work == FILL_MAKE_TABLE) {
        dynamo_create_table(&c->body, c->table, &spec);
        return "CreateTable";
    }
    dynamo_table(&c->body, c->table);
    return c->work == FILL_DELETE_TABLE ? "DeleteTable" : "DescribeTable";
}

static void client_run(void *context, uint64_t argument)
{
    struct fill_client *c = context;
    (void)argument;
    work_fill_go_on(c->all);
    client_choose(c);
    if (c->work == FILL_DONE)
        return;
    if (c->work == FILL_IDLE) {
        client_next(c, POLL_MS * NS_PER_MS);
        return;
    }
    buffer_clear(&c->body);
    const char *operation = client_write(c);
    http_client_call(&c->http, operation, buffer_slice(&c->body), duration_ms(CALL_TIMEOUT_MS),
                     client_done, c);
}

static void client_next(struct fill_client *c, int64_t ns)
{
    scheduler_in(&c->all->run->world.scheduler, (struct duration){ns}, client_run, c, 0);
}

/* ---- all of them ---- */

struct work_fill *
work_fill_create(struct run *run,
                 struct http_client_options (*http)(void *context, uint32_t client), void *context)
{
    struct work_fill *f = must_calloc(1, sizeof *f);
    const struct plan *plan = &run->plan;
    const uint64_t seed = world_seed(&run->world, WORLD_WORK_FILL, 0);
    f->run = run;
    f->calm_ns = INT64_MAX;
    f->clients = must_calloc(plan->work_fill, sizeof f->clients[0]);
    for (uint32_t i = 0; i < plan->work_fill; i++) {
        const struct http_client_options options = http(context, i);
        struct fill_client *c = &f->clients[i];
        c->all = f;
        c->prng = prng_seeded(seed + i);
        c->size = (uint32_t)prng_between(&c->prng, plan->fill_bytes_max / 2, plan->fill_bytes_max);
        snprintf(c->table, sizeof c->table, "fills%u", i);
        http_client_init(&c->http, &options);
    }
    return f;
}

void work_fill_destroy(struct work_fill *f)
{
    for (uint32_t i = 0; i < f->run->plan.work_fill; i++) {
        http_client_deinit(&f->clients[i].http);
        buffer_deinit(&f->clients[i].body);
        buffer_deinit(&f->clients[i].last_error);
    }
    free(f->clients);
    free(f);
}

void work_fill_begin(struct work_fill *f)
{
    const struct plan *plan = &f->run->plan;
    if (plan->faults == 0 && plan->kill_leader_at == SPLIT_STAGE_NONE)
        f->calm_ns = work_fill_now(f);
    for (uint32_t i = 0; i < plan->work_fill; i++)
        client_next(&f->clients[i], 0);
}

void work_fill_end(struct work_fill *f)
{
    const int64_t over_ns = work_fill_now(f) + FAULTS_OVER_S * NS_PER_S;
    f->calm_ns = over_ns < f->calm_ns ? over_ns : f->calm_ns;
    f->ending = true;
    f->ending_ns = work_fill_now(f);
}

bool work_fill_are_done(const struct work_fill *f)
{
    for (uint32_t i = 0; i < f->run->plan.work_fill; i++) {
        if (f->clients[i].work != FILL_DONE)
            return false;
    }
    return true;
}

void work_fill_describe(const struct work_fill *f, struct buffer *out)
{
    for (uint32_t i = 0; i < f->run->plan.work_fill; i++) {
        const struct fill_client *c = &f->clients[i];
        if (c->work != FILL_DONE)
            buffer_append_format(out,
                                 "client %u that fills stores is at step %d of phase %d, with %u "
                                 "items of %u bytes; the last answer was %d %.*s\n",
                                 i, (int)c->work, (int)f->phase, c->there, c->size, c->last_status,
                                 TEXT_OF(c->last_error));
    }
}
