/* transactions_whole_test.c - transactions in one partition: one entry does them. */
#include "engine/message/frames.h"
#include "tests/check.h"
#include "tests/support/transact_fixture.h"

/* Puts both items, with so many bytes of filler. 0: deletes the item. */
static enum reply_code scene_transact_returning(struct transact_fixture *s, size_t first,
                                                size_t second, enum write_return returns)
{
    struct buffer parts = {0}, item = {0};
    for (uint32_t name = FIRST; name <= SECOND; name++) {
        const size_t filler = name == FIRST ? first : second;
        struct request r = lone_request(&s->w, filler > 0 ? REQUEST_PUT : REQUEST_DELETE, name);
        buffer_set(&item, lone_item(&s->w, NEW, filler));
        if (filler > 0)
            r.write.item = buffer_slice(&item);
        r.write.return_values = (uint8_t)returns;
        request_encode(&parts, &r);
    }
    struct request r = lone_request(&s->w, REQUEST_PUT, FIRST);
    const struct slice key = buffer_slice(&s->anchor);
    r.op = REQUEST_TRANSACT;
    request_edit_transact(&r)->key = key;
    request_edit_transact(&r)->parts = buffer_slice(&parts);
    request_edit_transact(&r)->transaction = buffer_slice(&s->other);
    request_edit_transact(&r)->mcu_min = 4 * MCU_PER_UNIT;
    const enum reply_code code = transact_send(s, &r);
    buffer_deinit(&parts);
    buffer_deinit(&item);
    return code;
}

static enum reply_code scene_transact_sized(struct transact_fixture *s, size_t first, size_t second)
{
    return scene_transact_returning(s, first, second, RETURN_NONE);
}

static enum reply_code scene_transact(struct transact_fixture *s)
{
    return scene_transact_sized(s, 10, 10);
}

/* One part may take the room that another one makes. */
TEST(parts_share_the_limit_of_their_collection)
{
    struct transact_fixture s;
    transact_open(&s);
    lone_deinit(&s.w);
    lone_init(&s.w, PROFILE_OFF);
    lone_set(&s.w, "collection_max_bytes", "1KiB");
    s.w.collections = 1;
    lone_open_table(&s.w, 100, 100);
    lone_put_sized(&s.w, SECOND, OLD, 500);
    lone_write_all(&s.w);
    transact_part(&s, 1, 1);
    assert_int_equal(scene_transact_sized(&s, 900, 500), REPLY_COLLECTION_FULL);
    assert_int_equal(scene_transact_sized(&s, 900, 0), REPLY_OK);
    lone_assert_verified(&s.w, 1);
    transact_close(&s);
}

TEST(parts_in_one_partition_show_their_items)
{
    struct transact_fixture s;
    struct reply part;
    transact_open(&s);
    assert_int_equal(scene_transact_returning(&s, 10, 0, RETURN_NEW), REPLY_OK);
    struct reader parts = {buffer_slice(&lone_answer(&s.w)->body), false};
    assert_int_equal(reply_decode(reader_sized(&parts), &part), STATUS_OK);
    assert_true(slice_equal(part.item.bytes, lone_item(&s.w, NEW, 10)));
    assert_int_equal(reply_decode(reader_sized(&parts), &part), STATUS_OK);
    assert_false(part.item.found); /* it is deleted */
    assert_int_equal(parts.left.size, 0);
    s.token[0]++;
    transact_part(&s, 2, 2);
    assert_int_equal(scene_transact(&s), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->body.size, 0); /* nobody asks for them */
    transact_close(&s);
}

TEST(one_partition_does_all_by_one_entry)
{
    struct transact_fixture s;
    (void)state;
    transact_open(&s);
    assert_int_equal(scene_transact(&s), REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->consumed_mcu, 4 * MCU_PER_UNIT);
    transact_expect(&s, NEW, NEW);
    assert_int_equal(scene_transact(&s), REPLY_TOKEN_DONE);
    lone_crash(&s.w);
    transact_expect(&s, NEW, NEW);
    assert_int_equal(scene_transact(&s), REPLY_TOKEN_DONE);
    lone_assert_verified(&s.w, 2);
    transact_close(&s);
}

TEST(one_partition_does_nothing_while_an_item_is_locked)
{
    struct transact_fixture s;
    (void)state;
    transact_open(&s);
    assert_int_equal(transact_prepare(&s, SECOND), REPLY_OK);
    transact_part(&s, 2, 1);
    assert_int_equal(scene_transact(&s), REPLY_LOCKED);
    transact_expect(&s, OLD, OLD);
    transact_close(&s);
}
