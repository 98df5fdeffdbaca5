#include "sim/disk.h"

#include <stdlib.h>

#include "base/must.h"

enum {
    SECTOR = 512
};

void disk_init(struct disk *d, uint64_t segment_bytes, uint64_t seed)
{
    *d = (struct disk){.segment_bytes = segment_bytes, .prng = prng_seeded(seed)};
}

static void drop_undo(struct disk *d)
{
    for (size_t i = 0; i < d->undo_count; i++)
        buffer_deinit(&d->undo[i].before);
    d->undo_count = 0;
}

void disk_wipe(struct disk *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->segments[i].bytes);
    for (size_t i = 0; i < d->trimmed_count; i++)
        free(d->trimmed[i].bytes);
    d->count = d->trimmed_count = 0;
    d->spare = false;
    d->flying_count = 0;
    drop_undo(d);
}

void disk_deinit(struct disk *d)
{
    disk_wipe(d);
    free(d->segments);
    free(d->trimmed);
    free(d->undo);
}

bool disk_range(const struct disk *d, uint64_t *first, uint64_t *last)
{
    if (d->count == 0)
        return false;
    *first = d->segments[0].number;
    *last = d->segments[d->count - 1].number;
    return true;
}

static struct disk_segment *find(const struct disk *d, uint64_t number)
{
    for (size_t i = d->count; i > 0; i--) {
        if (d->segments[i - 1].number == number)
            return &d->segments[i - 1];
    }
    return NULL;
}

struct slice disk_read(const struct disk *d, uint64_t segment)
{
    const struct disk_segment *s = find(d, segment);
    return s == NULL ? slice_make(NULL, 0) : slice_make(s->bytes, s->extent);
}

/* Room for one more. */
static struct disk_segment *grow(struct disk_segment **segments, size_t count, size_t *capacity)
{
    if (count == *capacity) {
        *capacity = count == 0 ? 8 : count * 2;
        *segments = realloc(*segments, *capacity * sizeof **segments);
        must(*segments != NULL);
    }
    return &(*segments)[count];
}

enum status disk_prepare(struct disk *d, uint64_t segment)
{
    if (find(d, segment) != NULL)
        return STATUS_OK;
    if (d->full && !d->spare)
        return STATUS_FULL;
    must(d->count == 0 || d->segments[d->count - 1].number < segment);
    struct disk_segment *s = grow(&d->segments, d->count, &d->capacity);
    d->count++;
    d->spare = false;
    if (d->trimmed_count > 0) {
        *s = d->trimmed[--d->trimmed_count];
        s->number = segment;
        return STATUS_OK;
    }
    *s = (struct disk_segment){.number = segment, .bytes = calloc(1, d->segment_bytes)};
    must(s->bytes != NULL);
    return STATUS_OK;
}

void disk_trim(struct disk *d, uint64_t segment)
{
    size_t gone = 0;
    while (gone < d->count && d->segments[gone].number < segment) {
        *grow(&d->trimmed, d->trimmed_count, &d->trimmed_capacity) = d->segments[gone++];
        d->trimmed_count++;
        d->spare = true;
    }
    d->count -= gone;
    memmove(d->segments, d->segments + gone, d->count * sizeof d->segments[0]);
}

/* ---- writes ---- */

static void put(struct disk *d, uint64_t segment, size_t offset, struct slice bytes)
{
    struct disk_segment *s = find(d, segment);
    must(s != NULL);
    must(offset + bytes.size <= d->segment_bytes);
    if (bytes.size == 0)
        return;
    memcpy(s->bytes + offset, bytes.data, bytes.size);
    if (s->extent < offset + bytes.size)
        s->extent = offset + bytes.size;
}

void disk_zero(struct disk *d, uint64_t segment, uint64_t offset, uint64_t size)
{
    struct disk_segment *s = find(d, segment);
    must(s != NULL);
    if (offset >= s->extent)
        return;
    if (offset + size >= s->extent) {
        memset(s->bytes + offset, 0, s->extent - offset);
        s->extent = offset;
    } else {
        memset(s->bytes + offset, 0, size);
    }
}

void disk_write_begin(struct disk *d, uint64_t lsn, struct slice bytes)
{
    must(d->flying_count < DISK_WRITES_MAX);
    must(find(d, lsn / d->segment_bytes) != NULL);
    d->flying[d->flying_count++] = (struct disk_write){lsn, bytes};
}

static struct disk_write take_flying(struct disk *d, uint64_t lsn)
{
    uint32_t i = 0;
    while (i < d->flying_count && d->flying[i].lsn != lsn)
        i++;
    must(i < d->flying_count);
    struct disk_write w = d->flying[i];
    d->flying_count--;
    memmove(&d->flying[i], &d->flying[i + 1], (d->flying_count - i) * sizeof w);
    return w;
}

static void remember(struct disk *d, const struct disk_write *w)
{
    if (d->undo_count == d->undo_capacity) {
        d->undo_capacity = d->undo_capacity == 0 ? 64 : d->undo_capacity * 2;
        d->undo = realloc(d->undo, d->undo_capacity * sizeof d->undo[0]);
        must(d->undo != NULL);
    }
    struct disk_undo *u = &d->undo[d->undo_count++];
    *u = (struct disk_undo){.segment = w->lsn / d->segment_bytes,
                            .offset = w->lsn % d->segment_bytes};
    const struct disk_segment *s = find(d, u->segment);
    buffer_append(&u->before, s->bytes + u->offset, w->bytes.size);
}

uint64_t disk_write_end(struct disk *d, uint64_t lsn)
{
    struct disk_write w = take_flying(d, lsn);
    if (d->lies)
        remember(d, &w);
    put(d, lsn / d->segment_bytes, lsn % d->segment_bytes, w.bytes);
    return lsn + w.bytes.size;
}

/* Sectors reach the disk in any order, or not at all: some times all, some times none. */
static void tear(struct disk *d, const struct disk_write *w)
{
    uint64_t odds = prng_below(&d->prng, 4); /* of 3 */
    uint64_t segment = w->lsn / d->segment_bytes;
    size_t offset = w->lsn % d->segment_bytes, end = offset + w->bytes.size;
    for (size_t at = offset; at < end;) {
        size_t next = (at / SECTOR + 1) * SECTOR;
        if (next > end)
            next = end;
        if (prng_below(&d->prng, 3) < odds)
            put(d, segment, at, slice_make(w->bytes.data + (at - offset), next - at));
        at = next;
    }
}

uint64_t disk_write_fail(struct disk *d, uint64_t lsn)
{
    struct disk_write w = take_flying(d, lsn);
    tear(d, &w);
    return lsn + w.bytes.size;
}

/* What a process wrote outlives it, as far as it had come. */
static void cut_short(struct disk *d, const struct disk_write *w)
{
    size_t size = w->bytes.size;
    if (prng_below(&d->prng, 2) == 0)
        size = prng_below(&d->prng, size + 1);
    put(d, w->lsn / d->segment_bytes, w->lsn % d->segment_bytes, slice_make(w->bytes.data, size));
}

void disk_crash(struct disk *d, bool power)
{
    for (uint32_t i = 0; i < d->flying_count; i++) {
        if (power)
            tear(d, &d->flying[i]);
        else
            cut_short(d, &d->flying[i]);
    }
    d->flying_count = 0;
    if (!power)
        return;
    for (size_t i = d->undo_count; i > 0; i--) {
        const struct disk_undo *u = &d->undo[i - 1];
        if (find(d, u->segment) != NULL)
            put(d, u->segment, u->offset, buffer_slice(&u->before));
    }
    drop_undo(d);
}
