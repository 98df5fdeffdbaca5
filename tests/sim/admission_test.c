/* Admission across a replication group, in the simulated world: real routers and nodes, virtual
 * time. What a busy follower and a lost leader do to who is let in. */
#include "tests/check.h"

#include "base/settings/admission.h"
#include "tests/support/lab.h"

enum {
    FOLLOWER = 2, /* the one that is made busy */
};

#define PUT "\"Item\":{\"k\":{\"S\":\"a\"}}"

/* ---- a busy follower ---- */

struct busy {
    int64_t idle_burst;      /* burst writes admitted per second while the follower was idle */
    int64_t exposed;         /* burst writes admitted once its node had nothing left */
    int64_t refused;         /* by the member */
    int64_t steady_admitted; /* writes per second at the end */
};

/* 100 writes/s allocated and 300 offered, with burst saved; then the follower's own tenant takes
 * more than all its node has. */
static struct busy make_follower_busy(const char *check, const char *report_ms)
{
    struct lab l;
    lab_init(&l);
    lab_set(&l, "write_check", check);
    lab_set(&l, "report_ms", report_ms);
    lab_set(&l, "report_deadline_ms", "60000");
    config_edit_admission(&l.configs[FOLLOWER])->node_wcu = 600;
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    lab_create_table(&l, "victim", 10, 100);
    lab_create_table(&l, "noise", 10, 1000);
    assert_int_equal(lab_leader_of(&l, 1), 1);
    lab_pass(&l, 30 * NS_PER_S);
    struct busy b = {0};
    struct flow flows[] = {
        {.table = "victim", .operation = "PutItem", .more = PUT, .per_second = 300},
        {.table = "noise", .operation = "PutItem", .more = PUT, .per_second = 0},
    };
    lab_run_flows(&l, flows, 2, 3 * NS_PER_S);
    b.idle_burst = (flows[0].counts.ok - 300) / 3;
    flows[1].per_second = 1000;
    struct partition_stats before = lab_stats_of(&l, 1, 1);
    do
        lab_run_flows(&l, flows, 2, NS_PER_S / 100);
    while (lab_stats_of(&l, FOLLOWER, 1).kinds[ADMIT_WRITE].balances.node_mcu > 0);
    struct partition_stats dry = lab_stats_of(&l, 1, 1);
    lab_run_flows(&l, flows, 2, 6 * NS_PER_S);
    struct partition_stats after = lab_stats_of(&l, 1, 1);
    b.exposed = after.kinds[ADMIT_WRITE].counts.burst - dry.kinds[ADMIT_WRITE].counts.burst;
    b.refused = after.kinds[ADMIT_WRITE].counts.load.refused[ADMIT_REFUSED_MEMBER] -
                before.kinds[ADMIT_WRITE].counts.load.refused[ADMIT_REFUSED_MEMBER];
    struct counts so_far = flows[0].counts;
    lab_run_flows(&l, flows, 2, 2 * NS_PER_S);
    b.steady_admitted = (flows[0].counts.ok - so_far.ok) / 2;
    assert_int_equal(flows[0].counts.failed, 0);
    assert_int_equal(flows[1].counts.throttled + flows[1].counts.failed, 0);
    printf("    %-5s report age %4s ms: idle %3lld/s burst, %4lld exposed, %4lld refused, then "
           "%3lld/s admitted\n",
           check, report_ms, (long long)b.idle_burst, (long long)b.exposed, (long long)b.refused,
           (long long)b.steady_admitted);
    lab_deinit(&l);
    return b;
}

TEST(without_a_check_a_busy_follower_is_bursted_over)
{
    struct busy b = make_follower_busy("off", "100");
    assert_true(b.idle_burst >= 190);
    assert_int_equal(b.refused, 0);
    assert_true(b.exposed >= 190 * 6);
}

TEST(a_gauge_stops_bursts_as_late_as_it_is_old)
{
    static const char *const ages_ms[] = {"10", "100", "1000", "5000"};
    static const int64_t ages[] = {10, 100, 1000, 5000};
    for (int i = 0; i < 4; i++) {
        struct busy b = make_follower_busy("gauge", ages_ms[i]);
        assert_true(b.idle_burst >= 190);
        assert_true(b.refused > 0);
        assert_true(b.exposed <= 200 * ages[i] / 1000 + 10);
        if (ages[i] <= 1000)
            assert_in_range(b.steady_admitted, 99, 101); /* the allocation passes, untouched */
    }
}

TEST(leases_bound_the_exposure_at_every_report_age)
{
    enum {
        LEASE_MS = 200, /* member_lease_ms: at most this much of the demand is outstanding */
        OUTSTANDING_MAX = 200 * LEASE_MS / 1000 * 5 / 4 + 20
    };
    static const char *const ages_ms[] = {"10", "100", "1000", "5000"};
    for (int i = 0; i < 4; i++) {
        struct busy b = make_follower_busy("lease", ages_ms[i]);
        assert_true(b.idle_burst >= 150); /* the first leases have to be asked for */
        assert_true(b.refused > 0);
        assert_true(b.exposed <= OUTSTANDING_MAX);
        assert_in_range(b.steady_admitted, 99, 101);
    }
}

/* ---- a dead follower ---- */

enum {
    DEAD = 3,
    DEAD_NODE_WCU = 600,
};

struct dead {
    struct lab lab;
    struct flow flow; /* three times what is allocated: the rest is burst */
};

/* Saves for 30 s; then its follower dies under the load. */
static void kill_follower(struct dead *d, const char *check, const char *dead_member)
{
    lab_init(&d->lab);
    lab_set(&d->lab, "write_check", check);
    lab_set(&d->lab, "dead_member", dead_member);
    config_edit_admission(&d->lab.configs[DEAD])->node_wcu = DEAD_NODE_WCU;
    lab_start(&d->lab);
    lab_pass(&d->lab, NS_PER_S);
    lab_create_table(&d->lab, "victim", 10, 100);
    lab_pass(&d->lab, 30 * NS_PER_S);
    d->flow =
        (struct flow){.table = "victim", .operation = "PutItem", .more = PUT, .per_second = 300};
    lab_run_flows(&d->lab, &d->flow, 1, NS_PER_S);
    node_process_crash(d->lab.world.nodes[DEAD], false);
    lab_run_flows(&d->lab, &d->flow, 1, NS_PER_S); /* its report deadline */
    assert_int_equal(lab_leader_of(&d->lab, 1), 1);
    d->flow.counts = (struct counts){0};
}

TEST(a_dead_member_throttles_nobody)
{
    static const char *const checks[] = {"gauge", "lease"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct dead d;
        struct buffer error = {0};
        kill_follower(&d, checks[i], "exclude");
        lab_run_flows(&d.lab, &d.flow, 1, 5 * NS_PER_S);
        assert_in_range(d.flow.counts.ok, 1497, 1503);
        /* It comes back to 2,100 writes that it missed, at 600 a second. */
        assert_int_equal(node_process_start(d.lab.world.nodes[DEAD], &error), STATUS_OK);
        for (int step = 0; step < 40; step++) {
            lab_run_flows(&d.lab, &d.flow, 1, NS_PER_S / 10);
            assert_true(lab_stats_of(&d.lab, DEAD, 1).kinds[ADMIT_WRITE].balances.cap_mcu >= 0);
        }
        assert_true(d.flow.counts.ok >= 2695);
        assert_int_equal(d.flow.counts.throttled + d.flow.counts.failed, 0);
        struct admit_balances led = lab_stats_of(&d.lab, 1, 1).kinds[ADMIT_WRITE].balances;
        struct admit_balances back = lab_stats_of(&d.lab, DEAD, 1).kinds[ADMIT_WRITE].balances;
        printf("    %s: saved %lld at the leader, %lld at the one that is back\n", checks[i],
               (long long)led.burst_mcu / 1000, (long long)back.burst_mcu / 1000);
        assert_true(back.node_mcu >= 0);
        assert_true(back.allocation_mcu >= -1000);
        buffer_deinit(&error);
        lab_deinit(&d.lab);
    }
}

/* From its first report on it is asked as any other. */
TEST(a_member_that_is_back_is_checked)
{
    static const char *const checks[] = {"gauge", "lease"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct dead d;
        struct buffer error = {0};
        kill_follower(&d, checks[i], "exclude");
        /* less than the flow asks for */
        config_edit_admission(&d.lab.configs[DEAD])->node_wcu = 250;
        lab_run_flows(&d.lab, &d.flow, 1, NS_PER_S);
        assert_int_equal(node_process_start(d.lab.world.nodes[DEAD], &error), STATUS_OK);
        lab_run_flows(&d.lab, &d.flow, 1, 3 * NS_PER_S);
        d.flow.counts = (struct counts){0};
        struct partition_stats before = lab_stats_of(&d.lab, 1, 1);
        lab_run_flows(&d.lab, &d.flow, 1, 4 * NS_PER_S);
        struct partition_stats after = lab_stats_of(&d.lab, 1, 1);
        assert_true(after.kinds[ADMIT_WRITE].counts.load.refused[ADMIT_REFUSED_MEMBER] >
                    before.kinds[ADMIT_WRITE].counts.load.refused[ADMIT_REFUSED_MEMBER]);
        printf("    %s: %lld of 1200 admitted by a member with 250 a second\n", checks[i],
               (long long)d.flow.counts.ok);
        assert_in_range(d.flow.counts.ok, 850, 1050);
        buffer_deinit(&error);
        lab_deinit(&d.lab);
    }
}

TEST(a_dead_member_may_count_as_it_was_or_as_full)
{
    struct dead d;
    kill_follower(&d, "gauge", "last_known");
    lab_run_flows(&d.lab, &d.flow, 1, 2 * NS_PER_S);
    assert_in_range(d.flow.counts.ok, 599, 601);
    lab_deinit(&d.lab);
    kill_follower(&d, "gauge", "zero");
    lab_run_flows(&d.lab, &d.flow, 1, 2 * NS_PER_S);
    assert_in_range(d.flow.counts.ok, 199, 202); /* what is allocated passes */
    assert_true(
        lab_stats_of(&d.lab, 1, 1).kinds[ADMIT_WRITE].counts.load.refused[ADMIT_REFUSED_MEMBER] >
        100);
    lab_deinit(&d.lab);
}

/* ---- a lost leader ---- */

/* Its leader dies; what the next one says, and how many ms later. */
static struct admit_balances fail_over(struct lab *l, int64_t *gap_ms)
{
    uint32_t leader = lab_leader_of(l, 1);
    int64_t before_ns = l->world.scheduler.now.ns;
    node_process_crash(l->world.nodes[leader], false);
    while (lab_leader_of(l, 1) == 0)
        lab_pass(l, NS_PER_S / 100);
    *gap_ms = (l->world.scheduler.now.ns - before_ns) / NS_PER_MS;
    assert_true(lab_leader_of(l, 1) != leader);
    return lab_stats_of(l, lab_leader_of(l, 1), 1).kinds[ADMIT_WRITE].balances;
}

TEST(burst_survives_a_failover)
{
    struct lab l;
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    lab_create_table(&l, "saver", 10, 100);
    lab_pass(&l, 30 * NS_PER_S);
    struct flow flow = {.table = "saver", .operation = "PutItem", .more = PUT, .per_second = 400};
    lab_run_flows(&l, &flow, 1, 5 * NS_PER_S);
    lab_pass(&l, NS_PER_S / 100);
    struct admit_balances saved =
        lab_stats_of(&l, lab_leader_of(&l, 1), 1).kinds[ADMIT_WRITE].balances;
    assert_in_range(saved.burst_mcu, 1000 * 1000, 3000 * 1000);
    int64_t gap_ms;
    struct admit_balances now = fail_over(&l, &gap_ms);
    /* 100 units a second are 100 mcu a millisecond */
    assert_in_range(now.burst_mcu + now.allocation_mcu,
                    saved.burst_mcu + saved.allocation_mcu + 100 * gap_ms - 10000,
                    saved.burst_mcu + saved.allocation_mcu + 100 * gap_ms + 10000);
    lab_deinit(&l);
}

TEST(debt_survives_a_failover)
{
    enum {
        BYTES = 100 * 1024
    };
    struct lab l;
    lab_init(&l);
    lab_start(&l);
    lab_pass(&l, NS_PER_S);
    lab_create_table(&l, "debtor", 10, 10);
    static char big[BYTES + 256];
    int size = snprintf(big, sizeof big,
                        "{\"TableName\":\"debtor\",\"Item\":{\"k\":{\"S\":\"a\"},\"v\":{\"S\":\"");
    memset(big + size, 'x', BYTES);
    snprintf(big + size + BYTES, 16, "\"}}}");
    struct counts c = {0};
    lab_call(&l, &c, "PutItem", big);
    lab_pass(&l, NS_PER_S / 10);
    assert_int_equal(c.ok, 1);
    struct admit_balances debt =
        lab_stats_of(&l, lab_leader_of(&l, 1), 1).kinds[ADMIT_WRITE].balances;
    assert_true(debt.allocation_mcu < -80 * 1000);
    int64_t gap_ms;
    struct admit_balances now = fail_over(&l, &gap_ms);
    assert_true(now.allocation_mcu <= debt.allocation_mcu + 10 * gap_ms + 1000);
    lab_deinit(&l);
}
