/* control_cases_test.c - what the controller decides: tests/cases/control
 * (tests/support/case_file.h, case_words.h). Beside the commands of the catalog
 * (tests/unit/engine/catalog_cases_test.c); times have a unit, amounts are write units per second:
 *
 *   cluster NODES [NAME=VALUE..]   a fresh catalog, and a controller that has seen nothing
 *   node N [rcu=N] [wcu=N]         there is such a node, and it reports this capacity
 *   lost N, back N                 no word from the node; it is heard again
 *   term N                         the term in which this node leads the catalog
 *   demand NAME UNITS..            of each partition (`-`: it does not report), as far as its
 *                                  allocation goes; the rest is refused. Of no partition: no report
 *   load NAME I FIELD=N..          what its reports tell instead; `report`: once, now, in amounts;
 *                                  `note`: in the next report. Fields: consumed, refused, refusals
 *                                  (by the maximum), index-refusals, index, because,
 *                                  heavy=KEY#SHARD:UNITS,.., direction, bytes, excess (a time),
 *                                  epoch (difference)
 *   nodes-report, busy N UNITS     nodes report the load that they lead, and this one beside it
 *   evaluate TIME [TIMES]              time passes without reports, then the controller evaluates
 *   run TIME                       reports and evaluations every 500 ms
 *   until WHAT TIME                the same until a decision or question of this kind
 *   catalog refusing|unresponsive|available it answers and takes no decision; it does not answer
 *   answer ok|overloaded|VERDICT   to the last question; accept: the catalog takes that split
 *   policy POINT                   a scripted one from now on: adaptive, split, demand, relocate
 *                                  (tests/support/control_policies.c says what it does)
 *   saw, reported                  what it saw at the last call; its invalid results
 *   reasons on|off                 whether the texts of events are shown
 *   deadline [urgent=TIME]         the controller's next evaluation
 *   shards-for UNITS.. */
#include "control/controller_internal.h"
#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/support/control_world.h"

static const char *const OP_NAMES[CATALOG_OPS] = {
    [CATALOG_EVENT] = "event",      [CATALOG_MOVE] = "move", [CATALOG_RATES] = "rates",
    [CATALOG_PEAK] = "peak",        [CATALOG_LEAD] = "lead", [CATALOG_MERGE] = "merge",
    [CATALOG_KEY_SHARDS] = "shards"};

/* ---- output ---- */

static void print_decision(struct case_words *c, const struct control_world *w, uint32_t i)
{
    const struct decision *d = &w->decisions[i];
    const struct event *e = &d->event;
    const enum catalog_op op = w->ops[i];
    const struct table *t =
        catalog_find_id(w->c.catalog, d->table_id != 0 ? d->table_id : e->table_id);
    case_print(c, "%s", OP_NAMES[op]);
    if (t != NULL)
        case_print(c, " %.*s", (int)t->name.size, (const char *)t->name.data);
    if (d->partition != 0)
        case_print(c, "/%u", d->partition);
    if (op == CATALOG_MERGE)
        case_print(c, "@%llu into /%u@%llu", (unsigned long long)d->epoch, d->merge_with,
                   (unsigned long long)d->merge_with_epoch);
    if (op == CATALOG_MOVE)
        case_print(c, " node %u -> %u", d->from_node, d->to_node);
    if (op == CATALOG_LEAD)
        case_print(c, " node %u", d->to_node);
    if (op == CATALOG_KEY_SHARDS)
        case_print(c, " %u%s", d->key_shards.shards, d->key_shards.counter ? " cells" : "");
    if (d->has_event) {
        case_print(c, ": %s", event_kind_name(e->kind));
        if (e->figure.size > 0)
            case_print(c, ", %.*s %lld -> %lld", (int)e->figure.size, (const char *)e->figure.data,
                       (long long)e->before, (long long)e->after);
    }
    case_print(c, "\n");
    if (d->has_event && !w->terse)
        case_append_text(c->out, e->reason, true);
}

static void print_question(struct case_words *c, const struct control_request *request)
{
    struct table_split s;
    case_print(c, "ask node %u ", request->node);
    if (request->request.op != REQUEST_TABLE_SPLIT) {
        const bool heat = request->request.op == REQUEST_PARTITION_HEAT;
        assert_true(heat || request->request.op == REQUEST_PARTITION_MIDDLE);
        case_print(c, "%s of /%u\n", heat ? "for advice" : "for the middle",
                   request->request.partition);
        return;
    }
    assert_int_equal(table_split_decode(request->request.table_split.split, &s), STATUS_OK);
    case_print(c, "to split /%u@%llu:", s.partition, (unsigned long long)s.epoch);
    for (uint32_t i = 0; i <= s.point_count; i++)
        case_print(c, "%s %u", i == 0 ? "" : ",", s.share_ppm[ADMIT_WRITE][i]);
    case_print(c, " ppm of the writes\n");
}

static void run_shards_for(void *world, struct case_words *c)
{
    (void)world;
    for (const char *units; (units = case_next(c)) != NULL;)
        case_print(c, "%s: %u\n", units,
                   control_shards_for(case_number(units) * MCU_PER_UNIT, 800));
}

static void run_deadline(void *world, struct case_words *c)
{
    const struct control_world *w = world;
    const char *urgent = case_option(c, "urgent");
    const struct instant at =
        urgent == NULL ? (struct instant){0} : instant_add(w->now, duration_ms(case_ms(urgent)));
    const struct instant due = controller_deadline(w->controller, 1, at);
    case_print(c, "in %lld ms\n", (long long)(due.ns - w->now.ns) / NS_PER_MS);
}

/* ---- the world ---- */

static void run_cluster(void *world, struct case_words *c)
{
    struct control_world *w = world;
    control_world_end(w);
    control_world_begin(w);
    catalog_world_set(&w->c, c, 2);
    for (uint32_t node = 1; node <= case_word_number(c, 1); node++)
        control_world_add_node(w, node);
}

static void run_node(void *world, struct case_words *c)
{
    struct control_world *w = world;
    const uint32_t node = (uint32_t)case_word_number(c, 1);
    assert_in_range(node, 1, CONTROL_NODES);
    struct node_report *r = &w->nodes[node];
    if (r->node == 0)
        control_world_add_node(w, node);
    int64_t *capacity = r->capacity_mcu;
    capacity[ADMIT_READ] = case_option_number(c, "rcu", capacity[ADMIT_READ] / 1000) * 1000;
    capacity[ADMIT_WRITE] = case_option_number(c, "wcu", capacity[ADMIT_WRITE] / 1000) * 1000;
    if (c->count > 2)
        cluster_loads_take_node(w->loads, w->now, r);
}

static void run_lost_or_back(void *world, struct case_words *c)
{
    struct control_world *w = world;
    w->view.reachable[case_word_number(c, 1)] = strcmp(case_word(c, 0), "back") == 0;
}

static void run_term(void *world, struct case_words *c)
{
    struct control_world *w = world;
    w->view.term = (uint64_t)case_word_number(c, 1);
}

static void run_reasons(void *world, struct case_words *c)
{
    struct control_world *w = world;
    w->terse = strcmp(case_word(c, 1), "off") == 0;
}

static void run_catalog(void *world, struct case_words *c)
{
    struct control_world *w = world;
    w->refusing = case_flag(c, "refusing");
    w->unresponsive = case_flag(c, "unresponsive");
    assert_true(w->refusing || w->unresponsive || case_flag(c, "available"));
}

/* ---- time ---- */

struct run {
    struct control_world *w;
    struct case_words *c;
    const char *until;                      /* NULL: nothing */
    int64_t ms;                             /* so far */
    int quiet[2];                           /* decisions that are only counted: rates, peaks */
    int64_t consumed, refused, least, most; /* units, in a second */
};

/* Prints what the last evaluation decided and requested. Whether it is what the run waits for. */
static bool run_print(struct run *r)
{
    struct control_world *w = r->w;
    const char *until = r->until == NULL ? "" : r->until;
    bool found = false;
    for (uint32_t i = 0; i < w->decision_count; i++) {
        const bool quiet = w->ops[i] == CATALOG_RATES || w->ops[i] == CATALOG_PEAK;
        const bool is = strcmp(until, "decision") == 0 || strcmp(until, OP_NAMES[w->ops[i]]) == 0;
        found |= is;
        if (quiet && !is) {
            r->quiet[w->ops[i] == CATALOG_PEAK]++;
            continue;
        }
        case_print(r->c, "%.1f s: ", (double)r->ms / 1000);
        print_decision(r->c, w, i);
    }
    if (!w->has_request)
        return found;
    case_print(r->c, "%.1f s: ", (double)r->ms / 1000);
    print_question(r->c, &w->request);
    return found || strcmp(until, "question") == 0;
}

static void run_count(struct run *r)
{
    if (r->ms / CONTROL_EVALUATION_MS % 2 == 1)
        r->consumed = r->refused = 0;
    for (int i = 0; i < CONTROL_TABLES_MAX; i++) {
        r->consumed += r->w->tables[i].consumed / MCU_PER_UNIT;
        r->refused += r->w->tables[i].refused / MCU_PER_UNIT;
    }
    if (r->ms / CONTROL_EVALUATION_MS % 2 == 1)
        return;
    r->least = r->consumed < r->least ? r->consumed : r->least;
    r->most = r->consumed > r->most ? r->consumed : r->most;
}

static void run_for(struct run *r, int64_t ms)
{
    bool found = false;
    r->least = INT64_MAX;
    while (!found && r->ms < ms) {
        r->ms += CONTROL_EVALUATION_MS;
        control_world_step(r->w);
        run_count(r);
        found = run_print(r);
    }
    if (r->until != NULL && !found)
        case_print(r->c, "no %s in %lld s\n", r->until, (long long)ms / 1000);
    if (r->quiet[0] > 0)
        case_print(r->c, "new rates %d times\n", r->quiet[0]);
    if (r->quiet[1] > 0)
        case_print(r->c, "new peaks %d times\n", r->quiet[1]);
}

static void run_run(void *world, struct case_words *c)
{
    struct run r = {.w = world, .c = c};
    run_for(&r, case_word_ms(c, 1));
    if (r.consumed + r.refused > 0)
        case_print(c, "consumed %lld to %lld a second, %lld of 1000 refused in the last\n",
                   (long long)r.least, (long long)r.most,
                   (long long)(r.refused * 1000 / (r.consumed + r.refused)));
}

static void run_until(void *world, struct case_words *c)
{
    struct run r = {.w = world, .c = c, .until = case_word(c, 1)};
    run_for(&r, case_word_ms(c, 2));
}

static void run_evaluate(void *world, struct case_words *c)
{
    struct control_world *w = world;
    const int64_t times = c->count > 2 ? case_word_number(c, 2) : 1;
    bool any = false;
    for (int64_t k = 0; k < times; k++) {
        control_world_evaluate(w, case_word_ms(c, 1));
        any |= w->decision_count > 0;
        for (uint32_t i = 0; i < w->decision_count; i++)
            print_decision(c, w, i);
        if (w->has_request) {
            print_question(c, &w->request);
            any = true;
        }
    }
    if (!any)
        case_print(c, "nothing\n");
}

/* ---- the files ---- */

static void run_command(void *world, struct slice command, struct buffer *out)
{
    static const struct case_verb VERBS[] = {
        {.name = "cluster", .run = run_cluster},
        {.name = "node", .run = run_node},
        {.name = "lost", .run = run_lost_or_back},
        {.name = "back", .run = run_lost_or_back},
        {.name = "term", .run = run_term},
        {.name = "reasons", .run = run_reasons},
        {.name = "catalog", .run = run_catalog},
        {.name = "evaluate", .run = run_evaluate},
        {.name = "run", .run = run_run},
        {.name = "until", .run = run_until},
        {.name = "deadline", .run = run_deadline},
        {.name = "shards-for", .run = run_shards_for},
        {.more = control_load_verbs},
    };
    case_words_run(VERBS, world, command, out);
}

static void *begin(void)
{
    static struct control_world w;
    case_words_begin();
    control_world_begin(&w);
    return &w;
}

static void end(void *world)
{
    control_world_end(world);
    *(struct control_world *)world = (struct control_world){0};
}

TEST(the_decisions_are_those_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run_command};
    case_files_run("control/*.case", &FORMAT);
}
