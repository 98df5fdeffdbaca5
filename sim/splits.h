/* splits.h - splits partitions at random keys, and merges neighbours, at random moments of a run.
 *
 * Each time it asks the catalog for a table, and checks that the partitions are the whole key
 * space. Then it asks for a split or a merge. Many requests come to nothing: another split is under
 * way, the catalog has no leader, or the epoch has passed. */
#pragma once

#include "sim/run.h"

struct splits;

/* Borrows the run. Partitions that are not the whole key space are a violation. */
struct splits *splits_create(struct run *run);
void splits_destroy(struct splits *s);
void splits_begin(struct splits *s);
void splits_end(struct splits *s);
/* Asks for a merge of two neighbours of the table. */
void splits_ask_merge(struct splits *s, const struct table *t);
