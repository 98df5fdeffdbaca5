/* scaling.h - the throughput of a scenario's tables: what is provisioned, told to the measures, and
 * changed by autoscaling.
 *
 * For the runners of all fidelities. Tables are numbered from 0, copies included, in their order.
 * Time comes from the scheduler; its events hold pointers to `struct scaling`. */
#pragma once

#include "lab/scenario/autoscaling.h"
#include "lab/scenario/demand.h"

/* A request for another throughput. */
struct scaling_update {
    uint32_t table;
    uint32_t place, copy; /* of the table in the scenario */
    int64_t units[ADMIT_KINDS];
    bool is_autoscaling; /* autoscaling asks */
};

struct scaling_port {
    void *context; /* borrows */
    /* What the table's requests have consumed so far, in mcu. */
    void (*consumed)(void *context, const struct scaling_update *table, int64_t mcu[ADMIT_KINDS]);
    /* Sends UpdateTable. scaling_updated must follow, perhaps at once. */
    void (*update)(void *context, const struct scaling_update *u);
};

struct scaled_table {
    struct scaling *scaling;
    struct scaling_update now; /* as it is provisioned */
    struct autoscaling autoscaling;
    int64_t consumed_mcu[ADMIT_KINDS]; /* when the last period ended */
};

struct scaling {
    struct scheduler *scheduler; /* borrows */
    struct measure *measure;     /* borrows */
    struct scaling_port port;
    int64_t begin_ns;
    struct scaled_table *tables; /* owns */
    uint32_t table_count;
    int64_t total[ADMIT_KINDS]; /* provisioned units of all tables */
};

/* The scheduler's time is the start of the run. */
void scaling_begin(struct scaling *s, const struct scenario *scenario, struct scheduler *scheduler,
                   struct measure *measure, const struct scaling_port *port);
/* The number of a table, given its place in the scenario and its copy. */
uint32_t scaling_number(const struct scenario *s, uint32_t place, uint32_t copy);
/* The end of any UpdateTable, also one that was not asked for by autoscaling. `done`: the table has
 * that throughput from now on. */
void scaling_updated(struct scaling *s, const struct scaling_update *u, bool done);
void scaling_deinit(struct scaling *s);
