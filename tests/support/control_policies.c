/* control_policies.c - policies of the controller's decision points that do what a case file says
 * (tests/unit/control/control_cases_test.c lists the commands), and show what they saw. */
#include "base/policies.h"
#include "control/decision_points.h"
#include "include/weir/policy.h"
#include "tests/check.h"
#include "tests/support/control_world.h"

static struct policies policies;

static struct {
    /* rates: what to do at each call */
    struct {
        char what; /* r: raise; t: raise to; l: lower; b: beside what there is */
        uint32_t index;
        int64_t rate_mcu, above_maximum;
        enum weir_rates_why why;
    } changes[4];
    uint32_t change_count;
    struct weir_split_trigger trigger;
    struct weir_split_decision decision;
    uint32_t pieces;
    int64_t allocation_mcu;
    bool raises;
    uint32_t place;       /* from the end of the offer; UINT32_MAX: nowhere */
    char rank;            /* e: the most expensive, c: the cheapest, b: below zero */
    uint32_t nodes;       /* that were offered */
    struct buffer saw[4]; /* by point: adaptive, split, demand, relocate */
    char reported[512];
    int report_count;
} script;

static void script_report(void *context, const char *text)
{
    (void)context;
    snprintf(script.reported, sizeof script.reported, "%s", text);
    script.report_count++;
}

/* ---- rates ---- */

static void script_change(struct weir_rates *r, uint32_t i)
{
    const uint32_t index = script.changes[i].index;
    const int64_t rate = script.changes[i].above_maximum > 0
                             ? weir_rates_maximum(r) + script.changes[i].above_maximum
                             : script.changes[i].rate_mcu;
    if (script.changes[i].what == 'r' ||
        (script.changes[i].what == 't' && weir_rates_allocation(r, index) < rate))
        weir_rates_raise(r, index, rate);
    if (script.changes[i].what == 'l')
        weir_rates_lower(r, index, rate, script.changes[i].why);
    if (script.changes[i].what != 'b')
        return;
    assert_int_equal(weir_rates_allocation(r, UINT32_MAX), 0);
    assert_int_equal(weir_rates_base(r, UINT32_MAX), 0);
    assert_int_equal(weir_rates_demand(r, UINT32_MAX), 0);
    assert_int_equal(weir_rates_use(r, UINT32_MAX), 0);
    assert_true(weir_rates_throttled_ns(r, UINT32_MAX) < 0);
    assert_null(weir_rates_state(r, UINT32_MAX));
    assert_int_equal(weir_rates_setting(r, (enum weir_rates_setting)99), 0);
    weir_rates_lower(r, 1, 1000, WEIR_RATES_UNUSED); /* valid, but it comes with an invalid one */
    weir_rates_lower(r, UINT32_MAX, 1000, WEIR_RATES_UNUSED);
}

static void script_adapt(struct weir_rates *r)
{
    if (weir_rates_kind(r) != WEIR_POLICY_WRITE)
        return;
    int64_t *calls = weir_rates_state(r, 0);
    struct buffer *saw = &script.saw[0];
    buffer_clear(saw);
    buffer_append_format(saw,
                         "limit %lld, maximum %lld, partitions %u, of the first: base %lld, "
                         "allocation %lld, demand %lld, use %lld, %s",
                         (long long)weir_rates_limit(r), (long long)weir_rates_maximum(r),
                         weir_rates_count(r), (long long)weir_rates_base(r, 0),
                         (long long)weir_rates_allocation(r, 0), (long long)weir_rates_demand(r, 0),
                         (long long)weir_rates_use(r, 0),
                         weir_rates_throttled_ns(r, 0) > 0 ? "throttled" : "not throttled");
    if (calls != NULL)
        buffer_append_format(saw, ", calls %lld", (long long)++*calls);
    for (uint32_t i = 0; i < script.change_count; i++)
        script_change(r, i);
}

/* ---- splits ---- */

static void script_trigger(struct weir_split *c, struct weir_split_trigger *trigger)
{
    const int64_t consumed = weir_split_consumed(c, WEIR_POLICY_WRITE, 5 * NS_PER_S);
    struct buffer *saw = &script.saw[1];
    if (consumed < 500000) /* the partitions that have nothing to do */
        return;
    buffer_clear(saw);
    buffer_append_format(saw,
                         "maximum %lld, consumed %lld, excess %lld ns, age %lld s, partitions %u",
                         (long long)weir_split_maximum(c, WEIR_POLICY_WRITE), (long long)consumed,
                         (long long)weir_split_excess_ns(c, WEIR_POLICY_WRITE),
                         (long long)weir_split_age_ns(c) / NS_PER_S, weir_split_partitions(c));
    assert_int_equal(weir_split_points(c), 0); /* not yet */
    assert_int_equal(weir_split_consumed(c, (enum weir_policy_kind)9, NS_PER_S), 0);
    assert_int_equal(weir_split_maximum(c, (enum weir_policy_kind)9), 0);
    assert_int_equal(weir_split_table_limit(c, (enum weir_policy_kind)9), 0);
    assert_int_equal(weir_split_setting(c, (enum weir_split_setting)99), 0);
    assert_true(weir_split_consumed(c, WEIR_POLICY_WRITE, INT64_MAX) >= 0);
    assert_true(weir_split_consumed(c, WEIR_POLICY_WRITE, INT64_MIN) >= 0);
    *trigger = script.trigger;
}

static void script_decide(struct weir_split *c, struct weir_split_decision *decision)
{
    struct buffer *saw = &script.saw[1];
    buffer_clear(saw);
    buffer_append_format(saw, "%s, points %u, shares",
                         weir_split_advice(c) == WEIR_SPLIT_ADVISED ? "advised" : "not advised",
                         weir_split_points(c));
    for (uint32_t i = 0; i < 4; i++)
        buffer_append_format(saw, " %u", weir_split_share_ppm(c, WEIR_POLICY_WRITE, i));
    assert_int_equal(weir_split_share_ppm(c, WEIR_POLICY_WRITE, UINT32_MAX), 0);
    *decision = script.decision;
}

static uint32_t script_pieces(struct weir_split *c)
{
    (void)c;
    return script.pieces;
}

/* ---- peaks ---- */

static bool script_raise(const struct weir_peak *p, int64_t allocation_mcu[2])
{
    struct buffer *saw = &script.saw[2];
    buffer_clear(saw);
    buffer_append_format(
        saw, "consumed %lld, allocated %lld, warm %lld, maximum %lld",
        (long long)weir_peak_consumed(p, WEIR_POLICY_WRITE, weir_peak_window_ns(p)),
        (long long)weir_peak_allocated(p, WEIR_POLICY_WRITE),
        (long long)weir_peak_warm(p, WEIR_POLICY_WRITE),
        (long long)weir_peak_maximum(p, WEIR_POLICY_WRITE));
    assert_int_equal(weir_peak_consumed(p, (enum weir_policy_kind)5, NS_PER_S), 0);
    assert_int_equal(weir_peak_warm(p, (enum weir_policy_kind)5), 0);
    assert_int_equal(allocation_mcu[0] | allocation_mcu[1], 0);
    allocation_mcu[WEIR_POLICY_WRITE] = script.allocation_mcu;
    return script.raises;
}

/* ---- moves ---- */

static uint32_t script_place(const struct weir_move *m)
{
    static const char *const WHY[] = {[WEIR_MOVE_LEAVE] = "leave", [WEIR_MOVE_BALANCE] = "balance"};
    const uint32_t nodes = script.nodes = weir_move_nodes(m), why = weir_move_why(m);
    struct buffer *saw = &script.saw[3];
    buffer_clear(saw);
    buffer_append_format(saw,
                         "%s, from node %u%s, nodes %u, needs %lld, of the first: capacity %lld, "
                         "replicas %lld",
                         why < COUNT_OF(WHY) && WHY[why] != NULL ? WHY[why] : "other",
                         weir_move_from(m), weir_move_leads(m) ? ", leads" : "", nodes,
                         (long long)weir_move_required(m, WEIR_POLICY_WRITE),
                         (long long)weir_move_capacity(m, 0, WEIR_POLICY_WRITE),
                         (long long)weir_move_replicas(m, 0));
    assert_int_equal(weir_move_node(m, nodes), 0);
    assert_int_equal(weir_move_capacity(m, UINT32_MAX, WEIR_POLICY_WRITE), 0);
    assert_int_equal(weir_move_reserved(m, 0, (enum weir_policy_kind)5), 0);
    assert_int_equal(weir_move_replicas(m, nodes), 0);
    return script.place == UINT32_MAX ? WEIR_MOVE_NOWHERE : nodes - 1 - script.place;
}

static int64_t script_rank(const struct weir_move *m, enum weir_policy_kind kind)
{
    const int64_t cost = weir_move_cost(m, kind);
    assert_int_equal(weir_move_nodes(m), 0); /* not yet */
    return script.rank == 'b' ? -1 : script.rank == 'c' ? 1000000000 - cost : cost;
}

/* ---- commands ---- */

static const struct weir_adaptive_policy adaptive = {
    .size = sizeof adaptive, .partition_bytes = 8, .name = "scripted", .adapt = script_adapt};
static const struct weir_split_policy split = {.size = sizeof split,
                                               .name = "scripted",
                                               .trigger = script_trigger,
                                               .decide = script_decide,
                                               .pieces = script_pieces};
static const struct weir_demand_policy demand = {
    .size = sizeof demand, .name = "scripted", .raise = script_raise};
static const struct weir_relocate_policy relocate = {
    .size = sizeof relocate, .name = "scripted", .place = script_place, .rank = script_rank};
static const struct weir_adaptive_policy *const adaptives[] = {&adaptive};
static const struct weir_split_policy *const splits[] = {&split};
static const struct weir_demand_policy *const demands[] = {&demand};
static const struct weir_relocate_policy *const relocates[] = {&relocate};
static const char *const POINTS[] = {"adaptive", "split", "demand", "relocate"};

/* `policy POINT`: it is scripted from now on. */
static void run_policy(void *world, struct case_words *c)
{
    struct control_world *w = world;
    const int point = case_choice(case_word(c, 1), POINTS, COUNT_OF(POINTS));
    const struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI,
                                              .size = sizeof plugin,
                                              .adaptive_count = point == 0,
                                              .adaptive = adaptives,
                                              .split_count = point == 1,
                                              .split = splits,
                                              .demand_count = point == 2,
                                              .demand = demands,
                                              .relocate_count = point == 3,
                                              .relocate = relocates};
    char *const names[] = {w->c.config.adaptive_policy, w->c.config.split_policy,
                           w->c.config.demand_policy, w->c.config.relocate_policy};
    struct buffer error = {0};
    for (size_t i = 0; i < COUNT_OF(script.saw); i++)
        buffer_deinit(&script.saw[i]);
    memset(&script, 0, sizeof script);
    policies = (struct policies){.report = script_report};
    assert_int_equal(policies_add(&policies, &plugin, "FILE.so", NULL, &error), STATUS_OK);
    w->c.config.policies = &policies;
    memcpy(names[point], "scripted", sizeof "scripted");
    assert_int_equal(control_policies_check(&w->c.config, &error), STATUS_OK);
    buffer_deinit(&error);
}

/* `change WHAT I RATE [WHY]`: rates; `change none`: no more. RATE: mcu, or +N above the maximum. */
static void run_change(void *world, struct case_words *c)
{
    (void)world;
    static const char *const WHAT[] = {"raise", "to", "lower", "beside"}, *const WHY[] = {
                                                                              "unused",
                                                                              "above-limit",
                                                                              "luck"};
    static const enum weir_rates_why REASONS[] = {WEIR_RATES_UNUSED, WEIR_RATES_ABOVE_LIMIT,
                                                  (enum weir_rates_why)7};
    if (strcmp(case_word(c, 1), "none") == 0) {
        script.change_count = 0;
        return;
    }
    const uint32_t i = script.change_count++;
    assert_true(i < COUNT_OF(script.changes));
    memset(&script.changes[i], 0, sizeof script.changes[i]);
    script.changes[i].what = "rtlb"[case_choice(case_word(c, 1), WHAT, COUNT_OF(WHAT))];
    if (script.changes[i].what == 'b')
        return;
    script.changes[i].index = (uint32_t)case_word_number(c, 2);
    const char *rate = case_word(c, 3);
    script.changes[i].rate_mcu = case_number(rate);
    script.changes[i].above_maximum = rate[0] == '+' ? case_number(rate) : 0;
    if (c->count > 4)
        script.changes[i].why = REASONS[case_choice(case_word(c, 4), WHY, COUNT_OF(WHY))];
}

/* `trigger [why=N] [kind=N] [rate=MCU] [evenly=N] [pieces=N]` */
static void run_trigger(void *world, struct case_words *c)
{
    (void)world;
    script.trigger = (struct weir_split_trigger){
        .why =
            (enum weir_split_trigger_why)case_option_number(c, "why", WEIR_SPLIT_TRIGGER_CONSUMED),
        .kind = (enum weir_policy_kind)case_option_number(c, "kind", WEIR_POLICY_WRITE),
        .rate_mcu = case_option_number(c, "rate", 600000),
        .evenly = (uint32_t)case_option_number(c, "evenly", 0)};
    script.pieces = (uint32_t)case_option_number(c, "pieces", 0);
}

/* `decide HOW POINTS PIECES`: numbers; HOW: 0 the leader's whole, as
 * enum weir_split_decision_how. */
static void run_decide(void *world, struct case_words *c)
{
    (void)world;
    static const char *const HOW[] = {[WEIR_SPLIT_DECISION_WHOLE] = "whole",
                                      [WEIR_SPLIT_DECISION_POINTS] = "points",
                                      [WEIR_SPLIT_DECISION_EVENLY] = "evenly",
                                      [WEIR_SPLIT_DECISION_EVENLY + 1] = "oddly"};
    script.decision = (struct weir_split_decision){
        .how = (uint32_t)case_choice(case_word(c, 1), HOW, COUNT_OF(HOW)),
        .points = (uint32_t)case_option_number(c, "points", 0)};
    script.pieces = (uint32_t)case_option_number(c, "pieces", 2);
}

/* `raise MCU`; of nothing: no change */
static void run_raise(void *world, struct case_words *c)
{
    (void)world;
    script.raises = c->count > 1;
    if (script.raises)
        script.allocation_mcu = case_word_number(c, 1);
}

/* `place N|nowhere|beside [rank=cheap|expensive|below-zero]`: N from the end of the offer */
static void run_place(void *world, struct case_words *c)
{
    (void)world;
    const char *where = case_word(c, 1), *rank = case_option(c, "rank");
    script.place = strcmp(where, "nowhere") == 0  ? UINT32_MAX
                   : strcmp(where, "beside") == 0 ? script.nodes + 1
                                                  : (uint32_t)case_number(where);
    script.rank = rank == NULL ? 'e' : rank[0];
}

static void run_saw(void *world, struct case_words *c)
{
    (void)world;
    for (size_t i = 0; i < COUNT_OF(POINTS); i++) {
        if (script.saw[i].size > 0)
            case_print(c, "saw %.*s\n", (int)script.saw[i].size, (const char *)script.saw[i].data);
    }
}

/* How many results were invalid, and what was told of it. */
static void run_reported(void *world, struct case_words *c)
{
    (void)world;
    const uint64_t invalid = policies.entries[0].invalid_results;
    case_print(c, "%llu invalid results, reported %d times", (unsigned long long)invalid,
               script.report_count);
    case_print(c, script.report_count > 0 ? ": %s\n" : "\n", script.reported);
}

const struct case_verb control_policy_verbs[] = {
    {.name = "policy", .run = run_policy},   {.name = "change", .run = run_change},
    {.name = "trigger", .run = run_trigger}, {.name = "decide", .run = run_decide},
    {.name = "raise", .run = run_raise},     {.name = "place", .run = run_place},
    {.name = "saw", .run = run_saw},         {.name = "reported", .run = run_reported},
    {.more = catalog_table_verbs},
};
