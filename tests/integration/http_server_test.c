/* http_server_test.c - the listeners of a router over real sockets: a client that does not read,
 * one too many, and the admin listener. */
#include "tests/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/must.h"
#include "base/settings/http.h"
#include "server/host/admin.h"
#include "server/host/http_server.h"
#include "server/host/loop_clock.h"
#include "server/host/parse_thread.h"
#include "tests/temporary.h"

enum {
    TURNS_MAX = 20000, /* turns: a busy machine takes longer for each, and not more */
    STEP_MS = 5
};

struct served {
    struct config config;
    struct loop *loop;
    struct router_server *router;
    struct http_server *server;
};

/* There is no cluster. */
static bool send_nowhere(void *context, uint32_t node, const struct request *r)
{
    (void)context;
    (void)node;
    (void)r;
    return false;
}

static void drop(void *context, uint32_t server, struct slice frame)
{
    (void)context;
    (void)server;
    (void)frame;
}

static int set_up(void **state)
{
    struct served *s = calloc(1, sizeof *s);
    must(s != NULL);
    config_init(&s->config, PROFILE_OFF);
    *state = s;
    return 0;
}

static void start(struct served *s)
{
    const struct http_address at = {"127.0.0.1", 0, "--port"}, admin = {"127.0.0.1", 0, "--admin"};
    struct buffer error = {0};
    assert_int_equal(loop_create(&s->loop), STATUS_OK);
    struct work_port work;
    s->server = http_server_create(s->loop);
    assert_int_equal(parse_thread_open(s->loop, &work, &error), STATUS_OK);
    s->router = router_server_create(
        &(struct router_server_options){.router = {.config = &s->config, .node_count = 1},
                                        .clock = loop_clock(s->loop),
                                        .peers = {.request = send_nowhere, .gac = drop},
                                        .clients = http_server_clients(s->server),
                                        .work = work});
    assert_int_equal(http_server_listen(s->server, s->router, &s->config, &at, &admin, &error),
                     STATUS_OK);
}

static int tear_down(void **state)
{
    struct served *s = *state;
    http_server_destroy(s->server);
    loop_destroy(s->loop);
    router_server_destroy(s->router);
    free(s);
    return 0;
}

static void turn(struct served *s)
{
    struct instant until = instant_add(loop_now(s->loop), duration_ms(STEP_MS));
    assert_int_equal(loop_turn(s->loop, instant_earlier(until, router_server_deadline(s->router))),
                     STATUS_OK);
    router_server_turn(s->router);
}

static int connect_to(uint16_t port)
{
    static const int small = 16384;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0);
    must(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    must(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    must(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

static void send_text(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads on until the condition holds or the server closes. */
#define READ_UNTIL(s, fd, in, condition)                                         \
    do {                                                                         \
        for (int turns = 0; !(condition); turns++) {                             \
            turn(s);                                                             \
            assert_true(turns < TURNS_MAX);                                      \
            ssize_t got;                                                         \
            while ((got = recv(fd, buffer_reserve(&(in), 65536), 65536, 0)) > 0) \
                (in).size += (size_t)got;                                        \
            ended = got == 0 || (got < 0 && errno == ECONNRESET);                \
        }                                                                        \
    } while (0)

static size_t count_of(struct slice bytes, const char *text)
{
    size_t count = 0;
    while (bytes.size > 0) {
        const uint8_t *at = memmem(bytes.data, bytes.size, text, strlen(text));
        if (at == NULL)
            break;
        count++;
        bytes = slice_make(at + 1, (size_t)(bytes.data + bytes.size - at - 1));
    }
    return count;
}

/* As many as the server lets it send, without reading; what it was let. */
static size_t send_without_end(struct served *s, int fd, const char *text)
{
    size_t sent = 0;
    int idle = 0;
    while (idle < 50) { /* turns in which the kernel took nothing: the server reads no more */
        size_t at = sent % strlen(text);
        ssize_t size = send(fd, text + at, strlen(text) - at, MSG_NOSIGNAL);
        idle = size > 0 ? 0 : idle + 1;
        sent += size > 0 ? (size_t)size : 0;
        if (size <= 0 || sent % (64 * strlen(text)) == 0)
            turn(s);
        assert_true(sent < 64 * (size_t)MIB);
    }
    return sent;
}

#define GET "GET /0123456789012345678901234567890123456789 HTTP/1.1\r\nHost: h\r\n\r\n"

TEST_WITH(a_client_that_does_not_read_is_not_read_from_and_loses_nothing, set_up, tear_down)
{
    struct served *s = *state;
    bool ended = false;
    start(s);
    int fd = connect_to(http_server_port(s->server));
    struct buffer in = {0};
    send_text(fd, GET);
    READ_UNTIL(s, fd, in, count_of(buffer_slice(&in), "undoes this\n") > 0);
    const size_t answer_size = in.size; /* all are of one size */
    assert_int_equal(count_of(buffer_slice(&in), "HTTP/1.1 404"), 1);
    buffer_clear(&in);
    size_t requests = send_without_end(s, fd, GET) / strlen(GET);
    assert_true(requests > 100);
    READ_UNTIL(s, fd, in, ended || in.size >= requests * answer_size);
    assert_false(ended);
    assert_int_equal(in.size, requests * answer_size);
    assert_int_equal(count_of(buffer_slice(&in), "HTTP/1.1 404"), requests);
    close(fd);
    buffer_deinit(&in);
}

TEST_WITH(a_client_that_never_reads_is_closed_and_others_are_served, set_up, tear_down)
{
    struct served *s = *state;
    bool ended = false;
    config_edit_http(&s->config)->http_unread_ms = 300;
    start(s);
    int slow = connect_to(http_server_port(s->server));
    send_without_end(s, slow, GET);
    struct pollfd gone = {.fd = slow, .events = POLLRDHUP};
    for (int turns = 0; !(gone.revents & (POLLRDHUP | POLLHUP | POLLERR)); turns++) {
        turn(s);
        poll(&gone, 1, 0);
        assert_true(turns < TURNS_MAX);
    }
    int fd = connect_to(http_server_port(s->server));
    struct buffer in = {0};
    send_text(fd, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    READ_UNTIL(s, fd, in, ended || count_of(buffer_slice(&in), "healthy: h") > 0);
    assert_false(ended);
    close(fd);
    close(slow);
    buffer_deinit(&in);
}

TEST_WITH(one_too_many_is_answered_so_and_closed, set_up, tear_down)
{
    struct served *s = *state;
    bool ended = false;
    config_edit_http(&s->config)->connections_max = 1;
    start(s);
    int first = connect_to(http_server_port(s->server));
    struct buffer in = {0};
    send_text(first, "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET "); /* it never idles */
    READ_UNTIL(s, first, in, count_of(buffer_slice(&in), "healthy: h") > 0);
    int second = connect_to(http_server_port(s->server));
    buffer_clear(&in);
    READ_UNTIL(s, second, in, ended);
    assert_int_equal(count_of(buffer_slice(&in), "HTTP/1.1 503"), 1);
    assert_int_equal(count_of(buffer_slice(&in), "Connection: close"), 1);
    close(first);
    close(second);
    buffer_deinit(&in);
}

TEST_WITH(the_admin_listener_is_another_one, set_up, tear_down)
{
    struct served *s = *state;
    bool ended = false;
    static const char DRAIN[] = "POST /weir/drain?node=7 HTTP/1.1\r\nHost: h\r\n"
                                "Content-Type: application/json\r\nContent-Length: 0\r\n\r\n";
    start(s);
    assert_int_not_equal(http_server_port(s->server), http_server_admin_port(s->server));
    const struct {
        uint16_t port;
        const char *status;
    } CASES[] = {{http_server_port(s->server), "HTTP/1.1 403"},
                 {http_server_admin_port(s->server), "HTTP/1.1 400"}}; /* there is no node 7 */
    for (size_t i = 0; i < 2; i++) {
        int fd = connect_to(CASES[i].port);
        struct buffer in = {0};
        send_text(fd, DRAIN);
        READ_UNTIL(s, fd, in, ended || count_of(buffer_slice(&in), "\r\n\r\n{") > 0);
        assert_int_equal(count_of(buffer_slice(&in), CASES[i].status), 1);
        close(fd);
        buffer_deinit(&in);
    }
}

/* ---- the thread that parses large bodies ---- */

enum {
    LARGE = 1024 * 1024
};

static void send_large(struct served *s, int fd)
{
    struct buffer b = {0};
    buffer_append_format(&b,
                         "POST / HTTP/1.1\r\nHost: h\r\n"
                         "Content-Type: application/x-amz-json-1.0\r\n"
                         "X-Amz-Target: DynamoDB_20120810.DescribeEndpoints\r\n"
                         "Content-Length: %d\r\n\r\n",
                         LARGE);
    memset(buffer_reserve(&b, LARGE), ' ', LARGE);
    b.size += LARGE;
    memcpy(b.data + b.size - 2, "{}", 2);
    for (size_t sent = 0; sent < b.size; turn(s)) {
        const ssize_t size = send(fd, b.data + sent, b.size - sent, MSG_NOSIGNAL);
        sent += size > 0 ? (size_t)size : 0;
    }
    buffer_deinit(&b);
}

TEST_WITH(a_large_body_is_parsed_by_a_thread_and_answered, set_up, tear_down)
{
    struct served *s = *state;
    bool ended = false;
    struct buffer in = {0};
    start(s);
    int fd = connect_to(http_server_port(s->server));
    for (int i = 0; i < 3; i++) {
        send_large(s, fd);
        buffer_clear(&in);
        READ_UNTIL(s, fd, in, ended || count_of(buffer_slice(&in), "\r\n\r\n{") > 0);
        assert_int_equal(count_of(buffer_slice(&in), "HTTP/1.1 200"), 1);
    }
    close(fd);
    buffer_deinit(&in);
}

/* The thread has a body, others wait, and some of the clients have left. */
TEST_WITH(a_server_ends_while_its_thread_parses, set_up, tear_down)
{
    enum {
        CLIENTS = 4
    };
    struct served *s = *state;
    int fds[CLIENTS];
    start(s);
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = connect_to(http_server_port(s->server));
    for (int i = 0; i < CLIENTS; i++)
        send_large(s, fds[i]);
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    turn(s);
}

/* ---- where it is ---- */

static enum status admin_given(const char *admin, const char *token, struct admin *out)
{
    const struct admin_options options = {
        .address = admin == NULL ? "" : admin, .port = 9, .public_port = 8000, .token_file = token};
    struct buffer error = {0};
    enum status status = admin_of(&options, out, &error);
    assert_true((status == STATUS_OK) == (error.size == 0));
    buffer_deinit(&error);
    return status;
}

TEST(beyond_loopback_the_admin_listener_needs_a_token)
{
    struct admin a;
    char path[TEMPORARY_NAME_MAX];
    temporary_name(path, "token");
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
    assert_int_equal(admin_given(NULL, NULL, &a), STATUS_OK);
    assert_int_equal(a.at.port, 8600);
    assert_null(admin_token(&a));
    assert_int_equal(admin_given("127.0.0.2", NULL, &a), STATUS_OK);
    assert_int_equal(admin_given("0.0.0.0", NULL, &a), STATUS_MALFORMED);
    assert_int_equal(admin_given("0.0.0.0", "/nowhere/token", &a), STATUS_MALFORMED);
    assert_int_equal(admin_given("0.0.0.0", path, &a), STATUS_MALFORMED); /* an empty file */
    assert_int_equal(write(fd, "0123456789abcde\n", 16), 16);
    assert_int_equal(admin_given("0.0.0.0", path, &a), STATUS_MALFORMED); /* too short */
    assert_int_equal(pwrite(fd, "0123456789abcdef\n", 17, 0), 17);
    assert_int_equal(admin_given("0.0.0.0", path, &a), STATUS_OK);
    assert_string_equal(admin_token(&a), "0123456789abcdef");
    assert_string_equal(a.at.address, "0.0.0.0");
    assert_int_equal(admin_port_of(0), 0);
    assert_int_equal(admin_port_of(65000), 0);
    close(fd);
    unlink(path);
}
