/* exposition.c - names, labels and numbers of metrics as text. */
#include "router/admin/exposition.h"

#include <stdio.h>

#include "base/instant.h"

const char *exposition_type(bool open_metrics)
{
    return open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                        : "text/plain; version=0.0.4; charset=utf-8";
}

static void append_escaped(struct buffer *out, struct slice text, bool quotes)
{
    for (size_t i = 0; i < text.size; i++) {
        const uint8_t c = text.data[i];
        if (c == '\n')
            buffer_append_text(out, "\\n");
        else if (c == '\\' || (c == '"' && quotes))
            buffer_append_format(out, "\\%c", c);
        else
            buffer_append_u8(out, c);
    }
}

void exposition_family(struct exposition *e, const char *name, enum metric_kind kind,
                       const char *help)
{
    static const char *const TYPES[] = {
        [METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"};
    const char *total = kind == METRIC_COUNTER ? "_total" : "";
    const char *shown = e->open_metrics ? "" : total;
    snprintf(e->family, sizeof e->family, "%s%s", name, total);
    e->kind = kind;
    buffer_append_format(e->out, "# HELP %s%s ", name, shown);
    append_escaped(e->out, slice_of(help), e->open_metrics);
    buffer_append_format(e->out, "\n# TYPE %s%s %s\n", name, shown, TYPES[kind]);
}

/* `last`: one more label; name NULL: none. */
static void append_series(struct exposition *e, const char *suffix,
                          const struct exposition_label labels[], struct exposition_label last)
{
    bool any = false;
    buffer_append_format(e->out, "%s%s", e->family, suffix);
    for (const struct exposition_label *l = labels; l->name != NULL || last.name != NULL; l++) {
        if (l->name == NULL)
            l = &last;
        buffer_append_format(e->out, "%c%s=\"", any ? ',' : '{', l->name);
        append_escaped(e->out, l->value, true);
        buffer_append_u8(e->out, '"');
        any = true;
        if (l == &last)
            break;
    }
    buffer_append_text(e->out, any ? "} " : " ");
}

static void append_fraction(struct buffer *out, int64_t value, int64_t unit, int digits)
{
    const uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    buffer_append_format(out, "%s%llu", value < 0 ? "-" : "",
                         (unsigned long long)(size / (uint64_t)unit));
    const uint64_t rest = size % (uint64_t)unit;
    if (rest != 0)
        buffer_append_format(out, ".%0*llu", digits, (unsigned long long)rest);
    buffer_append_u8(out, '\n');
}

void exposition_integer(struct exposition *e, const struct exposition_label labels[], int64_t value)
{
    append_series(e, "", labels, (struct exposition_label){0});
    append_fraction(e->out, value, 1, 0);
}

void exposition_thousandths(struct exposition *e, const struct exposition_label labels[],
                            int64_t value)
{
    append_series(e, "", labels, (struct exposition_label){0});
    append_fraction(e->out, value, 1000, 3);
}

void exposition_seconds(struct exposition *e, const struct exposition_label labels[], int64_t ns)
{
    append_series(e, "", labels, (struct exposition_label){0});
    append_fraction(e->out, ns, NS_PER_S, 9);
}

/* "0.0005", "1.0": always with a point, so that both forms have the same series. */
static void bound_text(int64_t ns, char out[32])
{
    int n =
        snprintf(out, 32, "%lld.%09lld", (long long)(ns / NS_PER_S), (long long)(ns % NS_PER_S));
    while (out[n - 1] == '0' && out[n - 2] != '.')
        out[--n] = '\0';
}

void exposition_histogram(struct exposition *e, const struct exposition_label labels[],
                          const int64_t bounds_ns[], const int64_t counts[], int bounds,
                          int64_t sum_ns)
{
    int64_t sum = 0;
    for (int i = 0; i <= bounds; i++) {
        char bound[32] = "+Inf";
        sum += counts[i];
        if (i < bounds)
            bound_text(bounds_ns[i], bound);
        append_series(e, "_bucket", labels, (struct exposition_label){"le", slice_of(bound)});
        append_fraction(e->out, sum, 1, 0);
    }
    append_series(e, "_sum", labels, (struct exposition_label){0});
    append_fraction(e->out, sum_ns, NS_PER_S, 9);
    append_series(e, "_count", labels, (struct exposition_label){0});
    append_fraction(e->out, sum, 1, 0);
}

void exposition_end(struct exposition *e)
{
    if (e->open_metrics)
        buffer_append_text(e->out, "# EOF\n");
}
