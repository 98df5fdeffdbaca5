/* exposition.h - writes metrics as Prometheus reads them.
 *
 *   # HELP weir_requests_total Answers to operations of the API, by their outcome.
 *   # TYPE weir_requests_total counter
 *   weir_requests_total{operation="PutItem",outcome="ok"} 17
 *
 * Two forms: the text format 0.0.4, and OpenMetrics 1.0, in which the family of a counter has no
 * _total and the page ends with # EOF. The series of both are the same.
 * The caller begins a family, and adds its samples one after the other. */
#pragma once

#include "base/buffer.h"
#include "base/metrics.h"

struct exposition {
    struct buffer *out;
    bool open_metrics;
    char family[96];
    enum metric_kind kind;
};

/* The Content-Type of the form. */
const char *exposition_type(bool open_metrics);

void exposition_family(struct exposition *e, const char *name, enum metric_kind kind,
                       const char *help);

struct exposition_label {
    const char *name; /* NULL: the end of a list */
    struct slice value;
};

/* A sample of the family. `labels` ends with a name of NULL. */
void exposition_integer(struct exposition *e, const struct exposition_label labels[],
                        int64_t value);
/* The value is thousandths. */
void exposition_thousandths(struct exposition *e, const struct exposition_label labels[],
                            int64_t value);
/* The value is in nanoseconds, and is written in seconds. */
void exposition_seconds(struct exposition *e, const struct exposition_label labels[], int64_t ns);
/* A histogram of times: counts[i] is of the values up to bounds_ns[i] and above the bound before;
 * counts[bounds] of those above all. */
void exposition_histogram(struct exposition *e, const struct exposition_label labels[],
                          const int64_t bounds_ns[], const int64_t counts[], int bounds,
                          int64_t sum_ns);

void exposition_end(struct exposition *e);
