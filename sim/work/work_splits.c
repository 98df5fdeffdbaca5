/* work_splits.c - splits partitions at random keys, and merges neighbours, at random moments of a
 * run. */
#include "sim/work/work_splits.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/big_endian.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/split.h"
#include "engine/item/storage_key.h"
#include "engine/node/core/collection.h"
#include "sim/check/check.h"
#include "sim/plan/work_tables.h"
#include "sim/work/work_rate_limiter.h"
#include "sim/work/work_streams.h"
#include "sim/work/work_transactions.h"
#include "sim/work/work_ttl.h"

enum {
    ANSWER_MS = 20,      /* from the question to the look at the answer */
    PARTITIONS_MAX = 24, /* a table with this many is not split */
    POINTS_MAX = 4,
};

struct work_splits {
    struct run *run; /* borrows */
    struct prng prng;
    bool on;
    uint32_t at;         /* the table of the last question */
    bool limiter;        /* it was about the rate limiter's table */
    struct buffer table; /* the catalog's last answer */
    struct buffer points[POINTS_MAX];
    struct buffer body;
};

static void work_splits_later(struct work_splits *s);

/* A key of the clients, or a random place in the table. */
static void make_point(struct work_splits *s, uint32_t table_id, struct buffer *out)
{
    const struct workload *w = &s->run->plan.workload;
    uint32_t key = (uint32_t)prng_below(&s->prng, w->keys);
    uint64_t hash = prng_next(&s->prng);
    buffer_clear(out);
    if (s->limiter && prng_below(&s->prng, 3) > 0) {
        char text[64];
        work_rate_limiter_key(hash, text);
        const struct attr partition = {.type = ATTR_STRING, .body = slice_of(text)};
        storage_key_append_collection(out, table_id, &partition);
    } else if (prng_below(&s->prng, 3) > 0) {
        dynamo_storage_key(out, table_id, &w->shapes[s->at], key);
        if (s->run->plan.workload.indexed)
            out->size = collection_key(buffer_slice(out)).size;
    } else {
        buffer_append_be32(out, table_id);
        buffer_append_u64(out, hash);
    }
}

/* Chooses split points inside the partition, in order. Draws outside it are dropped. */
static void choose_points(struct work_splits *s, const struct partition_info *p,
                          struct table_split *split)
{
    uint32_t count = 1 + (uint32_t)prng_below(&s->prng, POINTS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct buffer *point = &s->points[i];
        make_point(s, p->table_id, point);
        struct slice key = buffer_slice(point);
        uint32_t at = split->point_count;
        while (at > 0 && slice_compare(split->points[at - 1], key) > 0)
            at--;
        bool known = at > 0 && slice_equal(split->points[at - 1], key);
        bool inside =
            slice_compare(key, p->lo) > 0 && (p->hi.size == 0 || slice_compare(key, p->hi) < 0);
        if (known || !inside)
            continue;
        memmove(&split->points[at + 1], &split->points[at],
                (split->point_count - at) * sizeof split->points[0]);
        split->points[at] = key;
        split->point_count++;
    }
}

static void request_split(struct work_splits *s, const struct table *t)
{
    const struct partition_info *p = &t->partitions[prng_below(&s->prng, t->partition_count)];
    struct table_split split = {.table_id = t->id, .partition = p->id, .epoch = p->epoch};
    choose_points(s, p, &split);
    if (split.point_count == 0)
        return;
    table_split_share_equally(&split);
    buffer_clear(&s->body);
    table_split_encode(&s->body, &split);
    const struct request r = {.op = REQUEST_TABLE_SPLIT,
                              .table_split.split = buffer_slice(&s->body)};
    world_request(&s->run->world, &r, NULL);
}

/* They may be on different nodes, or change meanwhile. */
void work_splits_request_merge(struct work_splits *s, const struct table *t)
{
    if (t->partition_count < 2)
        return;
    uint32_t upper = 1 + (uint32_t)prng_below(&s->prng, t->partition_count - 1);
    const struct partition_info *p = &t->partitions[upper];
    const struct decision d = {.table_id = t->id,
                               .partition = p->id,
                               .epoch = p->epoch,
                               .merge = MERGE_BEGIN,
                               .merge_with = p[-1].id,
                               .merge_with_epoch = p[-1].epoch};
    run_decide(s->run, &d, CATALOG_MERGE);
}

static void work_splits_read_table(void *context, UNUSED uint64_t argument)
{
    struct work_splits *s = context;
    struct buffer why = {0};
    struct arena arena = {0};
    struct table t;
    if (s->table.size > 0 && !check_coverage(buffer_slice(&s->table), &why))
        run_violate(s->run, "%.*s\n", (int)why.size, (const char *)why.data);
    else if (s->table.size > 0) {
        must(table_decode(buffer_slice(&s->table), &arena, &t) == STATUS_OK);
        uint32_t percent = s->run->plan.merge_percent;
        if (s->on && percent > 0 && prng_below(&s->prng, 100) < percent)
            work_splits_request_merge(s, &t);
        else if (s->on && t.partition_count < PARTITIONS_MAX)
            request_split(s, &t);
    }
    arena_deinit(&arena);
    buffer_deinit(&why);
    if (s->on)
        work_splits_later(s);
}

static void work_splits_query_table(void *context, UNUSED uint64_t argument)
{
    struct work_splits *s = context;
    struct request r = {.op = REQUEST_TABLE_GET};
    uint32_t tables = s->run->plan.workload.tables;
    if (!s->on)
        return;
    char index[64];
    s->at = tables > 1 ? (uint32_t)prng_below(&s->prng, tables) : 0;
    r.table.name = slice_of(work_tables_name(s->at));
    const bool lists = s->run->plan.work_transactions > 0 && prng_below(&s->prng, 2) == 0;
    const bool ttl = s->run->plan.work_ttl > 0 && prng_below(&s->prng, 3) == 0;
    if (lists)
        r.table.name =
            slice_of(work_transactions_tables[prng_below(&s->prng, WORK_TRANSACTION_TABLES)]);
    else if (ttl)
        r.table.name = slice_of(work_ttl_table);
    else if (s->at == 0 && s->run->plan.workload.global_indexes && prng_below(&s->prng, 2) == 0) {
        snprintf(index, sizeof index, "%s/%s", work_tables_name(0),
                 dynamo_globals[prng_below(&s->prng, DYNAMO_GLOBALS)]);
        r.table.name = slice_of(index);
    }
    if (s->run->plan.work_streams > 0 && prng_below(&s->prng, 2) == 0)
        r.table.name = slice_of(work_streams_table);
    s->limiter = s->run->plan.work_limiter > 0 && prng_below(&s->prng, 3) == 0;
    if (s->limiter)
        r.table.name = slice_of(work_rate_limiter_table);
    buffer_clear(&s->table);
    world_request(&s->run->world, &r, &s->table);
    scheduler_in(&s->run->world.scheduler, duration_ms(ANSWER_MS), work_splits_read_table, s, 0);
}

static void work_splits_later(struct work_splits *s)
{
    int64_t ns = prng_between(&s->prng, 0, 2 * s->run->plan.split_ns);
    scheduler_in(&s->run->world.scheduler, (struct duration){ns}, work_splits_query_table, s, 0);
}

void work_splits_begin(struct work_splits *s)
{
    s->on = s->run->plan.split_ns > 0;
    if (s->on)
        work_splits_later(s);
}

void work_splits_end(struct work_splits *s)
{
    s->on = false;
}

struct work_splits *work_splits_create(struct run *run)
{
    struct work_splits *s = must_calloc(1, sizeof *s);
    s->run = run;
    s->prng = prng_seeded(world_seed(&run->world, WORLD_WORK_SPLITS, 0));
    return s;
}

void work_splits_destroy(struct work_splits *s)
{
    for (int i = 0; i < POINTS_MAX; i++)
        buffer_deinit(&s->points[i]);
    buffer_deinit(&s->table);
    buffer_deinit(&s->body);
    free(s);
}
