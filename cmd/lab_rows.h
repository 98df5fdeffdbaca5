/* lab_rows.h - the files with rows of a run, beside the run's result: of each request, and of the
 * optimum's problems. */
#pragma once

#include <stdio.h>

#include "cmd/lab_files.h"

struct lab_rows_file {
    FILE *file;
    char path[LAB_NAME_SIZE],
        fresh[LAB_NAME_SIZE + 32]; /* where it will be, and is until its end */
    int error;                     /* errno of the first write that failed; 0: none has */
};

struct lab_rows {
    struct lab_rows_file files[LAB_ROW_FILES];
};

/* runs/POLICY/POINT/SEED.requests.csv.gz or SEED.windows.csv.gz, beside the run's result. */
void lab_rows_name(const struct lab_planned *run, enum lab_row_file file,
                   char out[LAB_PATH_SIZE_MAX]);

/* False: `error` gets one line. Otherwise lab_rows_end must follow. */
bool lab_rows_begin(struct lab_rows *r, const char *directory, const struct lab_planned *run,
                    struct buffer *error);
/* As `rows` of struct lab_job; the context is a struct lab_rows. */
void lab_rows_add(void *context, enum lab_row_file file, struct slice packed);
/* The files appear if `keep`. False: `error` gets one line. */
bool lab_rows_end(struct lab_rows *r, bool keep, struct buffer *error);
