/* The library face over a real log and a real LMDB environment. */
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed/weir_internal.h"
#include "server/host/data_dir.h"
#include "tests/check.h"
#include "tests/temporary.h"

static struct weir *open_db(const char *directory, const char *settings)
{
    struct weir *db;
    char *error = NULL;
    enum weir_status status = weir_open(directory, settings, &db, &error);
    if (status != WEIR_OK)
        fail_msg("weir_open: %s", error);
    return db;
}

static struct weir_table *create_table(struct weir *db, const char *sort_key, int64_t units)
{
    struct weir_table_options options = {.partition_key = "id",
                                         .partition_key_type = WEIR_STRING,
                                         .sort_key = sort_key,
                                         .sort_key_type = WEIR_NUMBER,
                                         .read_units = units,
                                         .write_units = units};
    struct weir_table *t;
    assert_int_equal(weir_table_create(db, "music", &options), WEIR_OK);
    assert_int_equal(weir_table_open(db, "music", &t), WEIR_OK);
    return t;
}

static struct weir_item *item_of(const char *id, const char *sort, size_t filler)
{
    struct weir_item *item = weir_item_create();
    weir_item_add(item, "id", WEIR_STRING, id, strlen(id));
    if (sort != NULL)
        weir_item_add(item, "n", WEIR_NUMBER, sort, strlen(sort));
    char *bytes = malloc(filler + 1);
    memset(bytes, 'x', filler + 1);
    if (filler > 0)
        weir_item_add(item, "filler", WEIR_BINARY, bytes, filler);
    free(bytes);
    return item;
}

static enum weir_status put(struct weir_table *t, const char *id, const char *sort, size_t filler)
{
    struct weir_result r;
    struct weir_item *item = item_of(id, sort, filler);
    enum weir_status status;
    do /* a slow disk: a checkpoint is not written yet */
        status = weir_put(t, item, &r);
    while (status == WEIR_BUSY);
    weir_item_destroy(item);
    return status;
}

static size_t get_filler(struct weir_table *t, const char *id)
{
    struct weir_result r;
    struct weir_item *key = item_of(id, NULL, 0);
    enum weir_status status = weir_get(t, key, true, &r);
    weir_item_destroy(key);
    if (status == WEIR_NOT_FOUND)
        return SIZE_MAX;
    assert_int_equal(status, WEIR_OK);
    size_t position = 0, size = 0;
    struct weir_cursor c;
    struct weir_attr a;
    assert_true(weir_result_next(&r, &position, &c));
    while (weir_cursor_next(&c, &a)) {
        if (a.name_size == 6)
            size = a.size;
    }
    return size;
}

/* Partitions that the node has. */
static uint32_t partitions_of(struct weir *db)
{
    struct node_verification v;
    assert_int_equal(node_verify(weir_node(db), &v), STATUS_OK);
    assert_int_equal(v.damaged, 0);
    return (uint32_t)v.partitions;
}

/* The sort key of an item, a number. */
static long sort_key_of(struct weir_cursor attrs)
{
    struct weir_attr a;
    char text[WEIR_NUMBER_TEXT_MAX];
    while (weir_cursor_next(&attrs, &a)) {
        if (a.name_size == 1 && a.name[0] == 'n') {
            weir_attr_number(&a, text);
            return strtol(text, NULL, 10);
        }
    }
    return -1;
}

/* Items of a collection, page by page; their sort keys go on by one. */
static int query_all(struct weir_table *t, const char *id, uint32_t limit, bool reverse)
{
    struct weir_query_options options = {.limit = limit, .reverse = reverse, .consistent = true};
    struct weir_item *key = item_of(id, NULL, 0), *after = NULL;
    struct weir_result r;
    int count = 0;
    long last = -1;
    do {
        options.after = after;
        assert_int_equal(weir_query(t, key, &options, &r), WEIR_OK);
        size_t position = 0;
        struct weir_cursor attrs;
        uint32_t in_page = 0;
        while (weir_result_next(&r, &position, &attrs)) {
            long sort = sort_key_of(attrs);
            assert_true(count == 0 || sort == last + (reverse ? -1 : 1));
            last = sort;
            count++;
            in_page++;
        }
        assert_int_equal(in_page, r.count);
        assert_true(limit == 0 || r.count <= limit);
        if (after != NULL)
            weir_item_destroy(after);
        char text[24];
        snprintf(text, sizeof text, "%ld", last);
        after = item_of(id, text, 0);
    } while (r.more);
    weir_item_destroy(after);
    weir_item_destroy(key);
    return count;
}

FIXTURE(temporary_setup, temporary_teardown)

TEST(what_was_put_is_there_and_survives_closing)
{
    struct weir *db = open_db(*state, NULL);
    struct weir_table *t = create_table(db, NULL, 100);
    assert_int_equal(put(t, "a", NULL, 10), WEIR_OK);
    assert_int_equal(put(t, "b", NULL, 20), WEIR_OK);
    assert_int_equal(put(t, "a", NULL, 30), WEIR_OK);
    assert_int_equal(get_filler(t, "a"), 30);
    assert_true(get_filler(t, "c") == SIZE_MAX);
    weir_close(db);
    db = open_db(*state, NULL);
    assert_int_equal(weir_table_open(db, "music", &t), WEIR_OK);
    assert_int_equal(get_filler(t, "a"), 30);
    assert_int_equal(get_filler(t, "b"), 20);
    struct weir_item *key = item_of("b", NULL, 0);
    struct weir_result r;
    assert_int_equal(weir_delete(t, key, &r), WEIR_OK);
    weir_item_destroy(key);
    assert_true(get_filler(t, "b") == SIZE_MAX);
    weir_close(db);
}

/* Starts the put of item `i`; with more than `in_flight` of them, those that are completed as busy
 * are started again. */
static void start_again_while_busy(struct weir *db, struct weir_table *t, int i, int in_flight)
{
    struct weir_result r;
    char id[32];
    do {
        snprintf(id, sizeof id, "item-%d", i);
        struct weir_item *item = item_of(id, NULL, (size_t)(i % 7000) + 1);
        assert_int_equal(weir_put_start(t, item, (uint64_t)i), WEIR_OK);
        weir_item_destroy(item);
        if (i < in_flight || in_flight == 0)
            return;
        assert_int_equal(weir_complete(db, &r), WEIR_OK);
        i = (int)r.tag;
        assert_true(r.status == WEIR_OK || r.status == WEIR_BUSY);
    } while (r.status == WEIR_BUSY);
}

/* Small memtables: many checkpoints, several log segments, growth of the map. */
TEST(checkpoints_segments_and_map_growth_lose_nothing)
{
    const char *settings = "profile = off\nmemtable_max_bytes = 1MiB\nlog_segment_bytes = 8MiB\n"
                           "map_initial_bytes = 1MiB\ncheckpoint_ms = 10\n";
    struct weir *db = open_db(*state, settings);
    struct weir_table *t = create_table(db, NULL, 3000);
    struct weir_result r;
    char id[32];
    enum {
        ITEMS = 4000,
        IN_FLIGHT = 64
    };
    for (int i = 0; i < ITEMS; i++)
        start_again_while_busy(db, t, i, IN_FLIGHT);
    while (weir_complete(db, &r) == WEIR_OK) {
        if (r.status == WEIR_BUSY) /* a slow disk: more was in flight than may be */
            start_again_while_busy(db, t, (int)r.tag, 0);
        else
            assert_int_equal(r.status, WEIR_OK);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < ITEMS; i++) {
            snprintf(id, sizeof id, "item-%d", i);
            assert_int_equal(get_filler(t, id), (size_t)(i % 7000) + 1);
        }
        weir_close(db);
        db = open_db(*state, settings);
        assert_int_equal(weir_table_open(db, "music", &t), WEIR_OK);
    }
    weir_close(db);
}

static int query(struct weir_table *t, const struct weir_query_options *options, char *out,
                 size_t size)
{
    struct weir_item *key = item_of("k", NULL, 0);
    struct weir_result r;
    assert_int_equal(weir_query(t, key, options, &r), WEIR_OK);
    weir_item_destroy(key);
    size_t position = 0;
    struct weir_cursor c;
    struct weir_attr a;
    out[0] = '\0';
    while (weir_result_next(&r, &position, &c)) {
        while (weir_cursor_next(&c, &a)) {
            char number[WEIR_NUMBER_TEXT_MAX];
            if (a.name_size != 1)
                continue;
            weir_attr_number(&a, number);
            snprintf(out + strlen(out), size - strlen(out), "%s ", number);
        }
    }
    return (int)r.count;
}

TEST(a_query_runs_in_sort_key_order_both_ways_and_goes_on_behind_an_item)
{
    struct weir *db = open_db(*state, "profile = off\n");
    struct weir_table *t = create_table(db, "n", 100);
    static const char *const numbers[] = {"10", "-3", "2.5", "1e3", "0", "7"};
    char out[256];
    for (int i = 0; i < 6; i++)
        assert_int_equal(put(t, "k", numbers[i], 0), WEIR_OK);
    assert_int_equal(put(t, "other", "5", 0), WEIR_OK);
    assert_int_equal(query(t, NULL, out, sizeof out), 6);
    assert_string_equal(out, "-3 0 2.5 7 10 1000 ");
    struct weir_item *after = item_of("k", "2.5", 0);
    struct weir_query_options options = {.limit = 2, .after = after};
    assert_int_equal(query(t, &options, out, sizeof out), 2);
    assert_string_equal(out, "7 10 ");
    options.reverse = true;
    assert_int_equal(query(t, &options, out, sizeof out), 2);
    assert_string_equal(out, "0 -3 ");
    weir_item_destroy(after);
    weir_close(db);
}

TEST(a_partition_over_its_allocation_is_throttled_with_reason_and_time)
{
    struct weir *db = open_db(*state, "profile = strict # no burst\n");
    struct weir_table *t = create_table(db, NULL, 2);
    struct weir_item *item = item_of("a", NULL, 10);
    struct weir_result r;
    assert_int_equal(weir_put(t, item, &r), WEIR_OK);
    assert_int_equal(weir_put(t, item, &r), WEIR_OK);
    int throttled = 0;
    for (int i = 0; i < 100 && !throttled; i++)
        throttled = weir_put(t, item, &r) == WEIR_THROTTLED;
    assert_true(throttled);
    assert_int_equal(r.reason, WEIR_REFUSED_ALLOCATION);
    assert_true(r.wait_ns > 0 && r.wait_ns <= 1000000000);
    weir_item_destroy(item);
    weir_close(db);
}

TEST(mistakes_in_items_and_keys_are_explained)
{
    struct weir *db = open_db(*state, NULL);
    struct weir_table *t = create_table(db, NULL, 10);
    struct weir_result r;
    struct weir_item *item = weir_item_create();
    weir_item_add(item, "name", WEIR_STRING, "x", 1);
    assert_int_equal(weir_put(t, item, &r), WEIR_INVALID);
    assert_non_null(strstr(weir_error(db), "partition key"));
    weir_item_clear(item);
    weir_item_add(item, "id", WEIR_STRING, "\xff", 1);
    assert_int_equal(weir_put(t, item, &r), WEIR_INVALID);
    assert_non_null(strstr(weir_error(db), "UTF-8"));
    weir_item_clear(item);
    weir_item_add(item, "id", WEIR_STRING, "a", 1);
    weir_item_begin(item, "list", WEIR_LIST);
    assert_int_equal(weir_put(t, item, &r), WEIR_INVALID);
    weir_item_clear(item);
    weir_item_add(item, "id", WEIR_STRING, "a", 1);
    weir_item_add(item, "", WEIR_STRING, "x", 1);
    assert_int_equal(weir_put(t, item, &r), WEIR_INVALID);
    assert_non_null(strstr(weir_error(db), "a name of 1 to 65535 bytes"));
    weir_item_destroy(item);
    item = item_of("a", NULL, 409600);
    assert_int_equal(weir_put(t, item, &r), WEIR_INVALID);
    assert_non_null(strstr(weir_error(db), "409600"));
    weir_item_destroy(item);
    weir_close(db);
}

/* A set or map of `count` values, of which the last is the first again if `repeated`. */
static enum weir_status put_container(struct weir_table *t, enum weir_type type, int count,
                                      bool repeated)
{
    struct weir_result r;
    struct weir_item *item = item_of("a", NULL, 0);
    weir_item_begin(item, "v", type);
    for (int i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", repeated && i == count - 1 ? 0 : i);
        if (type == WEIR_MAP)
            weir_item_add(item, text, WEIR_NULL, NULL, 0);
        else
            weir_item_add(item, NULL, WEIR_NUMBER, text, strlen(text));
    }
    weir_item_end(item);
    enum weir_status status = weir_put(t, item, &r);
    weir_item_destroy(item);
    return status;
}

TEST(an_invalid_value_is_reported_with_its_attribute)
{
    struct weir *db = open_db(*state, NULL);
    struct weir_table *t = create_table(db, NULL, 100);
    struct weir_item *item = weir_item_create();
    struct weir_result r;
    weir_item_add(item, "price", WEIR_NUMBER, "xx", 2);
    assert_int_equal(weir_put(t, item, &r), WEIR_INVALID);
    assert_string_equal(weir_error(db), "attribute price: a number is decimal text");
    weir_item_clear(item);
    weir_item_begin(item, "tags", WEIR_LIST);
    weir_item_add(item, NULL, WEIR_STRING, "\xff", 1);
    assert_int_equal(weir_put(t, item, &r), WEIR_INVALID);
    assert_string_equal(weir_error(db), "a string is not UTF-8");
    weir_item_destroy(item);
    weir_close(db);
}

TEST(sets_are_not_empty_and_nothing_in_sets_and_maps_occurs_twice)
{
    struct weir *db = open_db(*state, NULL);
    struct weir_table *t = create_table(db, NULL, 100);
    assert_int_equal(put_container(t, WEIR_NUMBER_SET, 0, false), WEIR_INVALID);
    assert_string_equal(weir_error(db), "a set has at least one element");
    assert_int_equal(put_container(t, WEIR_MAP, 0, false), WEIR_OK);
    for (int count = 2; count <= 200; count += 99) {
        assert_int_equal(put_container(t, WEIR_NUMBER_SET, count, false), WEIR_OK);
        assert_int_equal(put_container(t, WEIR_NUMBER_SET, count, true), WEIR_INVALID);
        assert_string_equal(weir_error(db), "an attribute or element occurs twice");
        assert_int_equal(put_container(t, WEIR_MAP, count, false), WEIR_OK);
        assert_int_equal(put_container(t, WEIR_MAP, count, true), WEIR_INVALID);
        assert_string_equal(weir_error(db), "an attribute or element occurs twice");
    }
    assert_int_equal(put_container(t, WEIR_LIST, 1, false), WEIR_OK);
    weir_close(db);
}

/* An item with `lists` lists, one in the other, and a set in the innermost. */
static struct weir_item *nested_item(int lists)
{
    struct weir_item *item = weir_item_create();
    weir_item_add(item, "id", WEIR_STRING, "a", 1);
    for (int i = 0; i < lists; i++)
        weir_item_begin(item, i == 0 ? "v" : NULL, WEIR_LIST);
    weir_item_begin(item, NULL, WEIR_STRING_SET);
    weir_item_add(item, NULL, WEIR_STRING, "x", 1);
    for (int i = 0; i <= lists; i++)
        weir_item_end(item);
    return item;
}

/* The same limit as at a router. */
TEST(thirty_one_lists_nest_around_a_value_and_no_more)
{
    struct weir *db = open_db(*state, NULL);
    struct weir_table *t = create_table(db, NULL, 10);
    struct weir_result r;
    struct weir_item *item = nested_item(31);
    assert_int_equal(weir_put(t, item, &r), WEIR_OK);
    weir_item_destroy(item);
    item = nested_item(32);
    assert_int_equal(weir_put(t, item, &r), WEIR_INVALID);
    assert_non_null(strstr(weir_error(db), "at most 31 lists and maps"));
    weir_item_destroy(item);
    weir_close(db);
}

TEST(wrong_settings_and_a_directory_in_use_are_refused_with_a_text)
{
    struct weir *db = open_db(*state, NULL), *second;
    char *error = NULL;
    assert_int_equal(weir_open(*state, NULL, &second, &error), WEIR_IO);
    assert_non_null(strstr(error, "in use"));
    free(error);
    weir_close(db);
    assert_int_equal(weir_open(*state, "node_wcu = -1\n", &db, &error), WEIR_INVALID);
    assert_non_null(strstr(error, "node_wcu"));
    free(error);
}

static void write_lock(const char *directory, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/LOCK", directory);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

/* ---- tables that are split while they are open ---- */

/* Small partitions, and a controller that looks often. */
static const char *const splitting =
    "profile = off\ncontrol_split = 1\npartition_max_bytes = 1MiB\n"
    "control_ms = 10\nload_report_ms = 10\nrequest_deadline_ms = 60000\n";
enum {
    SPLIT_WITHIN_MS = 60000
};

/* The item of a put that was refused by a busy node. */
static void put_if_busy(struct weir_table *t, const struct weir_result *r, size_t bytes)
{
    char id[32];
    snprintf(id, sizeof id, "item-%d", (int)r->tag);
    if (r->status == WEIR_BUSY)
        assert_int_equal(put(t, id, NULL, bytes + r->tag), WEIR_OK);
    else
        assert_int_equal(r->status, WEIR_OK);
}

/* Items of 20 KB until the table has been split: a handle that was opened before serves it. */
TEST(a_handle_serves_its_table_through_splits)
{
    enum {
        ITEMS = 400,
        ITEM_BYTES = 20000,
        IN_FLIGHT = 8
    };
    struct weir *db = open_db(*state, splitting);
    struct weir_table *t = create_table(db, NULL, 1000);
    struct weir_result r;
    char id[32];
    int completed = 0;
    for (int i = 0; i < ITEMS; i++) {
        snprintf(id, sizeof id, "item-%d", i);
        struct weir_item *item = item_of(id, NULL, (size_t)(ITEM_BYTES + i));
        assert_int_equal(weir_put_start(t, item, (uint64_t)i), WEIR_OK);
        weir_item_destroy(item);
        if (i >= IN_FLIGHT) {
            assert_int_equal(weir_complete(db, &r), WEIR_OK);
            put_if_busy(t, &r, ITEM_BYTES);
            completed++;
        }
        if (i % 10 == 0)
            assert_int_equal(put(t, id, NULL, (size_t)(ITEM_BYTES + i)), WEIR_OK);
    }
    for (; weir_complete(db, &r) == WEIR_OK; completed++)
        put_if_busy(t, &r, ITEM_BYTES);
    assert_int_equal(completed, ITEMS);
    struct instant until = instant_add(loop_now(weir_loop(db)), duration_ms(SPLIT_WITHIN_MS));
    while (partitions_of(db) < 3) { /* the catalog's, and the table's: until it is split */
        assert_true(instant_before(loop_now(weir_loop(db)), until));
        for (int i = 0; i < ITEMS; i++) {
            snprintf(id, sizeof id, "item-%d", i);
            assert_int_equal(get_filler(t, id), ITEM_BYTES + i);
        }
    }
    for (int i = 0; i < ITEMS; i++) {
        snprintf(id, sizeof id, "item-%d", i);
        assert_int_equal(get_filler(t, id), ITEM_BYTES + i);
    }
    weir_close(db);
}

/* One collection of 4 MB that is split inside, read by pages in both directions. */
TEST(a_query_returns_all_of_a_collection_that_was_split)
{
    enum {
        ITEMS = 200,
        ITEM_BYTES = 20000
    };
    struct weir *db = open_db(*state, splitting);
    struct weir_table *t = create_table(db, "n", 1000);
    char sort[16];
    for (int i = 0; i < ITEMS; i++) {
        snprintf(sort, sizeof sort, "%d", i);
        assert_int_equal(put(t, "one", sort, ITEM_BYTES), WEIR_OK);
    }
    struct instant until = instant_add(loop_now(weir_loop(db)), duration_ms(SPLIT_WITHIN_MS));
    while (partitions_of(db) < 3) {
        assert_true(instant_before(loop_now(weir_loop(db)), until));
        assert_int_equal(put(t, "one", "0", ITEM_BYTES), WEIR_OK);
    }
    for (uint32_t limit = 0; limit <= 90; limit += 45) {
        for (int reverse = 0; reverse < 2; reverse++)
            assert_int_equal(query_all(t, "one", limit, reverse), ITEMS);
    }
    weir_close(db);
}

TEST(data_of_another_form_is_refused_and_not_touched)
{
    struct weir *db = open_db(*state, NULL);
    struct weir_table *t = create_table(db, NULL, 100);
    assert_int_equal(put(t, "a", NULL, 10), WEIR_OK);
    weir_close(db);
    const int others[] = {DATA_FORMAT - 1, DATA_FORMAT + 1, 999};
    for (int i = 0; i < 4; i++) {
        char *error = NULL, line[64] = "";
        if (i < 3)
            snprintf(line, sizeof line, "weir data, format %d\n", others[i]);
        write_lock(*state, line);
        assert_int_equal(weir_open(*state, NULL, &db, &error), WEIR_CORRUPT);
        assert_non_null(strstr(error, "another version of weir"));
        free(error);
    }
    char line[64];
    snprintf(line, sizeof line, "weir data, format %d\n", DATA_FORMAT);
    write_lock(*state, line);
    db = open_db(*state, NULL);
    assert_int_equal(weir_table_open(db, "music", &t), WEIR_OK);
    assert_int_equal(get_filler(t, "a"), 10);
    weir_close(db);
}

/* Keys longer than LMDB's share records there; order and identity must not notice. */
TEST(keys_longer_than_lmdb_allows_keep_their_order_through_checkpoints)
{
    struct weir *db =
        open_db(*state, "profile = off\nmemtable_max_bytes = 64KiB\ncheckpoint_ms=10\n");
    struct weir_table *t = create_table(db, NULL, 100);
    static char id[2049];
    for (int round = 0; round < 3; round++) {
        for (int size = 490; size < 2048; size += 50) {
            memset(id, 'k', (size_t)size);
            id[size] = '\0';
            assert_int_equal(put(t, id, NULL, (size_t)(size + round)), WEIR_OK);
        }
    }
    for (int size = 490; size < 2048; size += 50) {
        memset(id, 'k', (size_t)size);
        id[size] = '\0';
        assert_int_equal(get_filler(t, id), (size_t)(size + 2));
    }
    weir_close(db);
}

/* Far more data than `resident_max_bytes`: every read goes by way of a reader thread. */
TEST(reads_of_cold_data_and_writes_over_it_find_what_was_written)
{
    struct weir *db = open_db(*state, "profile = off\nresident_max_bytes = 512KiB\n");
    struct weir_table *t = create_table(db, NULL, 100);
    char id[32];
    enum {
        ITEMS = 600
    };
    for (int round = 0; round < 2; round++) { /* the second overwrites cold items */
        for (int i = 0; i < ITEMS; i++) {
            snprintf(id, sizeof id, "item-%d", i);
            assert_int_equal(put(t, id, NULL, (size_t)(3500 + i + round)), WEIR_OK);
        }
        assert_int_equal(weir_checkpoint(db), WEIR_OK);
        for (int i = 0; i < ITEMS; i++) {
            snprintf(id, sizeof id, "item-%d", i);
            assert_int_equal(get_filler(t, id), (size_t)(3500 + i + round));
        }
    }
    assert_true(get_filler(t, "nobody") == SIZE_MAX);
    weir_close(db);
}

/* Refused, and the error begins with the member and its value. */
static void check_no_table(struct weir *db, const char *name, struct weir_table_options o,
                           const char *expected)
{
    assert_int_equal(weir_table_create(db, name, &o), WEIR_INVALID);
    if (strncmp(weir_error(db), expected, strlen(expected)) != 0)
        fail_msg("\"%s\" does not begin with \"%s\"", weir_error(db), expected);
}

TEST(an_error_of_a_table_names_the_member_its_value_and_what_it_may_be)
{
    struct weir *db = open_db(*state, "profile = off\n");
    const struct weir_table_options good = {.partition_key = "id",
                                            .partition_key_type = WEIR_STRING};
    struct weir_table_options o = good;
    char long_name[257];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    check_no_table(db, NULL, o, "name: \"\": the name of a table has 1 to 255 of");
    check_no_table(db, "a b", o, "name: \"a b\": the name of a table has 1 to 255 of");
    check_no_table(db, long_name, o, "name: \"aaa");
    o.partition_key = NULL;
    check_no_table(db, "t", o, "partition_key: \"\": the name of a key attribute has 1 to 255");
    o.partition_key = long_name;
    check_no_table(db, "t", o, "partition_key: \"aaa");
    o = good;
    o.partition_key_type = WEIR_BOOL;
    check_no_table(db, "t", o, "partition_key_type: 4: a key is WEIR_STRING (1), WEIR_NUMBER (2)");
    o.partition_key_type = (enum weir_type)(256 + WEIR_STRING); /* the node's type is one byte */
    check_no_table(db, "t", o, "partition_key_type: 257: ");
    o = good;
    o.sort_key = "";
    o.sort_key_type = WEIR_STRING;
    check_no_table(db, "t", o, "sort_key: \"\": the name of a key attribute");
    o.sort_key = "n";
    o.sort_key_type = WEIR_MAP;
    check_no_table(db, "t", o, "sort_key_type: 10: a key is");
    o.sort_key = "id";
    o.sort_key_type = WEIR_STRING;
    check_no_table(db, "t", o, "sort_key: \"id\": partition_key is the same attribute");
    o = good;
    o.read_units = -1;
    check_no_table(db, "t", o, "read_units: -1: at least 1 per second, or 0 for both");
    o.read_units = 5;
    check_no_table(db, "t", o, "write_units: 0: at least 1 per second, or 0 for both");
    assert_int_equal(weir_table_create(db, "t", &good), WEIR_OK);
    weir_close(db);
}

TEST(no_name_opens_the_table_of_the_catalog)
{
    struct weir *db = open_db(*state, "profile = off\n");
    struct weir_table *t = create_table(db, NULL, 100);
    assert_int_equal(weir_table_open(db, "", &t), WEIR_INVALID);
    assert_non_null(strstr(weir_error(db), "name: \"\": the name of a table has"));
    assert_int_equal(weir_table_open(db, NULL, &t), WEIR_INVALID);
    assert_int_equal(weir_table_open(db, "nobody", &t), WEIR_NOT_FOUND);
    weir_close(db);
}

TEST(what_makes_no_value_is_refused)
{
    struct weir *db = open_db(*state, "profile = off\n"), *none = db;
    struct weir_table *t = create_table(db, NULL, 100);
    struct weir_item *item = item_of("a", NULL, 0);
    struct weir_result r;
    weir_item_add(item, "truth", WEIR_BOOL, "\2", 1);
    assert_int_equal(weir_put(t, item, &r), WEIR_INVALID);
    weir_item_destroy(item);
    assert_true(weir_open(*state, NULL, &none, NULL) != WEIR_OK); /* it is open */
    assert_null(none);
    weir_close(none); /* does nothing */
    weir_close(db);
}
