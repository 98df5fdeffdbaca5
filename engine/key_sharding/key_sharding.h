/* key_sharding.h - sharded keys: hot partition keys whose items are spread over shards.
 *
 * A shard is a place, not a part of an item. Shard 0 of a partition key is where its items always
 * were. Shard i has the same storage keys, but for their hash, to which i times KEY_SHARD_STEP is
 * added:
 *
 *   table id | xxh3-64 of the partition key + i * KEY_SHARD_STEP | partition key | sort key
 *
 * So shards lie far apart, a storage key tells its shard, and each shard is a run of keys that can
 * be split and moved like any other.
 *
 * An item's owner shard is one of `shards` shards, by jump hashing of the bytes of its sort key.
 * When there are more shards, an item stays or goes to a new shard; none goes from one old shard to
 * another.
 *
 * The registry of a table lists its sharded keys. Each change has the table's next version. A key
 * whose number of shards has changed keeps the former numbers until all items are at their new
 * owner shards:
 *
 *   KEYSHARD-1  A key's item is at one place at a time: in its owner shard, or in its owner shard
 *               by one of the former numbers (`before`).
 *   KEYSHARD-2  It goes to its owner shard by one transaction, never back.
 *   KEYSHARD-3  Before it is written in its owner shard, it has left each previous owner; and
 *               nothing is written there after the partition was told of the change.
 *
 * Counters (`counter`): an item has a cell in each shard, an item with the same key, and is their
 * sum (router/core/counters.h). Cells have no owner shard, and stay where they are. Only
 * when a counter shrinks, a cell that is given up is added to cell 0, by one transaction.
 *
 * Sources: J. Lamping and E. Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014 (jump
 * hashing); docs/decisions/0038. */
#pragma once

#include "base/arena.h"
#include "base/codec.h"
#include "engine/item/storage_key.h"

enum {
    KEY_SHARDS_MAX = 128,              /* of a key */
    KEY_SHARDS_BEFORE_MAX = 8,         /* former numbers that a key keeps */
    KEY_SHARDING_SIZE_MAX = 256 * 1024 /* of a table's registry, encoded */
};

/* The odd number next to 2^64 divided by the golden ratio: multiples of it fill a circle evenly. */
#define KEY_SHARD_STEP UINT64_C(0x9E3779B97F4A7C15)

/* What the table's tag weir:key-sharding asks for. */
enum key_sharding_mode {
    KEY_SHARDING_OFF = 0, /* no tag: no further key is sharded */
    KEY_SHARDING_AUTO,    /* as many shards as the key's rate needs */
    KEY_SHARDING_FIXED,   /* a hot key gets so many shards */
    KEY_SHARDING_COUNTER  /* a hot key's items are counters */
};

/* What the value of the tag asks for. `fixed`: the number of shards. False: the value is none of
 * "auto", "counter", "off", and no number from 2 to KEY_SHARDS_MAX. */
bool key_sharding_mode_parse(struct slice value, enum key_sharding_mode *mode, uint32_t *fixed);

struct sharded_key {
    uint64_t hash;    /* of the partition key: storage keys of shard 0 have it */
    struct slice key; /* the partition key as in storage keys: escaped and terminated */
    uint64_t version; /* of the registry when its number of shards changed last */
    bool counter;     /* its items are counters: each has a cell in every shard */
    uint32_t shards;  /* by which owner shards are chosen */
    uint32_t before_count;
    /* The former numbers of shards, oldest first: all items were in their owner shards by one of
     * them. Either all are smaller than the next one, or there is one that is larger than `shards`:
     * the key shrinks. */
    uint32_t before[KEY_SHARDS_BEFORE_MAX];
    /* The most shards that it has had of late. A client's token for a transaction is known where
     * the first item was in its owner shard, so that is asked for at all owner shards by up to so
     * many shards. */
    uint32_t widest;
    /* The version at which all items were known to be in their owner shards, after they had moved;
     * 0: they never had to. A replica that was told of it has the items that came to it. */
    uint64_t placed_version;
    /* It has had fewer shards of late: a counter's token may be known in any cell that it chose by
     * up to `widest` cells. */
    bool shrank;
};

/* The registry of a table. */
struct key_sharding {
    uint64_t version; /* of the last change; 0: no key was ever sharded */
    uint32_t count;
    const struct sharded_key *keys; /* in the order of the storage keys of their shards 0 */
};

void key_sharding_encode(struct buffer *out, const struct key_sharding *s);
/* Slices borrow from `bytes`; the rest comes from the arena. No bytes: `*out` is NULL. */
enum status key_sharding_decode(struct slice bytes, struct arena *arena,
                                const struct key_sharding **out);

/* ---- places ---- */

/* The shard that jump hashing chooses of so many. */
uint32_t key_shard_jump(uint64_t hash, uint32_t shards);

/* The hash that storage keys of shard 0 would have. The key must be long enough to have a partition
 * key; a key that is cut off within it gives the hash of what is there. */
uint64_t key_shard_bare_hash(struct slice storage_key);
/* The shard of a whole storage key. A key that is none's, whose hash is wrong, gives UINT64_MAX. */
uint64_t key_shard_of(struct slice storage_key);
/* The shard of so many that is the owner shard of the item with this whole storage key. */
uint32_t key_shard_owner(struct slice storage_key, uint32_t shards);
/* Whether the item may stay in its shard, if there are so many. `cell`: it is a counter's. */
bool key_shard_stays(struct slice storage_key, uint32_t shards, bool cell);
/* Writes the hash of the shard into a storage key whose partition key has `bare` as its hash. */
void key_shard_put(uint8_t *storage_key, uint64_t bare, uint32_t shard);

/* ---- sharded keys ---- */

/* The sharded key that an item belongs to, whatever shard the storage key names. NULL: the item's
 * partition key is not sharded, or `s` is NULL. */
const struct sharded_key *key_sharding_find(const struct key_sharding *s, struct slice storage_key);
/* The first sharded key whose shard 0 ends after the storage key `from`, which names a place as if
 * no key were sharded. NULL: none. */
const struct sharded_key *key_sharding_from(const struct key_sharding *s, struct slice from);

/* The item's owner shard if the key has so many shards. */
uint32_t sharded_key_owner_by(const struct sharded_key *k, struct slice storage_key,
                              uint32_t shards);
static inline uint32_t sharded_key_owner(const struct sharded_key *k, struct slice storage_key)
{
    return sharded_key_owner_by(k, storage_key, k->shards);
}
/* The version that a partition must have been told before it serves a request about the key.
 * `eventual`: a read by any replica. */
static inline uint64_t sharded_key_min_version(const struct sharded_key *k, bool eventual)
{
    return eventual && k->placed_version > k->version ? k->placed_version : k->version;
}
/* The places where the item may still be, other than its owner shard, oldest first, each once.
 * Returns how many. A counter's cells stay where they are: none. */
uint32_t sharded_key_previous_owners(const struct sharded_key *k, struct slice storage_key,
                                     uint32_t out[KEY_SHARDS_BEFORE_MAX]);
/* The other owner shards that the item has had of late, each once. Returns how many. */
uint32_t sharded_key_recent_owners(const struct sharded_key *k, struct slice storage_key,
                                   uint32_t out[KEY_SHARDS_MAX]);
/* Whether it had more shards of late than it has now, or may still have items in. */
static inline bool sharded_key_was_wider(const struct sharded_key *k)
{
    return k->before_count == 0 && k->widest > k->shards;
}
/* Whether it gives up shards, which are not all empty yet. */
static inline bool sharded_key_shrinks(const struct sharded_key *k)
{
    return k->before_count > 0 && k->before[0] > k->shards;
}
/* Whether its items are in cells: each is the sum of several. */
static inline bool sharded_key_has_cells(const struct sharded_key *k)
{
    return k->counter && (k->shards > 1 || k->before_count > 0);
}
/* Items may be in the shards below this number. */
uint32_t sharded_key_extent(const struct sharded_key *k);
/* Whether not all items are known to be in their owner shards. */
static inline bool sharded_key_moves(const struct sharded_key *k)
{
    return k->before_count > 0;
}
/* When shards are read one after the other, items may move on meanwhile. So what is read of a shard
 * must have been read before of each shard with a lower rank. Equal ranks: any order. */
uint32_t sharded_key_rank(const struct sharded_key *k, uint32_t shard);

/* Appends the bytes that all storage keys of the shard begin with. */
void sharded_key_append_prefix(struct buffer *out, const struct sharded_key *k, uint32_t table_id,
                               uint32_t shard);
