/* server.h - servers of our own as other processes: a `weir local`, or what it is compared with. */
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

/* Starts the `weir` in this program's folder on `cpu` (< 0: any) with its data in a new folder
 * under `parent`, and waits until it is ready; `settings`, if not NULL: arguments for it, ended by
 * NULL. STATUS_IO: `error` gets one line. */
enum status bench_server_start(struct bench_server *s, const char *parent, int cpu,
                               const char *const *settings, struct buffer *error);
void bench_server_stop(struct bench_server *s);

struct bench_program {
    const char *name;             /* on the PATH, or a path */
    const char *const *arguments; /* with the name, ended by NULL */
    const char *ready;            /* a part of the line that it writes once it takes requests */
    uint16_t port;                /* 0: the line ends with :PORT */
};

bool bench_program_is_installed(const char *name); /* on the PATH */
/* The same as bench_server_start with another program, which begins in the new folder. */
enum status bench_program_start(struct bench_server *s, const char *parent, int cpu,
                                const struct bench_program *program, struct buffer *error);

void bench_server_url(const struct bench_server *s, char out[BENCH_URL_SIZE]);

/* Processor time it has used so far. */
int64_t bench_server_cpu_ns(const struct bench_server *s);

/* The calling thread and what it starts. */
void bench_pin(int cpu);
/* A core for the server and another for the load; -1, any, if there are not two. */
void bench_choose_cpus(int *server, int *load);
