/* key_sharding_test.c - shards and owner shards of items, and the bytes of a table's registry of
 * sharded keys. */
#include "tests/check.h"

#include "engine/key_sharding/key_sharding.h"

enum {
    TABLE = 7,
    KEYS = 3,
    SORTS = 2000
};

struct scene {
    struct arena arena;
    struct buffer bytes;
    struct sharded_key keys[KEYS];
    struct key_sharding registry;
    struct buffer key; /* a storage key */
};

/* A storage key in shard 0. */
static struct slice key_of(struct buffer *out, struct slice partition, uint32_t number)
{
    char text[16];
    const int size = snprintf(text, sizeof text, "%u", number);
    const struct attr p = {ATTR_STRING, partition},
                      s = {ATTR_STRING, slice_make(text, (size_t)size)};
    buffer_clear(out);
    storage_key_append(out, TABLE, &p, &s);
    return buffer_slice(out);
}

static struct sharded_key sharded(struct arena *arena, struct slice partition, uint32_t shards)
{
    struct buffer b = {0};
    const struct attr p = {ATTR_STRING, partition};
    storage_key_append_collection(&b, TABLE, &p);
    const struct slice whole = arena_copy(arena, buffer_slice(&b));
    const struct sharded_key k = {
        .hash = storage_key_hash(&p),
        .key = slice_make(whole.data + STORAGE_KEY_BOUND_SIZE, whole.size - STORAGE_KEY_BOUND_SIZE),
        .version = 1,
        .shards = shards};
    buffer_deinit(&b);
    return k;
}

static int by_place(const void *a, const void *b)
{
    const struct sharded_key *x = a, *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Three keys; the one named "a" goes from 2 to 3 to 5 shards. */
static void scene_open(struct scene *s)
{
    *s = (struct scene){0};
    s->keys[0] = sharded(&s->arena, slice_of("a"), 5);
    s->keys[0].before_count = 2;
    s->keys[0].before[0] = 2;
    s->keys[0].before[1] = 3;
    s->keys[0].version = 4;
    s->keys[1] = sharded(&s->arena, slice_of("b"), KEY_SHARDS_MAX);
    s->keys[1].counter = true;
    s->keys[2] = sharded(&s->arena, slice_make("\0x\0", 3), 2);
    qsort(s->keys, KEYS, sizeof s->keys[0], by_place);
    s->registry = (struct key_sharding){.version = 4, .count = KEYS, .keys = s->keys};
}

static void scene_close(struct scene *s)
{
    arena_deinit(&s->arena);
    buffer_deinit(&s->bytes);
    buffer_deinit(&s->key);
}

static const struct sharded_key *scene_a(const struct scene *s)
{
    struct buffer key = {0};
    const struct sharded_key *k = key_sharding_find(&s->registry, key_of(&key, slice_of("a"), 1));
    buffer_deinit(&key);
    return k;
}

/* ---- the tag ---- */

TEST(a_tag_has_a_number_or_names_a_mode)
{
    enum key_sharding_mode mode;
    uint32_t fixed;
    (void)state;
    assert_true(key_sharding_mode_parse(slice_of("off"), &mode, &fixed) &&
                mode == KEY_SHARDING_OFF);
    assert_true(key_sharding_mode_parse(slice_of("auto"), &mode, &fixed) &&
                mode == KEY_SHARDING_AUTO);
    assert_true(key_sharding_mode_parse(slice_of("counter"), &mode, &fixed) &&
                mode == KEY_SHARDING_COUNTER);
    assert_true(key_sharding_mode_parse(slice_of("2"), &mode, &fixed) &&
                mode == KEY_SHARDING_FIXED);
    assert_int_equal(fixed, 2);
    assert_true(key_sharding_mode_parse(slice_of("128"), &mode, &fixed));
    assert_int_equal(fixed, KEY_SHARDS_MAX);
    static const char *const NONE[] = {"", "0", "1", "129", "1000", "-2", "2 ", "2x", "Auto"};
    for (size_t i = 0; i < sizeof NONE / sizeof NONE[0]; i++)
        assert_false(key_sharding_mode_parse(slice_of(NONE[i]), &mode, &fixed));
}

/* ---- bytes ---- */

static enum status scene_decode(struct scene *s, const struct key_sharding **out)
{
    buffer_clear(&s->bytes);
    key_sharding_encode(&s->bytes, &s->registry);
    return key_sharding_decode(buffer_slice(&s->bytes), &s->arena, out);
}

TEST(a_registry_comes_back_from_its_bytes)
{
    struct scene s;
    const struct key_sharding *back;
    (void)state;
    scene_open(&s);
    assert_int_equal(scene_decode(&s, &back), STATUS_OK);
    assert_int_equal(back->version, 4);
    assert_int_equal(back->count, KEYS);
    for (uint32_t i = 0; i < KEYS; i++) {
        const struct sharded_key *a = &s.keys[i], *b = &back->keys[i];
        assert_true(slice_equal(a->key, b->key));
        assert_int_equal(a->hash, b->hash);
        assert_int_equal(a->version, b->version);
        assert_int_equal(a->counter, b->counter);
        assert_int_equal(a->shards, b->shards);
        assert_int_equal(a->before_count, b->before_count);
        assert_memory_equal(a->before, b->before, sizeof a->before);
    }
    for (size_t size = 1; size < s.bytes.size; size++)
        assert_int_equal(key_sharding_decode(slice_make(s.bytes.data, size), &s.arena, &back),
                         STATUS_MALFORMED);
    buffer_append_u8(&s.bytes, 0);
    assert_int_equal(key_sharding_decode(buffer_slice(&s.bytes), &s.arena, &back),
                     STATUS_MALFORMED);
    assert_int_equal(key_sharding_decode(slice_make(NULL, 0), &s.arena, &back), STATUS_OK);
    assert_null(back);
    s.registry.count = 0; /* all keys have left */
    assert_int_equal(scene_decode(&s, &back), STATUS_OK);
    assert_int_equal(back->version, 4);
    scene_close(&s);
}

TEST(what_cannot_be_a_registry_is_refused)
{
    struct scene s;
    const struct key_sharding *back;
    (void)state;
    scene_open(&s);
    struct sharded_key *a = (struct sharded_key *)(uintptr_t)scene_a(&s);
    const struct sharded_key good = *a;
#define REFUSED(change)                                              \
    do {                                                             \
        change;                                                      \
        assert_int_equal(scene_decode(&s, &back), STATUS_MALFORMED); \
        *a = good;                                                   \
    } while (0)
    REFUSED(a->shards = 0);
    REFUSED(a->shards = KEY_SHARDS_MAX + 1);
    REFUSED(a->version = 5); /* newer than the registry */
    REFUSED(a->before[1] = 2);
    REFUSED(a->before[1] = 5); /* no growth */
    REFUSED(a->before[0] = 0);
    REFUSED(a->before_count = 0; a->shards = 1);
    REFUSED(a->key.size--); /* cut off */
#undef REFUSED
    const struct sharded_key first = s.keys[0];
    s.keys[0] = s.keys[1]; /* twice */
    assert_int_equal(scene_decode(&s, &back), STATUS_MALFORMED);
    s.keys[0] = first;
    a->before_count = 1; /* it shrinks */
    a->before[0] = 8;
    a->shards = 1;
    assert_int_equal(scene_decode(&s, &back), STATUS_OK);
    s.registry.version = 0;
    assert_int_equal(scene_decode(&s, &back), STATUS_MALFORMED);
    scene_close(&s);
}

/* ---- places ---- */

TEST(a_storage_key_has_its_shard)
{
    struct buffer key = {0};
    static const struct {
        const char *bytes;
        size_t size;
    } names[] = {{"hot", 3}, {"\0", 1}, {"a\0b\0", 4}, {"\1\377", 2}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        key_of(&key, slice_make(names[i].bytes, names[i].size), 1);
        const uint64_t bare = key_shard_bare_hash(buffer_slice(&key));
        assert_int_equal(bare, storage_key_bound_hash(buffer_slice(&key), 0));
        for (uint32_t shard = 0; shard < KEY_SHARDS_MAX; shard++) {
            key_shard_put(key.data, bare, shard);
            assert_int_equal(key_shard_of(buffer_slice(&key)), shard);
            assert_int_equal(key_shard_bare_hash(buffer_slice(&key)), bare);
        }
        key_shard_put(key.data, bare, KEY_SHARDS_MAX);
        assert_true(key_shard_of(buffer_slice(&key)) == UINT64_MAX);
        key_shard_put(key.data, bare + 1, 3);
        assert_true(key_shard_of(buffer_slice(&key)) == UINT64_MAX);
    }
    buffer_deinit(&key);
}

TEST(more_shards_take_items_from_the_others_evenly)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    const struct sharded_key *a = scene_a(&s);
    static const uint32_t numbers[] = {1, 2, 3, 5, 8, 64, KEY_SHARDS_MAX};
    for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
        uint32_t counts[KEY_SHARDS_MAX] = {0};
        for (uint32_t i = 0; i < SORTS; i++) {
            const struct slice key = key_of(&s.key, slice_of("a"), i);
            const uint32_t owner = sharded_key_owner_by(a, key, numbers[n]);
            assert_true(owner < numbers[n]);
            assert_int_equal(owner, key_shard_owner(key, numbers[n]));
            counts[owner]++;
            for (uint32_t more = numbers[n]; more <= KEY_SHARDS_MAX; more++) {
                const uint32_t next = sharded_key_owner_by(a, key, more);
                assert_true(next == owner || next >= numbers[n]);
            }
        }
        for (uint32_t shard = 0; shard < numbers[n] && numbers[n] <= 8; shard++)
            assert_in_range(counts[shard], SORTS / numbers[n] * 3 / 4, SORTS / numbers[n] * 5 / 4);
    }
    scene_close(&s);
}

/* An item's owner shard does not depend on the shard that the storage key names. */
TEST(an_item_may_be_at_its_former_homes_oldest_first)
{
    struct scene s;
    uint32_t out[KEY_SHARDS_BEFORE_MAX], most = 0;
    (void)state;
    scene_open(&s);
    const struct sharded_key *a = scene_a(&s);
    assert_true(sharded_key_moves(a));
    assert_int_equal(sharded_key_extent(a), 5);
    for (uint32_t i = 0; i < SORTS; i++) {
        struct slice key = key_of(&s.key, slice_of("a"), i);
        const uint32_t owner = sharded_key_owner(a, key);
        const uint32_t was[] = {sharded_key_owner_by(a, key, 2), sharded_key_owner_by(a, key, 3)};
        key_shard_put(s.key.data, a->hash, owner);
        const uint32_t count = sharded_key_previous_owners(a, key, out);
        uint32_t expected = 0;
        for (uint32_t j = 0; j < 2; j++) {
            if (was[j] == owner || (j > 0 && was[j] == was[j - 1]))
                continue;
            assert_true(expected < count);
            assert_int_equal(out[expected++], was[j]);
            assert_true(sharded_key_rank(a, was[j]) < sharded_key_rank(a, owner));
        }
        assert_int_equal(count, expected);
        most = count > most ? count : most;
    }
    assert_int_equal(most, 2);
    struct sharded_key counter = *a;
    counter.counter = true;
    assert_int_equal(sharded_key_previous_owners(&counter, key_of(&s.key, slice_of("a"), 1), out),
                     0);
    scene_close(&s);
}

/* MOVER-4, KEYSHARD-7: a token is asked for wherever it may be known, in the owner shard by the
 * most shards, too. */
TEST(an_item_was_of_late_at_every_home_up_to_the_widest)
{
    struct scene s;
    uint32_t out[KEY_SHARDS_MAX], by_widest = 0;
    scene_open(&s);
    struct sharded_key k = *scene_a(&s);
    k.widest = 9;
    for (uint32_t i = 0; i < SORTS; i++) {
        const struct slice key = key_of(&s.key, slice_of("a"), i);
        const uint32_t owner = sharded_key_owner(&k, key),
                       widest = sharded_key_owner_by(&k, key, k.widest);
        const uint32_t count = sharded_key_recent_owners(&k, key, out);
        for (uint32_t shards = 1; shards <= k.widest; shards++) {
            const uint32_t was = sharded_key_owner_by(&k, key, shards);
            bool has = was == owner;
            for (uint32_t j = 0; j < count; j++)
                has |= out[j] == was;
            assert_true(has);
        }
        by_widest += widest == k.widest - 1; /* at no other owner shard */
    }
    assert_true(by_widest > 0);
    scene_close(&s);
}

TEST(shards_that_items_leave_have_the_lower_rank)
{
    struct sharded_key k = {.shards = 8, .before_count = 2, .before = {2, 4}};
    for (uint32_t shard = 0; shard < 8; shard++)
        assert_int_equal(sharded_key_rank(&k, shard), shard < 2 ? 0 : shard < 4 ? 1 : 2);
    k = (struct sharded_key){.shards = 3, .before_count = 1, .before = {8}};
    assert_int_equal(sharded_key_extent(&k), 8);
    for (uint32_t shard = 0; shard < 8; shard++)
        assert_int_equal(sharded_key_rank(&k, shard), shard < 3);
    k = (struct sharded_key){.shards = 8};
    for (uint32_t shard = 0; shard < 8; shard++)
        assert_int_equal(sharded_key_rank(&k, shard), 0);
}

/* ---- sharded keys ---- */

TEST(a_key_is_found_by_each_of_its_storage_keys)
{
    struct scene s;
    struct buffer prefix = {0};
    (void)state;
    scene_open(&s);
    for (uint32_t shard = 0; shard < 5; shard++) {
        key_of(&s.key, slice_of("a"), shard);
        const uint64_t bare = key_shard_bare_hash(buffer_slice(&s.key));
        key_shard_put(s.key.data, bare, shard);
        const struct sharded_key *k = key_sharding_find(&s.registry, buffer_slice(&s.key));
        assert_ptr_equal(k, scene_a(&s));
        buffer_clear(&prefix);
        sharded_key_append_prefix(&prefix, k, TABLE, shard);
        assert_true(slice_starts_with(buffer_slice(&s.key), buffer_slice(&prefix)));
        assert_int_equal(prefix.size, storage_key_collection_size(buffer_slice(&s.key)));
    }
    assert_non_null(key_sharding_find(&s.registry, key_of(&s.key, slice_make("\0x\0", 3), 1)));
    assert_null(key_sharding_find(&s.registry, key_of(&s.key, slice_of("c"), 1)));
    assert_null(key_sharding_find(&s.registry, key_of(&s.key, slice_of(""), 1)));
    assert_null(key_sharding_find(NULL, key_of(&s.key, slice_of("a"), 1)));
    buffer_deinit(&prefix);
    scene_close(&s);
}

TEST(the_next_key_is_the_first_that_ends_behind_a_place)
{
    struct scene s;
    struct buffer from = {0};
    (void)state;
    scene_open(&s);
    storage_key_append_hash(&from, TABLE, 0);
    for (size_t size = 0; size <= from.size; size++) /* also bounds shorter than a hash */
        assert_ptr_equal(key_sharding_from(&s.registry, slice_make(from.data, size)), &s.keys[0]);
    for (uint32_t i = 0; i < KEYS; i++) {
        const struct sharded_key *k = &s.keys[i], *next = i + 1 < KEYS ? k + 1 : NULL;
        buffer_clear(&from);
        storage_key_append_hash(&from, TABLE, k->hash);
        assert_ptr_equal(key_sharding_from(&s.registry, buffer_slice(&from)), k);
        buffer_append_slice(&from, k->key);
        assert_ptr_equal(key_sharding_from(&s.registry, buffer_slice(&from)), k);
        buffer_append_slice(&from, slice_of("sort"));
        assert_ptr_equal(key_sharding_from(&s.registry, buffer_slice(&from)), k);
        buffer_clear(&from);
        storage_key_append_hash(&from, TABLE, k->hash);
        buffer_append_slice(&from, k->key);
        storage_key_successor(&from);
        assert_ptr_equal(key_sharding_from(&s.registry, buffer_slice(&from)), next);
        buffer_clear(&from);
        storage_key_append_hash(&from, TABLE, k->hash + 1);
        assert_ptr_equal(key_sharding_from(&s.registry, buffer_slice(&from)), next);
        /* The bytes of its hash that are there, as if zeros followed. */
        buffer_clear(&from);
        storage_key_append_hash(&from, TABLE, k->hash);
        assert_ptr_equal(key_sharding_from(&s.registry, slice_make(from.data, from.size - 1)), k);
    }
    assert_null(key_sharding_from(NULL, buffer_slice(&from)));
    buffer_deinit(&from);
    scene_close(&s);
}
