/* log_append_test.c - appends of any size land where they belong, and leave what was there. */
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/must.h"
#include "base/prng.h"
#include "host/log_append.h"
#include "host/log_dir.h"
#include "tests/check.h"

enum {
    SEGMENT_BYTES = 1 << 20,
    TIMEOUT_MS = 60000
};

struct fixture {
    char path[64];
    struct loop *loop;
    struct log_dir *dir;
    struct log_append append;
    uint8_t model[SEGMENT_BYTES];
    int64_t end;
    int done;
    int error;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    must(f != NULL);
    /* Not in /tmp, which may be in memory: direct I/O is what is tested. */
    snprintf(f->path, sizeof f->path, "log-append-XXXXXX");
    must(mkdtemp(f->path) != NULL);
    assert_int_equal(loop_create(&f->loop), STATUS_OK);
    assert_int_equal(log_dir_open(f->path, SEGMENT_BYTES, &f->dir), STATUS_OK);
    assert_int_equal(log_dir_prepare(f->dir, 0), STATUS_OK);
    log_append_init(&f->append);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char command[128];
    log_dir_close(f->dir);
    loop_destroy(f->loop);
    snprintf(command, sizeof command, "rm -r %s", f->path);
    must(system(command) == 0);
    free(f);
    return 0;
}

FIXTURE(set_up, tear_down)

static void on_done(void *context, int error)
{
    struct fixture *f = context;
    f->done++;
    f->error = error;
}

static void append(struct fixture *f, const uint8_t *bytes, size_t size)
{
    struct instant give_up_at = instant_add(loop_now(f->loop), duration_ms(TIMEOUT_MS));
    int done = f->done;
    log_append(&f->append, f->loop, log_dir_file(f->dir, 0), f->end, slice_make(bytes, size),
               on_done, f);
    while (f->done == done) {
        assert_int_equal(loop_turn(f->loop, give_up_at), STATUS_OK);
        assert_true(instant_before(loop_now(f->loop), give_up_at));
    }
    assert_int_equal(f->error, 0);
    memcpy(f->model + f->end, bytes, size);
    f->end += (int64_t)size;
}

static void append_random(struct fixture *f, struct prng *random, int count)
{
    uint8_t bytes[9000];
    for (int i = 0; i < count; i++) {
        size_t size = 1 + prng_below(random, prng_below(random, 2) == 0 ? 100 : sizeof bytes);
        if (prng_below(random, 4) == 0) /* up to a block's end */
            size = WRITE_ALIGNMENT - (size_t)(f->end % WRITE_ALIGNMENT);
        for (size_t b = 0; b < size; b++)
            bytes[b] = (uint8_t)prng_next(random);
        append(f, bytes, size);
    }
}

static void assert_holds_the_model(struct fixture *f)
{
    struct buffer bytes = {0};
    assert_int_equal(log_dir_read(f->dir, 0, &bytes), STATUS_OK);
    assert_int_equal(bytes.size, SEGMENT_BYTES);
    assert_memory_equal(bytes.data, f->model, SEGMENT_BYTES);
    buffer_deinit(&bytes);
}

TEST(appends_of_any_size_follow_each_other)
{
    struct fixture *f = *state;
    struct prng random = prng_seeded(1);
    append_random(f, &random, 100);
    assert_holds_the_model(f);
}

TEST(a_log_opened_anew_goes_on_within_a_block)
{
    struct fixture *f = *state;
    struct prng random = prng_seeded(2);
    for (int i = 0; i < 20; i++) {
        append_random(f, &random, 3);
        log_append_init(&f->append);
    }
    assert_holds_the_model(f);
}

TEST(a_segment_used_again_keeps_nothing_of_the_last_block_before_it)
{
    struct fixture *f = *state;
    struct prng random = prng_seeded(3);
    append_random(f, &random, 20);
    log_dir_trim(f->dir, 1);
    assert_int_equal(log_dir_file(f->dir, 0), -1);
    assert_int_equal(log_dir_prepare(f->dir, 0), STATUS_OK);
    f->end = WRITE_ALIGNMENT + 10;
    memset(f->model + WRITE_ALIGNMENT, 0, 10);
    assert_int_equal(log_dir_zero(f->dir, 0, WRITE_ALIGNMENT, 10), STATUS_OK);
    append_random(f, &random, 1);
    size_t end = ((size_t)f->end + WRITE_ALIGNMENT - 1) / WRITE_ALIGNMENT * WRITE_ALIGNMENT;
    memset(f->model + f->end, 0, end - (size_t)f->end);
    assert_holds_the_model(f);
}

/* The block before the append is that of this file, also if another one ended at the same place. */
TEST(an_append_to_another_segment_takes_nothing_from_the_one_before)
{
    struct fixture *f = *state;
    uint8_t bytes[100];
    struct buffer read = {0};
    struct instant give_up_at = instant_add(loop_now(f->loop), duration_ms(TIMEOUT_MS));
    memset(bytes, 'a', sizeof bytes);
    append(f, bytes, sizeof bytes);
    assert_int_equal(log_dir_prepare(f->dir, 1), STATUS_OK);
    const int done = f->done;
    log_append(&f->append, f->loop, log_dir_file(f->dir, 1), f->end, slice_make("b", 1), on_done,
               f);
    while (f->done == done)
        assert_int_equal(loop_turn(f->loop, give_up_at), STATUS_OK);
    assert_int_equal(log_dir_read(f->dir, 1, &read), STATUS_OK);
    for (size_t i = 0; i < sizeof bytes; i++)
        assert_int_equal(read.data[i], 0);
    assert_int_equal(read.data[sizeof bytes], 'b');
    buffer_deinit(&read);
    assert_holds_the_model(f);
}

/* ---- a disk that is nearly full ---- */

static uint64_t free_now(void *context)
{
    return *(uint64_t *)context;
}

static enum status make_ahead(struct fixture *f, uint64_t segment)
{
    struct log_making m;
    log_dir_begin(f->dir, segment, false, &m);
    log_making_run(&m);
    return log_dir_add(f->dir, &m);
}

/* The store needs the rest of the disk. The log goes on with the segments that it has. */
TEST(segments_made_ahead_leave_space_on_the_disk)
{
    struct fixture *f = *state;
    uint64_t disk = 10 * SEGMENT_BYTES;
    struct disk_account *account = disk_account_create(free_now, &disk);
    struct disk_share *store = disk_account_join(account);
    log_dir_share_disk(f->dir, account, 10 * SEGMENT_BYTES);
    assert_int_equal(make_ahead(f, 1), STATUS_OK); /* of one segment no log can be freed */
    assert_int_equal(make_ahead(f, 2), STATUS_FULL);
    log_dir_trim(f->dir, 1);
    assert_int_equal(make_ahead(f, 2), STATUS_OK);
    assert_int_equal(make_ahead(f, 3), STATUS_FULL);
    assert_int_equal(log_dir_prepare(f->dir, 3), STATUS_OK); /* a start needs it */
    log_dir_trim(f->dir, 3);
    assert_int_equal(make_ahead(f, 4), STATUS_OK);   /* the log is that of one segment now */
    assert_int_equal(make_ahead(f, 5), STATUS_FULL); /* one spare was kept, and no second one */
    assert_int_equal(disk_share_quota(store), disk); /* no segment is in the making */
    disk += SEGMENT_BYTES;
    assert_int_equal(make_ahead(f, 5), STATUS_OK);
    log_dir_share_disk(f->dir, NULL, 0);
    disk_share_leave(store);
    disk_account_destroy(account);
}

/* As the kernel keeps it for a write of a killed process. */
TEST(a_log_is_not_opened_while_a_write_of_an_earlier_process_is_in_flight)
{
    struct fixture *f = *state;
    char name[128];
    struct log_dir *again;
    log_dir_close(f->dir);
    snprintf(name, sizeof name, "%s/log-%016d", f->path, 0);
    const int fd = open(name, O_RDWR);
    must(fd >= 0 && flock(fd, LOCK_EX) == 0);
    const pid_t other = fork();
    if (other == 0) { /* has the descriptor, too */
        poll(NULL, 0, 200);
        _exit(0);
    }
    close(fd);
    assert_int_equal(log_dir_open(f->path, SEGMENT_BYTES, &again), STATUS_OK);
    assert_int_equal(waitpid(other, NULL, 0), other);
    const int late = open(name, O_RDWR);
    assert_int_equal(flock(late, LOCK_EX | LOCK_NB), -1); /* the log has it now */
    close(late);
    f->dir = again;
}
