/* baselines.h - policies of the literature and of other systems, to compare with: a plug-in that
 * comes with the program.
 *
 *   node_*.c      which partitions may burst on what a node has left (node_policy)
 *   overload_*.c  which requests are refused when work waits too long (overload_policy)
 *   partition_*.c which requests a partition admits (partition_policy)
 *   table_*.c     how many tokens of a table's limit a router gets (gac_policy)
 *
 * The head of each file names its source, and what was simplified. They see no more than policies
 * from files do (docs/guide-policies.md). */
#pragma once

struct policies;

/* Stands for the file of their entries. */
extern const char baselines_source[];

/* Adds all of them, unless they are there. */
void baselines_add(struct policies *p);
