/* background.h - work on all items of a partition, done in slices between requests.
 *
 * Each kind of work is a job: a row in the table in background.c. A job that has work does one
 * slice every SCAN_MS (pending_requests.h). A job works on one partition after the other. A slice
 * reads the store on the loop, at most SCAN_ITEMS or SCAN_BYTES. If data is not resident, a reader
 * thread first touches the slice's pages, and the slice waits for them. The loop never waits for a
 * page.
 *
 * A slice gets the environment and the partition, so it cannot propose. A job that writes leaves
 * its result in the partition. A component above background proposes it, or begins a call
 * (internal_calls.h); node.c connects the two. */
#pragma once

#include "engine/node/core/partitions.h"
#include "engine/node/core/pending_requests.h"

enum background_job {
    BACKGROUND_COUNT,   /* counting.h */
    BACKGROUND_MIDDLE,  /* size_split.h */
    BACKGROUND_TOKENS,  /* token_sweep.h */
    BACKGROUND_EXPIRY,  /* expiry_scan.h */
    BACKGROUND_STREAMS, /* stream_sweep.h */
    BACKGROUND_JOBS
};

/* Each job works on one partition at a time. */
struct background_state {
    uint32_t last; /* the partition whose turn it was */
    struct scan scan;
    struct instant at; /* the next slice; INSTANT_NEVER: no work */
};

struct background {
    struct node_env *env;
    struct partitions *partitions;
    struct pending_requests *pending;
    struct background_state jobs[BACKGROUND_JOBS];
};

void background_init(struct background *background, struct node_env *env,
                     struct partitions *partitions, struct pending_requests *pending);
/* There may be work for the job. */
void background_wake(struct background *background, enum background_job job);
/* RESUME_BACKGROUND: pages that a slice asked for have been read. */
void background_touched(struct background *background, uint64_t subject);
void background_tick(struct background *background);
struct instant background_deadline(const struct background *background);
