/* shards_world_test.c - sharded keys in a cluster of three nodes: the fence at followers, and items
 * that move while nodes crash. */
#include "tests/check.h"

#include "base/settings/choices.h"
#include "base/settings/key_sharding.h"
#include "engine/item/storage_key.h"
#include "engine/key_sharding/key_sharding.h"
#include "engine/message/message.h"
#include "engine/message/move_messages.h"
#include "tests/support/frame_cluster.h"

enum {
    ITEMS = 150,
    ROUNDS = 5,
    SETTLED_MS = 120000
};

struct scene {
    struct frame_cluster *w;
    struct arena arena;
    struct buffer bytes;
    struct table table;
    struct buffer key;
    struct buffer item;
};

static void scene_fetch(struct scene *s)
{
    frame_cluster_fetch(s->w, slice_of("t"), &s->arena, &s->bytes, &s->table);
}

static void scene_open(struct scene *s)
{
    struct config config;
    struct buffer tags = {0};
    *s = (struct scene){0};
    config_init(&config, PROFILE_OFF);
    config_edit_choices(&config)->gac = GAC_OFF;
    config_edit_key_sharding(&config)->key_sharding_moves_s = 20;
    s->w = frame_cluster_begin(&config);
    frame_cluster_pass(s->w, 1000);
    tag_append(&tags, &(struct tag){slice_of(KEY_SHARDING_TAG), slice_of("auto"), true});
    const struct table_spec spec = {.name = slice_of("t"),
                                    .partition_key = {slice_of("id"), ATTR_STRING},
                                    .sort_key = {slice_of("n"), ATTR_STRING},
                                    .tags = buffer_slice(&tags),
                                    .billing = BILLING_PROVISIONED,
                                    .rcu = 7000,
                                    .wcu = 2500};
    frame_cluster_create_table(s->w, &spec, &s->arena, &s->bytes, &s->table);
    assert_true(s->table.partition_count > 1);
    buffer_deinit(&tags);
}

static void scene_close(struct scene *s)
{
    frame_cluster_destroy(s->w);
    arena_deinit(&s->arena);
    buffer_deinit(&s->bytes);
    buffer_deinit(&s->key);
    buffer_deinit(&s->item);
}

static struct slice scene_key(struct scene *s, uint32_t name, uint32_t shard)
{
    char text[16];
    const int size = snprintf(text, sizeof text, "%u", name);
    const struct attr id = {ATTR_STRING, slice_of("hot")},
                      n = {ATTR_STRING, slice_make(text, (size_t)size)};
    buffer_clear(&s->key);
    storage_key_append(&s->key, s->table.id, &id, &n);
    key_shard_put(s->key.data, key_shard_bare_hash(buffer_slice(&s->key)), shard);
    return buffer_slice(&s->key);
}

static const struct sharded_key *scene_sharded_key(struct scene *s)
{
    return key_sharding_find(s->table.sharded_keys, scene_key(s, 0, 0));
}

static struct request scene_request(struct scene *s, enum request_op op, struct slice key)
{
    const struct partition_info *p = table_partition_of(&s->table, key);
    return (struct request){.op = op,
                            .partition = p->id,
                            .epoch = p->epoch,
                            .key_sharding_version = table_key_sharding_version(&s->table)};
}

/* Until a node has done it. */
static struct slice scene_do(struct scene *s, uint32_t name, uint32_t shard, enum request_op op)
{
    struct slice body;
    struct item_writer writer;
    for (int tries = 0;; tries++) {
        const struct slice key = scene_key(s, name, shard);
        struct request r = scene_request(s, op, key);
        buffer_clear(&s->item);
        item_begin(&writer, &s->item);
        item_name(&writer, slice_of("v"));
        item_binary(&writer, slice_make(&name, sizeof name));
        item_end(&writer);
        if (op == REQUEST_GET) {
            r.get.key = key;
            r.get.consistent = true;
        } else {
            r.write.key = key;
            r.write.item = buffer_slice(&s->item);
        }
        if (frame_cluster_send(s->w, &r, &body) == REPLY_OK)
            return body;
        assert_true(tries < 5000);
        frame_cluster_pass(s->w, 10);
        scene_fetch(s);
    }
}

static uint32_t scene_shards(struct scene *s)
{
    const struct sharded_key *k = scene_sharded_key(s);
    return k != NULL ? k->shards : 1;
}

/* Says it until the catalog has heard it. */
static void scene_decide(struct scene *s, enum key_shards_change word, uint32_t shards)
{
    struct buffer key = {0};
    for (int tries = 0; scene_shards(s) != shards; tries++) {
        assert_true(tries < 100);
        const struct sharded_key *k = scene_sharded_key(s);
        buffer_set(&key, scene_key(s, 0, 0));
        key.size = storage_key_collection_size(buffer_slice(&key));
        const struct decision d = {.table_id = s->table.id,
                                   .key_shards = {.change = word,
                                                  .key = buffer_slice(&key),
                                                  .version = k != NULL ? k->version : 0,
                                                  .shards = shards}};
        frame_cluster_decide(s->w, CATALOG_KEY_SHARDS, &d);
        frame_cluster_pass(s->w, 100);
        scene_fetch(s);
    }
    buffer_deinit(&key);
}

TEST(followers_refuse_who_knows_an_older_version)
{
    struct scene s;
    (void)state;
    scene_open(&s);
    scene_decide(&s, KEY_SHARDS_GROW, 4);
    frame_cluster_pass(s.w, 2000);
    scene_fetch(&s);
    const uint64_t version = table_key_sharding_version(&s.table);
    for (uint32_t node = 1; node <= FRAME_CLUSTER_NODES; node++) {
        for (uint32_t shard = 0; shard < 4; shard++) {
            const struct slice key = scene_key(&s, 1, shard);
            struct request r = scene_request(&s, REQUEST_GET, key);
            r.get.key = key;
            assert_int_equal(frame_cluster_send_to(s.w, node, &r, NULL), REPLY_OK);
            r.key_sharding_version = version - 1;
            assert_int_equal(frame_cluster_send_to(s.w, node, &r, NULL), REPLY_STALE_MAP);
            r = scene_request(&s, REQUEST_RANGE, key);
            r.range.lo = key;
            r.range.bytes_max = 1 << 20;
            assert_int_equal(frame_cluster_send_to(s.w, node, &r, NULL), REPLY_OK);
            r.key_sharding_version = version - 1;
            assert_int_equal(frame_cluster_send_to(s.w, node, &r, NULL), REPLY_STALE_MAP);
        }
    }
    scene_close(&s);
}

/* Each item is in its owner shard, and nowhere else. */
static void scene_check(struct scene *s)
{
    const uint32_t shards = scene_shards(s);
    for (uint32_t name = 0; name < ITEMS; name++) {
        const uint32_t owner = key_shard_owner(scene_key(s, name, 0), shards);
        for (uint32_t shard = 0; shard < 8; shard++)
            assert_int_equal(scene_do(s, name, shard, REQUEST_GET).size > 0, shard == owner);
    }
}

/* Reads an item as routers do. False: not now. */
static bool scene_find(struct scene *s, uint32_t name)
{
    uint32_t former[KEY_SHARDS_BEFORE_MAX], count = 0, owner = 0;
    const struct sharded_key *k = scene_sharded_key(s);
    struct slice body;
    if (k != NULL) {
        count = sharded_key_previous_owners(k, scene_key(s, name, 0), former);
        owner = sharded_key_owner(k, scene_key(s, name, 0));
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct slice key = scene_key(s, name, former[i]);
        struct request r = scene_request(s, REQUEST_KEY_SHARD_MOVE, key);
        r.sharded_key_version = k->version;
        request_edit_move(&r)->key = key;
        request_edit_move(&r)->shards = k->shards;
        if (frame_cluster_send(s->w, &r, NULL) != REPLY_OK)
            return false;
    }
    const struct slice key = scene_key(s, name, owner);
    struct request r = scene_request(s, REQUEST_GET, key);
    r.sharded_key_version = k != NULL ? k->version : 0;
    r.get.key = key;
    r.get.consistent = true;
    if (frame_cluster_send(s->w, &r, &body) != REPLY_OK)
        return false;
    assert_true(body.size > 0);
    return true;
}

/* Until the catalog has forgotten the key's former numbers. Meanwhile nodes crash. */
static uint32_t scene_settle(struct scene *s, struct prng *p, int crashes)
{
    uint32_t found = 0;
    for (int64_t ms = 0;; ms += 100) {
        scene_fetch(s);
        if (scene_sharded_key(s) == NULL || !sharded_key_moves(scene_sharded_key(s)))
            return found;
        assert_true(ms < SETTLED_MS);
        for (int i = 0; i < 5; i++)
            found += scene_find(s, (uint32_t)prng_below(p, ITEMS));
        frame_cluster_pass(s->w, (int64_t)prng_below(p, 100));
        if (crashes-- > 0 && prng_below(p, 4) > 0)
            frame_cluster_crash(s->w, 1 + (uint32_t)prng_below(p, FRAME_CLUSTER_NODES),
                                (int64_t)prng_below(p, 1500));
        else if (crashes == 0)
            frame_cluster_restart(s->w);
    }
}

static void items_reach_their_owners_whatever_crashes(struct prng *p)
{
    static const uint32_t numbers[ROUNDS] = {3, 4, 8, 2, 1};
    struct scene s;
    uint32_t found = 0;
    scene_open(&s);
    for (uint32_t name = 0; name < ITEMS; name++)
        scene_do(&s, name, 0, REQUEST_PUT);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const bool grows = i == 0 || numbers[i] > numbers[i - 1];
        scene_decide(&s, grows ? KEY_SHARDS_GROW : KEY_SHARDS_SHRINK, numbers[i]);
        if (i == 0) /* it grows while items move */
            continue;
        found += scene_settle(&s, p, 3);
        scene_check(&s);
    }
    assert_int_equal(scene_sharded_key(&s)->shards, 1);
    assert_true(found > 20);
    scene_close(&s);
}

TEST(test_items_reach_their_owners_whatever_crashes)
{
    check_seeds(3, items_reach_their_owners_whatever_crashes);
}
