/* demand.h - what a scenario's clients want, for the runners of all fidelities.
 *
 * The same scenario and seed give the same arrivals, keys, kinds and routers at every fidelity.
 * Times are ns since the start of the run. Not here: who sends the requests. */
#pragma once

#include "engine/catalog/split.h"
#include "engine/item/storage_key.h"
#include "lab/measure/measure.h"
#include "lab/scenario/scenario.h"
#include "sim/world/scheduler.h"

enum {
    DEMAND_OPEN_CLIENTS = 16 /* SDK clients that share the requests of an open loop */
};

/* A stream of random numbers per concern: more draws from one do not change the others. */
enum demand_stream {
    DEMAND_NETWORK = 1,
    DEMAND_SOURCES,
    DEMAND_SPREAD,
    DEMAND_RETRIES,
    DEMAND_REPLICAS,
    DEMAND_GAC,
    DEMAND_WORLD,
    DEMAND_HEDGES,
    DEMAND_INDEXES,
    DEMAND_CLOCKS,
};

uint64_t demand_seed(uint64_t seed, enum demand_stream stream, uint64_t which);

/* The router of the next attempt, from 0. `next` counts the attempts that are spread evenly. */
uint32_t demand_router(const struct scenario_spread *spread, int64_t now_ns, uint32_t routers,
                       struct prng *random, uint32_t *next);

/* Any other router than `first`, for a hedge. `routers` > 1. */
uint32_t demand_other_router(uint32_t first, uint32_t routers, struct prng *random);

/* The cost of the request if it is admitted and its item exists. */
int64_t demand_cost_mcu(const struct traffic_request *t);

/* The place of the workload's tenant among the scenario's. */
uint32_t demand_tenant(const struct scenario *s, const struct scenario_workload *w);

/* The number of a table's index among those of all tables. */
uint32_t demand_index(const struct scenario *s, uint32_t table_place, uint32_t index);

/* "NAME", or "NAME-3" if the table has copies. `copy` counts from 0. */
void demand_table_name(const struct scenario_table *t, uint32_t copy, char *out, size_t size);

/* Whether the table needs a sort key, `sk` beside `pk`: keys of a workload share a partition key,
 * or item collections stay whole. */
bool demand_has_sort_key(const struct scenario *s, uint32_t table_place);

/* A split of the partition into two equal ranges of hashes. `out` borrows `key`. False: the
 * partition is too small. */
bool demand_split_evenly(const struct table *t, const struct partition_info *p,
                         uint8_t key[STORAGE_KEY_BOUND_SIZE], struct table_split *out);

/* Tells the measures when demand changes by a step: relief and convergence count from there. */
struct demand_watch {
    struct scheduler *scheduler; /* borrows */
    struct measure *measure;     /* borrows */
    int64_t begin_ns;            /* the scheduler's time at the start of the run */
};

/* The events hold pointers to `w`. */
void demand_watch_workload(struct demand_watch *w, const struct scenario_workload *workload,
                           bool first);
