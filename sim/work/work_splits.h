/* work_splits.h - splits partitions at random keys, and merges neighbours, at random moments of a
 * run.
 *
 * Each time it asks the catalog for a table, and checks that the partitions are the whole key
 * space. Then it asks for a split or a merge. Many requests come to nothing: another split is under
 * way, the catalog has no leader, or the epoch has passed. */
#pragma once

#include "sim/plan/run.h"

struct work_splits;

/* Borrows the run. Partitions that are not the whole key space are a violation. */
struct work_splits *work_splits_create(struct run *run);
void work_splits_destroy(struct work_splits *s);
void work_splits_begin(struct work_splits *s);
void work_splits_end(struct work_splits *s);
/* Asks for a merge of two neighbours of the table. */
void work_splits_request_merge(struct work_splits *s, const struct table *t);
