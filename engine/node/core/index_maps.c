/* index_maps.c - where the partitions of global indexes are. */
#include "engine/node/core/index_maps.h"

#include <stdlib.h>

#include "engine/message/message.h"

enum {
    REQUEST_TIMEOUT_MS = 5000,
    REQUEST_GAP_MS = 20, /* at least between two questions about an index */
    IDLE_MS = 60000      /* what nobody has asked for so long is forgotten */
};

struct index_map {
    LIST_ENTRY(index_map) place;
    uint32_t table_id;
    bool requesting;
    bool gone;
    struct instant requested_at;
    struct instant used;
    struct buffer bytes;
    struct arena arena;
    struct table table; /* partition_count 0: not known yet */
};

static void map_free(struct index_maps *maps, struct index_map *m)
{
    maps->count--;
    LIST_REMOVE(m, place);
    buffer_deinit(&m->bytes);
    arena_deinit(&m->arena);
    free(m);
}

void index_maps_deinit(struct index_maps *maps)
{
    while (!LIST_EMPTY(&maps->all))
        map_free(maps, LIST_FIRST(&maps->all));
}

/* A table that is asked for again is asked about again. So the list has what was of use in a
 * minute. */
static void maps_evict(struct index_maps *maps)
{
    struct index_map *next;
    for (struct index_map *m = LIST_FIRST(&maps->all); m != NULL; m = next) {
        next = LIST_NEXT(m, place);
        if (!m->requesting && instant_before(instant_add_ms(m->used, IDLE_MS), maps->env->now))
            map_free(maps, m);
    }
}

static struct index_map *map_find(const struct index_maps *maps, uint32_t table_id)
{
    struct index_map *m = LIST_FIRST(&maps->all);
    while (m != NULL && m->table_id != table_id)
        m = LIST_NEXT(m, place);
    return m;
}

static struct index_map *map_of(struct index_maps *maps, uint32_t table_id)
{
    struct index_map *m = map_find(maps, table_id);
    if (m != NULL) {
        m->used = maps->env->now;
        return m;
    }
    maps_evict(maps);
    m = must_calloc(1, sizeof *m);
    m->table_id = table_id;
    m->used = maps->env->now;
    m->requested_at.ns = INT64_MIN / 2;
    LIST_INSERT_HEAD(&maps->all, m, place);
    maps->count++;
    return m;
}

static void map_request(struct index_maps *maps, struct index_map *m)
{
    if (m->requesting || m->gone ||
        instant_before(maps->env->now, instant_add_ms(m->requested_at, REQUEST_GAP_MS)))
        return;
    const struct internal_call_options options = {.kind = INTERNAL_CALL_INDEX_MAP,
                                                  .subject = m->table_id,
                                                  .timeout = duration_ms(REQUEST_TIMEOUT_MS)};
    const struct request request = {.op = REQUEST_TABLE_GET, .table.id = m->table_id};
    m->requesting = true;
    m->requested_at = maps->env->now;
    internal_calls_begin(maps->calls, &options, &request);
}

const struct table *index_maps_find(struct index_maps *maps, uint32_t table_id)
{
    struct index_map *m = map_of(maps, table_id);
    if (m->table.partition_count > 0)
        return &m->table;
    map_request(maps, m);
    return NULL;
}

bool index_maps_gone(struct index_maps *maps, uint32_t table_id)
{
    return map_of(maps, table_id)->gone;
}

bool index_maps_leaves(struct index_maps *maps, uint32_t table_id)
{
    const struct index_map *m = map_of(maps, table_id);
    return m->gone || m->table.status == TABLE_DELETING;
}

void index_maps_refresh(struct index_maps *maps, uint32_t table_id)
{
    map_request(maps, map_of(maps, table_id));
}

void index_maps_answered(struct index_maps *maps, const struct internal_call_answer *answer)
{
    struct index_map *m = map_find(maps, answer->subject);
    must(m != NULL); /* who is being asked is not forgotten */
    const struct reply *r = answer->reply;
    struct arena arena = {0};
    struct table t;
    m->requesting = false;
    m->gone = r->code == REPLY_TABLE_NOT_FOUND;
    if (r->code != REPLY_OK || table_decode(r->table.bytes, &arena, &t) != STATUS_OK) {
        arena_deinit(&arena);
        return;
    }
    arena_reset(&arena);
    buffer_set(&m->bytes, r->table.bytes);
    must(table_decode(buffer_slice(&m->bytes), &arena, &t) == STATUS_OK);
    arena_deinit(&m->arena);
    m->arena = arena;
    m->table = t;
}
