/* log_writer.c - the writing end of a node's shared log: records in, batches out. */
#include "engine/store/log_writer.h"

#include <stdlib.h>

enum {
    END_SIZE_MAX = LOG_BLOCK_SIZE + LOG_HEADER_SIZE /* a LOG_END record and the gap before it */
};

static size_t batches_bytes(const struct log_writer *w)
{
    size_t bytes = 0;
    const struct log_batch *b;
    TAILQ_FOREACH (b, &w->batches, place)
        bytes += b->bytes.size;
    return bytes;
}

/* The batches in flight before the first one that is not. */
static uint32_t batches_in_flight(const struct log_writer *w)
{
    uint32_t count = 0;
    const struct log_batch *b = TAILQ_FIRST(&w->batches);
    for (; b != NULL && b->in_flight; b = TAILQ_NEXT(b, place))
        count++;
    return count;
}

static inline void log_writer_check(const struct log_writer *w)
{
    must(w->in_flight <= w->in_flight_max);
    must(w->written_lsn <= w->next_lsn);
    must(w->unwritten_bytes <= w->next_lsn - w->written_lsn);
    must((w->unwritten_bytes == 0) == TAILQ_EMPTY(&w->batches));
    must_in_tests(w->unwritten_bytes == batches_bytes(w));
    must_in_tests(w->in_flight == batches_in_flight(w));
}

void log_writer_init(struct log_writer *w, uint32_t node, uint32_t in_flight_max,
                     uint64_t segment_bytes, uint64_t next_lsn)
{
    must(in_flight_max > 0);
    must(in_flight_max <= LOG_WRITES_MAX);
    must(segment_bytes > LOG_BLOCK_SIZE + END_SIZE_MAX);
    *w = (struct log_writer){.node = node,
                             .in_flight_max = in_flight_max,
                             .segment_bytes = segment_bytes,
                             .next_lsn = next_lsn,
                             .written_lsn = next_lsn};
    TAILQ_INIT(&w->batches);
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
    for (struct log_batch *b; (b = TAILQ_FIRST(&w->batches)) != NULL;) {
        TAILQ_REMOVE(&w->batches, b, place);
        batch_destroy(b);
    }
    batch_destroy(w->spare);
    *w = (struct log_writer){0};
}

static uint64_t segment_of(const struct log_writer *w, uint64_t lsn)
{
    return lsn / w->segment_bytes;
}

/* Opens a batch. If earlier batches are not on disk yet, the batch begins at the next block. */
static struct log_batch *batch_open(struct log_writer *w)
{
    struct log_batch *b = w->spare;
    w->spare = NULL;
    if (b == NULL) {
        b = must_calloc(1, sizeof *b);
    }
    buffer_clear(&b->bytes);
    uint32_t gap =
        TAILQ_EMPTY(&w->batches) ? 0 : (uint32_t)log_block_gap(w->next_lsn % w->segment_bytes);
    w->next_lsn += gap;
    *b = (struct log_batch){.lsn = w->next_lsn, .gap = gap, .bytes = b->bytes};
    TAILQ_INSERT_TAIL(&w->batches, b, place);
    return b;
}

/* The batch that takes a record of this size now. */
static struct log_batch *batch_filling(struct log_writer *w, size_t size)
{
    struct log_batch *b = TAILQ_LAST(&w->batches, log_batches);
    bool closed = b == NULL || b->in_flight ||
                  segment_of(w, b->lsn) != segment_of(w, w->next_lsn) ||
                  b->bytes.size + size > LOG_BATCH_SIZE_MAX;
    return closed ? batch_open(w) : b;
}

static void append_record(struct log_writer *w, struct log_record *r, struct slice payload)
{
    size_t size = log_record_size(payload.size);
    struct log_batch *b = batch_filling(w, size);
    r->lsn = w->next_lsn;
    r->gap = b->bytes.size == 0 ? b->gap : 0;
    log_record_append(&b->bytes, r, payload, slice_make(NULL, 0));
    w->next_lsn += size;
    w->unwritten_bytes += size;
    must(segment_of(w, b->lsn) == segment_of(w, w->next_lsn - 1)); /* WRITER-2 */
    must(b->lsn + b->bytes.size == w->next_lsn);
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
    if (left < LOG_BLOCK_SIZE + size + END_SIZE_MAX) {
        struct log_record end = {.kind = LOG_END};
        uint64_t segment = segment_of(w, w->next_lsn);
        append_record(w, &end, slice_make(NULL, 0));
        w->next_lsn = (segment + 1) * w->segment_bytes;
    }
    if (w->next_lsn % w->segment_bytes == 0)
        append_segment_header(w);
    struct log_record r = {.kind = kind, .group = group, .term = term, .index = index};
    append_record(w, &r, payload);
    log_writer_check(w);
    return w->next_lsn;
}

/* Whether a batch may be written beside those in flight: only if it is no smaller than the first of
 * them. So a slow write does not hold up the rest, and while all writes take equally long, no extra
 * write is made for few records. */
static bool may_join(const struct log_writer *w, const struct log_batch *b)
{
    const struct log_batch *first = TAILQ_FIRST(&w->batches);
    return w->in_flight < w->in_flight_max && b->bytes.size >= first->bytes.size &&
           segment_of(w, b->lsn) == segment_of(w, first->lsn);
}

const struct log_batch *log_writer_next(struct log_writer *w)
{
    struct log_batch *b = TAILQ_FIRST(&w->batches);
    while (b != NULL && b->in_flight)
        b = TAILQ_NEXT(b, place);
    if (b == NULL || (w->in_flight > 0 && !may_join(w, b)))
        return NULL;
    must(b->bytes.size > 0);
    must(!b->in_flight); /* WRITER-3 */
    must(b == TAILQ_FIRST(&w->batches) ||
         log_block_gap(b->lsn % w->segment_bytes) == 0); /* WRITER-1 */
    b->in_flight = true;
    w->in_flight++;
    log_writer_check(w);
    log_records_seal(&b->bytes, w->written_lsn);
    return b;
}

static void release_first(struct log_writer *w, struct log_batch *b)
{
    must(w->written_lsn <= b->lsn);
    must(w->unwritten_bytes >= b->bytes.size);
    must(w->in_flight > 0);
    w->written_lsn = b->lsn + b->bytes.size;
    w->unwritten_bytes -= b->bytes.size;
    w->in_flight--;
    TAILQ_REMOVE(&w->batches, b, place);
    if (w->spare == NULL)
        w->spare = b;
    else
        batch_destroy(b);
}

void log_writer_written(struct log_writer *w, uint64_t lsn)
{
    struct log_batch *b = TAILQ_FIRST(&w->batches);
    while (b != NULL && b->lsn != lsn)
        b = TAILQ_NEXT(b, place);
    must(b != NULL);
    must(b->in_flight);
    must(!b->written);
    b->written = true;
    while ((b = TAILQ_FIRST(&w->batches)) != NULL && b->written)
        release_first(w, b);
    log_writer_check(w);
}
