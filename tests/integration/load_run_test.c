/* load_run_test.c - whole runs against a server in another thread, which answers as told. */
#include "host/connection.h"
#include "tests/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/must.h"
#include "tests/temporary.h"
#include "workload/load_run.h"

enum {
    KEPT_MAX = 4096 /* requests held back during a stall */
};

struct server {
    struct loop *loop;
    pthread_t thread;
    uint16_t port;
    pthread_barrier_t started;
    atomic_bool stopping;
    /* how it answers */
    bool unresponsive;
    int refuse_every; /* 0: never */
    int refuse_first; /* so many, at the beginning */
    int close_every;  /* 0: never: closes instead of answering */
    int64_t stall_ns; /* once, from stall_after requests on */
    int64_t stall_after;
    /* its state */
    int64_t requests;
    struct instant stalled_until;
    uint64_t kept[KEPT_MAX];
    int kept_count;
    const char *counted; /* a text of requests, each of which comes whole */
    int64_t with_text;   /* so many held it */
};

static const char ok_answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
static const char refusal[] =
    "HTTP/1.1 400 Bad Request\r\nContent-Length: 125\r\n\r\n"
    "{\"__type\":\"x#ProvisionedThroughputExceededException\",\"ThrottlingReasons\":"
    "[{\"reason\":\"TableWriteKeyRangeThroughputExceeded\"}]}";

static void answer_one(struct server *s, struct connection *c)
{
    s->requests++;
    if (s->unresponsive)
        return;
    if (s->close_every && s->requests % s->close_every == 0) {
        connection_abort(c);
        return;
    }
    if (s->stall_ns && s->requests == s->stall_after)
        s->stalled_until = instant_add(loop_now(s->loop), (struct duration){s->stall_ns});
    if (instant_before(loop_now(s->loop), s->stalled_until)) {
        must(s->kept_count < KEPT_MAX);
        s->kept[s->kept_count++] = connection_id(c);
        return;
    }
    bool refused =
        (s->refuse_every && s->requests % s->refuse_every == 0) || s->requests <= s->refuse_first;
    connection_send(c, slice_of(refused ? refusal : ok_answer));
}

/* A request is small and comes whole: one begins with each "POST ". */
static void on_received(void *context, struct connection *c, struct slice bytes)
{
    struct server *s = context;
    if (s->counted != NULL && memmem(bytes.data, bytes.size, s->counted, strlen(s->counted)))
        s->with_text++;
    while (bytes.size > 0) {
        const uint8_t *at = memmem(bytes.data, bytes.size, "POST ", 5);
        if (at == NULL)
            return;
        answer_one(context, c);
        bytes = slice_make(at + 5, bytes.size - (size_t)(at + 5 - bytes.data));
    }
}

static const struct connection_handler handler = {.received = on_received};

static void end_stall(struct server *s)
{
    if (instant_before(loop_now(s->loop), s->stalled_until))
        return;
    for (int i = 0; i < s->kept_count; i++) {
        struct connection *c = loop_connection(s->loop, s->kept[i]);
        if (c != NULL)
            connection_send(c, slice_of(ok_answer));
    }
    s->kept_count = 0;
}

static void *serve(void *argument)
{
    struct server *s = argument;
    struct listener *li = NULL;
    must(loop_create(&s->loop) == STATUS_OK);
    must(loop_listen(s->loop, "127.0.0.1", 0, 1000, &handler, s, &li) == STATUS_OK);
    s->port = listener_port(li);
    pthread_barrier_wait(&s->started);
    while (!s->stopping) {
        must(loop_turn(s->loop, instant_add(loop_now(s->loop), duration_ms(5))) == STATUS_OK);
        end_stall(s);
    }
    loop_destroy(s->loop);
    return NULL;
}

static struct load_options options;
static char other_url[64]; /* half of the connections begin there; empty: none */

/* Starts the server, and has `options` for a workload against it. */
static void start_server(struct server *s, const char *workload)
{
    struct buffer error = {0};
    char url[64];
    pthread_barrier_init(&s->started, NULL, 2);
    must(pthread_create(&s->thread, NULL, serve, s) == 0);
    pthread_barrier_wait(&s->started);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", s->port);
    char *argv[] = {(char[]){"load"},
                    (char[]){"--url"},
                    url,
                    (char[]){"--workload"},
                    (char *)(uintptr_t)workload,
                    (char[]){"--url"},
                    other_url};
    assert_int_equal(load_options_parse(&options, other_url[0] ? 7 : 5, argv, NULL, &error),
                     STATUS_OK);
    buffer_deinit(&error);
}

static void stop_server(struct server *s)
{
    s->stopping = true;
    pthread_join(s->thread, NULL);
    pthread_barrier_destroy(&s->started);
}

static struct load_run *run_against(struct server *s, const char *workload, FILE *history)
{
    struct buffer error = {0};
    start_server(s, workload);
    struct load_run_options o = {
        .load = &options, .workloads = options.workloads, .workload_count = 1, .history = history};
    struct load_run *run = NULL;
    assert_int_equal(load_run(&o, &run, &error), STATUS_OK);
    stop_server(s);
    buffer_deinit(&error);
    return run;
}

/* A port on which nobody listens. */
static uint16_t closed_port(void)
{
    struct loop *l;
    struct listener *li;
    must(loop_create(&l) == STATUS_OK);
    must(loop_listen(l, "127.0.0.1", 0, 1, &handler, NULL, &li) == STATUS_OK);
    uint16_t port = listener_port(li);
    loop_destroy(l);
    return port;
}

static void check_sum(const struct load_result *r)
{
    assert_int_equal(r->offered, r->admitted + r->refused + r->failed + r->client_overrun +
                                     r->client_rejected + r->unfinished);
    int64_t offered = 0; /* the last second is among them, too */
    for (int64_t i = 0; i < r->second_count; i++)
        offered += r->seconds[i].offered;
    assert_int_equal(offered, r->offered);
}

TEST(constant_arrivals_are_exactly_as_many_as_requested)
{
    struct server s = {0};
    struct load_run *run =
        run_against(&s, "a:rate=2000,arrival=constant,duration=1s,connections=4", NULL);
    const struct load_result *r = run->results[0].result;
    assert_int_equal(r->offered, 2000);
    assert_int_equal(r->admitted, 2000);
    assert_int_equal(s.requests, 2000);
    check_sum(r);
    load_run_destroy(run);
}

TEST(connections_to_a_router_that_is_down_move_to_the_next)
{
    struct server s = {0};
    snprintf(other_url, sizeof other_url, "http://127.0.0.1:%u", closed_port());
    struct load_run *run =
        run_against(&s, "a:rate=2000,arrival=constant,duration=1s,connections=4", NULL);
    other_url[0] = 0;
    const struct load_result *r = run->results[0].result;
    assert_int_equal(r->admitted, 2000);
    check_sum(r);
    load_run_destroy(run);
}

TEST(a_stall_of_the_server_is_seen_by_every_request_that_was_due_in_it)
{
    struct server s = {.stall_ns = 400 * NS_PER_MS, .stall_after = 500};
    struct load_run *run =
        run_against(&s, "a:rate=1000,arrival=constant,duration=1500ms,connections=2", NULL);
    const struct load_result *r = run->results[0].result;
    check_sum(r);
    assert_int_equal(r->admitted, 1500);
    /* 400 requests were due in the stall, evenly: half of them saw more than half of it. With two
     * connections, a generator that waits for answers would have seen two slow ones. */
    int64_t slow = 0;
    for (uint32_t p = 0; p < HISTOGRAM_WHOLE; p += 100)
        slow += histogram_percentile(&r->latency_admitted, p) > 200 * NS_PER_MS;
    assert_true(slow * 1500 / 1000 >= 180);
    assert_true(r->latency_admitted.max >= 380 * NS_PER_MS);
    load_run_destroy(run);
}

TEST(what_exceeds_the_outstanding_limit_is_counted_and_not_queued)
{
    struct server s = {.unresponsive = true};
    struct load_run *run = run_against(
        &s, "a:rate=1000,arrival=constant,duration=300ms,outstanding=10,connections=4", NULL);
    const struct load_result *r = run->results[0].result;
    assert_int_equal(r->offered, 300);
    assert_int_equal(r->client_overrun, 290);
    assert_int_equal(r->unfinished, 10);
    assert_int_equal(r->sent, 4);
    check_sum(r);
    load_run_destroy(run);
}

TEST(refusals_are_counted_by_reason)
{
    struct server s = {.refuse_every = 4};
    struct load_run *run =
        run_against(&s, "a:rate=1000,arrival=constant,duration=400ms,pipeline=4", NULL);
    const struct load_result *r = run->results[0].result;
    assert_int_equal(r->refused, 100);
    assert_int_equal(r->reasons.used, 1);
    assert_string_equal(r->reasons.entries[0].text, "TableWriteKeyRangeThroughputExceeded");
    assert_int_equal(r->reasons.entries[0].count, 100);
    check_sum(r);
    load_run_destroy(run);
}

TEST(a_closed_loop_has_just_as_many_on_their_way)
{
    struct server s = {.unresponsive = true};
    struct load_run *run =
        run_against(&s, "a:rate=max,concurrency=7,connections=20,duration=100ms", NULL);
    const struct load_result *r = run->results[0].result;
    assert_int_equal(r->sent, 7);
    assert_int_equal(r->unfinished, 7);
    check_sum(r);
    load_run_destroy(run);
}

TEST(clients_that_think_send_as_often_as_thinking_lets_them)
{
    struct server s = {0};
    struct load_run *run = run_against(&s, "a:rate=closed:5:50,connections=5,duration=1s", NULL);
    const struct load_result *r = run->results[0].result;
    /* At most one each 50 ms and client, the first one at once. A busy machine sends fewer. */
    assert_in_range(r->offered, 10, 100);
    assert_int_equal(r->admitted, r->offered);
    check_sum(r);
    load_run_destroy(run);
}

TEST(each_half_of_a_read_modify_write_is_sent_and_the_whole_counts_once)
{
    struct server s = {.counted = "DynamoDB_20120810.PutItem"};
    struct load_run *run = run_against(
        &s, "a:rate=1000,arrival=constant,mix=read-modify-write:1,duration=300ms", NULL);
    const struct load_result *r = run->results[0].result;
    assert_int_equal(r->offered, 300);
    assert_int_equal(r->admitted, 300);
    assert_int_equal(r->writes_admitted, 300);
    assert_int_equal(r->sent, 600);
    assert_int_equal(s.requests, 600);
    assert_int_equal(s.with_text, 300);
    check_sum(r);
    load_run_destroy(run);
}

TEST(a_retry_model_repeats_what_was_refused_until_it_gives_up)
{
    struct server s = {.refuse_every = 1};
    struct load_run *run = run_against(
        &s, "a:rate=100,arrival=constant,duration=200ms,retry=legacy:3,pipeline=4", NULL);
    const struct load_result *r = run->results[0].result;
    assert_int_equal(r->offered, 20);
    assert_int_equal(r->refused, 20);
    assert_int_equal(r->sent, 60);
    assert_int_equal(r->retries, 40);
    assert_int_equal(r->gave_up_attempts, 20);
    assert_int_equal(s.requests, 60);
    /* 50 ms and 100 ms of back-off are a part of the latency. */
    assert_true(r->latency_refused.min >= 150 * NS_PER_MS);
    check_sum(r);
    load_run_destroy(run);
}

TEST(a_request_that_was_refused_once_is_admitted_by_its_retry)
{
    struct server s = {.refuse_first = 10};
    struct load_run *run =
        run_against(&s, "a:rate=200,arrival=constant,duration=200ms,retry=legacy", NULL);
    const struct load_result *r = run->results[0].result;
    assert_int_equal(r->admitted, 40);
    assert_true(r->retries == 10 && r->sent == 50);
    check_sum(r);
    load_run_destroy(run);
}

TEST(a_client_that_throttles_itself_counts_what_it_does_not_send)
{
    struct server s = {.refuse_every = 1};
    struct load_run *run = run_against(
        &s, "a:rate=2000,arrival=constant,duration=500ms,retry=sre-throttle,pipeline=8", NULL);
    const struct load_result *r = run->results[0].result;
    assert_int_equal(r->offered, 1000);
    assert_true(r->client_rejected > 500);
    check_sum(r);
    load_run_destroy(run);
}

static char trace_path[TEMPORARY_NAME_MAX];

/* Records what a workload does, and returns the run. */
static struct load_run *record_run(struct server *s, const char *workload)
{
    struct buffer error = {0};
    struct load_run *run = NULL;
    temporary_name(trace_path, "record");
    FILE *f = fopen(trace_path, "w");
    assert_non_null(f);
    start_server(s, workload);
    struct load_run_options o = {
        .load = &options, .workloads = options.workloads, .workload_count = 1, .record = f};
    assert_int_equal(load_run(&o, &run, &error), STATUS_OK);
    stop_server(s);
    fclose(f);
    buffer_deinit(&error);
    return run;
}

TEST(a_recording_replays_as_the_same_requests_at_the_same_times)
{
    struct server s = {.refuse_every = 4}, again = {.refuse_every = 4};
    char replay[TEMPORARY_NAME_MAX + 64];
    struct load_run *run =
        record_run(&s, "orders:table=orders,rate=1000,duration=400ms,mix=read:0.5:update:0.3:"
                       "delete:0.1:scan:0.1:eventual:0.5,item-bytes=uniform:50:900");
    int64_t offered = run->results[0].result->offered, refused = run->results[0].result->refused;
    assert_true(offered > 250 && refused > 50);
    load_run_destroy(run);
    struct buffer error = {0};
    struct trace_file a;
    struct trace_record r;
    int64_t outcomes[TRACE_OUTCOMES] = {0};
    assert_int_equal(trace_file_open(&a, trace_path, "orders", &error), STATUS_OK);
    while (trace_file_next(&a, &r))
        outcomes[r.outcome]++;
    assert_int_equal(a.records, offered);
    assert_int_equal(outcomes[TRACE_THROTTLED], refused);
    assert_int_equal(outcomes[TRACE_ADMITTED], offered - refused);
    trace_file_close(&a);
    snprintf(replay, sizeof replay, "b:table=orders,replay=%s", trace_path);
    run = run_against(&again, replay, NULL);
    const struct load_result *result = run->results[0].result;
    assert_int_equal(result->offered, offered);
    assert_int_equal(result->refused, refused);
    /* The run ends with the trace, not after 10 s; and not before the last request was due. */
    assert_in_range(result->elapsed_ns, 350 * NS_PER_MS, 5 * NS_PER_S);
    check_sum(result);
    load_run_destroy(run);
    unlink(trace_path);
    buffer_deinit(&error);
}

TEST(a_trace_of_other_tables_or_no_trace_is_an_error)
{
    static const struct {
        const char *text, *error;
    } cases[] = {{"weir-trace 1 keys=plain\ntable 0 other\n0 0 0 r kx 1 a\n",
                  ": no request is for table load"},
                 {"nonsense\n", ": line 1: expected seconds,key"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct server s = {0};
        struct buffer error = {0};
        struct load_run *run = NULL;
        char replay[TEMPORARY_NAME_MAX + 64];
        temporary_name(trace_path, "record");
        FILE *f = fopen(trace_path, "w");
        fputs(cases[i].text, f);
        fclose(f);
        snprintf(replay, sizeof replay, "a:replay=%s", trace_path);
        start_server(&s, replay);
        struct load_run_options o = {
            .load = &options, .workloads = options.workloads, .workload_count = 1};
        assert_int_equal(load_run(&o, &run, &error), STATUS_MALFORMED);
        assert_non_null(memmem(error.data, error.size, cases[i].error, strlen(cases[i].error)));
        stop_server(&s);
        unlink(trace_path);
        buffer_deinit(&error);
    }
}

TEST(lost_connections_fail_their_requests_and_come_back)
{
    struct server s = {.close_every = 50};
    struct load_run *run =
        run_against(&s, "a:rate=2000,arrival=constant,duration=500ms,connections=8", NULL);
    const struct load_result *r = run->results[0].result;
    assert_true(r->failed >= 10);
    assert_true(r->admitted >= 900);
    assert_string_equal(r->errors.entries[0].text, "connection-lost");
    check_sum(r);
    load_run_destroy(run);
}

TEST(a_history_has_an_invocation_and_one_outcome_for_every_operation)
{
    struct server s = {.close_every = 50, .refuse_every = 3};
    char *text = NULL;
    size_t size = 0;
    FILE *history = open_memstream(&text, &size);
    struct load_run *run = run_against(
        &s, "a:rate=1000,arrival=constant,duration=400ms,read-ratio=0.5,keys=5", history);
    fclose(history);
    static int invoked[2000], returned[2000];
    int lines = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL && *line; lines++) {
        int op = atoi(line + strlen("{\"op\":"));
        assert_in_range(op, 1, 1999);
        bool invoke = strstr(line, "\"type\":\"invoke\"") != NULL;
        assert_int_equal(invoked[op], !invoke);
        assert_int_equal(returned[op], 0);
        (invoke ? invoked : returned)[op]++;
        assert_true(line[strlen(line) - 1] == '}');
    }
    assert_int_equal(lines, 2 * run->results[0].result->sent);
    load_run_destroy(run);
    free(text);
}

TEST(a_server_that_is_not_there_is_an_error_with_its_address)
{
    struct buffer error = {0};
    char *argv[] = {(char[]){"load"}, (char[]){"--url"}, (char[]){"http://127.0.0.1:1"}};
    assert_int_equal(load_options_parse(&options, 3, argv, NULL, &error), STATUS_OK);
    struct load_run_options o = {
        .load = &options, .workloads = options.workloads, .workload_count = 1};
    struct load_run *run = NULL;
    assert_int_equal(load_run(&o, &run, &error), STATUS_IO);
    assert_slice_is(buffer_slice(&error), "cannot connect to 127.0.0.1:1: Connection refused");
    buffer_deinit(&error);
}

TEST(a_preload_of_a_collection_writes_each_of_its_items_once)
{
    struct server s = {.counted = "\"Item\":{\"pk\":{\"S\":\"acme\"},\"sk\":{\"S\":\"key-00000000"};
    struct buffer error = {0};
    uint64_t next_number;
    start_server(
        &s, "a:sort-key=sk,distribution=collection:acme,keys=40,condition=attribute_exists(pk)");
    struct load_run_options o = {
        .load = &options, .workloads = options.workloads, .workload_count = 1};
    assert_int_equal(load_preload(&o, &next_number, &error), STATUS_OK);
    stop_server(&s);
    assert_int_equal(s.requests, 40);
    assert_int_equal(s.with_text, 40);
    assert_int_equal(next_number, 41);
    buffer_deinit(&error);
}
