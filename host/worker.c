/* worker.c - a thread for jobs that would block the loop.
 *
 * The lock covers the two queues only, never a job. The worker reports finished jobs through an
 * eventfd: only the loop's own thread may use the ring. The eventfd is written once per batch of
 * finished jobs. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "host/loop_internal.h"

struct job {
    STAILQ_ENTRY(job) link;
    void (*run)(void *context);
    void (*done)(void *context);
    void *context;
};

STAILQ_HEAD(job_queue, job);

struct worker {
    LIST_ENTRY(worker) link;
    struct loop *loop; /* borrows */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* under the lock */
    struct job_queue waiting;
    struct job_queue finished;
    bool stopping;
};

static void drop_jobs(struct job_queue *q)
{
    for (struct job *j; (j = STAILQ_FIRST(q)) != NULL;) {
        STAILQ_REMOVE_HEAD(q, link);
        free(j);
    }
}

static struct job *next_job(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->stopping && STAILQ_EMPTY(&w->waiting))
        pthread_cond_wait(&w->wake, &w->lock);
    struct job *j = w->stopping ? NULL : STAILQ_FIRST(&w->waiting);
    if (j != NULL)
        STAILQ_REMOVE_HEAD(&w->waiting, link);
    pthread_mutex_unlock(&w->lock);
    return j;
}

static void *worker_run(void *argument)
{
    struct worker *w = argument;
    struct job *j;
    while ((j = next_job(w)) != NULL) {
        j->run(j->context);
        pthread_mutex_lock(&w->lock);
        bool first = STAILQ_EMPTY(&w->finished);
        STAILQ_INSERT_TAIL(&w->finished, j, link);
        pthread_mutex_unlock(&w->lock);
        if (first)
            must(eventfd_write(w->loop->wake_fd, 1) == 0);
    }
    return NULL;
}

static void arm_wake(struct loop *l)
{
    struct io_uring_sqe *sqe = loop_submission(l);
    io_uring_prep_read(sqe, l->wake_fd, &l->wake_count, sizeof l->wake_count, 0);
    loop_mark(l, sqe, OPERATION_WAKE, 0);
}

static enum status open_wake(struct loop *l)
{
    if (l->wake_fd >= 0)
        return STATUS_OK;
    l->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (l->wake_fd < 0)
        return STATUS_IO;
    arm_wake(l);
    return STATUS_OK;
}

/* The thread sees no signals: they belong to the loop. */
static int start_thread(struct worker *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&w->thread, NULL, worker_run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

enum status worker_create(struct loop *l, const char *name, struct worker **out)
{
    if (open_wake(l) != STATUS_OK)
        return STATUS_IO;
    struct worker *w = must_calloc(1, sizeof *w);
    w->loop = l;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    STAILQ_INIT(&w->waiting);
    STAILQ_INIT(&w->finished);
    int error = start_thread(w);
    if (error != 0) {
        free(w);
        errno = error;
        return STATUS_IO;
    }
    char shortened[16]; /* the kernel's limit for a thread's name */
    snprintf(shortened, sizeof shortened, "%s", name);
    pthread_setname_np(w->thread, shortened);
    LIST_INSERT_HEAD(&l->workers, w, link);
    *out = w;
    return STATUS_OK;
}

void worker_destroy(struct worker *w)
{
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    must(pthread_join(w->thread, NULL) == 0);
    LIST_REMOVE(w, link);
    drop_jobs(&w->waiting);
    drop_jobs(&w->finished);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void worker_submit(struct worker *w, void (*job)(void *context), void (*done)(void *context),
                   void *context)
{
    struct job *j = must_calloc(1, sizeof *j);
    *j = (struct job){.run = job, .done = done, .context = context};
    pthread_mutex_lock(&w->lock);
    STAILQ_INSERT_TAIL(&w->waiting, j, link);
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

/* A `done` may destroy any worker, its own included: start from the first worker after each job. */
static struct job *next_finished(struct loop *l)
{
    struct worker *w;
    struct job *j = NULL;
    LIST_FOREACH (w, &l->workers, link) {
        pthread_mutex_lock(&w->lock);
        j = STAILQ_FIRST(&w->finished);
        if (j != NULL)
            STAILQ_REMOVE_HEAD(&w->finished, link);
        pthread_mutex_unlock(&w->lock);
        if (j != NULL)
            break;
    }
    return j;
}

void workers_wake(struct loop *l)
{
    arm_wake(l);
    struct job *j;
    while ((j = next_finished(l)) != NULL) {
        void (*done)(void *context) = j->done;
        void *context = j->context;
        free(j);
        if (done != NULL)
            done(context);
    }
}

void workers_deinit(struct loop *l)
{
    while (!LIST_EMPTY(&l->workers))
        worker_destroy(LIST_FIRST(&l->workers));
}
