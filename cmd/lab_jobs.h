/* lab_jobs.h - the runs of a plan over several processes, with progress. */
#pragma once

#include "cmd/lab_files.h"

enum {
    LAB_JOBS_MAX = 256
};

struct lab_jobs_options {
    const struct lab_plan *plan;
    const char *directory;
    int64_t jobs;        /* processes */
    const char *only_of; /* only runs that this directory has results of; NULL: all */
    int64_t part, of;    /* only every `of`-th run, from number part - 1 on; of 0: all */
    bool progress;       /* on standard error */
    bool rows;           /* each run has a file with a row for each request, too */
};

enum lab_jobs_end {
    LAB_JOBS_DONE,
    LAB_JOBS_FAILED,  /* a run failed; its error is on standard error */
    LAB_JOBS_STOPPED, /* by SIGINT or SIGTERM; finished runs are kept */
};

/* A process for each core. */
int64_t lab_jobs_default(void);

/* Runs that have a result already are left out. */
enum lab_jobs_end lab_jobs_run(const struct lab_jobs_options *o);

/* One run in this process. False: `error` tells. */
bool lab_jobs_run_one(const struct lab_plan *p, const char *directory, uint64_t number,
                      struct buffer *error);
