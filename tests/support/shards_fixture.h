/* shards_fixture.h - a lone node whose partitions were told of sharded keys, by hand, and items in
 * shards.
 *
 * All items have one partition key, and their names as sort keys. */
#pragma once

#include "engine/key_sharding/key_sharding.h"
#include "engine/node/node_internal.h"
#include "engine/transaction/transaction.h"
#include "tests/support/lone_node.h"

enum {
    SHARDS = 8,  /* of the key, in most tests */
    VERSION = 5, /* of the registry */
    OLD = 10     /* a version of an item */
};

struct shards_fixture {
    struct lone_node w;
    uint32_t updates;              /* words so far */
    uint64_t key_sharding_version; /* the version of the next requests */
    struct buffer key;             /* owns; of shards_key */
    struct buffer indexes;
    struct buffer globals;
    struct index all[1]; /* of the table */
    struct index_set set;
};

/* Without a table, whose indexes may be set then. */
void shards_init(struct shards_fixture *s);
/* With a table of one partition. */
void shards_open(struct shards_fixture *s);
void shards_close(struct shards_fixture *s);
/* Lets time pass, and writes what is to be written. */
void shards_pass(struct shards_fixture *s, int64_t ms);
/* The answer, after some time. shards_send: to this request. */
enum reply_code shards_finish(struct shards_fixture *s);
enum reply_code shards_send(struct shards_fixture *s, const struct request *r);
/* The catalog tells the partition of sharded keys, by hand: its own table has none. */
void shards_update(struct shards_fixture *s, uint32_t partition, uint64_t key_sharding_version);
/* The same, until it is done. */
void shards_notify_applied(struct shards_fixture *s, uint32_t partition,
                           uint64_t key_sharding_version);
/* The storage key of the item in a shard. Lends until the next call. */
struct slice shards_key(struct shards_fixture *s, uint32_t name, uint32_t shard);
/* Its owner shard, by so many. */
uint32_t shards_owner(struct shards_fixture *s, uint32_t name, uint32_t shards);
/* A name whose owner shard is elsewhere if there are so many shards. */
uint32_t shards_mover(struct shards_fixture *s, uint32_t shards);
struct request shards_request(struct shards_fixture *s, enum request_op op, struct slice key);
enum reply_code shards_put(struct shards_fixture *s, uint32_t name, uint32_t shard,
                           uint32_t version);
/* The version of the item there. 0: none. */
uint32_t shards_get(struct shards_fixture *s, uint32_t name, uint32_t shard);
/* At how many places the item is. */
uint32_t shards_places(struct shards_fixture *s, uint32_t name);
/* REQUEST_KEY_SHARD_MOVE of the item from that shard. */
struct request shards_moving(struct shards_fixture *s, uint32_t name, uint32_t shard,
                             uint32_t shards);
enum reply_code shards_move(struct shards_fixture *s, uint32_t name, uint32_t shard,
                            uint32_t shards);
/* As callers do: again until it is done. */
void shards_move_surely(struct shards_fixture *s, uint32_t name, uint32_t shard, uint32_t shards);
/* Cuts the table's partition where the hashes have their middle. */
void shards_split(struct shards_fixture *s);
/* Whether the shard lies in the upper half of the hashes. */
bool shards_is_upper(struct shards_fixture *s, uint32_t shard);
/* An item in shard 0 whose owner shard is in the other partition, or in the same one. */
uint32_t shards_mover_to(struct shards_fixture *s, bool other);
/* Gives the table that is made next an index by `v`. */
void shards_index_by_version(struct shards_fixture *s, bool local);

/* A part of another transaction, which is its anchor. */
struct shards_part {
    uint8_t token[TRANSACTION_TOKEN_SIZE];
    struct buffer anchor, bytes;
    struct transaction_part part;
};

/* The request that locks the item in this shard, and puts version OLD. It lends until the part
 * goes. */
struct request shards_part_request(struct shards_fixture *s, struct shards_part *t, uint32_t name,
                                   uint32_t shard);
/* The request that decides. */
struct request shards_part_decide(struct shards_fixture *s, const struct shards_part *t);
void shards_part_deinit(struct shards_part *t);
