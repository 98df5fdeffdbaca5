/* load_result.c - counts and latencies, and their reports. */
#include "workload/load_result.h"

#include <stdlib.h>

#include "router/json/json_writer.h"

void load_result_init(struct load_result *r)
{
    memset(r, 0, sizeof *r);
}

void load_result_deinit(struct load_result *r)
{
    free(r->seconds);
}

static void count_label(struct load_labels *l, const char *text)
{
    int i = 0;
    while (i < l->used && strcmp(l->entries[i].text, text) != 0)
        i++;
    if (i >= LOAD_LABELS_MAX - 1) {
        i = LOAD_LABELS_MAX - 1;
        text = "other";
    }
    if (i == l->used) {
        must(strlen(text) < LOAD_LABEL_SIZE_MAX);
        memcpy(l->entries[i].text, text, strlen(text) + 1);
        l->used++;
    }
    l->entries[i].count++;
}

static void count_refusal(struct load_result *r, const struct load_verdict *v)
{
    r->refused++;
    r->current.refused++;
    for (int i = 0; i < v->reason_count; i++)
        count_label(&r->reasons, v->reasons[i]);
    if (v->reason_count == 0)
        count_label(&r->reasons, v->error);
}

void load_result_count(struct load_result *r, const struct load_verdict *v, bool is_read,
                       int64_t item_bytes, int64_t latency_ns)
{
    latency_ns = MAX(latency_ns, 0);
    histogram_record(&r->latency_all, latency_ns);
    histogram_record(&r->latency_second, latency_ns);
    switch (v->outcome) {
    case LOAD_ADMITTED:
        r->admitted++;
        r->current.admitted++;
        r->reads_admitted += is_read;
        r->writes_admitted += !is_read;
        r->units_admitted += is_read ? 0 : (item_bytes + 1023) / 1024;
        histogram_record(&r->latency_admitted, latency_ns);
        break;
    case LOAD_REFUSED:
        count_refusal(r, v);
        histogram_record(&r->latency_refused, latency_ns);
        break;
    case LOAD_FAILED:
        r->failed++;
        r->current.failed++;
        count_label(&r->errors, v->error);
        if (r->first_message[0] == 0)
            memcpy(r->first_message, v->message, sizeof r->first_message);
        break;
    }
}

void load_result_end_second(struct load_result *r)
{
    r->seconds =
        must_grow(r->seconds, (size_t)r->second_count, &r->second_capacity, sizeof r->seconds[0]);
    r->current.p50_ns = histogram_percentile(&r->latency_second, 50000);
    r->current.p99_ns = histogram_percentile(&r->latency_second, 99000);
    r->seconds[r->second_count++] = r->current;
    r->current = (struct load_second){0};
    histogram_init(&r->latency_second);
}

void load_result_end(struct load_result *r)
{
    const struct load_second *s = &r->current;
    if (s->offered + s->admitted + s->refused + s->failed + s->client_overrun + s->sent +
            s->client_rejected >
        0)
        load_result_end_second(r);
}

/* ---- for people ---- */

static void append_ms(struct buffer *out, int64_t ns)
{
    double ms = (double)ns / 1e6;
    buffer_append_format(out, ms < 10 ? "%.2f" : ms < 100 ? "%.1f" : "%.0f", ms);
}

void load_progress_line(const struct load_workload_result *all, int count, int64_t second,
                        struct buffer *out)
{
    buffer_append_format(out, "%4llds", (long long)second);
    for (int i = 0; i < count; i++) {
        const struct load_result *r = all[i].result;
        if (r->second_count == 0)
            continue;
        const struct load_second *s = &r->seconds[r->second_count - 1];
        buffer_append_format(out, "  %s: %lld/s ok", all[i].options->name, (long long)s->admitted);
        if (s->refused)
            buffer_append_format(out, ", %lld throttled", (long long)s->refused);
        if (s->failed)
            buffer_append_format(out, ", %lld failed", (long long)s->failed);
        if (s->client_overrun)
            buffer_append_format(out, ", %lld overrun", (long long)s->client_overrun);
        buffer_append_text(out, ", p99 ");
        append_ms(out, s->p99_ns);
        buffer_append_text(out, " ms");
    }
}

static double per_second(int64_t count, int64_t elapsed_ns)
{
    return elapsed_ns > 0 ? (double)count * 1e9 / (double)elapsed_ns : 0;
}

static void summarize_labels(const char *title, const struct load_labels *l, struct buffer *out)
{
    for (int i = 0; i < l->used; i++)
        buffer_append_format(out, "    %s %-44s %12lld\n", title, l->entries[i].text,
                             (long long)l->entries[i].count);
}

static void summarize_latency(const char *title, const struct histogram *h, struct buffer *out)
{
    static const uint32_t points[] = {50000, 90000, 99000, 99900, 99990, 99999, HISTOGRAM_WHOLE};
    if (h->count == 0)
        return;
    buffer_append_format(out, "    latency of %-9s", title);
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        if (points[i] == HISTOGRAM_WHOLE)
            buffer_append_text(out, "  max ");
        else
            buffer_append_format(out, "  p%g ", points[i] / 1000.0);
        append_ms(out, histogram_percentile(h, points[i]));
    }
    buffer_append_text(out, " ms\n");
}

void load_summary(const struct load_workload_result *all, int count, struct buffer *out)
{
    for (int i = 0; i < count; i++) {
        const struct load_result *r = all[i].result;
        const struct {
            const char *title;
            int64_t value;
            const char *note;
        } rows[] = {{"offered", r->offered, ""},
                    {"admitted", r->admitted, ""},
                    {"throttled", r->refused, ""},
                    {"failed", r->failed, ""},
                    {"retries", r->retries, ""},
                    {"gave up", r->gave_up_attempts, "  after the most attempts"},
                    {"gave up", r->gave_up_quota, "  without a quota for retries"},
                    {"client rejected", r->client_rejected, "  by the retry model"},
                    {"client overrun", r->client_overrun, "  not sent: --outstanding was reached"},
                    {"unfinished", r->unfinished, "  no answer when the run ended"}};
        buffer_append_format(out, "\n  %s (table %s, %.1f s)\n", all[i].options->name,
                             all[i].options->table, (double)r->elapsed_ns / 1e9);
        for (size_t row = 0; row < COUNT_OF(rows); row++) {
            if (rows[row].value == 0 && row > 1)
                continue;
            buffer_append_format(out, "    %-16s %12lld  %12.1f/s%s\n", rows[row].title,
                                 (long long)rows[row].value,
                                 per_second(rows[row].value, r->elapsed_ns), rows[row].note);
        }
        summarize_labels("throttled:", &r->reasons, out);
        summarize_labels("failed:   ", &r->errors, out);
        if (r->first_message[0] != 0)
            buffer_append_format(out, "    the first one: %s\n", r->first_message);
        summarize_latency("admitted", &r->latency_admitted, out);
        summarize_latency("throttled", &r->latency_refused, out);
    }
}

/* ---- JSON ---- */

static void json_labels(const char *name, const struct load_labels *l, struct buffer *out)
{
    json_member_open(out, name, '{');
    for (int i = 0; i < l->used; i++)
        json_member_integer(out, l->entries[i].text, l->entries[i].count);
    json_write_close(out, '}');
}

/* Latencies in microseconds, with three decimals. */
static void json_latency(const char *name, const struct histogram *h, struct buffer *out)
{
    static const struct {
        const char *name;
        uint32_t per_100000;
    } points[] = {{"p50", 50000}, {"p75", 75000},   {"p90", 90000},    {"p95", 95000},
                  {"p99", 99000}, {"p99.9", 99900}, {"p99.99", 99990}, {"p99.999", 99999}};
    json_member_open(out, name, '{');
    json_member_integer(out, "count", (int64_t)h->count);
    json_member_thousandths(out, "min", h->min);
    json_member_thousandths(out, "mean", histogram_mean(h));
    for (size_t i = 0; i < COUNT_OF(points); i++)
        json_member_thousandths(out, points[i].name, histogram_percentile(h, points[i].per_100000));
    json_member_thousandths(out, "max", h->max);
    json_write_close(out, '}');
}

static void json_seconds(const struct load_result *r, struct buffer *out)
{
    json_member_open(out, "seconds", '[');
    for (int64_t i = 0; i < r->second_count; i++) {
        const struct load_second *s = &r->seconds[i];
        json_write_open(out, '{');
        json_member_integer(out, "t", i);
        json_member_integer(out, "offered", s->offered);
        json_member_integer(out, "sent", s->sent);
        json_member_integer(out, "admitted", s->admitted);
        json_member_integer(out, "throttled", s->refused);
        json_member_integer(out, "failed", s->failed);
        json_member_integer(out, "client_overrun", s->client_overrun);
        json_member_integer(out, "client_rejected", s->client_rejected);
        json_member_thousandths(out, "p50_us", s->p50_ns);
        json_member_thousandths(out, "p99_us", s->p99_ns);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

static void json_counts(const struct load_result *r, struct buffer *out)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"offered", r->offered},
                  {"sent", r->sent},
                  {"admitted", r->admitted},
                  {"throttled", r->refused},
                  {"failed", r->failed},
                  {"client_overrun", r->client_overrun},
                  {"client_rejected", r->client_rejected},
                  {"retries", r->retries},
                  {"gave_up_attempts", r->gave_up_attempts},
                  {"gave_up_quota", r->gave_up_quota},
                  {"unfinished", r->unfinished},
                  {"reads_admitted", r->reads_admitted},
                  {"writes_admitted", r->writes_admitted},
                  {"write_units_admitted", r->units_admitted}};
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        json_member_integer(out, counts[i].name, counts[i].value);
    json_member_real(out, "offered_per_s", per_second(r->offered, r->elapsed_ns));
    json_member_real(out, "admitted_per_s", per_second(r->admitted, r->elapsed_ns));
    json_member_real(out, "throttled_per_s", per_second(r->refused, r->elapsed_ns));
}

static void json_workload(const struct load_workload_result *w, struct buffer *out)
{
    const struct load_workload_options *o = w->options;
    const struct load_result *r = w->result;
    json_write_open(out, '{');
    json_member_text(out, "name", o->name);
    json_member_text(out, "table", o->table);
    json_member_real(out, "rate",
                     o->traffic.clients.count > 0 ? 0 : rate_curve_peak(&o->traffic.rate));
    json_member_text(out, "retry", o->retry.policy != NULL ? o->retry.policy->name : "none");
    json_member_integer(out, "connections", o->connections);
    json_member_integer(out, "pipeline", o->pipeline);
    json_member_real(out, "read_ratio",
                     o->traffic.mix.fraction[TRAFFIC_READ] + o->traffic.mix.fraction[TRAFFIC_SCAN]);
    json_member_real(out, "elapsed_s", (double)r->elapsed_ns / 1e9);
    json_counts(r, out);
    json_labels("throttled_by_reason", &r->reasons, out);
    json_labels("failed_by_type", &r->errors, out);
    if (r->first_message[0] != 0)
        json_member_text(out, "first_failure", r->first_message);
    json_member_open(out, "latency_us", '{');
    json_latency("admitted", &r->latency_admitted, out);
    json_latency("throttled", &r->latency_refused, out);
    json_latency("all", &r->latency_all, out);
    json_write_close(out, '}');
    json_seconds(r, out);
    json_write_close(out, '}');
}

void load_json(const struct load_options *o, const struct load_workload_result *all, int count,
               int64_t started_wall_ms, struct buffer *out)
{
    struct buffer url = {0};
    buffer_append_format(&url, "http://%s:%u", o->urls[0].host, o->urls[0].port);
    json_write_open(out, '{');
    json_member_integer(out, "format", 1);
    json_member_string(out, "url", buffer_slice(&url));
    json_member_integer(out, "seed", (int64_t)o->seed);
    json_member_integer(out, "started_unix_ms", started_wall_ms);
    json_member_open(out, "workloads", '[');
    for (int i = 0; i < count; i++)
        json_workload(&all[i], out);
    json_write_closes(out, "]}");
    buffer_append_u8(out, '\n');
    buffer_deinit(&url);
}
