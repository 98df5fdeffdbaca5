/* Bytes as a log segment: the reader never crashes, stops, and accepts only what the writer writes.
 * Seeds: tests/fuzz/seeds/log_record. */
#include "replication/log_record.h"
#include "base/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A record that was read is written again: the same bytes must come out. */
static void write_again(const struct log_record *r, struct slice bytes)
{
    struct buffer again = {0};
    log_record_append(&again, r, r->payload, slice_make(NULL, 0));
    log_records_seal(&again, r->durable_lsn);
    must(again.size == bytes.size);
    must(memcmp(again.data, bytes.data, LOG_HEADER_SIZE + r->payload.size) == 0);
    buffer_deinit(&again);
}

static void read_segment(struct slice bytes, uint64_t start)
{
    struct log_segment_reader reader = {.bytes = bytes, .start = start};
    struct log_record record;
    enum status status;
    size_t before = 0;
    while ((status = log_segment_next(&reader, &record)) == STATUS_OK) {
        must(reader.at > before && reader.at <= reader.bytes.size);
        before += record.gap;
        must(record.gap < LOG_BLOCK_SIZE && record.lsn == start + before);
        write_again(&record, slice_make(reader.bytes.data + before, reader.at - before));
        before = reader.at;
    }
    must(status == STATUS_NOT_FOUND || status == STATUS_CORRUPT);
}

/* Records in batches, some behind a gap, then up to three bytes flipped. */
static void read_recipe(struct reader recipe, uint64_t start)
{
    struct buffer segment = {0}, batch = {0};
    struct log_record r = {.kind = LOG_WRITE};
    uint8_t flips = reader_u8(&recipe) & 3;
    uint64_t durable = start;
    uint32_t places[3] = {reader_u32(&recipe), reader_u32(&recipe), reader_u32(&recipe)};
    for (uint64_t i = 0; recipe.left.size > 0 && segment.size < 65536; i++) {
        uint8_t shape = reader_u8(&recipe);
        size_t size = shape < recipe.left.size ? shape : recipe.left.size;
        r.gap = shape % 8 == 0 ? (uint32_t)log_block_gap(segment.size) : 0;
        for (uint32_t g = 0; g < r.gap; g++)
            buffer_append_u8(&segment, 0);
        r.lsn = start + segment.size;
        durable = shape % 4 == 0 ? r.lsn - r.gap : durable;
        r.index = i;
        buffer_clear(&batch);
        log_record_append(&batch, &r, reader_take(&recipe, size), slice_make(NULL, 0));
        log_records_seal(&batch, durable);
        buffer_append_slice(&segment, buffer_slice(&batch));
    }
    buffer_deinit(&batch);
    for (uint8_t i = 0; i < flips && segment.size > 0; i++)
        segment.data[places[i] % segment.size] ^= (uint8_t)(1 + (places[i] >> 24) % 255);
    if (segment.size > 0)
        read_segment(buffer_slice(&segment), start);
    buffer_deinit(&segment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r = {slice_make(data, size), false};
    uint64_t start = reader_u64(&r) & UINT64_C(0xFFFFFFFFF8);
    uint8_t mode = reader_u8(&r);
    if (r.failed || r.left.size == 0)
        return 0;
    if (mode & 1)
        read_recipe(r, start);
    else
        read_segment(r.left, start);
    return 0;
}
