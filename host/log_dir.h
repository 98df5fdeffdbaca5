/* log_dir.h - the segment files of a node's log in one directory.
 *
 * A segment is a file `log-<number in hex>`, preallocated, so that an append never finds the disk
 * full: log_dir_prepare is where that shows. Segments no longer needed are kept for use again, up
 * to LOG_DIR_SPARES: overwriting allocated blocks makes fdatasync cheaper. Not here: what is in
 * them (replication/log_record.h). */
#ifndef WEIR_HOST_LOG_DIR_H
#define WEIR_HOST_LOG_DIR_H

#include "base/buffer.h"

enum {
    LOG_DIR_SPARES = 2
};

struct log_dir;

/* Creates the directory's segments lazily. STATUS_IO, errno set. */
enum status log_dir_open(const char *path, uint64_t segment_bytes, struct log_dir **out);
void log_dir_close(struct log_dir *d);

/* Lowest and highest segment number present; STATUS_NOT_FOUND if there are none. */
enum status log_dir_range(const struct log_dir *d, uint64_t *first, uint64_t *last);

/* A segment's whole contents; STATUS_NOT_FOUND, STATUS_IO. */
enum status log_dir_read(struct log_dir *d, uint64_t segment, struct buffer *out);

/* The segment's file, allocated in full. STATUS_FULL: no space; nothing changed. */
enum status log_dir_prepare(struct log_dir *d, uint64_t segment, int *fd);

/* Overwrites with zeros, durably, what the segment holds from `offset` to `offset + size`. */
enum status log_dir_zero(struct log_dir *d, uint64_t segment, uint64_t offset, uint64_t size);

/* Segments below `segment` are not needed any more. */
void log_dir_trim(struct log_dir *d, uint64_t segment);

#endif
