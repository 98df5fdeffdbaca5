/* bench.h - the benches of `weir-bench NAME`: each measures one part of weir on this machine. */
#pragma once

#include "base/buffer.h"
#include "base/histogram.h"

enum {
    BENCH_BATCH = 32, /* what is timed at once, where the clock's own cost is subtracted */
    BENCH_PS_PER_NS = 1000,
};

/* Every bench takes --json (one object on standard output) and --help; argv[0] is its name.
 * Returns the exit code: 0 done, 1 failed or out of its budget, 2 wrong usage. */
#define BENCH_LIST(X)                                                         \
    X(decision, "ns per admission decision, and what it allocates")           \
    X(heat, "ns per request counted as heat of its key, and the memory")      \
    X(records, "ns per decision record")                                      \
    X(traffic, "ns per key and per request of a described workload")          \
    X(embedded, "gets and durable puts of the engine, beside raw LMDB")       \
    X(http, "requests per second and latencies over HTTP")                    \
    X(expressions, "requests with expressions, beside plain ones")            \
    X(indexes, "writes of tables with global indexes, beside tables without") \
    X(transactions, "transactions of two items, beside plain puts")           \
    X(limiter, "the rate limiter, beside plain updates and Redis")

#define X(name, help) int bench_##name(int argc, char **argv);
BENCH_LIST(X)
#undef X

/* For benches without options of their own: as usage_parse. */
int bench_parse(const char *command, const char *about, bool *json, int argc, char **argv);

/* The head of a result that consists of scenes, up to the first of them. */
void bench_write_scenes(struct buffer *out, const char *bench, int64_t batch, int64_t overhead_ns,
                        int64_t budget_ns);

/* Prints the JSON in `out`, and frees it. */
void bench_print(struct buffer *out);

/* The end of a bench whose figures are in `out`: prints them if they are asked for as JSON, then
 * the error, if there is one. Frees both. Returns the exit code. */
int bench_end(const char *bench, bool json, struct buffer *out, struct buffer *error, bool kept);

int64_t bench_clock_ns(void);
int64_t bench_thread_ns(void); /* of this thread on a processor */

/* Median ns of a timed batch of BENCH_BATCH without work. Uses `h`. */
int64_t bench_overhead_ns(struct histogram *h);

/* A percentile of times in ps, in ns. */
double bench_ns_at(const struct histogram *ps, uint32_t per_100000);

/* Sorts `values`. */
double bench_median(double *values, size_t count);

/* The median of a[i] / b[i]. */
double bench_median_ratio(const double *a, const double *b, size_t count);
