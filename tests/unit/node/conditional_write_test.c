/* conditional_write_test.c - a node's writes with conditions, and ranges with filters, one fact at
 * a time. REFUSAL-1 is in engine/node/request/item_writes.c. */
#include <xxhash.h>

#include "base/config.h"
#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "engine/store/store.h"
#include "tests/check.h"
#include "tests/support/lone_node.h"

static void open_world(struct lone_node *w)
{
    lone_init(w, PROFILE_OFF);
    lone_open_table(w, 100, 100);
}

/* Programs of conditions, and the memory they need. */
struct conditions {
    struct arena arena;
    struct buffer program;
    uint32_t version;
};

static void conditions_deinit(struct conditions *c)
{
    arena_deinit(&c->arena);
    buffer_deinit(&c->program);
}

/* `:v` is the version. */
static struct slice condition_of(struct conditions *c, const char *text, uint32_t version)
{
    c->version = version;
    struct expression_name value = {
        .key = slice_of(":v"), .value = {ATTR_BINARY, slice_make(&c->version, sizeof c->version)}};
    struct expression_names names = {.values = &value, .value_count = 1};
    struct expression_fault fault;
    const struct condition *tree = condition_parse(slice_of(text), &names, &c->arena, &fault);
    assert_non_null(tree);
    buffer_clear(&c->program);
    program_encode(&c->program, tree);
    return buffer_slice(&c->program);
}

static void put_if(struct lone_node *w, struct conditions *c, uint32_t version, const char *text,
                   uint32_t expected)
{
    struct request r = lone_request(w, REQUEST_PUT, 1);
    r.write.item = lone_item(w, version, 10);
    r.write.condition = condition_of(c, text, expected);
    r.write.return_failed = true;
    lone_send(w, &r);
}

/* ---- conditions ---- */

TEST(a_condition_is_evaluated_on_what_is_applied)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    put_if(&w, &c, 1, "attribute_not_exists(v)", 0);
    lone_write_all(&w);
    lone_assert_answer(&w, REPLY_OK);
    put_if(&w, &c, 2, "attribute_not_exists(v)", 0);
    lone_assert_answer(&w, REPLY_CONDITION_FAILED);
    assert_int_equal(answer_version(lone_answer(&w)), 1); /* the item that failed it */
    put_if(&w, &c, 3, "v = :v", 1);
    lone_write_all(&w);
    assert_int_equal(answer_version(lone_answer(&w)), 1);
    assert_int_equal(lone_get(&w, 1), 3);
    struct request r = lone_request(&w, REQUEST_DELETE, 1);
    r.write.condition = condition_of(&c, "v = :v", 1);
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_CONDITION_FAILED);
    assert_false(lone_answer(&w)->found); /* nobody asked for it */
    lone_assert_verified(&w, 1);
    conditions_deinit(&c);
    lone_deinit(&w);
}

/* The write in flight may never be committed: the refusal waits for it. */
TEST(a_condition_that_fails_only_for_a_write_in_flight_waits_for_it)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    lone_put(&w, 1, 7);
    assert_true(lone_write_begin(&w));
    put_if(&w, &c, 8, "attribute_not_exists(v)", 0);
    assert_int_equal(w.answer_count, 0);
    lone_write_end(&w, 0);
    assert_int_equal(w.answer_count, 2);
    assert_int_equal(w.answers[0].code, REPLY_OK);
    assert_int_equal(w.answers[1].code, REPLY_CONDITION_FAILED);
    assert_int_equal(answer_version(&w.answers[1]), 7);
    conditions_deinit(&c);
    lone_deinit(&w);
}

/* Judged again, it may hold. */
TEST(a_write_that_waited_for_another_is_evaluated_again)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    lone_put(&w, 1, 7);
    assert_true(lone_write_begin(&w));
    put_if(&w, &c, 8, "attribute_not_exists(v)", 0);
    lone_send_to(&w, REQUEST_DELETE, 1); /* behind it, and in flight when it is judged again */
    lone_write_end(&w, 0);
    lone_write_all(&w);
    assert_int_equal(w.answers[w.answer_count - 1].code, REPLY_OK);
    assert_int_equal(lone_get(&w, 1), 8);
    lone_assert_verified(&w, 1);
    conditions_deinit(&c);
    lone_deinit(&w);
}

/* What fails on the applied item fails whatever is in flight: that has not happened yet. */
TEST(a_refusal_by_the_applied_item_does_not_wait)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    lone_put(&w, 1, 7);
    lone_write_all(&w);
    lone_put(&w, 1, 8);
    put_if(&w, &c, 9, "v = :v", 1);
    lone_assert_answer(&w, REPLY_CONDITION_FAILED);
    assert_int_equal(answer_version(lone_answer(&w)), 7);
    put_if(&w, &c, 9, "v = :v", 8); /* holds on the newest item */
    assert_int_equal(w.answer_count, 0);
    lone_write_all(&w);
    assert_int_equal(lone_get(&w, 1), 9);
    conditions_deinit(&c);
    lone_deinit(&w);
}

TEST(a_failed_condition_costs_by_the_larger_item)
{
    static const struct {
        size_t old, new;
        int64_t mcu;
    } CASES[] = {{10, 10, 1000}, {3000, 10, 3000}, {10, 5000, 5000}};
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        lone_put_sized(&w, 1, 1, CASES[i].old);
        lone_write_all(&w);
        struct request r = lone_request(&w, REQUEST_PUT, 1);
        r.write.item = lone_item(&w, 2, CASES[i].new);
        r.write.condition = condition_of(&c, "attribute_not_exists(v)", 0);
        lone_send(&w, &r);
        lone_assert_answer(&w, REPLY_CONDITION_FAILED);
        assert_int_equal(lone_answer(&w)->consumed_mcu, CASES[i].mcu);
    }
    conditions_deinit(&c);
    lone_deinit(&w);
}

TEST(what_is_no_program_is_refused)
{
    struct lone_node w;
    open_world(&w);
    struct request r = lone_request(&w, REQUEST_PUT, 1);
    r.write.item = lone_item(&w, 1, 10);
    r.write.condition = slice_of("\xff");
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_MALFORMED);
    r.write.condition = slice_make(NULL, 0);
    r.write.return_values = WRITE_RETURNS;
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_MALFORMED);
    r = lone_request(&w, REQUEST_RANGE, 0);
    r.range.filter = slice_of("\xff");
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_MALFORMED);
    lone_deinit(&w);
}

/* ---- updates ---- */

/* What the item has if there was none. */
static struct slice key_item(struct lone_node *w)
{
    struct item_writer writer;
    buffer_clear(&w->item);
    item_begin(&writer, &w->item);
    item_name(&writer, slice_of("id"));
    item_string(&writer, slice_of("1"));
    item_end(&writer);
    return buffer_slice(&w->item);
}

/* `:v` is the version. */
static void update(struct lone_node *w, struct conditions *c, const char *text, uint32_t version,
                   enum write_return return_values)
{
    c->version = version;
    struct expression_name value = {
        .key = slice_of(":v"), .value = {ATTR_BINARY, slice_make(&c->version, sizeof c->version)}};
    struct expression_names names = {.values = &value, .value_count = 1};
    struct expression_fault fault;
    const struct update *tree = update_parse(slice_of(text), &names, &c->arena, &fault);
    assert_non_null(tree);
    buffer_clear(&c->program);
    update_program_encode(&c->program, tree);
    struct request r = lone_request(w, REQUEST_UPDATE, 1);
    r.write.item = key_item(w);
    r.write.update = buffer_slice(&c->program);
    r.write.return_values = (uint8_t)return_values;
    lone_send(w, &r);
}

TEST(an_update_sees_the_updates_in_flight_before_it)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    update(&w, &c, "SET v = :v", 5, RETURN_NEW);
    assert_true(lone_write_begin(&w));
    update(&w, &c, "SET x = v, v = :v", 6, RETURN_OLD);
    update(&w, &c, "SET v = x", 0, RETURN_NEW);
    assert_int_equal(w.answer_count, 0);
    lone_write_all(&w);
    const uint32_t versions[] = {5, 5, 5}; /* new, old, new */
    assert_int_equal(w.answer_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(answer_version(&w.answers[i]), versions[i]);
    lone_assert_verified(&w, 1);
    lone_crash(&w);
    assert_int_equal(lone_get(&w, 1), 5);
    conditions_deinit(&c);
    lone_deinit(&w);
}

TEST(an_update_that_does_not_fit_the_item_does_nothing)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    for (int there = 0; there <= 1; there++) {
        update(&w, &c, "SET v = gone", 1, RETURN_NEW);
        lone_assert_answer(&w, REPLY_UPDATE_FAILED);
        assert_int_equal(lone_answer(&w)->fault, UPDATE_NO_ATTRIBUTE);
        update(&w, &c, "SET v.x = :v", 1, RETURN_OLD);
        lone_assert_answer(&w, REPLY_UPDATE_FAILED);
        assert_int_equal(lone_answer(&w)->fault, UPDATE_PATH_INVALID);
        assert_int_equal(lone_get(&w, 1), there ? 7 : 0);
        lone_put_sized(&w, 1, 7, 3000);
        lone_write_all(&w);
    }
    update(&w, &c, "SET v = gone", 1, RETURN_NEW);
    assert_int_equal(lone_answer(&w)->consumed_mcu, 3000);
    conditions_deinit(&c);
    lone_deinit(&w);
}

TEST(an_update_that_only_removes_makes_no_item)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    update(&w, &c, "REMOVE x", 0, RETURN_NEW);
    lone_write_all(&w);
    lone_assert_answer(&w, REPLY_OK);
    assert_false(lone_answer(&w)->found);
    lone_assert_verified(&w, 0);
    update(&w, &c, "SET x = :v REMOVE y", 1, RETURN_NONE);
    lone_write_all(&w);
    lone_assert_verified(&w, 1);
    conditions_deinit(&c);
    lone_deinit(&w);
}

/* It fits the newest item, or does not: what counts for a refusal is what is applied. */
TEST(an_update_that_does_not_fit_an_item_in_flight_waits)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    update(&w, &c, "SET x = :v", 5, RETURN_NEW);
    lone_write_all(&w);
    update(&w, &c, "REMOVE x", 0, RETURN_NEW);
    assert_true(lone_write_begin(&w));
    update(&w, &c, "SET y = x", 0, RETURN_NEW);
    assert_int_equal(w.answer_count, 0);
    lone_write_all(&w);
    assert_int_equal(w.answer_count, 2);
    assert_int_equal(w.answers[1].code, REPLY_UPDATE_FAILED);
    conditions_deinit(&c);
    lone_deinit(&w);
}

/* An item whose checksum holds, and whose attributes do not: a peer may have sent it. */
TEST(an_item_that_no_writer_wrote_is_not_evaluated)
{
    struct lone_node w;
    struct conditions c = {0};
    struct buffer bad = {0};
    open_world(&w);
    lone_key(&w, 1);
    buffer_append_slice(&bad, lone_item(&w, 1, 10));
    memset(bad.data + bad.size - 8, 0xff, 8);
    bad.data[16] = 0xff; /* the first name is longer than the item */
    uint64_t checksum = XXH3_64bits(bad.data + sizeof checksum, bad.size - sizeof checksum);
    memcpy(bad.data, &checksum, sizeof checksum);
    assert_true(item_checksum_holds(buffer_slice(&bad)));
    assert_int_equal(item_check(buffer_slice(&bad)), STATUS_CORRUPT);
    store_put(node_store(w.node), buffer_slice(&w.key), buffer_slice(&bad));
    put_if(&w, &c, 2, "v = :v", 1);
    lone_assert_answer(&w, REPLY_CORRUPT);
    update(&w, &c, "SET v = :v", 1, RETURN_NEW);
    lone_assert_answer(&w, REPLY_CORRUPT);
    struct request r = lone_request(&w, REQUEST_RANGE, 0);
    r.range.lo = w.table.partitions[0].lo;
    r.range.bytes_max = 1 << 20;
    r.range.filter = condition_of(&c, "v = :v", 1);
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_CORRUPT);
    buffer_deinit(&bad);
    conditions_deinit(&c);
    lone_deinit(&w);
}

/* ---- filters ---- */

static void assert_page(struct lone_node *w, struct request *r, uint32_t scanned, uint32_t count,
                        bool more)
{
    r->range.bytes_max = 1 << 20;
    lone_send(w, r);
    lone_assert_answer(w, REPLY_OK);
    assert_int_equal(lone_answer(w)->scanned, scanned);
    assert_int_equal(lone_answer(w)->count, count);
    assert_int_equal(lone_answer(w)->more, more);
    assert_int_equal(lone_answer(w)->body.size > 0, count > 0 && !r->range.count_only);
    assert_int_equal(lone_answer(w)->last.size > 0, scanned > 0);
}

/* An item with two equal sets of so many elements, in opposite orders. */
static struct slice item_with_sets(struct lone_node *w, uint32_t elements)
{
    struct buffer bytes = {0};
    struct item_writer to;
    char text[16];
    item_begin(&to, &bytes);
    const struct slice item = lone_item(w, 1, 10);
    struct attr_cursor c = item_attrs(item);
    struct slice name;
    for (struct attr value; attr_next(&c, &name, &value);) {
        item_name(&to, name);
        item_attr(&to, &value);
    }
    for (int set = 0; set < 2; set++) {
        item_name(&to, slice_of(set == 0 ? "a" : "b"));
        item_open(&to, ATTR_STRING_SET);
        for (uint32_t i = 0; i < elements; i++) {
            const int size = snprintf(text, sizeof text, "%u", set == 0 ? i : elements - 1 - i);
            item_string(&to, slice_make(text, (size_t)size));
        }
        item_close(&to);
    }
    item_end(&to);
    const struct slice out = arena_copy(&w->arena, buffer_slice(&bytes));
    buffer_deinit(&bytes);
    return out;
}

static void put_sets(struct lone_node *w, uint32_t key, uint32_t elements)
{
    struct request r = lone_request(w, REQUEST_PUT, key);
    r.write.item = item_with_sets(w, elements);
    lone_send(w, &r);
    lone_write_all(w);
    lone_assert_answer(w, REPLY_OK);
}

TEST(a_range_whose_filter_is_costly_goes_on_in_another_turn)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    for (uint32_t key = 1; key <= 4; key++)
        put_sets(&w, key, 30000);
    struct request r = lone_request(&w, REQUEST_RANGE, 0);
    r.range.lo = w.table.partitions[0].lo;
    r.range.filter = condition_of(&c, "a = b", 1);
    assert_page(&w, &r, 2, 2, true);
    conditions_deinit(&c);
    lone_deinit(&w);
}

TEST(an_expression_that_is_too_costly_for_an_item_is_refused)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    put_sets(&w, 1, 30000);
    struct request r = lone_request(&w, REQUEST_RANGE, 0);
    r.range.lo = w.table.partitions[0].lo;
    r.range.bytes_max = 1 << 20;
    r.range.filter = condition_of(&c, "a=b AND a=b AND a=b AND a=b AND a=b AND a=b AND a=b", 1);
    lone_send(&w, &r);
    lone_assert_answer(&w, REPLY_UPDATE_FAILED);
    put_if(&w, &c, 2, "a=b AND a=b AND a=b AND a=b AND a=b AND a=b AND a=b", 1);
    lone_assert_answer(&w, REPLY_UPDATE_FAILED);
    assert_int_equal(lone_answer(&w)->fault, UPDATE_TOO_COSTLY);
    conditions_deinit(&c);
    lone_deinit(&w);
}

TEST(a_filter_hides_items_that_were_read_and_paid_for)
{
    struct lone_node w;
    struct conditions c = {0};
    open_world(&w);
    for (uint32_t name = 0; name < 10; name++) {
        lone_put_sized(&w, name, name % 2, 1000);
        lone_write_all(&w);
    }
    struct request r = lone_request(&w, REQUEST_RANGE, 0);
    r.range.lo = w.table.partitions[0].lo;
    r.range.filter = condition_of(&c, "v = :v", 1);
    assert_page(&w, &r, 10, 5, false);
    const int64_t paid = lone_answer(&w)->consumed_mcu;
    r.range.filter = condition_of(&c, "v = :v", 9);
    assert_page(&w, &r, 10, 0, false);
    assert_int_equal(lone_answer(&w)->consumed_mcu, paid);
    r.range.items_max = 4; /* counts what is read */
    assert_page(&w, &r, 4, 0, true);
    r.range.filter = slice_make(NULL, 0);
    r.range.count_only = true;
    assert_page(&w, &r, 4, 4, true);
    r.range.hi = r.range.lo;
    assert_page(&w, &r, 0, 0, false);
    conditions_deinit(&c);
    lone_deinit(&w);
}

/* The next page begins behind the last key, in both directions. */
TEST(pages_go_on_behind_the_last_key_that_was_read)
{
    struct lone_node w;
    struct conditions c = {0};
    struct buffer key = {0};
    open_world(&w);
    for (uint32_t name = 0; name < 10; name++) {
        lone_put(&w, name, 1);
        lone_write_all(&w);
    }
    for (int reverse = 0; reverse <= 1; reverse++) {
        struct request r = lone_request(&w, REQUEST_RANGE, 0);
        r.range.lo = w.table.partitions[0].lo;
        r.range.reverse = reverse;
        r.range.items_max = 4;
        r.range.filter = condition_of(&c, "v = :v", 9);
        assert_page(&w, &r, 4, 0, true);
        buffer_set(&key, buffer_slice(&lone_answer(&w)->last));
        if (!reverse)
            buffer_append_u8(&key, 0);
        *(reverse ? &r.range.hi : &r.range.lo) = buffer_slice(&key);
        r.range.items_max = 0;
        assert_page(&w, &r, 6, 0, false);
    }
    buffer_deinit(&key);
    conditions_deinit(&c);
    lone_deinit(&w);
}
