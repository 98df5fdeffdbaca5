/* local_state.h - the node's own rows in its store, beside the items: its replicas, identity and
 * erasures.
 *
 * Every change of a row is part of the next checkpoint. */
#pragma once

#include "engine/node/core/env.h"
#include "engine/node/core/identity.h"
#include "engine/node/core/partition.h"

/* The node's own rows have storage keys of this table id. */
#define NODE_TABLE_ID UINT32_C(0xFFFFFFFF)

struct partition_row {
    uint64_t since_lsn;
    struct raft_base base;
    uint64_t term;
    uint64_t vote;
    struct tally items;
    struct tally rows[LOCAL_INDEXES_MAX];
    struct tally stream; /* as in struct partition */
    struct stream_position trimmed;
    bool counting;
    struct slice counted_to;
    struct split_history splits;
    struct frozen frozen;
    bool has_buckets;
    struct admission_balances buckets[ADMIT_KINDS];
    struct slice members; /* raft_members_encode: base.members */
    struct slice info;    /* partition_info_encode */
};
enum status partition_row_decode(struct slice value, struct partition_row *out);

/* The replica takes over what the row says of its items, splits and freeze. */
void partition_take_row(struct partition *p, const struct partition_row *row);

/* Lends until the next use of env->scratch. */
struct slice local_state_partition_key(struct node_env *env, uint32_t id);
void local_state_store_partition(struct node_env *env, struct partition *p);
void local_state_remove_partition(struct node_env *env, uint32_t id);
void local_state_store_generation(struct node_env *env, const struct identity *identity);
void local_state_store_left_catalog(struct node_env *env, struct identity *identity);
void local_state_store_closed(struct node_env *env, const struct identity *identity);
void local_state_store_local_lsn(struct node_env *env, uint64_t lsn);
/* Deletes in the background all keys that a partition with this range of items owns, in a table
 * with these indexes. The deletion goes on after a restart. */
void local_state_erase(struct node_env *env, struct slice lo, struct slice hi,
                       struct slice indexes);
/* Whether some of these keys are still to be deleted. */
bool local_state_is_erasing(struct node_env *env, struct slice lo, struct slice hi,
                            struct slice indexes);
/* The range that begins at `lo` is deleted. */
void local_state_erased(struct node_env *env, struct slice lo);

/* ---- at the start ---- */

struct local_state_loader {
    struct node_env *env;
    struct identity *identity;
    uint64_t *local_lsn; /* own records of the log before it are in the rows */
    void *context;
    void (*partition)(void *context, const struct partition_row *row,
                      const struct partition_info *info);
};
/* Loads the node's own rows, and calls `partition` for each replica. STATUS_CORRUPT, STATUS_IO. */
enum status local_state_load(const struct local_state_loader *loader);
/* Calls `row` for every row of [lo, hi), until a call fails. */
enum status local_state_each(struct node_env *env, struct slice lo, struct slice hi, void *context,
                             enum status (*row)(void *context, struct slice key,
                                                struct slice value));
