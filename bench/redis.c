/* redis.c - see redis.h. */
#include "bench/redis.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/instant.h"
#include "bench/flow.h"

/* ---- the process ---- */

/* A port that nobody listens on now; 0: there is none. */
static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool found = fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 &&
                       getsockname(fd, (struct sockaddr *)&address, &size) == 0;
    if (fd >= 0)
        close(fd);
    return found ? ntohs(address.sin_port) : 0;
}

enum status bench_redis_start(struct bench_server *s, const char *parent, int cpu,
                              struct buffer *error)
{
    char port[8];
    const struct bench_program program = {
        .name = "redis-server",
        .arguments = (const char *const[]){"redis-server", "--bind", "127.0.0.1", "--port", port,
                                           "--appendonly", "yes", "--appendfsync", "always",
                                           "--save", "", NULL},
        .ready = "Ready to accept connections",
        .port = free_port()};
    snprintf(port, sizeof port, "%u", program.port);
    *s = (struct bench_server){0};
    if (!bench_program_is_installed(program.name))
        return STATUS_NOT_FOUND;
    return bench_program_start(s, parent, cpu, &program, error);
}

/* ---- commands ---- */

void redis_write_head(struct buffer *out, int arguments)
{
    buffer_append_u8(out, '*');
    buffer_append_decimal(out, (uint64_t)arguments);
    buffer_append_text(out, "\r\n");
}

void redis_write_argument(struct buffer *out, struct slice argument)
{
    buffer_append_u8(out, '$');
    buffer_append_decimal(out, argument.size);
    buffer_append_text(out, "\r\n");
    buffer_append_slice(out, argument);
    buffer_append_text(out, "\r\n");
}

static void redis_write_load(void *context, UNUSED int64_t number, struct buffer *out)
{
    redis_write_head(out, 3);
    redis_write_argument(out, slice_of("SCRIPT"));
    redis_write_argument(out, slice_of("LOAD"));
    redis_write_argument(out, slice_of(context));
}

enum status bench_redis_load(const struct bench_server *s, const char *script,
                             char out[REDIS_SCRIPT_NAME_SIZE + 1], struct buffer *error)
{
    struct flow load = {.name = "SCRIPT LOAD",
                        .port = s->port,
                        .protocol = FLOW_REDIS,
                        .connections = 1,
                        .requests_max = 1,
                        .write = redis_write_load,
                        .context = (void *)(uintptr_t)script};
    struct redis_reply reply = {0};
    enum status status = flows_run(&(struct flow *){&load}, 1, NS_PER_S, error);
    if (status == STATUS_OK && (redis_reply_read(buffer_slice(&load.other), &reply) != STATUS_OK ||
                                reply.is_error || reply.text.size != REDIS_SCRIPT_NAME_SIZE))
        status = buffer_explain(error, STATUS_IO, "SCRIPT LOAD: redis-server answered %.*s",
                                (int)load.other.size, (const char *)load.other.data);
    if (status == STATUS_OK) {
        memcpy(out, reply.text.data, REDIS_SCRIPT_NAME_SIZE);
        out[REDIS_SCRIPT_NAME_SIZE] = '\0';
    }
    flow_deinit(&load);
    return status;
}

/* ---- replies ---- */

/* Reads a line "+OK\r\n" at `*at`. `value`: its number, if it is one. */
static enum status redis_line(struct slice bytes, size_t *at, char *kind, struct slice *text,
                              int64_t *value)
{
    const uint8_t *line = bytes.data + *at;
    const uint8_t *end = memmem(line, bytes.size - *at, "\r\n", 2);
    if (end == NULL)
        return STATUS_PENDING;
    if (end == line)
        return STATUS_MALFORMED;
    *kind = (char)*line;
    *text = slice_make(line + 1, (size_t)(end - line) - 1);
    *value = strtoll((const char *)line + 1, NULL, 10);
    *at += (size_t)(end - line) + 2;
    return STATUS_OK;
}

static enum status redis_bulk(struct slice bytes, size_t *at, int64_t size, struct slice *text)
{
    if (size < 0) /* nothing */
        return STATUS_OK;
    if (bytes.size - *at < (size_t)size + 2)
        return STATUS_PENDING;
    *text = slice_make(bytes.data + *at, (size_t)size);
    *at += (size_t)size + 2;
    return STATUS_OK;
}

enum status redis_reply_read(struct slice bytes, struct redis_reply *out)
{
    enum status status = STATUS_OK;
    size_t at = 0;
    *out = (struct redis_reply){0};
    for (int64_t left = 1; left > 0 && status == STATUS_OK; left--) {
        struct slice text;
        int64_t value;
        char kind;
        status = redis_line(bytes, &at, &kind, &text, &value);
        if (status != STATUS_OK)
            return status;
        if (kind == ':' && !out->has_integer)
            out->integer = value;
        out->has_integer |= kind == ':';
        out->is_error |= kind == '-';
        if (kind == '*')
            left += MAX(value, 0);
        else if (kind == '$')
            status = redis_bulk(bytes, &at, value, &out->text);
        else if (kind == '+' || kind == '-')
            out->text = text;
        else if (kind != ':')
            status = STATUS_MALFORMED;
    }
    return status == STATUS_OK && at != bytes.size ? STATUS_MALFORMED : status;
}
