/* catalog_streams_test.c - the streams of a table in the catalog: shards through splits, what is
 * kept and for how long, what is refused; shard ids, sequence numbers, labels and iterators as
 * texts. */
#include "tests/check.h"

#include "base/settings/streams.h"
#include "engine/item/storage_key.h"
#include "router/operations/shard_iterator.h"
#include "tests/support/catalog_fixture.h"

enum {
    NODES = 3 /* so that all partitions stand together */
};

static int64_t wall_ms;
static int64_t behind_ms; /* of the clocks of most nodes behind that of the catalog's leader */

static enum reply_code change(struct catalog_fixture *w, enum stream_view view)
{
    struct catalog_command c = catalog_fixture_command(w, CATALOG_UPDATE);
    c.spec.stream = (uint8_t)(1 + view);
    c.wall_ms = c.agreed_ms = wall_ms += 1000;
    const enum reply_code code = catalog_fixture_apply(w, &c);
    if (code == REPLY_OK) {
        assert_int_equal(catalog_fixture_table(w)->status, TABLE_UPDATING);
        const struct table *t = catalog_fixture_table(w);
        assert_int_equal(catalog_fixture_reconcile(w, t->partition_count, TABLE_UPDATING),
                         REPLY_OK);
    }
    return code;
}

static void open_world(struct catalog_fixture *w)
{
    wall_ms = 1000000;
    catalog_fixture_init(w, NODES);
}

static const struct table_streams *streams_of(const struct catalog_fixture *w)
{
    return catalog_fixture_table(w)->stream_set;
}

/* Each partition is an open shard of the enabled stream; parents stand before their children. */
static void assert_shards(const struct catalog_fixture *w)
{
    const struct table *t = catalog_fixture_table(w);
    const struct table_stream *s = table_streams_enabled(t->stream_set);
    uint32_t open = 0;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        const struct table_shard *shard = table_stream_shard(s, p->id, p->epoch);
        assert_non_null(shard);
        assert_int_equal(shard->closed_ms, 0);
        assert_int_equal(p->stream.id, s->id);
        assert_int_equal(p->stream.view, s->view);
    }
    for (uint32_t i = 0; i < s->shard_count; i++) {
        const struct table_shard *shard = &s->shards[i];
        open += shard->closed_ms == 0;
        if (shard->parent == 0)
            continue;
        const struct table_shard *parent =
            table_stream_shard(s, shard->parent, shard->parent_epoch);
        assert_true(parent != NULL && parent < shard && parent->closed_ms != 0);
        assert_int_equal(shard->depth, parent->depth + 1);
    }
    assert_int_equal(open, t->partition_count);
    catalog_fixture_reloads(w);
}

/* Splits a partition in the middle of its hashes. */
static void cut(struct catalog_fixture *w, uint32_t at)
{
    uint8_t key[12];
    const struct partition_info *p = catalog_fixture_at(w, at);
    struct table_split s = {
        .table_id = p->table_id, .partition = p->id, .epoch = p->epoch, .cut_count = 1};
    const uint64_t lo = storage_key_bound_hash(p->lo, 0);
    const uint64_t hi = storage_key_bound_hash(p->hi, UINT64_MAX);
    s.cuts[0] = catalog_fixture_key(s.table_id, storage_key_even_cut(lo, hi, 1, 2), key);
    table_split_share_equally(&s);
    assert_int_equal(catalog_fixture_split(w, &s), REPLY_OK);
}

TEST(a_split_closes_a_shard_and_opens_two)
{
    struct catalog_fixture w;
    open_world(&w);
    assert_int_equal(change(&w, STREAM_NEW_IMAGE), REPLY_OK);
    assert_shards(&w);
    for (uint32_t i = 0; i < 8; i++) {
        cut(&w, i % 3);
        assert_shards(&w);
        assert_int_equal(catalog_fixture_reconcile(&w, 3 + i, TABLE_ACTIVE), REPLY_OK);
        assert_shards(&w);
    }
    assert_int_equal(streams_of(&w)->at[0].shard_count, 2 + 2 * 8);
    catalog_fixture_deinit(&w);
}

/* Its partition writes into it until the group has split: the time for which it is kept begins
 * then. */
TEST(a_shard_is_closed_when_its_split_has_settled)
{
    struct catalog_fixture w;
    open_world(&w);
    assert_int_equal(change(&w, STREAM_NEW_IMAGE), REPLY_OK);
    const struct partition_info parent = *catalog_fixture_at(&w, 0);
    cut(&w, 0);
    struct catalog_command c = catalog_fixture_command(&w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_fixture_table(&w));
    c.wall_ms = wall_ms + 5000;
    assert_int_equal(catalog_fixture_apply(&w, &c), REPLY_OK);
    assert_false(table_is_splitting(catalog_fixture_table(&w)));
    const struct table_shard *s =
        table_stream_shard(&streams_of(&w)->at[0], parent.id, parent.epoch);
    assert_int_equal(s->closed_ms, c.wall_ms);
    catalog_fixture_deinit(&w);
}

TEST(what_is_not_so_is_refused)
{
    struct catalog_fixture w;
    open_world(&w);
    assert_int_equal(change(&w, STREAM_OFF), REPLY_TABLE_INVALID);
    assert_int_equal(change(&w, STREAM_KEYS_ONLY), REPLY_OK);
    assert_int_equal(change(&w, STREAM_OLD_IMAGE), REPLY_TABLE_INVALID);
    assert_int_equal(change(&w, STREAM_OFF), REPLY_OK);
    assert_int_equal(change(&w, STREAM_OFF), REPLY_TABLE_INVALID);
    catalog_fixture_deinit(&w);
}

TEST(a_disabled_stream_is_kept_for_its_retention)
{
    struct catalog_fixture w;
    open_world(&w);
    config_edit_streams(&w.config)->stream_retention_ms = 100000;
    for (uint32_t i = 0; i < TABLE_STREAMS_MAX; i++) {
        assert_int_equal(change(&w, STREAM_BOTH_IMAGES), REPLY_OK);
        assert_int_equal(streams_of(&w)->count, i + 1);
        assert_int_equal(streams_of(&w)->last_id, i + 1);
        assert_int_equal(change(&w, STREAM_OFF), REPLY_OK);
        for (uint32_t k = 0; k < streams_of(&w)->at[i].shard_count; k++)
            assert_true(streams_of(&w)->at[i].shards[k].closed_ms != 0);
    }
    assert_int_equal(change(&w, STREAM_BOTH_IMAGES), REPLY_TABLE_INVALID); /* too many */
    wall_ms += 100000 - 1000 * (2 * TABLE_STREAMS_MAX);
    assert_int_equal(change(&w, STREAM_BOTH_IMAGES), REPLY_OK);
    assert_int_equal(streams_of(&w)->count, TABLE_STREAMS_MAX);
    assert_int_equal(streams_of(&w)->at[0].id, 2);
    wall_ms += 100000;
    assert_int_equal(change(&w, STREAM_OFF), REPLY_OK);
    assert_int_equal(streams_of(&w)->count, 1);
    assert_int_equal(streams_of(&w)->last_id, TABLE_STREAMS_MAX + 1);
    catalog_fixture_reloads(&w);
    catalog_fixture_deinit(&w);
}

static enum reply_code merge(struct catalog_fixture *w)
{
    struct buffer b = {0};
    struct decision d = catalog_fixture_word(MERGE_BEGIN, catalog_fixture_at(w, 1));
    decision_encode(&b, &d);
    struct catalog_command c = catalog_fixture_command(w, CATALOG_MERGE);
    c.decision = buffer_slice(&b);
    c.wall_ms = wall_ms;
    c.agreed_ms = wall_ms - behind_ms;
    const enum reply_code code = catalog_fixture_apply(w, &c);
    buffer_deinit(&b);
    return code;
}

/* STREAMS-2 */
TEST(no_partitions_are_merged_while_records_may_be_wanted)
{
    struct catalog_fixture w;
    open_world(&w);
    config_edit_streams(&w.config)->stream_retention_ms = 100000;
    assert_int_equal(change(&w, STREAM_NEW_IMAGE), REPLY_OK);
    assert_int_not_equal(merge(&w), REPLY_OK);
    assert_int_equal(change(&w, STREAM_OFF), REPLY_OK);
    assert_int_not_equal(merge(&w), REPLY_OK);
    wall_ms += 100000;
    behind_ms = 100000; /* one clock that is ahead forgets nothing */
    assert_int_not_equal(merge(&w), REPLY_OK);
    behind_ms = 0;
    assert_int_equal(merge(&w), REPLY_OK);
    assert_int_equal(change(&w, STREAM_NEW_IMAGE), REPLY_TABLE_BUSY);
    catalog_fixture_deinit(&w);
}

TEST(two_streams_have_two_labels)
{
    struct catalog_fixture w;
    struct buffer first = {0}, second = {0};
    open_world(&w);
    assert_int_equal(change(&w, STREAM_NEW_IMAGE), REPLY_OK);
    assert_int_equal(change(&w, STREAM_OFF), REPLY_OK);
    wall_ms -= 2000; /* a clock that was set back */
    assert_int_equal(change(&w, STREAM_NEW_IMAGE), REPLY_OK);
    table_stream_append_label(&first, &streams_of(&w)->at[0]);
    table_stream_append_label(&second, &streams_of(&w)->at[1]);
    assert_slice_is(buffer_slice(&first), "1970-01-01T00:16:41.000");
    assert_slice_is(buffer_slice(&second), "1970-01-01T00:16:41.001");
    assert_ptr_equal(table_streams_find_label(streams_of(&w), buffer_slice(&second)),
                     &streams_of(&w)->at[1]);
    assert_null(table_streams_find_label(streams_of(&w), slice_of("x")));
    buffer_deinit(&first);
    buffer_deinit(&second);
    catalog_fixture_deinit(&w);
}

/* ---- texts ---- */

TEST(numbers_rise_along_a_shard_and_its_children)
{
    const struct table_shard parent = {.partition = 7, .epoch = 3, .depth = 4},
                             child = {.partition = 7, .epoch = 4, .depth = 5};
    struct buffer texts[6] = {{0}};
    uint64_t index;
    uint32_t place;
    table_sequence_append(&texts[0], &parent, 0, 0);
    table_sequence_append(&texts[1], &parent, 9, 12);
    table_sequence_append(&texts[2], &parent, 10, 0);
    table_sequence_append_last(&texts[3], &parent);
    table_sequence_append(&texts[4], &child, 0, 0);
    table_sequence_append(&texts[5], &child, 1, 0);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(texts[i].size, STREAM_SEQUENCE_SIZE);
        assert_true(i == 0 ||
                    slice_compare(buffer_slice(&texts[i - 1]), buffer_slice(&texts[i])) < 0);
    }
    assert_true(table_sequence_read(&parent, buffer_slice(&texts[1]), &index, &place));
    assert_int_equal(index, 9);
    assert_int_equal(place, 12);
    assert_true(table_sequence_read(&parent, buffer_slice(&texts[3]), &index, &place));
    assert_false(table_sequence_read(&child, buffer_slice(&texts[1]), &index, &place));
    assert_false(table_sequence_read(&parent, slice_make(texts[1].data, 31), &index, &place));
    texts[1].data[20] = 'x';
    assert_false(table_sequence_read(&parent, buffer_slice(&texts[1]), &index, &place));
    memset(texts[1].data + 8, '9', 24);
    assert_false(table_sequence_read(&parent, buffer_slice(&texts[1]), &index, &place));
    for (int i = 0; i < 6; i++)
        buffer_deinit(&texts[i]);
}

TEST(an_iterator_is_read_back_and_no_other_text_is)
{
    struct buffer text = {0};
    struct shard_iterator i = {.arn = slice_of("arn:aws:dynamodb:local:0:table/t/stream/l"),
                               .partition = 7,
                               .epoch = 3,
                               .index = UINT64_MAX,
                               .place = 5,
                               .made_ms = 1700000000000},
                          out;
    shard_iterator_append(&text, &i);
    assert_true(shard_iterator_read(buffer_slice(&text), &out));
    assert_true(slice_equal(out.arn, i.arn));
    assert_true(out.partition == 7 && out.epoch == 3 && out.index == UINT64_MAX && out.place == 5 &&
                out.made_ms == i.made_ms);
    for (size_t cut = 0; cut < text.size; cut++)
        assert_false(shard_iterator_read(slice_make(text.data, cut), &out));
    for (size_t at = 0; at < text.size; at++) {
        text.data[at] ^= 1;
        assert_false(shard_iterator_read(buffer_slice(&text), &out));
        text.data[at] ^= 1;
    }
    buffer_deinit(&text);
}
