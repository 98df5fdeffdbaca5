/* work_key_sharding.c - changes how many shards the clients' partition keys have. */
#include "sim/work/work_key_sharding.h"

#include <stdlib.h>

#include "base/probe.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/decision.h"
#include "sim/plan/work_tables.h"
#include "sim/work/work_counters.h"
#include "sim/work/work_transactions.h"

enum {
    AGAIN_MS = 100,        /* at the end */
    DRAWN_SHARDS_MAX = 12, /* more shards than partitions show nothing new */
    GROWTH_MAX = 3,        /* shards at once */
    SHRINK_PERCENT = 40    /* of the changes of a key whose items are all in their owner shards */
};

struct work_key_sharding {
    struct run *run; /* borrows */
    struct prng prng;
    bool on;
    bool ending;
    bool leaving;  /* all keys get one shard */
    uint64_t turn; /* earlier turns are forgotten */
    uint32_t at;   /* the table: the workload's, then OTHER_TABLES */
    struct buffer key;
};

static void work_key_sharding_later(struct work_key_sharding *s, int64_t ns);

/* Behind the workload's tables. */
enum {
    LISTS,    /* the sorted ones of transactions */
    COUNTERS, /* of counters */
    OTHER_TABLES
};

static uint32_t table_count(const struct work_key_sharding *s)
{
    return s->run->plan.workload.tables + OTHER_TABLES;
}

static bool is_of(const struct work_key_sharding *s, uint32_t other)
{
    return s->at == s->run->plan.workload.tables + other;
}

/* NULL: there is no such table. */
static const char *table_name(const struct work_key_sharding *s)
{
    const struct plan *p = &s->run->plan;
    if (is_of(s, LISTS))
        return p->work_transactions > 0 ? work_transactions_tables[WORK_TRANSACTION_TABLES - 1]
                                        : NULL;
    if (is_of(s, COUNTERS))
        return p->work_counters > 0 ? work_counters_table : NULL;
    return work_tables_name(s->at);
}

/* A key of the clients, in s->key. */
static void choose_key(struct work_key_sharding *s, uint32_t table_id)
{
    const struct plan *p = &s->run->plan;
    const uint32_t keys = is_of(s, LISTS)      ? list_together(p->work_lists - 1) + 1
                          : is_of(s, COUNTERS) ? WORK_COUNTERS_KEYS
                                               : p->workload.keys;
    const uint32_t key = (uint32_t)prng_below(&s->prng, keys);
    char text[16];
    buffer_clear(&s->key);
    if (is_of(s, LISTS))
        list_partition(key, text);
    else if (is_of(s, COUNTERS))
        work_counters_key(key, text);
    if (is_of(s, LISTS) || is_of(s, COUNTERS)) {
        const struct attr partition = {.type = ATTR_STRING, .body = slice_of(text)};
        storage_key_append_collection(&s->key, table_id, &partition);
        return;
    }
    dynamo_storage_key(&s->key, table_id, &p->workload.shapes[s->at], key);
    s->key.size = storage_key_collection_size(buffer_slice(&s->key));
}

static void request_shards(struct work_key_sharding *s, const struct table *t,
                           const struct sharded_key *k, uint32_t shards)
{
    const uint32_t before = k != NULL ? k->shards : 1;
    const struct decision d = {
        .table_id = t->id,
        .key_shards = {.change = shards < before ? KEY_SHARDS_SHRINK : KEY_SHARDS_GROW,
                       .key = buffer_slice(&s->key),
                       .version = k != NULL ? k->version : 0,
                       .shards = shards,
                       .counter = is_of(s, COUNTERS)}};
    PROBE("the shards of a key change");
    run_decide(s->run, &d, CATALOG_KEY_SHARDS);
}

/* A key that is not sharded, or whose items are on their way, gets more shards. */
static void work_key_sharding_change(struct work_key_sharding *s, const struct table *t)
{
    choose_key(s, t->id);
    const struct sharded_key *k = key_sharding_find(t->sharded_keys, buffer_slice(&s->key));
    const uint32_t before = k != NULL ? k->shards : 1;
    const bool shrinks = before > 1 && (is_of(s, COUNTERS) || !sharded_key_moves(k)) &&
                         prng_below(&s->prng, 100) < SHRINK_PERCENT;
    const uint32_t shards = shrinks ? 1 + (uint32_t)prng_below(&s->prng, before - 1)
                                    : before + 1 + (uint32_t)prng_below(&s->prng, GROWTH_MAX);
    if (shards <= DRAWN_SHARDS_MAX)
        request_shards(s, t, k, shards);
}

/* Whether a key still has more than one shard. The first one that may shrink is asked to. */
static bool work_key_sharding_leave_one(struct work_key_sharding *s, const struct table *t)
{
    bool any = false;
    for (uint32_t i = 0; t->sharded_keys != NULL && i < t->sharded_keys->count; i++) {
        const struct sharded_key *k = &t->sharded_keys->keys[i];
        if (k->shards == 1)
            continue;
        any = true;
        if (k->counter ? sharded_key_shrinks(k) : sharded_key_moves(k))
            continue;
        buffer_clear(&s->key);
        sharded_key_append_prefix(&s->key, k, t->id, 0);
        request_shards(s, t, k, 1);
        break;
    }
    return any;
}

static bool any_moves(const struct table *t)
{
    for (uint32_t i = 0; t->sharded_keys != NULL && i < t->sharded_keys->count; i++) {
        const struct sharded_key *k = &t->sharded_keys->keys[i];
        if (k->counter ? sharded_key_shrinks(k)
                       : sharded_key_moves(k)) /* cells that stay need not be moved */
            return true;
    }
    return false;
}

static void work_key_sharding_run(void *context, uint64_t argument)
{
    struct work_key_sharding *s = context;
    if (argument != s->turn)
        return;
    do
        s->at = s->on ? (uint32_t)prng_below(&s->prng, table_count(s)) : s->at;
    while (s->on && table_name(s) == NULL);
    const char *name = table_name(s);
    const struct table *t = name != NULL ? run_find_table(s->run, name) : NULL;
    if (t != NULL && s->on)
        work_key_sharding_change(s, t);
    const bool left = t != NULL && s->leaving && work_key_sharding_leave_one(s, t);
    if (s->ending && (name == NULL || (t != NULL && !left && !any_moves(t))))
        s->at++;
    s->ending = s->ending && s->at < table_count(s);
    if (s->on)
        work_key_sharding_later(s, prng_between(&s->prng, 0, 2 * s->run->plan.key_sharding_ns));
    else if (s->ending)
        work_key_sharding_later(s, AGAIN_MS * NS_PER_MS);
}

static void work_key_sharding_later(struct work_key_sharding *s, int64_t ns)
{
    scheduler_in(&s->run->world.scheduler, (struct duration){ns}, work_key_sharding_run, s,
                 s->turn);
}

void work_key_sharding_begin(struct work_key_sharding *s)
{
    s->on = s->run->plan.key_sharding_ns > 0;
    if (s->on)
        work_key_sharding_later(s, prng_between(&s->prng, 0, 2 * s->run->plan.key_sharding_ns));
}

static void work_key_sharding_finish(struct work_key_sharding *s)
{
    s->on = false;
    s->ending = true;
    s->at = 0;
    s->turn++;
    work_key_sharding_later(s, 0);
}

void work_key_sharding_end(struct work_key_sharding *s)
{
    if (s->on)
        work_key_sharding_finish(s);
}

void work_key_sharding_leave(struct work_key_sharding *s)
{
    s->leaving = s->run->plan.key_sharding_ns > 0;
    if (s->leaving)
        work_key_sharding_finish(s);
}

bool work_key_sharding_are_over(const struct work_key_sharding *s)
{
    return !s->on && !s->ending;
}

struct work_key_sharding *work_key_sharding_create(struct run *run)
{
    struct work_key_sharding *s = must_calloc(1, sizeof *s);
    s->run = run;
    s->prng = prng_seeded(world_seed(&run->world, WORLD_WORK_KEY_SHARDING, 0));
    return s;
}

void work_key_sharding_destroy(struct work_key_sharding *s)
{
    buffer_deinit(&s->key);
    free(s);
}
