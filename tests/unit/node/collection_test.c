/* Item collections that stay whole: what they hold is known exactly, what is in flight included. */
#include "tests/check.h"

#include "base/config.h"
#include "engine/catalog/split.h"
#include "engine/heat/split_point.h"
#include "engine/node/core/collection.h"
#include "tests/support/lone_node.h"

enum {
    LIMIT = 1024,
    BESIDES = 6 /* bytes of an item of lone_put_sized, without its filler */
};

static void open_world(struct lone_node *w)
{
    lone_init(w, PROFILE_OFF);
    lone_set(w, "collection_max_bytes", "1KiB");
    w->collections = 2; /* names with the same parity lie in one */
    lone_open_table(w, 100, 100);
}

static enum reply_code put(struct lone_node *w, uint32_t name, size_t size)
{
    lone_put_sized(w, name, 1, size - BESIDES);
    if (w->answer_count == 0)
        lone_write_all(w);
    return lone_answer(w)->code;
}

/* COLLECTION-1 */
TEST(a_collection_takes_exactly_its_limit_across_a_restart)
{
    struct lone_node w;
    open_world(&w);
    assert_int_equal(put(&w, 0, 1000), REPLY_OK);
    assert_int_equal(lone_answer(&w)->collection_bytes, 1000);
    lone_crash(&w);
    assert_int_equal(put(&w, 2, 25), REPLY_COLLECTION_FULL);
    assert_int_equal(put(&w, 2, 24), REPLY_OK);
    lone_checkpoint_all(&w);
    lone_crash(&w);
    assert_int_equal(put(&w, 4, 7), REPLY_COLLECTION_FULL);
    assert_int_equal(put(&w, 1, LIMIT), REPLY_OK); /* another one */
    assert_int_equal(put(&w, 0, 900), REPLY_OK);
    assert_int_equal(put(&w, 4, 100), REPLY_OK);
    lone_assert_verified(&w, 4);
    lone_deinit(&w);
}

/* COLLECTION-2 */
TEST(what_is_in_flight_counts)
{
    struct lone_node w;
    open_world(&w);
    for (uint32_t name = 0; name < 8; name += 2) {
        lone_put_sized(&w, name, 1, 256 - BESIDES);
        assert_int_equal(w.answer_count, 0); /* on its way */
    }
    lone_put_sized(&w, 8, 1, 1);
    lone_assert_answer(&w, REPLY_COLLECTION_FULL);
    lone_send_to(&w, REQUEST_DELETE, 0);
    lone_put_sized(&w, 8, 1, 256 - BESIDES); /* the deletion is before it */
    assert_int_equal(w.answer_count, 0);
    lone_write_all(&w);
    lone_assert_verified(&w, 4);
    lone_deinit(&w);
}

TEST(what_it_counts_is_no_item)
{
    struct lone_node w;
    open_world(&w);
    for (uint32_t name = 0; name < 6; name++)
        assert_int_equal(put(&w, name, 100), REPLY_OK);
    struct request r = lone_request(&w, REQUEST_RANGE, 0);
    for (int reverse = 0; reverse <= 1; reverse++) {
        r.range.lo = w.table.partitions[0].lo;
        r.range.bytes_max = 1 << 20;
        r.range.reverse = reverse;
        lone_send(&w, &r);
        lone_assert_answer(&w, REPLY_OK);
        assert_int_equal(lone_answer(&w)->count, 6);
    }
    lone_assert_verified(&w, 6);
    lone_deinit(&w);
}

/* COLLECTION-3 */
TEST(no_split_divides_one)
{
    struct lone_node w;
    struct buffer body = {0};
    open_world(&w);
    const struct partition_info *p = &w.table.partitions[0];
    struct table_split s = {
        .table_id = w.table.id, .partition = p->id, .epoch = p->epoch, .point_count = 1};
    table_split_share_equally(&s);
    struct request r = {.op = REQUEST_TABLE_SPLIT};
    lone_key(&w, 2);
    for (int whole = 0; whole <= 1; whole++) {
        s.points[0] = whole ? collection_key(buffer_slice(&w.key)) : buffer_slice(&w.key);
        buffer_clear(&body);
        table_split_encode(&body, &s);
        r.table_split.split = buffer_slice(&body);
        lone_send(&w, &r);
        lone_write_all(&w);
        lone_assert_answer(&w, whole ? REPLY_OK : REPLY_MALFORMED);
    }
    buffer_deinit(&body);
    lone_deinit(&w);
}

TEST(heat_in_one_is_not_advised_to_be_split)
{
    struct lone_node w;
    struct split_advice advice;
    open_world(&w);
    for (uint32_t i = 0; i < 4000; i++)
        lone_send_to(&w, REQUEST_GET, i * 7919 % 500 * 2);
    struct request r = {.op = REQUEST_PARTITION_HEAT,
                        .partition = w.table.partitions[0].id,
                        .epoch = w.table.partitions[0].epoch};
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_OK);
    assert_int_equal(split_advice_decode(buffer_slice(&lone_answer(&w)->body), &advice), STATUS_OK);
    assert_int_equal(advice.verdict, SPLIT_REFUSED_COLLECTION);
    lone_key(&w, 2);
    assert_true(slice_equal(advice.key, collection_key(buffer_slice(&w.key))));
    assert_int_equal(advice.key_share_ppm, SPLIT_WHOLE_PPM);
    lone_deinit(&w);
}

TEST(a_damaged_row_is_not_believed)
{
    uint8_t row[COLLECTION_ROW_SIZE];
    struct slice key = slice_of("of some collection");
    int64_t bytes;
    collection_encode(key, 12345, row);
    assert_int_equal(collection_decode(key, slice_make(row, sizeof row), &bytes), STATUS_OK);
    assert_int_equal(bytes, 12345);
    assert_int_equal(collection_decode(slice_of("of another"), slice_make(row, sizeof row), &bytes),
                     STATUS_CORRUPT);
    assert_int_equal(collection_decode(key, slice_make(row, sizeof row - 1), &bytes),
                     STATUS_CORRUPT);
    for (size_t bit = 0; bit < sizeof row * 8; bit++) {
        row[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(collection_decode(key, slice_make(row, sizeof row), &bytes),
                         STATUS_CORRUPT);
        row[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

/* Writes of its items are refused, the node goes on, and other collections take writes. */
TEST(an_item_whose_collection_has_no_row_is_not_written)
{
    struct lone_node w;
    open_world(&w);
    assert_int_equal(put(&w, 0, 100), REPLY_OK);
    assert_int_equal(put(&w, 2, 100), REPLY_OK);
    lone_key(&w, 0);
    store_put(node_store(w.node), collection_key(buffer_slice(&w.key)), slice_make(NULL, 0));
    assert_int_equal(put(&w, 0, 100), REPLY_CORRUPT);
    assert_int_equal(put(&w, 2, 300), REPLY_CORRUPT);
    lone_send_to(&w, REQUEST_DELETE, 0);
    lone_assert_answer(&w, REPLY_CORRUPT);
    assert_int_equal(lone_get(&w, 0), 1);
    assert_int_equal(put(&w, 1, 100), REPLY_OK);
    lone_deinit(&w);
}
