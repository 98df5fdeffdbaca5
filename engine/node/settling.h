/* settling.h - leading group 0: getting partitions where the catalog wants them (settling.c). */
#ifndef WEIR_ENGINE_NODE_SETTLING_H
#define WEIR_ENGINE_NODE_SETTLING_H

#include "engine/node/calls.h"
#include "engine/node/catalog_replica.h"

struct settling_table;

struct settling {
    struct node_env *env;
    struct partitions *partitions;
    struct identity *identity;
    struct proposals *proposals;
    struct peers *peers;
    struct calls *calls;
    struct catalog_replica *catalog;
    LIST_HEAD(, settling_table) tables; /* owns; while group 0 is led here */
    struct instant nodes_at;
};

/* Group 0 is led here from now on, or not any more. */
void settling_start(struct settling *settling);
void settling_end(struct settling *settling);
/* The catalog has changed the table. */
void settling_changed(struct settling *settling, const struct table *t);
/* Whether all of the table's replicas are known to be open, as the catalog wants them. */
bool settling_rests(struct settling *settling, uint32_t table_id);
void settling_answered(struct settling *settling, const struct call_answer *answer);
void settling_tick(struct settling *settling);
struct instant settling_deadline(const struct settling *settling);

#endif
