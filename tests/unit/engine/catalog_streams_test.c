/* catalog_streams_test.c - sequence numbers and iterators of streams as texts. */
#include "engine/catalog/streams.h"
#include "router/operations/shard_iterator.h"
#include "tests/check.h"

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
    for (size_t size = 0; size < text.size; size++)
        assert_false(shard_iterator_read(slice_make(text.data, size), &out));
    for (size_t at = 0; at < text.size; at++) {
        text.data[at] ^= 1;
        assert_false(shard_iterator_read(buffer_slice(&text), &out));
        text.data[at] ^= 1;
    }
    buffer_deinit(&text);
}