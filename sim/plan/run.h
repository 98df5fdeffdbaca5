/* run.h - what the parts of one simulated run share: its plan, its world and its first
 * violation. */
#pragma once

#include "sim/plan/plan.h"
#include "sim/world/world.h"

struct decision;

struct run {
    struct plan plan;
    struct world world;
    struct buffer violation; /* empty: none */
};

/* As a node that leads the catalog has it. NULL: none leads it, or has the table. */
const struct table *run_find_table(const struct run *r, const char *name);
/* Asks the node that leads the catalog to decide this. It may refuse. `op`: enum catalog_op. */
void run_decide(struct run *r, const struct decision *d, uint8_t op);
/* The plan, the last events of the world, and those of its nodes. */
void run_describe(struct run *r, uint64_t events, struct buffer *out);
/* Only the first violation counts: later ones may follow from it. */
void run_violate(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
