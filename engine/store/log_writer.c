#include "engine/store/log_writer.h"

#include <stdlib.h>

#include "base/must.h"

void log_writer_init(struct log_writer *w, uint32_t node, uint64_t segment_bytes, uint64_t next_lsn)
{
    *w = (struct log_writer){.node = node,
                             .segment_bytes = segment_bytes,
                             .next_lsn = next_lsn,
                             .written_lsn = next_lsn};
}

static void batch_destroy(struct log_batch *b)
{
    if (b == NULL)
        return;
    buffer_deinit(&b->bytes);
    free(b);
}

void log_writer_deinit(struct log_writer *w)
{
    while (w->first != NULL) {
        struct log_batch *next = w->first->next;
        batch_destroy(w->first);
        w->first = next;
    }
    batch_destroy(w->spare);
    *w = (struct log_writer){0};
}

static struct log_batch *batch_open(struct log_writer *w)
{
    struct log_batch *b = w->spare;
    w->spare = NULL;
    if (b == NULL) {
        b = calloc(1, sizeof *b);
        must(b != NULL);
    }
    b->next = NULL;
    b->lsn = w->next_lsn;
    buffer_clear(&b->bytes);
    if (w->last == NULL)
        w->first = b;
    else
        w->last->next = b;
    w->last = b;
    return b;
}

/* The batch that records may be added to now. */
static struct log_batch *batch_filling(struct log_writer *w, size_t size)
{
    struct log_batch *b = w->last;
    bool closed = b == NULL || (b == w->first && w->in_flight) ||
                  b->lsn / w->segment_bytes != w->next_lsn / w->segment_bytes ||
                  b->bytes.size + size > LOG_BATCH_SIZE_MAX;
    return closed ? batch_open(w) : b;
}

static void append_record(struct log_writer *w, struct log_record *r, struct slice payload)
{
    size_t size = log_record_size(payload.size);
    struct log_batch *b = batch_filling(w, size);
    r->lsn = w->next_lsn;
    r->batch_lsn = b->lsn;
    log_record_append(&b->bytes, r, payload, slice_make(NULL, 0));
    w->next_lsn += size;
    w->unwritten_bytes += size;
}

static void append_segment_header(struct log_writer *w)
{
    uint8_t payload[12];
    memcpy(payload, &w->segment_bytes, 8);
    memcpy(payload + 8, &w->node, 4);
    struct log_record header = {.kind = LOG_SEGMENT};
    append_record(w, &header, slice_make(payload, sizeof payload));
}

uint64_t log_writer_append(struct log_writer *w, enum log_kind kind, uint32_t group, uint64_t term,
                           uint64_t index, struct slice payload)
{
    size_t size = log_record_size(payload.size);
    uint64_t left = w->segment_bytes - w->next_lsn % w->segment_bytes;
    if (left < size + LOG_HEADER_SIZE) {
        struct log_record end = {.kind = LOG_END};
        uint64_t segment = w->next_lsn / w->segment_bytes;
        append_record(w, &end, slice_make(NULL, 0));
        w->next_lsn = (segment + 1) * w->segment_bytes;
    }
    if (w->next_lsn % w->segment_bytes == 0)
        append_segment_header(w);
    struct log_record r = {.kind = kind, .group = group, .term = term, .index = index};
    append_record(w, &r, payload);
    return w->next_lsn;
}

const struct log_batch *log_writer_next(struct log_writer *w)
{
    if (w->in_flight || w->first == NULL)
        return NULL;
    w->in_flight = true;
    return w->first;
}

const struct log_batch *log_writer_written(struct log_writer *w)
{
    must(w->in_flight);
    w->written_lsn = w->first->lsn + w->first->bytes.size;
    w->unwritten_bytes -= w->first->bytes.size;
    return w->first;
}

void log_writer_release(struct log_writer *w)
{
    must(w->in_flight);
    struct log_batch *b = w->first;
    w->first = b->next;
    if (w->first == NULL)
        w->last = NULL;
    w->in_flight = false;
    if (w->spare == NULL)
        w->spare = b;
    else
        batch_destroy(b);
}
