/* work_fill.c - clients that fill the stores of a cluster, and make room as users do. */
#include "sim/work/work_fill.h"

#include <stdio.h>

#include "base/probe.h"
#include "base/settings/storage.h"

enum {
    RETRY_MS = 200,
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

enum fill_step {
    FILL_MAKE_TABLE = WORK_STEPS,
    FILL_AWAIT_TABLE,
    FILL_PUT,
    FILL_DELETE,
    FILL_DELETE_TABLE,
    FILL_AWAIT_GONE,
};

struct fill_client {
    struct work_client client;
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
    int64_t due_ns;       /* since when the call is to succeed */
};

struct work_fill {
    struct work_clients clients;
    enum fill_phase phase;
    int64_t calm_ns; /* from then on no fault is injected */
    int64_t ending_ns;
    int64_t freed_bytes; /* in this round */
};

static struct work_fill *fill_of(const struct fill_client *c)
{
    return (struct work_fill *)c->client.all;
}

static int64_t work_fill_now(const struct work_fill *f)
{
    return work_clients_now(&f->clients).ns;
}

/* ---- rounds ---- */

static bool is_in_calm(const struct fill_client *c)
{
    return fill_of(c)->phase == FILL_AGAIN || fill_of(c)->phase == FILL_MAKE_ROOM;
}

static void work_fill_begin_round(struct work_fill *f)
{
    PROBE("a store is full, and its clients make room");
    f->phase = FILL_MAKE_ROOM;
    f->freed_bytes = 0;
    for (uint32_t i = 0; i < f->clients.options.count; i++) {
        struct fill_client *c = work_clients_at(&f->clients, i);
        c->made_room = !c->made;
        c->table_goes = prng_below(&c->client.prng, 100) < TABLE_GOES_PERCENT;
        c->to_delete = (c->there + 1) / 2;
    }
}

static void work_fill_go_on(struct work_fill *f)
{
    bool made_room = true, refused = false;
    for (uint32_t i = 0; i < f->clients.options.count; i++) {
        const struct fill_client *c = work_clients_at(&f->clients, i);
        made_room &= c->made_room;
        refused |= c->refused;
    }
    if (f->phase == FILL_MAKE_ROOM && made_room)
        f->phase = FILL_AGAIN;
    if (f->phase == FILL_AGAIN && !refused)
        f->phase = f->clients.ending ? FILL_LEAVE : FILL_UP;
    const int64_t filled_ns = f->ending_ns + ENDING_FILL_S * NS_PER_S;
    if (f->phase == FILL_UP && f->clients.ending && work_fill_now(f) >= filled_ns)
        f->phase = FILL_LEAVE;
}

/* ---- answers ---- */

static bool is_for_space(const struct fill_client *c)
{
    const struct slice error = buffer_slice(&c->client.http.last_error);
    return c->client.http.last_status == 503 &&
           (dynamo_contains(error, "no space left") || dynamo_contains(error, "short of space"));
}

/* So many bytes must be deleted before a put is sure to find space: the other clients and what they
 * leave behind may take some. */
static int64_t work_fill_enough_bytes(const struct work_fill *f)
{
    return config_storage(&work_clients_plan(&f->clients)->config)->map_max_bytes / ENOUGH_PART;
}

static void client_refused(struct fill_client *c)
{
    struct work_fill *f = fill_of(c);
    const int64_t since = MAX(c->due_ns, f->calm_ns);
    const bool full = dynamo_contains(buffer_slice(&c->client.http.last_error), "that add data");
    const bool little = f->freed_bytes < work_fill_enough_bytes(f);
    if (c->client.step == FILL_PUT && full && f->phase == FILL_UP) {
        c->refused = true;
        work_fill_begin_round(f);
        c->client.step = WORK_STEP_IDLE;
        return;
    }
    if (!is_in_calm(c) || work_fill_now(f) - since < WORK_FILL_BOUND_S * NS_PER_S)
        return;
    if (c->client.step == FILL_PUT && little) { /* others may have taken it (FILLS-2) */
        c->refused = false;
        c->client.step = WORK_STEP_IDLE;
        return;
    }
    /* FILLS-1, FILLS-2 */
    run_violate(f->clients.options.run,
                "%s of %u bytes in table %s finds no space for %lld ms, and %lld bytes of items "
                "were deleted: %.*s\n",
                c->client.step == FILL_PUT ? "a put" : "a deletion", c->size, c->table,
                (long long)((work_fill_now(f) - c->due_ns) / NS_PER_MS), (long long)f->freed_bytes,
                TEXT_OF(c->client.http.last_error));
}

static void client_clear_items(struct fill_client *c)
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
    c->client.step = status == 200 ? WORK_STEP_IDLE : FILL_PUT;
}

static void client_end_delete(struct fill_client *c)
{
    fill_of(c)->freed_bytes += c->size;
    client_store(c, false);
    c->to_delete--;
    c->client.step = WORK_STEP_IDLE;
}

static void client_end_table(struct fill_client *c, int status, struct slice body)
{
    const bool exists = status == 200 || dynamo_contains(body, "ResourceInUse");
    const bool absent = status == 400 && dynamo_contains(body, "ResourceNotFound");
    if (c->client.step == FILL_MAKE_TABLE && exists) {
        c->client.step = FILL_AWAIT_TABLE;
    } else if (c->client.step == FILL_AWAIT_TABLE && absent) {
        c->client.step = FILL_MAKE_TABLE;
    } else if (c->client.step == FILL_AWAIT_TABLE &&
               dynamo_contains(body, "\"TableStatus\":\"ACTIVE\"")) {
        c->made = true;
        c->client.step = WORK_STEP_IDLE;
    } else if ((c->client.step == FILL_DELETE_TABLE || c->client.step == FILL_AWAIT_GONE) &&
               absent) {
        fill_of(c)->freed_bytes += (int64_t)c->there * c->size;
        client_clear_items(c);
        c->made = c->table_goes = false;
        c->made_room = true;
        c->client.step = WORK_STEP_IDLE;
    } else if (c->client.step == FILL_DELETE_TABLE && status == 200) {
        c->client.step = FILL_AWAIT_GONE;
    }
}

static void fill_answered(void *client, int status, struct slice body)
{
    struct fill_client *c = client;
    if (c->client.step == FILL_PUT)
        client_end_put(c, status);
    else if (c->client.step == FILL_DELETE && status == 200)
        client_end_delete(c);
    else if (c->client.step != FILL_DELETE)
        client_end_table(c, status, body);
    if (is_for_space(c))
        client_refused(c);
}

/* Drawn, as the pauses of SDKs are. A store that lacks space takes writes in a part of each 100 ms
 * (SPACE_MS of checkpoints.c): a pause of 200 ms could meet the other part each time. */
static int64_t fill_pause(void *client, int status)
{
    struct fill_client *c = client;
    return status == 200 ? 0
                         : prng_between(&c->client.prng, RETRY_MS / 2, 2 * RETRY_MS) * NS_PER_MS;
}

/* ---- what to do ---- */

/* Some item that may be there. */
static uint32_t client_some_item(struct fill_client *c)
{
    uint32_t key = (uint32_t)prng_below(&c->client.prng, c->next);
    while (c->stored[key] == 0)
        key = (key + 1) % c->next;
    return key;
}

static void client_begin(struct fill_client *c, enum fill_step step)
{
    c->client.step = step;
    c->due_ns = work_fill_now(fill_of(c));
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

static void fill_wake(void *client)
{
    struct fill_client *c = client;
    const struct work_fill *f = fill_of(c);
    work_fill_go_on(fill_of(c));
    if (c->client.step == FILL_PUT && (f->phase == FILL_MAKE_ROOM || f->phase == FILL_LEAVE))
        c->client.step = WORK_STEP_IDLE; /* another client's put found no space, or all is over */
}

static void fill_choose(void *client)
{
    struct fill_client *c = client;
    const struct work_fill *f = fill_of(c);
    if (f->phase == FILL_LEAVE && !c->made)
        c->client.step = WORK_STEP_DONE;
    else if (f->phase == FILL_LEAVE)
        client_begin(c, FILL_DELETE_TABLE);
    else if (f->phase == FILL_MAKE_ROOM)
        client_make_room(c);
    else if (!c->made)
        client_begin(c, FILL_MAKE_TABLE);
    else if (f->phase == FILL_UP || c->refused)
        client_put(c);
}

static const char *client_write_put(struct fill_client *c)
{
    buffer_append_format(&c->client.body,
                         "{\"TableName\":\"%s\",\"Item\":{\"k\":{\"S\":\"%u\"},\"p\":{\"S\":\"",
                         c->table, c->key);
    memset(buffer_reserve(&c->client.body, c->size), 'x', c->size);
    c->client.body.size += c->size;
    buffer_append_text(&c->client.body, "\"}}}");
    return "PutItem";
}

static const char *fill_write(void *client)
{
    static const struct dynamo_keys keys = {.partition = ATTR_STRING};
    struct fill_client *c = client;
    const struct dynamo_spec spec = {.keys = &keys,
                                     .units = plan_side_units(work_clients_plan(c->client.all))};
    struct buffer *out = &c->client.body;
    buffer_clear(out);
    switch ((enum fill_step)c->client.step) {
    case FILL_PUT:
        return client_write_put(c);
    case FILL_DELETE:
        buffer_append_format(out, "{\"TableName\":\"%s\",\"Key\":{\"k\":{\"S\":\"%u\"}}}", c->table,
                             c->key);
        return "DeleteItem";
    case FILL_MAKE_TABLE:
        dynamo_create_table(out, c->table, &spec);
        return "CreateTable";
    case FILL_DELETE_TABLE:
        dynamo_table(out, c->table);
        return "DeleteTable";
    case FILL_AWAIT_TABLE:
    case FILL_AWAIT_GONE:
        dynamo_table(out, c->table);
        return "DescribeTable";
    }
    return NULL;
}

static void fill_describe(const void *client, struct buffer *out)
{
    const struct fill_client *c = client;
    buffer_append_format(out, " of phase %d, with %u items of %u bytes", (int)fill_of(c)->phase,
                         c->there, c->size);
}

/* ---- all of them ---- */

static void fill_begin(void *all)
{
    struct work_fill *f = all;
    const struct plan *plan = work_clients_plan(&f->clients);
    if (plan->faults == 0 && plan->kill_leader_at == SPLIT_STAGE_NONE)
        f->calm_ns = work_fill_now(f);
}

static void fill_end(void *all)
{
    struct work_fill *f = all;
    const int64_t over_ns = work_fill_now(f) + FAULTS_OVER_S * NS_PER_S;
    f->calm_ns = MIN(over_ns, f->calm_ns);
    f->ending_ns = work_fill_now(f);
}

static const struct work_client_kind fill_kind = {.name = "that fills stores",
                                                  .size = sizeof(struct work_fill),
                                                  .client_size = sizeof(struct fill_client),
                                                  .idle_ms = WORK_POLL_MS,
                                                  .choose = fill_choose,
                                                  .write = fill_write,
                                                  .answered = fill_answered,
                                                  .wake = fill_wake,
                                                  .pause = fill_pause,
                                                  .describe = fill_describe,
                                                  .begin = fill_begin,
                                                  .end = fill_end};

struct work_clients *work_fill_create(const struct work_clients_options *options)
{
    struct work_fill *f = work_clients_create(&fill_kind, options);
    const uint32_t max = options->run->plan.fill_bytes_max;
    f->calm_ns = INT64_MAX;
    for (uint32_t i = 0; i < options->count; i++) {
        struct fill_client *c = work_clients_at(&f->clients, i);
        c->size = (uint32_t)prng_between(&c->client.prng, max / 2, max);
        snprintf(c->table, sizeof c->table, "fills%u", i);
    }
    return &f->clients;
}
