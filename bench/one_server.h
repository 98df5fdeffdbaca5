/* one_server.h - benches that put loads on one `weir local` in turn: their options, from its start
 * to its end. */
#pragma once

#include "base/command_line.h"
#include "bench/http_load.h"

struct bench_one_server {
    const char *name;     /* of the bench */
    const char *about;    /* its --help */
    const char *examples; /* its --help */
    /* Runs all scenes: writes them to `out`, or prints them without `json`. Sets `missed` if one is
     * below its budget. STATUS_IO, STATUS_MALFORMED: `error` gets one line. */
    enum status (*run)(struct bench_one_server *b, struct buffer *error);
    void *context;            /* borrows; of run */
    struct option_group more; /* instead of the options of `weir load`, if there are any */

    /* from the command line */
    bool json;
    int64_t rounds;
    struct bench_load load;
    const char *data;

    struct bench_server server;
    int server_cpu;           /* -1: any */
    char url[BENCH_URL_SIZE]; /* of the server */
    struct buffer out;        /* the JSON so far, in the list of scenes */
    bool missed;
};

/* The whole bench; the exit code. */
int bench_on_one_server(struct bench_one_server *b, int argc, char **argv);
