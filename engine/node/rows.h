/* rows.h - what a node keeps of itself in its store, beside the items: under NODE_TABLE_ID. */
#ifndef WEIR_ENGINE_NODE_ROWS_H
#define WEIR_ENGINE_NODE_ROWS_H

#include "engine/node/env.h"
#include "engine/node/identity.h"
#include "engine/node/partition.h"

/* Rows of the node itself live in the storage-key space of this table id. */
#define NODE_TABLE_ID UINT32_C(0xFFFFFFFF)

struct partition_row {
    uint64_t since_lsn;
    struct raft_base base;
    uint64_t term;
    uint64_t vote;
    int64_t item_count;
    int64_t item_bytes;
    bool counting;
    struct slice counted_to;
    struct split_history splits;
    struct frozen frozen;
    bool has_buckets;
    struct admission_balances buckets[ADMIT_KINDS];
    struct slice info; /* partition_info_encode */
};
enum status partition_row_decode(struct slice value, struct partition_row *out);

/* Lends until the next use of env->scratch. */
struct slice rows_partition_key(struct node_env *env, uint32_t id);
void rows_store_partition(struct node_env *env, struct partition *p);
void rows_remove_partition(struct node_env *env, uint32_t id);
void rows_store_generation(struct node_env *env, const struct identity *identity);
void rows_store_left_catalog(struct node_env *env, struct identity *identity);
void rows_store_closed(struct node_env *env, const struct identity *identity);
void rows_store_local_lsn(struct node_env *env, uint64_t lsn);
/* Deletes in the background what a partition with this range of items owns; a restart goes on with
 * it. */
void rows_erase(struct node_env *env, struct slice lo, struct slice hi);
/* Whether anything of that is still to be deleted. */
bool rows_are_erasing(const struct node_env *env, struct slice lo, struct slice hi);
void rows_erased(struct node_env *env, struct slice lo);

/* ---- at the start ---- */

struct rows_loader {
    struct node_env *env;
    struct identity *identity;
    uint64_t *local_lsn; /* own records of the log before it are in the rows */
    void *context;
    void (*partition)(void *context, const struct partition_row *row,
                      const struct partition_info *info);
};
/* Tells what the node's rows say. STATUS_CORRUPT, STATUS_IO. */
enum status rows_load(const struct rows_loader *loader);
/* Every row of [lo, hi), until one fails. */
enum status rows_each(struct node_env *env, struct slice lo, struct slice hi, void *context,
                      enum status (*row)(void *context, struct slice key, struct slice value));

#endif
