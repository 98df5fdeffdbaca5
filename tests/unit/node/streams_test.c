/* streams_test.c - records of streams at a node, one step at a time: what writes leave, shards
 * through splits, what is trimmed, and what survives a crash. */
#include "tests/check.h"

#include "base/config.h"
#include "engine/catalog/split.h"
#include "engine/item/storage_key.h"
#include "engine/message/stream_messages.h"
#include "engine/node/node_internal.h"
#include "engine/stream/stream.h"
#include "tests/support/lone_node.h"

enum {
    RECORDS_KEPT = 64
};

/* The records of one reading. */
struct reading {
    uint32_t count;
    enum stream_event events[RECORDS_KEPT];
    uint32_t old[RECORDS_KEPT]; /* versions; 0: not shown */
    uint32_t now[RECORDS_KEPT];
    bool by_service[RECORDS_KEPT];
    bool closed;
    bool trimmed;
    uint64_t index; /* where to go on */
    uint32_t place;
};

static void pass(struct lone_node *w, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 10) {
        lone_pass(w, 10);
        lone_write_all(w);
    }
}

static void open_table(struct lone_node *w, enum stream_view view)
{
    lone_init(w, PROFILE_OFF);
    w->stream = (uint8_t)(1 + view);
    lone_open_table(w, 10, 10);
}

static void put(struct lone_node *w, uint32_t name, uint32_t version)
{
    lone_put_sized(w, name, version, 10);
    lone_write_all(w);
    lone_assert_answer(w, REPLY_OK);
}

static void delete (struct lone_node *w, uint32_t name)
{
    lone_send_to(w, REQUEST_DELETE, name);
    lone_write_all(w);
    lone_assert_answer(w, REPLY_OK);
}

static uint32_t version_of(struct slice item)
{
    struct attr value;
    uint32_t version;
    if (item.size == 0)
        return 0;
    assert_int_equal(item_check(item), STATUS_OK);
    assert_true(item_find(item, slice_of("v"), &value));
    memcpy(&version, value.body.data, sizeof version);
    return version;
}

static void take(struct reading *r, const struct answer *a)
{
    struct reader rows = {buffer_slice(&a->body), false};
    for (r->count = 0; rows.left.size > 0; r->count++) {
        struct reader row = {reader_sized(&rows), false};
        struct stream_record record;
        reader_u64(&row);
        reader_u32(&row);
        assert_int_equal(stream_record_decode(row.left, &record), STATUS_OK);
        assert_true(storage_key_is_complete(record.key));
        assert_true(r->count < RECORDS_KEPT);
        r->events[r->count] = record.event;
        r->by_service[r->count] = record.by_service;
        r->old[r->count] = version_of(record.old);
        r->now[r->count] = version_of(record.now);
    }
    r->closed = a->closed;
    r->trimmed = a->trimmed;
    r->index = a->index;
    r->place = a->place;
}

static struct request stream_request(struct lone_node *w, uint32_t partition, uint64_t epoch)
{
    const struct partition *p = partitions_find(&w->node->partitions, partition);
    assert_non_null(p);
    struct request q = {.op = REQUEST_RECORDS, .partition = partition, .epoch = p->info.epoch};
    *request_edit_records(&q) =
        (struct request_records){.key = table_find_partition(&w->table, partition)->lo,
                                 .stream = 1,
                                 .epoch = epoch,
                                 .items_max = RECORDS_KEPT,
                                 .bytes_max = PAGE_SIZE_MAX};
    return q;
}

static void read_by(struct lone_node *w, struct request *q, struct reading *r)
{
    lone_send(w, q);
    lone_assert_answer(w, REPLY_OK);
    take(r, lone_answer(w));
}

static void read_all(struct lone_node *w, uint32_t partition, uint64_t epoch, struct reading *r)
{
    struct request q = stream_request(w, partition, epoch);
    read_by(w, &q, r);
}

static void assert_verified(struct lone_node *w, int64_t items)
{
    lone_assert_verified(w, items);
}

/* ---- what writes leave ---- */

/* STREAM-2 */
TEST(each_change_of_an_item_has_a_record)
{
    struct lone_node w;
    struct reading r;
    open_table(&w, STREAM_BOTH_IMAGES);
    put(&w, 1, 10);
    put(&w, 1, 11);
    put(&w, 1, 11); /* changes nothing */
    delete (&w, 1);
    delete (&w, 1); /* the same */
    read_all(&w, w.table.partitions[0].id, 1, &r);
    const enum stream_event events[] = {STREAM_INSERT, STREAM_MODIFY, STREAM_REMOVE};
    const uint32_t old[] = {0, 10, 11}, now[] = {10, 11, 0};
    assert_int_equal(r.count, 3);
    assert_memory_equal(r.events, events, sizeof events);
    assert_memory_equal(r.old, old, sizeof old);
    assert_memory_equal(r.now, now, sizeof now);
    assert_false(r.closed);
    assert_verified(&w, 0);
    lone_deinit(&w);
}

TEST(a_view_keeps_only_its_images)
{
    for (enum stream_view view = STREAM_KEYS_ONLY; view <= STREAM_BOTH_IMAGES; view++) {
        struct lone_node w;
        struct reading r;
        open_table(&w, view);
        put(&w, 1, 10);
        put(&w, 1, 11);
        read_all(&w, w.table.partitions[0].id, 1, &r);
        assert_int_equal(r.count, 2);
        assert_int_equal(r.old[1], stream_shows_old(view) ? 10 : 0);
        assert_int_equal(r.now[1], stream_shows_new(view) ? 11 : 0);
        lone_deinit(&w);
    }
}

static void request_time_to_live(struct lone_node *w)
{
    struct buffer b = {0};
    const struct table_spec spec = {
        .name = slice_of("t"), .ttl = TTL_ENABLING, .ttl_attribute = slice_of("over")};
    table_spec_encode(&b, &spec);
    struct request q = {.op = REQUEST_TABLE_UPDATE,
                        .table = {.name = slice_of("t"), .spec = buffer_slice(&b)}};
    lone_send(w, &q);
    lone_write_all(w);
    lone_assert_answer(w, REPLY_OK);
    buffer_deinit(&b);
    pass(w, 100);
}

/* An item whose time is over. */
static void put_old(struct lone_node *w, uint32_t name, uint32_t version)
{
    struct buffer item = {0};
    struct item_writer writer;
    struct number n;
    assert_int_equal(number_parse(slice_of("1789999000"), &n), NUMBER_OK);
    item_begin(&writer, &item);
    item_name(&writer, slice_of("over"));
    item_number(&writer, &n);
    item_name(&writer, slice_of("v"));
    item_binary(&writer, slice_make(&version, sizeof version));
    item_end(&writer);
    struct request q = lone_request(w, REQUEST_PUT, name);
    q.write.item = buffer_slice(&item);
    lone_send(w, &q);
    lone_write_all(w);
    lone_assert_answer(w, REPLY_OK);
    buffer_deinit(&item);
}

TEST(an_expiry_names_the_service)
{
    struct lone_node w;
    struct reading r = {0};
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "ttl_window_ms", "4000");
    w.stream = 1 + STREAM_OLD_IMAGE;
    lone_open_table(&w, 10, 10);
    node_set_wall_clock(w.node, w.now, INT64_C(1790000000000));
    request_time_to_live(&w);
    put_old(&w, 1, 10);
    for (int i = 0; i < 100 && r.count < 2; i++) {
        pass(&w, 100);
        read_all(&w, w.table.partitions[0].id, 1, &r);
    }
    assert_int_equal(r.count, 2);
    assert_false(r.by_service[0]);
    assert_true(r.by_service[1]);
    assert_int_equal(r.old[1], 10);
    lone_deinit(&w);
}

TEST(a_crash_neither_loses_nor_doubles_a_record)
{
    struct lone_node w;
    struct reading r;
    open_table(&w, STREAM_NEW_IMAGE);
    for (uint32_t i = 0; i < 30; i++) {
        put(&w, i % 7, 10 + i);
        if (i % 10 == 4)
            lone_checkpoint_all(&w);
        if (i % 10 == 7)
            lone_crash(&w);
        lone_fetch_table(&w);
    }
    read_all(&w, w.table.partitions[0].id, 1, &r);
    assert_int_equal(r.count, 30);
    for (uint32_t i = 0; i < 30; i++)
        assert_int_equal(r.now[i], 10 + i);
    assert_verified(&w, 7);
    lone_deinit(&w);
}

/* ---- reading ---- */

TEST(a_reading_goes_on_where_the_last_one_ended)
{
    struct lone_node w;
    struct reading r;
    open_table(&w, STREAM_NEW_IMAGE);
    for (uint32_t i = 0; i < 10; i++)
        put(&w, i, 10 + i);
    struct request q = stream_request(&w, w.table.partitions[0].id, 1);
    request_edit_records(&q)->items_max = 3;
    for (uint32_t i = 0; i < 10; i += r.count) {
        read_by(&w, &q, &r);
        assert_int_equal(r.count, i < 9 ? 3 : 1);
        assert_int_equal(r.now[0], 10 + i);
        request_edit_records(&q)->index = r.index;
        request_edit_records(&q)->place = r.place;
    }
    read_by(&w, &q, &r);
    assert_int_equal(r.count, 0);
    assert_int_equal(r.index, request_records(&q)->index);
    struct request latest = stream_request(&w, w.table.partitions[0].id, 1);
    request_edit_records(&latest)->latest = true;
    read_by(&w, &latest, &r);
    assert_int_equal(r.count, 0);
    put(&w, 20, 30);
    request_edit_records(&q)->index = r.index;
    request_edit_records(&q)->place = r.place;
    read_by(&w, &q, &r);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.now[0], 30);
    request_edit_records(&q)->place = 1 << 16;
    lone_send(&w, &q);
    lone_assert_answer(&w, REPLY_MALFORMED);
    lone_deinit(&w);
}

TEST(a_stream_that_has_not_begun_is_empty_and_open)
{
    struct lone_node w;
    struct reading r;
    open_table(&w, STREAM_NEW_IMAGE);
    put(&w, 1, 10);
    struct request q = stream_request(&w, w.table.partitions[0].id, 1);
    request_edit_records(&q)->stream = 2;
    read_by(&w, &q, &r);
    assert_int_equal(r.count, 0);
    assert_false(r.closed);
    lone_deinit(&w);
}

/* ---- life of a stream ---- */

static void update(struct lone_node *w, enum stream_view view)
{
    w->stream = (uint8_t)(1 + view);
    lone_table_op(w, REQUEST_TABLE_UPDATE, 10, 10);
    pass(w, 600);
    lone_fetch_table(w);
    assert_int_equal(w->table.status, TABLE_ACTIVE);
}

TEST(a_disabled_stream_is_closed_and_a_new_one_begins)
{
    struct lone_node w;
    struct reading r;
    lone_init(&w, PROFILE_OFF);
    lone_open_table(&w, 10, 10);
    put(&w, 1, 1);
    update(&w, STREAM_NEW_IMAGE);
    put(&w, 1, 2);
    update(&w, STREAM_OFF);
    put(&w, 1, 3);
    update(&w, STREAM_OLD_IMAGE);
    put(&w, 1, 4);
    read_all(&w, w.table.partitions[0].id, 1, &r);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.now[0], 2);
    assert_true(r.closed);
    struct request q = stream_request(&w, w.table.partitions[0].id, 1);
    request_edit_records(&q)->stream = 2;
    read_by(&w, &q, &r);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.old[0], 3);
    assert_false(r.closed);
    assert_int_equal(w.table.stream_set->count, 2);
    lone_crash(&w);
    read_all(&w, w.table.partitions[0].id, 1, &r);
    assert_int_equal(r.count, 1);
    lone_deinit(&w);
}

static void request_split_of(struct lone_node *w, uint32_t at)
{
    struct buffer body = {0};
    const struct partition_info *p = &w->table.partitions[at];
    const uint64_t lo = storage_key_bound_hash(p->lo, 0),
                   hi = storage_key_bound_hash(p->hi, UINT64_MAX);
    uint8_t point[STORAGE_KEY_BOUND_SIZE];
    struct table_split s = {
        .table_id = w->table.id, .partition = p->id, .epoch = p->epoch, .point_count = 1};
    s.points[0] = storage_key_write_bound(point, w->table.id, storage_key_even_split(lo, hi, 1, 2));
    table_split_share_equally(&s);
    table_split_encode(&body, &s);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    lone_send(w, &r);
    lone_write_all(w);
    lone_assert_answer(w, REPLY_OK);
    buffer_deinit(&body);
}

static void split(struct lone_node *w, uint32_t at)
{
    request_split_of(w, at);
    pass(w, 1000);
    lone_fetch_table(w);
    assert_false(table_is_splitting(&w->table));
}

/* All shards of the stream together have each version once, those of one item in their order. */
static void assert_whole(struct lone_node *w, uint32_t names, uint32_t versions)
{
    const struct table_stream *s = table_streams_enabled(w->table.stream_set);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < s->shard_count; i++) {
        const struct table_shard *shard = &s->shards[i];
        struct reading r;
        read_all(w, shard->partition, shard->epoch, &r);
        assert_int_equal(r.closed, shard->closed_ms != 0);
        for (uint32_t k = 0; k < r.count; k++)
            assert_int_equal(r.old[k], r.now[k] > names ? r.now[k] - names : 0);
        seen += r.count;
        for (uint32_t parent = 0; shard->parent != 0 && parent <= i; parent++) {
            if (s->shards[parent].partition == shard->parent &&
                s->shards[parent].epoch == shard->parent_epoch) {
                assert_int_equal(shard->depth, s->shards[parent].depth + 1);
                break;
            }
            assert_true(parent < i); /* parents stand before their children */
        }
    }
    assert_int_equal(seen, versions);
}

TEST(shards_follow_splits)
{
    enum {
        NAMES = 10
    };
    struct lone_node w;
    uint32_t version = 0;
    open_table(&w, STREAM_BOTH_IMAGES);
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < NAMES; i++)
            put(&w, i, ++version);
        assert_whole(&w, NAMES, version);
        split(&w, round % w.table.partition_count);
        assert_whole(&w, NAMES, version);
        if (round == 2)
            lone_crash(&w);
        lone_checkpoint_all(&w);
    }
    assert_int_equal(w.table.partition_count, 6);
    assert_int_equal(table_streams_enabled(w.table.stream_set)->shard_count, 11);
    assert_verified(&w, NAMES);
    lone_deinit(&w);
}

/* STREAM-3: a write that comes while the split is on its way waits until its shard has ended. Its
 * record is in the next one. */
TEST(a_write_waits_for_the_end_of_its_shard)
{
    struct lone_node w;
    struct reading r;
    open_table(&w, STREAM_NEW_IMAGE);
    put(&w, 1, 10);
    put(&w, 2, 20);
    const uint32_t id = w.table.partitions[0].id;
    const struct partition *p = partitions_find(&w.node->partitions, id);
    request_split_of(&w, 0);
    for (int ms = 0; !proposals_split(p); ms++) {
        assert_true(ms < 1000);
        lone_write_all(&w);
        lone_pass(&w, 1);
    }
    lone_put_sized(&w, 1, 11, 10);
    lone_put_sized(&w, 2, 21, 10);
    assert_int_equal(w.answer_count, 0);
    pass(&w, 1000);
    read_all(&w, id, 1, &r);
    assert_int_equal(r.count, 2);
    assert_true(r.closed);
    lone_deinit(&w);
}

static bool indexes_are_proposed(const struct partition *p)
{
    const struct inflight *e;
    STAILQ_FOREACH (e, &p->proposals, place) {
        if (e->kind == LOG_INDEXES)
            return true;
    }
    return false;
}

/* STREAM-3: the stream is disabled by an entry of the log, and a write comes behind it. */
TEST(a_write_waits_for_the_end_of_its_stream)
{
    struct lone_node w;
    struct reading r;
    struct buffer b = {0};
    open_table(&w, STREAM_NEW_IMAGE);
    put(&w, 1, 10);
    const uint32_t id = w.table.partitions[0].id;
    const struct partition *p = partitions_find(&w.node->partitions, id);
    const struct table_spec spec = {.name = slice_of("t"), .stream = 1 + STREAM_OFF};
    table_spec_encode(&b, &spec);
    struct request q = {.op = REQUEST_TABLE_UPDATE,
                        .table = {.name = slice_of("t"), .spec = buffer_slice(&b)}};
    lone_send(&w, &q);
    for (int ms = 0; !indexes_are_proposed(p); ms++) {
        assert_true(ms < 1000);
        if (lone_write_begin(&w))
            lone_write_end(&w, 0);
        else
            lone_pass(&w, 1);
    }
    const uint32_t proposed = w.node->proposals.count;
    lone_put_sized(&w, 1, 11, 10);
    assert_int_equal(w.node->proposals.count, proposed);
    pass(&w, 1000);
    read_all(&w, id, 1, &r);
    assert_int_equal(r.count, 1);
    assert_true(r.closed);
    assert_int_equal(lone_get(&w, 1), 11);
    buffer_deinit(&b);
    lone_deinit(&w);
}

TEST(a_shard_is_closed_with_its_last_record)
{
    struct lone_node w;
    struct reading r;
    open_table(&w, STREAM_NEW_IMAGE);
    for (uint32_t i = 0; i < 3; i++)
        put(&w, i, 10 + i);
    split(&w, 0);
    struct request q = stream_request(&w, w.table.partitions[0].id, 1);
    request_edit_records(&q)->items_max = 1;
    for (uint32_t i = 0; i < 3; i++) {
        read_by(&w, &q, &r);
        assert_int_equal(r.count, 1);
        assert_int_equal(r.closed, i == 2);
        request_edit_records(&q)->index = r.index;
        request_edit_records(&q)->place = r.place;
    }
    lone_deinit(&w);
}

TEST(a_split_with_nothing_below_it_is_refused)
{
    struct lone_node w;
    struct buffer body = {0};
    open_table(&w, STREAM_NEW_IMAGE);
    const struct partition_info *p = &w.table.partitions[0];
    uint8_t point[STORAGE_KEY_BOUND_SIZE];
    struct table_split s = {
        .table_id = w.table.id, .partition = p->id, .epoch = p->epoch, .point_count = 1};
    s.points[0] = storage_key_write_bound(point, w.table.id, 0);
    table_split_share_equally(&s);
    table_split_encode(&body, &s);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    lone_send(&w, &r);
    lone_write_all(&w);
    lone_assert_answer(&w, REPLY_MALFORMED);
    buffer_deinit(&body);
    lone_deinit(&w);
}

/* ---- trimming ---- */

TEST(old_records_are_trimmed)
{
    struct lone_node w;
    struct reading r;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "stream_retention_ms", "10000");
    w.stream = 1 + STREAM_NEW_IMAGE;
    lone_open_table(&w, 10, 10);
    for (uint32_t i = 0; i < 600; i++)
        put(&w, i % 5, 10 + i);
    pass(&w, 6000);
    put(&w, 1, 1000);
    struct request q = stream_request(&w, w.table.partitions[0].id, 1);
    request_edit_records(&q)->latest = true;
    read_by(&w, &q, &r);
    const uint64_t behind = r.index;
    pass(&w, 6000);
    read_all(&w, w.table.partitions[0].id, 1, &r);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.now[0], 1000);
    request_edit_records(&q)->latest = false;
    request_edit_records(&q)->index = 1; /* was there once */
    read_by(&w, &q, &r);
    assert_true(r.trimmed);
    assert_int_equal(r.count, 0);
    lone_crash(&w);
    read_by(&w, &q, &r);
    assert_true(r.trimmed);
    request_edit_records(&q)->index = behind;
    read_by(&w, &q, &r);
    assert_false(r.trimmed);
    assert_verified(&w, 5);
    lone_checkpoint_all(&w);
    assert_verified(&w, 5);
    lone_deinit(&w);
}

enum {
    TRIMMED = 20 /* records of that many items, which are to be trimmed after 10 s */
};

static const struct partition *trimmed_partition(struct lone_node *w)
{
    return partitions_find(&w->node->partitions, w->table.partitions[0].id);
}

static void open_trimmed(struct lone_node *w)
{
    lone_init(w, PROFILE_OFF);
    lone_set(w, "stream_retention_ms", "10000");
    w->stream = 1 + STREAM_NEW_IMAGE;
    lone_open_table(w, 10, 10);
    for (uint32_t i = 0; i < TRIMMED; i++)
        put(w, i, 10 + i);
}

/* TRIM-1: nothing more is deleted before that is on the disk. */
TEST(records_are_trimmed_by_one_entry_at_a_time)
{
    struct lone_node w;
    open_trimmed(&w);
    const struct partition *p = trimmed_partition(&w);
    for (int ms = 0; p->stream.trimming == 0; ms++) {
        assert_true(ms < 20000);
        lone_pass(&w, 1);
        if (p->stream.trimming == 0)
            lone_write_all(&w);
    }
    const uint64_t trimming = p->stream.trimming;
    for (int ms = 0; ms < 3000; ms++)
        lone_pass(&w, 1);
    assert_true(p->stream.trimming == trimming);
    assert_int_equal(p->stream.rows.count, TRIMMED);
    pass(&w, 3000);
    assert_int_equal(p->stream.rows.count, 0);
    assert_true(p->stream.trimming == 0);
    lone_deinit(&w);
}

/* TRIM-1. The catalog has a word, of indexes for instance, whose entry is applied while the next
 * one, which deletes records, is on its way. */
TEST(a_word_of_the_catalog_has_no_record_trimmed_twice)
{
    struct lone_node w;
    open_trimmed(&w);
    const struct partition *p = trimmed_partition(&w);
    for (int ms = 0; p->stream.expired.size == 0; ms++, lone_pass(&w, 1)) {
        assert_true(ms < 20000);
        lone_write_all(&w);
    }
    struct partition_info info = p->info;
    info.indexes_version++;
    lone_update_partition(&w, &info);
    assert_true(lone_write_begin(&w));
    const uint64_t word = raft_last(p->raft);
    for (int ms = 0; p->stream.trimming == 0; ms++, lone_pass(&w, 1))
        assert_true(ms < 1000);
    lone_write_end(&w, 0);
    assert_int_equal(p->info.indexes_version, info.indexes_version);
    for (int ms = 0; ms < 3000; ms++)
        lone_pass(&w, 1);
    assert_true(raft_last(p->raft) == word + 1);
    pass(&w, 3000);
    assert_int_equal(p->stream.rows.count, 0);
    assert_int_equal(p->stream.trims, TRIMMED);
    lone_assert_verified(&w, TRIMMED);
    put(&w, 1, 50);
    pass(&w, 14000);
    assert_int_equal(p->stream.trims, TRIMMED + 1);
    lone_deinit(&w);
}

TEST(the_oldest_records_go_when_there_are_too_many)
{
    struct lone_node w;
    struct reading r;
    lone_init(&w, PROFILE_OFF);
    lone_set(&w, "stream_max_bytes", "64KiB");
    w.stream = 1 + STREAM_NEW_IMAGE;
    lone_open_table(&w, 10, 10);
    for (uint32_t i = 0; i < 40; i++) {
        lone_put_sized(&w, i % 3, 10 + i, 8000);
        lone_write_all(&w);
        lone_assert_answer(&w, REPLY_OK);
    }
    pass(&w, 3000);
    const struct partition *p = partitions_find(&w.node->partitions, w.table.partitions[0].id);
    assert_in_range(p->stream.rows.bytes, 32 * KIB, 64 * KIB);
    assert_int_equal(p->stream.for_bytes, 40 - p->stream.rows.count);
    read_all(&w, w.table.partitions[0].id, 1, &r);
    assert_int_equal(r.count, p->stream.rows.count);
    assert_int_equal(r.now[r.count - 1], 49);
    assert_verified(&w, 3);
    lone_deinit(&w);
}

/* ---- keys ---- */

TEST(no_split_divides_the_rows_of_a_shard)
{
    struct buffer row = {0}, point = {0};
    const struct attr key = {ATTR_STRING, slice_of("k")};
    const struct stream_position first = {1, 1, 1, 0},
                                 last = {UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT16_MAX};
    uint8_t bound[STORAGE_KEY_BOUND_SIZE];
    const struct slice whole = storage_key_write_bound(bound, 7, 0);
    const struct slice lows[] = {slice_make(bound, 4), slice_make(bound, 9), whole};
    storage_key_append(&point, 7, &key, NULL);
    for (size_t i = 0; i < COUNT_OF(lows); i++) {
        buffer_clear(&row);
        stream_key_append(&row, lows[i], 9, &last);
        uint32_t partition;
        struct stream_position at;
        assert_true(stream_key_split(buffer_slice(&row), &partition, &at));
        assert_int_equal(partition, 9);
        assert_int_equal(stream_position_compare(&at, &last), 0);
        assert_true(stream_position_compare(&first, &at) < 0);
        row.data[0] = 0;
        assert_true(slice_compare(lows[i], buffer_slice(&row)) < 0);
        assert_false(stream_may_split(lows[i], whole));
        assert_true(stream_may_split(lows[i], buffer_slice(&point)));
        assert_true(slice_compare(buffer_slice(&row), buffer_slice(&point)) < 0);
    }
    buffer_deinit(&row);
    buffer_deinit(&point);
}
