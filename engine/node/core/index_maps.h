/* index_maps.h - where the partitions of global indexes, and of tables that transactions span, are,
 * as the catalog said last. */
#pragma once

#include <sys/queue.h>

#include "engine/catalog/catalog.h"
#include "engine/node/core/internal_calls.h"

struct index_map;

struct index_maps {
    struct node_env *env;
    struct internal_calls *calls;
    LIST_HEAD(, index_map) all; /* owns */
    uint32_t count;
};

void index_maps_deinit(struct index_maps *maps);
/* The index's table; lends until the next answer of the catalog, or the next event. NULL: the
 * catalog is being asked. */
const struct table *index_maps_find(struct index_maps *maps, uint32_t table_id);
/* Whether the catalog has said that there is no such table. Numbers of tables are never used again.
 * */
bool index_maps_gone(struct index_maps *maps, uint32_t table_id);
/* Whether it is gone, or DELETING, as the catalog said last. */
bool index_maps_leaves(struct index_maps *maps, uint32_t table_id);
/* The map is wrong: the catalog is asked again. The present one stays until there is an answer. */
void index_maps_refresh(struct index_maps *maps, uint32_t table_id);
/* The catalog has answered. */
void index_maps_answered(struct index_maps *maps, const struct internal_call_answer *answer);
