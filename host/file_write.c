/* file_write.c - bytes to a file and down to the disk, as one linked pair of operations.
 *
 * The sync starts only after a complete write; a short write breaks the link, and then the pair is
 * sent again for the rest. An error is reported once and never retried: what a failed write or
 * sync left behind is unknown. */
#include <errno.h>
#include <stdlib.h>

#include "base/must.h"
#include "host/loop_internal.h"

struct file_write {
    LIST_ENTRY(file_write) link;
    struct loop *loop; /* borrows */
    int fd;            /* borrows */
    int64_t offset;
    struct slice left; /* lends until `done` */
    int completions_awaited;
    int write_result;
    int sync_result;
    int write_injected; /* errno, 0 for none */
    int sync_injected;
    void (*done)(void *context, int error);
    void *context;
};

enum {
    WRITE_SIZE_MAX = 1 << 30
};

/* Counts down to the failure; what follows it fails only with for_ever. */
static int injected(int64_t *until_failure, int error, bool for_ever)
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

static void submit(struct file_write *w)
{
    struct loop *l = w->loop;
    unsigned size = w->left.size < WRITE_SIZE_MAX ? (unsigned)w->left.size : WRITE_SIZE_MAX;
    loop_reserve(l, 2);
    struct io_uring_sqe *sqe = loop_submission(l);
    if (w->write_injected)
        io_uring_prep_nop(sqe);
    else
        io_uring_prep_write(sqe, w->fd, w->left.data, size, (uint64_t)w->offset);
    io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK);
    loop_mark_pointer(l, sqe, OPERATION_WRITE, w);
    sqe = loop_submission(l);
    if (w->write_injected || w->sync_injected)
        io_uring_prep_nop(sqe);
    else
        io_uring_prep_fsync(sqe, w->fd, IORING_FSYNC_DATASYNC);
    loop_mark_pointer(l, sqe, OPERATION_SYNC, w);
    w->completions_awaited = 2;
}

void loop_write_sync(struct loop *l, int fd, int64_t offset, struct slice bytes,
                     void (*done)(void *context, int error), void *context)
{
    must(offset >= 0);
    must(done != NULL);
    struct file_write *w = calloc(1, sizeof *w);
    must(w != NULL);
    struct loop_faults *f = &l->faults;
    *w = (struct file_write){
        .loop = l,
        .fd = fd,
        .offset = offset,
        .left = bytes,
        .write_injected = injected(&f->writes_until_failure, f->write_error, f->for_ever),
        .sync_injected = injected(&f->syncs_until_failure, f->sync_error, f->for_ever),
        .done = done,
        .context = context};
    LIST_INSERT_HEAD(&l->file_writes, w, link);
    submit(w);
}

static void finish(struct file_write *w, int error)
{
    void (*done)(void *context, int error) = w->done;
    void *context = w->context;
    LIST_REMOVE(w, link);
    free(w);
    done(context, error);
}

void file_write_complete(struct file_write *w, enum operation operation, int result)
{
    if (operation == OPERATION_WRITE)
        w->write_result = w->write_injected ? -w->write_injected : result;
    else
        w->sync_result = w->sync_injected ? -w->sync_injected : result;
    if (--w->completions_awaited > 0)
        return;
    bool again = w->write_result == -EINTR || w->write_result == -EAGAIN;
    if (w->write_result < 0 && !again) {
        finish(w, -w->write_result);
        return;
    }
    if (w->write_result > 0) {
        w->left.data += w->write_result;
        w->left.size -= (size_t)w->write_result;
        w->offset += w->write_result;
    } else if (w->left.size > 0 && !again) {
        finish(w, EIO); /* a write of nothing would be tried for ever */
        return;
    }
    if (w->left.size > 0 || w->sync_result == -ECANCELED)
        submit(w);
    else
        finish(w, -w->sync_result);
}

void file_writes_deinit(struct loop *l)
{
    while (!LIST_EMPTY(&l->file_writes)) {
        struct file_write *w = LIST_FIRST(&l->file_writes);
        LIST_REMOVE(w, link);
        free(w);
    }
}
