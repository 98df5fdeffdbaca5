/* Global admission control on real routers, nodes and GAC servers in virtual time: 16 routers, a
 * table of 64 partitions, 3 servers. Each scenario prints what came out; those of the lab:
 *
 *   SEEDS=10 build/fast/tests/simulation --filter gac_test      # the long form
 *
 * False throttles are refusals while the table is within its limit, per million of requests. */
#include "tests/check.h"

#include <string.h>

#include "engine/node/control_port.h"
#include "sim/check/gac_watch.h"
#include "tests/support/crowd.h"

enum {
    ROUTERS = 16,
    PARTITIONS = 64,
    SERVERS = 3,
    UNITS = 1600, /* a second */
    WITHIN = UNITS * 95 / 100,
    WARM_UP_S = 8, /* something is saved up by then */
    MILLION = 1000000,
    ONE_REQUEST = MILLION / (WITHIN * 6) + 1 /* of six seconds', per million: more than 0.01 % */
};

static bool long_form(void)
{
    return getenv("SEEDS") != NULL;
}

struct fixture {
    struct lab lab;
    struct crowd crowd;
    struct gac_watch watch;
};

/* Nothing but routers limits the table: no cuts, no boosts. */
static void begin_lab(struct fixture *s, struct prng *p, const char *policy)
{
    lab_init(&s->lab);
    bool off = strcmp(policy, "off") == 0; /* partitions limit, and without burst */
    for (int i = 0; off && i <= LAB_NODES_MAX; i++)
        config_init(&s->lab.configs[i], PROFILE_STRICT);
    s->lab.world.plan.routers = ROUTERS;
    s->lab.world.plan.gac = SERVERS;
    s->lab.world.plan.seed = prng_next(p) >> 1;
    lab_set(&s->lab, "gac", policy);
    lab_set(&s->lab, "control_split", "0");
    lab_set(&s->lab, "control_adaptive", "0");
    lab_set(&s->lab, "table_max_wcu", "100000");
    lab_set(&s->lab, "node_wcu", "1000000");
    lab_set(&s->lab, "node_rcu", "1000000");
    lab_set(&s->lab, "gac_bank_ms", "10000");
    lab_start(&s->lab);
    lab_pass(&s->lab, 2 * NS_PER_S);
}

static void begin_with(struct fixture *s, struct prng *p, const char *policy, bool writes,
                       uint32_t partitions)
{
    begin_lab(s, p, policy);
    crowd_init(&s->crowd, &s->lab, partitions, UNITS, writes, prng_next(p));
    s->crowd.per_second = WITHIN;
    struct gac_key key = {.table = 1, .kind = writes ? GAC_WRITE : GAC_READ};
    gac_watch_init(&s->watch, s->lab.world.scheduler.now, key, UNITS * 1000, duration_ms(10000));
    s->lab.watch = &s->watch;
}

static void begin(struct fixture *s, struct prng *p, const char *policy, bool writes)
{
    begin_with(s, p, policy, writes, PARTITIONS);
}

static void end(struct fixture *s)
{
    lab_deinit(&s->lab);
}

static int64_t offered(const struct counts *c)
{
    return c->ok + c->throttled + c->key_range + c->failed;
}

/* What became of what arrives meanwhile, answers included. */
static struct counts run(struct fixture *s, int64_t ns)
{
    crowd_measure(&s->crowd);
    crowd_run(&s->crowd, ns);
    lab_pass(&s->lab, 200 * NS_PER_MS);
    return crowd_counts(&s->crowd);
}

static int64_t throttled_per_million(const struct counts *c)
{
    return c->throttled * MILLION / offered(c);
}

/* ---- 2: static skew ---- */

static int64_t skewed(struct prng *p, const char *policy, double zipf, bool writes)
{
    static struct fixture s;
    begin(&s, p, policy, writes);
    crowd_zipf(&s.crowd, s.crowd.partitions, PARTITIONS, zipf);
    crowd_zipf(&s.crowd, s.crowd.routers, ROUTERS, zipf);
    run(&s, WARM_UP_S * NS_PER_S);
    struct counts c = run(&s, 6 * NS_PER_S);
    assert_int_equal(c.failed + c.key_range, 0);
    if (s.watch.taken_mcu > 0)
        assert_int_equal(s.watch.over_mcu, 0);
    end(&s);
    return throttled_per_million(&c);
}

static void any_static_skew_is_served(struct prng *p)
{
    static const double skews[] = {0.6, 0.99, 1.2};
    bool writes = prng_below(p, 2) == 0;
    for (int i = long_form() ? 0 : 1; i < (long_form() ? 3 : 2); i++) {
        int64_t lease = skewed(p, "lease", skews[i], writes);
        int64_t fixed = skewed(p, "static", skews[i], writes);
        int64_t off = skewed(p, "off", skews[i], writes);
        printf("    %s, zipf %.2f: throttled of a million: lease %lld, static %lld, off %lld\n",
               writes ? "writes" : "reads", skews[i], (long long)lease, (long long)fixed,
               (long long)off);
        assert_in_range(lease, 0, ONE_REQUEST);
        assert_true(fixed > 10 * MILLION / 100);
        assert_true(off > MILLION / 100);
    }
}

/* ---- 3: a hot spot, of a router and a partition, that moves ---- */

static int64_t hot(struct prng *p, const char *policy, double part, int64_t every_s)
{
    static struct fixture s;
    struct counts sum = {0};
    begin(&s, p, policy, false);
    crowd_hot(s.crowd.routers, ROUTERS, 0, part);
    crowd_hot(s.crowd.partitions, PARTITIONS, 0, part);
    run(&s, WARM_UP_S * NS_PER_S);
    for (uint32_t i = 1; i <= 3; i++) {
        crowd_hot(s.crowd.routers, ROUTERS, i, part);
        crowd_hot(s.crowd.partitions, PARTITIONS, i, part);
        struct counts c = run(&s, every_s * NS_PER_S);
        sum.ok += c.ok;
        sum.throttled += c.throttled;
        assert_int_equal(c.failed + c.key_range, 0);
    }
    end(&s);
    return throttled_per_million(&sum);
}

static void a_spot_is_served(struct prng *p, double part, int64_t every_s)
{
    int64_t lease = hot(p, "lease", part, every_s);
    int64_t fixed = hot(p, "static", part, every_s);
    int64_t periodic = hot(p, "periodic", part, every_s);
    printf("    %.0f %% at one router, moving every %lld s: throttled of a million: lease %lld, "
           "static %lld, periodic %lld\n",
           part * 100, (long long)every_s, (long long)lease, (long long)fixed, (long long)periodic);
    assert_in_range(lease, 0, ONE_REQUEST);
    assert_true(fixed > (part < 0.9 ? 45 : 80) * MILLION / 100);
    assert_true(periodic > lease);
}

static void a_hot_router_that_moves_is_served(struct prng *p)
{
    static const int64_t every_s[] = {1, 10, 60};
    for (int i = 0; i < (long_form() ? 3 : 1); i++) {
        if (long_form())
            a_spot_is_served(p, 0.6, every_s[i]);
        a_spot_is_served(p, 0.99, every_s[i]);
    }
}

/* ---- 9: dilution ---- */

static int64_t halves(struct prng *p, const char *policy)
{
    static struct fixture s;
    begin_with(&s, p, policy, false, 2);
    crowd_hot(s.crowd.partitions, 2, 0, 0.9);
    s.crowd.per_second = UNITS * 9 / 10;
    run(&s, WARM_UP_S * NS_PER_S);
    struct counts c = run(&s, 6 * NS_PER_S);
    assert_int_equal(c.failed + c.key_range, 0);
    end(&s);
    return throttled_per_million(&c);
}

/* Nine tenths of 0.9 in one half, which is given 0.5: 0.31 of 0.9 is too much for it. */
static void halves_of_a_partition_share_what_the_table_may_use(struct prng *p)
{
    int64_t lease = halves(p, "lease"), off = halves(p, "off");
    printf("    90/10 over two halves at 0.9: throttled of a million: lease %lld, off %lld\n",
           (long long)lease, (long long)off);
    assert_in_range(lease, 0, ONE_REQUEST);
    assert_in_range(off, 300000, 370000);
}

/* ---- 12: servers go ---- */

static uint32_t owner_of(struct fixture *s)
{
    struct gac_holding h;
    assert_true(router_process_holding(s->lab.world.routers[0], s->watch.key, &h));
    return h.owner;
}

/* Of ten seconds' worth. */
static double over_percent(const struct fixture *s)
{
    return (double)s->watch.over_mcu * 100 / (UNITS * 1000.0 * 10);
}

static void cut_off(struct lab *l, uint32_t process, bool cut)
{
    for (uint32_t i = 0; i < ROUTERS; i++) {
        (cut ? network_cut : network_heal)(l->world.network, world_router(&l->world, i), process);
        (cut ? network_cut : network_heal)(l->world.network, process, world_router(&l->world, i));
    }
}

static void the_owner_goes(struct prng *p, bool cut, int64_t seconds)
{
    static struct fixture s;
    begin(&s, p, "lease", false);
    run(&s, WARM_UP_S * NS_PER_S);
    uint32_t owner = owner_of(&s);
    assert_in_range(owner, 1, SERVERS);
    if (cut)
        cut_off(&s.lab, world_gac(&s.lab.world, owner - 1), true);
    else
        gac_process_crash(s.lab.world.gac[owner - 1]);
    struct counts away = run(&s, seconds * NS_PER_S);
    if (!cut || seconds > 2) /* one that is merely unresponsive is waited for */
        assert_int_not_equal(owner_of(&s), owner);
    if (cut)
        cut_off(&s.lab, world_gac(&s.lab.world, owner - 1), false);
    else
        gac_process_start(s.lab.world.gac[owner - 1]);
    run(&s, 2 * NS_PER_S);
    struct counts back = run(&s, 3 * NS_PER_S);
    assert_int_equal(owner_of(&s), owner);
    printf("    the owner %s for %lld s: throttled of a million %lld, afterwards %lld; over "
           "%.3f %%\n",
           cut ? "cut off" : "dead", (long long)seconds, (long long)throttled_per_million(&away),
           (long long)throttled_per_million(&back), over_percent(&s));
    /* Cut off: one and a half lifetimes of tokens, where no more is held than for less. */
    int64_t without = cut ? MILLION * 3 / 2 / seconds : 10 * MILLION / 100;
    assert_in_range(throttled_per_million(&away), 0, without);
    assert_in_range(throttled_per_million(&back), 0, 100);
    assert_true(over_percent(&s) <= 1);
    assert_int_equal(away.failed + back.failed, 0);
    end(&s);
}

static void an_owner_may_die_or_be_cut_off(struct prng *p)
{
    static const int64_t spans[] = {1, 10, 60};
    for (int i = 0; i < (long_form() ? 3 : 1); i++) {
        the_owner_goes(p, false, spans[i]);
        the_owner_goes(p, true, spans[i]);
    }
}

/* ---- many tables ---- */

enum {
    TABLES = 12,
    TABLE_UNITS = 100
};

struct gac_tables {
    struct fixture fixture;
    struct counts counts[TABLES];
    uint32_t owners[TABLES];
    uint32_t next; /* router */
};

/* Four fifths of what each may use, evenly over routers. */
static void run_tables(struct gac_tables *t, int64_t ns)
{
    struct lab *l = &t->fixture.lab;
    memset(t->counts, 0, sizeof t->counts);
    for (int64_t left = ns; left > 0; left -= NS_PER_S * 10 / TABLE_UNITS / 8) {
        for (int i = 0; i < TABLES; i++) {
            char body[128];
            snprintf(body, sizeof body,
                     "{\"TableName\":\"table%d\",\"ConsistentRead\":true,\"Key\":{\"k\":{\"S\":"
                     "\"a\"}}}",
                     i);
            lab_call_at(l, (t->next + (uint32_t)i) % ROUTERS, &t->counts[i], "GetItem", body);
        }
        t->next++;
        lab_pass(l, NS_PER_S * 10 / TABLE_UNITS / 8);
    }
    lab_pass(l, 200 * NS_PER_MS);
    for (uint32_t i = 0; i < TABLES; i++) {
        const struct gac_key key = {.table = i + 1, .kind = GAC_READ};
        for (uint32_t r = 0; r < ROUTERS; r++) {
            struct gac_holding h;
            assert_true(router_process_holding(l->world.routers[r], key, &h));
            assert_true(r == 0 || h.owner == t->owners[i]);
            t->owners[i] = h.owner;
        }
    }
}

/* Who has granted of the table, bit number - 1: ledgers of those who live. */
static uint32_t ledgers_of(struct gac_tables *t, uint32_t table)
{
    const struct gac_key key = {.table = table + 1, .kind = GAC_READ};
    struct gac_bank ledger;
    uint32_t servers = 0;
    for (uint32_t s = 0; s < SERVERS; s++)
        servers |= (uint32_t)gac_process_inspect(t->fixture.lab.world.gac[s], key, &ledger) << s;
    return servers;
}

/* Its server goes, and comes back with nothing. The others' tables notice nothing. */
static void only_tables_of_a_server_that_goes_move(struct prng *p)
{
    static struct gac_tables t;
    uint32_t before[TABLES], ledgers[TABLES], moved = 0;
    t = (struct gac_tables){0};
    begin_lab(&t.fixture, p, "lease");
    for (int i = 0; i < TABLES; i++) {
        char name[16];
        snprintf(name, sizeof name, "table%d", i);
        lab_create_table(&t.fixture.lab, name, TABLE_UNITS, TABLE_UNITS);
    }
    run_tables(&t, 5 * NS_PER_S);
    memcpy(before, t.owners, sizeof before);
    for (uint32_t i = 0; i < TABLES; i++) {
        ledgers[i] = ledgers_of(&t, i);
        assert_int_equal(ledgers[i], 1 << (before[i] - 1));
    }
    uint32_t gone = before[prng_below(p, TABLES)];
    gac_process_crash(t.fixture.lab.world.gac[gone - 1]);
    for (int back = 0; back < 2; back++) {
        if (back)
            gac_process_start(t.fixture.lab.world.gac[gone - 1]);
        run_tables(&t, 5 * NS_PER_S);
        for (uint32_t i = 0; i < TABLES; i++) {
            bool affected = before[i] == gone;
            moved += affected && !back;
            assert_true((t.owners[i] == before[i]) == (!affected || back));
            assert_int_equal(t.counts[i].failed + t.counts[i].key_range, 0);
            if (!affected) {
                assert_int_equal(t.counts[i].throttled, 0);
                assert_int_equal(ledgers_of(&t, i), ledgers[i]);
            }
        }
    }
    printf("    of %d tables %u move with their server, and back; the others keep their ledgers\n",
           TABLES, moved);
    assert_in_range(moved, 1, TABLES - 1);
    end(&t.fixture);
}

/* ---- a maximum on demand ---- */

static struct counts request_twice_the_limit(struct fixture *s, int64_t seconds)
{
    struct counts c = {0};
    for (int64_t i = 0; i < seconds * 2 * UNITS; i++) {
        lab_call_at(&s->lab, (uint32_t)i % ROUTERS, &c, "GetItem",
                    "{\"TableName\":\"demand\",\"ConsistentRead\":true,\"Key\":{\"k\":{\"S\":"
                    "\"a\"}}}");
        lab_pass(&s->lab, NS_PER_S / UNITS / 2);
    }
    return c;
}

/* Its partitions would serve twice as much. */
static void a_maximum_on_demand_is_the_tables(struct prng *p)
{
    static struct fixture s;
    char body[512];
    struct counts c = {0};
    begin_lab(&s, p, "lease");
    snprintf(body, sizeof body,
             "{\"TableName\":\"demand\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":"
             "\"HASH\"}],\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":"
             "\"S\"}],\"BillingMode\":\"PAY_PER_REQUEST\",\"OnDemandThroughput\":{"
             "\"MaxReadRequestUnits\":%d,\"MaxWriteRequestUnits\":%d}}",
             UNITS, UNITS);
    lab_call(&s.lab, &c, "CreateTable", body);
    lab_pass(&s.lab, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
    struct gac_key key = {.table = 1, .kind = GAC_READ};
    gac_watch_init(&s.watch, s.lab.world.scheduler.now, key, UNITS * 1000, duration_ms(10000));
    s.lab.watch = &s.watch;
    request_twice_the_limit(&s, 10); /* what was saved up goes */
    c = request_twice_the_limit(&s, 5);
    printf("    twice a maximum on demand: served of it %.1f %%, %lld refused for it, %lld for "
           "others\n",
           (double)c.ok * 100 / (UNITS * 5), (long long)c.maximum,
           (long long)(c.throttled + c.key_range + c.failed));
    assert_in_range(c.ok, UNITS * 5 * 97 / 100, UNITS * 5 * 101 / 100);
    assert_true(c.maximum > UNITS * 5 * 95 / 100);
    assert_int_equal(c.throttled + c.key_range + c.failed, 0);
    assert_int_equal(s.watch.over_mcu, 0);
    end(&s);
}

/* ---- 12: all servers go ---- */

/* Each router has its even part to itself. */
static void all_servers_may_die(struct prng *p)
{
    static struct fixture s;
    begin(&s, p, "lease", false);
    s.crowd.per_second = UNITS * 80 / 100;
    run(&s, WARM_UP_S * NS_PER_S);
    for (uint32_t i = 0; i < SERVERS; i++)
        gac_process_crash(s.lab.world.gac[i]);
    struct counts away = run(&s, 10 * NS_PER_S);
    for (uint32_t i = 0; i < SERVERS; i++)
        gac_process_start(s.lab.world.gac[i]);
    run(&s, 2 * NS_PER_S);
    struct counts back = run(&s, 3 * NS_PER_S);
    printf("    all servers away for 10 s: throttled of a million %lld, afterwards %lld; over "
           "%.3f %%\n",
           (long long)throttled_per_million(&away), (long long)throttled_per_million(&back),
           over_percent(&s));
    assert_in_range(throttled_per_million(&away), 0, 5 * MILLION / 100);
    assert_in_range(throttled_per_million(&back), 0, 100);
    assert_true(over_percent(&s) <= 1);
    assert_int_equal(away.failed + back.failed, 0);
    end(&s);
}

/* What all servers have of the table's limit, and what they have granted of it. */
static int64_t saved_of(struct fixture *s)
{
    struct gac_bank ledger;
    int64_t sum = 0;
    for (uint32_t i = 0; i < SERVERS; i++)
        if (gac_process_inspect(s->lab.world.gac[i], s->watch.key, &ledger))
            sum += ledger.bank + ledger.held;
    return sum;
}

/* Offered twice what there is until nothing is saved any more; from then on the ideal bucket holds
 * what the servers do: whatever is granted twice is seen. */
static void bring_to_the_limit(struct fixture *s, struct prng *p)
{
    begin(s, p, "lease", false);
    s->crowd.per_second = UNITS * 2;
    run(s, 20 * NS_PER_S);
    int64_t saved = saved_of(s);
    assert_in_range(saved, 0, UNITS * 1000);
    token_bucket_refill(&s->watch.ideal, s->lab.world.scheduler.now);
    s->watch.ideal.balance = saved;
}

static void report_limit(const struct fixture *s, const char *what, const struct counts *away,
                         const struct counts *back)
{
    printf("    at twice the limit, %s for 5 s: served of what there is %.1f %%, afterwards %.1f "
           "%%; over %.3f %%\n",
           what, (double)away->ok * 100 / (UNITS * 5), (double)back->ok * 100 / (UNITS * 5),
           over_percent(s));
    assert_true(away->ok > UNITS * 5 / 2);
    assert_true(back->ok > UNITS * 5 * 95 / 100);
    assert_true(over_percent(s) <= 1);
}

static void nothing_happens_at_the_limit(struct prng *p)
{
    static struct fixture s;
    bring_to_the_limit(&s, p);
    struct counts first = run(&s, 5 * NS_PER_S), then = run(&s, 5 * NS_PER_S);
    report_limit(&s, "nothing happens", &first, &then);
    assert_int_equal(s.watch.over_mcu, 0);
    end(&s);
}

static void the_owner_is_cut_off_at_the_limit(struct prng *p)
{
    static struct fixture s;
    bring_to_the_limit(&s, p);
    uint32_t owner = owner_of(&s);
    cut_off(&s.lab, world_gac(&s.lab.world, owner - 1), true);
    struct counts away = run(&s, 5 * NS_PER_S);
    assert_int_not_equal(owner_of(&s), owner);
    cut_off(&s.lab, world_gac(&s.lab.world, owner - 1), false);
    struct counts back = run(&s, 5 * NS_PER_S);
    report_limit(&s, "the owner cut off", &away, &back);
    end(&s);
}

/* The owner, or all. */
static void servers_die_at_the_limit(struct prng *p, bool all)
{
    static struct fixture s;
    bring_to_the_limit(&s, p);
    uint32_t owner = owner_of(&s) - 1;
    for (uint32_t i = 0; i < SERVERS; i++) {
        if (all || i == owner)
            gac_process_crash(s.lab.world.gac[i]);
    }
    struct counts away = run(&s, 5 * NS_PER_S);
    for (uint32_t i = 0; i < SERVERS; i++) {
        if (all || i == owner)
            gac_process_start(s.lab.world.gac[i]);
    }
    struct counts back = run(&s, 5 * NS_PER_S);
    report_limit(&s, all ? "all servers dead" : "the owner dead", &away, &back);
    end(&s);
}

static void at_its_limit_nothing_is_granted_twice(struct prng *p)
{
    the_owner_is_cut_off_at_the_limit(p);
    servers_die_at_the_limit(p, false);
    if (!long_form())
        return;
    nothing_happens_at_the_limit(p);
    servers_die_at_the_limit(p, true);
}

/* ---- 13: a router dies; clocks ---- */

static void a_router_that_dies_takes_its_lease_with_it(struct prng *p)
{
    static struct fixture s;
    struct gac_holding h;
    begin(&s, p, "lease", false);
    run(&s, WARM_UP_S * NS_PER_S);
    assert_true(router_process_holding(s.lab.world.routers[5], s.watch.key, &h));
    int64_t saved = saved_of(&s);
    s.crowd.routers[5] = 0; /* its clients go elsewhere */
    router_process_crash(s.lab.world.routers[5]);
    struct counts c = run(&s, 5 * NS_PER_S);
    printf("    a router died with %lld units: throttled of a million %lld\n",
           (long long)(h.tokens / 1000), (long long)throttled_per_million(&c));
    assert_true(h.tokens <= saved / ROUTERS);
    assert_in_range(throttled_per_million(&c), 0, 2 * ONE_REQUEST);
    assert_int_equal(s.watch.over_mcu, 0);
    end(&s);
}

/* They start up to 1000 s apart (sim/world/clock.h), and run at rates that are 0.1 % off. */
static void clocks_may_be_wrong(struct prng *p)
{
    static struct fixture s;
    begin(&s, p, "lease", false);
    for (uint32_t i = 0; i < ROUTERS; i++)
        sim_clock_set_drift(world_clock(&s.lab.world, world_router(&s.lab.world, i)),
                            s.lab.world.scheduler.now, i % 2 == 0 ? 1000 : -1000);
    for (uint32_t i = 0; i < SERVERS; i++)
        sim_clock_set_drift(world_clock(&s.lab.world, world_gac(&s.lab.world, i)),
                            s.lab.world.scheduler.now, -1000);
    crowd_zipf(&s.crowd, s.crowd.routers, ROUTERS, 1.2);
    run(&s, WARM_UP_S * NS_PER_S);
    struct counts c = run(&s, 6 * NS_PER_S);
    printf("    clocks apart and off: throttled of a million %lld\n",
           (long long)throttled_per_million(&c));
    assert_in_range(throttled_per_million(&c), 0, 2 * ONE_REQUEST);
    assert_int_equal(s.watch.over_mcu, 0);
    end(&s);
}

#define SCENARIO(name)        \
    TEST(test_##name)         \
    {                         \
        check_seeds(1, name); \
    }

SCENARIO(any_static_skew_is_served)
SCENARIO(a_hot_router_that_moves_is_served)
SCENARIO(halves_of_a_partition_share_what_the_table_may_use)
SCENARIO(an_owner_may_die_or_be_cut_off)
SCENARIO(only_tables_of_a_server_that_goes_move)
SCENARIO(a_maximum_on_demand_is_the_tables)
SCENARIO(all_servers_may_die)
SCENARIO(at_its_limit_nothing_is_granted_twice)
SCENARIO(a_router_that_dies_takes_its_lease_with_it)
SCENARIO(clocks_may_be_wrong)
