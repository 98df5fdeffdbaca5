/* work_clients.c - the steps of a client, from one request to the next. */
#include "sim/work/work_clients.h"

#include <stdlib.h>

enum {
    CALL_TIMEOUT_MS = 6000,
    SHORT_PAUSES = 8
};

static void work_client_next(struct work_client *c, int64_t ns);

void *work_clients_at(const struct work_clients *all, uint32_t number)
{
    must(number < all->options.count);
    return (uint8_t *)all->clients + number * all->kind->client_size;
}

int work_clients_step(const struct work_clients *all, uint32_t number)
{
    const struct work_client *c = work_clients_at(all, number);
    return c->step;
}

/* ---- tables ---- */

bool work_client_has_tables(struct work_client *c)
{
    const struct work_clients *all = c->all;
    if (all->made == all->tables)
        return true;
    if (c->number == 0)
        c->step = all->others_make ? WORK_STEP_AWAIT_TABLE : WORK_STEP_MAKE_TABLE;
    return false;
}

static const char *work_client_write_table(struct work_client *c)
{
    struct dynamo_spec spec = {0};
    const char *name = c->all->kind->table(c, &spec);
    buffer_clear(&c->body);
    if (c->step == WORK_STEP_AWAIT_TABLE) {
        dynamo_table(&c->body, name);
        return "DescribeTable";
    }
    dynamo_create_table(&c->body, name, &spec);
    return "CreateTable";
}

static void work_client_end_table(struct work_client *c, int status, struct slice body)
{
    if (c->step == WORK_STEP_MAKE_TABLE) {
        if (status == 200 || dynamo_contains(body, "ResourceInUse"))
            c->step = WORK_STEP_AWAIT_TABLE;
    } else if (status == 200 && dynamo_contains(body, "\"TableStatus\":\"ACTIVE\"")) {
        c->all->made++;
        c->step = WORK_STEP_IDLE;
    } else if (dynamo_contains(body, "ResourceNotFound")) {
        c->step = WORK_STEP_IDLE; /* the table is made anew */
    }
}

/* ---- one request after the other ---- */

int64_t work_client_think(struct work_client *c)
{
    return prng_between(&c->prng, 0, c->all->think_ns);
}

int64_t work_client_pause_ns(uint32_t nth, int64_t ms, uint32_t doublings)
{
    const uint32_t rounds = nth / SHORT_PAUSES;
    const uint32_t doubles = MIN(rounds, doublings);
    return (ms * NS_PER_MS) << (nth % SHORT_PAUSES != 0 ? 0 : doubles);
}

static int64_t work_client_pause(struct work_client *c, int status)
{
    const struct work_client_kind *kind = c->all->kind;
    if (kind->pause != NULL)
        return kind->pause(c, status);
    const int64_t think_ns = work_client_think(c);
    return status == 200 ? think_ns : kind->retry_ms * NS_PER_MS;
}

static void work_client_done(void *context, int status, struct slice body)
{
    struct work_client *c = context;
    if (c->step < WORK_STEPS)
        work_client_end_table(c, status, body);
    else
        c->all->kind->answered(c, status, body);
    work_client_next(c, work_client_pause(c, status));
}

static void work_client_run(void *context, UNUSED uint64_t argument)
{
    struct work_client *c = context;
    const struct work_client_kind *kind = c->all->kind;
    const char *operation = NULL;
    if (kind->wake != NULL)
        kind->wake(c);
    if (c->step == WORK_STEP_IDLE)
        kind->choose(c);
    if (c->step == WORK_STEP_DONE)
        return;
    if (c->step != WORK_STEP_IDLE)
        operation = c->step < WORK_STEPS ? work_client_write_table(c) : kind->write(c);
    if (operation == NULL)
        work_client_next(c, c->idle_ms * NS_PER_MS);
    else
        http_client_call(&c->http, operation, buffer_slice(&c->body), duration_ms(CALL_TIMEOUT_MS),
                         work_client_done, c);
}

static void work_client_next(struct work_client *c, int64_t ns)
{
    scheduler_in(&c->all->options.run->world.scheduler, (struct duration){ns}, work_client_run, c,
                 0);
}

/* ---- all clients ---- */

bool work_clients_others_are_done(const struct work_clients *all)
{
    bool done = true;
    for (uint32_t i = 1; i < all->options.count; i++)
        done &= work_clients_step(all, i) == WORK_STEP_DONE;
    return done;
}

bool work_clients_are_done(const struct work_clients *all)
{
    return all->options.count == 0 ||
           (work_clients_step(all, 0) == WORK_STEP_DONE && work_clients_others_are_done(all));
}

bool work_clients_are_quiet(struct work_clients *all)
{
    if (!work_clients_others_are_done(all))
        return false;
    if (all->quiet_from.ns == 0)
        all->quiet_from = instant_add_ms(work_clients_now(all), WORK_QUIET_MS);
    return !instant_before(work_clients_now(all), all->quiet_from);
}

void work_clients_describe(const struct work_clients *all, struct buffer *out)
{
    for (uint32_t i = 0; i < all->options.count; i++) {
        const struct work_client *c = work_clients_at(all, i);
        if (c->step == WORK_STEP_DONE)
            continue;
        buffer_append_format(out, "client %u %s is at step %d", i, all->kind->name, c->step);
        if (all->kind->describe != NULL)
            all->kind->describe(c, out);
        http_client_describe(&c->http, out);
    }
    if (all->kind->describe_all != NULL)
        all->kind->describe_all(all, out);
}

bool work_clients_check(const struct work_clients *all, struct buffer *why)
{
    buffer_append_slice(why, buffer_slice(&all->wrong));
    return all->wrong.size == 0 && (all->kind->check == NULL || all->kind->check(all, why));
}

/* ---- life ---- */

void *work_clients_create(const struct work_client_kind *kind,
                          const struct work_clients_options *options)
{
    struct work_clients *all = must_calloc(1, kind->size);
    all->kind = kind;
    all->options = *options;
    all->clients = must_calloc(options->count, kind->client_size);
    all->think_ns = options->run->plan.workload.think_ns;
    const struct world *world = &options->run->world;
    for (uint32_t i = 0; i < options->count; i++) {
        struct work_client *c = work_clients_at(all, i);
        const struct http_client_options http =
            world_http(world, options->first + i, world_seed(world, options->stream, 1 + i));
        c->all = all;
        c->number = i;
        c->idle_ms = kind->idle_ms;
        c->prng = prng_seeded(world_seed(world, options->stream, 0) + i);
        http_client_init(&c->http, &http);
    }
    return all;
}

void work_clients_destroy(struct work_clients *all)
{
    for (uint32_t i = 0; i < all->options.count; i++) {
        struct work_client *c = work_clients_at(all, i);
        if (all->kind->client_deinit != NULL)
            all->kind->client_deinit(c);
        http_client_deinit(&c->http);
        buffer_deinit(&c->body);
    }
    if (all->kind->deinit != NULL)
        all->kind->deinit(all);
    buffer_deinit(&all->wrong);
    free(all->clients);
    free(all);
}

void work_clients_begin(struct work_clients *all)
{
    if (all->kind->begin != NULL)
        all->kind->begin(all);
    for (uint32_t i = 0; i < all->options.count; i++)
        work_client_next(work_clients_at(all, i), 0);
}

void work_clients_end(struct work_clients *all)
{
    all->ending = true;
    if (all->kind->end != NULL)
        all->kind->end(all);
}
