/* control_policy_test.c - policies of the controller's decision points: what they see, what comes
 * of their decisions, and that invalid results change nothing. */
#include "base/policies.h"

#include "base/settings/admission.h"
#include "base/settings/control.h"
#include "base/settings/replication.h"
#include "base/settings/split.h"
#include "base/settings/tables.h"
#include "control/decision_points.h"
#include "engine/admission/capacity.h"
#include "engine/item/storage_key.h"
#include "include/weir/policy.h"
#include "tests/check.h"
#include "tests/support/control_fixture.h"

static struct {
    char text[512];
    int count;
} told;

static void tell(void *context, const char *text)
{
    (void)context;
    snprintf(told.text, sizeof told.text, "%s", text);
    told.count++;
}

static struct policies policies;

/* A fixture whose settings name the policy `scripted` for each point of the plug-in. */
static void fixture_with(struct control_fixture *w, const struct weir_policy_plugin *plugin)
{
    struct buffer error = {0};
    memset(&told, 0, sizeof told);
    policies = (struct policies){.report = tell};
    assert_int_equal(policies_add(&policies, plugin, "FILE.so", NULL, &error), STATUS_OK);
    control_fixture_init(w, 3);
    w->config.policies = &policies;
    if (plugin->adaptive_count > 0)
        memcpy(w->config.adaptive_policy, "scripted", sizeof "scripted");
    if (plugin->split_count > 0)
        memcpy(w->config.split_policy, "scripted", sizeof "scripted");
    if (plugin->demand_count > 0)
        memcpy(w->config.demand_policy, "scripted", sizeof "scripted");
    if (plugin->relocate_count > 0)
        memcpy(w->config.relocate_policy, "scripted", sizeof "scripted");
    assert_int_equal(control_policies_check(&w->config, &error), STATUS_OK);
    buffer_deinit(&error);
}

static void expect_told(const char *point, uint64_t times)
{
    char begin[64];
    snprintf(begin, sizeof begin, "%s policy 'scripted' of FILE.so ", point);
    if (told.count != 1 || strstr(told.text, begin) == NULL ||
        strstr(told.text, "Such decisions change nothing") == NULL)
        fail_msg("%s is told %d times: %s", begin, told.count, told.text);
    assert_in_range(policies.entries[0].invalid_results, times, UINT64_MAX);
}

/* ---- names ---- */

TEST(a_name_that_no_policy_has_is_told_with_those_there_are)
{
    struct config config;
    struct buffer error = {0};
    config_init(&config, PROFILE_RESEARCH);
    assert_int_equal(control_policies_check(&config, &error), STATUS_OK);
    memcpy(config.adaptive_policy, "luck", sizeof "luck");
    assert_int_equal(control_policies_check(&config, &error), STATUS_MALFORMED);
    buffer_append_u8(&error, 0);
    assert_non_null(strstr((const char *)error.data, "adaptive_policy 'luck' is not known"));
    assert_non_null(strstr((const char *)error.data, "one of proportional"));
    assert_true(control_policy_is_own(POLICY_ADAPTIVE, "proportional"));
    assert_false(control_policy_is_own(POLICY_PARTITION, "proportional"));
    buffer_deinit(&error);
}

/* ---- allocations ---- */

static struct {
    bool saw;
    int64_t limit, maximum, base, allocation, demand, use, throttled_ns, calls;
    uint32_t count;
    void (*then)(struct weir_rates *r);
} rates;

static void scripted_adapt(struct weir_rates *r)
{
    if (weir_rates_kind(r) != WEIR_POLICY_WRITE)
        return;
    int64_t *calls = weir_rates_state(r, 0);
    if (calls != NULL)
        rates.calls = ++*calls;
    rates.saw = true;
    rates.limit = weir_rates_limit(r);
    rates.maximum = weir_rates_maximum(r);
    rates.count = weir_rates_count(r);
    rates.base = weir_rates_base(r, 0);
    rates.allocation = weir_rates_allocation(r, 0);
    rates.demand = weir_rates_demand(r, 0);
    rates.use = weir_rates_use(r, 0);
    rates.throttled_ns = weir_rates_throttled_ns(r, 0);
    if (rates.then != NULL)
        rates.then(r);
}

static const struct weir_adaptive_policy adaptive = {
    .size = sizeof adaptive, .partition_bytes = 8, .name = "scripted", .adapt = scripted_adapt};
static const struct weir_adaptive_policy *const adaptives[] = {&adaptive};
static const struct weir_policy_plugin adaptive_plugin = {.abi = WEIR_POLICY_ABI,
                                                          .size = sizeof adaptive_plugin,
                                                          .adaptive_count = 1,
                                                          .adaptive = adaptives};

/* A table of two partitions of 700, of which the first is asked for 900 for a while. */
static const struct table *fixture_skewed(struct control_fixture *w)
{
    memset(&rates, 0, sizeof rates);
    fixture_with(w, &adaptive_plugin);
    const struct table *t = control_fixture_create(w, "orders", BILLING_PROVISIONED, 10, 1400);
    struct demand d = {.units = {900, 100}};
    assert_int_equal(t->partition_count, 2);
    for (int i = 0; i < 20; i++) {
        control_fixture_serve(w, catalog_find(w->catalog, slice_of("orders")), &d, 500);
        control_fixture_evaluate(w, 500, true);
    }
    return catalog_find(w->catalog, slice_of("orders"));
}

static void raise_the_first(struct weir_rates *r)
{
    if (weir_rates_allocation(r, 0) < 800000)
        weir_rates_raise(r, 0, 800000);
}

TEST(a_policy_of_allocations_sees_demand_and_what_it_raises_is_decided)
{
    struct control_fixture w;
    const struct table *t = fixture_skewed(&w);
    assert_true(rates.saw);
    assert_int_equal(rates.limit, 1400000);
    assert_int_equal(rates.maximum, partition_max_mcu(&w.config, ADMIT_WRITE));
    assert_int_equal(rates.count, t->partition_count);
    assert_int_equal(rates.base, 1400000 / t->partition_count);
    assert_int_equal(rates.allocation, rates.base);
    assert_in_range(rates.demand, 890000, 910000);
    assert_int_equal(rates.use, rates.base);
    assert_true(rates.throttled_ns > 0);
    assert_in_range(rates.calls, 5, 15); /* its state is kept from evaluation to evaluation */
    rates.then = raise_the_first;
    struct demand d = {.units = {900, 100}};
    for (int i = 0; i < 4; i++) {
        control_fixture_serve(&w, catalog_find(w.catalog, slice_of("orders")), &d, 500);
        control_fixture_evaluate(&w, 500, true);
    }
    t = catalog_find(w.catalog, slice_of("orders"));
    assert_int_equal(t->partitions[0].rate_mcu[ADMIT_WRITE], 800000);
    assert_int_equal(told.count, 0);
    control_fixture_deinit(&w);
}

static void raise_what_is_not(struct weir_rates *r)
{
    weir_rates_raise(r, weir_rates_count(r), 800000);
}

static void raise_too_high(struct weir_rates *r)
{
    weir_rates_raise(r, 0, weir_rates_maximum(r) + 1);
}

static void raise_to_less(struct weir_rates *r)
{
    weir_rates_raise(r, 0, 1);
}

static void lower_below_zero(struct weir_rates *r)
{
    weir_rates_lower(r, 0, -1, WEIR_RATES_UNUSED);
}

static void lower_to_more(struct weir_rates *r)
{
    weir_rates_lower(r, 0, INT64_MAX, WEIR_RATES_UNUSED);
}

static void lower_for_no_reason(struct weir_rates *r)
{
    weir_rates_lower(r, 0, 1, (enum weir_rates_why)7);
}

static void change_twice(struct weir_rates *r)
{
    weir_rates_lower(r, 0, 2000, WEIR_RATES_UNUSED);
    weir_rates_lower(r, 0, 1000, WEIR_RATES_UNUSED);
}

static void look_beside_it(struct weir_rates *r)
{
    assert_int_equal(weir_rates_allocation(r, UINT32_MAX), 0);
    assert_int_equal(weir_rates_base(r, UINT32_MAX), 0);
    assert_int_equal(weir_rates_demand(r, UINT32_MAX), 0);
    assert_int_equal(weir_rates_use(r, UINT32_MAX), 0);
    assert_true(weir_rates_throttled_ns(r, UINT32_MAX) < 0);
    assert_null(weir_rates_state(r, UINT32_MAX));
    assert_int_equal(weir_rates_setting(r, (enum weir_rates_setting)99), 0);
    weir_rates_lower(r, 1, 1000,
                     WEIR_RATES_UNUSED); /* valid, but it comes with an invalid result */
    weir_rates_lower(r, UINT32_MAX, 1000, WEIR_RATES_UNUSED);
}

/* ADAPTIVE-1 */
TEST(an_invalid_result_about_allocations_changes_nothing_and_is_reported_once)
{
    static void (*const cases[])(struct weir_rates *) = {
        raise_what_is_not, raise_too_high,      raise_to_less, lower_below_zero,
        lower_to_more,     lower_for_no_reason, change_twice,  look_beside_it,
    };
    struct control_fixture w;
    fixture_skewed(&w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rates.then = cases[i];
        control_fixture_evaluate(&w, 1500, true);
        assert_int_equal(w.decision_count, 0);
        assert_int_equal(policies.entries[0].invalid_results, i + 1);
    }
    expect_told("adaptive", 8);
    control_fixture_deinit(&w);
}

/* ---- splits ---- */

static struct {
    struct weir_wish wish;
    struct weir_choice choice;
    uint32_t pieces;
    int64_t maximum, consumed, excess_ns, age_ns;
    uint32_t partitions, advice, points, share_ppm[4];
} cuts;

static void scripted_wish(struct weir_cut *c, struct weir_wish *wish)
{
    int64_t consumed = weir_cut_consumed(c, WEIR_POLICY_WRITE, 5 * NS_PER_S);
    if (consumed < 500000) /* the partitions that have nothing to do */
        return;
    cuts.consumed = consumed;
    cuts.maximum = weir_cut_maximum(c, WEIR_POLICY_WRITE);
    cuts.excess_ns = weir_cut_excess_ns(c, WEIR_POLICY_WRITE);
    cuts.age_ns = weir_cut_age_ns(c);
    cuts.partitions = weir_cut_partitions(c);
    assert_int_equal(weir_cut_points(c), 0); /* not yet */
    assert_int_equal(weir_cut_consumed(c, (enum weir_policy_kind)9, NS_PER_S), 0);
    assert_int_equal(weir_cut_maximum(c, (enum weir_policy_kind)9), 0);
    assert_int_equal(weir_cut_table_limit(c, (enum weir_policy_kind)9), 0);
    assert_int_equal(weir_cut_setting(c, (enum weir_cut_setting)99), 0);
    assert_true(weir_cut_consumed(c, WEIR_POLICY_WRITE, INT64_MAX) >= 0);
    assert_true(weir_cut_consumed(c, WEIR_POLICY_WRITE, INT64_MIN) >= 0);
    *wish = cuts.wish;
}

static void scripted_choose(struct weir_cut *c, struct weir_choice *choice)
{
    cuts.advice = weir_cut_advice(c);
    cuts.points = weir_cut_points(c);
    for (uint32_t i = 0; i < 4; i++)
        cuts.share_ppm[i] = weir_cut_share_ppm(c, WEIR_POLICY_WRITE, i);
    assert_int_equal(weir_cut_share_ppm(c, WEIR_POLICY_WRITE, UINT32_MAX), 0);
    *choice = cuts.choice;
}

static uint32_t scripted_pieces(struct weir_cut *c)
{
    (void)c;
    return cuts.pieces;
}

static const struct weir_split_policy split = {.size = sizeof split,
                                               .name = "scripted",
                                               .wish = scripted_wish,
                                               .choose = scripted_choose,
                                               .pieces = scripted_pieces};
static const struct weir_split_policy *const splits[] = {&split};
static const struct weir_policy_plugin split_plugin = {
    .abi = WEIR_POLICY_ABI, .size = sizeof split_plugin, .split_count = 1, .split = splits};

/* A table of four partitions, of which the first consumes 600 for a while. */
static const struct table *fixture_busy(struct control_fixture *w, struct weir_wish wish)
{
    memset(&cuts, 0, sizeof cuts);
    fixture_with(w, &split_plugin);
    config_edit_control(&w->config)->control_adaptive = 0;
    const struct table *t = control_fixture_create(w, "orders", BILLING_ON_DEMAND, 0, 0);
    struct demand d = {.units = {600}};
    assert_int_equal(control_fixture_seconds_to_question(w, "orders", &d, 20), -1); /* no wish */
    cuts.wish = wish;
    return t;
}

/* The leader offers three points, with shares of 10, 20, 30 and 40 %. */
static void offer(struct control_fixture *w, const struct table *t, enum split_verdict verdict)
{
    struct buffer b = {0};
    uint8_t cut[3][12] = {{0}};
    struct split_advice a = {.verdict = verdict, .samples = 1000};
    for (uint32_t i = 0; verdict == SPLIT_ADVISED && i < 4; i++) {
        if (i < 3) {
            memcpy(cut[i], t->partitions[0].lo.data, 4);
            cut[i][4] = (uint8_t)(8 * (i + 1));
            a.cuts[a.cut_count++] = slice_make(cut[i], sizeof cut[i]);
        }
        for (int kind = 0; kind < SPLIT_KINDS; kind++)
            a.share_ppm[kind][i] = 100000 * (i + 1);
    }
    split_advice_encode(&b, &a);
    assert_int_equal(w->other.request.op, REQUEST_PARTITION_HEAT);
    struct reply reply = {.id = w->other.request.id, .code = REPLY_OK, .kind = ANSWER_ADVICE};
    reply.advice.bytes = buffer_slice(&b);
    w->other = (struct control_request){0};
    controller_reply(w->controller, &reply);
    buffer_deinit(&b);
    control_fixture_evaluate(w, 1, true);
}

static const struct weir_wish wish_consumed = {
    .why = WEIR_WISH_CONSUMED, .kind = WEIR_POLICY_WRITE, .rate_mcu = 600000};

TEST(a_policy_of_splits_takes_the_points_it_wants)
{
    struct control_fixture w;
    struct table_split sent;
    const struct table *t = fixture_busy(&w, wish_consumed);
    struct demand d = {.units = {600}};
    cuts.choice = (struct weir_choice){WEIR_CHOICE_POINTS, 2};
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 5), 0, 1);
    assert_int_equal(cuts.maximum, 1000000);
    assert_in_range(cuts.consumed, 590000, 610000);
    assert_int_equal(cuts.excess_ns, 0);
    assert_true(cuts.age_ns >= 20 * NS_PER_S);
    assert_int_equal(cuts.partitions, 4);
    offer(&w, t, SPLIT_ADVISED);
    assert_int_equal(cuts.advice, WEIR_CUT_ADVISED);
    assert_int_equal(cuts.points, 3);
    assert_int_equal(cuts.share_ppm[3], 400000);
    assert_int_equal(w.other.request.op, REQUEST_TABLE_SPLIT);
    assert_int_equal(table_split_decode(w.other.request.cut.split, &sent), STATUS_OK);
    assert_int_equal(sent.cut_count, 1);
    assert_int_equal(sent.cuts[0].data[4], 16);
    assert_int_equal(sent.share_ppm[ADMIT_WRITE][0], 300000);
    assert_int_equal(sent.share_ppm[ADMIT_WRITE][1], 700000);
    assert_int_equal(told.count, 0);
    control_fixture_deinit(&w);
}

TEST(a_policy_of_splits_may_cut_evenly_without_asking)
{
    struct control_fixture w;
    struct table_split sent;
    struct weir_wish wish = wish_consumed;
    wish.evenly = 1;
    fixture_busy(&w, wish);
    cuts.pieces = 4;
    struct demand d = {.units = {600}};
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 5), 0, 1);
    assert_int_equal(w.other.request.op, REQUEST_TABLE_SPLIT);
    assert_int_equal(table_split_decode(w.other.request.cut.split, &sent), STATUS_OK);
    assert_int_equal(sent.cut_count, 3);
    control_fixture_deinit(&w);
}

TEST(a_policy_of_splits_may_keep_whole_what_its_leader_would_cut)
{
    struct control_fixture w;
    const struct table *t = fixture_busy(&w, wish_consumed);
    struct demand d = {.units = {600}};
    config_edit_split(&w.config)->split_backoff_ms = 30000;
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 5), 0, 1);
    offer(&w, t, SPLIT_ADVISED);
    assert_int_equal(w.decision_count, 1);
    assert_int_equal(w.decisions[0].event.kind, EVENT_SPLIT_REFUSED);
    assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 60), 29, 31);
    /* And it may cut evenly where the leader offers nothing. */
    cuts.choice = (struct weir_choice){.how = WEIR_CHOICE_EVENLY};
    cuts.pieces = 2;
    offer(&w, t, SPLIT_REFUSED_NO_BENEFIT);
    assert_int_equal(cuts.points, 0);
    control_fixture_evaluate(&w, 1, true);
    assert_int_equal(w.other.request.op, REQUEST_TABLE_SPLIT);
    control_fixture_deinit(&w);
}

TEST(a_wish_without_sense_asks_nobody)
{
    static const struct weir_wish cases[] = {
        {.why = WEIR_WISH_SIZE + 1},
        {.why = WEIR_WISH_CONSUMED, .kind = WEIR_POLICY_WRITE + 1},
        {.why = WEIR_WISH_CONSUMED, .evenly = 2},
        {.why = WEIR_WISH_REFUSED, .rate_mcu = -1},
    };
    struct control_fixture w;
    struct demand d = {.units = {600}};
    fixture_busy(&w, cases[0]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t before = policies.entries[0].invalid_results;
        cuts.wish = cases[i];
        assert_int_equal(control_fixture_seconds_to_question(&w, "orders", &d, 3), -1);
        assert_true(policies.entries[0].invalid_results > before);
    }
    expect_told("split", 4);
    control_fixture_deinit(&w);
}

TEST(a_choice_without_sense_cuts_nothing)
{
    static const struct {
        struct weir_choice choice;
        uint32_t pieces;
    } cases[] = {
        {{WEIR_CHOICE_EVENLY + 1, 0}, 2},
        {{WEIR_CHOICE_POINTS, 0}, 2},
        {{WEIR_CHOICE_POINTS, 8}, 2}, /* three are offered */
        {{WEIR_CHOICE_POINTS, UINT32_MAX}, 2},
        {{WEIR_CHOICE_EVENLY, 0}, 1},
        {{WEIR_CHOICE_EVENLY, 0}, WEIR_POLICY_PIECES_MAX + 1},
    };
    struct control_fixture w;
    const struct table *t = fixture_busy(&w, wish_consumed);
    struct demand d = {.units = {600}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cuts.choice = cases[i].choice;
        cuts.pieces = cases[i].pieces;
        assert_in_range(control_fixture_seconds_to_question(&w, "orders", &d, 5), 0, 5);
        offer(&w, t, SPLIT_ADVISED);
        control_fixture_evaluate(&w, 1, true);
        assert_int_equal(w.other.request.op, 0);
        assert_int_equal(policies.entries[0].invalid_results, i + 1);
    }
    expect_told("split", 6);
    control_fixture_deinit(&w);
}

/* ---- peaks ---- */

static struct {
    int64_t earned_mcu[2];
    bool changes;
    int64_t consumed, promised, ready, maximum;
} peaks;

static bool scripted_earn(const struct weir_peak *p, int64_t earned_mcu[2])
{
    peaks.consumed = weir_peak_consumed(p, WEIR_POLICY_WRITE, weir_peak_window_ns(p));
    peaks.promised = weir_peak_promised(p, WEIR_POLICY_WRITE);
    peaks.ready = weir_peak_ready(p, WEIR_POLICY_WRITE);
    peaks.maximum = weir_peak_maximum(p, WEIR_POLICY_WRITE);
    assert_int_equal(weir_peak_consumed(p, (enum weir_policy_kind)5, NS_PER_S), 0);
    assert_int_equal(weir_peak_ready(p, (enum weir_policy_kind)5), 0);
    assert_int_equal(earned_mcu[0] | earned_mcu[1], 0);
    memcpy(earned_mcu, peaks.earned_mcu, sizeof peaks.earned_mcu);
    return peaks.changes;
}

static const struct weir_demand_policy demand = {
    .size = sizeof demand, .name = "scripted", .earn = scripted_earn};
static const struct weir_demand_policy *const demands[] = {&demand};
static const struct weir_policy_plugin demand_plugin = {
    .abi = WEIR_POLICY_ABI, .size = sizeof demand_plugin, .demand_count = 1, .demand = demands};

/* A table on demand that consumes 700 for longer than a peak lasts. */
static void fixture_peak(struct control_fixture *w)
{
    struct demand d = {.units = {700}};
    config_edit_control(&w->config)->control_split = 0;
    if (catalog_find(w->catalog, slice_of("orders")) == NULL)
        control_fixture_create(w, "orders", BILLING_ON_DEMAND, 0, 0);
    for (int i = 0; i < 50; i++) {
        control_fixture_serve(w, catalog_find(w->catalog, slice_of("orders")), &d, 500);
        control_fixture_evaluate(w, 500, true);
    }
}

TEST(a_policy_of_peaks_says_what_a_table_earns)
{
    struct control_fixture w;
    memset(&peaks, 0, sizeof peaks);
    peaks.earned_mcu[WEIR_POLICY_WRITE] = 2500500; /* a part of a unit becomes a whole one */
    fixture_with(&w, &demand_plugin);
    fixture_peak(&w);
    const struct table *t = catalog_find(w.catalog, slice_of("orders"));
    assert_in_range(peaks.consumed, 690000, 710000);
    assert_int_equal(peaks.consumed % 1000, 0);
    assert_int_equal(peaks.promised, t->promised[ADMIT_WRITE] * 1000);
    assert_int_equal(peaks.ready, t->warm[ADMIT_WRITE] * 1000);
    assert_int_equal(peaks.maximum, config_tables(&w.config)->table_max_wcu * 1000);
    assert_true(t->promised[ADMIT_WRITE] < 2500);
    peaks.changes = true;
    fixture_peak(&w);
    t = catalog_find(w.catalog, slice_of("orders"));
    assert_int_equal(t->promised[ADMIT_WRITE], 2501);
    assert_int_equal(t->warm[ADMIT_WRITE], 5002);
    assert_int_equal(told.count, 0);
    control_fixture_deinit(&w);
}

TEST(a_peak_without_sense_earns_nothing)
{
    struct control_fixture w;
    memset(&peaks, 0, sizeof peaks);
    fixture_with(&w, &demand_plugin);
    fixture_peak(&w);
    const struct table *t = catalog_find(w.catalog, slice_of("orders"));
    const int64_t promised = t->promised[ADMIT_WRITE];
    const int64_t cases[] = {-1, INT64_MIN, config_tables(&w.config)->table_max_wcu * 1000 + 1,
                             INT64_MAX};
    peaks.changes = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t before = policies.entries[0].invalid_results;
        peaks.earned_mcu[WEIR_POLICY_WRITE] = cases[i];
        control_fixture_evaluate(&w, config_tables(&w.config)->on_demand_peak_ms + 1, true);
        assert_int_equal(w.decision_count, 0);
        assert_int_equal(policies.entries[0].invalid_results, before + 1);
    }
    t = catalog_find(w.catalog, slice_of("orders"));
    assert_int_equal(t->promised[ADMIT_WRITE], promised);
    expect_told("demand", 4);
    control_fixture_deinit(&w);
}

/* ---- moves ---- */

static struct {
    uint32_t index; /* from the end of the offer; UINT32_MAX: nowhere */
    bool ranks_cheap, ranks_below_zero;
    uint32_t calls, why, from, nodes;
    int64_t needs, capacity, replicas;
    bool leads;
} moves;

static uint32_t scripted_place(const struct weir_move *m)
{
    moves.calls++;
    moves.why = weir_move_why(m);
    moves.from = weir_move_from(m);
    moves.leads = weir_move_leads(m);
    moves.nodes = weir_move_nodes(m);
    moves.needs = weir_move_needs(m, WEIR_POLICY_WRITE);
    moves.capacity = weir_move_capacity(m, 0, WEIR_POLICY_WRITE);
    moves.replicas = weir_move_replicas(m, 0);
    assert_int_equal(weir_move_node(m, moves.nodes), 0);
    assert_int_equal(weir_move_capacity(m, UINT32_MAX, WEIR_POLICY_WRITE), 0);
    assert_int_equal(weir_move_promised(m, 0, (enum weir_policy_kind)5), 0);
    assert_int_equal(weir_move_replicas(m, moves.nodes), 0);
    return moves.index == UINT32_MAX ? WEIR_MOVE_NOWHERE : moves.nodes - 1 - moves.index;
}

static int64_t scripted_rank(const struct weir_move *m, enum weir_policy_kind kind)
{
    int64_t cost = weir_move_cost(m, kind);
    assert_int_equal(weir_move_nodes(m), 0); /* not yet */
    return moves.ranks_below_zero ? -1 : moves.ranks_cheap ? 1000000000 - cost : cost;
}

static const struct weir_relocate_policy relocate = {
    .size = sizeof relocate, .name = "scripted", .place = scripted_place, .rank = scripted_rank};
static const struct weir_relocate_policy *const relocates[] = {&relocate};
static const struct weir_policy_plugin relocate_plugin = {.abi = WEIR_POLICY_ABI,
                                                          .size = sizeof relocate_plugin,
                                                          .relocate_count = 1,
                                                          .relocate = relocates};

static void drain(struct control_fixture *w, uint32_t node, bool on)
{
    struct buffer b = {0};
    struct decision d = {.to_node = node, .drain = on};
    decision_encode(&b, &d);
    struct catalog_command c = control_fixture_command(w, CATALOG_DRAIN);
    c.decision = buffer_slice(&b);
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
    buffer_deinit(&b);
}

TEST(a_policy_of_moves_chooses_among_nodes_that_could_take_the_replica)
{
    struct control_fixture w;
    memset(&moves, 0, sizeof moves);
    fixture_with(&w, &relocate_plugin);
    control_fixture_introduce(&w, 4);
    control_fixture_introduce(&w, 5);
    config_edit_replication(&w.config)->replicas = 1;
    const struct table *t = control_fixture_create(&w, "orders", BILLING_PROVISIONED, 10, 10);
    const struct partition_info *p = &t->partitions[0];
    const uint32_t from = partition_node(p, 0), last = from == 5 ? 4 : 5;
    w.view.reachable[from == 1 ? 2 : 1] = false; /* not offered */
    control_fixture_evaluate(&w, 500, false);
    assert_int_equal(moves.calls, 0);
    drain(&w, from, true);
    control_fixture_evaluate(&w, 500, false);
    assert_int_equal(moves.why, WEIR_MOVE_LEAVE);
    assert_int_equal(moves.from, from);
    assert_true(moves.leads);
    assert_int_equal(moves.nodes, 3);
    assert_int_equal(moves.needs, p->rate_mcu[ADMIT_WRITE]);
    assert_int_equal(moves.capacity, config_admission(&w.config)->node_wcu * 1000);
    assert_int_equal(moves.replicas, 0);
    assert_int_equal(w.decision_count, 1);
    assert_int_equal(w.ops[0], CATALOG_MOVE);
    assert_int_equal(w.decisions[0].to_node, last);
    moves.index = UINT32_MAX; /* nowhere: people are told */
    control_fixture_evaluate(&w, 500, false);
    assert_int_equal(w.decision_count, 1);
    assert_int_equal(w.decisions[0].event.kind, EVENT_STUCK);
    assert_int_equal(told.count, 0);
    moves.index = moves.nodes + 1; /* a node that is not offered */
    control_fixture_evaluate(&w, 500, false);
    assert_int_equal(w.decision_count, 0);
    expect_told("relocate", 1);
    control_fixture_deinit(&w);
}

/* Both tables on the first of two nodes, whose use is the sum of both. */
static void fixture_crowded(struct control_fixture *w)
{
    memset(&moves, 0, sizeof moves);
    fixture_with(w, &relocate_plugin);
    w->view.reachable[3] = false;
    drain(w, 3, true);
    config_edit_replication(&w->config)->replicas = 1;
    config_edit_admission(&w->config)->node_wcu = 1000;
    config_edit_control(&w->config)->control_split = 0;
    config_edit_control(&w->config)->control_adaptive = 0;
    config_edit_control(&w->config)->control_on_demand = 0;
    w->nodes[1].capacity_mcu[ADMIT_WRITE] = w->nodes[2].capacity_mcu[ADMIT_WRITE] = 1000 * 1000;
    drain(w, 2, true);
    control_fixture_create(w, "small", BILLING_ON_DEMAND, 0, 0);
    control_fixture_create(w, "large", BILLING_ON_DEMAND, 0, 0);
    drain(w, 2, false);
}

/* The table whose replica is moved first within half a minute; NULL: none. */
static const struct table *moved_table(struct control_fixture *w)
{
    struct demand small = {.units = {300}}, large = {.units = {550}};
    for (int i = 0; i < 60; i++) {
        control_fixture_serve(w, catalog_find(w->catalog, slice_of("small")), &small, 500);
        control_fixture_serve(w, catalog_find(w->catalog, slice_of("large")), &large, 500);
        w->nodes[1].consumed_mcu[ADMIT_WRITE] += small.consumed_mcu + large.consumed_mcu;
        cluster_loads_take_node(w->loads, w->now, &w->nodes[1]);
        cluster_loads_take_node(w->loads, w->now, &w->nodes[2]);
        control_fixture_evaluate(w, 500, false);
        if (w->decision_count > 0)
            return catalog_find_id(w->catalog, w->decisions[0].table_id);
    }
    return NULL;
}

TEST(a_policy_of_moves_ranks_the_replicas_of_a_crowded_node)
{
    for (int cheap = 0; cheap <= 1; cheap++) {
        struct control_fixture w;
        fixture_crowded(&w);
        moves.ranks_cheap = cheap;
        const struct table *t = moved_table(&w);
        assert_non_null(t);
        bool dearest =
            slice_is(t->name, "large") && w.decisions[0].partition == t->partitions[0].id;
        assert_int_equal(dearest, !cheap);
        assert_int_equal(moves.why, WEIR_MOVE_BALANCE);
        assert_int_equal(moves.from, 1);
        control_fixture_deinit(&w);
    }
}

TEST(a_rank_without_sense_moves_nothing)
{
    struct control_fixture w;
    fixture_crowded(&w);
    moves.ranks_below_zero = true;
    assert_null(moved_table(&w));
    expect_told("relocate", 2);
    control_fixture_deinit(&w);
}

/* ---- what is required ---- */

static void expect_refused(const struct weir_policy_plugin *plugin, const char *text)
{
    struct buffer error = {0};
    policies = (struct policies){0};
    assert_int_equal(policies_add(&policies, plugin, "FILE.so", control_policy_is_own, &error),
                     STATUS_MALFORMED);
    buffer_append_u8(&error, 0);
    if (strstr((const char *)error.data, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, (const char *)error.data);
    assert_int_equal(policies.count, 0);
    buffer_deinit(&error);
}

TEST(what_a_policy_of_the_controller_lacks_is_told)
{
    struct weir_adaptive_policy a = adaptive;
    struct weir_split_policy s = split;
    struct weir_demand_policy d = demand;
    struct weir_relocate_policy r = relocate;
    const struct weir_adaptive_policy *const as[] = {&a};
    const struct weir_split_policy *const ss[] = {&s};
    const struct weir_demand_policy *const ds[] = {&d};
    const struct weir_relocate_policy *const rs[] = {&r};
    struct weir_policy_plugin of_a = adaptive_plugin, of_s = split_plugin, of_d = demand_plugin,
                              of_r = relocate_plugin;
    of_a.adaptive = as;
    of_s.split = ss;
    of_d.demand = ds;
    of_r.relocate = rs;
    a.partition_bytes = s.state_bytes = WEIR_POLICY_STATE_MAX + 1;
    expect_refused(&of_a, "adaptive policy 'scripted' wants too large a state");
    expect_refused(&of_s, "split policy 'scripted' wants too large a state");
    a.partition_bytes = s.state_bytes = 0;
    a.flags = s.flags = d.flags = r.flags = 1;
    expect_refused(&of_a, "flags");
    expect_refused(&of_s, "flags");
    expect_refused(&of_d, "flags");
    expect_refused(&of_r, "flags");
    a.adapt = NULL;
    s.wish = NULL;
    d.earn = NULL;
    r.place = NULL;
    expect_refused(&of_a, "adapt is required");
    expect_refused(&of_s, "wish is required");
    expect_refused(&of_d, "earn is required");
    expect_refused(&of_r, "place is required");
    a.name = "proportional";
    s.name = "limits";
    d.name = "peak";
    r.name = "least-promised";
    expect_refused(&of_a, "has the name of a policy of weir");
    expect_refused(&of_s, "has the name of a policy of weir");
    expect_refused(&of_d, "has the name of a policy of weir");
    expect_refused(&of_r, "has the name of a policy of weir");
    a.size = 8;
    expect_refused(&of_a, "size = 8");
}

/* ---- versions ---- */

TEST(a_plugin_from_before_the_controllers_points_is_taken)
{
    static const struct weir_headroom_policy headroom = {
        .size = sizeof headroom, .name = "old", .flags = WEIR_HEADROOM_UNCHECKED};
    static const struct weir_headroom_policy *const headrooms[] = {&headroom};
    const struct weir_policy_plugin plugin = {
        .abi = WEIR_POLICY_ABI,
        .size = offsetof(struct weir_policy_plugin, adaptive_count),
        .headroom_count = 1,
        .headroom = headrooms,
        .adaptive_count = 1000, /* what lies behind it */
    };
    struct buffer error = {0};
    policies = (struct policies){0};
    assert_int_equal(policies_add(&policies, &plugin, "FILE.so", NULL, &error), STATUS_OK);
    assert_int_equal(policies.count, 1);
    buffer_deinit(&error);
}
