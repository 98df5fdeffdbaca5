/* stop_signal.c - the signals that end a process, as an event of the loop.
 *
 * SIGHUP comes when a terminal is closed, SIGQUIT by Ctrl-\: the process must clean up after them
 * as after the others. Who ignores them (nohup) goes on ignoring them: a blocked signal would come.
 * */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "host/loop_internal.h"

static void stop_signal_arm(struct loop *l)
{
    struct io_uring_sqe *sqe = loop_submission(l);
    io_uring_prep_read(sqe, l->signal_fd, l->signal_info, sizeof *l->signal_info, 0);
    loop_mark(l, sqe, OPERATION_SIGNAL, 0);
}

/* Adds the signal, unless the process ignores it. */
static void stop_signal_add(sigset_t *signals, int signal)
{
    struct sigaction action;
    if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(signals, signal);
}

enum status loop_on_stop(struct loop *l, void (*stop)(void *context), void *context)
{
    must(l->signal_fd < 0);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    stop_signal_add(&signals, SIGHUP);
    stop_signal_add(&signals, SIGQUIT);
    l->signal_info = must_calloc(1, sizeof *l->signal_info);
    l->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    if (l->signal_fd < 0)
        return STATUS_IO;
    must(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
    l->stop = stop;
    l->stop_context = context;
    stop_signal_arm(l);
    return STATUS_OK;
}

void stop_signal_complete(struct loop *l, int result)
{
    if (result < 0 && result != -EINTR && result != -EAGAIN)
        return; /* cancelled */
    stop_signal_arm(l);
    if (result > 0)
        l->stop(l->stop_context);
}

void stop_signal_deinit(struct loop *l)
{
    if (l->signal_fd >= 0)
        close(l->signal_fd);
    free(l->signal_info);
}
