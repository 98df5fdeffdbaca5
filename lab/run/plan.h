/* plan.h - which runs a scenario asks for: policies x points of the sweep x seeds.
 *
 * A plan is made of texts alone, so every process that has the texts makes the same one. That is
 * how runs are spread over processes and machines: each takes runs by their numbers.
 *
 * Not here: files and processes (cmd/lab_*.c). */
#pragma once

#include "lab/run/run.h"
#include "lab/run/until.h"

enum {
    LAB_PATH_SIZE_MAX = 256,
    LAB_POLICY_FILES_MAX = 16,
    LAB_RUNS_MAX = 10000000
};

struct lab_plan_options {
    const char *file;  /* of the scenario, for errors */
    struct slice text; /* of the scenario; borrows */
    struct slice more; /* policies that are added to it; borrows; may be empty */
    struct scenario_setting set[SCENARIO_SETTINGS_MAX]; /* of the command line; borrows */
    uint32_t set_count;
    int64_t seeds; /* 0: as the scenario says; LAB_UNTIL_SEEDS with `until` */
    uint64_t first_seed;
    struct lab_until until;
    enum lab_fidelity fidelity; /* LAB_FIDELITIES: as the scenario says */
    bool sweep;                 /* all points of the axes; otherwise no axis is changed */
    const char *only;           /* these policies of the scenario, with commas; NULL: all */
    bool adversary; /* bad policies in the place of the first one (lab/run/adversary.h); replaces
        `more` */
    struct policies *policies; /* borrows; loaded from `policy_files`; may be NULL */
    const char *policy_files[LAB_POLICY_FILES_MAX]; /* borrows */
    uint32_t policy_file_count;
    const struct lab_runner *real; /* for LAB_REAL */
};

struct lab_plan {
    struct lab_plan_options options;
    struct document document;
    struct scenario *scenario; /* owns; without a policy's changes */
    struct buffer adversaries; /* policies as a YAML list, for options.adversary */
    uint32_t chosen[SCENARIO_POLICIES_MAX], policies; /* policies that run */
    uint32_t points;
    uint64_t seeds;
    uint64_t seeds_now;  /* with `until`: only so many of the seeds are run and gathered; 0: all */
    uint64_t runs;       /* numbered from 0 */
    const char **traces; /* owns; the files that runs read, each once */
    uint32_t trace_count;
    size_t trace_capacity;
};

/* STATUS_MALFORMED: `error` gets one line: also if one of the policies or points does not fit the
 * scenario. lab_plan_deinit frees, in all cases. */
enum status lab_plan_make(struct lab_plan *p, const struct lab_plan_options *options,
                          struct buffer *error);
void lab_plan_deinit(struct lab_plan *p);

/* The texts of a job that a plan has made. */
struct lab_planned {
    struct lab_job job;
    struct scenario_setting set[SCENARIO_SETTINGS_MAX + SCENARIO_AXES_MAX];
    char point[LAB_PATH_SIZE_MAX];
    char path[LAB_PATH_SIZE_MAX]; /* of the result, below the directory of all */
};

void lab_plan_run(const struct lab_plan *p, uint64_t number, struct lab_planned *out);

/* Whether the run is one of the first `seeds_now` seeds. */
bool lab_plan_includes(const struct lab_plan *p, uint64_t number);
