/* gac_property.c - guarantees of global admission control under any load, and single faults. */
#include "tests/check.h"

#include <math.h>

#include "base/gac_policy.h"
#include "base/settings/gac.h"
#include "tests/support/gac_simulation.h"

enum {
    ROUTERS = 16,
    SERVERS = 3,
    LOAD_PERCENT = 95, /* of what the table may use */
    WARM_UP_S = 4,     /* something is saved up by then */
    MILLION = 1000000
};

static void set_up(struct gac_simulation *w, struct prng *p, enum gac_policy policy)
{
    const struct gac_simulation_options options = {.routers = ROUTERS,
                                                   .servers = SERVERS,
                                                   .policy = policy,
                                                   .units = 2000 + (int64_t)prng_below(p, 18000),
                                                   .bank_ms = 1000 + (int64_t)prng_below(p, 9000),
                                                   .delay_ns =
                                                       50000 + (int64_t)prng_below(p, 950000),
                                                   .drift_ppm = 1000,
                                                   .skew_ns = 10 * NS_PER_S,
                                                   .seed = prng_next(p)};
    gac_simulation_init(w, &options);
}

/* `percent` of the rate, divided by these weights. */
static void load(struct gac_simulation *w, int64_t percent, const int64_t weights[ROUTERS])
{
    int64_t sum = 0, all = w->options.units * 10 * percent; /* thousandths of a request */
    for (uint32_t i = 0; i < ROUTERS; i++)
        sum += weights[i];
    for (uint32_t i = 0; i < ROUTERS; i++)
        gac_simulation_load(w, i, all * weights[i] / sum);
}

/* Any static skew: from even to all at one. */
static void skewed(struct gac_simulation *w, struct prng *p, int64_t percent)
{
    int64_t weights[ROUTERS], power = (int64_t)prng_below(p, 5);
    for (uint32_t i = 0; i < ROUTERS; i++) {
        weights[i] = 1;
        for (int64_t k = 0; k < power; k++)
            weights[i] *= 1 + (int64_t)prng_below(p, 16);
    }
    load(w, percent, weights);
}

/* So many in a hundred at one router, the others even. */
static void hot(struct gac_simulation *w, int64_t percent_hot, uint32_t at)
{
    int64_t weights[ROUTERS];
    for (uint32_t i = 0; i < ROUTERS; i++)
        weights[i] = i == at ? percent_hot * (ROUTERS - 1) : 100 - percent_hot;
    load(w, LOAD_PERCENT, weights);
}

static void measure(struct gac_simulation *w, int64_t seconds)
{
    gac_simulation_measure(w);
    gac_simulation_run(w, seconds * NS_PER_S);
}

static uint64_t refused_per_million(const struct gac_simulation *w)
{
    return w->refused * MILLION / w->offered;
}

/* ---- without faults ---- */

static void any_skew_is_served(struct prng *p)
{
    struct gac_simulation w;
    set_up(&w, p, GAC_LEASE);
    skewed(&w, p, LOAD_PERCENT);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    measure(&w, 5);
    assert_in_range(refused_per_million(&w), 0, 100);
    assert_int_equal(w.over_mcu, 0);
    gac_simulation_deinit(&w);
}

/* Wanting more than there is gives all there is, and no more. */
static void too_much_gets_all_there_is(struct prng *p)
{
    struct gac_simulation w;
    set_up(&w, p, GAC_LEASE);
    skewed(&w, p, 150);
    gac_simulation_run(&w, 2 * w.options.bank_ms * NS_PER_MS + WARM_UP_S * NS_PER_S);
    measure(&w, 5);
    assert_true(w.admitted * 100 >= (uint64_t)w.options.units * 5 * 97);
    assert_int_equal(w.over_mcu, 0);
    gac_simulation_deinit(&w);
}

/* Whoever wants less than an even part gets all of it, however much others want. */
static void small_demand_is_met_first(struct prng *p)
{
    struct gac_simulation w;
    int64_t weights[ROUTERS];
    set_up(&w, p, GAC_LEASE);
    for (uint32_t i = 0; i < ROUTERS; i++)
        weights[i] = i < ROUTERS / 2 ? 1 : 20;
    load(&w, 300, weights);
    gac_simulation_run(&w, 2 * w.options.bank_ms * NS_PER_MS + WARM_UP_S * NS_PER_S);
    uint64_t offered = 0, refused = 0;
    for (uint32_t i = 0; i < ROUTERS / 2; i++) {
        offered -= w.routers[i].offered;
        refused -= w.routers[i].refused;
    }
    measure(&w, 5);
    for (uint32_t i = 0; i < ROUTERS / 2; i++) {
        offered += w.routers[i].offered;
        refused += w.routers[i].refused;
    }
    assert_true(offered > 0);
    assert_in_range(refused * 100 / offered, 0, 1);
    gac_simulation_deinit(&w);
}

static uint64_t refused_while_it_moves(struct prng *p, enum gac_policy policy, int64_t percent_hot)
{
    struct gac_simulation w;
    set_up(&w, p, policy);
    hot(&w, percent_hot, 0);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    gac_simulation_measure(&w);
    for (uint32_t i = 1; i <= 8; i++) {
        hot(&w, percent_hot, i);
        gac_simulation_run(&w, NS_PER_S);
    }
    uint64_t refused = refused_per_million(&w);
    assert_int_equal(w.over_mcu, 0);
    gac_simulation_deinit(&w);
    return refused;
}

/* Static shares lose what is hot beyond an even part: 0.6 - 1/16 and 0.99 - 1/16 of a rate. */
static void a_moving_hotspot_is_served_and_static_shares_throttle_it(struct prng *p)
{
    assert_in_range(refused_while_it_moves(p, GAC_LEASE, 60), 0, 100);
    assert_in_range(refused_while_it_moves(p, GAC_LEASE, 99), 0, 100);
    assert_true(refused_while_it_moves(p, GAC_STATIC, 60) > 40 * MILLION / 100);
    assert_true(refused_while_it_moves(p, GAC_STATIC, 99) > 80 * MILLION / 100);
    assert_true(refused_while_it_moves(p, GAC_PERIODIC, 99) > 10 * MILLION / 100);
}

/* Three moves, so long apart. */
static uint64_t refused_while_it_rests(struct prng *p, int64_t percent_hot, int64_t seconds)
{
    struct gac_simulation w;
    set_up(&w, p, GAC_LEASE);
    hot(&w, percent_hot, 0);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    gac_simulation_measure(&w);
    for (uint32_t i = 1; i <= 3; i++) {
        hot(&w, percent_hot, i);
        gac_simulation_run(&w, seconds * NS_PER_S);
    }
    uint64_t refused = refused_per_million(&w);
    assert_int_equal(w.over_mcu, 0);
    gac_simulation_deinit(&w);
    return refused;
}

static void a_hotspot_that_rests_before_it_moves_is_served(struct prng *p)
{
    bool all = getenv("SEEDS") != NULL;
    for (int64_t percent = 60; percent <= 99; percent += 39) {
        assert_in_range(refused_while_it_rests(p, percent, 10), 0, 100);
        if (all)
            assert_in_range(refused_while_it_rests(p, percent, 60), 0, 100);
    }
}

/* Nothing is saved up by then, and those who were denied want little now. */
static void a_hotspot_that_moves_after_an_overload_is_served(struct prng *p)
{
    static const int64_t units[] = {400, 1600, 16000};
    struct gac_simulation w;
    int64_t even[ROUTERS], percent = prng_below(p, 2) == 0 ? 60 : 99;
    gac_simulation_init(&w, &(struct gac_simulation_options){.routers = ROUTERS,
                                                             .servers = SERVERS,
                                                             .policy = GAC_LEASE,
                                                             .units = units[prng_below(p, 3)],
                                                             .bank_ms = 10000,
                                                             .delay_ns = NS_PER_MS / 2,
                                                             .seed = prng_next(p)});
    for (uint32_t i = 0; i < ROUTERS; i++)
        even[i] = 1;
    load(&w, 200, even);
    gac_simulation_run(&w, 12 * NS_PER_S);
    hot(&w, percent, 0);
    gac_simulation_run(&w, 2 * NS_PER_S);
    gac_simulation_measure(&w);
    for (uint32_t i = 1; i <= 6; i++) {
        hot(&w, percent, i);
        gac_simulation_run(&w, NS_PER_S * (1 + (int64_t)prng_below(p, 3)));
    }
    assert_in_range(refused_per_million(&w), 0, 100);
    assert_int_equal(w.over_mcu, 0);
    gac_simulation_deinit(&w);
}

/* Requests that cost many seconds of the rate are let in, and owed: with all of it no more is let
 * in than an ideal bucket would, and one such request. */
static void costly_requests_are_admitted_into_debt(struct prng *p)
{
    struct gac_simulation w;
    int64_t costly = 100000 + (int64_t)prng_below(p, 300000),
            every = 20 + (int64_t)prng_below(p, 100);
    int64_t units = 5 + (int64_t)prng_below(p, 50), percent = 20 + (int64_t)prng_below(p, 180);
    gac_simulation_init(
        &w, &(struct gac_simulation_options){.routers = 1 + (uint32_t)prng_below(p, ROUTERS),
                                             .servers = SERVERS,
                                             .policy = GAC_LEASE,
                                             .units = units,
                                             .bank_ms = 1000 + (int64_t)prng_below(p, 300000),
                                             .delay_ns = NS_PER_MS / 2,
                                             .costly_mcu = costly,
                                             .costly_every = (uint64_t)every,
                                             .seed = prng_next(p)});
    int64_t mean = GAC_SIMULATION_COST + costly / every;
    for (uint32_t i = 0; i < w.options.routers; i++)
        gac_simulation_load(&w, i, units * 10 * percent * 1000 / mean / w.options.routers);
    gac_simulation_run(&w, 1000 * NS_PER_S);
    assert_true(percent > 80 || w.costly_admitted > 0);
    assert_in_range(w.over_mcu, 0, costly);
    gac_simulation_deinit(&w);
}

/* ---- what it costs ---- */

struct cost {
    double requests_percent; /* of requests */
    double product;          /* asks a second times tokens held, by the least there can be */
};

/* With n grant requests a second for lambda_i requests a second each, tokens held are lambda_i /
 * n_i / 2 on average: the product of both sums is least where it is (sum sqrt(lambda_i))^2 / 2. */
struct load {
    int64_t units;
    int64_t percent; /* of them */
    double zipf;     /* between routers */
    int64_t bank_ms;
    int64_t begun_s; /* before it is measured */
};

static struct cost cost_of(struct prng *p, const struct load *o)
{
    enum {
        REQUESTS = 100000,
        SAMPLES = 500
    };
    struct gac_simulation w;
    double weights[ROUTERS], sum = 0, roots = 0, held = 0;
    gac_simulation_init(&w, &(struct gac_simulation_options){.routers = ROUTERS,
                                                             .servers = SERVERS,
                                                             .policy = GAC_LEASE,
                                                             .units = o->units,
                                                             .bank_ms = o->bank_ms,
                                                             .delay_ns = NS_PER_MS / 2,
                                                             .seed = prng_next(p)});
    for (int i = 0; i < ROUTERS; i++)
        sum += weights[i] = pow(i + 1, -o->zipf);
    for (uint32_t i = 0; i < ROUTERS; i++) {
        double rate = (double)(o->units * o->percent) / 100 * weights[i] / sum;
        gac_simulation_load(&w, i, (int64_t)(rate * 1000));
        roots += sqrt(rate);
    }
    int64_t seconds = REQUESTS / o->units;
    gac_simulation_run(&w, o->begun_s * NS_PER_S);
    gac_simulation_measure(&w);
    for (int i = 0; i < SAMPLES; i++) {
        gac_simulation_run(&w, seconds * NS_PER_S / SAMPLES);
        held += (double)gac_simulation_held(&w) / 1000 / SAMPLES;
    }
    double requests = (double)w.messages / 2; /* each is answered */
    struct cost c = {requests * 100 / (double)w.offered,
                     requests / (double)seconds * held / (roots * roots / 2)};
    printf("    %lld units/s at %lld %%, zipf %.2f, %lld s to save, after %lld s: asks %.2f %% of "
           "requests, asks/s x tokens held %.2f of the least\n",
           (long long)o->units, (long long)o->percent, o->zipf, (long long)o->bank_ms / 1000,
           (long long)o->begun_s, c.requests_percent, c.product);
    assert_int_equal(w.over_mcu, 0);
    gac_simulation_deinit(&w);
    return c;
}

/* An ask a hundred requests needs a hundred tokens at each router, and twice as many in the bank:
 * what a table has saved up after so long, at 0.95 of its limit. */
static void messages_and_idle_tokens_are_few(struct prng *p)
{
    static const double skews[] = {0, 0.6, 0.99, 1.2};
    for (int i = 0; i < 4; i++) {
        const struct load loads[] = {{1600, 95, skews[i], 300000, 60},
                                     {160, 95, skews[i], 300000, 600},
                                     {16000, 95, skews[i], 300000, 15}};
        bool all = getenv("SEEDS") != NULL || i == 2;
        for (int k = 0; k < (all ? 3 : 2); k++) {
            struct cost c = cost_of(p, &loads[k]);
            assert_true(c.requests_percent <= 1 && c.product <= 1.2);
        }
    }
    struct cost c = cost_of(p, &(struct load){16000, 95, 0, 1000, 15});
    assert_true(c.requests_percent <= 1 && c.product <= 1.2);
}

/* Where less is saved up grants are less, and there are more of them. */
static void grants_are_small_where_little_is_saved_up(struct prng *p)
{
    struct cost c = cost_of(p, &(struct load){1600, 95, 0, 300000, 15});
    assert_true(c.requests_percent <= 3);
    c = cost_of(p, &(struct load){1600, 95, 0, 1000, 15});
    assert_true(c.requests_percent <= 5 && c.product <= 1.3);
    c = cost_of(p, &(struct load){160, 95, 0, 300000, 15});
    assert_true(c.requests_percent <= 10);
}

/* It asks when something will have come, not again and again: for half of 100 ms of its share, with
 * a grant and a report each time. */
static void who_is_denied_does_not_poll(struct prng *p)
{
    struct cost c = cost_of(p, &(struct load){16000, 1000, 0, 1000, 15});
    assert_true(c.requests_percent <= 0.55);
}

/* ---- single faults ---- */

/* At most one part in a hundred of what ten seconds give. */
static void assert_hardly_over(const struct gac_simulation *w)
{
    assert_in_range(w->over_mcu, 0, w->options.units * 1000 * 10 / 100);
}

static void a_server_may_die(struct prng *p)
{
    struct gac_simulation w;
    set_up(&w, p, GAC_LEASE);
    skewed(&w, p, LOAD_PERCENT);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    uint32_t owner = gac_simulation_owner(&w);
    assert_in_range(owner, 1, SERVERS);
    gac_simulation_crash_server(&w, owner);
    measure(&w, 3);
    assert_in_range(refused_per_million(&w), 0, 10 * MILLION / 100);
    assert_hardly_over(&w);
    assert_true(gac_simulation_owner(&w) != owner);
    gac_simulation_start_server(&w, owner);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    assert_int_equal(gac_simulation_owner(&w), owner);
    measure(&w, 2);
    assert_in_range(refused_per_million(&w), 0, 100);
    assert_hardly_over(&w);
    gac_simulation_deinit(&w);
}

static void a_router_may_be_cut_off_or_die(struct prng *p)
{
    struct gac_simulation w;
    set_up(&w, p, GAC_LEASE);
    skewed(&w, p, LOAD_PERCENT);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    for (uint32_t s = 1; s <= SERVERS; s++)
        gac_simulation_cut(&w, 3, s, true);
    measure(&w, 5);
    assert_hardly_over(&w);
    for (uint32_t s = 1; s <= SERVERS; s++)
        gac_simulation_cut(&w, 3, s, false);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    gac_simulation_crash_router(&w, 5);
    measure(&w, 5);
    assert_in_range(refused_per_million(&w), 0, 100);
    assert_hardly_over(&w);
    gac_simulation_deinit(&w);
}

/* Each router goes on with its even part of the rate, and all comes back. */
static void all_servers_may_die(struct prng *p)
{
    struct gac_simulation w;
    set_up(&w, p, GAC_LEASE);
    int64_t even[ROUTERS];
    for (uint32_t i = 0; i < ROUTERS; i++)
        even[i] = 1;
    load(&w, 80, even);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    for (uint32_t s = 1; s <= SERVERS; s++)
        gac_simulation_crash_server(&w, s);
    measure(&w, 5);
    assert_in_range(refused_per_million(&w), 0, 5 * MILLION / 100);
    assert_hardly_over(&w);
    for (uint32_t s = 1; s <= SERVERS; s++)
        gac_simulation_start_server(&w, s);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    measure(&w, 3);
    assert_in_range(refused_per_million(&w), 0, 100);
    assert_hardly_over(&w);
    gac_simulation_deinit(&w);
}

/* ---- gossip ---- */

static void gossip_set_up(struct gac_simulation *w, struct prng *p, uint32_t routers)
{
    gac_simulation_init(
        w, &(struct gac_simulation_options){.routers = routers,
                                            .servers = SERVERS,
                                            .policy = GAC_NAMED,
                                            .named = "gossip",
                                            .units = 2000 + (int64_t)prng_below(p, 18000),
                                            .bank_ms = 1000,
                                            .delay_ns = 50000 + (int64_t)prng_below(p, 950000),
                                            .drift_ppm = 1000,
                                            .skew_ns = 10 * NS_PER_S,
                                            .seed = prng_next(p)});
}

/* While demand is steady, the shares together are about the limit. */
static void assert_admits_the_limit(struct gac_simulation *w, int64_t seconds)
{
    measure(w, seconds);
    const uint64_t all = (uint64_t)(w->options.units * seconds);
    assert_in_range(w->admitted * 1000 / all, 930, 1020);
}

/* Routers go on with their shares when no server tells them anything, and find them again. */
static void gossip_keeps_the_shares_that_it_received_last(struct prng *p)
{
    struct gac_simulation w;
    gossip_set_up(&w, p, ROUTERS);
    hot(&w, 80, 0); /* even shares would let a quarter of it through */
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    measure(&w, 5);
    assert_in_range(refused_per_million(&w), 0, 2 * MILLION / 100);
    for (uint32_t s = 1; s <= SERVERS; s++)
        gac_simulation_crash_server(&w, s);
    measure(&w, 5);
    assert_in_range(refused_per_million(&w), 0, 2 * MILLION / 100);
    for (uint32_t s = 1; s <= SERVERS; s++)
        gac_simulation_start_server(&w, s);
    measure(&w, 5);
    assert_in_range(refused_per_million(&w), 0, 2 * MILLION / 100);
    skewed(&w, p, 300);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    assert_admits_the_limit(&w, 5);
    for (uint32_t s = 1; s <= SERVERS;
         s++) { /* a new ledger does not tell that nobody wants anything */
        gac_simulation_crash_server(&w, s);
        gac_simulation_start_server(&w, s);
    }
    assert_admits_the_limit(&w, 1);
    skewed(&w, p, 200);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    assert_admits_the_limit(&w, 5);
    gac_simulation_deinit(&w);
}

/* A router saves up its part of what the table may save, and keeps that when all servers are gone.
 * It is alone here, so that its part is all, and not what it heard of others. */
static void gossip_saves_what_was_not_used(struct prng *p)
{
    struct gac_simulation w;
    gossip_set_up(&w, p, 1);
    config_edit_gac(&w.config)->gac_bank_ms = 5000;
    gac_simulation_load(&w, 0, w.options.units * 200);
    gac_simulation_run(&w, 12 * NS_PER_S);
    for (uint32_t s = 1; s <= SERVERS; s++)
        gac_simulation_crash_server(&w, s);
    gac_simulation_load(&w, 0, w.options.units * 4000);
    measure(&w, 1);
    assert_true(w.admitted * 100 >= (uint64_t)w.options.units * 370);
    gac_simulation_deinit(&w);
}

/* It bounds nothing: routers whose demand rises take more before the others hear of it. */
static void gossip_exceeds_the_limit_while_routers_receive_nothing(struct prng *p)
{
    struct gac_simulation w;
    int64_t even[ROUTERS];
    gossip_set_up(&w, p, ROUTERS);
    for (uint32_t i = 0; i < ROUTERS; i++)
        even[i] = 1;
    load(&w, 300, even);
    gac_simulation_run(&w, WARM_UP_S * NS_PER_S);
    gac_simulation_measure(&w);
    for (uint32_t s = 1; s <= SERVERS; s++)
        gac_simulation_crash_server(&w, s);
    load(&w, 3000, even); /* nobody hears that the others want ten times as much, too */
    gac_simulation_run(&w, 5 * NS_PER_S);
    assert_true(w.over_mcu > w.options.units * 1000);
    gac_simulation_deinit(&w);
}

#define PROPERTY(name, runs)     \
    TEST(test_##name)            \
    {                            \
        check_seeds(runs, name); \
    }

PROPERTY(any_skew_is_served, 5)
PROPERTY(too_much_gets_all_there_is, 5)
PROPERTY(small_demand_is_met_first, 5)
PROPERTY(a_moving_hotspot_is_served_and_static_shares_throttle_it, 5)
PROPERTY(a_hotspot_that_rests_before_it_moves_is_served, 1)
PROPERTY(a_hotspot_that_moves_after_an_overload_is_served, 5)
PROPERTY(costly_requests_are_admitted_into_debt, 10)
PROPERTY(messages_and_idle_tokens_are_few, 1)
PROPERTY(grants_are_small_where_little_is_saved_up, 1)
PROPERTY(who_is_denied_does_not_poll, 1)
PROPERTY(a_server_may_die, 5)
PROPERTY(a_router_may_be_cut_off_or_die, 5)
PROPERTY(all_servers_may_die, 5)
PROPERTY(gossip_keeps_the_shares_that_it_received_last, 5)
PROPERTY(gossip_saves_what_was_not_used, 5)
PROPERTY(gossip_exceeds_the_limit_while_routers_receive_nothing, 5)
