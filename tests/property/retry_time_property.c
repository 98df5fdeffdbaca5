/* retry_time_property.c - a refused request that waits as told, alone, is let in (LEDGER-8).
 *
 * A router, or two of them, and a GAC server in virtual time, under every policy of tables. Others
 * ask first, and rest. Then one client uses up what there is, waits as long as it is told, and
 * asks again. */
#include "tests/check.h"

#include "base/config.h"
#include "base/gac_policy.h"
#include "base/settings/gac.h"
#include "gac/client.h"
#include "gac/server.h"
#include "gac/waiting_line.h"
#include "tests/support/baseline_policies.h"

enum {
    ROUTERS = 2,
    REFUSALS = 4, /* of a seed and a policy */
    UNIT = 1000,
    RATE_MAX = 1000,
    COST_MAX = 400,
    REST_MS = 3000
};

struct retry_world {
    struct config config;
    struct instant now;
    struct gac_client *clients[ROUTERS]; /* owns; the second one: NULL in half of all worlds */
    struct gac_server *server;           /* owns */
    struct gac_limit limit;
    int64_t cost;
    int64_t printed_ns, ideal_ns; /* sums of all refusals */
};

static const char *const policies[] = {"static",  "periodic",      "lease",    "one-bucket",
                                       "doorman", "tenant-bucket", "pd-group", "gossip"};

static void retry_exchange(struct retry_world *w)
{
    struct buffer answer = {0}, error = {0};
    struct slice frame;
    uint32_t number;
    for (uint64_t i = 0; i < ROUTERS; i++) {
        struct gac_client *c = w->clients[i];
        while (c != NULL && gac_client_next_frame(c, w->now, &number, &frame)) {
            buffer_clear(&answer);
            assert_int_equal(gac_server_receive(w->server, w->now,
                                                (struct gac_origin){.link = i + 1}, frame, &answer,
                                                &error),
                             STATUS_OK);
            assert_int_equal(gac_client_receive(c, w->now, number, buffer_slice(&answer)),
                             STATUS_OK);
        }
    }
    buffer_deinit(&answer);
    buffer_deinit(&error);
}

/* Each router's tick takes place at its time. */
static void retry_pass(struct retry_world *w, int64_t ns)
{
    const struct instant end = instant_add(w->now, (struct duration){ns});
    while (instant_before(w->now, end)) {
        struct instant next = end;
        for (int i = 0; i < ROUTERS; i++) {
            if (w->clients[i] != NULL)
                next = instant_earlier(next, gac_client_deadline(w->clients[i]));
        }
        w->now = instant_before(w->now, next) ? next : instant_add_ms(w->now, 1);
        w->now = instant_earlier(w->now, end);
        for (int i = 0; i < ROUTERS; i++) {
            if (w->clients[i] != NULL)
                gac_client_tick(w->clients[i], w->now);
        }
        retry_exchange(w);
    }
}

static enum gac_verdict retry_take(struct retry_world *w, int router, int64_t cost,
                                   struct duration *wait)
{
    enum gac_verdict verdict = GAC_WAIT;
    struct gac_client *c = w->clients[router];
    for (int i = 0; i < 4 && verdict == GAC_WAIT; i++) {
        verdict = gac_client_take(c, w->now, &w->limit, cost, wait);
        if (verdict == GAC_WAIT)
            retry_exchange(w);
    }
    assert_int_not_equal(verdict, GAC_WAIT);
    if (verdict == GAC_TAKEN)
        gac_client_settle(c, w->limit.key, cost, cost);
    return verdict;
}

static void retry_set_up(struct retry_world *w, struct prng *p, const char *policy)
{
    *w = (struct retry_world){.now = {NS_PER_S},
                              .limit = {.key = {.table = 1}, .policy = GAC_NAMED, .version = 1}};
    w->limit.rate = UNIT * (1 + (int64_t)prng_below(p, 1 + prng_below(p, RATE_MAX)));
    w->cost = UNIT * (1 + (int64_t)prng_below(p, 1 + prng_below(p, COST_MAX)));
    config_init(&w->config, (enum profile)prng_below(p, PROFILE_RESEARCH + 1));
    w->config.policies = baseline_policies();
    snprintf(w->config.gac_policy, sizeof w->config.gac_policy, "%s", policy);
    if (prng_below(p, 2) == 0) {
        config_edit_gac(&w->config)->gac_bank_ms = 1000 + (int64_t)prng_below(p, 20000);
        config_edit_gac(&w->config)->gac_period_ms = 10 + (int64_t)prng_below(p, 3000);
    }
    w->server = gac_server_create(&(struct gac_server_options){&w->config, 1, 1, 7});
    const bool two = prng_below(p, 2) == 0;
    for (uint64_t i = 0; i < ROUTERS && (i == 0 || two); i++) {
        w->clients[i] = gac_client_create(&(struct gac_client_options){&w->config, 1, 42 + i});
        gac_client_up(w->clients[i], w->now, 1);
    }
    retry_exchange(w);
}

static void retry_tear_down(struct retry_world *w)
{
    for (int i = 0; i < ROUTERS; i++) {
        if (w->clients[i] != NULL)
            gac_client_destroy(w->clients[i]);
    }
    gac_server_destroy(w->server);
}

/* A ledger that is cold, or of a new table, or that others have used. Then they rest. */
static void retry_warm_up(struct retry_world *w, struct prng *p)
{
    struct duration wait;
    if (prng_below(p, 2) == 0)
        gac_client_notify(w->clients[0], w->now, &w->limit, true);
    retry_exchange(w);
    retry_pass(w, (int64_t)prng_below(p, 20 * NS_PER_S));
    for (uint64_t n = prng_below(p, 40); n > 0; n--) {
        const int router = w->clients[1] != NULL && prng_below(p, 3) > 0;
        retry_take(w, router, UNIT * (1 + (int64_t)prng_below(p, 50)), &wait);
        retry_pass(w, (int64_t)prng_below(p, NS_PER_S / 5));
    }
    retry_pass(w, REST_MS * NS_PER_MS);
}

/* Asks until it is refused. False: more was there than anybody asks for here. */
static bool retry_use_up(struct retry_world *w, struct duration *wait)
{
    for (int i = 0; i < 100000; i++) {
        if (retry_take(w, 0, w->cost, wait) == GAC_TAKEN)
            continue;
        *wait = gac_client_place(w->clients[0], w->now, w->limit.key, w->cost, 1, *wait);
        return true;
    }
    return false;
}

/* When an ideal bucket with the tokens of the ledger would let the request in. */
static void retry_compare(struct retry_world *w, struct duration retry_after)
{
    struct gac_bank bank;
    struct gac_holding holding;
    if (!gac_server_inspect(w->server, w->now, w->limit.key, &bank) ||
        !gac_client_holding(w->clients[0], w->now, w->limit.key, &holding))
        return;
    w->printed_ns += retry_after.ns;
    const int64_t enough = w->cost < w->limit.rate ? w->cost : w->limit.rate;
    const int64_t missing = enough - bank.bank - holding.tokens;
    w->ideal_ns += gac_refill_time(missing, w->limit.rate).ns;
}

/* UpdateTable: each router learns of the higher rate by itself, when it reads the table anew. */
static void retry_raise(struct retry_world *w, struct prng *p)
{
    w->limit.rate += UNIT * (1 + (int64_t)prng_below(p, RATE_MAX));
    w->limit.version++;
    for (int i = 0; i < ROUTERS; i++) {
        if (w->clients[i] != NULL && (i == 0 || prng_below(p, 2) == 0))
            gac_client_notify(w->clients[i], w->now, &w->limit, false);
    }
    retry_exchange(w);
}

/* The rate may rise while the client waits. */
static void retry_wait(struct retry_world *w, struct prng *p, int64_t printed_ns, bool rises)
{
    const int64_t first = rises ? (int64_t)prng_below(p, (uint64_t)printed_ns + 1) : printed_ns;
    retry_pass(w, first);
    if (rises)
        retry_raise(w, p);
    retry_pass(w, printed_ns - first);
}

static void retry_run(struct retry_world *w, struct prng *p, const char *policy, bool rises)
{
    struct duration retry_after, again;
    retry_set_up(w, p, policy);
    retry_warm_up(w, p);
    for (int i = 0; i < REFUSALS && retry_use_up(w, &retry_after); i++) {
        retry_compare(w, retry_after);
        retry_wait(w, p, retry_after.ns, rises);
        if (retry_take(w, 0, w->cost, &again) != GAC_TAKEN)
            fail_msg("%s, %lld mcu/s: a request of %lld mcu was told %.3f s, and then %.3f s more",
                     policy, (long long)w->limit.rate, (long long)w->cost,
                     (double)retry_after.ns / 1e9, (double)again.ns / 1e9);
    }
    retry_tear_down(w);
}

static void a_retry_at_the_retry_time_is_admitted(struct prng *p)
{
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct retry_world w;
        retry_run(&w, p, policies[i], false);
    }
}

static void a_retry_at_the_retry_time_is_admitted_if_the_rate_rises(struct prng *p)
{
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct retry_world w;
        retry_run(&w, p, policies[i], true);
    }
}

/* A time that is told too late is true, but of little use. Under `periodic` and `doorman` a router
 * asks once a period: so it is told up to a period more. Under `static` and `gossip` there is no
 * ledger. */
static void retry_times_are_hardly_later_than_they_must_be(struct prng *p)
{
    static const char *const policies_with_times[] = {"lease", "one-bucket", "tenant-bucket",
                                                      "pd-group"};
    for (size_t i = 0; i < COUNT_OF(policies_with_times); i++) {
        int64_t retry_after_ms = 0, ideal_ms = 0;
        for (int n = 0; n < 200; n++) {
            struct retry_world w;
            retry_run(&w, p, policies_with_times[i], false);
            retry_after_ms += w.printed_ns / NS_PER_MS;
            ideal_ms += w.ideal_ns / NS_PER_MS;
        }
        printf("    %-14s %.3f of the time of an ideal bucket\n", policies_with_times[i],
               (double)retry_after_ms / (double)ideal_ms);
        assert_true(retry_after_ms * 10 <= ideal_ms * 12);
    }
}

/* ---- many clients ---- */

enum {
    CLIENTS = 40,
    WARM_UP_S = 20,
    MEASURED_S = 60
};

struct closed_loop {
    struct retry_world w;
    struct instant at[CLIENTS];  /* the next attempt of each client */
    struct instant due[CLIENTS]; /* its next request, by its schedule */
    int64_t attempts, successes, longest_ns;
    int64_t pause_ns; /* 0: clients wait as told. Otherwise they come again after this time */
};

static int closed_loop_next(const struct closed_loop *o)
{
    int next = 0;
    for (int i = 1; i < CLIENTS; i++) {
        if (instant_before(o->at[i], o->at[next]))
            next = i;
    }
    return next;
}

/* A client asks for one unit. If it is refused, it comes again after what it was told, and up to a
 * fifth more. */
static void closed_loop_step(struct closed_loop *o, struct prng *p, int64_t period_ns)
{
    const int i = closed_loop_next(o);
    struct retry_world *w = &o->w;
    struct duration wait;
    retry_pass(w, instant_since(o->at[i], w->now).ns);
    o->attempts++;
    if (retry_take(w, 0, UNIT, &wait) == GAC_TAKEN) {
        o->successes++;
        o->due[i] = instant_add(o->due[i], (struct duration){period_ns});
        o->at[i] = instant_before(w->now, o->due[i]) ? o->due[i] : w->now;
        o->due[i] = o->at[i];
        return;
    }
    wait = gac_client_place(w->clients[0], w->now, w->limit.key, UNIT, (uint64_t)i + 1, wait);
    assert_true(wait.ns > 0);
    o->longest_ns = wait.ns > o->longest_ns ? wait.ns : o->longest_ns;
    if (o->pause_ns > 0)
        wait.ns = o->pause_ns;
    o->at[i] = instant_add(w->now, wait);
    o->at[i].ns += (int64_t)prng_below(p, (uint64_t)wait.ns / 5 + 1);
}

static void closed_loop_run(struct closed_loop *o, struct prng *p, int64_t units, int64_t percent)
{
    const int64_t period_ns = CLIENTS * NS_PER_S * 100 / (units * percent);
    retry_set_up(&o->w, p, "lease");
    config_init(&o->w.config, PROFILE_AWS);
    snprintf(o->w.config.gac_policy, sizeof o->w.config.gac_policy, "lease");
    o->w.limit.rate = units * UNIT;
    for (int i = 0; i < CLIENTS; i++)
        o->at[i] = o->due[i] = instant_add(o->w.now, (struct duration){i * period_ns / CLIENTS});
    while (o->w.now.ns < WARM_UP_S * NS_PER_S)
        closed_loop_step(o, p, period_ns);
    o->attempts = o->successes = 0;
    while (o->w.now.ns < (WARM_UP_S + MEASURED_S) * NS_PER_S)
        closed_loop_step(o, p, period_ns);
    retry_tear_down(&o->w);
    printf("    %lld units a second, %lld %% asked: %.2f attempts per success, %.3f of the limit\n",
           (long long)units, (long long)percent, (double)o->attempts / (double)o->successes,
           (double)o->successes / (double)(units * MEASURED_S));
}

/* LINE-1 */
static void waiting_clients_come_when_their_tokens_do(struct prng *p)
{
    static const int64_t percents[] = {120, 200, 400};
    for (int i = 0; i < 3; i++) {
        struct closed_loop o = {.pause_ns = 0};
        closed_loop_run(&o, p, 30, percents[i]);
        assert_true(o.attempts * 2 <= o.successes * 3);
        assert_in_range(o.successes, 30 * MEASURED_S * 97 / 100, 30 * MEASURED_S * 103 / 100);
    }
}

/* LINE-2: a client that comes too often does not make the line longer. */
static void who_comes_too_soon_keeps_its_place(struct prng *p)
{
    struct closed_loop o = {.pause_ns = 20 * NS_PER_MS};
    closed_loop_run(&o, p, 30, 400);
    const int64_t step_ns =
        NS_PER_S / 30 * WAITING_LINE_PART_DENOMINATOR / WAITING_LINE_PART_NUMERATOR;
    assert_in_range(o.longest_ns, step_ns, (CLIENTS + 2) * step_ns);
}

#define PROPERTY(name, runs)     \
    TEST(test_##name)            \
    {                            \
        check_seeds(runs, name); \
    }

PROPERTY(a_retry_at_the_retry_time_is_admitted, 150)
PROPERTY(a_retry_at_the_retry_time_is_admitted_if_the_rate_rises, 150)
PROPERTY(retry_times_are_hardly_later_than_they_must_be, 1)
PROPERTY(waiting_clients_come_when_their_tokens_do, 1)
PROPERTY(who_comes_too_soon_keeps_its_place, 1)
