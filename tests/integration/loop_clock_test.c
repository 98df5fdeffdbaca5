/* loop_clock_test.c - a process's clock may be wrong, but it never goes back. */
#include "tests/check.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/loop.h"

static int set_up(void **state)
{
    struct loop *l;
    assert_int_equal(loop_create(&l), STATUS_OK);
    *state = l;
    return 0;
}

static int tear_down(void **state)
{
    loop_destroy(*state);
    return 0;
}

static int64_t true_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Turns until this process's clock has moved on by `ms`. */
static void turn_for(struct loop *l, int64_t ms)
{
    struct instant end = instant_add(loop_now(l), duration_ms(ms));
    while (instant_before(loop_now(l), end))
        assert_int_equal(loop_turn(l, end), STATUS_OK);
}

/* ---- how long events have waited ---- */

struct waits {
    struct loop *loop;
    int64_t ns[8];
    int count;
};

static void busy_ms(int64_t ms)
{
    for (int64_t end = true_ns() + ms * NS_PER_MS; true_ns() < end;)
        ;
}

static void job_nothing(void *context)
{
    (void)context;
}

static void job_done(void *context)
{
    struct waits *w = context;
    w->ns[w->count++] = loop_waited(w->loop).ns;
    busy_ms(20);
}

TEST_WITH(an_event_has_waited_for_those_before_it, set_up, tear_down)
{
    struct waits w = {.loop = *state};
    struct worker *worker;
    assert_int_equal(worker_create(w.loop, "test", &worker), STATUS_OK);
    assert_int_equal(loop_waited(w.loop).ns, 0); /* nothing is dispatched */
    for (int i = 0; i < 4; i++)
        worker_submit(worker, job_nothing, job_done, &w);
    while (w.count < 4)
        assert_int_equal(loop_turn(w.loop, INSTANT_NEVER), STATUS_OK);
    /* Whether in one turn or in several: the last event has waited for 20 ms at least. */
    assert_true(w.ns[3] >= 20 * NS_PER_MS);
    for (int i = 1; i < 4; i++)
        assert_true(w.ns[i] >= 0);
    assert_int_equal(loop_waited(w.loop).ns, 0);
    worker_destroy(worker);
}

TEST_WITH(a_loop_that_slept_has_let_nothing_wait, set_up, tear_down)
{
    struct waits w = {.loop = *state};
    struct worker *worker;
    assert_int_equal(worker_create(w.loop, "test", &worker), STATUS_OK);
    turn_for(w.loop, 50);
    worker_submit(worker, job_nothing, job_done, &w);
    while (w.count < 1)
        assert_int_equal(loop_turn(w.loop, INSTANT_NEVER), STATUS_OK);
    assert_true(w.ns[0] < 50 * NS_PER_MS);
    worker_destroy(worker);
}

/* ---- a faulty clock ---- */

TEST_WITH(without_a_fault_it_is_the_clock_since_boot, set_up, tear_down)
{
    struct loop *l = *state;
    int64_t before = true_ns();
    loop_read_clock(l);
    assert_true(loop_now(l).ns >= before);
    assert_true(loop_now(l).ns <= true_ns());
}

TEST_WITH(a_skew_moves_both_clocks_at_once, set_up, tear_down)
{
    struct loop *l = *state;
    int64_t wall_ms = loop_wall_ms(l);
    loop_set_clock_fault(l, duration_ms(3600000), 0);
    assert_int_equal(loop_turn(l, loop_now(l)), STATUS_OK);
    assert_true(loop_now(l).ns >= true_ns() + 3599 * NS_PER_S);
    assert_true(loop_wall_ms(l) >= wall_ms + 3599000);
}

TEST_WITH(a_clock_set_back_stands_still_until_it_is_due, set_up, tear_down)
{
    struct loop *l = *state;
    loop_read_clock(l);
    struct instant before = loop_now(l);
    loop_set_clock_fault(l, duration_ms(-60), 0);
    int64_t until = true_ns() + 40 * NS_PER_MS;
    while (true_ns() < until) {
        assert_int_equal(loop_turn(l, instant_add(before, duration_ms(5))), STATUS_OK);
        assert_false(instant_before(loop_now(l), before));
    }
    turn_for(l, 10);
    assert_true(loop_now(l).ns <= true_ns() - 60 * NS_PER_MS);
}

TEST_WITH(a_drift_changes_its_speed_and_waits_follow, set_up, tear_down)
{
    static const int64_t drifts[] = {500000, -500000};
    for (int i = 0; i < 2; i++) {
        struct loop *l = *state;
        loop_set_clock_fault(l, duration_ms(0), 0);
        turn_for(l, 100); /* so that what stood still has caught up */
        int64_t begin_true = true_ns();
        loop_set_clock_fault(l, duration_ms(0), drifts[i]);
        loop_read_clock(l);
        int64_t begin = loop_now(l).ns;
        turn_for(l, 60);
        int64_t elapsed_true = true_ns() - begin_true, elapsed = loop_now(l).ns - begin;
        /* What it showed is no more than that speed allows, and it waited no less than that. */
        int64_t per_million = 1000000 + drifts[i];
        assert_true(elapsed <= elapsed_true * per_million / 1000000 + 1000);
        assert_true(elapsed_true >= 60 * NS_PER_MS * 1000000 / per_million - NS_PER_MS);
    }
}

/* A machine that was suspended for an hour: the clock since boot is an hour ahead of the monotonic
 * one. In a namespace of its own a process can be shown such a machine. */
static int shows_an_hour_of_suspension(void)
{
    struct timespec mono;
    struct loop *l;
    int fd = -1;
    if (unshare(CLONE_NEWTIME) == 0)
        fd = open("/proc/self/timens_offsets", O_WRONLY);
    if (fd < 0 || write(fd, "boottime 3600 0", 15) != 15)
        return 2;
    close(fd);
    pid_t child = fork(); /* children live in the namespace, this process does not */
    if (child == 0) {
        bool right = loop_create(&l) == STATUS_OK && clock_gettime(CLOCK_MONOTONIC, &mono) == 0 &&
                     loop_now(l).ns / NS_PER_S - mono.tv_sec >= 3599;
        loop_destroy(l);
        _exit(right ? 0 : 1);
    }
    int status = 0;
    bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    return ended ? WEXITSTATUS(status) : 1;
}

TEST(time_goes_on_while_the_machine_is_suspended)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(shows_an_hour_of_suspension());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) {
        print_message("skipped: this process may not make a namespace of clocks\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}
