/* policies_test.c - policies from files: what is accepted, what invalid results do, states. */
#include "base/policies.h"

#include "base/config.h"
#include "base/gac_policy.h"
#include "engine/admission/admission.h"
#include "engine/admission/admission_internal.h"
#include "engine/admission/member.h"
#include "engine/admission/policy_choice.h"
#include "gac/grant_policy.h"
#include "include/weir/policy.h"
#include "tests/check.h"

static struct {
    char text[512];
    int count;
} reported;

static void report(void *context, const char *text)
{
    (void)context;
    snprintf(reported.text, sizeof reported.text, "%s", text);
    reported.count++;
}

static int64_t time_ns;

static int64_t clock_ns(void)
{
    return time_ns;
}

/* ---- a policy that does what the test says ---- */

static struct {
    struct weir_verdict verdict;
    int64_t debit_mcu;
    int64_t takes_ns;
} script;

static void scripted_decide(struct weir_case *c, int64_t cost_mcu, struct weir_verdict *verdict)
{
    (void)cost_mcu;
    time_ns += script.takes_ns;
    for (int b = 0; b < WEIR_BUCKETS; b++)
        weir_case_debit(c, (enum weir_bucket)b, 500);
    weir_case_debit(c, WEIR_BUCKET_CAP, script.debit_mcu);
    *verdict = script.verdict;
}

static void scripted_settle(struct weir_case *c, const struct weir_verdict *verdict, int64_t extra)
{
    (void)verdict;
    (void)extra;
    weir_case_debit(c, WEIR_BUCKET_CAP, script.debit_mcu);
}

static void counts_begin(void *state)
{
    *(int64_t *)state = 1000;
}

static void counts_divide(void *const pieces[], const uint32_t share_ppm[], uint32_t count)
{
    int64_t whole = *(int64_t *)pieces[0];
    for (uint32_t i = 0; i < count; i++)
        *(int64_t *)pieces[i] = whole * share_ppm[i] / 1000000;
}

static void counts_absorb(void *into, const void *from)
{
    *(int64_t *)into += *(const int64_t *)from;
}

static struct weir_partition_policy scripted = {.size = sizeof scripted,
                                                .state_bytes = 8,
                                                .name = "scripted",
                                                .decide = scripted_decide,
                                                .settle = scripted_settle,
                                                .begin = counts_begin,
                                                .divide = counts_divide,
                                                .absorb = counts_absorb};

static struct {
    int64_t tokens;
    int64_t again;
    int64_t wait_ns;
    int64_t others;
} granting;

static void scripted_grant(struct weir_ledger *l, struct weir_holder *h)
{
    weir_ledger_grant(l, h, granting.tokens);
    if (granting.again != 0)
        weir_ledger_grant(l, h, granting.again);
    weir_holder_wait(h, granting.wait_ns);
    weir_holder_notify_demand(h, granting.others);
}

static struct weir_table_policy table = {.size = sizeof table,
                                         .name = "table",
                                         .flags = WEIR_TABLE_LIMITS | WEIR_TABLE_REQUESTS_GRANTS,
                                         .grant = scripted_grant};

static struct policies policies;
static struct config config;

static bool is_own(enum policy_point point, const char *name)
{
    return point == POLICY_PARTITION && strcmp(name, "burst") == 0;
}

static enum status add(const struct weir_policy_plugin *plugin, struct buffer *error)
{
    buffer_clear(error);
    return policies_add(&policies, plugin, "FILE.so", is_own, error);
}

static int set_up(void **state)
{
    (void)state;
    const struct weir_partition_policy *const partition[] = {&scripted};
    const struct weir_table_policy *const tables[] = {&table};
    const struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI,
                                              .size = sizeof plugin,
                                              .partition_count = 1,
                                              .table_count = 1,
                                              .partition = partition,
                                              .table = tables};
    struct buffer error = {0};
    policies = (struct policies){.report = report, .clock_ns = clock_ns};
    memset(&reported, 0, sizeof reported);
    memset(&script, 0, sizeof script);
    memset(&granting, 0, sizeof granting);
    assert_int_equal(add(&plugin, &error), STATUS_OK);
    config_init(&config, PROFILE_RESEARCH);
    config.policies = &policies;
    buffer_deinit(&error);
    return 0;
}

FIXTURE(set_up, NULL)

static void expect_refused(struct weir_partition_policy p, const char *text)
{
    const struct weir_partition_policy *const partition[] = {&p};
    const struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI,
                                              .size = sizeof plugin,
                                              .partition_count = 1,
                                              .partition = partition};
    struct buffer error = {0};
    const uint32_t count = policies.count;
    assert_int_equal(add(&plugin, &error), STATUS_MALFORMED);
    buffer_append_u8(&error, 0);
    if (strstr((const char *)error.data, text) == NULL ||
        strstr((const char *)error.data, "FILE.so") == NULL)
        fail_msg("'%s' is not in '%s'", text, (const char *)error.data);
    assert_int_equal(policies.count, count);
    buffer_deinit(&error);
}

TEST(what_a_file_offers_is_checked)
{
    struct weir_partition_policy p = scripted;
    expect_refused(p, "'scripted' is there already");
    p.name = "burst";
    expect_refused(p, "has the name of a policy of weir");
    p.name = "Not Fit";
    expect_refused(p, "no valid name");
    p.name = "a-name-of-thirty-two-characters-";
    expect_refused(p, "no valid name");
    p.name = NULL;
    expect_refused(p, "no valid name");
    p.name = "other";
    p.size = 8;
    expect_refused(p, "size = 8");
    p.size = sizeof p;
    p.state_bytes = WEIR_POLICY_STATE_MAX + 1;
    expect_refused(p, "too large a state");
    p.state_bytes = 0;
    p.settle = NULL;
    expect_refused(p, "settle are required");
    p.settle = scripted_settle;
    p.flags = 1 << 20;
    expect_refused(p, "flags that this version of weir does not know");
    p.flags = POLICY_LOADED;
    expect_refused(p, "flags that this version of weir does not know");
}

TEST(an_entry_stays_where_it_is_while_others_are_added) /* POLICY-1 */
{
    struct weir_partition_policy other = scripted, refused = scripted;
    const struct weir_partition_policy *const partition[] = {&other}, *const bad[] = {&refused};
    struct weir_policy_plugin plugin = {.abi = WEIR_POLICY_ABI,
                                        .size = sizeof plugin,
                                        .partition_count = 1,
                                        .partition = partition};
    struct buffer error = {0};
    const struct policy_entry *e = policies_find(&policies, POLICY_PARTITION, slice_of("scripted"));
    const struct policy_entry before = *e;
    other.name = "other";
    assert_int_equal(add(&plugin, &error), STATUS_OK);
    plugin.partition = bad;
    assert_int_equal(add(&plugin, &error), STATUS_MALFORMED);
    assert_ptr_equal(policies_find(&policies, POLICY_PARTITION, slice_of("scripted")), e);
    assert_memory_equal(e->policy, before.policy, sizeof before.policy);
    buffer_deinit(&error);
}

/* ---- partitions ---- */

struct fixture {
    struct node_admission node;
    struct admission a;
    struct admit_group group;
    struct members members;
    struct instant now;
};

static void fixture_set(struct fixture *s)
{
    const struct admission_rates rates = {.rate_mcu = {100000, 100000}};
    *s = (struct fixture){.now = {NS_PER_S}};
    node_admission_init(&s->node, &config, s->now);
    members_init(&s->members, &config, 3);
    s->group = (struct admit_group){&s->members, 1, {2}};
    admission_init(&s->a,
                   admission_policies_same(admission_policy_named(&config, slice_of("scripted"))),
                   &config, &rates, s->now);
}

static struct admit_verdict try(struct fixture *s)
{
    return admission_try(&s->a, &s->node, ADMIT_WRITE, s->now, 1000, &s->group);
}

TEST(a_verdict_that_makes_sense_is_taken_as_it_is)
{
    struct fixture s;
    fixture_set(&s);
    struct admit_verdict v = try(&s);
    assert_int_equal(v.reason, ADMIT_OK);
    assert_int_equal(s.a.meters[ADMIT_WRITE].allocation.balance, 99500);
    script.verdict = (struct weir_verdict){
        .reason = WEIR_POLICY_MEMBER, .member = 2, .wait_ns = WEIR_POLICY_NEVER};
    v = try(&s);
    assert_int_equal(v.reason, ADMIT_REFUSED_MEMBER);
    assert_int_equal(v.member, 2);
    assert_int_equal(v.wait.ns, INT64_MAX);
    script.verdict = (struct weir_verdict){.flags = WEIR_VERDICT_BURST};
    v = try(&s);
    assert_true(v.reason == ADMIT_OK && v.burst && !v.reserved);
    assert_int_equal(reported.count, 0);
    members_deinit(&s.members);
}

/* POLICY-2 */
TEST(an_invalid_result_is_a_refusal_that_takes_no_tokens_and_is_reported_once)
{
    static const struct {
        struct weir_verdict verdict;
        int64_t debit_mcu;
    } cases[] = {
        {{.reason = WEIR_POLICY_MEMBER + 1}, 0},
        {{.reason = UINT32_MAX}, 0},
        {{.wait_ns = -1}, 0},
        {{.flags = 4}, 0},
        {{.reason = WEIR_POLICY_MEMBER, .member = 3}, 0},
        {{.reason = WEIR_POLICY_MEMBER}, 0},
        {{.reason = WEIR_POLICY_ADMIT}, -1},
        {{.reason = WEIR_POLICY_NODE}, INT64_MIN},
    };
    struct fixture s;
    fixture_set(&s);
    const struct policy_entry *e = policies_find(&policies, POLICY_PARTITION, slice_of("scripted"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct admit_balances before =
            admission_balances_with_node(&s.a, &s.node, ADMIT_WRITE, s.now);
        script.verdict = cases[i].verdict;
        script.debit_mcu = cases[i].debit_mcu;
        struct admit_verdict v = try(&s);
        const struct admit_balances after =
            admission_balances_with_node(&s.a, &s.node, ADMIT_WRITE, s.now);
        assert_int_equal(v.reason, ADMIT_REFUSED_ALLOCATION);
        assert_int_equal(v.wait.ns, 0); /* not known */
        assert_true(!v.burst && !v.reserved);
        assert_memory_equal(&before, &after, sizeof before);
        assert_int_equal(e->invalid_results, i + 1);
    }
    assert_int_equal(reported.count, 1);
    assert_non_null(strstr(reported.text, "partition policy 'scripted' of FILE.so"));
    members_deinit(&s.members);
}

TEST(an_invalid_result_while_settling_is_counted_and_debits_nothing)
{
    struct fixture s;
    fixture_set(&s);
    struct admit_verdict v = try(&s);
    const int64_t before = s.a.meters[ADMIT_WRITE].cap.balance;
    script.debit_mcu = -5;
    admission_settle(&s.a, &s.node, ADMIT_WRITE, s.now, &v, 100, &s.group);
    assert_int_equal(s.a.meters[ADMIT_WRITE].cap.balance, before);
    assert_int_equal(reported.count, 1);
    members_deinit(&s.members);
}

TEST(a_policy_is_slow_if_most_of_its_timed_calls_are)
{
    struct fixture s;
    fixture_set(&s);
    script.takes_ns = POLICY_SLOW_NS; /* not above */
    for (int i = 0; i < 1000; i++)
        try(&s);
    script.takes_ns = POLICY_SLOW_NS + 1;
    for (int i = 0; i < 8 * POLICY_SAMPLE_EVERY; i++)
        try(&s);
    assert_int_equal(reported.count, 0);
    for (int i = 0; i < POLICY_SAMPLE_EVERY; i++)
        try(&s);
    assert_int_equal(reported.count, 1);
    assert_non_null(strstr(reported.text, "is slow"));
    for (int i = 0; i < 1000; i++)
        try(&s);
    assert_int_equal(reported.count, 1);
    members_deinit(&s.members);
}

TEST(states_begin_and_are_divided_and_absorbed)
{
    struct fixture s;
    struct admission piece;
    fixture_set(&s);
    struct admission *pieces[] = {&s.a, &piece};
    const struct admission_rates rates[] = {{.rate_mcu = {50000, 50000}},
                                            {.rate_mcu = {50000, 50000}}};
    const uint32_t shares[] = {250000, 750000};
    const uint32_t *const share_ppm[] = {shares, shares};
    const int64_t *first = (const int64_t *)(const void *)s.a.meters[ADMIT_READ].state;
    const int64_t *second = (const int64_t *)(const void *)piece.meters[ADMIT_READ].state;
    assert_int_equal(*first, 1000);
    admission_split(pieces, 2, &config, rates, share_ppm, s.now);
    assert_int_equal(*first, 250);
    assert_int_equal(*second, 750);
    admission_merge(&s.a, &piece, &config, &rates[0], s.now);
    assert_int_equal(*first, 1000);
    members_deinit(&s.members);
}

TEST(flags_choose_which_policy_a_table_gets)
{
    const struct weir_partition_policy *always = admission_policy_find(slice_of("always-burst"));
    struct policy_entry *e = policies_find(&policies, POLICY_PARTITION, slice_of("scripted"));
    struct weir_partition_policy *own = (struct weir_partition_policy *)e->policy;
    memcpy(config.partition_policy, "scripted", sizeof "scripted");
    assert_ptr_equal(admission_policy_of(&config, 1 + GAC_LEASE, false), own);
    assert_ptr_equal(admission_policy_of(&config, 1 + GAC_OFF, true), always);
    own->flags = POLICY_LOADED | WEIR_PARTITION_SHARES;
    assert_ptr_equal(admission_policy_of(&config, 1 + GAC_OFF, true), own);
    own->flags = POLICY_LOADED | WEIR_PARTITION_SAVED_ONLY;
    assert_ptr_equal(admission_policy_of(&config, 1 + GAC_LEASE, false), always);
    assert_ptr_equal(admission_policy_of(&config, 1 + GAC_OFF, false), own);
}

TEST(names_that_no_policy_has_are_refused_with_those_there_are)
{
    struct buffer error = {0};
    assert_int_equal(admission_policies_check(&config, &error), STATUS_OK);
    assert_int_equal(table_policy_check(&config, &error), STATUS_OK);
    memcpy(config.partition_policy, "luck", sizeof "luck");
    assert_int_equal(admission_policies_check(&config, &error), STATUS_MALFORMED);
    assert_non_null(memmem(error.data, error.size, "none, scripted", 14));
    buffer_clear(&error);
    memcpy(config.gac_policy, "luck", sizeof "luck");
    assert_int_equal(table_policy_check(&config, &error), STATUS_MALFORMED);
    assert_non_null(memmem(error.data, error.size, "periodic, lease, table", 22));
    buffer_deinit(&error);
}

/* ---- tables ---- */

TEST(a_ledger_grants_no_invalid_amount)
{
    static const struct {
        int64_t tokens, again, wait_ns, others;
    } cases[] = {{-1, 0, 0, 0},  {INT64_MAX, 0, 0, 0}, {2000001, 0, 0, 0},   {10, 10, 0, 0},
                 {10, 0, -1, 0}, {10, 0, 0, -2},       {10, 0, 0, INT64_MAX}};
    const struct ledger_terms terms = {.bank = {2 * NS_PER_S},
                                       .lifetime = {NS_PER_S},
                                       .lifetime_max = {10 * NS_PER_S},
                                       .router_timeout = {10 * NS_PER_S},
                                       .grant = {NS_PER_S / 10},
                                       .requests = 1,
                                       .start = {2 * NS_PER_S},
                                       .routers = 1,
                                       .here = 1};
    struct gac_request request = {.key = {.table = 1},
                                  .epoch = 1,
                                  .number = 1,
                                  .version = 1,
                                  .rate = 1000000,
                                  .demand = 1000,
                                  .need = 1000};
    const struct weir_table_policy *p =
        policies_policy(policies_find(&policies, POLICY_TABLE, slice_of("table")));
    struct instant now = {NS_PER_S};
    struct ledger l;
    const struct gac_answer *again;
    ledger_init(&l, now, &terms, &request);
    struct weir_holder *h = ledger_take(&l, now, &terms, 7, &request, &again);
    assert_non_null(h);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct token_bucket before = l.bank;
        granting.tokens = cases[i].tokens;
        granting.again = cases[i].again;
        granting.wait_ns = cases[i].wait_ns;
        granting.others = cases[i].others;
        ledger_grant_by_policy(&l, now, &terms, &policies, p, h);
        assert_int_equal(h->answer.granted, 0);
        assert_int_equal(h->held, 0);
        assert_int_equal(h->answer.others, GAC_UNKNOWN);
        assert_true(h->answer.wait.ns > 0);
        assert_memory_equal(&before, &l.bank, sizeof before);
    }
    assert_int_equal(reported.count, 1);
    granting.tokens = 1000;
    granting.again = granting.wait_ns = 0;
    granting.others = 5000;
    ledger_grant_by_policy(&l, now, &terms, &policies, p, h);
    assert_int_equal(h->answer.granted, 1000);
    assert_int_equal(h->answer.others, 5000);
    ledger_deinit(&l);
}
