/* expiry_test.c - items whose time to live is over, at a node, one step at a time. */
#include "tests/check.h"

#include "base/config.h"
#include "engine/item/item_time.h"
#include "engine/message/frames.h"
#include "engine/node/background/expiry_scan.h"
#include "engine/node/node_internal.h"
#include "engine/transaction/transaction.h"
#include "tests/support/lone_node.h"

#define WALL_MS INT64_C(1790000000000)
#define WALL_S  (WALL_MS / 1000)

enum {
    WINDOW_MS = 4000,
    YEAR_S = 365 * 24 * 3600
};

/* {t: the text as a number, f: `filler` bytes}. */
static struct slice item_of(struct buffer *out, const char *time, size_t filler)
{
    static const uint8_t bytes[4000];
    struct item_writer w;
    struct number n;
    buffer_clear(out);
    item_begin(&w, out);
    assert_int_equal(number_parse(slice_of(time), &n), NUMBER_OK);
    item_name(&w, slice_of("t"));
    item_number(&w, &n);
    item_name(&w, slice_of("f"));
    item_binary(&w, slice_make(bytes, filler));
    item_end(&w);
    return buffer_slice(out);
}

/* ---- what is over ---- */

static bool is_over(const char *time, int64_t wall_ms)
{
    struct buffer b = {0};
    struct item_times times;
    item_times_at(wall_ms, &times);
    const bool over = item_time_is_over(&times, item_of(&b, time, 1), slice_of("t"));
    assert_false(item_time_is_over(&times, buffer_slice(&b), slice_of("f"))); /* a binary */
    assert_false(item_time_is_over(&times, buffer_slice(&b), slice_of("x")));
    assert_false(item_time_is_over(&times, buffer_slice(&b), slice_make(NULL, 0)));
    assert_false(item_time_is_over(&times, slice_make(NULL, 0), slice_of("t")));
    buffer_deinit(&b);
    return over;
}

TEST(a_time_is_over_from_the_next_second_on_and_for_five_years)
{
    assert_true(is_over("1789999999", WALL_MS));
    assert_true(is_over("1789999999.999", WALL_MS));
    assert_true(is_over("1.789999999E9", WALL_MS));
    assert_false(is_over("1790000000", WALL_MS));
    assert_false(is_over("1790000000", WALL_MS + 999));
    assert_true(is_over("1790000000", WALL_MS + 1000));
    assert_false(is_over("1790000000000", WALL_MS)); /* milliseconds */
    assert_false(is_over("0", WALL_MS));
    assert_false(is_over("-1789999999", WALL_MS));
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)(WALL_S - INT64_C(5) * YEAR_S));
    assert_true(is_over(text, WALL_MS));
    assert_false(is_over(text, WALL_MS + 1000));
    assert_false(is_over("0", 0)); /* a clock that was never set */
}

/* ---- a node ---- */

struct scene {
    struct lone_node w;
    struct buffer item;
};

static void scene_clock(struct scene *s)
{
    node_set_wall_clock(s->w.node, s->w.now, WALL_MS);
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

static void scene_ttl(struct scene *s, enum table_ttl ttl, const char *attribute)
{
    struct buffer b = {0};
    const struct table_spec spec = {
        .name = slice_of("t"), .ttl = ttl, .ttl_attribute = slice_of(attribute)};
    table_spec_encode(&b, &spec);
    struct request r = {.op = REQUEST_TABLE_UPDATE,
                        .table = {.name = slice_of("t"), .spec = buffer_slice(&b)}};
    lone_send(&s->w, &r);
    lone_write_all(&s->w);
    lone_assert_answer(&s->w, REPLY_OK);
    buffer_deinit(&b);
    do {
        scene_pass(s, 10);
        lone_fetch_table(&s->w);
    } while (s->w.table.status != TABLE_ACTIVE);
}

static void scene_init(struct scene *s)
{
    *s = (struct scene){0};
    lone_init(&s->w, PROFILE_OFF);
    lone_set(&s->w, "ttl_window_ms", "4000");
}

static void scene_open(struct scene *s)
{
    lone_open_table(&s->w, 100, 100);
    scene_clock(s);
    scene_ttl(s, TTL_ENABLING, "t");
    assert_int_equal(s->w.table.ttl, TTL_ENABLED);
    scene_clock(s);
}

static void scene_close(struct scene *s)
{
    lone_deinit(&s->w);
    buffer_deinit(&s->item);
}

/* An item whose time is `after_s` after that of the clock at the start. */
static void scene_propose(struct scene *s, uint32_t name, int64_t after_s)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)(WALL_S + after_s));
    struct request r = lone_request(&s->w, REQUEST_PUT, name);
    r.write.item = item_of(&s->item, text, 100);
    r.write.return_values = RETURN_NONE;
    lone_send(&s->w, &r);
}

static void scene_put(struct scene *s, uint32_t name, int64_t after_s)
{
    scene_propose(s, name, after_s);
    lone_write_all(&s->w);
    while (s->w.answer_count == 0)
        scene_pass(s, 1);
    lone_assert_answer(&s->w, REPLY_OK);
}

static bool scene_has(struct scene *s, uint32_t name)
{
    lone_send_to(&s->w, REQUEST_GET, name);
    lone_assert_answer(&s->w, REPLY_OK);
    return lone_answer(&s->w)->found;
}

/* The answer to an expiry of the item. */
static const struct answer *scene_expire(struct scene *s, uint32_t name)
{
    struct request r = lone_request(&s->w, REQUEST_DELETE, name);
    r.write.return_values = RETURN_NONE;
    r.write.origin = WRITE_BY_EXPIRY;
    lone_send(&s->w, &r);
    lone_write_all(&s->w);
    return lone_answer(&s->w);
}

static struct partition_stats scene_stats(struct scene *s)
{
    struct request r = {.op = REQUEST_STATS};
    struct partition_stats stats;
    lone_send(&s->w, &r);
    struct reader reader = {buffer_slice(&lone_answer(&s->w)->body), false};
    assert_int_equal(partition_stats_decode(&reader, &stats), STATUS_OK);
    return stats;
}

/* Passes the time until the next round deletes its first items. How many have expired then. */
static int64_t scene_first(struct scene *s)
{
    const int64_t before = scene_stats(s).expiry.items;
    while (scene_stats(s).expiry.items == before)
        scene_pass(s, 1);
    return scene_stats(s).expiry.items;
}

TEST(items_whose_time_is_over_go_and_the_counts_stay_true)
{
    enum {
        ITEMS = 500
    };
    struct scene s;
    (void)state;
    scene_init(&s);
    scene_open(&s);
    for (uint32_t i = 0; i < ITEMS; i++)
        scene_put(&s, i, i % 5 == 0 ? 1000 : -10);
    const int64_t consumed = scene_stats(&s).kinds[ADMIT_WRITE].counts.load.consumed_mcu;
    scene_pass(&s, WINDOW_MS);
    for (uint32_t i = 0; i < ITEMS; i++)
        assert_int_equal(scene_has(&s, i), i % 5 == 0);
    lone_assert_verified(&s.w, ITEMS / 5);
    const struct partition_stats stats = scene_stats(&s);
    assert_true(stats.expiry.on);
    assert_int_equal(stats.expiry.items, ITEMS - ITEMS / 5);
    assert_true(stats.expiry.lag_ms <= WINDOW_MS);
    assert_int_equal(stats.kinds[ADMIT_WRITE].counts.load.consumed_mcu, consumed);
    scene_close(&s);
}

/* EXPIRY-2 */
TEST(an_item_goes_within_the_window_after_its_time_and_not_before)
{
    struct scene s;
    (void)state;
    scene_init(&s);
    scene_open(&s);
    scene_put(&s, 1, 5);
    scene_pass(&s, 5000);
    assert_true(scene_has(&s, 1)); /* its time is the present second */
    scene_pass(&s, 1000 + WINDOW_MS);
    assert_false(scene_has(&s, 1));
    scene_close(&s);
}

TEST(a_deletion_is_checked_by_the_newest_write_even_if_it_is_in_flight)
{
    struct scene s;
    (void)state;
    scene_init(&s);
    scene_open(&s);
    scene_pass(&s, 100); /* a round has ended */
    scene_put(&s, 1, -10);
    scene_put(&s, 2, -10);
    scene_propose(&s, 1, 1000);
    assert_int_equal(s.w.answer_count, 0); /* it is not on the disk yet */
    struct request r = lone_request(&s.w, REQUEST_DELETE, 1);
    r.write.origin = WRITE_BY_EXPIRY;
    lone_send(&s.w, &r);
    lone_write_all(&s.w);
    assert_int_equal(s.w.answer_count, 2); /* that of the put, too */
    assert_int_equal(s.w.answers[1].code, REPLY_CONDITION_FAILED);
    assert_true(scene_has(&s, 1));
    scene_pass(&s, WINDOW_MS);
    assert_true(scene_has(&s, 1));
    assert_false(scene_has(&s, 2));
    scene_close(&s);
}

/* EXPIRY-4 */
TEST(an_expiry_costs_nothing_and_needs_a_time_that_is_over)
{
    struct scene s;
    (void)state;
    scene_init(&s);
    scene_open(&s);
    scene_put(&s, 1, 1000);
    scene_put(&s, 2, -10);
    assert_int_equal(scene_expire(&s, 1)->code, REPLY_CONDITION_FAILED);
    assert_int_equal(lone_answer(&s.w)->consumed_mcu, 0);
    assert_int_equal(scene_expire(&s, 2)->code, REPLY_OK);
    assert_int_equal(lone_answer(&s.w)->consumed_mcu, 0);
    assert_int_equal(scene_expire(&s, 2)->code, REPLY_CONDITION_FAILED); /* it has no item */
    scene_ttl(&s, TTL_DISABLING, "t");
    scene_pass(&s, 100);
    scene_put(&s, 3, -10);
    assert_int_equal(scene_expire(&s, 3)->code, REPLY_CONDITION_FAILED);
    scene_pass(&s, 2 * WINDOW_MS);
    assert_true(scene_has(&s, 3));
    assert_false(scene_stats(&s).expiry.on);
    scene_close(&s);
}

TEST(expiry_goes_on_after_a_crash_in_the_middle)
{
    enum {
        ITEMS = 200
    };
    struct scene s;
    (void)state;
    scene_init(&s);
    lone_set(&s.w, "expiry_items_s", "100");
    scene_open(&s);
    for (uint32_t i = 0; i < ITEMS; i++)
        scene_put(&s, i, -10);
    while (scene_stats(&s).expiry.items < ITEMS / 4)
        scene_pass(&s, 10);
    lone_crash(&s.w);
    scene_clock(&s);
    lone_fetch_table(&s.w);
    assert_int_equal(s.w.table.ttl, TTL_ENABLED);
    scene_pass(&s, 3 * WINDOW_MS);
    for (uint32_t i = 0; i < ITEMS; i++)
        assert_false(scene_has(&s, i));
    lone_assert_verified(&s.w, 0);
    scene_close(&s);
}

/* EXPIRY-3 */
TEST(no_more_items_go_than_the_rate_allows)
{
    enum {
        ITEMS = 400
    };
    struct scene s;
    (void)state;
    scene_init(&s);
    lone_set(&s.w, "expiry_items_s", "100");
    lone_set(&s.w, "expiry_busy_percent", "100");
    scene_open(&s);
    for (uint32_t i = 0; i < ITEMS; i++)
        scene_put(&s, i, -10);
    const int64_t before = scene_first(&s);
    scene_pass(&s, 2000);
    const int64_t some = scene_stats(&s).expiry.items - before;
    assert_true(some >= 150 && some <= 210);
    scene_close(&s);
}

/* A node that serves requests has less time for it. */
TEST(requests_come_first)
{
    struct scene s;
    (void)state;
    scene_init(&s);
    lone_set(&s.w, "expiry_items_s", "400");
    scene_open(&s);
    for (uint32_t i = 0; i < 1000; i++)
        scene_put(&s, i, -10);
    const int64_t before = scene_first(&s);
    for (int i = 0; i < 1000; i++) {
        scene_pass(&s, 1);
        scene_has(&s, 5000);
    }
    const int64_t busy = scene_stats(&s).expiry.items - before;
    scene_pass(&s, 1000);
    const int64_t idle = scene_stats(&s).expiry.items - before - busy;
    assert_true(busy >= 50 && busy <= 130);
    assert_true(idle >= 300);
    scene_close(&s);
}

TEST(cold_items_are_touched_before_they_are_read)
{
    enum {
        ITEMS = 300
    };
    struct scene s;
    (void)state;
    scene_init(&s);
    s.w.resident_max = 1;
    lone_set(&s.w, "expiry_items_s", "400"); /* as many touches at once as the scene has room for */
    lone_open_table(&s.w, 100, 100);
    scene_clock(&s);
    for (uint32_t i = 0; i < ITEMS; i++)
        scene_put(&s, i, i % 2 == 0 ? 1000 : -10);
    lone_checkpoint_all(&s.w);
    scene_ttl(&s, TTL_ENABLING, "t");
    scene_pass(&s, WINDOW_MS);
    assert_int_equal(scene_stats(&s).expiry.items, ITEMS / 2);
    scene_close(&s);
}

/* Scans have slots of their own (WAIT-2). */
TEST(a_full_queue_of_requests_does_not_stop_scans)
{
    enum {
        QUEUE = 16
    };
    struct scene s;
    (void)state;
    scene_init(&s);
    s.w.resident_max = 1;
    lone_set(&s.w, "node_queue_max", "16");
    lone_open_table(&s.w, 100, 100);
    scene_clock(&s);
    for (uint32_t i = 0; i <= QUEUE; i++)
        scene_put(&s, i, 1000);
    lone_checkpoint_all(&s.w);
    scene_ttl(&s, TTL_ENABLING, "t");
    assert_int_equal(s.w.touch_count, 0);
    for (uint32_t i = 0; i < QUEUE; i++)
        lone_send_to(&s.w, REQUEST_GET, i);
    assert_int_equal(s.w.touch_count, QUEUE);
    lone_send_to(&s.w, REQUEST_GET, QUEUE);
    lone_assert_answer(&s.w, REPLY_OVERLOADED);
    for (int64_t ms = 0; ms < WINDOW_MS && s.w.touch_count == QUEUE; ms++)
        lone_pass(&s.w, 1);
    assert_int_equal(s.w.touch_count, QUEUE + 1);
    scene_close(&s);
}

TEST(an_item_that_a_transaction_has_is_left_for_a_later_round)
{
    struct scene s;
    struct buffer part = {0}, anchor = {0};
    const uint8_t token[TRANSACTION_TOKEN_SIZE] = {7};
    (void)state;
    scene_init(&s);
    scene_open(&s);
    scene_pass(&s, 100);
    scene_put(&s, 1, -10);
    lone_key(&s.w, 1);
    buffer_set(&anchor, buffer_slice(&s.w.key));
    struct transaction_part t = {.id = {1, 1},
                                 .digest = 1,
                                 .anchor = buffer_slice(&anchor),
                                 .token = slice_make(token, sizeof token)};
    transaction_part_walk(&(struct codec){.out = &part}, &t);
    struct request r = lone_request(&s.w, REQUEST_CHECK, 1);
    r.write.return_values = RETURN_NONE;
    r.write.transaction = buffer_slice(&part);
    lone_send(&s.w, &r);
    lone_write_all(&s.w);
    lone_assert_answer(&s.w, REPLY_OK);
    scene_pass(&s, WINDOW_MS);
    assert_true(scene_stats(&s).bytes > 0); /* the item is there */
    assert_int_equal(scene_stats(&s).expiry.items, 0);
    /* Nobody decides: the transaction is given up, and the next round takes the item. */
    scene_pass(&s, 12000 + WINDOW_MS);
    assert_false(scene_has(&s, 1));
    buffer_deinit(&part);
    buffer_deinit(&anchor);
    scene_close(&s);
}

TEST(an_expiry_is_a_deletion_and_no_part_of_a_transaction)
{
    struct scene s;
    (void)state;
    scene_init(&s);
    scene_open(&s);
    scene_put(&s, 1, -10);
    struct request r = lone_request(&s.w, REQUEST_DELETE, 1);
    r.write.origin = WRITE_BY_EXPIRY;
    r.write.transaction = slice_of("x");
    lone_send(&s.w, &r);
    lone_assert_answer(&s.w, REPLY_MALFORMED);
    scene_close(&s);
}

/* EXPIRY-2. Else items would stay until the next round is due. The catalog names no attribute in
 * between; this word does without. */
TEST(another_attribute_begins_a_round_at_once)
{
    struct scene s;
    scene_init(&s);
    lone_open_table(&s.w, 100, 100);
    scene_clock(&s);
    scene_ttl(&s, TTL_ENABLING, "x");
    scene_clock(&s);
    scene_put(&s, 1, -10);
    struct partition *p = partitions_find(&s.w.node->partitions, s.w.table.partitions[0].id);
    for (int ms = 0; p->expiry == NULL || p->expiry->on; ms++, scene_pass(&s, 1))
        assert_true(ms < WINDOW_MS);
    assert_true(scene_has(&s, 1));
    struct partition_info info = p->info;
    info.ttl = slice_of("t");
    info.indexes_version++;
    lone_update_partition(&s.w, &info);
    scene_pass(&s, WINDOW_MS / 10);
    assert_false(scene_has(&s, 1));
    scene_close(&s);
}

/* A round of another leader, or of another range, or an answer to its deletions. */
TEST(a_round_that_is_over_reads_nothing_and_receives_no_answer)
{
    struct scene s;
    scene_init(&s);
    scene_open(&s);
    scene_propose(&s, 1, 100);
    lone_write_all(&s.w);
    struct partition *p = partitions_find(&s.w.node->partitions, s.w.table.partitions[0].id);
    for (int ms = 0; p->expiry == NULL; ms++, lone_pass(&s.w, 1))
        assert_true(ms < 10000);
    p->expiry->scanning = true;
    p->expiry->may_read = 1;
    assert_true(expiry_scan_is_needed(p));
    p->led++;
    assert_false(expiry_scan_is_needed(p));
    p->led--;
    p->info.epoch++;
    assert_false(expiry_scan_is_needed(p));
    p->info.epoch--;
    assert_true(expiry_scan_is_needed(p));
    struct expiry *expiry = &s.w.node->expiry;
    const struct reply reply = {.code = REPLY_OVERLOADED};
    const struct internal_call_answer answer = {
        .kind = INTERNAL_CALL_EXPIRY, .subject = p->info.id, .reply = &reply};
    p->expiry->calls = 1;
    expiry->calls_out[0].number = p->expiry->number + 1;
    expiry_answered(expiry, &answer);
    assert_int_equal(p->expiry->calls, 1);
    expiry->calls_out[0].number = p->expiry->number;
    expiry_answered(expiry, &answer);
    assert_int_equal(p->expiry->calls, 0);
    scene_close(&s);
}
