/* saltings.c - changes how many shards the clients' partition keys have. */
#include "sim/saltings.h"

#include <stdlib.h>

#include "base/must.h"
#include "base/probe.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/decision.h"
#include "sim/dynamo.h"
#include "sim/table_churn.h"
#include "sim/tallies.h"
#include "sim/transacts.h"

enum {
    AGAIN_MS = 100,     /* at the end */
    SHARDS_MOST = 12,   /* more shards than partitions show nothing new */
    GROWTH_MOST = 3,    /* shards at once */
    SHRINK_PERCENT = 40 /* of the changes of a key whose items are all in their owner shards */
};

struct saltings {
    struct run *run; /* borrows */
    struct prng prng;
    bool on;
    bool ending;
    bool leaving;         /* all keys get one shard */
    uint64_t turn;        /* earlier turns are forgotten */
    uint32_t at;          /* the table: the workload's, then OTHER_TABLES */
    struct buffer answer; /* ignored */
    struct buffer body;
    struct buffer key;
};

static void saltings_later(struct saltings *s, int64_t ns);

/* Behind the workload's tables. */
enum {
    LISTS,    /* the sorted ones of transactions */
    COUNTERS, /* of tallies */
    OTHER_TABLES
};

static uint32_t table_count(const struct saltings *s)
{
    return s->run->plan.workload.tables + OTHER_TABLES;
}

static bool is_of(const struct saltings *s, uint32_t other)
{
    return s->at == s->run->plan.workload.tables + other;
}

/* NULL: there is no such table. */
static const char *table_name(const struct saltings *s)
{
    const struct plan *p = &s->run->plan;
    if (is_of(s, LISTS))
        return p->transacts > 0 ? transacts_tables[TRANSACT_TABLES - 1] : NULL;
    if (is_of(s, COUNTERS))
        return p->tallies > 0 ? tallies_table : NULL;
    return tables_name(s->at);
}

/* A key of the clients, in s->key. */
static void choose_key(struct saltings *s, uint32_t table_id)
{
    const struct plan *p = &s->run->plan;
    const uint32_t keys = is_of(s, LISTS)      ? list_together(p->transact_keys - 1) + 1
                          : is_of(s, COUNTERS) ? TALLIES_KEYS
                                               : p->workload.keys;
    const uint32_t key = (uint32_t)prng_below(&s->prng, keys);
    char text[16];
    buffer_clear(&s->key);
    if (is_of(s, LISTS))
        list_partition(key, text);
    else if (is_of(s, COUNTERS))
        tallies_key(key, text);
    if (is_of(s, LISTS) || is_of(s, COUNTERS)) {
        const struct attr partition = {.type = ATTR_STRING, .body = slice_of(text)};
        storage_key_append_collection(&s->key, table_id, &partition);
        return;
    }
    dynamo_storage_key(&s->key, table_id, &p->workload.shapes[s->at], key);
    s->key.size = storage_key_collection_size(buffer_slice(&s->key));
}

static void ask_shards(struct saltings *s, const struct table *t, const struct sharded_key *k,
                       uint32_t shards)
{
    const uint32_t before = k != NULL ? k->shards : 1;
    const struct decision d = {
        .table_id = t->id,
        .key_shards = {.word = shards < before ? KEY_SHARDS_SHRINK : KEY_SHARDS_GROW,
                       .key = buffer_slice(&s->key),
                       .version = k != NULL ? k->version : 0,
                       .shards = shards,
                       .counter = is_of(s, COUNTERS)}};
    PROBE("the shards of a key change");
    buffer_clear(&s->body);
    decision_encode(&s->body, &d);
    const struct request r = {.op = REQUEST_DECIDE,
                              .decide = {buffer_slice(&s->body), CATALOG_KEY_SHARDS}};
    buffer_clear(&s->answer);
    world_ask(&s->run->world, &r, &s->answer);
}

/* A key that is not sharded, or whose items are on their way, gets more shards. */
static void saltings_change(struct saltings *s, const struct table *t)
{
    choose_key(s, t->id);
    const struct sharded_key *k = key_sharding_find(t->sharded_keys, buffer_slice(&s->key));
    const uint32_t before = k != NULL ? k->shards : 1;
    const bool shrinks = before > 1 && (is_of(s, COUNTERS) || !sharded_key_moves(k)) &&
                         prng_below(&s->prng, 100) < SHRINK_PERCENT;
    const uint32_t shards = shrinks ? 1 + (uint32_t)prng_below(&s->prng, before - 1)
                                    : before + 1 + (uint32_t)prng_below(&s->prng, GROWTH_MOST);
    if (shards <= SHARDS_MOST)
        ask_shards(s, t, k, shards);
}

/* Whether a key still has more than one shard. The first one that may shrink is asked to. */
static bool saltings_leave_one(struct saltings *s, const struct table *t)
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
        ask_shards(s, t, k, 1);
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

static void saltings_run(void *context, uint64_t argument)
{
    struct saltings *s = context;
    if (argument != s->turn)
        return;
    do
        s->at = s->on ? (uint32_t)prng_below(&s->prng, table_count(s)) : s->at;
    while (s->on && table_name(s) == NULL);
    const char *name = table_name(s);
    const struct table *t = name != NULL ? run_find_table(s->run, name) : NULL;
    if (t != NULL && s->on)
        saltings_change(s, t);
    const bool left = t != NULL && s->leaving && saltings_leave_one(s, t);
    if (s->ending && (name == NULL || (t != NULL && !left && !any_moves(t))))
        s->at++;
    s->ending = s->ending && s->at < table_count(s);
    if (s->on)
        saltings_later(s, prng_between(&s->prng, 0, 2 * s->run->plan.salt_ns));
    else if (s->ending)
        saltings_later(s, AGAIN_MS * NS_PER_MS);
}

static void saltings_later(struct saltings *s, int64_t ns)
{
    scheduler_in(&s->run->world.scheduler, (struct duration){ns}, saltings_run, s, s->turn);
}

void saltings_begin(struct saltings *s)
{
    s->on = s->run->plan.salt_ns > 0;
    if (s->on)
        saltings_later(s, prng_between(&s->prng, 0, 2 * s->run->plan.salt_ns));
}

static void saltings_finish(struct saltings *s)
{
    s->on = false;
    s->ending = true;
    s->at = 0;
    s->turn++;
    saltings_later(s, 0);
}

void saltings_end(struct saltings *s)
{
    if (s->on)
        saltings_finish(s);
}

void saltings_leave(struct saltings *s)
{
    s->leaving = s->run->plan.salt_ns > 0;
    if (s->leaving)
        saltings_finish(s);
}

bool saltings_are_over(const struct saltings *s)
{
    return !s->on && !s->ending;
}

struct saltings *saltings_create(struct run *run)
{
    struct saltings *s = must_calloc(1, sizeof *s);
    s->run = run;
    s->prng = prng_seeded(world_seed(&run->world, WORLD_SALTINGS, 0));
    return s;
}

void saltings_destroy(struct saltings *s)
{
    buffer_deinit(&s->answer);
    buffer_deinit(&s->body);
    buffer_deinit(&s->key);
    free(s);
}
