/* run.h - one run of a scenario: one policy, one point of a sweep, one seed.
 *
 * A run is described by a text: the same text gives the same result, byte for byte. The result is
 * JSON: what was run, every measure for all requests and for each tenant, the values that the
 * expectations ask for, and, if asked for, the time series that reports draw.
 *
 * Not here: files, processes, progress on a screen (cmd/lab.c); sums over runs (result.h). */
#pragma once

#include "lab/fidelity/runner.h"
#include "lab/scenario/fidelity.h"

/* Files of rows beside the result of a run. */
enum lab_row_file {
    LAB_ROWS_REQUESTS, /* lab/run/request_rows.h */
    LAB_ROWS_WINDOWS,  /* lab/run/window_rows.h */
    LAB_ROW_FILES
};

struct lab_job {
    const char *file;  /* of the scenario, for errors */
    struct slice text; /* of the scenario */
    struct slice more; /* a YAML list of policies that are added to the scenario's; may be empty */
    uint32_t policy;   /* its place among the scenario's policies */
    const struct scenario_setting *set; /* of the sweep and the command line, before the policy's */
    uint32_t set_count;
    const char *point; /* of the sweep: its name in results; "" if there is none */
    uint64_t seed;
    enum lab_fidelity fidelity; /* LAB_FIDELITIES, to read it: as the scenario says */
    struct policies *policies;  /* borrows; loaded from files; may be NULL */
    bool series; /* the result has time series: see lab/fidelity/admission/sample.c and
        docs/reports.md */
    const struct lab_runner *real; /* for LAB_REAL */
    /* Called now and then with the virtual time so far; may be NULL. False: the run is given up. */
    bool (*progress)(void *context, int64_t now_ns, int64_t end_ns);
    void *context;
    /* Gets the parts of the files of rows, each file's in order; NULL: none. */
    void (*rows)(void *context, enum lab_row_file file, struct slice packed);
    void *rows_context;
};

/* Names of the reasons, as the measures number them. */
extern const char *const lab_reasons[MEASURE_REASONS + 1];

/* Reads the scenario as the job changes it. The texts lend from `d`. */
enum status lab_job_read(const struct lab_job *job, struct document *d, struct scenario *out,
                         struct buffer *error);

/* STATUS_MALFORMED: `error` gets one line. STATUS_PENDING: given up. */
enum status lab_run(const struct lab_job *job, struct buffer *json, struct buffer *error);
