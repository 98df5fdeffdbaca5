/* lab_adversary.h - what bad policies break: `weir lab run --adversary` and suite. */
#pragma once

#include "cmd/lab_files.h"

struct lab_adversary_options {
    bool json;
    bool in_suite;        /* a row of a table whose head is printed already */
    bool keep;            /* the directory gets adversary.json, result.csv and junit.xml */
    struct buffer *junit; /* gets the test suite, too; NULL: not wanted */
};

/* Prints what the runs of a directory show. Returns the exit code: 1 if all expectations hold under
 * a bad policy, or if one was never called. */
int lab_adversary_print(const struct lab_plan *p, const char *directory,
                        const struct lab_adversary_options *o);

/* The head of the table of a suite. */
void lab_adversary_print_head(void);
