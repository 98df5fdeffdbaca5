/* loop_test.c - the loop against itself and against blocking sockets that misbehave. */
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/must.h"
#include "host/address.h"
#include "host/connection.h"
#include "host/loop.h"
#include "tests/check.h"

enum {
    TIMEOUT_S = 60,
    TRANSFER_SIZE = 24 * 1024 * 1024,
    SENT_AHEAD_MAX = 256 * 1024
};

/* Both ends of a test: it counts what happens to it. */
struct side {
    struct loop *loop;
    int64_t opened, closed, ended, received_bytes;
    int last_error;
    bool echo;
    bool close_after_echo;
    struct connection *last;
    struct buffer kept;
    bool keep;
};

static void on_opened(void *context, struct connection *c)
{
    struct side *s = context;
    s->opened++;
    s->last = c;
}

static void on_received(void *context, struct connection *c, struct slice bytes)
{
    struct side *s = context;
    s->received_bytes += (int64_t)bytes.size;
    if (s->keep)
        buffer_append_slice(&s->kept, bytes);
    if (s->echo)
        connection_send(c, bytes);
    if (s->close_after_echo)
        connection_close(c);
}

static void on_closed(void *context, struct connection *c, int error)
{
    struct side *s = context;
    s->closed++;
    s->last_error = error;
    if (s->last == c)
        s->last = NULL;
}

static const struct connection_handler handler = {
    .opened = on_opened, .received = on_received, .closed = on_closed};

struct pair {
    struct loop *loop;
    struct listener *listener;
    struct side server, client;
};

static int set_up(void **state)
{
    struct pair *p = calloc(1, sizeof *p);
    must(p != NULL);
    assert_int_equal(loop_create(&p->loop), STATUS_OK);
    p->server.loop = p->client.loop = p->loop;
    assert_int_equal(loop_listen(p->loop, "127.0.0.1", 0, 5000, &handler, &p->server, &p->listener),
                     STATUS_OK);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct pair *p = *state;
    loop_destroy(p->loop);
    buffer_deinit(&p->server.kept);
    buffer_deinit(&p->client.kept);
    free(p);
    return 0;
}

FIXTURE(set_up, tear_down)

#define TURN_UNTIL(loop, condition)                                                             \
    do {                                                                                        \
        struct instant give_up_at = instant_add(loop_now(loop), duration_ms(TIMEOUT_S * 1000)); \
        while (!(condition)) {                                                                  \
            assert_int_equal(loop_turn(loop, give_up_at), STATUS_OK);                           \
            assert_true(instant_before(loop_now(loop), give_up_at));                            \
        }                                                                                       \
    } while (0)

static struct connection *connect_to(struct pair *p)
{
    struct connection *c = NULL;
    assert_int_equal(
        loop_connect(p->loop, "127.0.0.1", listener_port(p->listener), &handler, &p->client, &c),
        STATUS_OK);
    return c;
}

/* A client that is not ours: blocking, and in the test's hands. */
static int raw_client(struct pair *p)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(listener_port(p->listener)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    must(fd >= 0);
    must(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

TEST(a_thousand_connections_get_their_own_bytes_back)
{
    struct pair *p = *state;
    enum {
        CLIENTS = 1000,
        ROUNDS = 20
    };
    struct connection *clients[CLIENTS];
    char message[64];
    p->server.echo = true;
    p->client.keep = true;
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = connect_to(p);
    TURN_UNTIL(p->loop, p->client.opened == CLIENTS && p->server.opened == CLIENTS);
    int64_t expected = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CLIENTS; i++) {
            int size = snprintf(message, sizeof message, "<%d of round %d>", i, round);
            connection_send(clients[i], slice_make(message, (size_t)size));
            expected += size;
        }
        TURN_UNTIL(p->loop, p->client.received_bytes == expected);
    }
    buffer_append_u8(&p->client.kept, 0);
    assert_non_null(strstr((char *)p->client.kept.data, "<999 of round 19>"));
    for (int i = 0; i < CLIENTS; i++)
        connection_close(clients[i]);
    TURN_UNTIL(p->loop, p->client.closed == CLIENTS && p->server.closed == CLIENTS);
    assert_int_equal(p->server.last_error, 0);
}

struct transfer {
    int64_t sent, received;
    uint64_t receiver;
    bool intact;
};

static void remember_receiver(void *context, struct connection *c)
{
    struct transfer *t = context;
    t->receiver = connection_id(c);
}

static void check_pattern(void *context, struct connection *c, struct slice bytes)
{
    struct transfer *t = context;
    for (size_t i = 0; i < bytes.size; i++)
        t->intact &= bytes.data[i] == (uint8_t)((t->received + (int64_t)i) % 251);
    t->received += (int64_t)bytes.size;
    /* A slow reader: it stops after every piece and goes on in a later turn. */
    connection_pause(c, true);
}

TEST(a_large_transfer_stays_intact_and_bounded_through_a_reader_that_pauses)
{
    struct pair *p = *state;
    struct transfer t = {.intact = true};
    struct connection_handler slow = {.opened = remember_receiver, .received = check_pattern};
    struct listener *li;
    assert_int_equal(loop_listen(p->loop, "127.0.0.1", 0, 1, &slow, &t, &li), STATUS_OK);
    struct connection *from = NULL;
    assert_int_equal(
        loop_connect(p->loop, "127.0.0.1", listener_port(li), &handler, &p->client, &from),
        STATUS_OK);
    uint8_t piece[5000];
    while (t.received < TRANSFER_SIZE) {
        while (t.sent < TRANSFER_SIZE && connection_unsent(from) < SENT_AHEAD_MAX) {
            size_t size = sizeof piece;
            if (TRANSFER_SIZE - t.sent < (int64_t)size)
                size = (size_t)(TRANSFER_SIZE - t.sent);
            for (size_t i = 0; i < size; i++)
                piece[i] = (uint8_t)((t.sent + (int64_t)i) % 251);
            connection_send(from, slice_make(piece, size));
            t.sent += (int64_t)size;
        }
        assert_true(connection_unsent(from) <= SENT_AHEAD_MAX + sizeof piece);
        assert_int_equal(loop_turn(p->loop, instant_add(loop_now(p->loop), duration_ms(5000))),
                         STATUS_OK);
        struct connection *to = loop_connection(p->loop, t.receiver);
        if (to != NULL)
            connection_pause(to, false);
    }
    assert_true(t.intact);
    assert_int_equal(t.received, TRANSFER_SIZE);
}

TEST(nothing_is_delivered_during_a_pause_and_all_of_it_after) /* CONNECTION-4 */
{
    struct pair *p = *state;
    int fd = raw_client(p);
    p->server.keep = true;
    TURN_UNTIL(p->loop, p->server.opened == 1);
    struct connection *c = p->server.last;
    connection_pause(c, true);
    must(write(fd, "abc", 3) == 3);
    /* Another client's bytes came later and have arrived: so have these, at the socket. */
    struct connection *other = connect_to(p);
    connection_send(other, slice_of("other"));
    TURN_UNTIL(p->loop, p->server.received_bytes == 5);
    assert_int_equal(p->server.kept.size, 5);
    must(write(fd, "def", 3) == 3);
    shutdown(fd, SHUT_WR);
    connection_pause(c, false);
    TURN_UNTIL(p->loop, p->server.received_bytes == 11 && p->server.closed == 1);
    assert_memory_equal(p->server.kept.data, "otherabcdef", 11);
    close(fd);
}

TEST(bytes_sent_before_the_connection_is_up_arrive)
{
    struct pair *p = *state;
    struct connection *c = connect_to(p);
    connection_send(c, slice_of("early"));
    assert_int_equal(connection_unsent(c), 5);
    TURN_UNTIL(p->loop, p->server.received_bytes == 5);
}

TEST(a_failed_connect_is_reported_by_closed_with_its_errno)
{
    struct pair *p = *state;
    listener_close(p->listener);
    struct connection *c = connect_to(p);
    uint64_t id = connection_id(c);
    TURN_UNTIL(p->loop, p->client.closed == 1);
    assert_int_equal(p->client.opened, 0);
    assert_int_equal(p->client.last_error, ECONNREFUSED);
    assert_null(loop_connection(p->loop, id));
}

TEST(a_port_in_use_is_an_error_that_names_the_port)
{
    struct pair *p = *state;
    struct listener *second = NULL;
    uint16_t port = listener_port(p->listener);
    assert_int_equal(loop_listen(p->loop, "127.0.0.1", port, 10, &handler, &p->server, &second),
                     STATUS_IO);
    assert_int_equal(errno, EADDRINUSE);
    struct buffer text = {0}, expected = {0};
    address_explain("listen on", "127.0.0.1", port, errno, &text);
    buffer_append_format(&expected, "cannot listen on 127.0.0.1:%u: Address already in use", port);
    assert_true(slice_starts_with(buffer_slice(&text), buffer_slice(&expected)));
    buffer_deinit(&text);
    buffer_deinit(&expected);
}

TEST(addresses_are_host_and_port_and_nothing_else)
{
    struct buffer host = {0};
    uint16_t port = 0;
    assert_int_equal(address_parse(slice_of("127.0.0.1:8000"), &host, &port), STATUS_OK);
    assert_string_equal((char *)host.data, "127.0.0.1");
    assert_int_equal(port, 8000);
    assert_int_equal(address_parse(slice_of("[::1]:65535"), &host, &port), STATUS_OK);
    assert_string_equal((char *)host.data, "::1");
    static const char *const wrong[] = {"",     "8000", ":1",     "host:",   "h:65536",
                                        "h:-1", "h:1x", "::1:80", "h:123456"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(address_parse(slice_of(wrong[i]), &host, &port), STATUS_MALFORMED);
    buffer_deinit(&host);
}

TEST(clients_beyond_the_limit_are_closed_and_those_within_served)
{
    struct pair *p = *state;
    struct listener *li;
    p->server.echo = true;
    assert_int_equal(loop_listen(p->loop, "127.0.0.1", 0, 2, &handler, &p->server, &li), STATUS_OK);
    struct connection *clients[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(loop_connect(p->loop, "127.0.0.1", listener_port(li), &handler, &p->client,
                                      &clients[i]),
                         STATUS_OK);
        TURN_UNTIL(p->loop, p->client.opened == i + 1);
    }
    TURN_UNTIL(p->loop, p->client.closed == 1);
    assert_int_equal(p->server.opened, 2);
    connection_send(clients[0], slice_of("x"));
    connection_send(clients[1], slice_of("y"));
    TURN_UNTIL(p->loop, p->client.received_bytes == 2);
    /* A place that becomes free is given to the next one. */
    connection_close(clients[0]);
    TURN_UNTIL(p->loop, p->server.closed == 1 && p->client.closed == 2);
    assert_int_equal(
        loop_connect(p->loop, "127.0.0.1", listener_port(li), &handler, &p->client, &clients[0]),
        STATUS_OK);
    connection_send(clients[0], slice_of("z"));
    TURN_UNTIL(p->loop, p->client.received_bytes == 3);
}

TEST(a_client_that_keeps_a_closed_connection_gives_up_its_place)
{
    struct pair *p = *state;
    struct listener *li;
    struct connection *next;
    p->server.echo = p->server.close_after_echo = true;
    assert_int_equal(loop_listen(p->loop, "127.0.0.1", 0, 1, &handler, &p->server, &li), STATUS_OK);
    listener_close(p->listener);
    p->listener = li;
    int fd = raw_client(p);
    must(write(fd, "x", 1) == 1);
    TURN_UNTIL(p->loop, p->server.closed == 1);
    assert_int_equal(
        loop_connect(p->loop, "127.0.0.1", listener_port(li), &handler, &p->client, &next),
        STATUS_OK);
    TURN_UNTIL(p->loop, p->server.opened == 2 || p->client.closed == 1);
    assert_int_equal(p->server.opened, 2);
    close(fd);
}

TEST(running_out_of_descriptors_delays_clients_and_loses_none)
{
    struct pair *p = *state;
    p->server.echo = true;
    struct rlimit before, tight;
    int fd = raw_client(p);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = 3; /* no further descriptor for anyone */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    int64_t turns = 0;
    struct instant until = instant_add(loop_now(p->loop), duration_ms(300));
    while (instant_before(loop_now(p->loop), until)) {
        assert_int_equal(loop_turn(p->loop, until), STATUS_OK);
        turns++;
    }
    assert_int_equal(p->server.opened, 0);
    assert_true(turns < 50); /* waits between attempts instead of spinning */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    TURN_UNTIL(p->loop, p->server.opened == 1);
    must(write(fd, "x", 1) == 1);
    TURN_UNTIL(p->loop, p->server.received_bytes == 1);
    close(fd);
}

TEST(a_reset_is_reported_with_its_errno)
{
    struct pair *p = *state;
    int fd = raw_client(p);
    TURN_UNTIL(p->loop, p->server.opened == 1);
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
    TURN_UNTIL(p->loop, p->server.closed == 1);
    assert_int_equal(p->server.last_error, ECONNRESET);
}

static void on_ended(void *context, struct connection *c)
{
    struct side *s = context;
    s->ended++;
    connection_send(c, slice_of("the answer"));
    connection_close(c);
}

TEST(a_client_that_ended_its_side_still_gets_its_answer)
{
    struct pair *p = *state;
    struct connection_handler half_open = handler;
    struct listener *li;
    half_open.ended = on_ended;
    assert_int_equal(loop_listen(p->loop, "127.0.0.1", 0, 9, &half_open, &p->server, &li),
                     STATUS_OK);
    listener_close(p->listener);
    p->listener = li;
    int fd = raw_client(p);
    struct timeval timeout = {.tv_sec = TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    must(write(fd, "question", 8) == 8);
    shutdown(fd, SHUT_WR);
    TURN_UNTIL(p->loop, p->server.closed == 1);
    assert_int_equal(p->server.ended, 1);
    char answer[32] = {0};
    assert_int_equal(recv(fd, answer, 10, MSG_WAITALL), 10);
    assert_string_equal(answer, "the answer");
    /* The end may follow in a later turn, which nothing else wakes. */
    struct instant give_up_at = instant_add(loop_now(p->loop), duration_ms(TIMEOUT_S * 1000));
    while (recv(fd, answer, 1, MSG_DONTWAIT) != 0) {
        struct instant soon = instant_add(loop_now(p->loop), duration_ms(1));
        assert_int_equal(loop_turn(p->loop, soon), STATUS_OK);
        assert_true(instant_before(loop_now(p->loop), give_up_at));
    }
    close(fd);
}

TEST(the_last_bytes_reach_a_client_that_is_still_sending)
{
    struct pair *p = *state;
    p->server.echo = p->server.close_after_echo = true;
    int fd = raw_client(p);
    struct timeval timeout = {.tv_sec = TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    must(write(fd, "refuse me", 9) == 9);
    TURN_UNTIL(p->loop, p->server.closed == 1);
    /* It goes on sending to the closed connection: that must not turn into a reset that eats the
     * answer. */
    for (int i = 0; i < 50; i++) {
        must(send(fd, "more", 4, MSG_NOSIGNAL) == 4);
        assert_int_equal(loop_turn(p->loop, loop_now(p->loop)), STATUS_OK);
    }
    char answer[32] = {0};
    assert_int_equal(recv(fd, answer, sizeof answer, 0), 9);
    assert_int_equal(recv(fd, answer, sizeof answer, 0), 0);
    assert_int_equal(p->server.received_bytes, 9);
    close(fd);
}

TEST(closing_sends_everything_that_was_sent_before)
{
    struct pair *p = *state;
    struct connection *c = connect_to(p);
    struct buffer large = {0};
    size_t size = 3 * 1000 * 1000;
    memset(buffer_reserve(&large, size), 'x', size);
    large.size = size;
    connection_send(c, buffer_slice(&large));
    connection_close(c);
    connection_send(c, slice_of("too late"));
    buffer_deinit(&large);
    TURN_UNTIL(p->loop, p->server.closed == 1 && p->client.closed == 1);
    assert_int_equal(p->server.received_bytes, size);
}

/* A client that takes nothing, and a connection to it with more to send than sockets hold. */
static struct connection *stuck_connection(struct pair *p, int *fd)
{
    static const uint8_t piece[1 << 20];
    *fd = raw_client(p);
    TURN_UNTIL(p->loop, p->server.opened == 1);
    struct connection *c = p->server.last;
    for (int i = 0; i < 64; i++)
        connection_send(c, slice_make(piece, sizeof piece));
    for (int i = 0; i < 10; i++)
        assert_int_equal(loop_turn(p->loop, loop_now(p->loop)), STATUS_OK);
    assert_true(connection_unsent(c) > 0);
    return c;
}

TEST(an_abort_does_not_wait_for_a_peer_that_takes_nothing)
{
    struct pair *p = *state;
    int fd;
    struct connection *c = stuck_connection(p, &fd);
    connection_close(c);
    assert_int_equal(loop_turn(p->loop, loop_now(p->loop)), STATUS_OK);
    assert_int_equal(p->server.closed, 0);
    connection_abort(c);
    assert_int_equal(p->server.closed, 0); /* never from inside a call */
    TURN_UNTIL(p->loop, p->server.closed == 1);
    close(fd);
}

TEST(an_abandoned_connection_sends_what_it_has_and_calls_nobody)
{
    struct pair *p = *state;
    struct connection *c = connect_to(p);
    TURN_UNTIL(p->loop, p->client.opened == 1 && p->server.opened == 1);
    connection_send(p->server.last, slice_of("not delivered"));
    connection_send(c, slice_of("last words"));
    connection_abandon(c);
    TURN_UNTIL(p->loop, p->server.closed == 1);
    assert_int_equal(p->server.received_bytes, 10);
    assert_int_equal(p->client.received_bytes + p->client.closed, 0);
}

TEST(an_id_is_never_given_out_twice)
{
    struct pair *p = *state;
    uint64_t last = 0;
    for (int i = 0; i < 50; i++) {
        struct connection *c = connect_to(p);
        uint64_t id = connection_id(c);
        assert_true(id != 0);
        assert_true(id != last);
        assert_ptr_equal(loop_connection(p->loop, id), c);
        assert_null(loop_connection(p->loop, last));
        TURN_UNTIL(p->loop, p->client.opened == i + 1);
        connection_close(c);
        TURN_UNTIL(p->loop, p->client.closed == i + 1);
        last = id;
    }
    assert_null(loop_connection(p->loop, 0));
    assert_null(loop_connection(p->loop, UINT64_MAX));
}

TEST(without_multishot_operations_everything_works_as_well)
{
    struct pair *p = *state;
    loop_faults(p->loop)->without_multishot = true;
    listener_close(p->listener);
    assert_int_equal(loop_listen(p->loop, "127.0.0.1", 0, 5000, &handler, &p->server, &p->listener),
                     STATUS_OK);
    p->client.opened = 0;
    a_thousand_connections_get_their_own_bytes_back(state);
}

static void on_stop(void *context)
{
    ++*(int *)context;
}

TEST(a_stop_signal_is_a_call_on_the_loop)
{
    struct pair *p = *state;
    int stops = 0;
    assert_int_equal(loop_on_stop(p->loop, on_stop, &stops), STATUS_OK);
    kill(getpid(), SIGTERM);
    TURN_UNTIL(p->loop, stops == 1);
    kill(getpid(), SIGINT);
    TURN_UNTIL(p->loop, stops == 2);
}

TEST(a_turn_ends_at_its_deadline)
{
    struct pair *p = *state;
    struct instant before = loop_now(p->loop);
    assert_int_equal(loop_turn(p->loop, instant_add(before, duration_ms(20))), STATUS_OK);
    assert_true(instant_since(loop_now(p->loop), before).ns >= 20 * NS_PER_MS);
    assert_int_equal(loop_turn(p->loop, (struct instant){0}), STATUS_OK);
    assert_true(loop_wall_ms(p->loop) > INT64_C(1700000000000));
}
