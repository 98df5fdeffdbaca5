/* lab_files.h - the directory of results: what is in it, and reading and writing its files.
 *
 *   scenario.yaml   the scenario
 *   plan.json       version, fidelity, seeds and what was set: with scenario.yaml, all that a run
 *                   needs; the build, and the SHA-256 of all other files (lab_inputs.h)
 *   runs/           a file for each run: POLICY/POINT/SEED.json; with --requests, its rows, too
 *                   (lab_rows.h)
 *   result.json, result.csv, junit.xml    all runs together
 *
 * A file appears whole or not at all. A directory belongs to one plan, with one build and the same
 * files: another one is refused. */
#pragma once

#include "host/remove_tree.h"
#include "lab/run/plan.h"
#include "lab/run/result.h"
#include "server/host/policy_file.h"

enum {
    LAB_NAME_SIZE = 4096 /* of a path */
};

/* A new directory below TMPDIR; remove_tree removes it. False: the error is on standard error. */
bool lab_temporary_make(char out[LAB_NAME_SIZE]);

/* A registry for policies from files; it lives as long as the process. */
struct policies *lab_policies_begin(void);
/* As policy_file_load. Clients try again by policies of the file, too. */
enum status lab_policies_load(struct policies *policies, const char *path, struct buffer *error);

/* Reads a whole file. False: `error` gets one line. */
bool lab_file_read(const char *path, struct buffer *out, struct buffer *error);
/* Writes DIRECTORY/NAME, and makes the directories above it. */
bool lab_file_write(const char *directory, const char *name, struct slice bytes,
                    struct buffer *error);
/* The directories above the path. */
bool lab_file_make_directories(char *path, struct buffer *error);
bool lab_file_exists(const char *directory, const char *name);

/* What plan.json is to be. False: a file that runs read cannot be read. */
bool lab_files_write_plan(const struct lab_plan *p, struct buffer *out, struct buffer *error);
/* Makes the directory the plan's, or finds that it is. */
bool lab_files_open(const char *directory, const struct lab_plan *p, struct buffer *error);
/* The plan of a directory. The texts lend from `text` and `storage`, which the caller frees. */
bool lab_files_plan(const char *directory, struct lab_plan *p, struct buffer *text,
                    struct buffer *storage, struct buffer *error);

/* Reads the runs that are there. */
bool lab_files_gather(const char *directory, const struct lab_plan *p, struct lab_result *r,
                      struct buffer *error);
/* Writes junit.xml of the test suites in `suites`. */
bool lab_files_write_junit(const char *directory, const struct buffer *suites,
                           struct buffer *error);
/* Writes the files about all runs together. The result must have been judged. */
bool lab_files_finish(const char *directory, const struct lab_result *r, struct buffer *error);
