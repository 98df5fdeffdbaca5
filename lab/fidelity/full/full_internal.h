/* full_internal.h - the parts of the fidelity `full`, for lab/fidelity/full/ only.
 *
 *   full.c     life, time, what the measures are told
 *   admin.c    tables are made, filled, changed and split
 *   index_lag.c     how far global indexes are behind
 *   bucket_audit.c what buckets of the rate limiter hold
 *   faults.c   faults of the scenario; what the world cannot do */
#pragma once

#include <sys/queue.h>

#include "lab/clients/clients.h"
#include "lab/clients/preload.h"
#include "lab/clients/tables.h"
#include "lab/scenario/fault_schedule.h"
#include "sim/world/world.h"

/* A request to the API that the run makes: UpdateTable. */
struct full_call {
    STAILQ_ENTRY(full_call) entry;
    struct buffer body;
    struct scaling_update update;
};

/* A table whose partitions are split. */
struct full_split {
    LIST_ENTRY(full_split) entry;
    struct full *full;
    char name[SCENARIO_NAME_SIZE_MAX + 16];
    struct buffer table;  /* the catalog's answer */
    struct buffer answer; /* to the splits: ignored */
    struct arena arena;
};

struct full {
    const struct scenario *scenario; /* borrows */
    struct measure *measure;         /* borrows */
    struct config configs[WORLD_NODES_MAX + 1];
    struct world world;
    struct http_client admin;
    struct clients *clients; /* owns */
    int64_t begin_ns;        /* the world's time at the start of the run */
    /* of admin.c */
    bool answered;
    int status;
    struct buffer answer;
    bool calling;                   /* the first of them is on its way */
    STAILQ_HEAD(, full_call) calls; /* owns */
    LIST_HEAD(, full_split) splits; /* owns */
    struct scaling scaling;
    struct fault_schedule faults;
    struct buffer stats[WORLD_NODES_MAX + 1]; /* of index_lag.c: each node's last answer */
    struct full_bucket_audit *bucket_audit;   /* owns; NULL: the scenario has no limits */
};

/* The catalog of the node that leads it; NULL: none does. */
const struct catalog *full_catalog(const struct full *f);

/* Makes all tables, fills those that hold bytes, and sets the limits of the rate limiter. Time
 * passes. False: `error` tells. */
bool admin_create_tables(struct full *f, struct buffer *error);
/* An UpdateTable during the run. */
void admin_update(struct full *f, const struct scaling_update *u);
/* Cuts each partition of the table into two equal ranges of hashes. */
void admin_split(struct full *f, uint32_t place, uint32_t copy);
void admin_deinit(struct full *f);

/* At the end of each window. */
void index_lag_window(struct full *f);
void index_lag_deinit(struct full *f);

/* How many clients of the world the audits of buckets need. */
uint32_t bucket_audit_clients(const struct scenario *s);
void bucket_audit_init(struct full *f, uint64_t seed);
/* At the end of each window. */
void bucket_audit_window(struct full *f);
void bucket_audit_deinit(struct full *f);

/* False: the world cannot run the scenario; `error` tells. */
bool full_can_run(struct reading *r, const struct scenario *s);
void full_faults_begin(struct full *f);
