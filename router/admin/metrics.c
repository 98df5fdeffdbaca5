/* metrics.c - GET /metrics: what this router has counted, as Prometheus reads it. */
#include <stdio.h>

#include "base/settings/explain.h"
#include "gac/client.h"
#include "router/admin/exposition.h"
#include "router/admin/pages.h"
#include "router/core/limit.h"
#include "router/core/request_metrics.h"
#include "router/limiter/bucket_cache.h"
#include "router/records/records.h"

#define LABELS(...)                   \
    (const struct exposition_label[]) \
    {                                 \
        __VA_ARGS__,                  \
        {                             \
            0                         \
        }                             \
    }
#define NO_LABELS ((const struct exposition_label[]){{0}})
#define LABEL(name, text)    \
    {                        \
        name, slice_of(text) \
    }

static void begin_family(struct exposition *e, enum metric_family_id id)
{
    const struct metric_family *f = &metric_families[id];
    exposition_family(e, f->name, f->kind, f->help);
}

static const char *kind_text(enum admit_kind kind)
{
    return kind == ADMIT_READ ? "read" : "write";
}

/* ---- requests ---- */

static void write_build(struct exposition *e, const struct router *r)
{
    const char *version = r->options.version, *revision = r->options.revision;
    begin_family(e, FAMILY_BUILD_INFO);
    exposition_integer(e,
                       LABELS(LABEL("version", version != NULL ? version : "unknown"),
                              LABEL("revision", revision != NULL ? revision : "unknown"),
                              LABEL("role", "router"),
                              LABEL("profile", profile_name(r->config->profile))),
                       1);
}

static void write_requests(struct exposition *e, const struct request_metrics *m)
{
    begin_family(e, FAMILY_REQUESTS);
    for (uint32_t i = 0; i < m->operation_count; i++) {
        const struct operation_counts *o = &m->operations[i];
        for (enum request_outcome k = 0; k < OUTCOMES; k++) {
            if (o->outcomes[k] > 0)
                exposition_integer(e,
                                   LABELS(LABEL("operation", o->operation->name),
                                          LABEL("outcome", request_outcome_name(k))),
                                   o->outcomes[k]);
        }
    }
    begin_family(e, FAMILY_REQUEST_DURATION);
    for (uint32_t i = 0; i < m->operation_count; i++) {
        const struct operation_counts *o = &m->operations[i];
        exposition_histogram(e, LABELS(LABEL("operation", o->operation->name)), duration_bounds_ns,
                             o->durations, DURATION_BUCKETS, o->sum_ns);
    }
    begin_family(e, FAMILY_REQUEST_WAITS);
    exposition_seconds(e, LABELS(LABEL("for", "tokens")), m->waited_tokens_ns);
    exposition_seconds(e, LABELS(LABEL("for", "processor")), m->waited_processor_ns);
}

/* ---- tables ---- */

/* The labels table, index and kind, and one more; its name NULL: none. */
static void table_labels(struct exposition_label out[5], const char *name, enum admit_kind kind,
                         struct exposition_label last)
{
    const struct slice whole = slice_of(name != NULL ? name : "");
    const uint8_t *slash = memchr(whole.data, '/', whole.size);
    const size_t size = slash != NULL ? (size_t)(slash - whole.data) : whole.size;
    out[0] = (struct exposition_label){"table", slice_make(whole.data, size)};
    out[1] = (struct exposition_label){
        "index", slash != NULL ? slice_make(slash + 1, whole.size - size - 1) : slice_of("")};
    out[2] = (struct exposition_label){"kind", slice_of(kind_text(kind))};
    out[3] = last;
    out[4] = (struct exposition_label){0};
}

static void write_table_sums(struct exposition *e, const struct request_metrics *m,
                             enum metric_family_id id)
{
    struct exposition_label labels[5];
    begin_family(e, id);
    for (uint32_t i = 0; i < m->table_count; i++) {
        const struct table_counts *t = &m->tables[i];
        const int64_t *mcu = id == FAMILY_TABLE_CONSUMED ? t->consumed_mcu : t->refused_mcu;
        for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
            table_labels(labels, t->name, kind, (struct exposition_label){0});
            if (t->name != NULL || m->dropped > 0)
                exposition_thousandths(e, labels, mcu[kind]);
        }
    }
}

static void write_refusals(struct exposition *e, const struct request_metrics *m)
{
    struct exposition_label labels[5];
    begin_family(e, FAMILY_TABLE_REFUSED);
    for (uint32_t i = 0; i < m->table_count; i++) {
        const struct table_counts *t = &m->tables[i];
        for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
            for (enum admit_reason k = ADMIT_OK + 1; k < ADMIT_REASONS; k++) {
                table_labels(labels, t->name, kind,
                             (struct exposition_label){"reason", slice_of(admit_reason_name(k))});
                if (t->refused[kind][k] > 0)
                    exposition_integer(e, labels, t->refused[kind][k]);
            }
        }
    }
}

/* ---- limits of tables ---- */

struct limits_page {
    struct exposition *e;
    struct router *router;
    enum metric_family_id id;
};

static void write_limit(const struct limits_page *p, const struct table *t, enum admit_kind kind,
                        const struct exposition_label labels[])
{
    struct gac_limit limit;
    struct gac_holding h = {0};
    struct router *r = p->router;
    if (!limit_find(r, t, kind, &limit))
        return;
    gac_client_holding(r->gac, r->now, limit.key, &h);
    switch (p->id) {
    case FAMILY_TABLE_LIMIT:
        exposition_thousandths(p->e, labels, limit.rate);
        break;
    case FAMILY_TABLE_DEMAND:
        exposition_thousandths(p->e, labels, h.demand);
        break;
    case FAMILY_LIMIT_TOKENS:
        exposition_thousandths(p->e, labels, h.tokens);
        break;
    case FAMILY_LIMIT_REQUESTS:
        exposition_integer(p->e, labels, (int64_t)h.grant_requests);
        break;
    default:
        exposition_integer(p->e, labels, limit_waiting(r, limit.key));
        break;
    }
}

static void write_limits_of(void *context, const struct table *t)
{
    const struct limits_page *p = context;
    char name[512];
    snprintf(name, sizeof name, "%.*s", TEXT_OF(t->name));
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct exposition_label labels[5];
        table_labels(labels, name, kind, (struct exposition_label){0});
        write_limit(p, t, kind, labels);
    }
}

static void write_limits(struct exposition *e, struct router *r)
{
    static const enum metric_family_id IDS[] = {FAMILY_TABLE_LIMIT, FAMILY_TABLE_DEMAND,
                                                FAMILY_LIMIT_TOKENS, FAMILY_LIMIT_REQUESTS,
                                                FAMILY_LIMIT_WAITING};
    for (size_t i = 0; i < COUNT_OF(IDS); i++) {
        struct limits_page page = {e, r, IDS[i]};
        begin_family(e, IDS[i]);
        route_each(r, &page, write_limits_of);
    }
}

/* ---- groups of the registry ---- */

static int64_t member_of(const void *values, size_t i)
{
    int64_t value;
    memcpy(&value, (const char *)values + i * sizeof value, sizeof value);
    return value;
}

static void group_family(struct exposition *e, const char *prefix, const struct metric *m)
{
    char name[80];
    snprintf(name, sizeof name, "%s_%s", prefix, m->name);
    exposition_family(e, name, m->kind, m->help);
}

static void write_router(struct exposition *e, struct router *r)
{
    const struct metric_group *g = &metric_groups[METRICS_OF_ROUTER];
    struct metrics_router values = r->counters;
    values.connections = r->client_count;
    values.held_bytes = (int64_t)r->held_bytes;
    for (size_t i = 0; i < g->count; i++) {
        group_family(e, "weir_router", &g->metrics[i]);
        exposition_integer(e, NO_LABELS, member_of(&values, i));
    }
}

static void write_limiter(struct exposition *e, const struct router *r)
{
    const struct metric_group *g = &metric_groups[METRICS_OF_LIMITER];
    const struct limiter *l = r->limiter;
    for (size_t i = 0; i < g->count && l->namespace_count > 0; i++) {
        group_family(e, "weir_limiter", &g->metrics[i]);
        for (uint32_t k = 0; k < l->namespace_count; k++)
            exposition_integer(e, LABELS(LABEL("namespace", l->namespaces[k].name)),
                               member_of(&l->namespaces[k].counts, i));
    }
}

static void write_records(struct exposition *e, const struct router *r)
{
    if (r->records == NULL)
        return;
    const struct records_counts counts = records_count(r->records);
    const int64_t age_ms = counts.oldest_ms != 0 ? router_wall_ms(r) - counts.oldest_ms : 0;
    begin_family(e, FAMILY_EXPLAIN_RECORDS);
    exposition_integer(e, LABELS(LABEL("form", "full")), (int64_t)counts.full);
    exposition_integer(e, LABELS(LABEL("form", "short")), (int64_t)counts.brief);
    begin_family(e, FAMILY_EXPLAIN_OLDEST);
    exposition_thousandths(e, NO_LABELS, MAX(age_ms, 0));
}

/* ---- the page ---- */

static bool metrics_begin(struct call *c, UNUSED const struct json_value m[])
{
    static const char *const NAMES[] = {NULL};
    struct router *r = c->router;
    if (!page_read_query(c, NAMES, NULL))
        return false;
    const struct slice accept = http_find(&c->client->http.head, "accept");
    static const char OPEN[] = "application/openmetrics-text";
    struct exposition e = {.out = &c->body,
                           .open_metrics = accept.size > 0 && memmem(accept.data, accept.size, OPEN,
                                                                     sizeof OPEN - 1) != NULL};
    c->content_type = exposition_type(e.open_metrics);
    write_build(&e, r);
    write_requests(&e, r->metrics);
    write_table_sums(&e, r->metrics, FAMILY_TABLE_CONSUMED);
    write_refusals(&e, r->metrics);
    write_table_sums(&e, r->metrics, FAMILY_TABLE_REFUSED_UNITS);
    write_limits(&e, r);
    write_router(&e, r);
    write_limiter(&e, r);
    write_records(&e, r);
    begin_family(&e, FAMILY_SERIES_DROPPED);
    exposition_integer(&e, LABELS(LABEL("family", "weir_table")), r->metrics->dropped);
    exposition_end(&e);
    return true;
}

const struct operation operation_metrics = {.name = "metrics", .begin = metrics_begin};
