/* trace_file_test.c - traces: what is written is read, Twitter's form, wrong lines. */
#include "tests/check.h"

#include <unistd.h>

#include "base/instant.h"
#include "base/limits.h"
#include "tests/temporary.h"
#include "workload/trace_file.h"
#include "workload/trace_recorder.h"

static char path[TEMPORARY_NAME_MAX];

static void write_trace(const char *text)
{
    temporary_name(path, "trace");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static struct trace_file open_trace(const char *table)
{
    struct trace_file t;
    struct buffer error = {0};
    assert_int_equal(trace_file_open(&t, path, table, &error), STATUS_OK);
    buffer_deinit(&error);
    return t;
}

static int64_t count_records(const char *text, const char *table)
{
    struct trace_record r;
    struct buffer error = {0};
    write_trace(text);
    struct trace_file t = open_trace(table);
    while (trace_file_next(&t, &r))
        ;
    assert_int_equal(trace_file_error(&t, &error), STATUS_OK);
    int64_t records = t.records;
    trace_file_close(&t);
    buffer_deinit(&error);
    return records;
}

/* The SipHash-2-4 test vectors of its authors: key 00..0f, inputs 00, 00 01 and so on. */
TEST(the_hash_is_siphash_2_4)
{
    static const uint64_t expected[] = {
        UINT64_C(0x726fdb47dd0e0e31), UINT64_C(0x74f839c593dc67fd), UINT64_C(0x0d6c8009d9a94f5a),
        UINT64_C(0x85676696d7fb7e2d), UINT64_C(0xcf2794e0277187b7), UINT64_C(0x18765564cd99a68d),
        UINT64_C(0xcbc9466e58fee3ce), UINT64_C(0xab0200f58b01d137), UINT64_C(0x93f5f5799a932462)};
    uint8_t bytes[16];
    struct trace_salt salt;
    for (uint8_t i = 0; i < 16; i++)
        bytes[i] = i;
    memcpy(salt.key, bytes, 16);
    for (size_t size = 0; size < COUNT_OF(expected); size++)
        assert_true(trace_hash(&salt, slice_make(bytes, size)) == expected[size]);
}

TEST(what_is_recorded_is_read_in_the_order_of_the_due_times)
{
    enum {
        REQUESTS = 5000
    };
    struct prng random = prng_seeded(1);
    struct trace_recorder w;
    struct trace_record written[REQUESTS], read;
    uint64_t handles[REQUESTS];
    write_trace("");
    FILE *f = fopen(path, "w");
    trace_recorder_init(&w, f, NULL);
    trace_recorder_clock(&w, 1700000000000000);
    uint32_t table = trace_recorder_table(&w, "my orders"),
             tenant = trace_recorder_tenant(&w, "base");
    int64_t at_ns = 0;
    for (int i = 0; i < REQUESTS; i++) {
        char key[32];
        enum traffic_kind kind = (enum traffic_kind)prng_below(&random, TRAFFIC_KINDS);
        at_ns += (int64_t)prng_below(&random, 3000) * NS_PER_US;
        written[i] = (struct trace_record){
            .at_ns = at_ns,
            .key = prng_below(&random, UINT64_C(10000000000)),
            .table = table,
            .tenant = tenant,
            .size_bytes = (int32_t)prng_below(&random, 409601),
            .scan_length = kind == TRAFFIC_SCAN ? 17 : 1,
            .kind = kind,
            .consistent = traffic_kind_writes(kind) || prng_below(&random, 2),
        };
        snprintf(key, sizeof key, "key-%010llu", (unsigned long long)written[i].key);
        handles[i] = trace_recorder_begin(&w, &written[i], slice_of(key));
        /* They end in another order: the ring must grow. */
        if (i % 2500 == 2499)
            for (int n = i; n > i - 2500; n--) {
                written[n].outcome = (enum trace_outcome)prng_below(&random, TRACE_OUTCOMES);
                trace_recorder_end(&w, handles[n], written[n].outcome);
            }
    }
    trace_recorder_deinit(&w);
    fclose(f);
    struct trace_file t = open_trace("my_orders");
    for (int i = 0; i < REQUESTS; i++) {
        assert_true(trace_file_next(&t, &read));
        assert_int_equal(read.at_ns, written[i].at_ns);
        assert_int_equal(read.key, written[i].key);
        assert_int_equal(read.size_bytes, written[i].size_bytes);
        assert_int_equal(read.scan_length, written[i].scan_length);
        assert_int_equal(read.kind, written[i].kind);
        assert_int_equal(read.consistent, written[i].consistent);
        assert_int_equal(read.outcome, written[i].outcome);
    }
    assert_true(t.reader.has_clock && t.reader.clock_us == 1700000000000000);
    assert_false(t.reader.hashed || t.reader.has_salt);
    assert_false(trace_file_next(&t, &read));
    trace_file_close(&t);
    unlink(path);
}

TEST(late_and_unfinished_requests_are_written_too)
{
    struct trace_recorder w;
    struct trace_record r = {.at_ns = 5 * NS_PER_MS, .scan_length = 1}, read;
    write_trace("");
    FILE *f = fopen(path, "w");
    trace_recorder_init(&w, f, NULL);
    trace_recorder_begin(&w, &r, slice_of("a b%"));
    r.at_ns = 4 * NS_PER_MS;
    trace_recorder_end(&w, trace_recorder_begin(&w, &r, slice_of("c")), TRACE_ADMITTED);
    trace_recorder_deinit(&w);
    fclose(f);
    struct trace_file t = open_trace(NULL);
    assert_true(trace_file_next(&t, &read));
    assert_true(read.at_ns == 5 * NS_PER_MS && read.outcome == TRACE_UNANSWERED);
    assert_true(read.key == trace_key_number(slice_of("a b%")));
    assert_true(trace_file_next(&t, &read));
    assert_true(read.at_ns == 5 * NS_PER_MS && read.outcome == TRACE_ADMITTED);
    assert_false(trace_file_next(&t, &read));
    trace_file_close(&t);
    unlink(path);
}

/* Equal keys stay equal, another salt gives other hashes, and no key can be read. */
TEST(hashed_keys_depend_on_the_salt)
{
    static const char *const salts[] = {"one", "one", "two"};
    uint64_t keys[3];
    uint16_t checks[3];
    for (int i = 0; i < 3; i++) {
        struct trace_recorder w;
        struct trace_record r = {.scan_length = 1}, read;
        char text[256] = {0};
        write_trace("");
        FILE *f = fopen(path, "w+");
        trace_recorder_init(&w, f, salts[i]);
        trace_recorder_end(&w, trace_recorder_begin(&w, &r, slice_of("secret")), TRACE_FAILED);
        trace_recorder_deinit(&w);
        rewind(f);
        assert_true(fread(text, 1, sizeof text - 1, f) > 0);
        assert_null(strstr(text, "secret"));
        fclose(f);
        struct trace_file t = open_trace(NULL);
        assert_true(trace_file_next(&t, &read));
        keys[i] = read.key;
        assert_true(t.reader.hashed && t.reader.has_salt);
        checks[i] = t.reader.salt;
        trace_file_close(&t);
    }
    assert_true(keys[0] == keys[1] && keys[0] != keys[2]);
    assert_true(checks[0] == checks[1] && checks[0] != checks[2]);
    unlink(path);
}

TEST(only_the_requests_of_the_table_are_taken)
{
    static const char two[] = "weir-trace 1 keys=plain\n# by hand\n\ntable 0 a\n0 0 0 r kx 1 a\n"
                              "table 1 b\n5 1 0 u ky 1 t\n5 0 0 u ky 1 t\n";
    assert_int_equal(count_records(two, NULL), 3);
    assert_int_equal(count_records(two, "a"), 2);
    assert_int_equal(count_records(two, "b"), 1);
    assert_int_equal(count_records("weir-trace 1 keys=plain\n0 7 0 r kx 1 a\n", "a"), 1);
    /* The last line was cut off. */
    assert_int_equal(count_records("weir-trace 1 keys=plain\n0 7 0 r kx 1 a\n0 7 0 r kx 1", "a"),
                     1);
    struct trace_record r;
    struct buffer error = {0};
    write_trace(two);
    struct trace_file t = open_trace("c");
    while (trace_file_next(&t, &r))
        ;
    assert_int_equal(trace_file_error(&t, &error), STATUS_MALFORMED);
    assert_non_null(memmem(error.data, error.size, "no request is for table c", 25));
    trace_file_close(&t);
    buffer_deinit(&error);
    unlink(path);
}

TEST(twitter_traces_are_spread_over_their_seconds)
{
    struct trace_record r;
    struct buffer error = {0};
    write_trace("1000,nz:u:a,11,0,3,get,0\n1000,nz:u:b,10,500,3,set,3600\n"
                "1000,k,1,1,4,incr,0\n1000,with,comma,10,2,9,delete,0\r\n"
                "1002,nz:u:a,11,99,3,gets,0\n1002,new,3,600000,3,add,60");
    static const struct {
        int64_t at_ms;
        enum traffic_kind kind;
        bool consistent;
        int32_t size;
        uint32_t tenant;
    } expected[] = {{0, TRAFFIC_READ, false, 11, 3},     {250, TRAFFIC_UPDATE, true, 510, 3},
                    {500, TRAFFIC_UPDATE, true, 2, 4},   {750, TRAFFIC_DELETE, true, 12, 9},
                    {2000, TRAFFIC_READ, false, 110, 3}, {2500, TRAFFIC_INSERT, true, 409600, 3}};
    struct trace_file t = open_trace("orders");
    struct traffic_request q;
    struct traffic_source source = trace_file_source(&t, 1);
    uint64_t first = 0;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(source.next(source.context, &q));
        assert_int_equal(q.at_ns, expected[i].at_ms * NS_PER_MS);
        assert_int_equal(q.kind, expected[i].kind);
        assert_int_equal(q.consistent, expected[i].consistent);
        assert_int_equal(q.size_bytes, expected[i].size);
        assert_int_equal(q.tenant, expected[i].tenant);
        first = i == 0 ? q.key : first;
        assert_int_equal(q.key == first, i == 0 || i == 4);
    }
    assert_false(trace_file_next(&t, &r));
    assert_int_equal(trace_file_error(&t, &error), STATUS_OK);
    trace_file_close(&t);
    buffer_deinit(&error);
    unlink(path);
}

/* The error names file, line and limit. */
static void expect_fault(const char *file, const char *text)
{
    struct trace_file t;
    struct trace_record r;
    struct buffer error = {0};
    enum status status = trace_file_open(&t, file, NULL, &error);
    for (int i = 0; status == STATUS_OK && trace_file_next(&t, &r); i++)
        assert_true(i < 1);
    if (status == STATUS_OK)
        status = trace_file_error(&t, &error);
    assert_int_not_equal(status, STATUS_OK);
    if (memmem(error.data, error.size, text, strlen(text)) == NULL)
        fail_msg("%s: %.*s", file, TEXT_OF(error));
    trace_file_close(&t);
    buffer_deinit(&error);
}

TEST(a_line_without_an_end_and_a_read_error_are_faults_of_a_trace)
{
    expect_fault("/dev/zero", "/dev/zero: line 1: longer than 16384 bytes");
    expect_fault("/", "cannot read /: Is a directory");
    write_trace("weir-trace 1 keys=plain\n0 7 0 r kx 1 a\n");
    FILE *f = fopen(path, "a");
    for (int i = 0; i <= TRACE_LINE_SIZE_MAX; i++)
        fputc('#', f);
    fclose(f);
    expect_fault(path, ": line 3: longer than 16384 bytes");
    unlink(path);
}

static void expect_try(const char *file, const char *table, const char *text)
{
    struct buffer error = {0};
    const enum status status = trace_file_try(file, table, &error);
    assert_int_equal(status == STATUS_OK, text == NULL);
    if (text != NULL && memmem(error.data, error.size, text, strlen(text)) == NULL)
        fail_msg("%s: %.*s", file, TEXT_OF(error));
    buffer_deinit(&error);
}

TEST(a_trace_without_a_request_is_a_fault_before_the_run)
{
    expect_try("/dev/null", NULL, "/dev/null has no requests");
    write_trace("weir-trace 1 keys=plain\ntable 0 a\n# none\n");
    expect_try(path, NULL, " has no requests");
    expect_try(path, "a", " has no requests");
    expect_try(path, "b", ": no request is for table b");
    write_trace("weir-trace 1 keys=plain\n0 7 0 r kx 1 a\n5 7 0 r ky 1 a\n");
    expect_try(path, NULL, NULL);
    /* A trace that was checked is read from its first request on. */
    struct trace_record r;
    struct buffer error = {0};
    struct trace_file t = open_trace(NULL);
    assert_int_equal(trace_file_check(&t, &error), STATUS_OK);
    assert_int_equal(t.records, 0);
    assert_true(trace_file_next(&t, &r) && r.key == trace_key_number(slice_of("x")));
    assert_true(trace_file_next(&t, &r) && r.key == trace_key_number(slice_of("y")));
    assert_false(trace_file_next(&t, &r));
    assert_int_equal(t.records, 2);
    trace_file_close(&t);
    unlink(path);
    /* A pipe is read only once, by the run. */
    int ends[2];
    char name[64];
    assert_int_equal(pipe(ends), 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
    expect_try(name, NULL, NULL);
    close(ends[0]);
    close(ends[1]);
}

TEST(wrong_lines_are_refused_with_their_number)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"weir-trace 2 keys=plain\n", "line 1: expected `weir-trace 1 keys=plain`"},
        {"hello\n", "line 1: expected seconds,key"},
        {"1,k,1,1,1,fetch,0\n", "line 1: unknown operation `fetch`"},
        {"1,k,1,x,1,get,0\n", "line 1: sizes, client and TTL are numbers"},
        {"5,k,1,1,1,get,0\n4,k,1,1,1,get,0\n", "line 2: the time is before"},
        {"weir-trace 1 keys=plain\n0 0 0 r kx 1\n", "line 2: expected STEP TABLE"},
        {"weir-trace 1 keys=plain\n0 0 0 r kx 1 a 1 1\n", "line 2: expected STEP TABLE"},
        {"weir-trace 1 keys=plain\n-1 0 0 r kx 1 a\n", "line 2: the step is not a number"},
        {"weir-trace 1 keys=plain\n0 4294967296 0 r kx 1 a\n", "line 2: table and tenant"},
        {"weir-trace 1 keys=plain\n0 0 0 w kx 1 a\n", "line 2: the kind is one of"},
        {"weir-trace 1 keys=plain\n0 0 0 r x 1 a\n", "line 2: a key is k and text"},
        {"weir-trace 1 keys=plain\n0 0 0 r k%zz 1 a\n", "line 2: a key is k and text"},
        {"weir-trace 1 keys=plain\n0 0 0 r k%2 1 a\n", "line 2: a key is k and text"},
        {"weir-trace 1 keys=hashed\n0 0 0 r x11112222333344445 1 a\n", "line 2: a key is"},
        {"weir-trace 1 keys=plain\n0 0 0 r kx 409601 a\n", "line 2: an item has"},
        {"weir-trace 1 keys=plain\n0 0 0 r kx 1 b\n", "line 2: the outcome is one of"},
        {"weir-trace 1 keys=plain\n0 0 0 s kx 1 a 0\n", "line 2: a scan has"},
        {"weir-trace 1 keys=plain\n\ntable 0 a b\n", "line 3: expected a number and a name"},
        {"weir-trace 1 keys=plain\nclock x\n", "line 2: a clock is a number of microseconds"},
        {"weir-trace 1 keys=plain\nclock 1\nclock 1\n", "line 3: a clock is"},
        {"weir-trace 1 keys=plain\n0 0 0 r kx 1 a\nclock 1\n", "line 3: a clock is"},
        {"weir-trace 1 keys=plain\nsalt 0000\n", "line 2: a salt is four hexadecimal digits"},
        {"weir-trace 1 keys=hashed\nsalt 000\n", "line 2: a salt is"},
        {"weir-trace 1 keys=hashed\nsalt 000g\n", "line 2: a salt is"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct trace_record r;
        struct buffer error = {0};
        write_trace(cases[i].text);
        struct trace_file t = open_trace(NULL);
        while (trace_file_next(&t, &r))
            ;
        assert_int_equal(trace_file_error(&t, &error), STATUS_MALFORMED);
        if (memmem(error.data, error.size, cases[i].error, strlen(cases[i].error)) == NULL)
            fail_msg("`%s`: %.*s", cases[i].text, TEXT_OF(error));
        trace_file_close(&t);
        buffer_deinit(&error);
    }
    unlink(path);
}
