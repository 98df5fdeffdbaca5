/* The shared log's bytes: what the writer makes of records, and what the reader makes of a disk on
 * which the last write is torn, a file was used before, or a byte has turned. */
#include "tests/check.h"

#include "engine/store/log_writer.h"

enum {
    SEGMENT_BYTES = 16384,
    SEGMENTS = 24,
    PAYLOAD_MAX = 3000,
    RECORDS_MAX = 4000
};

/* ---- a disk: segments, as files have them ---- */

struct disk {
    uint8_t *bytes;                  /* SEGMENTS segments, one behind the other */
    uint64_t batch_lsn[RECORDS_MAX]; /* written batches, in order */
    size_t batch_size[RECORDS_MAX];
    size_t batches;
};

static struct disk *disk_create(void)
{
    struct disk *d = calloc(1, sizeof *d);
    d->bytes = calloc(SEGMENTS, SEGMENT_BYTES);
    assert_non_null(d->bytes);
    return d;
}

static void disk_destroy(struct disk *d)
{
    free(d->bytes);
    free(d);
}

static void disk_write(struct disk *d, const struct log_batch *b)
{
    assert_true(b->bytes.size > 0 && b->bytes.size <= LOG_BATCH_SIZE_MAX);
    /* W2 */
    assert_int_equal(b->lsn / SEGMENT_BYTES, (b->lsn + b->bytes.size - 1) / SEGMENT_BYTES);
    assert_true(b->lsn + b->bytes.size <= SEGMENTS * SEGMENT_BYTES);
    memcpy(d->bytes + b->lsn, b->bytes.data, b->bytes.size);
    d->batch_lsn[d->batches] = b->lsn;
    d->batch_size[d->batches++] = b->bytes.size;
}

/* ---- records: number `index` tells what is in it ---- */

static size_t payload_size(uint64_t index)
{
    struct prng p = prng_seeded(index);
    return prng_below(&p, 8) == 0 ? prng_below(&p, PAYLOAD_MAX) : prng_below(&p, 60);
}

static struct slice payload_of(uint64_t index, uint8_t bytes[PAYLOAD_MAX])
{
    struct prng p = prng_seeded(index);
    size_t size = payload_size(index);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)prng_next(&p);
    return slice_make(bytes, size);
}

static void append(struct log_writer *w, uint64_t index)
{
    uint8_t bytes[PAYLOAD_MAX];
    uint64_t end =
        log_writer_append(w, LOG_WRITE, (uint32_t)(index % 7), 3, index, payload_of(index, bytes));
    assert_int_equal(end, w->next_lsn);
}

static void assert_record(const struct log_record *r, uint64_t index)
{
    uint8_t bytes[PAYLOAD_MAX];
    assert_int_equal(r->kind, LOG_WRITE);
    assert_int_equal(r->index, index);
    assert_int_equal(r->group, index % 7);
    assert_int_equal(r->term, 3);
    assert_true(slice_equal(r->payload, payload_of(index, bytes)));
}

/* The records of a batch, from number `index` on; the number behind the last. */
static uint64_t assert_batch(const struct log_batch *b, uint64_t index)
{
    struct log_record record;
    size_t size;
    for (size_t at = 0; at < b->bytes.size; at += size) {
        struct slice rest = slice_make(b->bytes.data + at, b->bytes.size - at);
        assert_int_equal(log_record_read(rest, b->lsn + at, &record, &size), STATUS_OK);
        if (record.kind == LOG_WRITE)
            assert_record(&record, index++);
    }
    return index;
}

/* Appends records and writes batches in any interleaving, until `segments` are used up; how many
 * records there are. The last batch stays the last: everything is written. */
static uint64_t fill(struct disk *d, struct log_writer *w, struct prng *p, uint64_t first,
                     uint64_t segments)
{
    uint64_t index = first, written = first;
    const struct log_batch *flying = NULL;
    while (w->next_lsn < (segments - 1) * SEGMENT_BYTES + SEGMENT_BYTES / 2 || w->first != NULL) {
        bool more = w->next_lsn < (segments - 1) * SEGMENT_BYTES + SEGMENT_BYTES / 2;
        if (more && prng_below(p, 3) > 0) {
            append(w, index++);
        } else if (flying == NULL) {
            flying = log_writer_next(w);
            assert_null(log_writer_next(w)); /* W1 */
            if (flying != NULL)
                disk_write(d, flying);
        } else {
            assert_ptr_equal(log_writer_written(w), flying);
            written = assert_batch(flying, written);
            log_writer_release(w);
            flying = NULL;
        }
    }
    assert_int_equal(written, index);
    assert_int_equal(w->unwritten_bytes, 0);
    return index;
}

/* What recovery does: records from `lsn` on, segment by segment, up to the last one that was begun.
 * The number behind the last record; `end` gets the end of the log. */
static enum status recover(const struct disk *d, uint64_t first, uint64_t last_segment,
                           uint64_t *next, uint64_t *end)
{
    *next = first;
    for (uint64_t s = 0; s <= last_segment; s++) {
        struct log_segment_reader r = {slice_make(d->bytes + s * SEGMENT_BYTES, SEGMENT_BYTES),
                                       s * SEGMENT_BYTES, 0, 0, false};
        struct log_record record;
        enum status status;
        size_t seen = 0;
        while ((status = log_segment_next(&r, &record)) == STATUS_OK) {
            assert_int_equal(record.kind == LOG_SEGMENT, seen++ == 0); /* L2 */
            if (record.kind == LOG_WRITE)
                assert_record(&record, (*next)++);
        }
        *end = r.start + r.at;
        if (status == STATUS_CORRUPT)
            return status;
        if (!r.ended)
            return s == last_segment ? STATUS_OK : STATUS_CORRUPT;
    }
    return STATUS_OK;
}

/* ---- properties ---- */

static void what_is_written_is_read_back(struct prng *p)
{
    struct disk *d = disk_create();
    struct log_writer w;
    uint64_t next, end, segments = 2 + prng_below(p, SEGMENTS - 2);
    log_writer_init(&w, 1, SEGMENT_BYTES, 0);
    uint64_t count = fill(d, &w, p, 100, segments);
    assert_int_equal(w.written_lsn, w.next_lsn);
    assert_int_equal(recover(d, 100, w.next_lsn / SEGMENT_BYTES, &next, &end), STATUS_OK);
    assert_int_equal(next, count);
    assert_int_equal(end, w.next_lsn);
    log_writer_deinit(&w);
    disk_destroy(d);
}

/* The last batch, torn in every way a disk tears it: any of its 512-byte sectors may have been
 * written or not, over zeros or over what the file held before. */
static void a_torn_last_batch_gives_its_first_records_or_none(struct prng *p)
{
    struct disk *d = disk_create();
    struct log_writer w;
    for (size_t i = 0; i < SEGMENTS * SEGMENT_BYTES; i++)
        d->bytes[i] = (uint8_t)(prng_below(p, 2) == 0 ? 0 : prng_next(p));
    log_writer_init(&w, 1, SEGMENT_BYTES, 0);
    uint64_t count = fill(d, &w, p, 0, 3);
    size_t last = d->batches - 1;
    uint64_t lsn = d->batch_lsn[last];
    uint8_t *kept = malloc(d->batch_size[last]);
    memcpy(kept, d->bytes + lsn, d->batch_size[last]);
    for (int round = 0; round < 50; round++) {
        memcpy(d->bytes + lsn, kept, d->batch_size[last]);
        bool torn = false;
        for (size_t at = 0; at < d->batch_size[last];) {
            size_t size = 512 - (lsn + at) % 512;
            if (size > d->batch_size[last] - at)
                size = d->batch_size[last] - at;
            if (prng_below(p, 4) == 0) {
                memset(d->bytes + lsn + at, (int)prng_below(p, 2) * 0x5a, size);
                torn = true;
            }
            at += size;
        }
        uint64_t next, end;
        assert_int_equal(recover(d, 0, lsn / SEGMENT_BYTES, &next, &end), STATUS_OK);
        assert_true(end >= lsn && next <= count);
        if (!torn)
            assert_int_equal(next, count);
    }
    free(kept);
    log_writer_deinit(&w);
    disk_destroy(d);
}

/* L1: a byte that turned before a later batch is damage, never the end of the log. */
static void damage_before_the_last_batch_is_found(struct prng *p)
{
    struct disk *d = disk_create();
    struct log_writer w;
    log_writer_init(&w, 1, SEGMENT_BYTES, 0);
    uint64_t count = fill(d, &w, p, 0, 4);
    for (int round = 0; round < 50; round++) {
        size_t batch = prng_below(p, d->batches - 1);
        uint64_t at = d->batch_lsn[batch] + prng_below(p, d->batch_size[batch]);
        uint8_t bit = (uint8_t)(1 << prng_below(p, 8));
        uint64_t next, end;
        d->bytes[at] ^= bit;
        enum status status = recover(d, 0, w.next_lsn / SEGMENT_BYTES, &next, &end);
        /* Padding is not covered by a checksum, and holds nothing. */
        if (status == STATUS_OK)
            assert_int_equal(next, count);
        else
            assert_int_equal(status, STATUS_CORRUPT);
        d->bytes[at] ^= bit;
    }
    log_writer_deinit(&w);
    disk_destroy(d);
}

/* L3: a segment file that was used before is full of valid records, of other places. */
static void what_a_recycled_file_held_is_never_read(struct prng *p)
{
    struct disk *d = disk_create();
    struct log_writer w;
    uint64_t next, end;
    log_writer_init(&w, 1, SEGMENT_BYTES, 0);
    uint64_t count = fill(d, &w, p, 0, 4);
    uint64_t behind = w.next_lsn;
    /* The segments to come are files of the ones written, some shifted by whole records. */
    for (uint64_t s = w.next_lsn / SEGMENT_BYTES + 1; s < SEGMENTS; s++)
        memcpy(d->bytes + s * SEGMENT_BYTES, d->bytes + prng_below(p, 3) * SEGMENT_BYTES,
               SEGMENT_BYTES);
    struct log_segment_reader fresh = {
        slice_make(d->bytes + (behind / SEGMENT_BYTES + 1) * SEGMENT_BYTES, SEGMENT_BYTES),
        (behind / SEGMENT_BYTES + 1) * SEGMENT_BYTES, 0, 0, false};
    struct log_record record;
    assert_int_equal(log_segment_next(&fresh, &record), STATUS_NOT_FOUND);
    count = fill(d, &w, p, count, 9);
    assert_int_equal(recover(d, 0, w.next_lsn / SEGMENT_BYTES, &next, &end), STATUS_OK);
    assert_int_equal(next, count);
    assert_int_equal(end, w.next_lsn);
    log_writer_deinit(&w);
    disk_destroy(d);
}

/* ---- single facts ---- */

static void a_record_is_read_only_where_it_was_written(void **state)
{
    (void)state;
    struct buffer b = {0};
    struct log_record r = {.lsn = 4096, .batch_lsn = 4000, .kind = LOG_CATALOG, .index = 9}, got;
    log_record_append(&b, &r, slice_of("head "), slice_of("tail"));
    size_t size;
    assert_int_equal(b.size, log_record_size(9));
    assert_int_equal(log_record_read(buffer_slice(&b), 4096, &got, &size), STATUS_OK);
    assert_int_equal(size, b.size);
    assert_slice_is(got.payload, "head tail");
    assert_int_equal(got.batch_lsn, 4000);
    assert_int_equal(log_record_read(buffer_slice(&b), 4104, &got, &size), STATUS_MALFORMED);
    for (size_t cut = 0; cut < b.size; cut++)
        assert_int_equal(log_record_read(slice_make(b.data, cut), 4096, &got, &size),
                         STATUS_MALFORMED);
    buffer_deinit(&b);
}

static void the_largest_record_fits_the_smallest_segment(void **state)
{
    (void)state;
    struct log_writer w;
    struct buffer payload = {0};
    memset(buffer_reserve(&payload, LOG_PAYLOAD_SIZE_MAX), 7, LOG_PAYLOAD_SIZE_MAX);
    const uint64_t segment = 8 << 20;
    log_writer_init(&w, 1, segment, 0);
    for (int i = 0; i < 10; i++) {
        log_writer_append(&w, LOG_WRITE, 1, 1, 1, slice_make(payload.data, LOG_PAYLOAD_SIZE_MAX));
    }
    const struct log_batch *b;
    while ((b = log_writer_next(&w)) != NULL) {
        assert_true(b->bytes.size <= LOG_BATCH_SIZE_MAX);
        assert_int_equal(b->lsn / segment, (b->lsn + b->bytes.size - 1) / segment);
        log_writer_written(&w);
        log_writer_release(&w);
    }
    assert_int_equal(w.next_lsn / segment, 3);
    log_writer_deinit(&w);
    buffer_deinit(&payload);
}

/* A restart in the middle of a segment goes on there, with batches of its own. */
static void a_writer_goes_on_where_recovery_ended(void **state)
{
    (void)state;
    struct disk *d = disk_create();
    struct prng p = prng_seeded(3);
    struct log_writer w;
    uint64_t next, end, count = 0;
    log_writer_init(&w, 1, SEGMENT_BYTES, 0);
    for (uint64_t life = 1; life <= 8; life++) {
        count = fill(d, &w, &p, count, life);
        log_writer_deinit(&w);
        assert_int_equal(recover(d, 0, life - 1, &next, &end), STATUS_OK);
        assert_int_equal(next, count);
        log_writer_init(&w, 1, SEGMENT_BYTES, end);
    }
    log_writer_deinit(&w);
    disk_destroy(d);
}

#define PROPERTY(name, property)   \
    static void name(void **state) \
    {                              \
        (void)state;               \
        check_seeds(20, property); \
    }

PROPERTY(whatever_is_written_is_read_back, what_is_written_is_read_back)
PROPERTY(a_torn_last_batch_loses_only_itself, a_torn_last_batch_gives_its_first_records_or_none)
PROPERTY(damage_is_told_from_the_end_of_the_log, damage_before_the_last_batch_is_found)
PROPERTY(a_recycled_segment_gives_nothing_of_its_past, what_a_recycled_file_held_is_never_read)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_read_only_where_it_was_written),
        cmocka_unit_test(the_largest_record_fits_the_smallest_segment),
        cmocka_unit_test(a_writer_goes_on_where_recovery_ended),
        cmocka_unit_test(whatever_is_written_is_read_back),
        cmocka_unit_test(a_torn_last_batch_loses_only_itself),
        cmocka_unit_test(damage_is_told_from_the_end_of_the_log),
        cmocka_unit_test(a_recycled_segment_gives_nothing_of_its_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
