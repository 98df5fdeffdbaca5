/* file_write.c - a durable file write as one operation.
 *
 * RWF_DSYNC: the write completes once its bytes, and the metadata to find them, are durable. That
 * is one operation where a write and an fsync are two. If the file is open for direct I/O, no
 * kernel thread is needed. This file owns the memory until the kernel is done, even if the user is
 * gone. A short write is continued. An error is reported once and never retried: the state after a
 * failed write is unknown. */
#include <errno.h>
#include <stdlib.h>

#include "host/loop_internal.h"

struct file_write {
    LIST_ENTRY(file_write) link;
    struct loop *loop; /* borrows */
    int fd;            /* borrows */
    int64_t offset;
    uint8_t *memory; /* owns */
    struct slice left;
    int write_injected; /* errno; 0: no fault */
    int sync_injected;
    struct __kernel_timespec delay; /* of a slow disk; 0: no delay */
    void (*done)(void *context, int error);
    void *context;
};

enum {
    WRITE_SIZE_MAX = 1 << 30
};

/* Counts down to the failure. Later operations fail only with for_ever. */
static int file_write_injected(int64_t *until_failure, int error, bool for_ever)
{
    if (*until_failure < 0)
        return 0;
    if (*until_failure > 0) {
        (*until_failure)--;
        return 0;
    }
    if (!for_ever)
        *until_failure = -1;
    return error;
}

/* The operation submitted next begins only after the delay. */
static void submit_delay(struct file_write *w)
{
    loop_reserve(w->loop, 2);
    struct io_uring_sqe *sqe = loop_submission(w->loop);
    io_uring_prep_timeout(sqe, &w->delay, 0, IORING_TIMEOUT_ETIME_SUCCESS);
    sqe->flags |= IOSQE_IO_LINK;
    loop_mark(w->loop, sqe, OPERATION_IGNORED, 0);
}

static void file_write_submit(struct file_write *w)
{
    struct loop *l = w->loop;
    unsigned size = w->left.size < WRITE_SIZE_MAX ? (unsigned)w->left.size : WRITE_SIZE_MAX;
    if (w->delay.tv_sec > 0 || w->delay.tv_nsec > 0)
        submit_delay(w);
    struct io_uring_sqe *sqe = loop_submission(l);
    if (w->write_injected) {
        io_uring_prep_nop(sqe);
    } else {
        io_uring_prep_write(sqe, w->fd, w->left.data, size, (uint64_t)w->offset);
        sqe->rw_flags = w->sync_injected ? 0 : RWF_DSYNC;
    }
    loop_mark(l, sqe, OPERATION_WRITE, loop_id_of(w));
}

uint8_t *loop_write_memory(size_t size)
{
    void *memory;
    must(posix_memalign(&memory, WRITE_ALIGNMENT, size) == 0);
    return memory;
}

void loop_write_sync(struct loop *l, int fd, int64_t offset, uint8_t *memory, size_t size,
                     void (*done)(void *context, int error), void *context)
{
    must(offset >= 0);
    must(done != NULL);
    struct file_write *w = must_calloc(1, sizeof *w);
    struct loop_faults *f = &l->faults;
    *w = (struct file_write){
        .loop = l,
        .fd = fd,
        .offset = offset,
        .memory = memory,
        .left = slice_make(memory, size),
        .write_injected =
            file_write_injected(&f->writes_until_failure, f->write_error, f->for_ever),
        .sync_injected = file_write_injected(&f->syncs_until_failure, f->sync_error, f->for_ever),
        .delay = {f->write_delay_ns / NS_PER_S, f->write_delay_ns % NS_PER_S},
        .done = done,
        .context = context};
    LIST_INSERT_HEAD(&l->file_writes, w, link);
    file_write_submit(w);
}

static void file_write_finish(struct file_write *w, int error)
{
    void (*done)(void *context, int error) = w->done;
    void *context = w->context;
    LIST_REMOVE(w, link);
    free(w->memory);
    free(w);
    done(context, error);
}

void file_write_complete(struct file_write *w, int result)
{
    if (w->write_injected || (w->sync_injected && result >= 0))
        result = -(w->write_injected ? w->write_injected : w->sync_injected);
    if (result == -EINTR || result == -EAGAIN) {
        file_write_submit(w);
        return;
    }
    if (result <= 0) { /* a write of 0 bytes would be retried for ever */
        file_write_finish(w, result < 0 || w->left.size == 0 ? -result : EIO);
        return;
    }
    w->left.data += result;
    w->left.size -= (size_t)result;
    w->offset += result;
    if (w->left.size > 0)
        file_write_submit(w);
    else
        file_write_finish(w, 0);
}

void file_writes_deinit(struct loop *l)
{
    for (struct file_write *w; (w = LIST_FIRST(&l->file_writes)) != NULL;) {
        LIST_REMOVE(w, link);
        free(w->memory);
        free(w);
    }
}
