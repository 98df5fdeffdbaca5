/* transaction.h - what is logged and stored of transactions that span partitions.
 *
 * A transaction has an anchor: the storage key of its first item. The partition of the anchor
 * decides. Three kinds of rows lie with the items, under keys in key spaces of their own:
 *
 *   lock    with each item: no other write changes the item, and what it becomes if the transaction
 *           commits
 *   record  with the anchor: what is decided, and which items the transaction has
 *   token   with the anchor: which transaction a client's token belongs to
 *
 * Keys: the item's storage key in the key space | u16 0 | u8 enum transaction_row | 16 bytes: the
 * id of the record's transaction, the token, or zeros. No part of a storage key begins with two
 * zeros, so the rows lie between the item's key and every other key that begins with it, wherever a
 * partition is split. */
#pragma once

#include "base/codec.h"
#include "base/limits.h"

enum {
    SPACE_LOCK_KEYS = 2 + LOCAL_INDEXES_MAX, /* locks and records; the first byte of keys */
    SPACE_TOKEN_KEYS =
        3 + LOCAL_INDEXES_MAX, /* tokens: many more, and needed only when asked for */
    TRANSACTION_SUFFIX_SIZE = 19,
    TRANSACTION_TOKEN_SIZE = 16,
    TOKEN_ROW_SIZE = 128, /* of a token's row in an entry, at most, without the anchor's key */
    TRANSACTION_ITEMS_MAX = 100
};

enum transaction_row {
    ROW_LOCK = 1,
    ROW_RECORD,
    ROW_TOKEN,
};

/* Chosen by a router, or by a node that moves an item (node/key_sharding/key_shard_moves.h), never
 * twice. */
struct transaction_id {
    uint64_t high;
    uint64_t low;
};

static inline bool transaction_same(struct transaction_id a, struct transaction_id b)
{
    return a.high == b.high && a.low == b.low;
}

/* From the 16 bytes of a row's key. */
struct transaction_id transaction_id_of(const uint8_t bytes[16]);

enum transaction_state {
    TRANSACTION_PENDING = 1,
    TRANSACTION_COMMITTED,
    TRANSACTION_ABORTED,
};

/* What a write of a transaction says of it. Slices lend from the bytes. */
struct transaction_part {
    struct transaction_id id;
    struct slice anchor;
    struct slice
        token; /* TRANSACTION_TOKEN_SIZE bytes; empty: none, for an item that moves. The rest is
                           the anchor's */
    uint64_t digest;   /* of what the client asked for with the token */
    struct slice keys; /* of the other items: each u32 size, storage key */
};

enum lock_kind {
    LOCK_CHECK = 1, /* the item must not change, and is not changed */
    LOCK_DELETE,
    LOCK_PUT,
};

struct transaction_lock {
    struct transaction_id id;
    struct slice anchor;
    enum lock_kind kind;
    bool moves;        /* the item goes from shard to shard: WRITE_BY_MOVE */
    struct slice item; /* LOCK_PUT: as it will be */
};

struct transaction_record {
    enum transaction_state state;
    int64_t wall_ms; /* when that was decided */
    struct slice token;
    uint64_t digest;
    struct slice keys; /* of the other items, as in struct transaction_part */
};

struct transaction_token {
    struct transaction_id id;
    enum transaction_state state; /* pending, or committed */
    uint64_t digest;
    int64_t wall_ms;
};

/* Each walks the fields in their order; a reader fails on what cannot be. */
void transaction_part_walk(struct codec *c, struct transaction_part *p);
void transaction_lock_walk(struct codec *c, struct transaction_lock *l);
void transaction_record_walk(struct codec *c, struct transaction_record *r);
void transaction_token_walk(struct codec *c, struct transaction_token *t);

/* Appends the key of a row about the item or the anchor. `name`: 16 bytes; NULL: zeros. */
void transaction_key_append(struct buffer *out, enum transaction_row row, struct slice key,
                            const uint8_t name[TRANSACTION_TOKEN_SIZE]);
void transaction_record_key_append(struct buffer *out, struct slice anchor,
                                   struct transaction_id id);
/* Takes a row's key apart. `key`: the item's, in the row's key space. False: it is no row's key. */
bool transaction_key_split(struct slice row_key, enum transaction_row *row, struct slice *key,
                           const uint8_t **name);
/* Whether a sound row is of a transaction that is not over. Tokens, and records of what was refused
 * before it came, stay for a while. */
bool transaction_row_is_open(struct slice row_key, struct slice value);
/* Whether key and value of a row can be; the value of a row that goes is empty. */
bool transaction_row_is_valid(struct slice row_key, struct slice value);
