/* key_shard_pieces_test.c - items of a piece go to their owner shards, and the answer says how far
 * all are
 * there. */
#include "tests/check.h"

#include "engine/item/storage_key.h"
#include "engine/message/move_messages.h"
#include "tests/support/shards_fixture.h"

static struct request scene_piece(struct shards_fixture *s, struct slice from, struct buffer *hi,
                                  uint32_t shards)
{
    struct request r = shards_request(s, REQUEST_KEY_SHARD_MOVE, from);
    buffer_set(hi, slice_make(from.data, storage_key_collection_size(from)));
    storage_key_successor(hi);
    request_edit_move(&r)->key = from;
    request_edit_move(&r)->hi = buffer_slice(hi);
    request_edit_move(&r)->shards = shards;
    return r;
}

/* Until the end of the shard. How many items were moved. */
static uint32_t scene_move_shard(struct shards_fixture *s, uint32_t shard, uint32_t shards,
                                 uint32_t *requests)
{
    struct buffer from = {0}, hi = {0};
    uint32_t moved = 0;
    bool more = true;
    buffer_set(&from, shards_key(s, 0, shard));
    from.size = storage_key_collection_size(buffer_slice(&from));
    for (*requests = 0; more; ++*requests) {
        const struct request r = scene_piece(s, buffer_slice(&from), &hi, shards);
        assert_true(*requests < 2000);
        assert_int_equal(shards_send(s, &r), REPLY_OK);
        const struct answer *a = lone_answer(&s->w);
        moved += a->count;
        more = a->more;
        assert_true(slice_compare(buffer_slice(&a->last), buffer_slice(&from)) >= 0);
        buffer_set(&from, buffer_slice(&a->last));
        shards_pass(s, 5);
    }
    buffer_deinit(&from);
    buffer_deinit(&hi);
    return moved;
}

TEST(pieces_bring_all_items_of_a_shard_to_their_owners)
{
    enum {
        ITEMS = 350
    };
    struct shards_fixture s;
    uint32_t away = 0, requests;
    (void)state;
    shards_open(&s);
    shards_split(&s);
    shards_notify_applied(&s, 0, VERSION);
    shards_notify_applied(&s, 1, VERSION);
    for (uint32_t name = 0; name < ITEMS; name++) {
        assert_int_equal(shards_put(&s, name, 0, 1 + name), REPLY_OK);
        away += shards_owner(&s, name, SHARDS) != 0;
    }
    assert_int_equal(scene_move_shard(&s, 0, SHARDS, &requests), away);
    assert_in_range(requests, 4, 100);
    for (uint32_t name = 0; name < ITEMS; name++)
        assert_int_equal(shards_get(&s, name, shards_owner(&s, name, SHARDS)), 1 + name);
    assert_int_equal(scene_move_shard(&s, 0, SHARDS, &requests), 0);
    assert_int_equal(requests, 1);
    lone_assert_verified(&s.w, ITEMS);
    shards_close(&s);
}

TEST(cold_items_are_touched_before_they_move)
{
    enum {
        ITEMS = 60
    };
    struct shards_fixture s;
    uint32_t away = 0, requests;
    (void)state;
    shards_init(&s);
    s.w.resident_max = 1;
    lone_open_table(&s.w, 100, 100);
    shards_notify_applied(&s, 0, VERSION);
    for (uint32_t name = 0; name < ITEMS; name++) {
        assert_int_equal(shards_put(&s, name, 0, 1 + name), REPLY_OK);
        away += shards_owner(&s, name, SHARDS) != 0;
    }
    lone_checkpoint_all(&s.w);
    shards_move_surely(&s, shards_mover(&s, SHARDS), 0, SHARDS);
    lone_checkpoint_all(&s.w);
    assert_int_equal(scene_move_shard(&s, 0, SHARDS, &requests), away - 1);
    for (uint32_t name = 0; name < ITEMS; name++)
        assert_int_equal(shards_get(&s, name, shards_owner(&s, name, SHARDS)), 1 + name);
    shards_close(&s);
}

/* A piece's next move takes the place of the one that has ended. Who else waited for that one is
 * answered, and the new move is not taken for done. */
TEST(a_move_in_the_place_of_another_one_has_nothing_of_it)
{
    enum {
        ITEMS = 60
    };
    struct shards_fixture s;
    struct buffer from = {0}, hi = {0}, keys[KEY_SHARD_PIECE_MOVES] = {0};
    (void)state;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    for (uint32_t name = 0; name < ITEMS; name++)
        assert_int_equal(shards_put(&s, name, 0, 1 + name), REPLY_OK);
    assert_int_equal(shards_move(&s, shards_mover(&s, SHARDS), 0, SHARDS), REPLY_OVERLOADED);
    shards_pass(&s, 10); /* the map has come */
    buffer_set(&from, shards_key(&s, 0, 0));
    from.size = storage_key_collection_size(buffer_slice(&from));
    struct request r = scene_piece(&s, buffer_slice(&from), &hi, SHARDS);
    lone_send(&s.w, &r);
    assert_int_equal(s.w.node->key_shard_moves.count, KEY_SHARD_PIECE_MOVES);
    for (uint32_t i = 0; i < KEY_SHARD_PIECE_MOVES; i++) {
        buffer_set(&keys[i], buffer_slice(&s.w.node->key_shard_moves.all[i].key));
        r = shards_request(&s, REQUEST_KEY_SHARD_MOVE, buffer_slice(&keys[i]));
        request_edit_move(&r)->key = buffer_slice(&keys[i]);
        request_edit_move(&r)->shards = SHARDS;
        r.id = s.w.next_id++;
        node_request(s.w.node, s.w.now, s.w.waited, ROUTER, &r);
        lone_take_effects(&s.w);
    }
    for (int ms = 0; s.w.answer_count < 1 + KEY_SHARD_PIECE_MOVES; ms++) {
        assert_true(ms < 1000);
        shards_pass(&s, 1);
    }
    for (size_t i = 0; i < s.w.answer_count; i++)
        assert_int_equal(s.w.answers[i].code, REPLY_OK);
    assert_int_equal(s.w.node->key_shard_moves.count, 0);
    for (uint32_t name = 0; name < ITEMS; name++) {
        assert_int_equal(shards_get(&s, name, shards_owner(&s, name, SHARDS)), 1 + name);
        assert_int_equal(shards_places(&s, name), 1);
    }
    for (uint32_t i = 0; i < KEY_SHARD_PIECE_MOVES; i++)
        buffer_deinit(&keys[i]);
    buffer_deinit(&from);
    buffer_deinit(&hi);
    shards_close(&s);
}

/* A request for the whole shard 0. */
static struct request scene_whole_piece(struct shards_fixture *s, struct buffer *from,
                                        struct buffer *hi)
{
    buffer_set(from, shards_key(s, 0, 0));
    from->size = storage_key_collection_size(buffer_slice(from));
    return scene_piece(s, buffer_slice(from), hi, SHARDS);
}

/* MOVE-4. A lock of a transaction from before the fence. */
TEST(a_piece_has_no_end_while_an_item_that_must_move_is_locked)
{
    struct shards_fixture s;
    struct shards_part t;
    struct buffer hi = {0}, from = {0};
    uint32_t requests;
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    const uint32_t name = shards_mover(&s, SHARDS);
    uint32_t owner = 0;
    while (shards_owner(&s, owner, SHARDS) != 0)
        owner++;
    assert_int_equal(shards_put(&s, owner, 0, OLD), REPLY_OK);
    struct request r = shards_part_request(&s, &t, name, 0);
    assert_int_equal(shards_send(&s, &r), REPLY_OK);
    assert_int_equal(shards_move(&s, name, 0, SHARDS), REPLY_LOCKED);
    r = scene_whole_piece(&s, &from, &hi);
    assert_int_equal(shards_send(&s, &r), REPLY_OK);
    assert_true(lone_answer(&s.w)->more);
    assert_true(slice_equal(buffer_slice(&lone_answer(&s.w)->last), t.part.anchor));
    r = shards_part_decide(&s, &t);
    assert_int_equal(shards_send(&s, &r), REPLY_OK);
    assert_int_equal(scene_move_shard(&s, 0, SHARDS, &requests), 1);
    assert_int_equal(shards_get(&s, name, shards_owner(&s, name, SHARDS)), OLD);
    assert_int_equal(shards_get(&s, owner, 0), OLD);
    shards_part_deinit(&t);
    buffer_deinit(&hi);
    buffer_deinit(&from);
    shards_close(&s);
}

/* An item that is not in its owner shard, whose partition's place is known. */
static void scene_know_map(struct shards_fixture *s, uint32_t *name)
{
    shards_open(s);
    shards_notify_applied(s, 0, VERSION);
    *name = shards_mover(s, SHARDS);
    assert_int_equal(shards_put(s, *name, 0, OLD), REPLY_OK);
    assert_int_equal(shards_move(s, *name, 0, SHARDS), REPLY_OVERLOADED); /* no map yet */
    shards_pass(s, 10);
}

static uint32_t scene_other_mover(struct shards_fixture *s, uint32_t name)
{
    uint32_t other = name + 1;
    while (shards_owner(s, other, SHARDS) == 0)
        other++;
    return other;
}

/* An item moves for a piece, and another one is locked that was not there. */
static void scene_lock_beside_piece(struct shards_fixture *s, struct shards_part *t, uint32_t *name,
                                    struct buffer *from, struct buffer *hi)
{
    scene_know_map(s, name);
    struct request r = scene_whole_piece(s, from, hi);
    lone_send(&s->w, &r);
    assert_int_equal(s->w.node->key_shard_moves.count, 1);
    r = shards_part_request(s, t, scene_other_mover(s, *name), 0);
    lone_send(&s->w, &r);
}

static const struct answer *scene_answer_of_piece(struct shards_fixture *s)
{
    for (int ms = 0; s->w.answer_count < 2; ms++) {
        assert_true(ms < 1000);
        shards_pass(s, 1);
    }
    return &s->w.answers[s->w.answers[0].last.size > 0 ? 0 : 1];
}

/* MOVE-4: it looks again when its items have moved. */
TEST(a_piece_has_no_end_behind_an_item_that_is_locked_while_others_move)
{
    struct shards_fixture s;
    struct shards_part t;
    struct buffer hi = {0}, from = {0};
    uint32_t name;
    scene_lock_beside_piece(&s, &t, &name, &from, &hi);
    const struct answer *a = scene_answer_of_piece(&s);
    assert_int_equal(a->count, 1);
    assert_true(a->more);
    assert_true(slice_compare(buffer_slice(&a->last), t.part.anchor) <= 0);
    shards_part_deinit(&t);
    buffer_deinit(&hi);
    buffer_deinit(&from);
    shards_close(&s);
}

/* MOVE-4. The item is locked when the piece begins. When the piece ends, the item is there,
 * without a lock. */
TEST(a_piece_has_no_end_behind_an_item_that_comes_while_others_move)
{
    struct shards_fixture s;
    struct shards_part t;
    struct buffer hi = {0}, from = {0};
    uint32_t name;
    scene_know_map(&s, &name);
    shards_move_surely(&s, name, 0, SHARDS);
    const uint32_t lower = scene_other_mover(&s, name), upper = scene_other_mover(&s, lower);
    assert_int_equal(shards_put(&s, upper, 0, OLD), REPLY_OK);
    struct request r = shards_part_request(&s, &t, lower, 0);
    assert_int_equal(shards_send(&s, &r), REPLY_OK);
    assert_true(slice_compare(t.part.anchor, shards_key(&s, upper, 0)) < 0);
    r = scene_whole_piece(&s, &from, &hi);
    lone_send(&s.w, &r);
    assert_int_equal(s.w.node->key_shard_moves.count, 1);
    r = shards_part_decide(&s, &t);
    lone_send(&s.w, &r);
    const struct answer *a = scene_answer_of_piece(&s);
    assert_int_equal(a->count, 1);
    assert_true(a->more);
    assert_true(slice_equal(buffer_slice(&a->last), t.part.anchor));
    shards_part_deinit(&t);
    buffer_deinit(&hi);
    buffer_deinit(&from);
    shards_close(&s);
}

/* What the partition is now says nothing of what it was. */
TEST(a_piece_of_a_partition_that_was_split_meanwhile_is_not_answered)
{
    struct shards_fixture s;
    struct shards_part t;
    struct buffer hi = {0}, from = {0};
    uint32_t name;
    scene_lock_beside_piece(&s, &t, &name, &from, &hi);
    struct partition *p = partitions_find(&s.w.node->partitions, s.w.table.partitions[0].id);
    p->info.epoch++;
    for (int ms = 0; s.w.answer_count < 2; ms++) {
        assert_true(ms < 1000);
        shards_pass(&s, 1);
    }
    p->info.epoch--;
    assert_int_equal((s.w.answers[0].code == REPLY_OVERLOADED) +
                         (s.w.answers[1].code == REPLY_OVERLOADED),
                     1); /* the lock is not the piece's */
    shards_part_deinit(&t);
    buffer_deinit(&hi);
    buffer_deinit(&from);
    shards_close(&s);
}

/* MOVE-4: its time is over before all moves have begun. */
TEST(a_piece_ends_before_the_first_item_whose_move_has_not_begun)
{
    enum {
        ITEMS = 60
    };
    struct shards_fixture s;
    struct buffer hi = {0}, from = {0}, last = {0};
    shards_open(&s);
    shards_notify_applied(&s, 0, VERSION);
    for (uint32_t name = 0; name < ITEMS; name++)
        assert_int_equal(shards_put(&s, name, 0, 1 + name), REPLY_OK);
    assert_int_equal(shards_move(&s, shards_mover(&s, SHARDS), 0, SHARDS), REPLY_OVERLOADED);
    shards_pass(&s, 10); /* the map has come */
    struct request r = scene_whole_piece(&s, &from, &hi);
    lone_send(&s.w, &r);
    for (int ms = 0; ms <= KEY_SHARD_PIECE_MS; ms++)
        lone_pass(&s.w, 1); /* nothing is written */
    assert_int_equal(shards_finish(&s), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->count, KEY_SHARD_PIECE_MOVES);
    assert_true(lone_answer(&s.w)->more);
    buffer_set(&last, buffer_slice(&lone_answer(&s.w)->last));
    for (uint32_t name = 0; name < ITEMS; name++) {
        if (slice_compare(shards_key(&s, name, 0), buffer_slice(&last)) < 0)
            assert_int_equal(shards_get(&s, name, shards_owner(&s, name, SHARDS)), 1 + name);
    }
    buffer_deinit(&hi);
    buffer_deinit(&from);
    buffer_deinit(&last);
    shards_close(&s);
}
