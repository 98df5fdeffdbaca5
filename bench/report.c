/* report.c - what the benches share: the option --json, medians, JSON, a clock. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/instant.h"
#include "base/must.h"
#include "bench/bench.h"
#include "cmd/usage.h"
#include "router/json/json_writer.h"

enum {
    CALIBRATIONS = 20001,
};

int bench_parse(const char *command, const char *about, bool *json, int argc, char **argv)
{
    static const struct field options[] = {
        {"json", FIELD_FLAG, .size = sizeof(bool), .help = "Print one JSON object."}};
    char example[64];
    snprintf(example, sizeof example, "  %s --json\n", command);
    const struct command_line line = {.command = command,
                                      .usage = "[--json]",
                                      .about = about,
                                      .examples = example,
                                      .groups = {OPTION_GROUP(NULL, options, json)}};
    return usage_parse(&line, argc, argv);
}

void bench_write_scenes(struct buffer *out, const char *bench, int64_t batch, int64_t overhead_ns,
                        int64_t budget_ns)
{
    json_write_open(out, '{');
    json_member_text(out, "bench", bench);
    json_member_text(out, "method", "batch means");
    json_member_integer(out, "batch", batch);
    json_member_integer(out, "clock_overhead_ns", overhead_ns);
    json_member_integer(out, "budget_p50_ns", budget_ns);
    json_member_open(out, "scenes", '[');
}

void bench_print(struct buffer *out)
{
    printf("%.*s\n", (int)out->size, (const char *)out->data);
    buffer_deinit(out);
}

int bench_end(const char *bench, bool json, struct buffer *out, struct buffer *error, bool kept)
{
    if (json)
        bench_print(out);
    else
        buffer_deinit(out);
    if (error->size > 0)
        fprintf(stderr, "weir-bench %s: %.*s\n", bench, (int)error->size, (char *)error->data);
    buffer_deinit(error);
    return kept ? 0 : 1;
}

static int64_t clock_read_ns(clockid_t clock)
{
    struct timespec t;
    must(clock_gettime(clock, &t) == 0);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t bench_clock_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

int64_t bench_thread_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t bench_overhead_ns(struct histogram *h)
{
    histogram_init(h);
    for (int i = 0; i < CALIBRATIONS; i++) {
        int64_t start = bench_clock_ns();
        for (int j = 0; j < BENCH_BATCH; j++)
            __asm__ volatile("" : : "r"(j) : "memory");
        histogram_record(h, bench_clock_ns() - start);
    }
    return histogram_percentile(h, HISTOGRAM_WHOLE / 2);
}

double bench_ns_at(const struct histogram *ps, uint32_t per_100000)
{
    return (double)histogram_percentile(ps, per_100000) / BENCH_PS_PER_NS;
}

static int compare_numbers(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof values[0], compare_numbers);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double bench_median_ratio(const double *a, const double *b, size_t count)
{
    double *ratios = must_calloc(count, sizeof *ratios);
    for (size_t i = 0; i < count; i++)
        ratios[i] = a[i] / b[i];
    const double median = bench_median(ratios, count);
    free(ratios);
    return median;
}
