/* log_dir.c - makes, recycles, scans and removes segment files. */
#include "host/log_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file_mode.h"
#include "host/loop.h"

enum {
    NAME_SIZE = 32,
    LOCK_WAIT_MS = 10000,
    LOCK_PAUSE_MS = 5,
    ZEROS_SIZE = 256 << 10
};

struct segment {
    uint64_t number;
    int fd; /* for appending: direct I/O where the file system has it */
};

struct log_dir {
    int fd; /* owns */
    uint64_t segment_bytes;
    struct disk_account *disk; /* borrows; NULL: nobody shares it */
    uint64_t kept_each;
    size_t count;
    size_t capacity;
    struct segment *segments;        /* owns; ascending */
    uint64_t spares[LOG_DIR_SPARES]; /* files `spare-<number in hex>` */
    size_t spare_count;
};

static void segment_name(char name[NAME_SIZE], uint64_t number)
{
    snprintf(name, NAME_SIZE, "log-%016" PRIx64, number);
}

static void spare_name(char name[NAME_SIZE], uint64_t number)
{
    snprintf(name, NAME_SIZE, "spare-%016" PRIx64, number);
}

/* Waits until no write of an earlier process is in flight. The kernel goes on with the writes of a
 * killed process, and keeps the descriptors that they use, with their locks. A file system without
 * locks is not waited for. */
static bool lock_segment(int fd)
{
    for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
         ms += LOCK_PAUSE_MS) {
        if (ms >= LOCK_WAIT_MS)
            return false;
        poll(NULL, 0, LOCK_PAUSE_MS);
    }
    return true;
}

/* The descriptor through which the log is written, with the segment's lock. -1 with errno set. */
static int open_for_appending(const struct log_dir *d, const char *name)
{
    int fd = openat(d->fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_DIRECT, FILE_MODE_PRIVATE);
    if (fd < 0 && errno == EINVAL)
        fd = openat(d->fd, name, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE_PRIVATE);
    if (fd < 0 || lock_segment(fd))
        return fd;
    close(fd);
    errno = EWOULDBLOCK;
    return -1;
}

static int open_for_reading(const struct log_dir *d, uint64_t number)
{
    char name[NAME_SIZE];
    segment_name(name, number);
    return openat(d->fd, name, O_RDONLY | O_CLOEXEC);
}

static int compare_segments(const void *a, const void *b)
{
    uint64_t x = ((const struct segment *)a)->number, y = ((const struct segment *)b)->number;
    return x < y ? -1 : x > y;
}

static void add_segment(struct log_dir *d, uint64_t number, int fd)
{
    d->segments = must_grow(d->segments, d->count, &d->capacity, sizeof d->segments[0]);
    d->segments[d->count++] = (struct segment){number, fd};
    qsort(d->segments, d->count, sizeof d->segments[0], compare_segments);
}

static enum status log_dir_scan(struct log_dir *d)
{
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (entries == NULL)
        return STATUS_IO;
    enum status status = STATUS_OK;
    for (struct dirent *e; (e = readdir(entries)) != NULL;) {
        if (strncmp(e->d_name, "spare-", 6) == 0 || strncmp(e->d_name, "new-", 4) == 0)
            unlinkat(d->fd, e->d_name, 0);
        uint64_t number;
        char name[NAME_SIZE];
        if (sscanf(e->d_name, "log-%16" SCNx64, &number) != 1)
            continue;
        segment_name(name, number);
        if (strcmp(name, e->d_name) != 0)
            continue;
        int segment = open_for_appending(d, name);
        if (segment < 0) {
            status = STATUS_IO;
            break;
        }
        add_segment(d, number, segment);
    }
    closedir(entries);
    return status;
}

enum status log_dir_open(const char *path, uint64_t segment_bytes, struct log_dir **out)
{
    struct log_dir *d = must_calloc(1, sizeof *d);
    d->segment_bytes = segment_bytes;
    d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->fd < 0 || log_dir_scan(d) != STATUS_OK) {
        int error = errno;
        log_dir_close(d);
        errno = error;
        return STATUS_IO;
    }
    *out = d;
    return STATUS_OK;
}

void log_dir_close(struct log_dir *d)
{
    for (size_t i = 0; i < d->count; i++)
        close(d->segments[i].fd);
    if (d->fd >= 0)
        close(d->fd);
    free(d->segments);
    free(d);
}

void log_dir_share_disk(struct log_dir *d, struct disk_account *disk, uint64_t kept_each)
{
    d->disk = disk;
    d->kept_each = kept_each;
}

enum status log_dir_range(const struct log_dir *d, uint64_t *first, uint64_t *last)
{
    if (d->count == 0)
        return STATUS_NOT_FOUND;
    *first = d->segments[0].number;
    *last = d->segments[d->count - 1].number;
    return STATUS_OK;
}

int log_dir_file(const struct log_dir *d, uint64_t segment)
{
    for (size_t i = d->count; i > 0; i--) {
        if (d->segments[i - 1].number == segment)
            return d->segments[i - 1].fd;
    }
    return -1;
}

enum status log_dir_read(struct log_dir *d, uint64_t segment, struct buffer *out)
{
    if (log_dir_file(d, segment) < 0)
        return STATUS_NOT_FOUND;
    int fd = open_for_reading(d, segment);
    if (fd < 0)
        return STATUS_IO;
    buffer_clear(out);
    buffer_reserve(out, d->segment_bytes);
    enum status status = STATUS_OK;
    while (out->size < d->segment_bytes) {
        ssize_t n = TEMP_FAILURE_RETRY(
            pread(fd, out->data + out->size, d->segment_bytes - out->size, (off_t)out->size));
        if (n <= 0) {
            status = n < 0 ? STATUS_IO : STATUS_OK;
            break;
        }
        out->size += (size_t)n;
    }
    close(fd);
    return status;
}

static uint64_t blocks_up(uint64_t bytes)
{
    return (bytes + WRITE_ALIGNMENT - 1) / WRITE_ALIGNMENT * WRITE_ALIGNMENT;
}

/* Returns errno. `at` and `size` are whole blocks. */
static int write_zeros(int fd, uint64_t at, uint64_t size)
{
    uint8_t *zeros = loop_write_memory(ZEROS_SIZE);
    memset(zeros, 0, ZEROS_SIZE);
    int error = 0;
    for (uint64_t end = at + size; at < end && error == 0;) {
        uint64_t left = end - at;
        ssize_t n = TEMP_FAILURE_RETRY(pwrite(fd, zeros, MIN(left, ZEROS_SIZE), (off_t)at));
        error = n > 0 ? 0 : n == 0 ? EIO : errno;
        at += n > 0 ? (uint64_t)n : 0;
    }
    free(zeros);
    return error;
}

/* Returns errno. Gives the file its full size, in whole blocks.
 *
 * Why not posix_fallocate: where the file system cannot allocate (NFS, 9p, FUSE), it writes single
 * bytes, which direct I/O refuses. */
static int log_dir_fill(int fd, uint64_t size, bool written)
{
    size = blocks_up(size);
    int error = TEMP_FAILURE_RETRY(fallocate(fd, 0, 0, (off_t)size)) == 0 ? 0 : errno;
    if (error == EOPNOTSUPP || error == ENOSYS || (error == 0 && written))
        error = write_zeros(fd, 0, size);
    return error == 0 && fsync(fd) != 0 ? errno : error;
}

/* Returns errno. The complete file `from` becomes the segment's file. */
static int name_segment(struct log_making *m, const char *from)
{
    char name[NAME_SIZE];
    segment_name(name, m->segment);
    return renameat(m->dir->fd, from, m->dir->fd, name) == 0 && fsync(m->dir->fd) == 0 ? 0 : errno;
}

void log_dir_begin(struct log_dir *d, uint64_t segment, bool written, struct log_making *m)
{
    *m = (struct log_making){.dir = d, .segment = segment, .written = written, .fd = -1};
    m->has_spare = d->spare_count > 0;
    m->needed = d->count < LOG_DIR_LEAST;
    if (m->has_spare)
        m->spare = d->spares[--d->spare_count];
}

/* False: the disk has no space for a segment that is made ahead. */
static bool log_making_take(const struct log_making *m)
{
    struct disk_account *disk = m->dir->disk;
    if (disk == NULL)
        return true;
    if (!m->needed)
        return disk_account_take_ahead(disk, m->dir->segment_bytes, m->dir->kept_each);
    disk_account_take(disk, m->dir->segment_bytes);
    return true;
}

static void log_making_make(struct log_making *m)
{
    char name[NAME_SIZE];
    if (m->has_spare)
        spare_name(name, m->spare);
    else
        snprintf(name, sizeof name, "new-%016" PRIx64, m->segment);
    m->fd = open_for_appending(m->dir, name);
    m->error = m->fd < 0 ? errno : 0;
    if (m->error == 0 && !m->has_spare)
        m->error = log_dir_fill(m->fd, m->dir->segment_bytes, m->written);
    if (m->error == 0)
        m->error = name_segment(m, name);
    if (m->error == 0)
        return;
    unlinkat(m->dir->fd, name, 0);
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
}

void log_making_run(struct log_making *m)
{
    if (m->has_spare) {
        log_making_make(m);
        return;
    }
    if (!log_making_take(m)) {
        m->error = ENOSPC;
        return;
    }
    log_making_make(m);
    if (m->dir->disk != NULL)
        disk_account_taken(m->dir->disk, m->dir->segment_bytes);
}

enum status log_dir_add(struct log_dir *d, const struct log_making *m)
{
    if (m->error == 0) {
        add_segment(d, m->segment, m->fd);
        return STATUS_OK;
    }
    errno = m->error;
    return status_is_no_space(errno) ? STATUS_FULL : STATUS_IO;
}

enum status log_dir_prepare(struct log_dir *d, uint64_t segment)
{
    if (log_dir_file(d, segment) >= 0)
        return STATUS_OK;
    struct log_making m;
    log_dir_begin(d, segment, false, &m);
    m.needed = true; /* by a node that starts */
    log_making_run(&m);
    return log_dir_add(d, &m);
}

/* Not through the page cache. Why: a page that is still dirty when a direct write near it ends
 * makes the kernel report an input/output error of the file. */
enum status log_dir_zero(struct log_dir *d, uint64_t segment, uint64_t offset, uint64_t size)
{
    must(size > 0 && offset + size <= d->segment_bytes);
    const int fd = log_dir_file(d, segment);
    const uint64_t kept = offset % WRITE_ALIGNMENT, first = offset - kept;
    uint8_t *block = loop_write_memory(WRITE_ALIGNMENT);
    memset(block, 0, WRITE_ALIGNMENT);
    const bool read = kept == 0 || TEMP_FAILURE_RETRY(pread(fd, block, WRITE_ALIGNMENT,
                                                            (off_t)first)) >= (ssize_t)kept;
    memset(block + kept, 0, WRITE_ALIGNMENT - kept);
    const bool written = read && TEMP_FAILURE_RETRY(pwrite(fd, block, WRITE_ALIGNMENT,
                                                           (off_t)first)) == WRITE_ALIGNMENT;
    free(block);
    const uint64_t next = first + WRITE_ALIGNMENT, end = blocks_up(offset + size);
    const bool durable =
        written && (next >= end || write_zeros(fd, next, end - next) == 0) && fdatasync(fd) == 0;
    return durable ? STATUS_OK : STATUS_IO;
}

void log_dir_trim(struct log_dir *d, uint64_t segment)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct segment s = d->segments[i];
        if (s.number >= segment) {
            d->segments[kept++] = s;
            continue;
        }
        char name[NAME_SIZE], spare[NAME_SIZE];
        segment_name(name, s.number);
        spare_name(spare, s.number);
        close(s.fd);
        /* One spare is the next segment. More of them are for a disk that has space. */
        const bool spares =
            d->spare_count == 0 ||
            (d->spare_count < LOG_DIR_SPARES &&
             (d->disk == NULL || disk_account_has(d->disk, d->segment_bytes, d->kept_each)));
        if (spares && renameat(d->fd, name, d->fd, spare) == 0)
            d->spares[d->spare_count++] = s.number;
        else
            unlinkat(d->fd, name, 0);
    }
    d->count = kept;
}
