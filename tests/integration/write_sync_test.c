/* write_sync_test.c - file writes of the loop: their contents, and each way they can fail. */
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/must.h"
#include "base/prng.h"
#include "host/loop.h"
#include "tests/check.h"
#include "tests/temporary.h"

enum {
    TIMEOUT_MS = 60000
};

struct fixture {
    struct loop *loop;
    int fd;
    int done;
    int last_error;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    must(f != NULL);
    char path[TEMPORARY_NAME_MAX];
    temporary_name(path, "write-sync");
    f->fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
    must(f->fd >= 0);
    must(unlink(path) == 0);
    assert_int_equal(loop_create(&f->loop), STATUS_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    loop_destroy(f->loop);
    close(f->fd);
    free(f);
    return 0;
}

FIXTURE(set_up, tear_down)

static void on_done(void *context, int error)
{
    struct fixture *f = context;
    f->done++;
    f->last_error = error;
}

static void wait_for(struct fixture *f, int done)
{
    struct instant give_up_at = instant_add(loop_now(f->loop), duration_ms(TIMEOUT_MS));
    while (f->done < done) {
        assert_int_equal(loop_turn(f->loop, give_up_at), STATUS_OK);
        assert_true(instant_before(loop_now(f->loop), give_up_at));
    }
}

static void start_write(struct fixture *f, int fd, int64_t offset, const void *bytes, size_t size)
{
    uint8_t *memory = loop_write_memory(size);
    memcpy(memory, bytes, size);
    loop_write_sync(f->loop, fd, offset, memory, size, on_done, f);
}

static int write_once(struct fixture *f, int64_t offset, const char *text)
{
    start_write(f, f->fd, offset, text, strlen(text));
    wait_for(f, f->done + 1);
    return f->last_error;
}

static int64_t file_size(struct fixture *f)
{
    struct stat s;
    must(fstat(f->fd, &s) == 0);
    return s.st_size;
}

TEST(more_writes_than_the_rings_hold_all_land_where_they_belong)
{
    struct fixture *f = *state;
    enum {
        WRITES = 700,
        SIZE = 3000
    };
    uint8_t *bytes = malloc(WRITES * SIZE), *read_back = malloc(WRITES * SIZE);
    struct prng random = prng_seeded(1);
    for (int i = 0; i < WRITES * SIZE; i++)
        bytes[i] = (uint8_t)prng_next(&random);
    for (int i = 0; i < WRITES; i++)
        start_write(f, f->fd, i * SIZE, bytes + i * SIZE, SIZE);
    wait_for(f, WRITES);
    assert_int_equal(f->last_error, 0);
    assert_int_equal(pread(f->fd, read_back, WRITES * SIZE, 0), WRITES * SIZE);
    assert_memory_equal(bytes, read_back, WRITES * SIZE);
    free(bytes);
    free(read_back);
}

TEST(an_injected_write_failure_is_reported_once_and_leaves_nothing)
{
    struct fixture *f = *state;
    *loop_faults(f->loop) = (struct loop_faults){
        .writes_until_failure = 1, .write_error = ENOSPC, .syncs_until_failure = -1};
    assert_int_equal(write_once(f, 0, "first"), 0);
    assert_int_equal(write_once(f, 5, "second"), ENOSPC);
    assert_int_equal(file_size(f), 5);
    assert_int_equal(write_once(f, 5, "third"), 0);
    assert_int_equal(file_size(f), 10);
}

TEST(an_injected_failure_for_ever_stays)
{
    struct fixture *f = *state;
    *loop_faults(f->loop) = (struct loop_faults){.writes_until_failure = 0,
                                                 .write_error = EDQUOT,
                                                 .syncs_until_failure = -1,
                                                 .for_ever = true};
    for (int i = 0; i < 5; i++)
        assert_int_equal(write_once(f, 0, "x"), EDQUOT);
}

TEST(an_injected_sync_failure_comes_after_the_write)
{
    struct fixture *f = *state;
    *loop_faults(f->loop) = (struct loop_faults){
        .writes_until_failure = -1, .syncs_until_failure = 0, .sync_error = EIO};
    assert_int_equal(write_once(f, 0, "written, not synced"), EIO);
    assert_int_equal(file_size(f), 19);
    assert_int_equal(write_once(f, 0, "x"), 0);
}

TEST(a_short_write_is_completed_or_reported_as_its_errno)
{
    struct fixture *f = *state;
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    must(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = 100; /* bytes: the kernel writes up to there, and then refuses */
    must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    int error = write_once(f, 98, "five!");
    must(setrlimit(RLIMIT_FSIZE, &before) == 0);
    assert_int_equal(error, EFBIG);
    assert_int_equal(file_size(f), 100);
}

TEST(a_write_to_a_bad_descriptor_reports_its_errno)
{
    struct fixture *f = *state;
    start_write(f, 9999, 0, "x", 1);
    wait_for(f, 1);
    assert_int_equal(f->last_error, EBADF);
}

TEST(an_empty_write_is_a_sync)
{
    struct fixture *f = *state;
    assert_int_equal(write_once(f, 0, ""), 0);
}

TEST(destroying_the_loop_with_writes_in_flight_leaks_nothing)
{
    struct fixture *f = *state;
    static const uint8_t bytes[100000];
    for (int i = 0; i < 20; i++)
        start_write(f, f->fd, i * 100000, bytes, sizeof bytes);
    loop_destroy(f->loop);
    f->loop = NULL;
    assert_int_equal(f->done, 0);
}

TEST(a_slow_disk_takes_that_much_longer_and_writes_the_same)
{
    struct fixture *f = *state;
    struct instant begin = loop_now(f->loop);
    loop_faults(f->loop)->write_delay_ns = 40 * NS_PER_MS;
    assert_int_equal(write_once(f, 0, "slowly"), 0);
    assert_true(instant_since(loop_now(f->loop), begin).ns >= 40 * NS_PER_MS);
    assert_int_equal(file_size(f), 6);
    loop_faults(f->loop)->write_delay_ns = 3600 * NS_PER_S; /* tear_down does not wait for it */
    start_write(f, f->fd, 0, "x", 1);
    assert_int_equal(loop_turn(f->loop, loop_now(f->loop)), STATUS_OK);
}
