/* redis.h - a redis-server of our own as another process, and the bytes that it understands.
 *
 * The server writes each change to a file and syncs it before it answers (appendfsync always).
 * Source: the Redis serialization protocol, version 2. */
#pragma once

#include "bench/server.h"

enum {
    REDIS_SCRIPT_NAME_SIZE = 40 /* hexadecimal digits of a SHA-1 */
};

/* As bench_server_start; STATUS_NOT_FOUND: there is no redis-server on the PATH. */
enum status bench_redis_start(struct bench_server *s, const char *parent, int cpu,
                              struct buffer *error);

/* SCRIPT LOAD: `out` is the script's name, ended by a zero. STATUS_IO: `error` gets one line. */
enum status bench_redis_load(const struct bench_server *s, const char *script,
                             char out[REDIS_SCRIPT_NAME_SIZE + 1], struct buffer *error);

/* A command: one argument after another follows this head. */
void redis_write_head(struct buffer *out, int arguments);
void redis_write_argument(struct buffer *out, struct slice argument);

struct redis_reply {
    bool is_error;
    bool has_integer;
    int64_t integer;   /* the first one */
    struct slice text; /* the last text; borrows */
};

/* STATUS_PENDING: the reply is not complete; STATUS_MALFORMED. */
enum status redis_reply_read(struct slice bytes, struct redis_reply *out);
