#include "cmd/load_setup.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/must.h"
#include "cmd/load_request.h"
#include "cmd/load_response.h"
#include "host/address.h"

enum {
    ANSWER_WAIT_S = 30,
    POLLS_MAX = 300,
    POLL_NS = 100 * 1000 * 1000,
};

struct call {
    bool answered;
    int http_status;
    struct buffer *body;
};

static void on_answer(void *context, int http_status, struct slice body)
{
    struct call *c = context;
    c->answered = true;
    c->http_status = http_status;
    buffer_append_slice(c->body, body);
}

static int open_connection(const struct load_url *url)
{
    union address address;
    struct timeval patience = {.tv_sec = ANSWER_WAIT_S};
    if (address_resolve(url->host, url->port, &address) != STATUS_OK)
        return -1;
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, &address.any, address_size(&address)) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* A ring that was closed before may interrupt either. */
static bool exchange(int fd, struct slice request, struct call *c)
{
    while (request.size > 0) {
        ssize_t sent = send(fd, request.data, request.size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        request = slice_make(request.data + sent, request.size - (size_t)sent);
    }
    struct load_response_reader reader = {0};
    uint8_t bytes[4096];
    load_response_init(&reader, true, on_answer, c);
    while (!c->answered) {
        ssize_t received = recv(fd, bytes, sizeof bytes, 0);
        if (received < 0 && errno == EINTR)
            continue;
        if (received <= 0 ||
            load_response_feed(&reader, slice_make(bytes, (size_t)received)) != STATUS_OK)
            break;
    }
    load_response_deinit(&reader);
    return c->answered;
}

enum status load_setup_exchange(const struct load_url *url, struct slice request, int *http_status,
                                struct buffer *answer, struct buffer *error)
{
    struct call c = {.body = answer};
    buffer_clear(answer);
    int fd = open_connection(url);
    if (fd < 0) {
        address_explain("connect to", url->host, url->port, errno, error);
        return STATUS_IO;
    }
    bool ok = exchange(fd, request, &c);
    close(fd);
    if (!ok) {
        buffer_append_format(error, "no answer from %s:%u", url->host, url->port);
        return STATUS_IO;
    }
    *http_status = c.http_status;
    return STATUS_OK;
}

enum status load_setup_call(const struct load_url *url, const char *operation, struct slice body,
                            int *http_status, struct buffer *answer, struct buffer *error)
{
    struct buffer request = {0};
    load_request_write_operation(url, operation, body, false, &request);
    enum status status =
        load_setup_exchange(url, buffer_slice(&request), http_status, answer, error);
    buffer_deinit(&request);
    return status;
}

static void write_create_table(const struct load_workload_options *w, struct buffer *body)
{
    buffer_append_format(
        body,
        "{\"TableName\":\"%s\",\"AttributeDefinitions\":[{\"AttributeName\":\"%s\","
        "\"AttributeType\":\"S\"}",
        w->table, w->key_name);
    bool sorted = w->sort_name[0] != 0;
    if (sorted)
        buffer_append_format(body, ",{\"AttributeName\":\"%s\",\"AttributeType\":\"S\"}",
                             w->sort_name);
    buffer_append_format(body, "],\"KeySchema\":[{\"AttributeName\":\"%s\",\"KeyType\":\"HASH\"}",
                         w->key_name);
    if (sorted)
        buffer_append_format(body, ",{\"AttributeName\":\"%s\",\"KeyType\":\"RANGE\"}",
                             w->sort_name);
    buffer_append_text(body, "],");
    if (w->on_demand)
        buffer_append_text(body, "\"BillingMode\":\"PAY_PER_REQUEST\"}");
    else
        buffer_append_format(body,
                             "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%lld,"
                             "\"WriteCapacityUnits\":%lld}}",
                             (long long)w->rcu, (long long)w->wcu);
}

static enum status refused(const char *operation, const char *table, struct slice answer,
                           struct buffer *error)
{
    buffer_append_format(error, "%s %s: the server answered %.*s", operation, table,
                         (int)(answer.size < 500 ? answer.size : 500), (const char *)answer.data);
    return STATUS_MALFORMED;
}

static enum status wait_until_active(const struct load_url *url, const char *table,
                                     struct buffer *error)
{
    struct buffer body = {0}, answer = {0};
    enum status status = STATUS_PENDING;
    buffer_append_format(&body, "{\"TableName\":\"%s\"}", table);
    for (int i = 0; i < POLLS_MAX && status == STATUS_PENDING; i++) {
        int http_status = 0;
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        status = load_setup_call(url, "DescribeTable", buffer_slice(&body), &http_status, &answer,
                                 error);
        if (status != STATUS_OK)
            break;
        if (http_status != 200)
            status = refused("DescribeTable", table, buffer_slice(&answer), error);
        else if (!slice_is(load_find_text(buffer_slice(&answer), "TableStatus"), "ACTIVE"))
            status = STATUS_PENDING;
    }
    if (status == STATUS_PENDING) {
        buffer_append_format(error, "table %s did not become active within 30 s", table);
        status = STATUS_IO;
    }
    buffer_deinit(&body);
    buffer_deinit(&answer);
    return status;
}

static enum status create_table(const struct load_options *o, const struct load_workload_options *w,
                                struct buffer *error)
{
    struct buffer body = {0}, answer = {0};
    int http_status = 0;
    write_create_table(w, &body);
    enum status status = load_setup_call(&o->urls[0], "CreateTable", buffer_slice(&body),
                                         &http_status, &answer, error);
    if (status == STATUS_OK && http_status != 200) {
        struct load_verdict v;
        load_verdict_of(http_status, buffer_slice(&answer), &v);
        if (strcmp(v.error, "ResourceInUseException") != 0)
            status = refused("CreateTable", w->table, buffer_slice(&answer), error);
    }
    buffer_deinit(&body);
    buffer_deinit(&answer);
    return status == STATUS_OK ? wait_until_active(&o->urls[0], w->table, error) : status;
}

/* A server that does not answer is no matter here: the run itself shows it. */
static enum status find_table(const struct load_options *o, const struct load_workload_options *w,
                              struct buffer *error)
{
    struct buffer body = {0}, answer = {0}, ignored = {0};
    int http_status = 0;
    struct load_verdict v = {0};
    buffer_append_format(&body, "{\"TableName\":\"%s\"}", w->table);
    if (load_setup_call(&o->urls[0], "DescribeTable", buffer_slice(&body), &http_status, &answer,
                        &ignored) == STATUS_OK)
        load_verdict_of(http_status, buffer_slice(&answer), &v);
    buffer_deinit(&body);
    buffer_deinit(&answer);
    buffer_deinit(&ignored);
    if (strcmp(v.error, "ResourceNotFoundException") != 0)
        return STATUS_OK;
    buffer_append_format(error,
                         "there is no table `%s`: create it with --create-table, or name another "
                         "with --table",
                         w->table);
    return STATUS_MALFORMED;
}

/* A history holds what its run wrote, so a checker cannot tell where an older value came from. A
 * read that is refused shows nothing either way: the check is left to the checker. */
static enum status check_empty(const struct load_options *o, const struct load_workload_options *w,
                               struct buffer *error)
{
    struct buffer body = {0}, answer = {0}, ignored = {0};
    int http_status = 0;
    buffer_append_format(&body, "{\"TableName\":\"%s\",\"ConsistentRead\":true,\"Limit\":1}",
                         w->table);
    enum status status =
        load_setup_call(&o->urls[0], "Scan", buffer_slice(&body), &http_status, &answer, &ignored);
    static const char items[] = "\"Items\":[{";
    bool used = status == STATUS_OK && http_status == 200 &&
                memmem(answer.data, answer.size, items, strlen(items)) != NULL;
    if (used)
        buffer_append_format(
            error,
            "table `%s` has items that would not be in the history: write each key "
            "first with --preload, or name another table with --table",
            w->table);
    buffer_deinit(&body);
    buffer_deinit(&answer);
    buffer_deinit(&ignored);
    return used ? STATUS_MALFORMED : STATUS_OK;
}

enum status load_setup_tables(const struct load_options *o, struct buffer *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < o->workload_count && status == STATUS_OK; i++) {
        const struct load_workload_options *w = &o->workloads[i];
        bool seen = w->path[0] != 0;
        for (int other = 0; other < i; other++)
            seen |= strcmp(w->table, o->workloads[other].table) == 0;
        if (!seen)
            status = o->create_table ? create_table(o, w, error) : find_table(o, w, error);
        if (!seen && status == STATUS_OK && o->history_path != NULL && !o->preload &&
            w->read_ratio > 0)
            status = check_empty(o, w, error);
    }
    return status;
}
