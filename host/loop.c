/* loop.c - the ring: submissions, completions, the clock, stop signals. */
#include "host/loop_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    MILLION = 1000000
};

/* Leases use a clock that runs while the machine is suspended: other machines' clocks run too. */
static int64_t true_clock_ns(void)
{
    struct timespec t;
    must(clock_gettime(CLOCK_BOOTTIME, &t) == 0);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* How far the clock is ahead of the true clock: 0 unless a fault was set. */
static int64_t clock_error_ns(const struct loop *l, int64_t true_ns)
{
    const struct loop_faults *f = &l->faults;
    if (f->clock_drift_ppm == 0)
        return f->clock_skew_ns;
    __int128 gained = (__int128)(true_ns - f->clock_drift_since) * f->clock_drift_ppm / MILLION;
    return f->clock_skew_ns + (int64_t)gained;
}

static int64_t loop_clock_ns(const struct loop *l)
{
    int64_t true_ns = true_clock_ns();
    return true_ns + clock_error_ns(l, true_ns);
}

void loop_read_clock(struct loop *l)
{
    int64_t now_ns = loop_clock_ns(l);
    l->now.ns = MAX(l->now.ns, now_ns);
}

static void read_clocks(struct loop *l)
{
    struct timespec t;
    loop_read_clock(l);
    must(clock_gettime(CLOCK_REALTIME, &t) == 0);
    l->wall_ms = t.tv_sec * 1000 + t.tv_nsec / NS_PER_MS;
    if (l->faults.clock_skew_ns != 0 || l->faults.clock_drift_ppm != 0)
        l->wall_ms += clock_error_ns(l, true_clock_ns()) / NS_PER_MS;
}

void loop_set_clock_fault(struct loop *l, struct duration skew, int64_t drift_ppm)
{
    must(drift_ppm > -MILLION);
    l->faults.clock_skew_ns = skew.ns;
    l->faults.clock_drift_ppm = drift_ppm;
    l->faults.clock_drift_since = true_clock_ns();
}

struct instant loop_now(const struct loop *l)
{
    return l->now;
}

int64_t loop_wall_ms(const struct loop *l)
{
    return l->wall_ms;
}

struct loop_faults *loop_faults(struct loop *l)
{
    return &l->faults;
}

/* ---- submissions ---- */

void loop_reserve(struct loop *l, unsigned count)
{
    while (io_uring_sq_space_left(&l->ring) < count) {
        int result = io_uring_submit(&l->ring);
        must(result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY);
        if (result < 0) /* the kernel has completions that do not fit the ring */
            io_uring_get_events(&l->ring);
    }
}

struct io_uring_sqe *loop_submission(struct loop *l)
{
    loop_reserve(l, 1);
    struct io_uring_sqe *sqe = io_uring_get_sqe(&l->ring);
    must(sqe != NULL);
    return sqe;
}

void loop_mark(struct loop *l, struct io_uring_sqe *sqe, enum operation operation, uint64_t id)
{
    sqe->user_data = id << OPERATION_BITS | (uint64_t)operation;
    l->in_flight++;
}

uint64_t loop_id_of(const void *pointer)
{
    must(((uintptr_t)pointer & ((1u << OPERATION_BITS) - 1)) == 0);
    return (uint64_t)(uintptr_t)pointer >> OPERATION_BITS;
}

void loop_cancel(struct loop *l, enum operation operation, uint64_t id)
{
    struct io_uring_sqe *sqe = loop_submission(l);
    io_uring_prep_cancel64(sqe, id << OPERATION_BITS | (uint64_t)operation, 0);
    loop_mark(l, sqe, OPERATION_IGNORED, 0);
}

/* ---- creation ---- */

/* The first mode that the kernel knows; 6.1 knows the best. */
static int open_ring(struct io_uring *ring)
{
    static const unsigned modes[] = {
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
        0,
    };
    int result = -EINVAL;
    for (size_t i = 0; i < COUNT_OF(modes) && result == -EINVAL; i++) {
        struct io_uring_params params = {.flags = modes[i] | IORING_SETUP_CQSIZE,
                                         .cq_entries = COMPLETION_ENTRIES};
        result = io_uring_queue_init_params(RING_ENTRIES, ring, &params);
    }
    return result;
}

static int open_receive_buffers(struct loop *l)
{
    size_t ring_size = RECEIVE_BUFFERS * sizeof(struct io_uring_buf);
    void *ring = mmap(NULL, ring_size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    if (ring == MAP_FAILED)
        return -ENOMEM;
    l->receive_ring = ring;
    l->receive_memory = malloc((size_t)RECEIVE_BUFFERS * RECEIVE_BUFFER_SIZE);
    if (l->receive_memory == NULL)
        return -ENOMEM;
    struct io_uring_buf_reg registration = {.ring_addr = (uint64_t)(uintptr_t)ring,
                                            .ring_entries = RECEIVE_BUFFERS};
    io_uring_buf_ring_init(l->receive_ring);
    for (int i = 0; i < RECEIVE_BUFFERS; i++)
        io_uring_buf_ring_add(l->receive_ring, l->receive_memory + (size_t)i * RECEIVE_BUFFER_SIZE,
                              RECEIVE_BUFFER_SIZE, (unsigned short)i,
                              io_uring_buf_ring_mask(RECEIVE_BUFFERS), i);
    io_uring_buf_ring_advance(l->receive_ring, RECEIVE_BUFFERS);
    return io_uring_register_buf_ring(&l->ring, &registration, 0);
}

static void close_receive_buffers(struct loop *l)
{
    free(l->receive_memory);
    if (l->receive_ring != NULL)
        munmap(l->receive_ring, RECEIVE_BUFFERS * sizeof(struct io_uring_buf));
}

/* Enters the kernel once, as the loop will: a filter of system calls may forbid that alone. */
static int try_ring(struct io_uring *ring)
{
    struct io_uring_cqe *cqe;
    io_uring_prep_nop(io_uring_get_sqe(ring));
    int result = io_uring_submit_and_wait(ring, 1);
    if (result < 0 || (result = io_uring_peek_cqe(ring, &cqe)) < 0)
        return result;
    io_uring_cqe_seen(ring, cqe);
    return 0;
}

enum status loop_explain(struct buffer *error)
{
    static const struct {
        int code;
        const char *reason;
    } REASONS[] = {
        {EPERM, "a container's seccomp profile or the sysctl kernel.io_uring_disabled forbids it"},
        {EACCES, "a security module of the kernel forbids it"},
        {ENOMEM, "too little memory may be locked: raise RLIMIT_MEMLOCK, ulimit -l 1024 is enough"},
        {ENOSYS, "the kernel is too old or lacks it: Linux 6.1 or newer is needed"},
        {EINVAL, "the kernel is too old: Linux 6.1 or newer is needed"},
        {EOPNOTSUPP, "the kernel is too old: Linux 6.1 or newer is needed"},
        {EMFILE, "raise the limit of open files, ulimit -n"},
    };
    const int code = errno;
    buffer_append_format(error, "cannot set up io_uring: %s", strerror(code));
    for (size_t i = 0; i < COUNT_OF(REASONS); i++) {
        if (REASONS[i].code == code)
            buffer_append_format(error, " (%s)", REASONS[i].reason);
    }
    return STATUS_IO;
}

enum status loop_create(struct loop **out)
{
    struct loop *l = calloc(1, sizeof *l);
    if (l == NULL)
        return STATUS_NO_MEMORY;
    int result = open_ring(&l->ring);
    if (result < 0) {
        free(l);
        errno = -result;
        return STATUS_IO;
    }
    result = open_receive_buffers(l);
    if (result >= 0)
        result = try_ring(&l->ring);
    if (result < 0) {
        io_uring_queue_exit(&l->ring);
        close_receive_buffers(l);
        free(l);
        errno = -result;
        return STATUS_IO;
    }
    io_uring_register_ring_fd(&l->ring); /* saves a look-up per call; failure is harmless */
    l->multishot_accept = true;
    l->multishot_receive = true;
    l->wake_fd = -1;
    l->signal_fd = -1;
    l->faults = (struct loop_faults){.writes_until_failure = -1, .syncs_until_failure = -1};
    connections_init(&l->connections);
    LIST_INIT(&l->listeners);
    LIST_INIT(&l->workers);
    LIST_INIT(&l->file_writes);
    read_clocks(l);
    *out = l;
    return STATUS_OK;
}

/* Cancels and awaits all operations in flight: the kernel may still use their memory. */
static void loop_drain(struct loop *l)
{
    connections_shut(&l->connections);
    while (l->in_flight > 0) {
        struct io_uring_sqe *sqe = loop_submission(l);
        io_uring_prep_cancel64(sqe, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
        loop_mark(l, sqe, OPERATION_IGNORED, 0);
        struct __kernel_timespec pause = {.tv_nsec = 10 * NS_PER_MS};
        struct io_uring_cqe *cqe;
        io_uring_submit_and_wait_timeout(&l->ring, &cqe, 1, &pause, NULL);
        while (io_uring_peek_cqe(&l->ring, &cqe) == 0) {
            bool accepted = (cqe->user_data & ((1u << OPERATION_BITS) - 1)) == OPERATION_ACCEPT;
            if (accepted && cqe->res >= 0)
                close(cqe->res);
            if (!(cqe->flags & IORING_CQE_F_MORE))
                l->in_flight--;
            io_uring_cqe_seen(&l->ring, cqe);
        }
    }
}

void loop_destroy(struct loop *l)
{
    if (l == NULL)
        return;
    workers_deinit(l);
    loop_drain(l);
    io_uring_queue_exit(&l->ring);
    listeners_deinit(l);
    file_writes_deinit(l);
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    connections_deinit(&l->connections);
    stop_signal_deinit(l);
    close_receive_buffers(l);
    free(l);
}

/* ---- a turn ---- */

static void loop_dispatch(struct loop *l, const struct io_uring_cqe *cqe)
{
    enum operation operation = (enum operation)(cqe->user_data & ((1u << OPERATION_BITS) - 1));
    uint64_t id = cqe->user_data >> OPERATION_BITS;
    void *pointer = (void *)(uintptr_t)(id << OPERATION_BITS);
    if (!(cqe->flags & IORING_CQE_F_MORE))
        l->in_flight--;
    switch (operation) {
    case OPERATION_IGNORED:
        break;
    case OPERATION_ACCEPT:
        listener_complete(pointer, cqe);
        break;
    case OPERATION_CONNECT:
    case OPERATION_RECEIVE:
    case OPERATION_SEND:
        connection_complete(l, operation, id, cqe);
        break;
    case OPERATION_WRITE:
        file_write_complete(pointer, cqe->res);
        break;
    case OPERATION_WAKE:
        workers_wake(l);
        break;
    case OPERATION_SIGNAL:
        stop_signal_complete(l, cqe->res);
        break;
    }
}

static int submit_and_wait(struct loop *l, struct instant deadline)
{
    struct instant until = instant_earlier(deadline, listeners_deadline(l));
    until = instant_earlier(until, connections_deadline(l));
    struct io_uring_cqe *cqe;
    if (until.ns == INT64_MAX)
        return io_uring_submit_and_wait(&l->ring, 1);
    int64_t now_ns = loop_clock_ns(l);
    int64_t wait_ns = until.ns - MAX(now_ns, l->now.ns);
    if (wait_ns <= 0)
        return io_uring_submit_and_get_events(&l->ring);
    if (l->faults.clock_drift_ppm != 0) /* the kernel waits by the true clock */
        wait_ns = (int64_t)((__int128)wait_ns * MILLION / (MILLION + l->faults.clock_drift_ppm));
    struct __kernel_timespec wait = {.tv_sec = wait_ns / NS_PER_S, .tv_nsec = wait_ns % NS_PER_S};
    return io_uring_submit_and_wait_timeout(&l->ring, &cqe, 1, &wait, NULL);
}

void loop_work(struct loop *l)
{
    const int64_t ns = l->faults.work_delay_ns;
    const struct timespec t = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    if (ns > 0)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

struct duration loop_waited(struct loop *l)
{
    if (!l->dispatching)
        return (struct duration){0};
    loop_read_clock(l);
    return (struct duration){l->queued_ns + l->now.ns - l->dispatch_ns};
}

/* Takes what the kernel has left for later: newer kernels complete only some twenty operations at a
 * time. Without this, events would wait where loop_waited does not see them. The kernel may say
 * that there is more and bring nothing, for as long as it is asked. */
static void completions_gather(struct loop *l)
{
    unsigned ready = io_uring_cq_ready(&l->ring), before = UINT_MAX;
    while (ready != before && ready < COMPLETION_ENTRIES / 2 &&
           (IO_URING_READ_ONCE(*l->ring.sq.kflags) & IORING_SQ_TASKRUN) != 0) {
        if (io_uring_get_events(&l->ring) < 0)
            break;
        before = ready;
        ready = io_uring_cq_ready(&l->ring);
    }
}

/* `ready_ns`: when the work of the last turn was done. A loop that was then longer in the kernel
 * than its sends and receives can take has slept, so the events have just come. */
static void dispatch_begin(struct loop *l, int64_t ready_ns)
{
    enum {
        KERNEL_SHARE = 4 /* time in the kernel, as a multiple of the time before */
    };
    const int64_t begin_ns = l->now.ns, busy_ns = ready_ns - l->dispatch_ns;
    const bool slept = begin_ns - ready_ns >= KERNEL_SHARE * busy_ns;
    l->queued_ns = slept ? 0 : begin_ns - l->dispatch_ns;
    l->dispatch_ns = begin_ns;
    l->dispatching = true;
}

enum status loop_turn(struct loop *l, struct instant deadline)
{
    connections_service(l);
    const int64_t ready_ns = loop_clock_ns(l);
    int result = submit_and_wait(l, deadline);
    bool passing = result == -ETIME || result == -EINTR || result == -EAGAIN || result == -EBUSY;
    if (result < 0 && !passing) {
        errno = -result;
        return STATUS_IO;
    }
    completions_gather(l);
    /* Only completions that have come by now: no turn is endless. The clock is read after they
     * came, so no event is handled at a time before it happened. */
    unsigned left = io_uring_cq_ready(&l->ring);
    read_clocks(l);
    dispatch_begin(l, ready_ns);
    for (; left > 0; left--) {
        struct io_uring_cqe *ready;
        if (io_uring_peek_cqe(&l->ring, &ready) != 0)
            break;
        struct io_uring_cqe cqe = {
            .user_data = ready->user_data, .res = ready->res, .flags = ready->flags};
        io_uring_cqe_seen(&l->ring, ready);
        loop_dispatch(l, &cqe);
    }
    listeners_retry(l);
    connections_expire(l);
    connections_service(l);
    l->dispatching = false;
    return STATUS_OK;
}
