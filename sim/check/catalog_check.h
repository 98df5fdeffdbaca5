/* catalog_check.h - the tables of a run as the catalog has them at the end, and whether the nodes'
 * data fit. */
#pragma once

#include "sim/plan/run.h"

enum {
    CATALOG_CHECK_TABLES_MAX = 24,
    CATALOG_CHECK_NAME_SIZE = 64
};

struct catalog_check_table {
    char name[CATALOG_CHECK_NAME_SIZE];
    uint32_t base; /* of a global index: the place of its table */
    bool is_index;
    struct buffer bytes; /* owns; table_encode */
};

struct catalog_check {
    struct catalog_check_table all[CATALOG_CHECK_TABLES_MAX];
    uint32_t count;
};

void catalog_check_deinit(struct catalog_check *t);
/* `globals`: it has the global indexes of dynamo_globals. */
void catalog_check_add(struct catalog_check *t, const char *table, bool globals);
/* Replicas are where the catalog says and alike, and indexes have the rows of their tables. */
bool catalog_check_run(const struct catalog_check *t, const struct run *r, struct buffer *why);
/* Whether the indexes of the first table have the rows of its items. */
bool catalog_check_run_first(const struct catalog_check *t, const struct run *r,
                             struct buffer *why);
