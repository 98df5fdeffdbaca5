/* partitions.c - GET /weir/partitions[?table=NAME]: the work of every partition, as JSON.
 *
 * 1. The catalog lists the tables' names, page by page, unless one table is asked for.
 * 2. The catalog describes each table with its partitions.
 * 3. All nodes send their statistics.
 *
 * Statistics are counters of the nodes since their start. The replicas of a node that does not
 * answer are missing; the node is named under "unresponsive_nodes". A catalog that does not answer,
 * and a table that does not exist, are errors. */
#include <stdio.h>

#include "base/policies.h"
#include "engine/message/partition_stats.h"
#include "router/admin/page_metrics.h"
#include "router/admin/pages.h"
#include "router/admin/sharded_keys.h"
#include "router/core/limit.h"
#include "router/json/json_writer.h"
#include "router/operations/table_description.h"

enum {
    LIST_PAGE = 1000
};

struct partitions {
    struct slice only; /* a table's name; data NULL: all */
    STAILQ_HEAD(, table_name) names;
    bool nodes_requested;
    struct node_store *stores; /* by number of the node */
};

struct node_store {
    bool answered;
    struct metrics_store metrics;
};

struct table_name {
    struct slice name;
    const struct table *table; /* NULL: deleted since the catalog has listed it */
    STAILQ_ENTRY(table_name) entry;
};

/* ---- requests ---- */

/* Returns the name in the call's arena. */
static struct slice partitions_request_table(struct call *c, struct partitions *p,
                                             struct slice name)
{
    struct table_name *n = arena_zalloc(&c->arena, sizeof *n);
    n->name = arena_copy(&c->arena, name);
    STAILQ_INSERT_TAIL(&p->names, n, entry);
    call_get_table(c, n->name);
    return n->name;
}

static void partitions_request_names(struct call *c, struct slice after)
{
    struct subrequest *s = call_request(c, NULL, REQUEST_TABLE_LIST);
    s->request.list.after = after;
    s->request.list.names_max = LIST_PAGE;
    subrequest_start(c->router, s);
}

static void partitions_request_nodes(struct call *c, struct partitions *p)
{
    const uint32_t count = c->router->options.node_count;
    p->stores = arena_zalloc(&c->arena, (count + 1) * sizeof p->stores[0]);
    for (uint32_t node = 1; node <= count; node++) {
        struct subrequest *s = call_request(c, NULL, REQUEST_STATS);
        s->node = node;
        subrequest_start(c->router, s);
    }
}

static bool partitions_begin(struct call *c, UNUSED const struct json_value m[])
{
    struct partitions *p = arena_zalloc(&c->arena, sizeof *p);
    static const char *const NAMES[] = {"table", NULL};
    c->state = p;
    STAILQ_INIT(&p->names);
    if (!page_read_query(c, NAMES, &p->only))
        return false;
    if (p->only.data != NULL && !shape_is_table_name(p->only))
        return fault_set(call_fault(c), FAULT_VALIDATION,
                         "table: the name of a table is expected, not '%.*s'", SHOWN(p->only));
    if (p->only.data == NULL) {
        partitions_request_names(c, slice_make(NULL, 0));
    } else {
        partitions_request_table(c, p, p->only);
    }
    return true;
}

/* ---- replies ---- */

static bool partitions_take_names(struct call *c, struct partitions *p, const struct reply *r)
{
    struct reader names = {r->page.records, false};
    struct slice last = slice_make(NULL, 0);
    for (uint32_t i = 0; i < r->page.count && !names.failed; i++) {
        struct slice name = reader_sized(&names);
        if (names.failed)
            break;
        last = partitions_request_table(c, p, name);
    }
    if (r->page.more && last.data != NULL)
        partitions_request_names(c, last);
    return true;
}

static bool partitions_take_table(struct call *c, struct partitions *p, const struct subrequest *s,
                                  const struct reply *r)
{
    struct table_name *n;
    struct table_record *record = arena_alloc(&c->arena, sizeof *record);
    if (r->code == REPLY_TABLE_NOT_FOUND && p->only.data == NULL)
        return true;
    if (!table_take_record(c, s, r, record))
        return false;
    STAILQ_FOREACH (n, &p->names, entry) {
        if (slice_equal(n->name, s->request.table.name))
            break;
    }
    n->table = &record->table;
    for (uint32_t i = 0; i < index_set_global(record->table.index_set); i++) {
        if (record->indexes[i] == NULL)
            continue;
        struct table_name *x = arena_zalloc(&c->arena, sizeof *x);
        x->name = record->indexes[i]->name;
        x->table = record->indexes[i];
        STAILQ_INSERT_AFTER(&p->names, n, x, entry);
    }
    return true;
}

static const struct partition_info *partitions_find_partition(const struct partitions *p,
                                                              uint32_t partition,
                                                              const struct table **table)
{
    const struct table_name *n;
    STAILQ_FOREACH (n, &p->names, entry) {
        for (uint32_t i = 0; n->table != NULL && i < n->table->partition_count; i++) {
            if (n->table->partitions[i].id == partition) {
                *table = n->table;
                return &n->table->partitions[i];
            }
        }
    }
    return NULL;
}

/* ---- writing ---- */

/* Refusals by the table's limit at this router: no node has seen these requests. */
static void partitions_write_refused(struct call *c, const struct table *t, enum admit_kind kind)
{
    struct gac_limit limit;
    struct gac_holding h = {0};
    if (limit_find(c->router, t, kind, &limit))
        gac_client_holding(c->router->gac, c->router->now, limit.key, &h);
    json_member_integer(&c->body, kind == ADMIT_READ ? "read" : "write", (int64_t)h.refused);
}

static void partitions_write_tables(struct call *c, const struct partitions *p)
{
    struct buffer *out = &c->body;
    json_member_open(out, "tables", '[');
    const struct table_name *n;
    STAILQ_FOREACH (n, &p->names, entry) {
        if (n->table == NULL)
            continue;
        json_write_open(out, '{');
        json_member_string(out, "table", n->table->name);
        json_member_integer(out, "number", n->table->id);
        json_member_open(out, "refused_by_routers", '{');
        partitions_write_refused(c, n->table, ADMIT_READ);
        partitions_write_refused(c, n->table, ADMIT_WRITE);
        json_write_close(out, '}');
        key_sharding_write(out, n->table);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

/* The hash with which a partition's bound begins. An open upper end is the last hash. */
static void partitions_write_hash(struct buffer *out, const char *key, struct slice bound, bool end)
{
    char text[17];
    uint64_t hash = storage_key_bound_hash(bound, end ? UINT64_MAX : 0);
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    json_member_text(out, key, text);
}

static void partitions_write_throttled(struct buffer *out, const int64_t refused[ADMIT_REASONS])
{
    const char *reasons[ADMIT_REASONS] = {NULL};
    for (int reason = ADMIT_OK + 1; reason < ADMIT_REASONS; reason++)
        if (reason != ADMIT_REFUSED_TABLE) /* only routers refuse so: refused_by_routers */
            reasons[reason] = admit_reason_name((enum admit_reason)reason);
    page_write_labelled(out, METRIC_THROTTLED, reasons, refused, ADMIT_REASONS);
}

static void partitions_write_balances(struct buffer *out, const struct admit_balances *l)
{
    static const char *const buckets[] = {"cap", "allocation", "burst", "node"};
    const int64_t balances[] = {l->cap_mcu, l->allocation_mcu, l->burst_mcu, l->node_mcu};
    page_write_labelled(out, METRIC_BALANCES, buckets, balances, 4);
}

static void partitions_write_kind(struct buffer *out, const struct partition_stats *s,
                                  enum admit_kind kind)
{
    const struct partition_counts *counts = &s->kinds[kind].counts;
    const struct metrics_partition m = {.allocated = s->kinds[kind].allocated_mcu,
                                        .consumed = counts->load.consumed_mcu,
                                        .admitted = counts->admitted,
                                        .burst = counts->burst};
    json_member_open(out, kind == ADMIT_READ ? "read" : "write", '{');
    page_write_metrics(out, METRICS_OF_PARTITION, &m);
    partitions_write_throttled(out, counts->load.refused);
    partitions_write_balances(out, &s->kinds[kind].balances);
    json_write_close(out, '}');
}

static void partitions_write_indexes(struct buffer *out, const struct partition_stats *s,
                                     const struct table *t)
{
    const struct metrics_indexes m = {.lag_ms = s->indexes.lag_ms,
                                      .backlog_items = s->indexes.items,
                                      .backlog_bytes = s->indexes.bytes};
    json_member_open(out, "indexes", '{');
    page_write_metrics(out, METRICS_OF_INDEXES, &m);
    const struct index *x = index_set_find_table(t->index_set, s->indexes.refusal.index);
    if (x != NULL) {
        json_member_open(out, "held_up_by", '{');
        json_member_string(out, "index", x->name);
        json_member_integer(out, "partition", s->indexes.refusal.partition);
        json_member_text(out, "reason",
                         admit_reason_name((enum admit_reason)s->indexes.refusal.reason));
        json_write_close(out, '}');
    }
    json_write_close(out, '}');
}

static void partitions_write_expiry(struct buffer *out, const struct partition_stats *s)
{
    const struct metrics_expiry m = {.expired_items = s->expiry.items, .lag_ms = s->expiry.lag_ms};
    json_member_open(out, "expiry", '{');
    page_write_metrics(out, METRICS_OF_EXPIRY, &m);
    json_write_close(out, '}');
}

static void partitions_write_transactions(struct buffer *out, const struct partition_stats *s)
{
    const struct metrics_transactions m = {.locked_items = s->transactions.locks,
                                           .oldest_ms = s->transactions.oldest_ms,
                                           .reserved_log_bytes = s->transactions.reserved_log_bytes,
                                           .reserved_index_bytes =
                                               s->transactions.reserved_index_bytes};
    json_member_open(out, "transactions", '{');
    page_write_metrics(out, METRICS_OF_TRANSACTIONS, &m);
    json_write_close(out, '}');
}

static void partitions_write_streams(struct buffer *out, const struct partition_stats *s)
{
    const struct metrics_streams m = {.records = s->streams.records,
                                      .record_bytes = s->streams.bytes,
                                      .written = s->streams.written,
                                      .trimmed = s->streams.trimmed,
                                      .trim_lag_ms = s->streams.lag_ms};
    json_member_open(out, "streams", '{');
    page_write_metrics(out, METRICS_OF_STREAMS, &m);
    json_write_close(out, '}');
}

/* The step of a merge that the partition's replicas must take. */
static const char *const merge_names[] = {
    [MERGE_FREEZE] = "freeze", [MERGE_THAW] = "thaw", [MERGE_ABSORB] = "absorb"};

static void partitions_write_partition(struct buffer *out, const struct partition_stats *s,
                                       const struct partition_info *info, const struct table *t)
{
    json_write_open(out, '{');
    json_member_string(out, "table", t->name);
    json_member_integer(out, "partition", s->partition);
    json_member_integer(out, "node", s->node);
    json_member_text(out, "role", s->leads ? "leader" : "follower");
    if (s->leads) {
        json_member_integer(out, "voters", s->voters);
        json_member_integer(out, "caught_up", s->caught_up);
    }
    if (s->bytes >= 0)
        json_member_integer(out, "bytes", s->bytes);
    json_member_bool(out, "splitting", table_partition_is_splitting(t, info));
    if (info->merge != MERGE_NONE)
        json_member_text(out, "merge", merge_names[info->merge]);
    partitions_write_hash(out, "start_hash", info->lo, false);
    partitions_write_hash(out, "end_hash", info->hi, true);
    partitions_write_kind(out, s, ADMIT_READ);
    partitions_write_kind(out, s, ADMIT_WRITE);
    if (s->indexes.feeds)
        partitions_write_indexes(out, s, t);
    if (s->expiry.on)
        partitions_write_expiry(out, s);
    if (s->transactions.locks > 0)
        partitions_write_transactions(out, s);
    if (s->streams.any)
        partitions_write_streams(out, s);
    json_write_close(out, '}');
}

static void partitions_take_stats(struct call *c, struct partitions *p, const struct subrequest *s,
                                  const struct reply *r)
{
    struct reader records = {r->stats.records, false};
    struct partition_stats stats;
    if (r->code != REPLY_OK) {
        buffer_append_format(&c->bytes, "%s%u", c->bytes.size == 0 ? "" : ",", s->node);
        return;
    }
    p->stores[s->node] =
        (struct node_store){true,
                            {.used_bytes = (int64_t)r->stats.used_bytes,
                             .total_bytes = (int64_t)r->stats.total_bytes,
                             .growth_left_bytes = (int64_t)r->stats.growth_left_bytes,
                             .refused_full = (int64_t)r->stats.refused_full,
                             .refused_waiting = (int64_t)r->stats.refused_waiting}};
    while (records.left.size > 0 && partition_stats_decode(&records, &stats) == STATUS_OK) {
        const struct table *t = NULL;
        const struct partition_info *info = partitions_find_partition(p, stats.partition, &t);
        if (info != NULL)
            partitions_write_partition(&c->body, &stats, info, t);
    }
}

static bool partitions_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct partitions *p = c->state;
    switch (s->request.op) {
    case REQUEST_TABLE_LIST:
        return r->code == REPLY_OK ? partitions_take_names(c, p, r) : call_refuse(c, s, r);
    case REQUEST_TABLE_GET:
        return partitions_take_table(c, p, s, r);
    default:
        partitions_take_stats(c, p, s, r);
        return true;
    }
}

static void partitions_write_counters(struct buffer *out, const struct router *r)
{
    struct metrics_router m = r->counters;
    m.connections = (int64_t)r->clients.count;
    m.held_bytes = (int64_t)r->held_bytes;
    json_member_open(out, "router", '{');
    page_write_metrics(out, METRICS_OF_ROUTER, &m);
    json_write_close(out, '}');
}

/* Policies from files, in this process: `weir local` has all, a router those of tables. */
static void partitions_write_policies(struct buffer *out, const struct policies *policies)
{
    json_member_open(out, "policies", '[');
    for (uint32_t i = 0; policies != NULL && i < policies->count; i++) {
        const struct policy_entry *e = &policies->entries[i];
        const struct metrics_policy m = {.invalid_results = (int64_t)e->invalid_results,
                                         .timed = (int64_t)e->timed,
                                         .slow = (int64_t)e->slow};
        json_write_open(out, '{');
        json_member_text(out, "point", policy_point_name(e->point));
        json_member_text(out, "policy", e->name);
        json_member_text(out, "file", e->file);
        page_write_metrics(out, METRICS_OF_POLICY, &m);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

static void partitions_write_stores(struct buffer *out, const struct partitions *p, uint32_t count)
{
    json_member_open(out, "stores", '[');
    for (uint32_t node = 1; node <= count; node++) {
        if (!p->stores[node].answered)
            continue;
        json_write_open(out, '{');
        json_member_integer(out, "node", node);
        page_write_metrics(out, METRICS_OF_STORE, &p->stores[node].metrics);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}

static bool partitions_finish(struct call *c)
{
    struct partitions *p = c->state;
    struct buffer *out = &c->body;
    if (!p->nodes_requested) {
        p->nodes_requested = true;
        json_write_open(out, '{');
        json_member_text(out, "profile", profile_name(c->router->config->profile));
        json_member_integer(out, "nodes", c->router->options.node_count);
        partitions_write_counters(out, c->router);
        partitions_write_policies(out, c->router->config->policies);
        partitions_write_tables(c, p);
        json_member_open(out, "partitions", '[');
        partitions_request_nodes(c, p);
        return true;
    }
    json_write_close(out, ']');
    partitions_write_stores(out, p, c->router->options.node_count);
    json_member_open(out, "unresponsive_nodes", '[');
    buffer_append_slice(out, buffer_slice(&c->bytes));
    json_write_closes(out, "]}");
    return true;
}

const struct operation operation_partitions = {.name = "partitions",
                                               .begin = partitions_begin,
                                               .reply = partitions_reply,
                                               .finish = partitions_finish};
