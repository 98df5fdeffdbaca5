/* disk.h - the disk under a node's log: segment files, and what a crash leaves of the last writes.
 *
 * Invariants
 *   DISK-1  Only writes in flight can be lost or torn: each for itself, sector by sector, old or
 *           new.
 *   DISK-2  A write that failed is torn the same way; its sectors are settled at once.
 *   DISK-3  A segment made from a spare, which is a segment that was trimmed, holds what the spare
 *           held. Other new segments hold zeros.
 *   DISK-4  A trim is durable once a segment was made after it. Before, a loss of power may bring
 *           trimmed segments back.
 *   DISK-5  A disk that lies reports writes as durable and loses them all when the power goes. It
 *           breaks DISK-1 on purpose: a check that finds nothing then is worth nothing.
 * Not here: how long a write takes, and when the disk is full or fails (sim/node_process,
 * sim/faults). */
#ifndef WEIR_SIM_DISK_H
#define WEIR_SIM_DISK_H

#include "base/buffer.h"
#include "base/prng.h"

struct disk_segment {
    uint64_t number;
    uint8_t *bytes; /* owns; a whole segment */
    size_t extent;  /* zeros from here on */
};

/* A segment without its name. */
struct disk_trimmed {
    struct disk_segment segment;
    bool spare;  /* may become another segment; otherwise its file was removed */
    bool synced; /* DISK-4 */
};

/* What a lying disk has overwritten. */
struct disk_undo {
    uint64_t segment;
    size_t offset;
    struct buffer before; /* owns */
};

enum {
    DISK_WRITES_MAX = 4,
    DISK_SPARES_MAX = 8 /* as host/log_dir.h */
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
    struct disk_trimmed *trimmed; /* owns; the newest last */
    size_t trimmed_count;
    size_t trimmed_capacity;
    bool making; /* a segment is being made: this number, from this spare if `bytes` is not NULL */
    uint64_t making_number;
    struct disk_trimmed making_from; /* owns */
    struct disk_write flying[DISK_WRITES_MAX];
    uint32_t flying_count;
    bool full;     /* nothing can be allocated */
    bool no_files; /* no file can be opened to make a segment of */
    bool unreadable;
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
bool disk_has(const struct disk *d, uint64_t segment);
/* A process begins to use it: what is no segment by now is removed. */
void disk_open(struct disk *d);
/* Makes a segment, unless it is there; above those that are. STATUS_FULL; STATUS_IO, with errno. */
enum status disk_prepare(struct disk *d, uint64_t segment);
/* The same in two steps, between which time passes, or the power goes. */
void disk_make_begin(struct disk *d, uint64_t segment);
int disk_make_end(struct disk *d); /* 0 or errno */
/* Durably. The segment exists. True: there was something else than zeros. */
bool disk_zero(struct disk *d, uint64_t segment, uint64_t offset, uint64_t size);
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
