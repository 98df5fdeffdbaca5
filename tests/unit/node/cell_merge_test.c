/* cell_merge_test.c - the cells that a counter gives up are added to cell 0, whatever crashes. */
#include "tests/check.h"

#include <stdlib.h>

#include "engine/expression/update_program.h"
#include "engine/item/storage_key.h"
#include "engine/message/move_messages.h"
#include "engine/node/key_sharding/cell_merge.h"
#include "tests/support/shards_fixture.h"

enum {
    ITEM = 3 /* its name */
};

static void scene_open(struct shards_fixture *s, bool split)
{
    shards_open(s);
    if (split)
        shards_split(s);
    for (uint32_t i = 0; i < s->w.table.partition_count; i++)
        shards_notify_applied(s, i, VERSION);
}

/* An item with its key attributes, and what is given: "c" 5, "t" "text". NULL: not. */
static struct slice cell_item(struct buffer *out, const char *c, const char *d, const char *text)
{
    struct item_writer w;
    struct number n;
    buffer_clear(out);
    item_begin(&w, out);
    item_name(&w, slice_of("id"));
    item_string(&w, slice_of("hot"));
    item_name(&w, slice_of("n"));
    item_string(&w, slice_of("x"));
    const char *numbers[] = {c, d};
    for (int i = 0; i < 2; i++) {
        if (numbers[i] == NULL)
            continue;
        assert_int_equal(number_parse(slice_of(numbers[i]), &n), NUMBER_OK);
        item_name(&w, slice_of(i == 0 ? "c" : "d"));
        item_number(&w, &n);
    }
    if (text != NULL) {
        item_name(&w, slice_of("t"));
        item_string(&w, slice_of(text));
    }
    item_end(&w);
    return buffer_slice(out);
}

static void put_cell(struct shards_fixture *s, uint32_t shard, struct slice item)
{
    const struct slice key = shards_key(s, ITEM, shard);
    struct request r = shards_request(s, REQUEST_PUT, key);
    r.write.key = key;
    r.write.item = item;
    assert_int_equal(shards_send(s, &r), REPLY_OK);
}

/* The cell's number c; 0: there is none. */
static int cell_count(struct shards_fixture *s, uint32_t shard)
{
    struct attr c;
    struct number n;
    size_t used;
    char text[NUMBER_TEXT_MAX];
    const struct slice key = shards_key(s, ITEM, shard);
    struct request r = shards_request(s, REQUEST_GET, key);
    r.get.key = key;
    r.get.consistent = true;
    assert_int_equal(shards_send(s, &r), REPLY_OK);
    const struct answer *a = lone_answer(&s->w);
    if (!a->found || !item_find(buffer_slice(&a->body), slice_of("c"), &c))
        return 0;
    assert_int_equal(number_decode(c.body, &n, &used), STATUS_OK);
    number_format(&n, text);
    return atoi(text);
}

static int all_cells(struct shards_fixture *s)
{
    int sum = 0;
    for (uint32_t shard = 0; shard < SHARDS; shard++)
        sum += cell_count(s, shard);
    return sum;
}

static struct request merge_request(struct shards_fixture *s, uint32_t shard, uint32_t shards,
                                    struct buffer *from, struct buffer *hi)
{
    buffer_set(from, shards_key(s, ITEM, shard));
    from->size = storage_key_collection_size(buffer_slice(from));
    buffer_set(hi, buffer_slice(from));
    storage_key_successor(hi);
    struct request r = shards_request(s, REQUEST_KEY_SHARD_MOVE, buffer_slice(from));
    request_edit_move(&r)->key = buffer_slice(from);
    request_edit_move(&r)->hi = buffer_slice(hi);
    request_edit_move(&r)->shards = shards;
    request_edit_move(&r)->merge_cells = true;
    return r;
}

/* As the mover does: again until the shard was found empty. */
static uint32_t merge_shard(struct shards_fixture *s, uint32_t shard, uint32_t shards)
{
    struct buffer from = {0}, hi = {0};
    uint32_t moved = 0;
    for (int i = 0;; i++) {
        const struct request r = merge_request(s, shard, shards, &from, &hi);
        assert_true(i < 2000);
        const enum reply_code code = shards_send(s, &r);
        const struct answer *a = lone_answer(&s->w);
        moved += code == REPLY_OK ? a->count : 0;
        if (code == REPLY_OK && !a->more && a->count == 0)
            break;
        shards_pass(s, 20);
    }
    buffer_deinit(&from);
    buffer_deinit(&hi);
    return moved;
}

TEST(cells_that_are_given_up_are_added_to_cell_0)
{
    for (int split = 0; split < 2; split++) {
        for (int there = 0; there < 2; there++) { /* whether cell 0 is */
            struct shards_fixture s;
            struct buffer item = {0};
            scene_open(&s, split == 1);
            if (there == 1)
                put_cell(&s, 0, cell_item(&item, "1", NULL, "text"));
            for (uint32_t shard = 1; shard < SHARDS; shard++)
                put_cell(&s, shard, cell_item(&item, "10", shard == 5 ? "7" : NULL, NULL));
            for (uint32_t shard = 3; shard < SHARDS; shard++)
                assert_int_equal(merge_shard(&s, shard, 3), 1);
            assert_int_equal(merge_shard(&s, 1, 3), 0); /* it stays */
            assert_int_equal(cell_count(&s, 0), there + 10 * (SHARDS - 3));
            for (uint32_t shard = 1; shard < SHARDS; shard++)
                assert_int_equal(cell_count(&s, shard), shard < 3 ? 10 : 0);
            assert_int_equal(merge_shard(&s, 1, 1) + merge_shard(&s, 2, 1), 2);
            const int sum = there + 10 * (SHARDS - 1);
            assert_int_equal(cell_count(&s, 0), sum);
            const struct slice key = shards_key(&s, ITEM, 0);
            struct request r = shards_request(&s, REQUEST_GET, key);
            r.get.key = key;
            r.get.consistent = true;
            assert_int_equal(shards_send(&s, &r), REPLY_OK);
            struct attr d;
            const struct slice now = buffer_slice(&lone_answer(&s.w)->body);
            assert_true(item_find(now, slice_of("d"), &d));
            assert_int_equal(item_find(now, slice_of("t"), &d), there);
            lone_assert_verified(&s.w, 1);
            buffer_deinit(&item);
            shards_close(&s);
        }
    }
}

/* After each write of the log: nothing is lost, and nothing counts twice. */
TEST(a_crash_at_any_step_changes_no_sum)
{
    enum {
        WRITES = 8
    };
    (void)state;
    for (uint32_t shard = 1; shard < SHARDS; shard++) {
        for (int writes = 0; writes < WRITES; writes++) {
            struct shards_fixture s;
            struct buffer item = {0}, from = {0}, hi = {0};
            scene_open(&s, true);
            put_cell(&s, 0, cell_item(&item, "1", NULL, NULL));
            put_cell(&s, shard, cell_item(&item, "10", NULL, NULL));
            struct request r = merge_request(&s, shard, 1, &from, &hi);
            shards_send(&s, &r); /* no map yet */
            shards_pass(&s, 10);
            lone_send(&s.w, &r);
            for (int i = 0; i < writes; i++) {
                if (lone_write_begin(&s.w))
                    lone_write_end(&s.w, 0);
                else
                    lone_pass(&s.w, 1);
            }
            lone_crash(&s.w);
            shards_pass(&s, writes % 2 == 0 ? 100 : 12000);
            assert_int_equal(all_cells(&s), 11);
            merge_shard(&s, shard, 1);
            assert_int_equal(cell_count(&s, 0), 11);
            assert_int_equal(cell_count(&s, shard), 0);
            shards_pass(&s, 200);
            lone_assert_verified(&s.w, 1);
            buffer_deinit(&item);
            buffer_deinit(&from);
            buffer_deinit(&hi);
            shards_close(&s);
        }
    }
}

/* Nothing is written for so long that a call that may be repeated would be. A second addition would
 * be refused for the lock of the first one, or be done after the move: MOVE-1. */
TEST(an_addition_is_requested_once_however_long_it_takes)
{
    struct shards_fixture s;
    struct buffer item = {0}, from = {0}, hi = {0};
    scene_open(&s, true);
    const uint32_t shard = shards_is_upper(&s, 1) == shards_is_upper(&s, 0) ? 1 : 2;
    put_cell(&s, 0, cell_item(&item, "1", NULL, NULL));
    put_cell(&s, shard, cell_item(&item, "10", NULL, NULL));
    struct request r = merge_request(&s, shard, 1, &from, &hi);
    shards_send(&s, &r); /* no map yet */
    shards_pass(&s, 10);
    lone_send(&s.w, &r);
    for (int ms = 0; s.w.node->key_shard_moves.all[0].step != KEY_SHARD_PUTTING; ms++) {
        assert_true(ms < 100);
        if (lone_write_begin(&s.w))
            lone_write_end(&s.w, 0);
        else
            lone_pass(&s.w, 1);
    }
    for (int ms = 0; ms < 600; ms++)
        lone_pass(&s.w, 1);
    assert_int_equal(s.w.node->key_shard_moves.all[0].step, KEY_SHARD_PUTTING);
    assert_int_equal(shards_finish(&s), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->count, 1);
    assert_int_equal(cell_count(&s, 0), 11);
    assert_int_equal(cell_count(&s, shard), 0);
    buffer_deinit(&item);
    buffer_deinit(&from);
    buffer_deinit(&hi);
    shards_close(&s);
}

/* The cell stays, and is tried again. */
TEST(what_cannot_be_added_stays)
{
    struct shards_fixture s;
    struct buffer item = {0}, from = {0}, hi = {0};
    (void)state;
    scene_open(&s, false);
    put_cell(&s, 0, cell_item(&item, "9E+125", NULL, NULL));
    put_cell(&s, 4, cell_item(&item, "9E+125", NULL, NULL));
    for (int i = 0; i < 5; i++) {
        const struct request r = merge_request(&s, 4, 1, &from, &hi);
        assert_int_equal(shards_send(&s, &r), REPLY_OK);
        assert_int_equal(lone_answer(&s.w)->count, 0);
        assert_true(lone_answer(&s.w)->more);
        shards_pass(&s, 20);
    }
    put_cell(&s, 4, cell_item(&item, "-9E+125", NULL, NULL));
    assert_int_equal(merge_shard(&s, 4, 1), 1);
    assert_int_equal(cell_count(&s, 0), 0);
    buffer_deinit(&item);
    buffer_deinit(&from);
    buffer_deinit(&hi);
    shards_close(&s);
}

TEST(only_pieces_merge_cells_and_only_parts_may_be_moves)
{
    struct shards_fixture s;
    struct buffer item = {0};
    (void)state;
    scene_open(&s, false);
    struct request r = shards_moving(&s, ITEM, 4, 1);
    request_edit_move(&r)->merge_cells = true;
    assert_int_equal(shards_send(&s, &r), REPLY_MALFORMED);
    const struct slice key = shards_key(&s, ITEM, 0);
    r = shards_request(&s, REQUEST_UPDATE, key);
    r.write.key = key;
    r.write.item = cell_item(&item, NULL, NULL, NULL);
    r.write.origin = WRITE_BY_MOVE;
    assert_int_equal(shards_send(&s, &r), REPLY_MALFORMED);
    r.write.origin = WRITE_BY_CLIENT;
    assert_int_equal(shards_send(&s, &r), REPLY_OK);
    buffer_deinit(&item);
    shards_close(&s);
}

/* Keys may be numbers, which are not added. */
TEST(the_update_adds_all_numbers_that_are_no_keys)
{
    static const struct table T = {.partition_key = {{(const uint8_t *)"c", 1}, ATTR_NUMBER},
                                   .sort_key = {{(const uint8_t *)"n", 1}, ATTR_STRING}};
    struct arena arena = {0};
    struct buffer cell = {0}, out = {0};
    struct slice item, update;
    struct attr value;
    struct number n;
    size_t used;
    char text[NUMBER_TEXT_MAX];
    (void)state;
    cell_merge(&T, cell_item(&cell, "5", "-2.5", "text"), &arena, &item, &update);
    assert_int_equal(item_count(item), 2);
    assert_true(item_find(item, slice_of("c"), &value) && item_find(item, slice_of("n"), &value));
    assert_int_equal(update_program_check(update), STATUS_OK);
    assert_int_equal(update_apply(update, item, false, &(struct steps){0}, &out), UPDATE_OK);
    assert_int_equal(item_count(buffer_slice(&out)), 3);
    assert_true(item_find(buffer_slice(&out), slice_of("d"), &value));
    assert_int_equal(number_decode(value.body, &n, &used), STATUS_OK);
    number_format(&n, text);
    assert_string_equal(text, "-2.5");
    cell_merge(&T, cell_item(&cell, "5", NULL, NULL), &arena, &item, &update);
    assert_int_equal(update_program_check(update), STATUS_OK);
    buffer_deinit(&cell);
    buffer_deinit(&out);
    arena_deinit(&arena);
}
