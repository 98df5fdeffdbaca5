/* key_shard_mover_test.c - the mover with a fake catalog and leaders that say what the test
 * says. */
#include "engine/node/catalog_leader/key_shard_mover.h"

#include <stdlib.h>

#include "base/settings/key_sharding.h"
#include "engine/message/move_messages.h"
#include "engine/node/core/node_effect.h"
#include "tests/check.h"
#include "tests/support/catalog_fixture.h"

enum {
    PIECE = 64 /* as in key_shard_mover.c */
};

struct scene {
    struct catalog_fixture world;
    struct node_env env;
    struct internal_calls calls;
    struct partitions partitions;
    struct catalog_replica catalog;
    struct key_shard_mover mover;
    struct request sent; /* the last request */
};

static void scene_open(struct scene *s, const char *tag)
{
    *s = (struct scene){0};
    catalog_fixture_init(&s->world, 3);
    assert_int_equal(catalog_fixture_tag(&s->world, tag), REPLY_OK);
    s->env =
        (struct node_env){.id = 1, .node_count = 3, .started = true, .config = &s->world.config};
    internal_calls_init(&s->calls, &s->env);
    const struct partition_info info = {
        .id = CATALOG_GROUP, .member_count = 1, .members = {raft_member_id(1, 1, 0)}};
    struct partition *p = partition_create(&info);
    p->led = 1;
    partitions_add(&s->partitions, p);
    s->catalog = (struct catalog_replica){
        .env = &s->env, .partitions = &s->partitions, .state = s->world.catalog};
    s->mover = (struct key_shard_mover){.env = &s->env, .calls = &s->calls, .catalog = &s->catalog};
    env_begin_event(&s->env, (struct instant){NS_PER_S});
}

static void scene_close(struct scene *s)
{
    key_shard_mover_deinit(&s->mover);
    internal_calls_deinit(&s->calls);
    partitions_deinit(&s->partitions);
    free(s->env.effects);
    arena_deinit(&s->env.lent);
    buffer_deinit(&s->env.scratch);
    catalog_fixture_deinit(&s->world);
}

static void scene_pass(struct scene *s, int64_t ms)
{
    env_begin_event(&s->env, instant_add_ms(s->env.now, ms));
    key_shard_mover_tick(&s->mover);
}

/* The next request that leaves. False: there is none. */
static bool scene_sends(struct scene *s)
{
    if (s->env.effect_next == s->env.effect_count)
        return false;
    const struct node_effect *e = &s->env.effects[s->env.effect_next++];
    assert_int_equal(e->kind, NODE_REQUEST);
    s->sent = e->request;
    assert_int_equal(s->sent.op, REQUEST_KEY_SHARD_MOVE);
    return true;
}

static void scene_reply(struct scene *s, struct reply r)
{
    struct internal_call_answer answer;
    r.id = s->sent.id;
    if (internal_calls_take_reply(&s->calls, &r, &answer))
        key_shard_mover_answered(&s->mover, &answer);
    key_shard_mover_tick(&s->mover);
}

/* The partition has been read to its end, or to that of the shard. */
static void scene_read(struct scene *s, uint32_t moved, uint32_t scanned)
{
    scene_reply(
        s, (struct reply){.kind = ANSWER_RANGE, .range = {.count = moved, .scanned = scanned}});
}

/* The first bytes of a shard of the key. */
static struct slice scene_shard(struct buffer *out, const struct scene *s, const char *key,
                                uint32_t shard)
{
    buffer_clear(out);
    sharded_key_append_prefix(out, catalog_fixture_sharded_key(&s->world, key),
                              catalog_fixture_table(&s->world)->id, shard);
    return buffer_slice(out);
}

static void scene_assert_sends(struct scene *s, const char *key, uint32_t shard)
{
    struct buffer from = {0}, end = {0};
    const struct sharded_key *k = catalog_fixture_sharded_key(&s->world, key);
    assert_true(scene_sends(s));
    assert_true(slice_equal(request_move(&s->sent)->key, scene_shard(&from, s, key, shard)));
    scene_shard(&end, s, key, shard);
    storage_key_successor(&end);
    assert_true(slice_equal(request_move(&s->sent)->hi, buffer_slice(&end)));
    assert_int_equal(request_move(&s->sent)->shards, k->shards);
    assert_int_equal(s->sent.sharded_key_version, k->version);
    assert_int_equal(request_move(&s->sent)->merge_cells, k->counter);
    assert_int_equal(s->sent.key_sharding_version,
                     table_key_sharding_version(catalog_fixture_table(&s->world)));
    assert_int_equal(
        s->sent.partition,
        table_partition_of(catalog_fixture_table(&s->world), request_move(&s->sent)->key)->id);
    buffer_deinit(&from);
    buffer_deinit(&end);
}

/* The catalog takes one thing that the mover says. `event` 0: of what nobody is told. */
static void scene_decides_one(struct scene *s, enum event_kind event)
{
    struct decision d;
    assert_true(key_shard_mover_next(&s->mover, &d));
    assert_int_equal(d.key_shards.change, event != 0 ? KEY_SHARDS_MOVED : KEY_SHARDS_DISCARD);
    assert_int_equal(d.event.kind, event);
    assert_int_equal(catalog_fixture_decide(&s->world, CATALOG_KEY_SHARDS, &d), REPLY_OK);
    assert_int_equal(s->world.result.row_count, event != 0 ? 2 : 1);
}

/* It is all that the mover says. */
static void scene_decides(struct scene *s, enum event_kind event)
{
    struct decision d;
    scene_decides_one(s, event);
    assert_false(key_shard_mover_next(&s->mover, &d));
}

static void assert_sends_nothing(struct scene *s)
{
    struct decision d;
    assert_false(scene_sends(s));
    assert_false(key_shard_mover_next(&s->mover, &d));
}

TEST(each_former_shard_is_read_once)
{
    struct scene s;
    (void)state;
    scene_open(&s, "auto");
    scene_pass(&s, 100);
    assert_sends_nothing(&s);
    assert_int_equal(key_shard_mover_deadline(&s.mover).ns, INSTANT_NEVER.ns);
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 5), REPLY_OK);
    scene_pass(&s, 100);
    for (uint32_t shard = 0; shard < 2; shard++) {
        scene_assert_sends(&s, "hot", shard);
        assert_int_equal(request_move(&s.sent)->items_max, PIECE);
        assert_sends_nothing(&s);
        scene_read(&s, 3, 9);
    }
    assert_false(scene_sends(&s));
    scene_decides(&s, EVENT_KEY_MOVED);
    assert_int_equal(catalog_fixture_sharded_key(&s.world, "hot")->before_count, 0);
    scene_pass(&s, 100);
    assert_sends_nothing(&s);
    assert_int_equal(s.mover.count, 0);
    scene_close(&s);
}

TEST(a_shard_is_read_piece_by_piece_and_across_partitions)
{
    struct scene s;
    struct buffer point = {0};
    (void)state;
    scene_open(&s, "auto");
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    scene_shard(&point, &s, "hot", 0);
    buffer_append_text(&point, "m");
    const struct partition_info *p =
        table_partition_of(catalog_fixture_table(&s.world), buffer_slice(&point));
    struct table_split split = {
        .table_id = p->table_id, .partition = p->id, .epoch = p->epoch, .point_count = 1};
    split.points[0] = buffer_slice(&point);
    table_split_share_equally(&split);
    assert_int_equal(catalog_fixture_split(&s.world, &split), REPLY_OK);
    scene_pass(&s, 100);
    scene_assert_sends(&s, "hot", 0);
    const uint32_t first = s.sent.partition;

    struct buffer last = {0};
    scene_shard(&last, &s, "hot", 0);
    buffer_append_text(&last, "d");
    const struct reply piece = {
        .kind = ANSWER_RANGE,
        .range = {.count = PIECE, .scanned = 99, .more = true, .last = buffer_slice(&last)}};
    scene_reply(&s, piece);
    assert_true(scene_sends(&s));
    assert_true(slice_equal(request_move(&s.sent)->key, buffer_slice(&last)));
    assert_int_equal(s.sent.partition, first);
    scene_reply(&s, piece); /* no step forward: a lock, perhaps */
    assert_sends_nothing(&s);
    scene_pass(&s, 50);
    assert_true(scene_sends(&s));
    assert_true(slice_equal(request_move(&s.sent)->key, buffer_slice(&last)));
    scene_read(&s, 0, 5);
    assert_true(scene_sends(&s));
    assert_true(slice_equal(request_move(&s.sent)->key, buffer_slice(&point)));
    assert_int_not_equal(s.sent.partition, first);
    scene_read(&s, 0, 0);
    scene_decides(&s, EVENT_KEY_MOVED);
    buffer_deinit(&last);
    buffer_deinit(&point);
    scene_close(&s);
}

TEST(a_refusal_or_a_timeout_is_retried)
{
    static const enum reply_code CODES[] = {REPLY_STALE_MAP, REPLY_OVERLOADED, REPLY_UNKNOWN,
                                            REPLY_FULL};
    struct scene s;
    struct internal_call_answer answer;
    (void)state;
    scene_open(&s, "auto");
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    for (size_t i = 0; i < sizeof CODES / sizeof CODES[0]; i++) {
        scene_pass(&s, 100);
        scene_assert_sends(&s, "hot", 0);
        scene_reply(&s, (struct reply){.code = CODES[i]});
        assert_sends_nothing(&s);
    }
    scene_pass(&s, 100);
    scene_assert_sends(&s, "hot", 0);
    scene_pass(&s, 100);
    while (!internal_calls_tick(&s.calls, &answer)) {
        while (scene_sends(&s))
            ;
        scene_pass(&s, 100);
    }
    key_shard_mover_answered(&s.mover, &answer);
    scene_pass(&s, 100);
    scene_assert_sends(&s, "hot", 0);
    scene_close(&s);
}

TEST(a_key_that_shrinks_is_verified)
{
    struct scene s;
    (void)state;
    scene_open(&s, "auto");
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 4), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_MOVED, "hot", 0), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_SHRINK, "hot", 1),
                     REPLY_OK);
    scene_pass(&s, 100);
    for (int pass = 0; pass < 3; pass++) { /* in the second pass something is found */
        for (uint32_t shard = 1; shard < 4; shard++) {
            assert_int_equal(s.mover.count, 1);
            scene_assert_sends(&s, "hot", shard);
            scene_read(&s, pass == 0, pass == 0 || (pass == 1 && shard == 2));
        }
    }
    assert_false(scene_sends(&s));
    scene_decides(&s, EVENT_KEY_UNSHARDED);
    assert_int_equal(catalog_fixture_sharded_key(&s.world, "hot")->widest, 4);
    scene_pass(&s, 50);
    assert_int_equal(s.mover.count, 0); /* it takes the place of no other key */
    scene_pass(&s, config_key_sharding(&s.world.config)->key_sharding_keep_ms - 1);
    assert_sends_nothing(&s);
    scene_pass(&s, 51);
    scene_decides(&s, 0);
    assert_null(catalog_fixture_sharded_key(&s.world, "hot"));
    scene_close(&s);
}

TEST(a_key_that_grows_meanwhile_begins_anew)
{
    struct scene s;
    struct decision d;
    (void)state;
    scene_open(&s, "auto");
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    scene_pass(&s, 100);
    scene_assert_sends(&s, "hot", 0);
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 3), REPLY_OK);
    scene_read(&s, 0, 0); /* by two shards: that says nothing */
    scene_pass(&s, 100);
    for (uint32_t shard = 0; shard < 2; shard++) {
        scene_assert_sends(&s, "hot", shard);
        assert_false(key_shard_mover_next(&s.mover, &d));
        scene_read(&s, 0, 0);
    }
    /* The word is on its way when the key grows again. */
    assert_true(key_shard_mover_next(&s.mover, &d));
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 4), REPLY_OK);
    scene_pass(&s, 100);
    assert_false(key_shard_mover_next(&s.mover, &d));
    scene_assert_sends(&s, "hot", 0);
    scene_close(&s);
}

TEST(what_the_catalog_does_not_take_is_sent_again)
{
    struct scene s;
    struct decision d;
    (void)state;
    scene_open(&s, "auto");
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    scene_pass(&s, 100);
    assert_true(scene_sends(&s));
    scene_read(&s, 0, 0);
    assert_true(key_shard_mover_next(&s.mover, &d));
    scene_pass(&s, 10);
    assert_false(key_shard_mover_next(&s.mover, &d));
    scene_pass(&s, 50);
    scene_decides(&s, EVENT_KEY_MOVED);
    scene_close(&s);
}

TEST(cells_of_a_counter_stay_and_its_former_number_for_a_time)
{
    struct scene s;
    (void)state;
    scene_open(&s, "counter");
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "count", 10),
                     REPLY_OK);
    scene_pass(&s, 100);
    scene_pass(&s, config_key_sharding(&s.world.config)->key_sharding_keep_ms - 1);
    assert_sends_nothing(&s);
    scene_pass(&s, 51);
    assert_false(scene_sends(&s));
    scene_decides(&s, EVENT_KEY_MOVED);
    assert_int_equal(catalog_fixture_sharded_key(&s.world, "count")->shards, 10);
    scene_close(&s);
}

TEST(cells_that_a_counter_gives_up_are_added_up_and_verified)
{
    struct scene s;
    (void)state;
    scene_open(&s, "counter");
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "count", 5),
                     REPLY_OK);
    scene_pass(&s, 100);
    assert_sends_nothing(&s);
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_SHRINK, "count", 2),
                     REPLY_OK);
    scene_pass(&s, 100);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t shard = 2; shard < 5; shard++) {
            scene_assert_sends(&s, "count", shard);
            assert_true(request_move(&s.sent)->merge_cells);
            assert_sends_nothing(&s);
            scene_read(&s, pass == 0, pass == 0);
        }
    }
    assert_false(scene_sends(&s));
    scene_decides(&s, EVENT_KEY_MOVED);
    scene_pass(&s, 50);
    scene_pass(&s, config_key_sharding(&s.world.config)->key_sharding_keep_ms - 1);
    assert_sends_nothing(&s);
    scene_pass(&s, 51);
    scene_decides(&s, 0);
    assert_int_equal(catalog_fixture_sharded_key(&s.world, "count")->widest, 2);
    scene_close(&s);
}

/* The key gets so many shards, at once: all its items are moved. */
static void scene_reach(struct scene *s, const char *key, enum key_shards_change word,
                        uint32_t shards)
{
    assert_int_equal(catalog_fixture_change_shards(&s->world, word, key, shards), REPLY_OK);
    assert_int_equal(catalog_fixture_change_shards(&s->world, KEY_SHARDS_MOVED, key, 0), REPLY_OK);
}

TEST(what_is_remembered_is_evicted_after_a_time)
{
    struct scene s;
    (void)state;
    scene_open(&s, "auto");
    scene_reach(&s, "hot", KEY_SHARDS_GROW, 6);
    scene_pass(&s, config_key_sharding(&s.world.config)->key_sharding_keep_ms + 100);
    assert_sends_nothing(&s); /* it has as many as it had */
    scene_reach(&s, "hot", KEY_SHARDS_SHRINK, 4);
    scene_pass(&s, 100);
    scene_pass(&s, config_key_sharding(&s.world.config)->key_sharding_keep_ms / 2);
    scene_reach(&s, "hot", KEY_SHARDS_SHRINK, 3); /* the time begins anew */
    scene_pass(&s, 100);
    scene_pass(&s, config_key_sharding(&s.world.config)->key_sharding_keep_ms - 1);
    assert_sends_nothing(&s);
    scene_pass(&s, 51);
    scene_decides(&s, 0);
    assert_int_equal(catalog_fixture_sharded_key(&s.world, "hot")->widest, 3);
    assert_int_equal(catalog_fixture_sharded_key(&s.world, "hot")->shards, 3);
    scene_pass(&s, config_key_sharding(&s.world.config)->key_sharding_keep_ms + 100);
    assert_sends_nothing(&s);
    scene_close(&s);
}

/* The new one does not know since when the time runs. */
TEST(a_new_leader_waits_for_the_whole_time)
{
    struct scene s;
    (void)state;
    scene_open(&s, "auto");
    scene_reach(&s, "hot", KEY_SHARDS_GROW, 6);
    scene_reach(&s, "hot", KEY_SHARDS_SHRINK, 1);
    scene_pass(&s, 100);
    scene_pass(&s, config_key_sharding(&s.world.config)->key_sharding_keep_ms - 100);
    key_shard_mover_end(&s.mover);
    scene_pass(&s, 100);
    scene_pass(&s, config_key_sharding(&s.world.config)->key_sharding_keep_ms - 1);
    assert_sends_nothing(&s);
    scene_pass(&s, 51);
    scene_decides(&s, 0);
    assert_null(catalog_fixture_sharded_key(&s.world, "hot"));
    scene_close(&s);
}

/* However many only wait. */
TEST(keys_that_wait_take_no_place_of_those_that_move)
{
    struct scene s;
    char name[8];
    (void)state;
    scene_open(&s, "auto");
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "%d", i);
        scene_reach(&s, name, KEY_SHARDS_GROW, 3);
        scene_reach(&s, name, KEY_SHARDS_SHRINK, 1);
    }
    scene_pass(&s, 100);
    assert_int_equal(s.mover.count, 0);
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    scene_pass(&s, 100);
    scene_assert_sends(&s, "hot", 0);
    assert_int_equal(s.mover.count, 1);
    scene_pass(&s, config_key_sharding(&s.world.config)->key_sharding_keep_ms + 100);
    for (int i = 0; i < 40; i++)
        scene_decides_one(&s, 0);
    assert_int_equal(catalog_fixture_table(&s.world)->sharded_keys->count, 1);
    scene_close(&s);
}

/* MOVER-3 */
TEST(no_more_items_are_moved_than_the_setting_allows)
{
    struct scene s;
    char name[8];
    int64_t items = 0;
    (void)state;
    scene_open(&s, "auto");
    config_edit_key_sharding(&s.world.config)->key_sharding_moves_s = 1000;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, name, 2),
                         REPLY_OK);
    }
    struct buffer last = {0};
    for (int ms = 0; ms < 5000; ms += 10) {
        scene_pass(&s, 10);
        while (scene_sends(&s)) { /* each finds as many as it may move */
            items += request_move(&s.sent)->items_max;
            buffer_set(&last, request_move(&s.sent)->key);
            buffer_append_u8(&last, 1);
            if (last.size > 100)
                last.size = 100;
            scene_reply(&s, (struct reply){.kind = ANSWER_RANGE,
                                           .range = {.count = request_move(&s.sent)->items_max,
                                                     .scanned = request_move(&s.sent)->items_max,
                                                     .more = true,
                                                     .last = buffer_slice(&last)}});
        }
    }
    assert_in_range(items, 5000, 6000);
    assert_int_equal(s.mover.count, 16);
    buffer_deinit(&last);
    scene_close(&s);
}

TEST(a_table_that_is_deleted_is_evicted_and_so_is_all_without_the_lead)
{
    struct scene s;
    (void)state;
    scene_open(&s, "auto");
    assert_int_equal(catalog_fixture_change_shards(&s.world, KEY_SHARDS_GROW, "hot", 2), REPLY_OK);
    scene_pass(&s, 100);
    assert_true(scene_sends(&s));
    key_shard_mover_end(&s.mover);
    scene_pass(&s, 100);
    assert_true(scene_sends(&s)); /* a new leader begins again */
    struct catalog_command c = catalog_fixture_command(&s.world, CATALOG_DELETE);
    assert_int_equal(catalog_fixture_apply(&s.world, &c), REPLY_OK);
    scene_pass(&s, 100);
    assert_int_equal(s.mover.count, 0);
    assert_sends_nothing(&s);
    scene_close(&s);
}
