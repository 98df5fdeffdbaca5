/* request_metrics.c - counts, at the answer of a request and at the replies of its parts. */
#include "router/core/request_metrics.h"

#include <stdlib.h>

#include "engine/message/request_traits.h"
#include "engine/message/transaction_messages.h"
#include "router/core/limit.h"
#include "router/core/operation.h"

#define US NS_PER_US
#define MS NS_PER_MS

enum {
    METRIC_IDS = 10000 /* ids of tables whose place is kept */
};

const int64_t duration_bounds_ns[DURATION_BUCKETS] = {
    50 * US, 100 * US, 200 * US, 500 * US, 1 * MS,    2 * MS,    5 * MS,    10 * MS,   20 * MS,
    50 * MS, 100 * MS, 200 * MS, 500 * MS, 1000 * MS, 2000 * MS, 5000 * MS, 10000 * MS};

const char *request_outcome_name(enum request_outcome outcome)
{
    static const char *const NAMES[OUTCOMES] = {
        [OUTCOME_OK] = "ok",
        [OUTCOME_CONDITION] = "condition",
        [OUTCOME_THROTTLED] = "throttled",
        [OUTCOME_CONFLICT] = "conflict",
        [OUTCOME_USER_ERROR] = "user_error",
        [OUTCOME_SYSTEM_ERROR] = "system_error",
        [OUTCOME_SHED] = "shed",
    };
    return NAMES[outcome];
}

void request_metrics_init(struct router *r)
{
    r->metrics = must_calloc(1, sizeof *r->metrics);
    r->metrics->tables = must_calloc(METRIC_TABLES + 1, sizeof *r->metrics->tables);
    r->metrics->table_count = 1;
}

void request_metrics_deinit(struct router *r)
{
    struct request_metrics *m = r->metrics;
    for (uint32_t i = 0; i < m->table_count; i++)
        free(m->tables[i].name);
    free(m->tables);
    id_map_deinit(&m->by_id);
    free(m);
}

/* ---- answers ---- */

static bool metrics_has_code(const struct call *c, enum reply_code code)
{
    for (const struct subrequest *s = c->subrequests; s != NULL; s = s->next_of_call) {
        if (s->end.replied && s->end.code == code)
            return true;
    }
    return false;
}

/* Of a cancelled transaction: its parts' codes tell why, in the order of the service's metrics. */
static enum request_outcome metrics_cancelled(const struct call *c)
{
    if (metrics_has_code(c, REPLY_LOCKED))
        return OUTCOME_CONFLICT;
    if (metrics_has_code(c, REPLY_THROTTLED))
        return OUTCOME_THROTTLED;
    return metrics_has_code(c, REPLY_CONDITION_FAILED) ? OUTCOME_CONDITION : OUTCOME_USER_ERROR;
}

static enum request_outcome metrics_outcome(const struct call *c, const struct fault *f)
{
    if (f == NULL)
        return OUTCOME_OK;
    switch (f->kind) {
    case FAULT_CONDITION:
        return OUTCOME_CONDITION;
    case FAULT_THROUGHPUT:
    case FAULT_THROTTLING:
        return OUTCOME_THROTTLED;
    case FAULT_CONFLICT:
        return OUTCOME_CONFLICT;
    case FAULT_CANCELED:
        return metrics_cancelled(c);
    case FAULT_UNAVAILABLE:
        return metrics_has_code(c, REPLY_OVERLOADED) ? OUTCOME_SHED : OUTCOME_SYSTEM_ERROR;
    default:
        return fault_status(f->kind) >= 500 ? OUTCOME_SYSTEM_ERROR : OUTCOME_USER_ERROR;
    }
}

/* The latest operations are near the front: a router has few at a time. */
static struct operation_counts *metrics_operation(struct request_metrics *m,
                                                  const struct operation *o)
{
    for (uint32_t i = 0; i < m->operation_count; i++) {
        if (m->operations[i].operation == o)
            return &m->operations[i];
    }
    must(m->operation_count < METRIC_OPERATIONS);
    m->operations[m->operation_count].operation = o;
    return &m->operations[m->operation_count++];
}

void request_metrics_note_answer(struct call *c, const struct fault *f)
{
    if (c->own || c->operation->input == NULL)
        return; /* a page */
    struct operation_counts *o = metrics_operation(c->router->metrics, c->operation);
    const int64_t ns = instant_since(c->router->now, c->begun).ns;
    int bucket = 0;
    while (bucket < DURATION_BUCKETS && ns > duration_bounds_ns[bucket])
        bucket++;
    o->outcomes[metrics_outcome(c, f)]++;
    o->durations[bucket]++;
    o->sum_ns += ns;
}

/* ---- replies ---- */

/* The place of the table that is seen for the first time. A table that was deleted and created
 * again goes on in its old place: a page has one series of each name. */
static uint32_t metrics_place(struct request_metrics *m, struct slice name)
{
    for (uint32_t i = 1; i < m->table_count; i++) {
        if (slice_is(name, m->tables[i].name))
            return i;
    }
    if (m->table_count > METRIC_TABLES) {
        m->dropped++;
        return 0;
    }
    m->tables[m->table_count].name = must_have(strndup((const char *)name.data, name.size));
    return m->table_count++;
}

static struct table_counts *metrics_table(struct request_metrics *m, uint32_t id, struct slice name)
{
    struct table_counts *t = id_map_find(&m->by_id, id);
    if (t != NULL)
        return t;
    if (m->by_id.count > METRIC_IDS) /* of tables that were deleted long ago */
        id_map_deinit(&m->by_id);
    t = &m->tables[metrics_place(m, name)];
    id_map_add(&m->by_id, id, t);
    return t;
}

/* What the write has cost in global indexes: `costs` as in struct reply. */
static void metrics_note_indexes(struct request_metrics *m, const struct route *route,
                                 struct slice costs)
{
    struct reader all = {costs, false};
    while (all.left.size > 0 && !all.failed) {
        const uint8_t number = reader_u8(&all);
        const uint32_t id = reader_u32(&all);
        const int64_t mcu = (int64_t)reader_u64(&all);
        const struct index_set *set = route->table.index_set;
        for (uint32_t i = 0; number == 0 && i < index_set_global(set); i++) {
            const struct table *index = route->indexes[i];
            if (index != NULL && index->id == id)
                metrics_table(m, id, index->name)->consumed_mcu[ADMIT_WRITE] += mcu;
        }
    }
}

static struct slice metrics_index_costs(const struct reply *reply)
{
    if (reply->kind == ANSWER_ITEM)
        return reply->item.index_costs;
    return reply->kind == ANSWER_PARTS ? reply_parts(reply)->index_costs : slice_make(NULL, 0);
}

void request_metrics_note_reply(struct router *r, const struct subrequest *s,
                                const struct reply *reply)
{
    struct request_metrics *m = r->metrics;
    const enum admit_kind kind = request_admit_kind(&s->request);
    struct table_counts *t = metrics_table(m, s->route->table.id, s->route->table.name);
    if (reply->code == REPLY_THROTTLED) {
        t->refused[kind][reply->verdict.reason]++;
        t->refused_mcu[kind] += limit_cost_before(&s->request);
    }
    t->consumed_mcu[kind] += reply->consumed_mcu;
    if (traits_of(&s->request)->write && index_set_global(s->route->table.index_set) > 0)
        metrics_note_indexes(m, s->route, metrics_index_costs(reply));
    m->waited_processor_ns += s->waited.ns;
    const bool admitted = !instant_before(s->admitted_at, s->started);
    m->waited_tokens_ns += instant_since(admitted ? s->admitted_at : r->now, s->started).ns;
}
