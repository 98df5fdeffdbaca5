#include <stddef.h>
#include <stdint.h>

#include <semaphore.h>
#include <stdlib.h>

#include "base/must.h"
#include "host/loop.h"
#include "tests/check.h"

enum {
    JOBS = 2000,
    TIMEOUT_MS = 60000
};

struct log {
    struct loop *loop;
    int jobs_run, dones;
    bool runs_in_order; /* the worker's thread writes it, the next one the loop's */
    bool dones_in_order;
    sem_t started, go_on;
};

struct entry {
    struct log *log;
    int number;
};

static int set_up(void **state)
{
    struct log *log = calloc(1, sizeof *log);
    must(log != NULL);
    log->runs_in_order = log->dones_in_order = true;
    sem_init(&log->started, 0, 0);
    sem_init(&log->go_on, 0, 0);
    assert_int_equal(loop_create(&log->loop), STATUS_OK);
    *state = log;
    return 0;
}

static int tear_down(void **state)
{
    struct log *log = *state;
    loop_destroy(log->loop);
    sem_destroy(&log->started);
    sem_destroy(&log->go_on);
    free(log);
    return 0;
}

FIXTURE(set_up, tear_down)

static void wait_for(struct log *log, int dones)
{
    struct instant give_up_at = instant_add(loop_now(log->loop), duration_ms(TIMEOUT_MS));
    while (log->dones < dones) {
        assert_int_equal(loop_turn(log->loop, give_up_at), STATUS_OK);
        assert_true(instant_before(loop_now(log->loop), give_up_at));
    }
}

static void run_entry(void *context)
{
    struct entry *e = context;
    e->log->runs_in_order &= e->log->jobs_run == e->number;
    e->log->jobs_run++;
}

static void entry_done(void *context)
{
    struct entry *e = context;
    e->log->dones_in_order &= e->log->dones == e->number;
    e->log->dones++;
}

TEST(jobs_run_and_are_reported_in_the_order_of_submission)
{
    struct log *log = *state;
    struct worker *w;
    static struct entry entries[JOBS];
    assert_int_equal(worker_create(log->loop, "a name that is too long", &w), STATUS_OK);
    for (int i = 0; i < JOBS; i++) {
        entries[i] = (struct entry){log, i};
        worker_submit(w, run_entry, entry_done, &entries[i]);
        if (i % 100 == 0)
            assert_int_equal(loop_turn(log->loop, (struct instant){0}), STATUS_OK);
    }
    wait_for(log, JOBS);
    assert_true(log->runs_in_order && log->dones_in_order);
    worker_destroy(w);
}

static void wait_to_go_on(void *context)
{
    struct log *log = context;
    sem_post(&log->started);
    sem_wait(&log->go_on);
}

static void count_run(void *context)
{
    struct log *log = context;
    log->jobs_run++;
}

static void count_done(void *context)
{
    struct log *log = context;
    log->dones++;
}

static void let_go_on(void *context)
{
    struct log *log = context;
    sem_wait(&log->started);
    sem_post(&log->go_on);
}

TEST(workers_run_side_by_side)
{
    struct log *log = *state;
    struct worker *a, *b;
    assert_int_equal(worker_create(log->loop, "a", &a), STATUS_OK);
    assert_int_equal(worker_create(log->loop, "b", &b), STATUS_OK);
    /* Each job needs the other one to be running. */
    worker_submit(a, wait_to_go_on, count_done, log);
    worker_submit(b, let_go_on, count_done, log);
    wait_for(log, 2);
    worker_destroy(a);
    worker_destroy(b);
}

TEST(destroying_a_worker_drops_the_jobs_that_wait)
{
    struct log *log = *state;
    struct worker *w, *helper;
    assert_int_equal(worker_create(log->loop, "w", &w), STATUS_OK);
    assert_int_equal(worker_create(log->loop, "helper", &helper), STATUS_OK);
    worker_submit(w, wait_to_go_on, count_done, log);
    sem_wait(&log->started);
    for (int i = 0; i < 10; i++)
        worker_submit(w, wait_to_go_on, count_done, log);
    sem_post(&log->go_on);
    /* Up to ten jobs may begin before the worker is told to stop: none of them is left hanging. */
    for (int i = 0; i < 10; i++)
        sem_post(&log->go_on);
    worker_destroy(w);
    assert_int_equal(log->dones, 0);
    worker_submit(helper, count_run, count_done, log);
    wait_for(log, 1);
    assert_int_equal(log->jobs_run, 1);
}
