/* settling.h - the catalog's leader makes replicas exist where the catalog says (settling.c). */
#pragma once

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
    struct instant nodes_at;            /* when the nodes are looked at next */
};

/* Group 0 is led here from now on; group 0 is no longer led here. */
void settling_start(struct settling *settling);
void settling_end(struct settling *settling);
/* The catalog has changed the table. */
void settling_changed(struct settling *settling, const struct table *t);
/* Whether the table is active, and all its replicas are known to be as the catalog wants them. */
bool settling_rests(struct settling *settling, uint32_t table_id);
void settling_answered(struct settling *settling, const struct call_answer *answer);
void settling_tick(struct settling *settling);
struct instant settling_deadline(const struct settling *settling);
