/* index_lag.c - how far the global indexes of tables are behind, as nodes report it, and how many
 * shards their hot keys have, as the catalog says.
 *
 * In each window every node is asked for the statistics that /weir/partitions shows. The answers
 * are looked at when the next window begins. */

#include "engine/catalog/catalog.h"
#include "lab/fidelity/full/full_internal.h"

static bool table_is_named(const struct scenario_table *t, uint32_t copy, const struct table *named)
{
    char name[SCENARIO_NAME_SIZE_MAX + 16];
    demand_table_name(t, copy, name, sizeof name);
    return slice_equal(slice_of(name), named->name);
}

/* The table's number for the measures, and its place in the scenario; MEASURE_ANY: it is no table
 * of the scenario. */
static uint32_t index_lag_table(const struct full *f, const struct table *named, uint32_t *place)
{
    const struct scenario *s = f->scenario;
    for (*place = 0; *place < s->table_count && named != NULL; ++*place) {
        for (uint32_t copy = 0; copy < s->tables[*place].copies; copy++) {
            if (table_is_named(&s->tables[*place], copy, named))
                return scaling_number(s, *place, copy);
        }
    }
    return MEASURE_ANY;
}

static void index_lag_report(struct full *f, const struct catalog *c,
                             const struct partition_stats *s)
{
    if (!s->indexes.feeds)
        return;
    uint32_t place;
    const uint32_t table = index_lag_table(f, catalog_find_id(c, s->table_id), &place);
    const struct measure_state lag = {.behind_ns = s->indexes.lag_ms * NS_PER_MS,
                                      .backlog_bytes = s->indexes.bytes};
    if (table != MEASURE_ANY)
        measure_report_state(f->measure, clients_now_ns(f->clients), table, &lag);
}

static void index_lag_take(struct full *f, const struct catalog *c, struct buffer *answer)
{
    struct reader r = {buffer_slice(answer), false};
    struct partition_stats s;
    while (c != NULL && r.left.size > 0 && partition_stats_decode(&r, &s) == STATUS_OK)
        index_lag_report(f, c, &s);
    buffer_clear(answer);
}

static bool has_indexes(const struct scenario *s)
{
    for (uint32_t i = 0; i < s->table_count; i++) {
        if (s->tables[i].indexes.count > 0)
            return true;
    }
    return false;
}

/* The shards of the tables' hot keys, as the catalog has them. */
static void shards_report(struct full *f)
{
    const struct catalog *c = full_catalog(f);
    const struct table *t = c == NULL ? NULL : catalog_next(c, NULL);
    for (; t != NULL; t = catalog_next(c, t)) {
        uint32_t place;
        const uint32_t table = index_lag_table(f, t, &place);
        struct measure_state state = {.shards = 1};
        for (uint32_t i = 0; t->sharded_keys != NULL && i < t->sharded_keys->count; i++) {
            if (t->sharded_keys->keys[i].shards > state.shards)
                state.shards = t->sharded_keys->keys[i].shards;
        }
        if (table != MEASURE_ANY && f->scenario->tables[place].key_sharding != NULL)
            measure_report_state(f->measure, clients_now_ns(f->clients), table, &state);
    }
}

void index_lag_window(struct full *f)
{
    const struct request request = {.op = REQUEST_STATS};
    shards_report(f);
    if (!has_indexes(f->scenario))
        return;
    for (uint32_t id = 1; id <= f->world.plan.nodes; id++) {
        index_lag_take(f, full_catalog(f), &f->stats[id]);
        if (node_process_is_up(f->world.nodes[id]))
            node_process_request(f->world.nodes[id], &request, &f->stats[id]);
    }
}

void index_lag_deinit(struct full *f)
{
    for (uint32_t id = 0; id <= WORLD_NODES_MAX; id++)
        buffer_deinit(&f->stats[id]);
}
