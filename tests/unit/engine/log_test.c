/* The shared log's bytes: what the writer makes of records, and what the reader makes of a disk on
 * which the last writes are torn, a file was used before, or a byte has turned. */
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
    uint64_t durable_lsn; /* when the last of them was begun */
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

static void disk_write(struct disk *d, const struct log_writer *w, const struct log_batch *b)
{
    assert_true(b->bytes.size > 0 && b->bytes.size <= LOG_BATCH_SIZE_MAX);
    /* WRITER-2 */
    assert_int_equal(b->lsn / SEGMENT_BYTES, (b->lsn + b->bytes.size - 1) / SEGMENT_BYTES);
    assert_true(b->lsn + b->bytes.size <= SEGMENTS * SEGMENT_BYTES);
    memcpy(d->bytes + b->lsn, b->bytes.data, b->bytes.size);
    d->durable_lsn = w->written_lsn;
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

/* WRITER-1: together in one segment, and none in a block of another. */
static void assert_may_be_in_flight(const struct log_batch *const *in_flight, size_t count)
{
    assert_in_range(count, 1, LOG_WRITES_MAX);
    for (size_t i = 1; i < count; i++) {
        const struct log_batch *before = in_flight[i - 1], *b = in_flight[i];
        assert_int_equal(b->lsn / SEGMENT_BYTES, before->lsn / SEGMENT_BYTES);
        assert_int_equal(b->lsn % LOG_BLOCK_SIZE, 0);
        assert_true(b->lsn >= before->lsn + before->bytes.size);
    }
}

/* Appends records, writes batches and ends the writes in any interleaving and order, until
 * `segments` are used up; how many records there are. In the end everything is written. */
static uint64_t fill(struct disk *d, struct log_writer *w, struct prng *p, uint64_t first,
                     uint64_t segments)
{
    uint64_t index = first, written = first;
    const uint64_t enough = (segments - 1) * SEGMENT_BYTES + SEGMENT_BYTES / 2;
    const struct log_batch *in_flight[LOG_WRITES_MAX + 1];
    size_t count = 0;
    while (w->next_lsn < enough || !TAILQ_EMPTY(&w->batches)) {
        if (w->next_lsn < enough && prng_below(p, 3) > 0) {
            append(w, index++);
        } else if (prng_below(p, 2) == 0 && (in_flight[count] = log_writer_next(w)) != NULL) {
            disk_write(d, w, in_flight[count++]);
            assert_may_be_in_flight(in_flight, count);
            written = assert_batch(in_flight[count - 1], written);
        } else if (count > 0) {
            size_t i = prng_below(p, count);
            uint64_t lsn = in_flight[i]->lsn, durable = i == 0 ? lsn : w->written_lsn;
            log_writer_written(w, lsn);
            assert_true(i == 0 ? w->written_lsn > durable : w->written_lsn == durable);
            count--;
            memmove(&in_flight[i], &in_flight[i + 1], (count - i) * sizeof in_flight[0]);
        }
    }
    assert_int_equal(written, index);
    assert_int_equal(w->unwritten_bytes, 0);
    return index;
}

static struct log_segment_reader reader_of(const struct disk *d, uint64_t segment)
{
    return (struct log_segment_reader){
        .bytes = slice_make(d->bytes + segment * SEGMENT_BYTES, SEGMENT_BYTES),
        .start = segment * SEGMENT_BYTES};
}

static bool was_begun(const struct disk *d, uint64_t segment)
{
    struct log_segment_reader r = reader_of(d, segment);
    struct log_record record;
    return log_segment_next(&r, &record) != STATUS_NOT_FOUND;
}

/* What recovery does: records from `lsn` on, segment by segment, up to the last one that was begun.
 * The number behind the last record; `end` gets the end of the log. */
static enum status recover(const struct disk *d, uint64_t first, uint64_t last_segment,
                           uint64_t *next, uint64_t *end)
{
    *next = first;
    while (last_segment > 0 && !was_begun(d, last_segment))
        last_segment--;
    for (uint64_t s = 0; s <= last_segment; s++) {
        struct log_segment_reader r = reader_of(d, s);
        struct log_record record;
        enum status status;
        size_t seen = 0;
        while ((status = log_segment_next(&r, &record)) == STATUS_OK) {
            assert_int_equal(record.kind == LOG_SEGMENT, seen++ == 0); /* RECORD-2 */
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

static uint32_t in_flight_max(struct prng *p)
{
    return 1 + (uint32_t)prng_below(p, LOG_WRITES_MAX);
}

static void what_is_written_is_read_back(struct prng *p)
{
    struct disk *d = disk_create();
    struct log_writer w;
    uint64_t next, end, segments = 2 + prng_below(p, SEGMENTS - 2);
    log_writer_init(&w, 1, in_flight_max(p), SEGMENT_BYTES, 0);
    uint64_t count = fill(d, &w, p, 100, segments);
    assert_int_equal(w.written_lsn, w.next_lsn);
    assert_int_equal(recover(d, 100, w.next_lsn / SEGMENT_BYTES, &next, &end), STATUS_OK);
    assert_int_equal(next, count);
    assert_int_equal(end, w.next_lsn);
    log_writer_deinit(&w);
    disk_destroy(d);
}

/* Any of a batch's 512-byte sectors may have been written or not, over zeros or over what the file
 * held before. */
static bool tear(struct disk *d, size_t batch, struct prng *p)
{
    uint64_t lsn = d->batch_lsn[batch];
    bool torn = false;
    for (size_t at = 0; at < d->batch_size[batch];) {
        size_t size = 512 - (lsn + at) % 512;
        if (size > d->batch_size[batch] - at)
            size = d->batch_size[batch] - at;
        if (prng_below(p, 4) == 0) {
            memset(d->bytes + lsn + at, (int)prng_below(p, 2) * 0x5a, size);
            torn = true;
        }
        at += size;
    }
    return torn;
}

/* The batches that were in flight last, torn in every way a disk tears them. */
static void torn_last_batches_give_their_first_records_or_none(struct prng *p)
{
    struct disk *d = disk_create();
    struct log_writer w;
    for (size_t i = 0; i < SEGMENTS * SEGMENT_BYTES; i++)
        d->bytes[i] = (uint8_t)(prng_below(p, 2) == 0 ? 0 : prng_next(p));
    log_writer_init(&w, 1, in_flight_max(p), SEGMENT_BYTES, 0);
    uint64_t count = fill(d, &w, p, 0, 3);
    size_t kept_size = SEGMENTS * SEGMENT_BYTES;
    uint8_t *kept = malloc(kept_size);
    memcpy(kept, d->bytes, kept_size);
    for (int round = 0; round < 50; round++) {
        memcpy(d->bytes, kept, kept_size);
        bool torn = false;
        for (size_t b = d->batches; b > 0 && d->batch_lsn[b - 1] >= d->durable_lsn; b--)
            torn |= prng_below(p, 2) == 0 && tear(d, b - 1, p);
        uint64_t next, end;
        assert_int_equal(recover(d, 0, w.next_lsn / SEGMENT_BYTES, &next, &end), STATUS_OK);
        assert_true(end >= d->durable_lsn && next <= count);
        if (!torn)
            assert_int_equal(next, count);
    }
    free(kept);
    log_writer_deinit(&w);
    disk_destroy(d);
}

/* RECORD-1: a byte that turned in what was on disk when a later batch was written is damage, never
 * the end of the log. */
static void damage_before_the_last_batches_is_found(struct prng *p)
{
    struct disk *d = disk_create();
    struct log_writer w;
    log_writer_init(&w, 1, in_flight_max(p), SEGMENT_BYTES, 0);
    uint64_t count = fill(d, &w, p, 0, 4);
    for (int round = 0; round < 50; round++) {
        size_t batch = prng_below(p, d->batches);
        if (d->batch_lsn[batch] >= d->durable_lsn)
            continue;
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

/* RECORD-3: a segment file that was used before is full of valid records, of other places. */
static void what_a_recycled_file_held_is_never_read(struct prng *p)
{
    struct disk *d = disk_create();
    struct log_writer w;
    uint64_t next, end;
    log_writer_init(&w, 1, in_flight_max(p), SEGMENT_BYTES, 0);
    uint64_t count = fill(d, &w, p, 0, 4);
    uint64_t behind = w.next_lsn;
    /* The segments to come are files of the ones written, some shifted by whole records. */
    for (uint64_t s = w.next_lsn / SEGMENT_BYTES + 1; s < SEGMENTS; s++)
        memcpy(d->bytes + s * SEGMENT_BYTES, d->bytes + prng_below(p, 3) * SEGMENT_BYTES,
               SEGMENT_BYTES);
    assert_false(was_begun(d, behind / SEGMENT_BYTES + 1));
    count = fill(d, &w, p, count, 9);
    assert_int_equal(recover(d, 0, w.next_lsn / SEGMENT_BYTES, &next, &end), STATUS_OK);
    assert_int_equal(next, count);
    assert_int_equal(end, w.next_lsn);
    log_writer_deinit(&w);
    disk_destroy(d);
}

/* ---- single facts ---- */

TEST(a_record_is_read_only_where_it_was_written)
{
    struct buffer b = {0};
    struct log_record r = {.lsn = 4096, .gap = 96, .kind = LOG_CATALOG, .index = 9}, got;
    log_record_append(&b, &r, slice_of("head "), slice_of("tail"));
    log_records_seal(&b, 4000);
    size_t size;
    assert_int_equal(b.size, log_record_size(9));
    assert_int_equal(log_record_read(buffer_slice(&b), 4096, &got, &size), STATUS_OK);
    assert_int_equal(size, b.size);
    assert_slice_is(got.payload, "head tail");
    assert_int_equal(got.durable_lsn, 4000);
    assert_int_equal(got.gap, 96);
    assert_int_equal(log_record_read(buffer_slice(&b), 4104, &got, &size), STATUS_MALFORMED);
    for (size_t cut = 0; cut < b.size; cut++)
        assert_int_equal(log_record_read(slice_make(b.data, cut), 4096, &got, &size),
                         STATUS_MALFORMED);
    buffer_deinit(&b);
}

TEST(the_largest_record_fits_the_smallest_segment)
{
    struct log_writer w;
    struct buffer payload = {0};
    memset(buffer_reserve(&payload, LOG_PAYLOAD_SIZE_MAX), 7, LOG_PAYLOAD_SIZE_MAX);
    const uint64_t segment = 8 << 20;
    log_writer_init(&w, 1, 1, segment, 0);
    for (int i = 0; i < 10; i++) {
        log_writer_append(&w, LOG_WRITE, 1, 1, 1, slice_make(payload.data, LOG_PAYLOAD_SIZE_MAX));
    }
    const struct log_batch *b;
    while ((b = log_writer_next(&w)) != NULL) {
        assert_true(b->bytes.size <= LOG_BATCH_SIZE_MAX);
        assert_int_equal(b->lsn / segment, (b->lsn + b->bytes.size - 1) / segment);
        log_writer_written(&w, b->lsn);
    }
    assert_int_equal(w.next_lsn / segment, 9);
    log_writer_deinit(&w);
    buffer_deinit(&payload);
}

/* A restart in the middle of a segment goes on there, with batches of its own. */
TEST(a_writer_goes_on_where_recovery_ended)
{
    struct disk *d = disk_create();
    struct prng p = prng_seeded(3);
    struct log_writer w;
    uint64_t next, end, count = 0;
    log_writer_init(&w, 1, 2, SEGMENT_BYTES, 0);
    for (uint64_t life = 1; life <= 8; life++) {
        count = fill(d, &w, &p, count, life);
        uint64_t last = w.next_lsn / SEGMENT_BYTES;
        log_writer_deinit(&w);
        assert_int_equal(recover(d, 0, last, &next, &end), STATUS_OK);
        assert_int_equal(next, count);
        log_writer_init(&w, 1, 2, SEGMENT_BYTES, end);
    }
    log_writer_deinit(&w);
    disk_destroy(d);
}

#define PROPERTY(name, property)   \
    TEST(name)                     \
    {                              \
        check_seeds(20, property); \
    }

PROPERTY(whatever_is_written_is_read_back, what_is_written_is_read_back)
PROPERTY(torn_last_batches_lose_only_themselves, torn_last_batches_give_their_first_records_or_none)
PROPERTY(damage_is_distinguished_from_the_end_of_the_log, damage_before_the_last_batches_is_found)
PROPERTY(a_recycled_segment_gives_nothing_of_its_past, what_a_recycled_file_held_is_never_read)
