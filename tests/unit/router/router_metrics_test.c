/* router_metrics_test.c - GET /metrics: what a router has counted. */
#include "tests/check.h"

#include "router/core/request_metrics.h"
#include "tests/support/expect.h"

static struct fake_cluster f;

static const char PUT[] = "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"some\"}}}";

static int start(UNUSED void **state)
{
    fake_init(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    fake_start(&f);
    fake_open(&f, 1);
    return 0;
}

static int stop(UNUSED void **state)
{
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static struct fake_answer get(const char *lines)
{
    char text[300];
    snprintf(text, sizeof text, "GET /metrics HTTP/1.1\r\nHost: h\r\n%s\r\n", lines);
    fake_send_text(&f, 1, text);
    return fake_take_answer(&f, 1);
}

static void assert_has(struct fake_answer a, const char *line)
{
    if (memmem(a.body.data, a.body.size, line, strlen(line)) == NULL)
        fail_msg("no %s in\n%.*s", line, TEXT_OF(a.body));
}

static void refuse_next(enum reply_code code, enum admit_reason reason)
{
    f.fail_code = code;
    f.fail_reason = reason;
    f.fail_count = 1;
}

TEST(answers_are_counted_by_their_outcome)
{
    fake_call(&f, "PutItem", PUT);
    fake_call(&f, "PutItem", "{\"TableName\":\"users\",\"Item\":{}}");
    refuse_next(REPLY_THROTTLED, ADMIT_REFUSED_KEY_RANGE);
    fake_call(&f, "PutItem", PUT);
    refuse_next(REPLY_CONDITION_FAILED, ADMIT_OK);
    fake_call(&f, "PutItem", PUT);
    refuse_next(REPLY_LOCKED, ADMIT_OK);
    fake_call(&f, "PutItem", PUT);
    refuse_next(REPLY_OVERLOADED, ADMIT_REFUSED_OVERLOAD);
    fake_call(&f, "PutItem", PUT);
    refuse_next(REPLY_CORRUPT, ADMIT_OK);
    fake_call(&f, "PutItem", PUT);
    const struct fake_answer page = get("");
    for (enum request_outcome k = 0; k < OUTCOMES; k++) {
        char line[100];
        snprintf(line, sizeof line,
                 "\nweir_requests_total{operation=\"PutItem\",outcome=\"%s\"} 1\n",
                 request_outcome_name(k));
        assert_has(page, line);
    }
    assert_has(page, "\nweir_request_duration_seconds_count{operation=\"PutItem\"} 7\n");
    assert_has(page, "weir_request_duration_seconds_bucket{operation=\"PutItem\",le=\"1.0\"} 7\n");
}

TEST(refusals_are_counted_by_table_and_reason)
{
    for (enum admit_reason k = ADMIT_REFUSED_KEY_RANGE; k <= ADMIT_REFUSED_MEMBER; k++) {
        char line[200];
        refuse_next(REPLY_THROTTLED, k);
        fake_call(&f, "PutItem", PUT);
        snprintf(line, sizeof line,
                 "\nweir_table_refused_total{table=\"users\",index=\"\",kind=\"write\","
                 "reason=\"%s\"} 1\n",
                 admit_reason_name(k));
        assert_has(get(""), line);
    }
    assert_has(get(""), "\nweir_table_refused_units_total{table=\"users\",index=\"\","
                        "kind=\"write\"} 4\n");
}

TEST(more_tables_than_have_counts_are_one_and_no_count_falls)
{
    struct router *r = f.router;
    for (uint32_t i = 0; i < METRIC_TABLES + 7; i++) {
        char name[20];
        struct subrequest s = {.request.op = REQUEST_GET};
        struct route route = {.table.id = 1000 + i};
        const struct reply reply = {.code = REPLY_OK, .consumed_mcu = 1000};
        snprintf(name, sizeof name, "t%u", i);
        route.table.name = slice_of(name);
        s.route = &route;
        request_metrics_note_reply(r, &s, &reply);
    }
    const struct fake_answer page = get("");
    assert_has(page, "\nweir_metrics_series_dropped{family=\"weir_table\"} 7\n");
    assert_has(page, "\nweir_table_consumed_units_total{table=\"\",index=\"\",kind=\"read\"} 7\n");
}

TEST(a_table_that_is_created_again_goes_on_with_its_counts)
{
    const struct reply reply = {.code = REPLY_OK, .consumed_mcu = 1500};
    for (uint32_t id = 1; id <= 2; id++) {
        struct route route = {.table = {.id = id, .name = slice_of("again/by-kind")}};
        struct subrequest s = {.request.op = REQUEST_GET, .route = &route};
        request_metrics_note_reply(f.router, &s, &reply);
    }
    assert_has(get(""), "\nweir_table_consumed_units_total{table=\"again\",index=\"by-kind\","
                        "kind=\"read\"} 3\n");
}

TEST(open_metrics_name_families_without_total_and_end)
{
    fake_call(&f, "PutItem", PUT);
    const struct fake_answer page = get("Accept: application/openmetrics-text;version=1.0.0\r\n");
    assert_has(page, "# TYPE weir_requests counter\n");
    assert_has(page, "weir_requests_total{operation=\"PutItem\",outcome=\"ok\"} 1\n");
    assert_memory_equal(page.body.data + page.body.size - 6, "# EOF\n", 6);
    assert_true(slice_is(fake_header(page, "Content-Type"),
                         "application/openmetrics-text; version=1.0.0; charset=utf-8"));
    assert_has(get(""), "# TYPE weir_requests_total counter\n");
}
