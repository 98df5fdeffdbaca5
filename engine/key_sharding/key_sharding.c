/* key_sharding.c - shards, owner shards, and the bytes of a table's registry. */
#include "engine/key_sharding/key_sharding.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    HASH_AT = STORAGE_KEY_TABLE_SIZE,
    KEY_AT = STORAGE_KEY_TABLE_SIZE + STORAGE_KEY_HASH_SIZE
};

/* The number by which KEY_SHARD_STEP is multiplied to 1, modulo 2^64. */
#define KEY_SHARD_STEP_INVERSE UINT64_C(0xF1DE83E19937733D)

_Static_assert(KEY_SHARD_STEP *KEY_SHARD_STEP_INVERSE == 1, "the inverse is one");

/* ---- the tag ---- */

bool key_sharding_mode_parse(struct slice value, enum key_sharding_mode *mode, uint32_t *fixed)
{
    uint32_t number = 0;
    *fixed = 0;
    *mode = KEY_SHARDING_FIXED;
    if (slice_is(value, "off"))
        *mode = KEY_SHARDING_OFF;
    else if (slice_is(value, "auto"))
        *mode = KEY_SHARDING_AUTO;
    else if (slice_is(value, "counter"))
        *mode = KEY_SHARDING_COUNTER;
    if (*mode != KEY_SHARDING_FIXED)
        return true;
    if (value.size == 0 || value.size > 3)
        return false;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return false;
        number = 10 * number + (value.data[i] - '0');
    }
    *fixed = number;
    return number >= 2 && number <= KEY_SHARDS_MAX;
}

/* ---- bytes ---- */

static void sharded_key_walk(struct codec *c, struct sharded_key *k)
{
    codec_sized(c, &k->key, STORAGE_KEY_SIZE_MAX);
    codec_u64(c, &k->hash);
    codec_u64(c, &k->version);
    codec_bool(c, &k->counter);
    codec_count(c, &k->shards, 1, KEY_SHARDS_MAX);
    codec_count(c, &k->before_count, 0, KEY_SHARDS_BEFORE_MAX);
    for (uint32_t i = 0; i < k->before_count && !codec_failed(c); i++)
        codec_count(c, &k->before[i], 1, KEY_SHARDS_MAX);
    codec_count(c, &k->widest, 1, KEY_SHARDS_MAX);
    codec_u64(c, &k->placed_version);
    codec_bool(c, &k->shrank);
}

/* Whether all former numbers lie below the next one, or the key shrinks. */
static bool sharded_key_numbers_are_valid(const struct sharded_key *k)
{
    if (k->before_count == 1 && k->before[0] > k->shards)
        return true;
    for (uint32_t i = 0; i < k->before_count; i++) {
        const uint32_t next = i + 1 < k->before_count ? k->before[i + 1] : k->shards;
        if (k->before[i] >= next)
            return false;
    }
    return k->shards > 1 || k->before_count > 0 || k->widest > 1;
}

static int sharded_key_compare(const struct sharded_key *k, uint64_t hash, struct slice key)
{
    if (k->hash != hash)
        return k->hash < hash ? -1 : 1;
    return slice_compare(k->key, key);
}

static bool sharded_key_is_valid(const struct sharded_key *k)
{
    const struct slice key = k->key;
    return key.size > 2 && storage_key_part_size(key, 0) == key.size &&
           sharded_key_numbers_are_valid(k) && k->widest >= sharded_key_extent(k);
}

void key_sharding_encode(struct buffer *out, const struct key_sharding *s)
{
    struct codec c = {.out = out};
    uint64_t version = s->version;
    uint32_t count = s->count;
    codec_u64(&c, &version);
    codec_u32(&c, &count);
    for (uint32_t i = 0; i < s->count; i++) {
        struct sharded_key k = s->keys[i];
        k.widest = MAX(k.widest, sharded_key_extent(&k));
        sharded_key_walk(&c, &k);
    }
}

enum {
    SHARDED_KEY_SIZE_MIN = 36
};

enum status key_sharding_decode(struct slice bytes, struct arena *arena,
                                const struct key_sharding **out)
{
    struct codec c = {.in = &(struct reader){bytes, false}};
    *out = NULL;
    if (bytes.size == 0)
        return STATUS_OK;
    struct key_sharding *s = arena_zalloc(arena, sizeof *s);
    codec_u64(&c, &s->version);
    codec_u32(&c, &s->count);
    if (codec_failed(&c) || bytes.size > KEY_SHARDING_SIZE_MAX || s->version == 0 ||
        s->count > c.in->left.size / SHARDED_KEY_SIZE_MIN)
        return STATUS_MALFORMED;
    struct sharded_key *keys = arena_zalloc(arena, s->count * sizeof *keys);
    s->keys = keys;
    for (uint32_t i = 0; i < s->count; i++) {
        sharded_key_walk(&c, &keys[i]);
        codec_check(
            &c, sharded_key_is_valid(&keys[i]) && keys[i].version <= s->version &&
                    keys[i].placed_version <= s->version &&
                    (i == 0 || sharded_key_compare(&keys[i - 1], keys[i].hash, keys[i].key) < 0));
        if (codec_failed(&c))
            return STATUS_MALFORMED;
    }
    *out = s;
    return codec_end(&c);
}

/* ---- places ---- */

/* A fixed-point form of the published loop: the quotient of 2^31 and the upper bits is exact in 64
 * bits, where the original uses a double. */
uint32_t key_shard_jump(uint64_t hash, uint32_t shards)
{
    uint64_t shard = 0, next = 0;
    while (next < shards) {
        shard = next;
        hash = hash * UINT64_C(2862933555777941757) + 1;
        next = ((shard + 1) << 31) / ((hash >> 33) + 1);
    }
    return (uint32_t)shard;
}

/* The partition key of a storage key, without its escapes, goes into the hash. */
uint64_t key_shard_bare_hash(struct slice storage_key)
{
    must(storage_key.size >= KEY_AT);
    const uint8_t *from = storage_key.data + KEY_AT;
    const size_t left = storage_key.size - KEY_AT;
    const uint8_t *zero = memchr(from, 0, left);
    const size_t run = zero == NULL ? left : (size_t)(zero - from);
    if (zero == NULL || run + 1 >= left || zero[1] == 1)
        return XXH3_64bits(from, run);
    struct buffer out = {0};
    struct slice rest = slice_make(from, left);
    storage_key_next_part(&rest, &out);
    const uint64_t hash = XXH3_64bits(out.data, out.size);
    buffer_deinit(&out);
    return hash;
}

static uint64_t key_shard_hash_in(struct slice storage_key)
{
    return be64_get(storage_key.data + HASH_AT);
}

uint64_t key_shard_of(struct slice storage_key)
{
    const uint64_t far = key_shard_hash_in(storage_key) - key_shard_bare_hash(storage_key);
    const uint64_t shard = far * KEY_SHARD_STEP_INVERSE;
    return shard < KEY_SHARDS_MAX ? shard : UINT64_MAX;
}

uint32_t key_shard_owner(struct slice storage_key, uint32_t shards)
{
    const size_t at = storage_key_collection_size(storage_key);
    return key_shard_jump(XXH3_64bits(storage_key.data + at, storage_key.size - at), shards);
}

bool key_shard_stays(struct slice storage_key, uint32_t shards, bool cell)
{
    const uint64_t shard = key_shard_of(storage_key);
    return cell ? shard < shards : key_shard_owner(storage_key, shards) == shard;
}

void key_shard_put(uint8_t *storage_key, uint64_t bare, uint32_t shard)
{
    be64_put(storage_key + HASH_AT, bare + shard * KEY_SHARD_STEP);
}

/* ---- sharded keys ---- */

/* The place of the first key that is not before `hash` and `key`. */
static uint32_t key_sharding_place(const struct key_sharding *s, uint64_t hash, struct slice key)
{
    uint32_t lo = 0, hi = s->count;
    LOWER_BOUND(lo, hi, middle, sharded_key_compare(&s->keys[middle], hash, key) < 0);
    return lo;
}

const struct sharded_key *key_sharding_find(const struct key_sharding *s, struct slice storage_key)
{
    if (s == NULL || s->count == 0)
        return NULL;
    const size_t size = storage_key_collection_size(storage_key);
    must(size >= KEY_AT);
    const struct slice key = slice_make(storage_key.data + KEY_AT, size - KEY_AT);
    const uint64_t hash = key_shard_bare_hash(storage_key);
    const uint32_t at = key_sharding_place(s, hash, key);
    return at < s->count && sharded_key_compare(&s->keys[at], hash, key) == 0 ? &s->keys[at] : NULL;
}

const struct sharded_key *key_sharding_from(const struct key_sharding *s, struct slice from)
{
    if (s == NULL || s->count == 0)
        return NULL;
    struct slice key = {NULL, 0};
    uint8_t padded[STORAGE_KEY_HASH_SIZE] = {0}; /* a bound may be shorter: as if zeros followed */
    if (from.size > HASH_AT)
        memcpy(padded, from.data + HASH_AT,
               from.size < KEY_AT ? from.size - HASH_AT : STORAGE_KEY_HASH_SIZE);
    const uint64_t hash = be64_get(padded);
    if (from.size > KEY_AT)
        key = slice_make(from.data + KEY_AT, from.size - KEY_AT);
    uint32_t at = key_sharding_place(s, hash, key);
    /* The key before may still be the one in which `from` lies. */
    if (at > 0 && s->keys[at - 1].hash == hash && slice_starts_with(key, s->keys[at - 1].key))
        at--;
    return at < s->count ? &s->keys[at] : NULL;
}

uint32_t sharded_key_owner_by(const struct sharded_key *k, struct slice storage_key,
                              uint32_t shards)
{
    const size_t at = KEY_AT + k->key.size;
    must(storage_key.size >= at);
    return key_shard_jump(XXH3_64bits(storage_key.data + at, storage_key.size - at), shards);
}

uint32_t sharded_key_previous_owners(const struct sharded_key *k, struct slice storage_key,
                                     uint32_t out[KEY_SHARDS_BEFORE_MAX])
{
    const uint32_t owner = sharded_key_owner(k, storage_key);
    uint32_t count = 0;
    for (uint32_t i = 0; i < k->before_count && !k->counter; i++) {
        const uint32_t was = sharded_key_owner_by(k, storage_key, k->before[i]);
        if (was != owner && (count == 0 || out[count - 1] != was))
            out[count++] = was;
    }
    return count;
}

uint32_t sharded_key_recent_owners(const struct sharded_key *k, struct slice storage_key,
                                   uint32_t out[KEY_SHARDS_MAX])
{
    const uint32_t owner = sharded_key_owner(k, storage_key);
    uint32_t count = 0;
    for (uint32_t shards = 1; shards <= k->widest && !k->counter; shards++) {
        const uint32_t was = sharded_key_owner_by(k, storage_key, shards);
        if (was != owner && (count == 0 || out[count - 1] != was))
            out[count++] = was;
    }
    return count;
}

uint32_t sharded_key_extent(const struct sharded_key *k)
{
    uint32_t max = k->shards;
    for (uint32_t i = 0; i < k->before_count; i++)
        max = MAX(k->before[i], max);
    return max;
}

/* A key that grows: its shards are older by the first number that has them. A key that shrinks:
 * those that it gives up come first. */
uint32_t sharded_key_rank(const struct sharded_key *k, uint32_t shard)
{
    if (k->before_count == 0 || k->counter)
        return 0;
    if (k->before[0] > k->shards)
        return shard < k->shards;
    uint32_t rank = 0;
    while (rank < k->before_count && shard >= k->before[rank])
        rank++;
    return rank;
}

void sharded_key_append_prefix(struct buffer *out, const struct sharded_key *k, uint32_t table_id,
                               uint32_t shard)
{
    storage_key_append_hash(out, table_id, k->hash + shard * KEY_SHARD_STEP);
    buffer_append_slice(out, k->key);
}
