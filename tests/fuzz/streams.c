/* streams.c - what streams take from outside: shard iterators and ARNs of clients, and bytes of
 * records, keys and shards that another node sent or that lay on a disk. What is taken makes the
 * same bytes again, and is read without harm. */
#include "engine/catalog/streams.h"
#include "base/must.h"
#include "engine/item/item.h"
#include "router/operations/shard_iterator.h"
#include "router/operations/streams.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(struct buffer *out, struct slice bytes)
{
    must(slice_equal(buffer_slice(out), bytes));
    buffer_clear(out);
}

static void check_texts(struct slice bytes, struct buffer *out)
{
    struct shard_iterator i;
    struct slice table, label;
    const struct table_shard shard = {.partition = 1, .epoch = 1};
    uint64_t index;
    uint32_t place;
    if (shard_iterator_read(bytes, &i)) {
        shard_iterator_append(out, &i);
        check_same(out, bytes);
    }
    if (stream_arn_read(bytes, &table, &label))
        must(table.size + label.size < bytes.size);
    if (table_sequence_read(&shard, bytes, &index, &place)) {
        table_sequence_append(out, &shard, index, place);
        check_same(out, bytes);
    }
}

static void check_records(struct slice bytes, struct buffer *out)
{
    struct stream_record record;
    struct stream_change change;
    struct stream_position at;
    uint32_t partition;
    if (stream_record_decode(bytes, &record) == STATUS_OK) {
        stream_record_encode(out, &record);
        check_same(out, bytes);
        if (stream_record_is_valid(bytes) && record.now.size > 0)
            must(item_size(record.now) <= ITEM_SIZE_MAX);
    }
    if (stream_change_decode(bytes, &change) == STATUS_OK) {
        stream_change_encode(out, &change);
        check_same(out, bytes);
    }
    if (stream_key_split(bytes, &partition, &at)) {
        stream_key_append(out, slice_make(bytes.data, bytes.size - STREAM_SUFFIX_SIZE), partition,
                          &at);
        check_same(out, bytes);
    }
}

static void check_shards(struct slice bytes, struct buffer *out)
{
    struct arena arena = {0};
    const struct table_streams *s;
    if (table_streams_decode(bytes, &arena, &s) == STATUS_OK && s != NULL) {
        table_streams_encode(out, s);
        check_same(out, bytes);
        must(table_streams_find_label(s, slice_of("-")) == NULL);
        for (uint32_t i = 0; i < s->count; i++)
            must(table_shard_find(&s->at[i], slice_of("-")) == NULL);
    }
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct slice bytes = slice_make(data, size);
    struct buffer out = {0};
    check_texts(bytes, &out);
    check_records(bytes, &out);
    check_shards(bytes, &out);
    buffer_deinit(&out);
    return 0;
}
