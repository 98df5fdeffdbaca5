/* disk.h - the disk under a node's log: segment files, and what a crash leaves of the last writes.
 *
 * Invariants
 *   D1  Only writes in flight can be lost or torn: each for itself, sector by sector, old or new.
 *   D2  A write that failed is torn the same way; its sectors are settled at once.
 *   D3  A segment prepared holds what one that was trimmed held, or zeros.
 *   D4  A disk that lies reports writes as durable and loses them all when the power goes. It
 * breaks D1 on purpose: a check that finds nothing then is worth nothing. Not here: how long a
 * write takes, and when the disk is full or fails (sim/node_process, sim/faults). */
#ifndef WEIR_SIM_DISK_H
#define WEIR_SIM_DISK_H

#include "base/buffer.h"
#include "base/prng.h"

struct disk_segment {
    uint64_t number;
    uint8_t *bytes; /* owns; a whole segment */
    size_t extent;  /* zeros from here on */
};

/* What a lying disk has overwritten. */
struct disk_undo {
    uint64_t segment;
    size_t offset;
    struct buffer before; /* owns */
};

enum {
    DISK_WRITES_MAX = 4
};

struct disk_write {
    uint64_t lsn;
    struct slice bytes; /* borrows until the write ends or the crash */
};

struct disk {
    uint64_t segment_bytes;
    struct prng prng;
    struct disk_segment *segments; /* owns; ascending */
    size_t count;
    size_t capacity;
    struct disk_segment *trimmed; /* owns; to be prepared again, the last first */
    size_t trimmed_count;
    size_t trimmed_capacity;
    bool spare; /* there is space for one of them however full the disk is */
    struct disk_write flying[DISK_WRITES_MAX];
    uint32_t flying_count;
    bool full; /* nothing can be allocated */
    bool lies;
    struct disk_undo *undo; /* owns; oldest first */
    size_t undo_count;
    size_t undo_capacity;
};

void disk_init(struct disk *d, uint64_t segment_bytes, uint64_t seed);
void disk_deinit(struct disk *d);

/* Lowest and highest segment there; false: none. */
bool disk_range(const struct disk *d, uint64_t *first, uint64_t *last);
/* What a segment holds, without the zeros at its end. Lends until the next change. */
struct slice disk_read(const struct disk *d, uint64_t segment);
/* STATUS_OK, STATUS_FULL. */
enum status disk_prepare(struct disk *d, uint64_t segment);
/* Durably. The segment exists. */
void disk_zero(struct disk *d, uint64_t segment, uint64_t offset, uint64_t size);
/* Segments below this one go. */
void disk_trim(struct disk *d, uint64_t segment);

/* Writes inside one prepared segment, no two over the same bytes; named by where they begin. */
void disk_write_begin(struct disk *d, uint64_t lsn, struct slice bytes);
/* The lsn behind it. */
uint64_t disk_write_end(struct disk *d, uint64_t lsn);
uint64_t disk_write_fail(struct disk *d, uint64_t lsn);

/* The process ends, or with `power` the machine: before what it wrote from is freed. */
void disk_crash(struct disk *d, bool power);
void disk_wipe(struct disk *d);

#endif
