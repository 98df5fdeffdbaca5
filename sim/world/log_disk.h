/* log_disk.h - the disk under a node's log: segment files, and what a crash leaves of the last
 * writes.
 *
 * Invariants
 *   DISK-1  Only writes in flight can be lost or torn. In a loss of power each sector of such a
 *           write is old or new.
 *   DISK-2  A failed write is torn in the same way. Its sectors do not change later.
 *   DISK-3  A spare is a trimmed segment. A segment made from a spare holds what the spare held.
 *           Other new segments hold zeros.
 *   DISK-4  A trim is durable once a segment was made after it. Before that, a loss of power may
 *           bring trimmed segments back.
 *   DISK-5  A disk that lies reports writes as durable, and loses them all in a loss of power. It
 *           breaks DISK-1 on purpose: the checks must find the loss.
 * Not here: how long a write takes, and when the disk is full or fails (node_process.h,
 * sim/plan/faults.h). */
#pragma once

#include "base/buffer.h"
#include "base/prng.h"

struct log_disk_segment {
    uint64_t number;
    uint8_t *bytes; /* owns; a whole segment */
    size_t extent;  /* from this offset on, all bytes are zero */
};

/* A trimmed segment: its file has lost the segment's name. */
struct log_disk_trimmed {
    struct log_disk_segment segment;
    bool spare;  /* may become another segment; otherwise the file was removed */
    bool synced; /* the trim is durable (DISK-4) */
};

/* The bytes that a write on a lying disk has overwritten. */
struct log_disk_undo {
    uint64_t segment;
    size_t offset;
    struct buffer before; /* owns */
};

enum {
    LOG_DISK_WRITES_MAX = 4,
    LOG_DISK_SPARES_MAX = 8 /* as in host/log_dir.h */
};

struct log_disk_write {
    uint64_t lsn;
    struct slice bytes; /* borrows until the write ends or the disk crashes */
};

struct log_disk {
    uint64_t segment_bytes;
    struct prng prng;
    struct log_disk_segment *segments; /* owns; ascending */
    size_t count;
    size_t capacity;
    struct log_disk_trimmed *trimmed; /* owns; the newest last */
    size_t trimmed_count;
    size_t trimmed_capacity;
    bool making; /* making_number is being made, from making_from if that has bytes */
    uint64_t making_number;
    struct log_disk_trimmed making_from; /* owns */
    struct log_disk_write in_flight[LOG_DISK_WRITES_MAX];
    uint32_t in_flight_count;
    bool full;                  /* no space can be allocated */
    bool no_files;              /* no file can be opened for a new segment */
    bool unreadable;            /* a node that starts cannot read the log */
    bool lies;                  /* acknowledges syncs and skips them */
    struct log_disk_undo *undo; /* owns; oldest first */
    size_t undo_count;
    size_t undo_capacity;
};

void log_disk_init(struct log_disk *d, uint64_t segment_bytes, uint64_t seed);
void log_disk_deinit(struct log_disk *d);

/* The lowest and the highest segment. False: there is none. */
bool log_disk_range(const struct log_disk *d, uint64_t *first, uint64_t *last);
/* The content of a segment, without the zeros at its end. Lends until the next change. */
struct slice log_disk_read(const struct log_disk *d, uint64_t segment);
bool log_disk_has(const struct log_disk *d, uint64_t segment);
/* A new process opens the disk: trimmed segments are no spares any more. */
void log_disk_open(struct log_disk *d);
/* Makes the segment if it does not exist. Its number must be above all others. STATUS_FULL;
 * STATUS_IO, with errno. */
enum status log_disk_prepare(struct log_disk *d, uint64_t segment);
/* log_disk_prepare in two steps: time may pass between them, or the power may fail. */
void log_disk_make_begin(struct log_disk *d, uint64_t segment);
int log_disk_make_end(struct log_disk *d); /* 0 or errno */
/* Zeroes a part of an existing segment, durably. True: the part held other bytes than zeros. */
bool log_disk_zero(struct log_disk *d, uint64_t segment, uint64_t offset, uint64_t size);
/* Removes all segments below this number. */
void log_disk_trim(struct log_disk *d, uint64_t segment);

/* A write lies inside one existing segment. Writes in flight do not overlap. `lsn` is the place and
 * the name of the write. */
void log_disk_write_begin(struct log_disk *d, uint64_t lsn, struct slice bytes);
/* Both return the first lsn after the write. */
uint64_t log_disk_write_end(struct log_disk *d, uint64_t lsn);
uint64_t log_disk_write_fail(struct log_disk *d, uint64_t lsn);

/* The process ends; with `power`, the whole machine. Call it before the memory of the writes in
 * flight is freed. */
void log_disk_crash(struct log_disk *d, bool power);
void log_disk_wipe(struct log_disk *d);
