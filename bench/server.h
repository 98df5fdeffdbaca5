/* server.h - a `weir local` of our own as another process, to be measured over HTTP. */
#pragma once

#include <sys/types.h>

#include "base/buffer.h"

enum {
    BENCH_URL_SIZE = 64
};

struct bench_server {
    pid_t pid; /* 0: none */
    uint16_t port;
    char folder[4096]; /* its data; removed at the end */
};

/* Starts the `weir` in this program's folder on `cpu` (< 0: any) with its data in a new folder under
 * `parent`, and waits until it is ready; `settings`, if not NULL: arguments for it, ended by NULL.
 * STATUS_IO: `error` gets one line. */
enum status bench_server_start(struct bench_server *s, const char *parent, int cpu,
                               const char *const *settings, struct buffer *error);
void bench_server_stop(struct bench_server *s);

void bench_server_url(const struct bench_server *s, char out[BENCH_URL_SIZE]);

/* Processor time it has used so far. */
int64_t bench_server_cpu_ns(const struct bench_server *s);

/* The calling thread and what it starts. */
void bench_pin(int cpu);
/* A core for the server and another for the load; -1, any, if there are not two. */
void bench_choose_cpus(int *server, int *load);
