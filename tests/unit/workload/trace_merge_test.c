/* trace_merge_test.c - recordings of several routers: requests in the order of their times, and
 * what cannot be merged; requests that become known in another order than they began. */
#include "tests/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/prng.h"
#include "tests/temporary.h"
#include "workload/trace_merge.h"
#include "workload/trace_order.h"

#define PLAIN  "weir-trace 1 keys=plain\n"
#define HASHED "weir-trace 1 keys=hashed\n"

enum {
    FILES_MAX = 3
};

static char paths[FILES_MAX][TEMPORARY_NAME_MAX + 16];
static const char *names[FILES_MAX];

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < FILES_MAX; i++) {
        char all[TEMPORARY_NAME_MAX];
        temporary_name(all, "merge");
        snprintf(paths[i], sizeof paths[i], "%s-%d", all, i);
        names[i] = paths[i];
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < FILES_MAX; i++)
        unlink(paths[i]);
    return 0;
}

FIXTURE(begin, end)

static void write_file(int i, const char *text)
{
    FILE *f = fopen(paths[i], "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Keys and times in us of the merged trace, as text. */
static void expect_merged(uint32_t count, const char *table, const char *expected)
{
    struct trace_merge m;
    struct trace_record r;
    struct buffer error = {0}, text = {0};
    assert_int_equal(trace_merge_open(&m, names, count, table, &error), STATUS_OK);
    while (trace_merge_next(&m, &r))
        buffer_append_format(&text, "%llu@%lld ", (unsigned long long)r.key,
                             (long long)(r.at_ns / NS_PER_US));
    assert_int_equal(trace_merge_error(&m, &error), STATUS_OK);
    buffer_append_u8(&text, 0);
    assert_string_equal((const char *)text.data, expected);
    trace_merge_close(&m);
    buffer_deinit(&text);
    buffer_deinit(&error);
}

static void expect_refused(uint32_t count, const char *table, const char *expected)
{
    struct trace_merge m;
    struct trace_record r;
    struct buffer error = {0};
    enum status status = trace_merge_open(&m, names, count, table, &error);
    while (status == STATUS_OK && trace_merge_next(&m, &r))
        ;
    if (status == STATUS_OK)
        status = trace_merge_error(&m, &error);
    assert_int_equal(status, STATUS_MALFORMED);
    if (memmem(error.data, error.size, expected, strlen(expected)) == NULL)
        fail_msg("`%s`: %.*s", expected, TEXT_OF(error));
    trace_merge_close(&m);
    buffer_deinit(&error);
}

TEST(requests_of_all_recordings_come_in_the_order_of_their_clocks)
{
    write_file(0, PLAIN "clock 5000\ntable 0 a\n0 0 0 r x1 1 a\n100 0 0 r x2 1 a\n");
    write_file(1, PLAIN "table 0 b\nclock 4000\n0 0 0 r x3 1 a\n1050 0 0 r x4 1 t\n"
                        "table 3 a\n10 3 0 r x5 1 a\n");
    write_file(2, PLAIN "tenant 0 idle\n"); /* a router without requests */
    expect_merged(3, NULL, "3@0 1@1000 4@1050 5@1060 2@1100 ");
    expect_merged(3, "a", "1@1000 5@1060 2@1100 ");
    expect_merged(3, "b", "3@0 4@1050 ");
    expect_merged(1, NULL, "1@0 2@100 ");
    expect_refused(3, "c", "no request is for table c");
}

TEST(one_recording_needs_no_clock)
{
    write_file(0, PLAIN "7 0 0 r x1 1 a\n");
    expect_merged(1, NULL, "1@7 ");
    write_file(0, "1000,key-0000000000,14,1,1,get,0\n");
    expect_merged(1, "any", "0@0 ");
}

TEST(what_cannot_be_merged_is_refused)
{
    static const struct {
        const char *a, *b, *error;
    } cases[] = {
        {PLAIN "clock 1\n0 0 0 r x1 1 a\n", PLAIN "0 0 0 r x1 1 a\n", "-1 has no line `clock`"},
        {PLAIN "0 0 0 r x1 1 a\n", PLAIN "clock 1\n0 0 0 r x1 1 a\n", "-0 has no line `clock`"},
        {"1,k,1,1,1,get,0\n", PLAIN "clock 1\n0 0 0 r x1 1 a\n", "-0 has no line `clock`"},
        {PLAIN "clock 1\n", HASHED "salt 00ff\nclock 1\n", "keys are hashed in"},
        {HASHED "salt 00ff\nclock 1\n0 0 0 r x1 1 a\n",
         HASHED "salt 01ff\nclock 1\n0 0 0 r x1 1 a\n", "the same salt"},
        {HASHED "clock 1\n0 0 0 r x1 1 a\n", HASHED "clock 1\n0 0 0 r x1 1 a\n", "the same salt"},
        {PLAIN "clock 1\n0 0 0 r x1 1 a\n", PLAIN "clock 86400000003\n0 0 0 r x1 1 a\n",
         "1.0 days after"},
        {PLAIN "clock 1\n0 0 0 r x1 1 a\n", PLAIN "clock 1\n0 0 0 r x1 1 a\nnonsense\n",
         "-1: line 4: expected STEP"},
        {"", PLAIN "clock 1\n0 0 0 r x1 1 a\n", "-0 has no line `clock`"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        write_file(0, cases[i].a);
        write_file(1, cases[i].b);
        expect_refused(2, NULL, cases[i].error);
    }
    write_file(0, HASHED "salt 00ff\nclock 1\n0 0 0 r x1 1 a\n");
    write_file(1, HASHED "salt 00ff\nclock 86400000001\n0 0 0 r x2 1 a\n");
    expect_merged(2, NULL, "1@0 2@86400000000 "); /* a day is allowed */
}

TEST(a_name_that_is_too_long_is_refused)
{
    char name[TRACE_NAME_SIZE_MAX + 2];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    write_file(0, PLAIN "0 0 0 r x1 1 a\n");
    expect_refused(1, name, "512 bytes, at most 511");
}

/* ---- requests that become known late ---- */

TEST(requests_are_written_in_the_order_of_their_beginnings)
{
    enum {
        REQUESTS = 3000,
        LATE_US = 5000
    };
    struct prng random = prng_seeded(7);
    struct trace_order o;
    struct buffer lines = {0}, error = {0};
    trace_order_init(&o, NULL);
    for (int64_t i = 0; i < REQUESTS; i++) {
        struct trace_record r = {.at_ns = (i * 10 - (int64_t)prng_below(&random, LATE_US)) * 1000,
                                 .scan_length = 1};
        char key[32];
        r.at_ns = r.at_ns < 0 ? 0 : r.at_ns;
        snprintf(key, sizeof key, "key-%010lld", (long long)(r.at_ns / 1000));
        trace_order_add(&o, &r, slice_of(key), &lines);
        trace_order_write(&o, (i * 10 - LATE_US) * 1000, &lines);
        assert_true(o.count <= LATE_US / 10 + 1);
    }
    assert_true(o.count > 0);
    trace_order_write(&o, INT64_MAX, &lines);
    assert_int_equal(o.count, 0);
    assert_int_equal(o.lines, REQUESTS);
    struct trace_reader reader = {.format = TRACE_WEIR};
    struct slice rest = buffer_slice(&lines);
    for (int i = 0; i < REQUESTS; i++) {
        struct trace_record r;
        enum trace_line what;
        assert_int_equal(trace_reader_line(&reader, slice_cut(&rest, '\n'), &what, &r, &error),
                         STATUS_OK);
        assert_int_equal(r.key, r.at_ns / 1000);
    }
    trace_order_deinit(&o);
    buffer_deinit(&lines);
}

TEST(too_many_that_wait_are_written_and_a_late_one_gets_the_time_before)
{
    struct trace_order o;
    struct buffer lines = {0};
    struct trace_record r = {.at_ns = 5000000, .scan_length = 1};
    trace_order_init(&o, "salt");
    for (int i = 0; i < TRACE_ORDER_HELD_MAX; i++)
        trace_order_add(&o, &r, slice_of("secret"), &lines);
    assert_int_equal(lines.size, 0);
    r.at_ns = 3000000;
    trace_order_add(&o, &r, slice_of("secret"), &lines);
    assert_int_equal(o.count, TRACE_ORDER_HELD_MAX);
    assert_true(slice_starts_with(buffer_slice(&lines), slice_of("5000 0 0 R x")) ||
                slice_starts_with(buffer_slice(&lines), slice_of("5000 0 0 r x")));
    buffer_clear(&lines);
    trace_order_write(&o, 4000000, &lines);
    assert_true(slice_starts_with(buffer_slice(&lines), slice_of("0 0 0 ")));
    assert_null(memmem(lines.data, lines.size, "secret", 6));
    trace_order_deinit(&o);
    buffer_deinit(&lines);
}
