/* index_builder.h - fills new global indexes with the items that their tables have, where the
 * catalog is led.
 *
 * The builder goes over the base table's keys in order, one piece at a time. For each piece it asks
 * the leader of the base partition to bring the index up to date (index_feed.h), and waits until
 * the index has the rows. It remembers a key, not a partition: splits and moves change nothing. A
 * new leader of the catalog begins again; rows that are there stay as they are. */
#pragma once

#include <sys/queue.h>

#include "engine/node/catalog_leader/catalog_replica.h"
#include "engine/node/core/internal_calls.h"

struct index_build;

struct index_builder {
    struct node_env *env;
    struct internal_calls *calls;
    struct catalog_replica *catalog;
    struct proposals *proposals;
    LIST_HEAD(, index_build) all; /* owns */
    struct instant at;            /* when it looks next */
};

/* The catalog is not led here any more. */
void index_builder_end(struct index_builder *builder);
struct instant index_builder_deadline(const struct index_builder *builder);
void index_builder_tick(struct index_builder *builder);
void index_builder_answered(struct index_builder *builder,
                            const struct internal_call_answer *answer);
