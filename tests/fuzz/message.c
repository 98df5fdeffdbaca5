/* message.c - frames from another process, and what they carry: requests, replies, tables, splits,
 * statistics.
 *
 * What decodes must encode to the same bytes. Seeds: tests/fuzz/seeds/message. */
#include "base/must.h"
#include "engine/catalog/split.h"
#include "engine/message/frames.h"
#include "engine/message/partition_stats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(const struct buffer *encoded, struct slice frame)
{
    must(slice_equal(slice_make(encoded->data + 4, encoded->size - 4), frame));
}

static void check_splits(struct slice bytes, struct buffer *out)
{
    struct table_split table;
    struct partition_split partition;
    buffer_clear(out);
    if (table_split_decode(bytes, &table) == STATUS_OK) {
        table_split_encode(out, &table);
        must(slice_equal(buffer_slice(out), bytes));
    }
    buffer_clear(out);
    if (partition_split_decode(bytes, &partition) == STATUS_OK) {
        partition_split_encode(out, &partition);
        must(slice_equal(buffer_slice(out), bytes));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = slice_make(data, size);
    struct arena arena = {0};
    struct buffer out = {0};
    struct request request;
    struct reply reply;
    struct table table;
    struct table_spec spec;
    struct partition_stats stats;
    struct reader reader = {bytes, false};
    enum message_kind kind;
    (void)message_kind_of(bytes, &kind);
    if (request_decode(bytes, &request) == STATUS_OK) {
        request_encode(&out, &request);
        check_same(&out, bytes);
    }
    buffer_clear(&out);
    if (reply_decode(bytes, &reply) == STATUS_OK) {
        reply_encode(&out, &reply);
        check_same(&out, bytes);
    }
    buffer_clear(&out);
    if (table_decode(bytes, &arena, &table) == STATUS_OK) {
        table_encode(&out, &table);
        must(slice_equal(buffer_slice(&out), bytes));
    }
    buffer_clear(&out);
    if (table_spec_decode(bytes, &spec) == STATUS_OK) {
        table_spec_encode(&out, &spec);
        must(slice_equal(buffer_slice(&out), bytes));
    }
    buffer_clear(&out);
    while (reader.left.size > 0 && partition_stats_decode(&reader, &stats) == STATUS_OK)
        buffer_clear(&out);
    check_splits(bytes, &out);
    arena_deinit(&arena);
    buffer_deinit(&out);
    return 0;
}
