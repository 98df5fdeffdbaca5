/* faults_test.c - the admin port for faults: what it understands, does, and says. */
#include "host/connection.h"
#include "tests/check.h"

#include <errno.h>

#include "server/host/faults.h"

static void ignore_frame(void *context, const struct link_peer *from, struct slice bytes)
{
    (void)context;
    (void)from;
    (void)bytes;
}

static const struct transport_handler ignoring = {.frame = ignore_frame};

struct fixture {
    struct loop *loop;
    struct transport *transport;
    struct faults *faults;
    struct buffer answers; /* of the port */
    bool closed;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct buffer error = {0};
    assert_non_null(f);
    assert_int_equal(loop_create(&f->loop), STATUS_OK);
    struct transport_options options = {
        .loop = f->loop, .self = {.kind = PEER_NODE, .id = 1}, .handler = &ignoring};
    f->transport = transport_create(&options);
    assert_int_equal(faults_open(f->loop, f->transport, 0, &error, &f->faults), STATUS_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    faults_close(f->faults);
    transport_destroy(f->transport);
    loop_destroy(f->loop);
    buffer_deinit(&f->answers);
    free(f);
    return 0;
}

FIXTURE(set_up, tear_down)

static void expect(struct fixture *f, const char *line, const char *expected)
{
    struct fault_command c;
    struct buffer answer = {0}, error = {0};
    if (fault_command_parse(slice_of(line), &c, &error) == STATUS_OK)
        fault_command_apply(&c, f->loop, f->transport, &answer);
    else
        buffer_append_slice(&answer, buffer_slice(&error));
    assert_slice_is(buffer_slice(&answer), expected);
    buffer_deinit(&answer);
    buffer_deinit(&error);
}

TEST(commands_are_done_and_reported)
{
    struct fixture *f = *state;
    expect(f, "status", "ok: no faults");
    expect(f, "cut node 2 in", "ok");
    expect(f, "cut node 2 out", "ok");
    expect(f, "cut router 1 in", "ok");
    expect(f, "delay node 3 250", "ok");
    expect(f, "disk slow 20", "ok");
    expect(f, "processor slow 700", "ok");
    expect(f, "  disk   full ", "ok");
    expect(f, "disk fail", "ok");
    expect(f, "skew -500", "ok");
    expect(f, "drift 200", "ok");
    expect(f, "status",
           "ok: node 2 cut both; router 1 cut in; node 3 delay 250 ms; disk slow 20 ms; processor "
           "slow 700 us; disk fail; disk full; skew -500 ms; drift 200 ppm;");
    assert_int_equal(loop_faults(f->loop)->write_error, EIO);
    expect(f, "disk ok", "ok");
    expect(f, "status",
           "ok: node 2 cut both; router 1 cut in; node 3 delay 250 ms; processor slow 700 us; "
           "skew -500 ms; drift 200 ppm;");
    expect(f, "heal", "ok");
    expect(f, "status", "ok: no faults");
}

TEST(what_it_does_not_understand_it_refuses_with_what_it_expects)
{
    struct fixture *f = *state;
    static const char *const nonsense[] = {"",           " ",       "brek",       "cut node 2",
                                           "cut",        "disk",    "disk slow",  "disk slow 1 2",
                                           "status now", "disk on", "a b c d e f"};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++)
        expect(f, nonsense[i],
               "expected cut KIND ID in|out|both; delay KIND ID MS; heal; disk slow MS | fail | "
               "full | ok; processor slow US; skew MS; drift PPM; status");
    expect(f, "cut host 2 in", "expected a KIND: node, router, gac or tool");
    expect(f, "cut node x in", "expected an ID: a number up to 65535");
    expect(f, "cut node -1 in", "expected an ID: a number up to 65535");
    expect(f, "cut node 2 up", "expected in, out or both");
    expect(f, "delay node 2 60001", "expected MS: 0 to 60000");
    expect(f, "disk slow 99999999999999999999", "expected MS: 0 to 60000");
    expect(f, "processor slow -1", "expected US: 0 to 1000000");
    expect(f, "skew 1h", "expected MS: -3600000 to 3600000");
    expect(f, "drift 500001", "expected PPM: -500000 to 500000");
    expect(f, "status", "ok: no faults");
}

TEST(rules_are_bounded)
{
    struct fixture *f = *state;
    char line[64];
    for (int i = 0; i < LINK_RULES_MAX; i++) {
        snprintf(line, sizeof line, "cut node %d both", i);
        expect(f, line, "ok");
    }
    expect(f, "cut router 1 both", "error: 256 rules exist already: heal first");
    expect(f, "cut node 5 in", "ok");
}

/* ---- over the port ---- */

static void on_received(void *context, struct connection *c, struct slice bytes)
{
    (void)c;
    buffer_append_slice(&((struct fixture *)context)->answers, bytes);
}

static void on_closed(void *context, struct connection *c, int error)
{
    (void)c;
    (void)error;
    ((struct fixture *)context)->closed = true;
}

static const struct connection_handler client = {.received = on_received, .closed = on_closed};

static void turn(struct fixture *f)
{
    assert_int_equal(loop_turn(f->loop, instant_add(loop_now(f->loop), duration_ms(1000))),
                     STATUS_OK);
}

TEST(a_line_gets_a_line_and_too_long_a_one_the_end)
{
    struct fixture *f = *state;
    struct connection *c;
    char text[FAULTS_LINE_SIZE_MAX + 2];
    assert_int_equal(loop_connect(f->loop, "127.0.0.1", faults_port(f->faults), &client, f, &c),
                     STATUS_OK);
    connection_send(c, slice_of("cut node 2 in\r\nsta"));
    connection_send(c, slice_of("tus\n"));
    static const char expected[] = "ok\nok: node 2 cut in;\n";
    while (f->answers.size < sizeof expected - 1)
        turn(f);
    assert_slice_is(buffer_slice(&f->answers), expected);
    memset(text, 'x', sizeof text);
    connection_send(c, slice_make(text, sizeof text));
    while (!f->closed)
        turn(f);
    assert_slice_is(
        slice_make(f->answers.data + sizeof expected - 1, f->answers.size - sizeof expected + 1),
        "error: the line is too long\n");
}

/* The lines of a request over HTTP's body might be commands. */
TEST(a_peer_with_another_protocol_is_closed_early)
{
    struct fixture *f = *state;
    static const char *const others[] = {"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\ndisk fail\n",
                                         "\ndisk fail\n", "status\nbreak\ndisk fail\nstatus\n"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct connection *c;
        f->closed = false;
        buffer_clear(&f->answers);
        assert_int_equal(loop_connect(f->loop, "127.0.0.1", faults_port(f->faults), &client, f, &c),
                         STATUS_OK);
        connection_send(c, slice_of(others[i]));
        while (!f->closed)
            turn(f);
        buffer_append_u8(&f->answers, 0);
        assert_non_null(strstr((const char *)f->answers.data, "error: expected cut"));
        assert_true(loop_faults(f->loop)->writes_until_failure < 0);
    }
}
