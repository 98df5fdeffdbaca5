/* request_record_test.c - the file of a router's recording: when lines reach it, and what a full
 * disk does. */
#include "tests/check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/request_record.h"
#include "tests/support/fake_cluster.h"
#include "tests/temporary.h"
#include "workload/trace_file.h"

static struct fake_cluster f;
static struct loop *loop;
static struct request_record *record;
static struct router_options router;
static char path[TEMPORARY_NAME_MAX];

static void answered(void *context, const struct router_answer *a)
{
    (void)context;
    router.answered(router.answered_context, a);
}

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    f.answered = answered;
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    assert_int_equal(loop_create(&loop), STATUS_OK);
    temporary_name(path, "record");
    return 0;
}

static int stop(void **state)
{
    char second[TEMPORARY_NAME_MAX + 8];
    (void)state;
    fake_deinit(&f);
    loop_destroy(loop);
    unlink(path);
    snprintf(second, sizeof second, "%s.1", path);
    unlink(second);
    return 0;
}

FIXTURE(start, stop)

static void begin(const char *salt)
{
    struct buffer error = {0};
    const struct request_record_options o = {
        .command = "test", .path = path, .salt = salt, .router = 7, .loop = loop};
    record = request_record_create(&o, &router);
    assert_int_equal(request_record_begin(record, &error), STATUS_OK);
    buffer_deinit(&error);
}

static void put(const char *key)
{
    char body[256];
    snprintf(body, sizeof body, "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"%s\"}}}", key);
    assert_int_equal(fake_call(&f, "PutItem", body).status, 200);
}

/* Turns until what waits is due, and writes it. */
static void write_due(void)
{
    while (instant_before(loop_now(loop), request_record_deadline(record)))
        assert_int_equal(loop_turn(loop, request_record_deadline(record)), STATUS_OK);
    request_record_turn(record);
}

static int64_t recorded(const char *file)
{
    struct trace_file t;
    struct trace_record r;
    struct buffer error = {0};
    assert_int_equal(trace_file_open(&t, file, "users", &error), STATUS_OK);
    while (trace_file_next(&t, &r))
        ;
    assert_int_equal(trace_file_error(&t, &error), STATUS_OK);
    int64_t records = t.records;
    trace_file_close(&t);
    buffer_deinit(&error);
    return records;
}

TEST(requests_are_in_the_file_once_they_are_due_or_the_router_ends)
{
    struct stat s;
    begin(NULL);
    assert_string_equal(request_record_path(record), path);
    assert_true(request_record_deadline(record).ns == INSTANT_NEVER.ns);
    put("a");
    put("b");
    assert_true(request_record_deadline(record).ns < INSTANT_NEVER.ns);
    write_due();
    assert_true(request_record_deadline(record).ns == INSTANT_NEVER.ns);
    assert_int_equal(recorded(path), 2);
    put("c");
    assert_int_equal(recorded(path), 2); /* RECORDING-1 */
    request_record_destroy(record);
    assert_int_equal(recorded(path), 3);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 077, 0); /* only the owner may read keys */
}

TEST(without_a_path_nothing_is_watched)
{
    struct buffer error = {0};
    const struct request_record_options o = {.command = "test", .loop = loop};
    assert_null(request_record_create(&o, &router));
    assert_null(router.answered);
    assert_int_equal(request_record_begin(NULL, &error), STATUS_OK);
    request_record_turn(NULL);
    request_record_destroy(NULL);
    assert_true(request_record_deadline(NULL).ns == INSTANT_NEVER.ns);
}

TEST(a_file_that_exists_is_kept) /* RECORDING-3 */
{
    char second[TEMPORARY_NAME_MAX + 8];
    begin(NULL);
    request_record_destroy(record);
    begin("salt");
    put("a");
    snprintf(second, sizeof second, "%s.1", path);
    assert_string_equal(request_record_path(record), second);
    request_record_destroy(record);
    assert_int_equal(recorded(second), 1);
    assert_int_equal(recorded(path), 0);
}

TEST(a_file_that_cannot_be_made_is_an_error)
{
    struct buffer error = {0};
    char long_path[5000];
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = 0;
    const char *const bad[] = {"/tmp/weir-no-such-directory/file", long_path};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const struct request_record_options o = {.command = "test", .path = bad[i], .loop = loop};
        record = request_record_create(&o, &router);
        buffer_clear(&error);
        assert_int_equal(request_record_begin(record, &error), STATUS_IO);
        assert_true(slice_starts_with(buffer_slice(&error), slice_of("cannot create --record ")));
        request_record_destroy(record);
    }
    buffer_deinit(&error);
}

/* The file may have so many bytes: the write that crosses the limit is cut short, and the next one
 * fails. */
TEST(a_full_disk_ends_the_recording_and_nothing_else) /* RECORDING-2 */
{
    enum {
        REQUESTS = 200
    };
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    begin(NULL);
    for (int i = 0; i < REQUESTS; i++)
        put("key");
    signal(SIGXFSZ, SIG_IGN);
    small = (struct rlimit){2000, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    write_due();
    assert_true(request_record_deadline(record).ns == INSTANT_NEVER.ns);
    put("later");
    put("later");
    assert_true(request_record_deadline(record).ns == INSTANT_NEVER.ns);
    request_record_turn(record);
    request_record_destroy(record);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    int64_t records = recorded(path); /* a line that was cut off is no error */
    assert_true(records > 10 && records < REQUESTS);
}
