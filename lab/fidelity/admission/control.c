/* control.c - the catalog, the reports of nodes, and the controller beside the catalog.
 *
 * The catalog and the controller are the product's. Their requests are answered by the model after
 * the time that a commit or a question takes. */
#include <stdlib.h>

#include "base/settings/choices.h"
#include "base/settings/reports.h"
#include "engine/admission/capacity.h"
#include "lab/fidelity/admission/model_internal.h"

enum {
    ANSWER_MS = 2, /* a commit of the catalog, or a question to a leader */
    CONTROL_TERM = 1
};

struct model_answer {
    LIST_ENTRY(model_answer) entry;
    struct model *model;
    struct reply reply;
    struct buffer bytes;
};

/* ---- answers to the controller ---- */

static void answer_destroy(struct model_answer *a)
{
    LIST_REMOVE(a, entry);
    buffer_deinit(&a->bytes);
    free(a);
}

static void controller_receives(void *context, uint64_t argument)
{
    struct model_answer *a = context;
    struct model *m = a->model;
    (void)argument;
    controller_reply(m->controller, &a->reply);
    answer_destroy(a);
    model_control_start(m);
}

static void answer_later(struct model *m, const struct request *q, enum reply_code code,
                         struct slice advice)
{
    struct model_answer *a = must_calloc(1, sizeof *a);
    a->model = m;
    LIST_INSERT_HEAD(&m->answers, a, entry);
    buffer_set(&a->bytes, advice);
    a->reply = (struct reply){.id = q->id, .code = code};
    if (advice.size > 0) {
        a->reply.kind = ANSWER_ADVICE;
        a->reply.advice.bytes = buffer_slice(&a->bytes);
    }
    model_in(m, ANSWER_MS * NS_PER_MS, controller_receives, a, 0);
}

/* ---- the catalog ---- */

void model_control_apply(struct model *m, const struct catalog_command *c,
                         struct catalog_result *out)
{
    struct catalog_command command = *c, read;
    struct buffer body = {0};
    if (command.spec.name.size == 0)
        command.spec.name = slice_of("-"); /* a command has a name, also if it is about no table */
    catalog_command_encode(&body, &command);
    must(catalog_command_decode(buffer_slice(&body), &read) == STATUS_OK);
    catalog_apply(m->catalog, buffer_slice(&body), out);
    buffer_deinit(&body);
    model_note(m, (uint64_t)c->op << 32 ^ out->code);
    if (out->code == REPLY_OK && out->table != NULL)
        model_partitions_sync(m, out->table);
}

struct catalog_command model_control_command(const struct model *m, enum catalog_op op)
{
    struct catalog_command c;
    catalog_command_init(&c, op, m->config, m->node_count, m->scheduler.now.ns / NS_PER_MS);
    return c;
}

void model_control_decide(struct model *m, enum catalog_op op, const struct decision *d)
{
    struct catalog_command c = model_control_command(m, op);
    struct catalog_result out;
    struct buffer body = {0};
    decision_encode(&body, d);
    c.decision = buffer_slice(&body);
    model_control_apply(m, &c, &out);
    buffer_deinit(&body);
}

/* A decision, or a split. */
static void run_change(struct model *m, const struct request *q)
{
    const bool splits = q->op == REQUEST_TABLE_SPLIT;
    struct catalog_command c =
        model_control_command(m, splits ? CATALOG_SPLIT : (enum catalog_op)q->decide.op);
    struct catalog_result out;
    *(splits ? &c.split : &c.decision) = splits ? q->table_split.split : q->decide.decision;
    model_control_apply(m, &c, &out);
    m->counts.decisions += out.code == REPLY_OK;
    answer_later(m, q, out.code, slice_make(NULL, 0));
}

/* As engine/node/request/advice.c. */
static void run_advice(struct model *m, const struct request *q)
{
    struct model_partition *p = model_partitions_find(m, q->partition);
    struct split_advice advice;
    if (p == NULL || p->epoch != q->epoch || p->leaderless) {
        answer_later(m, q, REPLY_WRONG_PARTITION, slice_make(NULL, 0));
        return;
    }
    struct split_question question = split_question_of(m->config, p->lo, p->hi);
    struct buffer bytes = {0};
    question.whole_collections = p->table->scenario->whole_collections;
    arena_reset(&m->arena);
    split_advise(&p->heat, model_now(m), &question, &m->arena, &advice);
    split_advice_encode(&bytes, &advice);
    answer_later(m, q, REPLY_OK, buffer_slice(&bytes));
    buffer_deinit(&bytes);
}

static void run_request(struct model *m, const struct request *q)
{
    if (q->op == REQUEST_DECIDE || q->op == REQUEST_TABLE_SPLIT)
        run_change(m, q);
    else if (q->op == REQUEST_PARTITION_HEAT)
        run_advice(m, q);
    else
        answer_later(m, q, REPLY_OVERLOADED, slice_make(NULL, 0));
}

/* ---- reports ---- */

static void report_partition(struct model *m, struct model_partition *p)
{
    const struct model_replica *leader = &p->replicas[p->leader];
    struct partition_report r = {.table_id = p->table->id,
                                 .partition = p->id,
                                 .member = leader->member,
                                 .epoch = p->epoch,
                                 .bytes = p->bytes};
    memcpy(r.totals, p->totals, sizeof r.totals);
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        r.excess_ms[kind] = excess_ms(&p->excess[kind], model_now(m));
    cluster_loads_take_partition(m->loads, model_now(m), &r);
    p->unreported = false;
}

static void report_node(struct model *m, uint32_t node)
{
    struct node_report r = {.node = node};
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        r.capacity_mcu[kind] = node_capacity_mcu(m->config, kind);
        r.consumed_mcu[kind] = m->nodes[node].consumed_mcu[kind];
    }
    cluster_loads_take_node(m->loads, model_now(m), &r);
}

static void reports_go(void *context, uint64_t argument)
{
    struct model *m = context;
    (void)argument;
    for (uint32_t node = 1; node <= m->node_count; node++) {
        if (!m->nodes[node].down)
            report_node(m, node);
    }
    for (uint32_t id = 1; id < m->partition_room; id++) {
        struct model_partition *p = m->partitions[id];
        if (p != NULL && (p->unreported || p->totals[0].consumed_mcu == 0) && !p->leaderless)
            report_partition(m, p);
        if (p != NULL && p->heat.state != NULL)
            heat_cool(&p->heat, model_now(m));
    }
    model_in(m, config_reports(m->config)->load_report_ms * NS_PER_MS, reports_go, m, 0);
}

void model_control_report_now(struct model *m, struct model_partition *p)
{
    report_partition(m, p);
    m->urgent_at = model_now(m);
    model_control_start(m);
}

/* ---- headroom of members ---- */

/* A request for tokens is answered in the same event: both ways are in the delay of the next. */
static void lease_request(struct model *m, uint32_t from, uint32_t to)
{
    struct model_node *requester = &m->nodes[from], *gives = &m->nodes[to];
    uint64_t number;
    int64_t demand_mcu;
    if (!member_is_request_due(&requester->members, to, model_now(m), &number, &demand_mcu))
        return;
    int64_t granted =
        member_grant(&gives->admission.buckets[ADMIT_WRITE], model_now(m), demand_mcu);
    member_granted(&requester->members, to, model_now(m), number, granted);
}

static void member_report(struct model *m, uint32_t from, uint32_t to)
{
    struct model_node *n = &m->nodes[from];
    struct token_bucket *b = &n->admission.buckets[ADMIT_WRITE];
    token_bucket_refill(b, model_now(m));
    members_reported(&m->nodes[to].members, from, model_now(m), b->balance, b->capacity,
                     node_admission_is_shared(&n->admission, ADMIT_WRITE, model_now(m)));
}

/* Every node tells every other node its headroom. */
static void members_go(void *context, uint64_t argument)
{
    struct model *m = context;
    (void)argument;
    for (uint32_t from = 1; from <= m->node_count; from++) {
        for (uint32_t to = 1; to <= m->node_count; to++) {
            if (from == to || m->nodes[from].down || m->nodes[to].down)
                continue;
            member_report(m, from, to);
            if (config_choices(m->config)->write_check == WRITE_CHECK_LEASE)
                lease_request(m, from, to);
        }
    }
    model_in(m, config_reports(m->config)->report_ms * NS_PER_MS, members_go, m, 0);
}

/* ---- the controller ---- */

static void controller_evaluates(void *context, uint64_t argument)
{
    struct model *m = context;
    struct control_view view = {.term = CONTROL_TERM,
                                .self = 1,
                                .node_count = m->node_count,
                                .catalog = m->catalog,
                                .loads = m->loads};
    const struct control_request *r;
    (void)argument;
    if (m->scheduler.now.ns < m->evaluate_at.ns)
        return;
    m->evaluate_at = INSTANT_NEVER;
    for (uint32_t node = 1; node <= m->node_count; node++)
        view.reachable[node] = !m->nodes[node].down;
    controller_evaluate(m->controller, model_now(m), &view);
    while ((r = controller_next_request(m->controller)) != NULL)
        run_request(m, &r->request);
    model_control_start(m);
}

/* Sets the time of the next evaluation. */
void model_control_start(struct model *m)
{
    struct instant at = controller_deadline(m->controller, CONTROL_TERM, m->urgent_at);
    if (at.ns < m->scheduler.now.ns)
        at.ns = m->scheduler.now.ns;
    if (at.ns >= m->evaluate_at.ns)
        return;
    m->evaluate_at = at;
    model_in(m, at.ns - m->scheduler.now.ns, controller_evaluates, m, 0);
}

void model_control_create(struct model *m)
{
    m->catalog = catalog_create();
    m->loads = cluster_loads_create();
    m->controller = controller_create(m->config);
    m->evaluate_at = INSTANT_NEVER;
    m->urgent_at = INSTANT_NEVER;
    for (uint32_t node = 1; node <= m->node_count; node++) {
        struct catalog_command c;
        struct catalog_result out;
        catalog_command_init(&c, CATALOG_NODE, m->config, m->node_count, 1);
        c.node = node;
        c.generation = 1;
        model_control_apply(m, &c, &out);
    }
}

void model_control_run(struct model *m)
{
    members_go(m, 0);
    reports_go(m, 0);
    model_control_start(m);
}

void model_control_destroy(struct model *m)
{
    while (!LIST_EMPTY(&m->answers))
        answer_destroy(LIST_FIRST(&m->answers));
    controller_destroy(m->controller);
    cluster_loads_destroy(m->loads);
    if (m->catalog != NULL)
        catalog_destroy(m->catalog);
    arena_deinit(&m->arena);
}
