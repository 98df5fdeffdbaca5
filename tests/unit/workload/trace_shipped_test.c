/* Traces that come with weir are read by their names, as files are. */
#include "base/instant.h"
#include "tests/check.h"
#include "workload/trace_file.h"
#include "workload/trace_shipped.h"

static const char cache[] = "weir:cache";

TEST(a_shipped_trace_is_read_to_its_end)
{
    struct trace_file t;
    struct trace_record r;
    struct buffer error = {0};
    int64_t last_ns = 0, writes = 0;
    assert_int_equal(trace_file_open(&t, cache, NULL, &error), STATUS_OK);
    while (trace_file_next(&t, &r)) {
        assert_true(r.at_ns >= last_ns);
        last_ns = r.at_ns;
        writes += traffic_kind_writes(r.kind);
    }
    assert_int_equal(trace_file_error(&t, &error), STATUS_OK);
    assert_int_equal(t.records, 8000);
    assert_int_equal(writes, 999);
    assert_int_equal(last_ns / NS_PER_S, 40);
    trace_file_close(&t);
    buffer_deinit(&error);
}

static void assert_try(const char *path, const char *table, const char *fault)
{
    struct buffer error = {0};
    assert_int_equal(trace_file_try(path, table, &error) == STATUS_OK, fault == NULL);
    assert_slice_is(buffer_slice(&error), fault == NULL ? "" : fault);
    buffer_deinit(&error);
}

TEST(a_shipped_trace_is_tried_before_the_run)
{
    assert_try(cache, NULL, NULL);
    assert_try(cache, "cache", NULL);
    assert_try(cache, "other", "weir:cache: no request is for table other");
}

TEST(a_trace_that_weir_does_not_have_is_named)
{
    assert_try("weir:cash", NULL, "there is no trace `weir:cash`: weir has weir:cache");
    assert_try("weir:", NULL, "there is no trace `weir:`: weir has weir:cache");
}

TEST(only_the_prefix_makes_a_path_the_name_of_a_shipped_trace)
{
    assert_true(trace_is_shipped("weir:x"));
    assert_false(trace_is_shipped("./weir:x"));
    assert_false(trace_is_shipped("weir"));
}
