/* indexes.h - the global indexes of a scenario's table.
 *
 * Each item that a workload writes has the key of every index, drawn from the index's own
 * distribution. The key is one attribute, a text, whose name index_append_attribute tells.
 * Not here: requests that make the indexes (lab/clients/tables.c), the drawing (lab/clients/). */
#pragma once

#include "lab/scenario/reading.h"
#include "workload/load_keys.h"

enum {
    INDEXES_MAX = 5 /* of a table */
};

enum index_projection {
    INDEX_ALL,
    INDEX_KEYS
};

struct index_options {
    const char *name;
    struct load_keys keys; /* not started */
    int64_t projection;    /* enum index_projection */
    int64_t rcu, wcu;      /* 0: as many as the table */
    int64_t partitions;    /* at the start; 0: as many as the throughput needs */
};

struct indexes_options {
    uint32_t count;
    struct index_options at[INDEXES_MAX];
};

/* For the fields of scenario files. */
extern const struct field index_fields[];
/* Reads an index. As `read` of struct field. */
bool index_read(struct reading *r, const struct document_node *n, void *target);
/* The indexes of a table on demand are on demand. False: reading_fail was called. */
bool indexes_check(struct reading *r, const struct document_node *n,
                   const struct indexes_options *o, bool on_demand);
/* Whether the keys of all indexes can be drawn from so many values. NULL, or the fault as a
 * text. */
const char *indexes_check_count(const struct indexes_options *o, int64_t key_count);

/* The name of the key attribute. */
void index_append_attribute(struct buffer *out, const struct index_options *x);
