/* load_run_test.c - whole runs against a server in another thread, which answers as told. */
#include "tests/check.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/must.h"
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
    bool silent;
    int refuse_every; /* 0: never */
    int close_every;  /* 0: never: closes instead of answering */
    int64_t stall_ns; /* once, from stall_after requests on */
    int64_t stall_after;
    /* its state */
    int64_t requests;
    struct instant stalled_until;
    uint64_t kept[KEPT_MAX];
    int kept_count;
};

static const char ok_answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
static const char refusal[] =
    "HTTP/1.1 400 Bad Request\r\nContent-Length: 125\r\n\r\n"
    "{\"__type\":\"x#ProvisionedThroughputExceededException\",\"ThrottlingReasons\":"
    "[{\"reason\":\"TableWriteKeyRangeThroughputExceeded\"}]}";

static void answer_one(struct server *s, struct connection *c)
{
    s->requests++;
    if (s->silent)
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
    bool refused = s->refuse_every && s->requests % s->refuse_every == 0;
    connection_send(c, slice_of(refused ? refusal : ok_answer));
}

/* A request is small and comes whole: one begins with each "POST ". */
static void on_received(void *context, struct connection *c, struct slice bytes)
{
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

static struct load_run *run_against(struct server *s, const char *workload, FILE *history)
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
    assert_int_equal(load_options_parse(&options, other_url[0] ? 7 : 5, argv, &error), STATUS_OK);
    struct load_run_options o = {
        .load = &options, .workloads = options.workloads, .workload_count = 1, .history = history};
    struct load_run *run = NULL;
    assert_int_equal(load_run(&o, &run, &error), STATUS_OK);
    s->stopping = true;
    pthread_join(s->thread, NULL);
    pthread_barrier_destroy(&s->started);
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
    assert_int_equal(r->offered,
                     r->admitted + r->refused + r->failed + r->client_overrun + r->unfinished);
    int64_t offered = 0; /* the last second is among them, too */
    for (int64_t i = 0; i < r->second_count; i++)
        offered += r->seconds[i].offered;
    assert_int_equal(offered, r->offered);
}

static void constant_arrivals_are_exactly_as_many_as_asked_for(void **state)
{
    (void)state;
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

static void connections_to_a_router_that_is_down_move_to_the_next(void **state)
{
    (void)state;
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

static void a_stall_of_the_server_is_seen_by_every_request_that_was_due_in_it(void **state)
{
    (void)state;
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

static void what_exceeds_the_outstanding_limit_is_counted_and_not_queued(void **state)
{
    (void)state;
    struct server s = {.silent = true};
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

static void refusals_are_counted_by_reason(void **state)
{
    (void)state;
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

static void a_closed_loop_has_just_as_many_on_their_way(void **state)
{
    (void)state;
    struct server s = {.silent = true};
    struct load_run *run =
        run_against(&s, "a:rate=max,concurrency=7,connections=20,duration=100ms", NULL);
    const struct load_result *r = run->results[0].result;
    assert_int_equal(r->sent, 7);
    assert_int_equal(r->unfinished, 7);
    check_sum(r);
    load_run_destroy(run);
}

static void lost_connections_fail_their_requests_and_come_back(void **state)
{
    (void)state;
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

static void a_history_has_an_invocation_and_one_outcome_for_every_operation(void **state)
{
    (void)state;
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

static void a_server_that_is_not_there_is_an_error_with_its_address(void **state)
{
    (void)state;
    struct buffer error = {0};
    char *argv[] = {(char[]){"load"}, (char[]){"--url"}, (char[]){"http://127.0.0.1:1"}};
    assert_int_equal(load_options_parse(&options, 3, argv, &error), STATUS_OK);
    struct load_run_options o = {
        .load = &options, .workloads = options.workloads, .workload_count = 1};
    struct load_run *run = NULL;
    assert_int_equal(load_run(&o, &run, &error), STATUS_IO);
    assert_slice_is(buffer_slice(&error), "cannot connect to 127.0.0.1:1: Connection refused");
    buffer_deinit(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_arrivals_are_exactly_as_many_as_asked_for),
        cmocka_unit_test(connections_to_a_router_that_is_down_move_to_the_next),
        cmocka_unit_test(a_stall_of_the_server_is_seen_by_every_request_that_was_due_in_it),
        cmocka_unit_test(what_exceeds_the_outstanding_limit_is_counted_and_not_queued),
        cmocka_unit_test(refusals_are_counted_by_reason),
        cmocka_unit_test(a_closed_loop_has_just_as_many_on_their_way),
        cmocka_unit_test(lost_connections_fail_their_requests_and_come_back),
        cmocka_unit_test(a_history_has_an_invocation_and_one_outcome_for_every_operation),
        cmocka_unit_test(a_server_that_is_not_there_is_an_error_with_its_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
