/* admin.c - the scenario's tables and what they hold: through the API, and splits through the
 * catalog's leader. */
#include <stdlib.h>

#include "engine/catalog/catalog.h"
#include "lab/fidelity/full/full_internal.h"

enum {
    SETUP_S = 60, /* of virtual time, for each table */
    CALL_MS = 5000,
    POLL_MS = 20,
    FILLED_MS = 2000, /* after the last item: buckets get over it */
};

/* ---- before the run ---- */

static void admin_answered(void *context, int status, struct slice body)
{
    struct full *f = context;
    f->answered = true;
    f->status = status;
    buffer_clear(&f->answer);
    buffer_append_slice(&f->answer, body);
}

/* One call; time passes until its end. */
static void admin_call(struct full *f, const char *operation, struct slice body)
{
    struct scheduler *s = &f->world.scheduler;
    f->answered = false;
    http_client_call(&f->admin, operation, body, duration_ms(CALL_MS), admin_answered, f);
    while (!f->answered)
        scheduler_step(s, instant_add(s->now, duration_ms(CALL_MS)));
}

/* A refused body has no number of tries; a cluster that has no leader yet answers 500. */
static bool admin_is_refused(const struct full *f)
{
    return f->status == 400;
}

/* Whether the last call was taken. If not, the error says what the cluster refuses. */
static bool admin_taken(const struct full *f, const char *what, const char *name,
                        struct buffer *error)
{
    if (f->status != 200)
        buffer_append_format(error, "the cluster refuses %s %s: %d %.*s", what, name, f->status,
                             (int)f->answer.size, (const char *)f->answer.data);
    return f->status == 200;
}

/* Calls until the cluster takes or refuses it. */
static void admin_repeat(struct full *f, const char *operation, struct slice body)
{
    const int64_t until_ns = f->world.scheduler.now.ns + SETUP_S * NS_PER_S;
    do {
        admin_call(f, operation, body);
        if (f->status != 200)
            world_pass(&f->world, POLL_MS * NS_PER_MS);
    } while (f->status != 200 && !admin_is_refused(f) && f->world.scheduler.now.ns < until_ns);
}

static bool admin_create_table(struct full *f, uint32_t place, uint32_t copy, struct buffer *error)
{
    struct buffer create = {0}, name = {0};
    bool created = false, active = false;
    int64_t until_ns = f->world.scheduler.now.ns + SETUP_S * NS_PER_S;
    tables_write_create(&create, f->scenario, place, copy);
    tables_write_name(&name, f->scenario, place, copy);
    while (!active && f->world.scheduler.now.ns < until_ns) {
        admin_call(f, created ? "DescribeTable" : "CreateTable",
                   buffer_slice(created ? &name : &create));
        active = created && f->status == 200 && tables_is_active(buffer_slice(&f->answer));
        bool exists = memmem(f->answer.data, f->answer.size, "ResourceInUse", 13) != NULL;
        if (!created && admin_is_refused(f) && !exists)
            break;
        created |= f->status == 200 || exists;
        if (!active)
            world_pass(&f->world, POLL_MS * NS_PER_MS);
    }
    if (!active)
        buffer_append_format(error, "the cluster refuses table %s: %d %.*s",
                             f->scenario->tables[place].name, f->status, (int)f->answer.size,
                             (const char *)f->answer.data);
    buffer_deinit(&create);
    buffer_deinit(&name);
    return active;
}

static bool admin_expire(struct full *f, uint32_t place, uint32_t copy, struct buffer *error)
{
    struct buffer update = {0};
    if (f->scenario->tables[place].expire_at_ns == 0)
        return true;
    tables_write_expiry(&update, f->scenario, place, copy);
    admin_repeat(f, "UpdateTimeToLive", buffer_slice(&update));
    buffer_deinit(&update);
    return admin_taken(f, "the time to live of table", f->scenario->tables[place].name, error);
}

static bool admin_put(struct full *f, uint32_t place, uint32_t copy, int64_t number,
                      struct buffer *error)
{
    const int64_t until_ns = f->world.scheduler.now.ns + SETUP_S * NS_PER_S;
    struct buffer put = {0};
    preload_write_put(&put, f->scenario, place, copy, number);
    admin_call(f, "PutItem", buffer_slice(&put));
    while (preload_may_try_again(f->status, buffer_slice(&f->answer)) &&
           f->world.scheduler.now.ns < until_ns) {
        world_pass(&f->world, POLL_MS * NS_PER_MS);
        admin_call(f, "PutItem", buffer_slice(&put));
    }
    buffer_deinit(&put);
    return admin_taken(f, "an item of table", f->scenario->tables[place].name, error);
}

static bool admin_fill_table(struct full *f, uint32_t place, uint32_t copy, struct buffer *error)
{
    const struct preload preload = preload_of(&f->scenario->tables[place]);
    struct instant due = f->world.scheduler.now;
    for (int64_t number = 0; number < preload.items; number++) {
        if (!admin_put(f, place, copy, number, error))
            return false;
        due = instant_add(due, (struct duration){preload.pause_ns});
        while (scheduler_step(&f->world.scheduler, due))
            continue;
    }
    if (preload.items > 0)
        world_pass(&f->world, FILLED_MS * NS_PER_MS);
    return true;
}

/* Makes the table, or fills it. */
typedef bool admin_step(struct full *f, uint32_t place, uint32_t copy, struct buffer *error);

static bool admin_each_table(struct full *f, admin_step *step, struct buffer *error)
{
    const struct scenario *s = f->scenario;
    for (uint32_t place = 0; place < s->table_count; place++) {
        for (uint32_t copy = 0; copy < s->tables[place].copies; copy++) {
            if (!step(f, place, copy, error))
                return false;
        }
    }
    return true;
}

static bool admin_set_limit(struct full *f, const struct scenario_limit *l, struct buffer *error)
{
    struct buffer put = {0};
    tables_write_limit(&put, l);
    admin_repeat(f, "PUT /limiter/v1/limits", buffer_slice(&put));
    buffer_deinit(&put);
    return admin_taken(f, "a limit of resource", l->resource, error);
}

bool admin_create_tables(struct full *f, struct buffer *error)
{
    bool done = admin_each_table(f, admin_create_table, error) &&
                admin_each_table(f, admin_expire, error) &&
                admin_each_table(f, admin_fill_table, error);
    for (uint32_t i = 0; i < f->scenario->limit_count && done; i++)
        done = admin_set_limit(f, &f->scenario->limits[i], error);
    return done;
}

/* ---- during the run ---- */

static void calls_pump(struct full *f);

static void update_done(void *context, int status, struct slice body)
{
    struct full *f = context;
    struct full_call *call = STAILQ_FIRST(&f->calls);
    (void)body;
    STAILQ_REMOVE_HEAD(&f->calls, entry);
    f->calling = false;
    /* A cluster without a leader does not do it; only autoscaling tries again. */
    scaling_updated(&f->scaling, &call->update, status == 200);
    if (status == 200)
        clients_set_limit(f->clients, &call->update);
    buffer_deinit(&call->body);
    free(call);
    calls_pump(f);
}

static void calls_pump(struct full *f)
{
    struct full_call *call = STAILQ_FIRST(&f->calls);
    if (f->calling || call == NULL)
        return;
    f->calling = true;
    http_client_call(&f->admin, "UpdateTable", buffer_slice(&call->body), duration_ms(CALL_MS),
                     update_done, f);
}

void admin_update(struct full *f, const struct scaling_update *u)
{
    struct full_call *call = must_calloc(1, sizeof *call);
    call->update = *u;
    tables_write_update(&call->body, f->scenario, u);
    STAILQ_INSERT_TAIL(&f->calls, call, entry);
    calls_pump(f);
}

/* ---- splits ---- */

static void split_partition(struct full_split *j, const struct table *t,
                            const struct partition_info *p)
{
    struct table_split split;
    struct buffer body = {0};
    uint8_t key[STORAGE_KEY_BOUND_SIZE];
    if (!demand_split_evenly(t, p, key, &split))
        return;
    table_split_encode(&body, &split);
    const struct request r = {.op = REQUEST_TABLE_SPLIT,
                              .table_split.split = arena_copy(&j->arena, buffer_slice(&body))};
    world_request(&j->full->world, &r, &j->answer);
    buffer_deinit(&body);
}

static void split_all(void *context, uint64_t argument)
{
    struct full_split *j = context;
    struct table t;
    (void)argument;
    if (j->table.size == 0 || table_decode(buffer_slice(&j->table), &j->arena, &t) != STATUS_OK)
        return;
    for (uint32_t i = 0; i < t.partition_count; i++)
        split_partition(j, &t, &t.partitions[i]);
}

/* Asks for the table. After a moment the answer is there. */
void admin_split(struct full *f, uint32_t place, uint32_t copy)
{
    struct full_split *j = must_calloc(1, sizeof *j);
    struct request r = {.op = REQUEST_TABLE_GET};
    j->full = f;
    demand_table_name(&f->scenario->tables[place], copy, j->name, sizeof j->name);
    LIST_INSERT_HEAD(&f->splits, j, entry);
    r.table.name = slice_of(j->name);
    world_request(&f->world, &r, &j->table);
    scheduler_in(&f->world.scheduler, duration_ms(POLL_MS), split_all, j, 0);
}

void admin_deinit(struct full *f)
{
    for (struct full_call *call; (call = STAILQ_FIRST(&f->calls)) != NULL;) {
        STAILQ_REMOVE_HEAD(&f->calls, entry);
        buffer_deinit(&call->body);
        free(call);
    }
    for (struct full_split *j; (j = LIST_FIRST(&f->splits)) != NULL;) {
        LIST_REMOVE(j, entry);
        buffer_deinit(&j->table);
        buffer_deinit(&j->answer);
        arena_deinit(&j->arena);
        free(j);
    }
    buffer_deinit(&f->answer);
}
