/* client_exchange.c - connects, sends, and reads until the answer is whole.
 *
 * An io_uring that was closed before may interrupt each of the calls. An interrupted connect goes
 * on: on Linux the next call of it waits for its end. */
#include "workload/client_exchange.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "host/address.h"
#include "workload/client_response.h"

enum {
    STEP_WAIT_S = 30
};

struct exchange {
    bool answered;
    int http_status;
    struct buffer *body;
};

static void exchange_answered(void *context, int http_status, struct slice body)
{
    struct exchange *c = context;
    c->answered = true;
    c->http_status = http_status;
    buffer_append_slice(c->body, body);
    buffer_reserve(c->body, JSON_PADDING);
}

static int exchange_connect(const struct client_url *url)
{
    union address address;
    struct timeval timeout = {.tv_sec = STEP_WAIT_S};
    if (address_resolve(url->host, url->port, &address) != STATUS_OK)
        return -1;
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (TEMP_FAILURE_RETRY(connect(fd, &address.any, address_size(&address))) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static bool exchange_run(int fd, struct slice request, struct exchange *c)
{
    while (request.size > 0) {
        ssize_t sent = TEMP_FAILURE_RETRY(send(fd, request.data, request.size, MSG_NOSIGNAL));
        if (sent <= 0)
            return false;
        request = slice_make(request.data + sent, request.size - (size_t)sent);
    }
    struct client_response reader = {0};
    uint8_t bytes[4096];
    client_response_init(&reader, true, exchange_answered, c);
    while (!c->answered) {
        ssize_t received = TEMP_FAILURE_RETRY(recv(fd, bytes, sizeof bytes, 0));
        if (received <= 0 ||
            client_response_feed(&reader, slice_make(bytes, (size_t)received)) != STATUS_OK)
            break;
    }
    client_response_deinit(&reader);
    return c->answered;
}

enum status client_exchange(const struct client_url *url, struct slice request, int *http_status,
                            struct buffer *answer, struct buffer *error)
{
    struct exchange c = {.body = answer};
    buffer_clear(answer);
    int fd = exchange_connect(url);
    if (fd < 0) {
        address_explain("connect to", url->host, url->port, errno, error);
        return STATUS_IO;
    }
    bool ok = exchange_run(fd, request, &c);
    close(fd);
    if (!ok)
        return buffer_explain(error, STATUS_IO, "no answer from %s:%u", url->host, url->port);
    *http_status = c.http_status;
    return STATUS_OK;
}

enum status client_call(const struct client_url *url, const char *operation, struct slice body,
                        int *http_status, struct buffer *answer, struct buffer *error)
{
    struct buffer request = {0};
    client_write_operation(&request, url, operation, body);
    enum status status = client_exchange(url, buffer_slice(&request), http_status, answer, error);
    buffer_deinit(&request);
    return status;
}
