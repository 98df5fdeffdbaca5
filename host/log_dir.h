/* log_dir.h - the segment files of a node's log in one directory.
 *
 * A segment is a file `log-<number in hex>`. The file gets that name once it has its full size. So
 * a full disk shows when a segment is made, never at an append.
 * An append to blocks that were written before is cheapest: merely allocated blocks change the
 * inode too, a second write. So up to LOG_DIR_SPARES unneeded segments are kept for reuse.
 * Not here: the content of segments (replication/log_record.h). */
#pragma once

#include "base/buffer.h"
#include "base/disk_account.h"

enum {
    LOG_DIR_SPARES = 8,
    LOG_DIR_LEAST = 2, /* with so many segments a log goes on: one is written, one is freed */
};

struct log_dir;

/* Creates the directory's segments lazily. STATUS_IO, errno set. */
enum status log_dir_open(const char *path, uint64_t segment_bytes, struct log_dir **out);
void log_dir_close(struct log_dir *d);
/* From now on segments are taken from the account of the disk (borrowed). Segments that are made
 * ahead leave `kept_each` bytes for the checkpoints of each store. A log of fewer than
 * LOG_DIR_LEAST segments gets a segment all the same, and segments that are not needed any more are
 * used again. */
void log_dir_share_disk(struct log_dir *d, struct disk_account *disk, uint64_t kept_each);

/* Lowest and highest segment number present; STATUS_NOT_FOUND if there are none. */
enum status log_dir_range(const struct log_dir *d, uint64_t *first, uint64_t *last);

/* A segment's whole contents; STATUS_NOT_FOUND, STATUS_IO. */
enum status log_dir_read(struct log_dir *d, uint64_t segment, struct buffer *out);

/* The segment's file; -1: no such segment. Lends until the segment is trimmed. */
int log_dir_file(const struct log_dir *d, uint64_t segment);

/* Makes the segment's file, unless it is there. STATUS_FULL: no space; nothing changed. STATUS_IO,
 * errno set. */
enum status log_dir_prepare(struct log_dir *d, uint64_t segment);

/* log_dir_prepare in three steps. log_making_run is slow and may run on any thread; the directory
 * must outlive it. `written`: the blocks of a new file are written with zeros. */
struct log_making {
    const struct log_dir *dir; /* borrows */
    uint64_t segment;
    bool written;
    bool has_spare;
    uint64_t spare;
    bool needed; /* not only made ahead */
    int fd;      /* owns until log_dir_add */
    int error;
};
void log_dir_begin(struct log_dir *d, uint64_t segment, bool written, struct log_making *m);
void log_making_run(struct log_making *m);
enum status log_dir_add(struct log_dir *d, const struct log_making *m);

/* Overwrites the segment with zeros from `offset` to `offset + size`, and to the end of the last
 * block, durably. The segment is there. STATUS_IO, errno set. */
enum status log_dir_zero(struct log_dir *d, uint64_t segment, uint64_t offset, uint64_t size);

/* Segments below `segment` are not needed any more. */
void log_dir_trim(struct log_dir *d, uint64_t segment);
