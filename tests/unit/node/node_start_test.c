/* The first turn of a node that recovers. */
#include "tests/check.h"

#include "base/config.h"
#include "tests/support/lone_node.h"

/* Each replica that is alone in its group runs at the first turn, and writes a term and a vote. */
TEST(groups_that_run_at_once_stay_within_the_log)
{
    enum {
        ROOM = 80 * 1024, /* some records more than a node keeps in reserve */
    };
    struct lone_node w;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "table_partitions_max", "2000");
    lone_set(&w, "partition_max_wcu", "10");
    lone_open_table(&w, 1, 20000);
    assert_int_equal(w.table.partition_count, 2000);
    lone_checkpoint_all(&w);
    uint64_t most = w.log.size + ROOM;
    lone_die(&w);
    lone_start(&w, most);
    assert_true(node_log_end(w.node) > w.log.size); /* some of them ran */
    assert_true(node_log_end(w.node) <= most);
    lone_deinit(&w);
}

/* A whole record is no damage: the error must lead to the right cause. */
TEST(a_record_that_cannot_be_replayed_is_not_called_damage)
{
    struct lone_node w;
    struct buffer record = {0}, error = {0};
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 10, 10);
    const struct log_record done = {.lsn = w.log.size,
                                    .kind = LOG_SPLIT_DONE,
                                    .group = w.table.partitions[0].id,
                                    .index = 1000}; /* the log has no such entry */
    log_record_append(&record, &done, slice_make(NULL, 0), slice_make(NULL, 0));
    log_records_seal(&record, done.lsn);
    buffer_append_slice(&w.log, buffer_slice(&record));
    lone_die(&w);
    assert_int_equal(lone_recover(&w, &error), STATUS_CORRUPT);
    buffer_append(&error, "", 1);
    const char *text = (const char *)error.data;
    assert_non_null(strstr(text, "does not fit the node's data"));
    assert_non_null(strstr(text, "kind 12"));
    assert_null(strstr(text, "damaged"));
    buffer_deinit(&error);
    buffer_deinit(&record);
    lone_deinit(&w);
}

static struct store *open_store(struct lone_node *w)
{
    const struct backing_options options = {
        .path = w->directory, .map_initial_bytes = 1 << 20, .map_max_bytes = 1 << 24};
    struct backing *backing;
    assert_int_equal(backing_open_lmdb(&options, &backing), STATUS_OK);
    return store_create(backing, UINT64_MAX, 1);
}

static void put_row(struct lone_node *w, struct slice key, struct slice value)
{
    struct store *store = open_store(w);
    store_put(store, key, value);
    store_freeze(store, store_log_lsn(store), 0);
    assert_int_equal(store_checkpoint_write(store), STATUS_OK);
    store_checkpoint_done(store, STATUS_OK);
    store_destroy(store);
}

/* The range that is still to be erased has no lower bound. */
TEST(a_row_of_the_node_that_is_cut_short_is_damage)
{
    static const uint8_t BYTES[] = {0xFF, 0xFF, 0xFF, 0xFF, 'e'};
    const struct slice key = slice_make(BYTES, sizeof BYTES);
    struct lone_node w;
    struct buffer error = {0};
    struct node *node = NULL;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 10, 10);
    lone_checkpoint_all(&w);
    lone_die(&w);
    put_row(&w, key, slice_of("value"));
    const struct node_options options = {.config = &w.config, .id = 1, .node_count = 1, .seed = 1};
    assert_int_equal(node_create(&options, open_store(&w), &error, &node), STATUS_CORRUPT);
    assert_non_null(memmem(error.data, error.size, "own records cannot be read", 26));
    put_row(&w, key, slice_make(NULL, 0));
    lone_start(&w, UINT64_MAX);
    buffer_deinit(&error);
    lone_deinit(&w);
}
