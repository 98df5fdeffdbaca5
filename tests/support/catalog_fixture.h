/* catalog_fixture.h - a catalog with one table "t", the commands that change it, and the rows that
 * would be on disk. */
#pragma once

#include "base/config.h"
#include "engine/catalog/catalog.h"

enum {
    CATALOG_FIXTURE_PARTITIONS_MAX = 40
};

struct catalog_fixture {
    struct catalog *catalog;
    struct config config;
    uint32_t nodes;
    struct catalog_result result; /* of the last command */
    struct buffer table_row;
    struct buffer counters_row;
    struct buffer text; /* why the last command was refused */
};

/* Nodes 1 .. nodes, and the reconciled table: 3,001 read and 1,999 write units a second in two
 * partitions of three replicas. */
void catalog_fixture_init(struct catalog_fixture *w, uint32_t nodes);
void catalog_fixture_deinit(struct catalog_fixture *w);

enum reply_code catalog_fixture_apply(struct catalog_fixture *w, struct catalog_command *c);
/* A command with the table's spec. */
struct catalog_command catalog_fixture_command(const struct catalog_fixture *w, enum catalog_op op);
enum reply_code catalog_fixture_decide(struct catalog_fixture *w, enum catalog_op op,
                                       const struct decision *d);
enum reply_code catalog_fixture_split(struct catalog_fixture *w, const struct table_split *s);
/* Reconciles the table, as it was with this number of partitions and this status. */
enum reply_code catalog_fixture_reconcile(struct catalog_fixture *w, uint32_t partition_count,
                                          enum table_status status);
/* The node has that generation from now on. */
void catalog_fixture_set_generation(struct catalog_fixture *w, uint32_t node, uint32_t generation);

/* A step of a merge, with an event. `p` is the partition that the step names. BEGIN: with the
 * partition below. ABSORB_IT: frozen by entry 77 of term 5. */
struct decision catalog_fixture_merge_command(enum merge_command command,
                                              const struct partition_info *p);
enum reply_code catalog_fixture_merge(struct catalog_fixture *w, enum merge_command command,
                                      const struct partition_info *p);
/* Splits the partition just above its first hash. */
enum reply_code catalog_fixture_halve(struct catalog_fixture *w, const struct partition_info *p);
enum reply_code catalog_fixture_move(struct catalog_fixture *w, const struct partition_info *p,
                                     uint32_t from, uint32_t to);
/* The group lets go of the replica that was moved away, and that replica is erased. */
void catalog_fixture_end_move(struct catalog_fixture *w, const struct partition_info *p);
/* Replaces replicas of lost disks. False: there was nothing to replace. */
bool catalog_fixture_replace(struct catalog_fixture *w);

/* The table's tag KEY_SHARDING_TAG gets this value. NULL: the tag goes. */
enum reply_code catalog_fixture_tag(struct catalog_fixture *w, const char *value);
/* NULL: the key is not sharded. Lends until the table changes. */
const struct sharded_key *catalog_fixture_sharded_key(const struct catalog_fixture *w,
                                                      const char *key);
/* Appends what storage keys of the partition key's shard 0 begin with. */
void catalog_fixture_append_key(struct buffer *out, const struct catalog_fixture *w,
                                const char *key);
/* A word about a key, as the decider would say it: with the key's version, or with another one. */
enum reply_code catalog_fixture_change_shards(struct catalog_fixture *w,
                                              enum key_shards_change change, const char *key,
                                              uint32_t shards);
enum reply_code catalog_fixture_change_shards_at(struct catalog_fixture *w,
                                                 enum key_shards_change change, const char *key,
                                                 uint32_t shards, uint64_t version);

/* The table's partition `i`, in key order. */
const struct partition_info *catalog_fixture_at(const struct catalog_fixture *w, uint32_t i);
/* NULL: the table is gone. */
const struct table *catalog_fixture_table(const struct catalog_fixture *w);
/* The storage key of a hash in the table. */
struct slice catalog_fixture_key(uint32_t table_id, uint64_t hash, uint8_t out[12]);
/* Checks that the partitions also share the table's provisioned throughput. */
void catalog_fixture_is_complete(const struct table *t);
/* Checks that a catalog loaded from the rows has the same table. */
void catalog_fixture_reloads(const struct catalog_fixture *w);
