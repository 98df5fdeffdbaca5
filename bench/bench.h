/* bench.h - `weir-bench NAME`: measures one part of weir on this machine. */
#ifndef WEIR_BENCH_BENCH_H
#define WEIR_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every bench takes --json (one object on standard output) and --help; argv[0] is its name.
 * Returns the exit code: 0 done, 1 failed or out of its budget, 2 wrong usage. */
#define BENCH_LIST(X)                                                    \
    X(decision, "ns per admission decision, and what it allocates")      \
    X(heat, "ns per request counted as heat of its key, and the memory") \
    X(embedded, "gets and durable puts of the engine, beside raw LMDB")  \
    X(http, "requests per second and latencies over HTTP")

#define X(name, help) int bench_##name(int argc, char **argv);
BENCH_LIST(X)
#undef X

/* What an option sets: one of the three. */
struct bench_option {
    const char *name; /* without the dashes */
    bool *flag;
    const char **text;
    int64_t *number;
    int64_t least, most; /* that the number may be */
};

enum {
    BENCH_OPTIONS_MAX = 16
};

/* -1: go on; otherwise the exit code, after --help, or a line that names the wrong option. */
int bench_parse(const struct bench_option *options, size_t count, const char *help, int argc,
                char **argv);

#endif
