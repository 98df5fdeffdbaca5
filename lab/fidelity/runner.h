/* runner.h - what runs a scenario at one fidelity.
 *
 *   lab/fidelity/admission/model.h   storage and replication are reduced to their costs
 *   lab/fidelity/full/full.h         real nodes, routers and GAC servers in the simulated world
 *
 * Others come from outside lab/: struct lab_job has them. */
#pragma once

#include "lab/measure/measure.h"
#include "lab/scenario/reading.h"
#include "lab/scenario/scenario.h"

struct catalog;

struct lab_counts {
    uint64_t requests;  /* of clients, each attempt counts */
    uint64_t messages;  /* between routers and GAC servers; 0: not counted */
    uint64_t decisions; /* of the controller that the catalog took */
    uint32_t partitions;
};

struct lab_runner {
    bool optimum; /* the measures get the capacities that the optimum needs */
    /* Whether the fidelity has what the scenario needs. False: the error is written at a field. */
    bool (*can_run)(struct reading *r, const struct scenario *s);
    /* Builds the cluster and its tables. The run's time is 0 afterwards. NULL: `error` gets one
     * line. Borrows scenario and measures. */
    void *(*create)(const struct scenario *s, uint64_t seed, struct measure *measure,
                    struct buffer *error);
    void (*destroy)(void *runner);
    /* From now on the runner keeps the series of balances that reports draw. The run stays the
     * same. Called before the first `run`. NULL: the runner tells no samples. */
    void (*keep_samples)(void *runner);
    /* Appends them as one JSON object: see lab/fidelity/admission/sample.c. */
    void (*write_samples)(const void *runner, struct buffer *out);
    /* Runs on to this time of the run. False: the run cannot go on; `error` tells why. */
    bool (*run)(void *runner, int64_t until_ns, struct buffer *error);
    /* Of all that happened; 0: the runner does not repeat its runs. */
    uint64_t (*hash)(const void *runner);
    struct lab_counts (*counts)(const void *runner);
    /* The events of the controller so far, a line each. */
    void (*events)(const void *runner, struct buffer *out);
};

/* The events that a catalog keeps. */
void lab_catalog_events(const struct catalog *c, struct buffer *out);
