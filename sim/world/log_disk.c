/* log_disk.c - simulated segments, as arrays of bytes. */
#include "sim/world/log_disk.h"

#include <errno.h>
#include <stdlib.h>

enum {
    SECTOR = 512
};

void log_disk_init(struct log_disk *d, uint64_t segment_bytes, uint64_t seed)
{
    *d = (struct log_disk){.segment_bytes = segment_bytes, .prng = prng_seeded(seed)};
}

static void drop_undo(struct log_disk *d)
{
    for (size_t i = 0; i < d->undo_count; i++)
        buffer_deinit(&d->undo[i].before);
    d->undo_count = 0;
}

void log_disk_wipe(struct log_disk *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->segments[i].bytes);
    for (size_t i = 0; i < d->trimmed_count; i++)
        free(d->trimmed[i].segment.bytes);
    if (d->making)
        free(d->making_from.segment.bytes);
    d->count = d->trimmed_count = 0;
    d->making = false;
    d->in_flight_count = 0;
    drop_undo(d);
}

void log_disk_deinit(struct log_disk *d)
{
    log_disk_wipe(d);
    free(d->segments);
    free(d->trimmed);
    free(d->undo);
}

bool log_disk_range(const struct log_disk *d, uint64_t *first, uint64_t *last)
{
    if (d->count == 0)
        return false;
    *first = d->segments[0].number;
    *last = d->segments[d->count - 1].number;
    return true;
}

static struct log_disk_segment *segment_find(const struct log_disk *d, uint64_t number)
{
    for (size_t i = d->count; i > 0; i--) {
        if (d->segments[i - 1].number == number)
            return &d->segments[i - 1];
    }
    return NULL;
}

struct slice log_disk_read(const struct log_disk *d, uint64_t segment)
{
    const struct log_disk_segment *s = segment_find(d, segment);
    return s == NULL ? slice_make(NULL, 0) : slice_make(s->bytes, s->extent);
}

bool log_disk_has(const struct log_disk *d, uint64_t segment)
{
    return segment_find(d, segment) != NULL;
}

/* ---- making and trimming ---- */

static void segment_insert(struct log_disk *d, const struct log_disk_segment *s)
{
    d->segments = must_grow(d->segments, d->count, &d->capacity, sizeof d->segments[0]);
    size_t at = d->count++;
    for (; at > 0 && d->segments[at - 1].number > s->number; at--)
        d->segments[at] = d->segments[at - 1];
    d->segments[at] = *s;
}

static void trimmed_insert(struct log_disk *d, const struct log_disk_trimmed *t)
{
    d->trimmed =
        must_grow(d->trimmed, d->trimmed_count, &d->trimmed_capacity, sizeof d->trimmed[0]);
    d->trimmed[d->trimmed_count++] = *t;
}

/* Frees the trimmed segments that can never be segments again. */
static void trimmed_sweep(struct log_disk *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->trimmed_count; i++) {
        if (d->trimmed[i].spare || !d->trimmed[i].synced)
            d->trimmed[kept++] = d->trimmed[i];
        else
            free(d->trimmed[i].segment.bytes);
    }
    d->trimmed_count = kept;
}

void log_disk_open(struct log_disk *d)
{
    for (size_t i = 0; i < d->trimmed_count; i++)
        d->trimmed[i].spare = false;
    trimmed_sweep(d);
}

void log_disk_make_begin(struct log_disk *d, uint64_t segment)
{
    must(!d->making);
    must(d->count == 0 || d->segments[d->count - 1].number < segment);
    d->making = true;
    d->making_number = segment;
    d->making_from = (struct log_disk_trimmed){0};
    size_t i = d->trimmed_count;
    while (i > 0 && !d->trimmed[i - 1].spare)
        i--;
    if (i == 0)
        return;
    d->making_from = d->trimmed[i - 1];
    d->trimmed_count--;
    memmove(&d->trimmed[i - 1], &d->trimmed[i],
            (d->trimmed_count - (i - 1)) * sizeof d->trimmed[0]);
}

int log_disk_make_end(struct log_disk *d)
{
    must(d->making);
    d->making = false;
    struct log_disk_segment s = d->making_from.segment;
    if (d->no_files || (d->full && s.bytes == NULL)) {
        free(s.bytes); /* the spare is removed */
        return d->no_files ? EMFILE : ENOSPC;
    }
    s.number = d->making_number;
    if (s.bytes == NULL)
        s.bytes = must_calloc(1, d->segment_bytes);
    segment_insert(d, &s);
    for (size_t i = 0; i < d->trimmed_count; i++)
        d->trimmed[i].synced = true;
    trimmed_sweep(d);
    return 0;
}

enum status log_disk_prepare(struct log_disk *d, uint64_t segment)
{
    if (log_disk_has(d, segment))
        return STATUS_OK;
    log_disk_make_begin(d, segment);
    int error = log_disk_make_end(d);
    errno = error;
    return error == 0 ? STATUS_OK : status_is_no_space(error) ? STATUS_FULL : STATUS_IO;
}

void log_disk_trim(struct log_disk *d, uint64_t segment)
{
    size_t gone = 0, spares = 0;
    for (size_t i = 0; i < d->trimmed_count; i++)
        spares += d->trimmed[i].spare;
    while (gone < d->count && d->segments[gone].number < segment) {
        trimmed_insert(d, &(struct log_disk_trimmed){.segment = d->segments[gone++],
                                                     .spare = spares++ < LOG_DISK_SPARES_MAX});
    }
    d->count -= gone;
    memmove(d->segments, d->segments + gone, d->count * sizeof d->segments[0]);
}

/* Decides whether the segment in the making exists. After a loss of power it also decides which
 * trimmed segments come back (DISK-4). */
static void settle_names(struct log_disk *d, bool power)
{
    if (d->making && power && !d->making_from.synced && d->making_from.segment.bytes != NULL &&
        prng_below(&d->prng, 3) == 0) {
        d->making = false;
        segment_insert(d, &d->making_from.segment);
    } else if (d->making && prng_below(&d->prng, 2) == 0) {
        log_disk_make_end(d);
    } else if (d->making) {
        d->making = false;
        free(d->making_from.segment.bytes);
    }
    for (size_t i = 0; i < d->trimmed_count && power; i++) {
        struct log_disk_trimmed *t = &d->trimmed[i];
        bool back = !t->synced && prng_below(&d->prng, 2) == 0;
        t->spare = false;
        t->synced = true;
        if (back) {
            segment_insert(d, &t->segment);
            t->segment.bytes = NULL;
        }
    }
    trimmed_sweep(d);
}

/* ---- writes ---- */

static void log_disk_put(struct log_disk *d, uint64_t segment, size_t offset, struct slice bytes)
{
    struct log_disk_segment *s = segment_find(d, segment);
    must(s != NULL);
    must(offset + bytes.size <= d->segment_bytes);
    if (bytes.size == 0)
        return;
    memcpy(s->bytes + offset, bytes.data, bytes.size);
    if (s->extent < offset + bytes.size)
        s->extent = offset + bytes.size;
}

bool log_disk_zero(struct log_disk *d, uint64_t segment, uint64_t offset, uint64_t size)
{
    struct log_disk_segment *s = segment_find(d, segment);
    must(s != NULL);
    if (offset >= s->extent)
        return false;
    bool all = offset + size >= s->extent, dirty = false;
    uint64_t end = all ? s->extent : offset + size;
    for (uint64_t at = offset; at < end && !dirty; at++)
        dirty = s->bytes[at] != 0;
    memset(s->bytes + offset, 0, end - offset);
    if (all)
        s->extent = offset;
    return dirty;
}

void log_disk_write_begin(struct log_disk *d, uint64_t lsn, struct slice bytes)
{
    must(d->in_flight_count < LOG_DISK_WRITES_MAX);
    must(segment_find(d, lsn / d->segment_bytes) != NULL);
    d->in_flight[d->in_flight_count++] = (struct log_disk_write){lsn, bytes};
}

static struct log_disk_write take_in_flight(struct log_disk *d, uint64_t lsn)
{
    uint32_t i = 0;
    while (i < d->in_flight_count && d->in_flight[i].lsn != lsn)
        i++;
    must(i < d->in_flight_count);
    struct log_disk_write w = d->in_flight[i];
    d->in_flight_count--;
    memmove(&d->in_flight[i], &d->in_flight[i + 1], (d->in_flight_count - i) * sizeof w);
    return w;
}

static void log_disk_remember(struct log_disk *d, const struct log_disk_write *w)
{
    d->undo = must_grow(d->undo, d->undo_count, &d->undo_capacity, sizeof d->undo[0]);
    struct log_disk_undo *u = &d->undo[d->undo_count++];
    *u = (struct log_disk_undo){.segment = w->lsn / d->segment_bytes,
                                .offset = w->lsn % d->segment_bytes};
    const struct log_disk_segment *s = segment_find(d, u->segment);
    buffer_append(&u->before, s->bytes + u->offset, w->bytes.size);
}

uint64_t log_disk_write_end(struct log_disk *d, uint64_t lsn)
{
    struct log_disk_write w = take_in_flight(d, lsn);
    if (d->lies)
        log_disk_remember(d, &w);
    log_disk_put(d, lsn / d->segment_bytes, lsn % d->segment_bytes, w.bytes);
    return lsn + w.bytes.size;
}

/* Each sector reaches the disk or not. Sometimes all do, sometimes none. */
static void log_disk_tear(struct log_disk *d, const struct log_disk_write *w)
{
    uint64_t odds = prng_below(&d->prng, 4); /* a sector reaches the disk in `odds` of 3 cases */
    uint64_t segment = w->lsn / d->segment_bytes;
    size_t offset = w->lsn % d->segment_bytes, end = offset + w->bytes.size;
    for (size_t at = offset; at < end;) {
        size_t next = (at / SECTOR + 1) * SECTOR;
        next = MIN(next, end);
        if (prng_below(&d->prng, 3) < odds)
            log_disk_put(d, segment, at, slice_make(w->bytes.data + (at - offset), next - at));
        at = next;
    }
}

uint64_t log_disk_write_fail(struct log_disk *d, uint64_t lsn)
{
    struct log_disk_write w = take_in_flight(d, lsn);
    log_disk_tear(d, &w);
    return lsn + w.bytes.size;
}

/* The process ends, but the machine does not: all of the write remains, or its first part. */
static void cut_short(struct log_disk *d, const struct log_disk_write *w)
{
    size_t size = w->bytes.size;
    if (prng_below(&d->prng, 2) == 0)
        size = prng_below(&d->prng, size + 1);
    log_disk_put(d, w->lsn / d->segment_bytes, w->lsn % d->segment_bytes,
                 slice_make(w->bytes.data, size));
}

void log_disk_crash(struct log_disk *d, bool power)
{
    for (uint32_t i = 0; i < d->in_flight_count; i++) {
        if (power)
            log_disk_tear(d, &d->in_flight[i]);
        else
            cut_short(d, &d->in_flight[i]);
    }
    d->in_flight_count = 0;
    settle_names(d, power);
    if (!power)
        return;
    for (size_t i = d->undo_count; i > 0; i--) {
        const struct log_disk_undo *u = &d->undo[i - 1];
        if (segment_find(d, u->segment) != NULL)
            log_disk_put(d, u->segment, u->offset, buffer_slice(&u->before));
    }
    drop_undo(d);
}
