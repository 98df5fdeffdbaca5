/* bench.h - `weir bench NAME`: measures one part of weir on this machine. */
#ifndef WEIR_CMD_BENCH_H
#define WEIR_CMD_BENCH_H

#include <stdbool.h>
#include <stdio.h>

/* Every bench takes --json (one object on standard output) and --help; argv[0] is its name.
 * Returns the exit code: 0 done, 1 failed or out of its budget, 2 wrong usage. */
#define BENCH_LIST(X)                                                    \
    X(decision, "ns per admission decision, and what it allocates")      \
    X(heat, "ns per request counted as heat of its key, and the memory") \
    X(embedded, "gets and durable puts of the engine, beside raw LMDB")  \
    X(http, "requests per second and latencies over HTTP")               \
    X(etcd, "puts per second and latencies of an etcd, to compare with")

#define X(name, help) int bench_##name(int argc, char **argv);
BENCH_LIST(X)
#undef X

/* Options of a bench that has no others. -1: go on; otherwise the exit code. */
int bench_parse_json(int argc, char **argv, void (*help)(FILE *out), bool *json);

#endif
