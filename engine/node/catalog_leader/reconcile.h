/* reconcile.h - the catalog's leader makes replicas exist where the catalog says (reconcile.c). */
#pragma once

#include "engine/node/catalog_leader/catalog_replica.h"
#include "engine/node/core/internal_calls.h"

struct reconcile_table;

struct reconciler {
    struct node_env *env;
    struct partitions *partitions;
    struct identity *identity;
    struct proposals *proposals;
    struct peers *peers;
    struct internal_calls *calls;
    struct catalog_replica *catalog;
    LIST_HEAD(, reconcile_table) tables; /* owns; while group 0 is led here */
    struct instant nodes_at;             /* when the nodes are looked at next */
};

/* Group 0 is led here from now on; group 0 is no longer led here. */
void reconcile_start(struct reconciler *reconciler);
void reconcile_end(struct reconciler *reconciler);
/* The catalog has changed the table. */
void reconcile_changed(struct reconciler *reconciler, const struct table *t);
/* Whether the table is active, and all its replicas are known to be as the catalog wants them. */
bool reconcile_rests(struct reconciler *reconciler, uint32_t table_id);
void reconcile_answered(struct reconciler *reconciler, const struct internal_call_answer *answer);
void reconcile_tick(struct reconciler *reconciler);
struct instant reconcile_deadline(const struct reconciler *reconciler);
