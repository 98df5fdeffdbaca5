/* told.h - the tables of a run as the catalog tells them at the end, and whether the nodes' data
 * fit. */
#pragma once

#include "sim/run.h"

enum {
    TOLD_TABLES_MAX = 24,
    TOLD_NAME_SIZE = 64
};

struct told_table {
    char name[TOLD_NAME_SIZE];
    uint32_t base; /* of a global index: the place of its table */
    bool is_index;
    struct buffer bytes; /* owns; table_encode */
};

struct told {
    struct told_table all[TOLD_TABLES_MAX];
    uint32_t count;
};

void told_deinit(struct told *t);
/* `globals`: it has the global indexes of dynamo_globals. */
void told_add(struct told *t, const char *table, bool globals);
/* Replicas are where the catalog says and alike, and indexes have the rows of their tables. */
bool told_check(const struct told *t, const struct run *r, struct buffer *why);
/* Whether the indexes of the first table have the rows of its items. */
bool told_check_first(const struct told *t, const struct run *r, struct buffer *why);
