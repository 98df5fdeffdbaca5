/* shards_test.c - salted keys at a node, one step at a time: who is refused, what a range of one shard
 * has, and how items go to their homes. */
#include "tests/check.h"

#include "engine/catalog/catalog.h"
#include "engine/catalog/split.h"
#include "engine/item/storage_key.h"
#include "engine/node/node_internal.h"
#include "engine/sharding/salting.h"
#include "tests/support/lone_node.h"

enum {
    SHARDS = 8,
    VERSION = 5, /* of the registry */
    OLD = 10     /* a version of an item */
};

struct scene {
    struct lone_node w;
    uint32_t told; /* words so far */
    uint64_t salting;
    struct buffer key;
    struct buffer indexes;
    struct buffer globals;
    struct index all[1];
    struct index_set set;
};

/* ---- the scene ---- */

static void scene_init(struct scene *s)
{
    *s = (struct scene){.salting = VERSION};
    lone_init(&s->w, PROFILE_OFF);
    s->w.collections = 1;
}

static void scene_open(struct scene *s)
{
    scene_init(s);
    lone_open_table(&s->w, 100, 100);
}

static void scene_close(struct scene *s)
{
    lone_deinit(&s->w);
    buffer_deinit(&s->key);
    buffer_deinit(&s->indexes);
    buffer_deinit(&s->globals);
}

static void scene_pass(struct scene *s, int64_t ms)
{
    for (int64_t i = 0; i < ms; i++) {
        lone_pass(&s->w, 1);
        lone_write_all(&s->w);
        while (s->w.touch_count > 0)
            lone_touch_end(&s->w, 0);
    }
}

static enum reply_code scene_finish(struct scene *s)
{
    for (int ms = 0; s->w.answer_count == 0; ms++) {
        assert_true(ms < 60000);
        lone_write_all(&s->w);
        if (s->w.answer_count == 0)
            scene_pass(s, 1);
    }
    return lone_answer(&s->w)->code;
}

static enum reply_code scene_ask(struct scene *s, const struct request *r)
{
    struct request copy = *r;
    lone_ask(&s->w, &copy);
    return scene_finish(s);
}

/* The catalog tells the partition of salted keys, by hand: its own table has none. */
static void scene_tell(struct scene *s, uint32_t partition, uint64_t salting)
{
    struct partition_info info =
        partitions_find(&s->w.node->partitions, s->w.table.partitions[partition].id)->info;
    struct buffer word = {0};
    info.salting = salting;
    info.indexes_version = 100 + ++s->told;
    partition_info_encode(&word, &info);
    struct request r = {.op = REQUEST_PARTITION_OPEN,
                        .partition = info.id,
                        .epoch = info.epoch,
                        .replica = {.info = buffer_slice(&word), .as_of = UINT64_MAX / 2}};
    lone_ask(&s->w, &r);
    buffer_deinit(&word);
}

static void scene_salt(struct scene *s, uint32_t partition, uint64_t salting)
{
    scene_tell(s, partition, salting);
    assert_int_equal(lone_answer(&s->w)->code, REPLY_OVERLOADED); /* it is on its way */
    scene_pass(s, 20);
}

/* Lends until the next call. */
static struct slice scene_key(struct scene *s, uint32_t name, uint32_t shard)
{
    lone_key(&s->w, name);
    buffer_set(&s->key, buffer_slice(&s->w.key));
    shard_put(s->key.data, shard_bare_hash(buffer_slice(&s->key)), shard);
    return buffer_slice(&s->key);
}

static uint32_t scene_home(struct scene *s, uint32_t name, uint32_t shards)
{
    return shard_home(scene_key(s, name, 0), shards);
}

/* A name whose home is elsewhere if there are so many shards. */
static uint32_t scene_mover(struct scene *s, uint32_t shards)
{
    uint32_t name = 1;
    while (scene_home(s, name, shards) == 0)
        name++;
    return name;
}

static struct request scene_request(struct scene *s, enum request_op op, struct slice key)
{
    const struct partition_info *p = table_partition_of(&s->w.table, key);
    return (struct request){.op = op, .partition = p->id, .epoch = p->epoch, .salting = s->salting};
}

static enum reply_code scene_put(struct scene *s, uint32_t name, uint32_t shard, uint32_t version)
{
    const struct slice key = scene_key(s, name, shard);
    struct request r = scene_request(s, REQUEST_PUT, key);
    r.write.key = key;
    r.write.item = lone_item(&s->w, version, 10);
    return scene_ask(s, &r);
}

/* The version of the item there. 0: none. */
static uint32_t scene_get(struct scene *s, uint32_t name, uint32_t shard)
{
    const struct slice key = scene_key(s, name, shard);
    struct request r = scene_request(s, REQUEST_GET, key);
    r.get.key = key;
    r.get.consistent = true;
    assert_int_equal(scene_ask(s, &r), REPLY_OK);
    return answer_version(lone_answer(&s->w));
}

/* At how many places the item is. */
static uint32_t scene_places(struct scene *s, uint32_t name)
{
    uint32_t places = 0;
    for (uint32_t shard = 0; shard < SHARDS; shard++)
        places += scene_get(s, name, shard) != 0;
    return places;
}

static struct request scene_moving(struct scene *s, uint32_t name, uint32_t shard, uint32_t shards)
{
    const struct slice key = scene_key(s, name, shard);
    struct request r = scene_request(s, REQUEST_SHARD_MOVE, key);
    r.move.key = key;
    r.move.shards = shards;
    return r;
}

static enum reply_code scene_move(struct scene *s, uint32_t name, uint32_t shard, uint32_t shards)
{
    const struct request r = scene_moving(s, name, shard, shards);
    return scene_ask(s, &r);
}

/* As callers do: again until it is done. */
static void scene_move_surely(struct scene *s, uint32_t name, uint32_t shard, uint32_t shards)
{
    enum reply_code code;
    for (int i = 0; (code = scene_move(s, name, shard, shards)) != REPLY_OK; i++) {
        assert_true(i < 2000);
        assert_true(code == REPLY_OVERLOADED || code == REPLY_LOCKED);
        scene_pass(s, 20);
    }
}

static void scene_split(struct scene *s)
{
    struct buffer body = {0};
    uint8_t cut[12] = {0};
    memcpy(cut, s->w.table.partitions[0].lo.data, 4);
    cut[4] = 0x80;
    struct table_split split = {.table_id = s->w.table.id,
                                .partition = s->w.table.partitions[0].id,
                                .epoch = s->w.table.partitions[0].epoch,
                                .cut_count = 1,
                                .cuts = {slice_make(cut, sizeof cut)}};
    table_split_share_equally(&split);
    table_split_encode(&body, &split);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .cut.split = buffer_slice(&body)};
    lone_ask(&s->w, &r);
    scene_pass(s, 500);
    lone_fetch_table(&s->w);
    assert_int_equal(s->w.table.partition_count, 2);
    buffer_deinit(&body);
}

/* Whether the shard lies in the upper half of the hashes. */
static bool scene_is_upper(struct scene *s, uint32_t shard)
{
    return (scene_key(s, 0, shard).data[4] & 0x80) != 0;
}

/* An item in shard 0 whose home is in the other partition, or in the same one. */
static uint32_t scene_mover_to(struct scene *s, bool other)
{
    const bool upper = scene_is_upper(s, 0);
    for (uint32_t name = 1;; name++) {
        const uint32_t home = scene_home(s, name, SHARDS);
        if (home != 0 && (scene_is_upper(s, home) != upper) == other)
            return name;
    }
}

/* ---- the fence ---- */

static void assert_fenced(struct scene *s, uint32_t name, uint32_t shard, enum reply_code code)
{
    static const enum request_op OPS[] = {
        REQUEST_GET,       REQUEST_RANGE,     REQUEST_PUT,      REQUEST_DELETE,
        REQUEST_UPDATE,    REQUEST_CHECK,     REQUEST_TRANSACT, REQUEST_TRANSACT_ADMIT,
        REQUEST_UNCHANGED, REQUEST_SHARD_MOVE};
    for (size_t i = 0; i < COUNT_OF(OPS); i++) {
        const struct slice key = scene_key(s, name, shard);
        struct request r = scene_request(s, OPS[i], key);
        if (OPS[i] == REQUEST_RANGE)
            r.range.lo = key;
        else if (OPS[i] == REQUEST_SHARD_MOVE)
            r.move.shards = 2;
        if (OPS[i] != REQUEST_RANGE)
            r.write.key = key; /* each has its key first */
        assert_int_equal(scene_ask(s, &r), code);
    }
}

static void who_knows_an_older_version_is_refused_and_a_newer_one_waits(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    s.salting = 0;
    assert_int_equal(scene_put(&s, 1, 0, OLD), REPLY_OK);
    s.salting = VERSION;
    struct request r = scene_request(&s, REQUEST_GET, scene_key(&s, 1, 0));
    r.get.key = buffer_slice(&s.key);
    assert_int_equal(scene_ask(&s, &r), REPLY_OK); /* the key is not salted */
    r.salted = VERSION;
    assert_int_equal(scene_ask(&s, &r), REPLY_OVERLOADED);
    scene_salt(&s, 0, VERSION);
    assert_int_equal(scene_ask(&s, &r), REPLY_OK);
    r.salted = VERSION + 1;
    r.salting = VERSION + 1;
    assert_int_equal(scene_ask(&s, &r), REPLY_OVERLOADED);
    s.salting = VERSION - 1;
    assert_fenced(&s, 1, 0, REPLY_STALE_MAP);
    s.salting = VERSION;
    assert_int_equal(scene_get(&s, 1, 0), OLD);
    scene_salt(&s, 0, VERSION - 2); /* it never goes back */
    s.salting = VERSION - 1;
    assert_fenced(&s, 1, 0, REPLY_STALE_MAP);
    scene_close(&s);
}

static void the_fence_outlives_a_crash_and_a_checkpoint(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_salt(&s, 0, VERSION);
    for (int i = 0; i < 2; i++) {
        lone_crash(&s.w);
        scene_pass(&s, 100);
        s.salting = VERSION - 1;
        assert_fenced(&s, 1, 0, REPLY_STALE_MAP);
        s.salting = VERSION;
        assert_int_equal(scene_put(&s, 1, 0, OLD), REPLY_OK);
        lone_checkpoint_all(&s.w);
    }
    scene_close(&s);
}

static void both_sides_of_a_split_have_the_fence(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_salt(&s, 0, VERSION);
    scene_split(&s);
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        s.salting = VERSION - 1;
        assert_fenced(&s, 1, shard, REPLY_STALE_MAP);
        s.salting = VERSION;
        assert_int_equal(scene_put(&s, 1, shard, OLD), REPLY_OK);
    }
    scene_close(&s);
}

static struct frozen scene_merge_step(struct scene *s, struct partition_info p)
{
    struct buffer body = {0};
    partition_info_encode(&body, &p);
    const struct request r = {
        .op = REQUEST_PARTITION_MERGE, .partition = p.id, .group.info = buffer_slice(&body)};
    assert_int_equal(scene_ask(s, &r), REPLY_OK);
    buffer_deinit(&body);
    return lone_answer(&s->w)->frozen;
}

static void a_merge_keeps_the_newer_version(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_split(&s);
    scene_salt(&s, 1, VERSION); /* the upper one */
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
    s.salting = VERSION - 1;
    assert_fenced(&s, 1, 0, REPLY_STALE_MAP);
    lone_crash(&s.w);
    scene_pass(&s, 100);
    assert_fenced(&s, 1, 0, REPLY_STALE_MAP);
    scene_close(&s);
}

/* ---- ranges of one shard ---- */

static struct request scene_range(struct scene *s, uint32_t shard, bool reverse)
{
    struct request r = scene_request(s, REQUEST_RANGE, s->w.table.partitions[0].lo);
    r.range.lo = s->w.table.partitions[0].lo;
    r.range.consistent = true;
    r.range.reverse = reverse;
    r.range.bytes_max = UINT32_MAX;
    r.range.shard = shard;
    return r;
}

/* Reads all items, as routers do. How many requests that took. */
static uint32_t scene_read(struct scene *s, struct request r, uint32_t *items)
{
    struct buffer past = {0};
    uint32_t requests = 0;
    bool more;
    *items = 0;
    do {
        assert_int_equal(scene_ask(s, &r), REPLY_OK);
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

static void a_range_has_the_items_of_one_shard(void **state)
{
    struct scene s;
    uint32_t items;
    (void)state;
    scene_open(&s);
    scene_salt(&s, 0, VERSION);
    for (uint32_t name = 0; name < 60; name++) {
        s.w.collections = 3;
        assert_int_equal(scene_put(&s, name, name % 4, OLD), REPLY_OK);
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
            r.salting = 0; /* only here: the fence refuses it */
            assert_int_equal(scene_ask(&s, &r), REPLY_STALE_MAP);
        }
    }
    const int64_t cost = lone_answer(&s.w)->consumed_mcu;
    assert_int_equal(cost, 0);
    scene_close(&s);
}

/* As many collections of another shard as a request may not skip. */
static void a_range_goes_on_behind_many_items_of_other_shards(void **state)
{
    enum {
        KEYS = 150
    };
    struct scene s;
    uint32_t items;
    (void)state;
    scene_open(&s);
    scene_salt(&s, 0, VERSION);
    s.w.collections = KEYS;
    for (uint32_t name = 0; name < KEYS; name++)
        assert_int_equal(scene_put(&s, name, 3, OLD), REPLY_OK);
    s.w.collections = 1;
    for (uint32_t name = 0; name < 5; name++)
        assert_int_equal(scene_put(&s, 1000 + name, 1, OLD), REPLY_OK);
    for (int reverse = 0; reverse < 2; reverse++) {
        const struct request r = scene_range(&s, 1, reverse);
        assert_in_range(scene_read(&s, r, &items), 3, 5);
        assert_int_equal(items, 5);
        const struct request all = scene_range(&s, 3, reverse);
        assert_int_equal(scene_read(&s, all, &items), 1);
        assert_int_equal(items, KEYS);
    }
    scene_close(&s);
}

static void scene_index_by_version(struct scene *s, bool local)
{
    s->all[0] = (struct index){.number = local,
                               .name = slice_of("by-v"),
                               .partition_count = 1,
                               .sort_count = local,
                               .projection = PROJECT_ALL};
    s->all[0].keys[0] =
        (struct key_attr){slice_of(local ? "id" : "v"), local ? ATTR_STRING : ATTR_BINARY};
    s->all[0].keys[1] = (struct key_attr){slice_of("v"), ATTR_BINARY};
    s->set = (struct index_set){
        {slice_of("id"), ATTR_STRING}, {slice_of("n"), ATTR_STRING}, 1, local, s->all};
    index_set_encode(&s->indexes, &s->set);
    s->w.indexes = buffer_slice(&s->indexes);
}

static void rows_of_a_local_index_are_in_the_shards_of_their_items(void **state)
{
    struct scene s;
    uint32_t items;
    (void)state;
    scene_init(&s);
    scene_index_by_version(&s, true);
    lone_open_table(&s.w, 100, 100);
    scene_salt(&s, 0, VERSION);
    for (uint32_t name = 0; name < 40; name++)
        assert_int_equal(scene_put(&s, name, name % 2, 1 + name), REPLY_OK);
    for (int reverse = 0; reverse < 2; reverse++) {
        struct request r = scene_range(&s, 1, reverse);
        r.range.index = 1;
        assert_int_equal(scene_read(&s, r, &items), 1);
        assert_int_equal(items, 20);
    }
    const uint32_t name = scene_mover(&s, 2) & ~1U; /* in shard 0 */
    const uint32_t even = scene_home(&s, name, 2) == 1 ? name : 0;
    uint32_t mover = even;
    while (scene_home(&s, mover, 2) != 1)
        mover += 2;
    scene_move_surely(&s, mover, 0, 2);
    scene_pass(&s, 100);
    struct request r = scene_range(&s, 1, false);
    r.range.index = 1;
    scene_read(&s, r, &items);
    assert_int_equal(items, 21);
    r.range.shard = 0;
    scene_read(&s, r, &items);
    assert_int_equal(items, 19);
    lone_assert_verified(&s.w, 40);
    scene_close(&s);
}

/* ---- moves ---- */

static void an_item_goes_to_its_home_and_is_at_one_place(void **state)
{
    (void)state;
    for (int split = 0; split < 2; split++) {
        struct scene s;
        scene_open(&s);
        if (split == 1)
            scene_split(&s);
        for (uint32_t i = 0; i < s.w.table.partition_count; i++)
            scene_salt(&s, i, VERSION);
        const uint32_t name = split == 1 ? scene_mover_to(&s, true) : scene_mover(&s, SHARDS);
        assert_int_equal(scene_put(&s, name, 0, OLD), REPLY_OK);
        scene_move_surely(&s, name, 0, SHARDS);
        assert_int_equal(scene_get(&s, name, scene_home(&s, name, SHARDS)), OLD);
        assert_int_equal(scene_places(&s, name), 1);
        assert_int_equal(scene_move(&s, name, 0, SHARDS), REPLY_OK); /* there is none */
        assert_int_equal(scene_move(&s, name, scene_home(&s, name, SHARDS), SHARDS), REPLY_OK);
        assert_int_equal(scene_put(&s, name, scene_home(&s, name, SHARDS), OLD + 1), REPLY_OK);
        scene_pass(&s, 200);
        assert_int_equal(scene_places(&s, name), 1);
        lone_assert_verified(&s.w, 1);
        scene_close(&s);
    }
}

static void who_needs_the_same_item_shares_its_move(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_salt(&s, 0, VERSION);
    const uint32_t name = scene_mover(&s, SHARDS);
    assert_int_equal(scene_put(&s, name, 0, OLD), REPLY_OK);
    assert_int_equal(scene_move(&s, name, 0, SHARDS), REPLY_OVERLOADED); /* no map yet */
    scene_pass(&s, 10);
    struct request r = scene_moving(&s, name, 0, SHARDS);
    lone_ask(&s.w, &r);
    r.id = s.w.next_id++;
    node_request(s.w.node, s.w.now, s.w.waited, ROUTER, &r);
    lone_take_effects(&s.w);
    assert_int_equal(s.w.node->shard_moves.count, 1);
    while (s.w.answer_count < 2)
        scene_pass(&s, 1);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(s.w.answers[i].code, REPLY_OK);
    assert_int_equal(scene_places(&s, name), 1);
    scene_close(&s);
}

/* After each write of the log. Whatever was done by then, the item is at one place, and goes home. */
static void a_crash_at_any_step_leaves_the_item_at_one_place(void **state)
{
    enum {
        WRITES = 8
    };
    (void)state;
    for (int other = 0; other < 2; other++) {
        for (int writes = 0; writes < WRITES; writes++) {
            struct scene s;
            scene_open(&s);
            scene_split(&s);
            scene_salt(&s, 0, VERSION);
            scene_salt(&s, 1, VERSION);
            const uint32_t name = scene_mover_to(&s, other);
            assert_int_equal(scene_put(&s, name, 0, OLD), REPLY_OK);
            assert_int_equal(scene_move(&s, name, 0, SHARDS), REPLY_OVERLOADED); /* no map yet */
            scene_pass(&s, 10);
            struct request r = scene_moving(&s, name, 0, SHARDS);
            lone_ask(&s.w, &r);
            for (int i = 0; i < writes; i++) {
                if (lone_write_begin(&s.w))
                    lone_write_end(&s.w, 0);
                else
                    lone_pass(&s.w, 1);
            }
            lone_crash(&s.w);
            scene_pass(&s, writes % 2 == 0 ? 100 : 12000);
            assert_int_equal(scene_places(&s, name), 1);
            scene_move_surely(&s, name, 0, SHARDS);
            assert_int_equal(scene_get(&s, name, scene_home(&s, name, SHARDS)), OLD);
            assert_int_equal(scene_places(&s, name), 1);
            scene_pass(&s, 200);
            lone_assert_verified(&s.w, 1);
            scene_close(&s);
        }
    }
}

/* The entry with the fence is followed by a write that was proposed before it was applied. */
static void a_move_sees_writes_from_before_the_fence(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_salt(&s, 0, VERSION - 1);
    s.salting = VERSION - 1;
    const uint32_t name = scene_mover(&s, SHARDS);
    assert_int_equal(scene_put(&s, name + 1, 0, OLD), REPLY_OK);
    assert_int_equal(scene_move(&s, name, 0, SHARDS), REPLY_OK);
    scene_tell(&s, 0, VERSION);
    assert_true(lone_write_begin(&s.w));
    const struct slice key = scene_key(&s, name, 0);
    struct request put = scene_request(&s, REQUEST_PUT, key);
    put.write.key = key;
    put.write.item = lone_item(&s.w, OLD, 10);
    lone_ask(&s.w, &put);
    lone_write_end(&s.w, 0); /* the fence */
    assert_int_equal(s.w.answer_count, 0);
    s.salting = VERSION;
    struct request r = scene_moving(&s, name, 0, SHARDS);
    r.salted = VERSION;
    lone_ask(&s.w, &r);
    assert_int_equal(s.w.answer_count, 0);
    while (s.w.answer_count < 2)
        scene_pass(&s, 1);
    scene_move_surely(&s, name, 0, SHARDS);
    assert_int_equal(scene_get(&s, name, scene_home(&s, name, SHARDS)), OLD);
    assert_int_equal(scene_places(&s, name), 1);
    scene_close(&s);
}

/* SALT-1 is broken by hand. */
static void a_move_overwrites_nothing(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_salt(&s, 0, VERSION);
    const uint32_t name = scene_mover(&s, SHARDS), home = scene_home(&s, name, SHARDS);
    assert_int_equal(scene_put(&s, name, 0, OLD), REPLY_OK);
    assert_int_equal(scene_put(&s, name, home, OLD + 1), REPLY_OK);
    enum reply_code code;
    while ((code = scene_move(&s, name, 0, SHARDS)) == REPLY_OVERLOADED)
        scene_pass(&s, 10);
    assert_int_equal(code, REPLY_CORRUPT);
    scene_pass(&s, 100);
    assert_int_equal(scene_get(&s, name, 0), OLD);
    assert_int_equal(scene_get(&s, name, home), OLD + 1);
    scene_close(&s);
}

static void malformed_moves_are_refused(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_salt(&s, 0, VERSION);
    const struct request good = scene_moving(&s, 1, 0, 2);
    struct buffer end = {0};
    buffer_set(&end, good.move.key);
    buffer_append_u8(&end, 0);
    struct request r = good;
    r.move.hi = buffer_slice(&end);
    assert_int_equal(scene_ask(&s, &r), REPLY_OK);
    r.move.hi = slice_make(end.data, end.size - 2); /* before the key */
    assert_int_equal(scene_ask(&s, &r), REPLY_MALFORMED);
    r.move.hi = good.move.key;
    assert_int_equal(scene_ask(&s, &r), REPLY_MALFORMED);
    r = good;
    r.move.shards = 0;
    assert_int_equal(scene_ask(&s, &r), REPLY_MALFORMED);
    r.move.shards = SHARDS_MAX + 1;
    assert_int_equal(scene_ask(&s, &r), REPLY_MALFORMED);
    r = good;
    const size_t collection =
        storage_key_collection_size(good.move.key); /* of tables without sort keys */
    for (size_t size = 0; size < good.move.key.size; size += size + 1 == collection ? 2 : 1) {
        r.move.key = slice_make(good.move.key.data, size);
        assert_int_equal(scene_ask(&s, &r), REPLY_MALFORMED);
    }
    end.data[7] ^= 1; /* no shard has this hash */
    r.move.key = slice_make(end.data, good.move.key.size);
    assert_int_equal(scene_ask(&s, &r), REPLY_MALFORMED);
    end.data[7] ^= 1;
    end.data[0] = 0xff;
    end.data[4] = 0xff;
    r = good;
    r.move.hi = buffer_slice(&end); /* behind the shard */
    assert_int_equal(scene_ask(&s, &r), REPLY_MALFORMED);
    buffer_deinit(&end);
    scene_close(&s);
}

static void only_parts_of_transactions_say_that_they_move(void **state)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    const struct slice key = scene_key(&s, 1, 0);
    struct request r = scene_request(&s, REQUEST_PUT, key);
    r.write.key = key;
    r.write.item = lone_item(&s.w, OLD, 10);
    r.write.moves = true;
    assert_int_equal(scene_ask(&s, &r), REPLY_MALFORMED);
    r.write.moves = false;
    assert_int_equal(scene_ask(&s, &r), REPLY_OK);
    scene_close(&s);
}

/* ---- pieces ---- */

static struct request scene_piece(struct scene *s, struct slice from, struct buffer *hi,
                                  uint32_t shards)
{
    struct request r = scene_request(s, REQUEST_SHARD_MOVE, from);
    buffer_set(hi, slice_make(from.data, storage_key_collection_size(from)));
    storage_key_successor(hi);
    r.move.key = from;
    r.move.hi = buffer_slice(hi);
    r.move.shards = shards;
    return r;
}

/* Until the end of the shard. How many items were moved. */
static uint32_t scene_move_shard(struct scene *s, uint32_t shard, uint32_t shards,
                                 uint32_t *requests)
{
    struct buffer from = {0}, hi = {0};
    uint32_t moved = 0;
    bool more = true;
    buffer_set(&from, scene_key(s, 0, shard));
    from.size = storage_key_collection_size(buffer_slice(&from));
    for (*requests = 0; more; ++*requests) {
        const struct request r = scene_piece(s, buffer_slice(&from), &hi, shards);
        assert_true(*requests < 2000);
        assert_int_equal(scene_ask(s, &r), REPLY_OK);
        const struct answer *a = lone_answer(&s->w);
        moved += a->count;
        more = a->more;
        assert_true(slice_compare(buffer_slice(&a->last), buffer_slice(&from)) >= 0);
        buffer_set(&from, buffer_slice(&a->last));
        scene_pass(s, 5);
    }
    buffer_deinit(&from);
    buffer_deinit(&hi);
    return moved;
}

static void pieces_bring_all_items_of_a_shard_home(void **state)
{
    enum {
        ITEMS = 350
    };
    struct scene s;
    uint32_t away = 0, requests;
    (void)state;
    scene_open(&s);
    scene_split(&s);
    scene_salt(&s, 0, VERSION);
    scene_salt(&s, 1, VERSION);
    for (uint32_t name = 0; name < ITEMS; name++) {
        assert_int_equal(scene_put(&s, name, 0, 1 + name), REPLY_OK);
        away += scene_home(&s, name, SHARDS) != 0;
    }
    assert_int_equal(scene_move_shard(&s, 0, SHARDS, &requests), away);
    assert_in_range(requests, 4, 100);
    for (uint32_t name = 0; name < ITEMS; name++)
        assert_int_equal(scene_get(&s, name, scene_home(&s, name, SHARDS)), 1 + name);
    assert_int_equal(scene_move_shard(&s, 0, SHARDS, &requests), 0);
    assert_int_equal(requests, 1);
    lone_assert_verified(&s.w, ITEMS);
    scene_close(&s);
}

/* A lock of a transaction from before the fence. */
static void a_piece_has_no_end_while_an_item_that_is_not_at_home_is_locked(void **state)
{
    struct scene s;
    struct buffer part = {0}, anchor = {0}, hi = {0}, from = {0};
    uint8_t token[TRANSACTION_TOKEN_SIZE] = {7};
    uint32_t requests;
    (void)state;
    scene_open(&s);
    scene_salt(&s, 0, VERSION);
    const uint32_t name = scene_mover(&s, SHARDS);
    uint32_t home = 0;
    while (scene_home(&s, home, SHARDS) != 0)
        home++;
    assert_int_equal(scene_put(&s, home, 0, OLD), REPLY_OK);
    buffer_set(&anchor, scene_key(&s, name, 0));
    struct transaction_part t = {
        .id = {1, 1}, .anchor = buffer_slice(&anchor), .token = slice_make(token, sizeof token)};
    transaction_part_walk(&(struct codec){.out = &part}, &t);
    struct request r = scene_request(&s, REQUEST_PUT, buffer_slice(&anchor));
    r.write.key = buffer_slice(&anchor);
    r.write.item = lone_item(&s.w, OLD, 10);
    r.write.transaction = buffer_slice(&part);
    assert_int_equal(scene_ask(&s, &r), REPLY_OK);
    assert_int_equal(scene_move(&s, name, 0, SHARDS), REPLY_LOCKED);
    buffer_set(&from, scene_key(&s, 0, 0));
    from.size = storage_key_collection_size(buffer_slice(&from));
    r = scene_piece(&s, buffer_slice(&from), &hi, SHARDS);
    assert_int_equal(scene_ask(&s, &r), REPLY_OK);
    assert_true(lone_answer(&s.w)->more);
    assert_true(slice_equal(buffer_slice(&lone_answer(&s.w)->last), buffer_slice(&anchor)));
    struct request decide = scene_request(&s, REQUEST_TRANSACT_DECIDE, buffer_slice(&anchor));
    decide.transaction.key = buffer_slice(&anchor);
    decide.transaction.id_high = decide.transaction.id_low = 1;
    decide.transaction.token = t.token;
    assert_int_equal(scene_ask(&s, &decide), REPLY_OK);
    assert_int_equal(scene_move_shard(&s, 0, SHARDS, &requests), 1);
    assert_int_equal(scene_get(&s, name, scene_home(&s, name, SHARDS)), OLD);
    assert_int_equal(scene_get(&s, home, 0), OLD);
    buffer_deinit(&part);
    buffer_deinit(&anchor);
    buffer_deinit(&hi);
    buffer_deinit(&from);
    scene_close(&s);
}

/* ---- what goes with an item ---- */

static int64_t scene_records(struct scene *s)
{
    return partitions_find(&s->w.node->partitions, s->w.table.partitions[0].id)->stream.rows.count;
}

static struct partition_stats scene_stats(struct scene *s)
{
    struct request r = {.op = REQUEST_STATS};
    struct partition_stats stats;
    assert_int_equal(scene_ask(s, &r), REPLY_OK);
    struct reader reader = {buffer_slice(&lone_answer(&s->w)->body), false};
    assert_int_equal(partition_stats_decode(&reader, &stats), STATUS_OK);
    return stats;
}

static void a_move_costs_nothing_and_streams_are_not_told(void **state)
{
    struct scene s;
    (void)state;
    scene_init(&s);
    s.w.stream = 1 + STREAM_BOTH_IMAGES;
    lone_open_table(&s.w, 100, 100);
    s.salting = 0;
    const uint32_t name = scene_mover(&s, SHARDS);
    assert_int_equal(scene_put(&s, name, 0, OLD), REPLY_OK);
    scene_salt(&s, 0, s.salting = VERSION);
    assert_int_equal(scene_records(&s), 1);
    const int64_t consumed = scene_stats(&s).kinds[ADMIT_WRITE].counts.load.consumed_mcu;
    scene_move_surely(&s, name, 0, SHARDS);
    scene_pass(&s, 200);
    assert_int_equal(scene_stats(&s).kinds[ADMIT_WRITE].counts.load.consumed_mcu, consumed);
    assert_int_equal(scene_places(&s, name), 1);
    assert_int_equal(scene_records(&s), 1);
    assert_int_equal(scene_put(&s, name, scene_home(&s, name, SHARDS), OLD + 1), REPLY_OK);
    assert_int_equal(scene_records(&s), 2);
    scene_close(&s);
}

/* Rows in the key space of the index's table. */
static int64_t scene_rows(struct scene *s)
{
    struct node_verification v;
    assert_int_equal(node_verify(s->w.node, &v), STATUS_OK);
    return v.items;
}

static void an_item_waits_with_its_move_until_global_indexes_have_it(void **state)
{
    struct scene s;
    struct buffer spec = {0};
    (void)state;
    scene_init(&s);
    scene_index_by_version(&s, false);
    const struct table_spec throughput = {.name = s.all[0].name,
                                          .partition_key = s.all[0].keys[0],
                                          .billing = BILLING_PROVISIONED,
                                          .rcu = 10,
                                          .wcu = 10};
    table_spec_encode(&spec, &throughput);
    buffer_append_sized(&s.globals, buffer_slice(&spec));
    s.w.globals = buffer_slice(&s.globals);
    lone_open_table(&s.w, 100, 100);
    s.salting = 0;
    const uint32_t name = scene_mover(&s, SHARDS), home = scene_home(&s, name, SHARDS);
    assert_int_equal(scene_put(&s, name + 1, 0, OLD), REPLY_OK);
    scene_pass(&s, 500);
    const struct partition_info info = s.w.table.partitions[0];
    struct partition *p = partitions_find(&s.w.node->partitions, info.id);
    assert_int_equal(scene_rows(&s), 2);
    scene_salt(&s, 0, s.salting = VERSION);
    assert_int_equal(scene_move(&s, name, 0, SHARDS), REPLY_OK); /* no item */
    const struct slice key = scene_key(&s, name, 0);
    struct request put = scene_request(&s, REQUEST_PUT, key);
    put.write.key = key;
    put.write.item = lone_item(&s.w, OLD, 10);
    lone_ask(&s.w, &put);
    assert_true(lone_write_begin(&s.w));
    lone_write_end(&s.w, 0);
    lone_assert_answer(&s.w, REPLY_OK);
    assert_true(feeds_hold(&s.w.node->feeds, p, scene_key(&s, name, 0)));
    struct request r = scene_moving(&s, name, 0, SHARDS);
    lone_ask(&s.w, &r);
    assert_int_equal(scene_finish(&s), REPLY_OVERLOADED);
    scene_move_surely(&s, name, 0, SHARDS);
    scene_pass(&s, 500);
    assert_int_equal(scene_get(&s, name, home), OLD);
    assert_int_equal(scene_rows(&s), 4); /* two items, two rows */
    assert_int_equal(feeds_lag(&s.w.node->feeds, p).items, 0);
    assert_int_equal(scene_put(&s, name, home, OLD + 1), REPLY_OK);
    scene_pass(&s, 500);
    assert_int_equal(scene_rows(&s), 4);
    buffer_deinit(&spec);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_knows_an_older_version_is_refused_and_a_newer_one_waits),
        cmocka_unit_test(the_fence_outlives_a_crash_and_a_checkpoint),
        cmocka_unit_test(both_sides_of_a_split_have_the_fence),
        cmocka_unit_test(a_merge_keeps_the_newer_version),
        cmocka_unit_test(a_range_has_the_items_of_one_shard),
        cmocka_unit_test(a_range_goes_on_behind_many_items_of_other_shards),
        cmocka_unit_test(rows_of_a_local_index_are_in_the_shards_of_their_items),
        cmocka_unit_test(an_item_goes_to_its_home_and_is_at_one_place),
        cmocka_unit_test(who_needs_the_same_item_shares_its_move),
        cmocka_unit_test(a_crash_at_any_step_leaves_the_item_at_one_place),
        cmocka_unit_test(a_move_sees_writes_from_before_the_fence),
        cmocka_unit_test(a_move_overwrites_nothing),
        cmocka_unit_test(malformed_moves_are_refused),
        cmocka_unit_test(only_parts_of_transactions_say_that_they_move),
        cmocka_unit_test(pieces_bring_all_items_of_a_shard_home),
        cmocka_unit_test(a_piece_has_no_end_while_an_item_that_is_not_at_home_is_locked),
        cmocka_unit_test(a_move_costs_nothing_and_streams_are_not_told),
        cmocka_unit_test(an_item_waits_with_its_move_until_global_indexes_have_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
