/* shards_test.c - sharded keys at a node, one step at a time: who is refused, and what a range of
 * one shard has. */
#include "tests/check.h"

#include "engine/item/storage_key.h"
#include "engine/message/move_messages.h"
#include "tests/support/shards_fixture.h"

/* ---- the fence ---- */

static void assert_fenced(struct shards_fixture *s, uint32_t name, uint32_t shard,
                          enum reply_code code)
{
    static const enum request_op OPS[] = {
        REQUEST_GET,       REQUEST_RANGE,         REQUEST_PUT,      REQUEST_DELETE,
        REQUEST_UPDATE,    REQUEST_CHECK,         REQUEST_TRANSACT, REQUEST_TRANSACT_ADMIT,
        REQUEST_UNCHANGED, REQUEST_KEY_SHARD_MOVE};
    for (size_t i = 0; i < COUNT_OF(OPS); i++) {
        const struct slice key = shards_key(s, name, shard);
        struct request r = shards_request(s, OPS[i], key);
        if (OPS[i] == REQUEST_RANGE)
            r.range.lo = key;
        else if (OPS[i] == REQUEST_KEY_SHARD_MOVE)
            request_edit_move(&r)->shards = 2;
        if (OPS[i] != REQUEST_RANGE)
            r.write.key = key; /* each has its key first */
        assert_int_equal(shards_send(s, &r), code);
    }
}

TEST(who_knows_an_older_version_is_refused_and_a_newer_one_waits)
{
    struct shards_fixture s;
    (void)state;
    shards_open(&s);
    s.key_sharding_version = 0;
    assert_int_equal(shards_put(&s, 1, 0, OLD), REPLY_OK);
    s.key_sharding_version = VERSION;
    struct request r = shards_request(&s, REQUEST_GET, shards_key(&s, 1, 0));
    r.get.key = buffer_slice(&s.key);
    assert_int_equal(shards_send(&s, &r), REPLY_OK); /* the key is not sharded */
    r.sharded_key_version = VERSION;
    assert_int_equal(shards_send(&s, &r), REPLY_OVERLOADED);
    shards_notify_applied(&s, 0, VERSION);
    assert_int_equal(shards_send(&s, &r), REPLY_OK);
    r.sharded_key_version = VERSION + 1;
    r.key_sharding_version = VERSION + 1;
    assert_int_equal(shards_send(&s, &r), REPLY_OVERLOADED);
    s.key_sharding_version = VERSION - 1;
    assert_fenced(&s, 1, 0, REPLY_STALE_MAP);
    s.key_sharding_version = VERSION;
    assert_int_equal(shards_get(&s, 1, 0), OLD);
    shards_notify_applied(&s, 0, VERSION - 2); /* it never goes back */
    s.key_sharding_version = VERSION - 1;
    assert_fenced(&s, 1, 0, REPLY_STALE_MAP);
    shards_close(&s);
}

TEST(the_fence_outlives_a_crash_and_a_checkpoint)
{
    struct shards_fixture s;
    (void)state;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    for (int i = 0; i < 2; i++) {
        lone_crash(&s.w);
        shards_pass(&s, 100);
        s.key_sharding_version = VERSION - 1;
        assert_fenced(&s, 1, 0, REPLY_STALE_MAP);
        s.key_sharding_version = VERSION;
        assert_int_equal(shards_put(&s, 1, 0, OLD), REPLY_OK);
        lone_checkpoint_all(&s.w);
    }
    shards_close(&s);
}

TEST(both_sides_of_a_split_have_the_fence)
{
    struct shards_fixture s;
    (void)state;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    shards_split(&s);
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        s.key_sharding_version = VERSION - 1;
        assert_fenced(&s, 1, shard, REPLY_STALE_MAP);
        s.key_sharding_version = VERSION;
        assert_int_equal(shards_put(&s, 1, shard, OLD), REPLY_OK);
    }
    shards_close(&s);
}

static struct frozen scene_merge_step(struct shards_fixture *s, struct partition_info p)
{
    struct buffer body = {0};
    partition_info_encode(&body, &p);
    const struct request r = {
        .op = REQUEST_PARTITION_MERGE, .partition = p.id, .group.info = buffer_slice(&body)};
    assert_int_equal(shards_send(s, &r), REPLY_OK);
    buffer_deinit(&body);
    return lone_answer(&s->w)->frozen;
}

TEST(a_merge_keeps_the_newer_version)
{
    struct shards_fixture s;
    (void)state;
    shards_open(&s);
    shards_split(&s);
    shards_notify_applied(&s, 1, VERSION); /* the upper one */
    struct partition_info upper = s.w.table.partitions[1], lower = s.w.table.partitions[0];
    upper.merge = MERGE_FREEZE;
    upper.merge_with = lower.id;
    const struct frozen frozen = scene_merge_step(&s, upper);
    lower.epoch++;
    lower.hi = upper.hi;
    lower.merge = MERGE_ABSORB;
    lower.merge_with = upper.id;
    lower.frozen_index = frozen.index;
    lower.frozen_term = frozen.term;
    scene_merge_step(&s, lower);
    s.w.table.partitions[0].epoch++;
    s.w.table.partitions[0].hi = upper.hi;
    s.w.table.partition_count = 1;
    s.key_sharding_version = VERSION - 1;
    assert_fenced(&s, 1, 0, REPLY_STALE_MAP);
    lone_crash(&s.w);
    shards_pass(&s, 100);
    assert_fenced(&s, 1, 0, REPLY_STALE_MAP);
    shards_close(&s);
}

/* ---- ranges of one shard ---- */

static struct request scene_range(struct shards_fixture *s, uint32_t shard, bool reverse)
{
    struct request r = shards_request(s, REQUEST_RANGE, s->w.table.partitions[0].lo);
    r.range.lo = s->w.table.partitions[0].lo;
    r.range.consistent = true;
    r.range.reverse = reverse;
    r.range.bytes_max = UINT32_MAX;
    r.range.shard = shard;
    return r;
}

/* Reads all items, as routers do. How many requests that took. */
static uint32_t scene_read(struct shards_fixture *s, struct request r, uint32_t *items)
{
    struct buffer past = {0};
    uint32_t requests = 0;
    bool more;
    *items = 0;
    do {
        assert_int_equal(shards_send(s, &r), REPLY_OK);
        const struct answer *a = lone_answer(&s->w);
        *items += a->count;
        more = a->more;
        assert_true(++requests < 1000);
        buffer_set(&past, buffer_slice(&a->last));
        if (!r.range.reverse)
            buffer_append_u8(&past, 0);
        *(r.range.reverse ? &r.range.hi : &r.range.lo) = buffer_slice(&past);
    } while (more);
    buffer_deinit(&past);
    return requests;
}

TEST(a_range_has_the_items_of_one_shard)
{
    struct shards_fixture s;
    uint32_t items;
    (void)state;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    for (uint32_t name = 0; name < 60; name++) {
        s.w.collections = 3;
        assert_int_equal(shards_put(&s, name, name % 4, OLD), REPLY_OK);
    }
    for (int reverse = 0; reverse < 2; reverse++) {
        for (uint32_t shard = 0; shard < 5; shard++) {
            struct request r = scene_range(&s, shard, reverse);
            assert_int_equal(scene_read(&s, r, &items), 1);
            assert_int_equal(items, shard < 4 ? 15 : 0);
            assert_int_equal(lone_answer(&s.w)->scanned, items);
            r.range.items_max = 4;
            assert_int_equal(scene_read(&s, r, &items), shard < 4 ? 4 : 1);
            assert_int_equal(items, shard < 4 ? 15 : 0);
            r.key_sharding_version = 0; /* only here: the fence refuses it */
            assert_int_equal(shards_send(&s, &r), REPLY_STALE_MAP);
        }
    }
    const int64_t cost = lone_answer(&s.w)->consumed_mcu;
    assert_int_equal(cost, 0);
    shards_close(&s);
}

/* As many collections of another shard as a request may not skip. */
TEST(a_range_goes_on_behind_many_items_of_other_shards)
{
    enum {
        KEYS = 150
    };
    struct shards_fixture s;
    uint32_t items;
    (void)state;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    s.w.collections = KEYS;
    for (uint32_t name = 0; name < KEYS; name++)
        assert_int_equal(shards_put(&s, name, 3, OLD), REPLY_OK);
    s.w.collections = 1;
    for (uint32_t name = 0; name < 5; name++)
        assert_int_equal(shards_put(&s, 1000 + name, 1, OLD), REPLY_OK);
    for (int reverse = 0; reverse < 2; reverse++) {
        const struct request r = scene_range(&s, 1, reverse);
        assert_in_range(scene_read(&s, r, &items), 3, 5);
        assert_int_equal(items, 5);
        const struct request all = scene_range(&s, 3, reverse);
        assert_int_equal(scene_read(&s, all, &items), 1);
        assert_int_equal(items, KEYS);
    }
    shards_close(&s);
}

/* LOCAL-1 */
TEST(rows_of_a_local_index_are_in_the_shards_of_their_items)
{
    struct shards_fixture s;
    uint32_t items;
    (void)state;
    shards_init(&s);
    shards_index_by_version(&s, true);
    lone_open_table(&s.w, 100, 100);
    shards_notify_applied(&s, 0, VERSION);
    for (uint32_t name = 0; name < 40; name++)
        assert_int_equal(shards_put(&s, name, name % 2, 1 + name), REPLY_OK);
    for (int reverse = 0; reverse < 2; reverse++) {
        struct request r = scene_range(&s, 1, reverse);
        r.range.index = 1;
        assert_int_equal(scene_read(&s, r, &items), 1);
        assert_int_equal(items, 20);
    }
    const uint32_t name = shards_mover(&s, 2) & ~1U; /* in shard 0 */
    const uint32_t even = shards_owner(&s, name, 2) == 1 ? name : 0;
    uint32_t mover = even;
    while (shards_owner(&s, mover, 2) != 1)
        mover += 2;
    shards_move_surely(&s, mover, 0, 2);
    shards_pass(&s, 100);
    struct request r = scene_range(&s, 1, false);
    r.range.index = 1;
    scene_read(&s, r, &items);
    assert_int_equal(items, 21);
    r.range.shard = 0;
    scene_read(&s, r, &items);
    assert_int_equal(items, 19);
    lone_assert_verified(&s.w, 40);
    shards_close(&s);
}

/* Behind each skip the pages were not touched: then the next request goes on. */
TEST(a_range_of_cold_items_goes_on_behind_each_skip)
{
    enum {
        KEYS = 12
    };
    struct shards_fixture s;
    uint32_t items;
    (void)state;
    shards_init(&s);
    s.w.resident_max = 1;
    lone_open_table(&s.w, 100, 100);
    shards_notify_applied(&s, 0, VERSION);
    for (uint32_t name = 0; name < KEYS; name++) {
        s.w.collections = KEYS;
        assert_int_equal(shards_put(&s, name, name % 2, OLD), REPLY_OK);
    }
    lone_checkpoint_all(&s.w);
    for (int reverse = 0; reverse < 2; reverse++) {
        const struct request r = scene_range(&s, 1, reverse);
        assert_in_range(scene_read(&s, r, &items), 2, 2 * KEYS);
        assert_int_equal(items, KEYS / 2);
    }
    shards_close(&s);
}

/* Its item is in no store yet: a piece that did not wait would pass it. KEYSHARD-3 */
TEST(a_piece_waits_for_writes_from_before_the_fence)
{
    struct shards_fixture s;
    struct buffer from = {0}, hi = {0};
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION - 1);
    s.key_sharding_version = VERSION - 1;
    const uint32_t name = shards_mover(&s, SHARDS);
    shards_update(&s, 0, VERSION);
    assert_true(lone_write_begin(&s.w));
    const struct slice key = shards_key(&s, name, 0);
    struct request put = shards_request(&s, REQUEST_PUT, key);
    put.write.key = key;
    put.write.item = lone_item(&s.w, OLD, 10);
    lone_send(&s.w, &put);
    lone_write_end(&s.w, 0); /* the fence */
    s.key_sharding_version = VERSION;
    buffer_set(&from, slice_make(key.data, storage_key_collection_size(key)));
    buffer_set(&hi, buffer_slice(&from));
    storage_key_successor(&hi);
    struct request r = shards_request(&s, REQUEST_KEY_SHARD_MOVE, buffer_slice(&from));
    *request_edit_move(&r) = (struct request_move){
        .key = buffer_slice(&from), .hi = buffer_slice(&hi), .shards = SHARDS};
    r.sharded_key_version = VERSION;
    lone_send(&s.w, &r);
    assert_int_equal(s.w.answer_count, 0);
    lone_write_all(&s.w);
    buffer_deinit(&from);
    buffer_deinit(&hi);
    shards_close(&s);
}
