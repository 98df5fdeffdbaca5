/* gac_lease_test.c - a router and a server of global admission control, joined. */
#include "tests/check.h"

#include "base/gac_policy.h"
#include "base/settings/gac.h"
#include "gac/client.h"
#include "gac/server.h"
#include "tests/support/baseline_policies.h"

/* A router and the one server, joined, and a table's limit. */
struct pair {
    struct config config;
    struct instant now;
    struct gac_client *client;
    struct gac_server *server;
    struct gac_limit limit;
};

static void exchange(struct pair *p)
{
    uint32_t number;
    struct slice frame;
    struct buffer answer = {0}, error = {0};
    while (gac_client_next_frame(p->client, p->now, &number, &frame)) {
        buffer_clear(&answer);
        assert_int_equal(gac_server_receive(p->server, p->now, (struct gac_origin){.link = 1},
                                            frame, &answer, &error),
                         STATUS_OK);
        assert_int_equal(gac_client_receive(p->client, p->now, 1, buffer_slice(&answer)),
                         STATUS_OK);
    }
    buffer_deinit(&answer);
    buffer_deinit(&error);
}

static void begin_with(struct pair *p, const char *policy, int64_t bank_ms)
{
    *p = (struct pair){
        .now = {NS_PER_S},
        .limit = {.key = {.table = 1}, .policy = GAC_NAMED, .rate = 1000000, .version = 1}};
    config_init(&p->config, PROFILE_AWS);
    p->config.policies = baseline_policies();
    snprintf(p->config.gac_policy, sizeof p->config.gac_policy, "%s", policy);
    config_edit_gac(&p->config)->gac_bank_ms = bank_ms;
    p->client = gac_client_create(&(struct gac_client_options){&p->config, 1, 42});
    p->server = gac_server_create(&(struct gac_server_options){&p->config, 1, 1, 7});
    gac_client_up(p->client, p->now, 1);
    exchange(p);
}

static void begin(struct pair *p, int64_t bank_ms)
{
    begin_with(p, "lease", bank_ms);
}

static void end(struct pair *p)
{
    gac_client_destroy(p->client);
    gac_server_destroy(p->server);
}

static void pass(struct pair *p, int64_t ms)
{
    p->now = instant_add(p->now, duration_ms(ms));
    gac_client_tick(p->client, p->now);
    exchange(p);
}

static enum gac_verdict take(struct pair *p, int64_t cost)
{
    struct duration wait;
    return gac_client_take(p->client, p->now, &p->limit, cost, &wait);
}

/* How many requests of a unit get tokens at once. */
static int take_all(struct pair *p, int max)
{
    for (int taken = 0, waits = 0; taken < max; taken++) {
        while (take(p, 1000) != GAC_TAKEN) {
            if (waits++ == 100)
                return taken;
            exchange(p);
        }
    }
    return max;
}

static void settle(struct pair *p, int64_t used)
{
    gac_client_settle(p->client, p->limit.key, 1000, used);
}

/* Found by seed 9001557: what requests gave back after the bank had filled up without it came on
 * top of the bank. */
TEST(what_requests_may_give_back_is_not_saved_up_meanwhile)
{
    struct pair p;
    begin(&p, 1000);
    for (int i = 0; i < 40; i++) {
        int count = i == 20 ? 300 : 1;
        assert_int_equal(take_all(&p, count), count);
        if (i != 20)
            settle(&p, 1000);
        pass(&p, 100);
    }
    for (int i = 0; i < 300; i++)
        settle(&p, 0);
    assert_in_range(take_all(&p, 2000), 900, 1000);
    end(&p);
}

/* Found by seed 6008291: routers that began used the whole rate, each, until they reached a server.
 */
TEST(a_router_that_begins_sends_a_grant_request_before_it_takes_its_part)
{
    for (int gone = 0; gone < 2; gone++) {
        struct pair p;
        begin(&p, 300000);
        struct gac_client *joined = p.client;
        p.client = gac_client_create(&(struct gac_client_options){&p.config, 1, 43});
        pass(&p, 0);
        assert_int_equal(take(&p, 1000), GAC_WAIT);
        if (gone)
            gac_client_down(p.client, p.now, 1, true);
        pass(&p, gone ? 0 : 1000);
        pass(&p, 100);
        assert_int_equal(take(&p, 1000), GAC_TAKEN);
        gac_client_destroy(joined);
        end(&p);
    }
}

/* LEDGER-7 */
TEST(a_costly_request_that_is_denied_is_no_denial_of_cheap_ones)
{
    struct pair p;
    begin(&p, 300000);
    p.limit.rate = 100000;
    gac_client_notify(p.client, p.now, &p.limit, true);
    exchange(&p);
    assert_int_equal(take_all(&p, 760), 760);
    assert_int_equal(take(&p, 400000), GAC_WAIT);
    exchange(&p);
    assert_int_equal(take(&p, 400000), GAC_REFUSED);
    assert_int_equal(take_all(&p, 5), 5);
    end(&p);
}

/* Found in the lab: a router whose tokens had expired was left with them, told to wait for as long
 * as half of them would last, and throttled when they went faster, beside a full bank. */
TEST(a_router_with_enough_tokens_may_request_again_once_they_are_spent)
{
    struct pair p;
    struct gac_holding holding = {0};
    begin(&p, 300000);
    gac_client_notify(p.client, p.now, &p.limit, true);
    exchange(&p);
    for (int i = 0; i < 300; i++) {
        p.now.ns += 10 * NS_PER_MS;
        if (take(&p, 1000) == GAC_WAIT)
            exchange(&p);
    }
    assert_true(gac_client_holding(p.client, p.now, p.limit.key, &holding));
    /* Between two ticks a lifetime passes. */
    while (gac_client_holding(p.client, p.now, p.limit.key, &holding) && holding.tokens > 0)
        p.now.ns += NS_PER_MS;
    assert_int_equal(take(&p, 1000), GAC_WAIT);
    exchange(&p);
    enum gac_verdict verdict = GAC_TAKEN;
    for (int i = 0; i < 1000 && verdict == GAC_TAKEN; i++)
        verdict = take(&p, 1000);
    assert_int_equal(verdict, GAC_WAIT);
    exchange(&p);
    assert_int_equal(take(&p, 1000), GAC_TAKEN);
    end(&p);
}

/* Its server may remember a key better, and expects another epoch then. */
/* The service takes 381 and 342 units at once on a new table of 5. */
TEST(a_new_table_takes_a_few_large_items_at_once)
{
    static const struct {
        int64_t units, costs[4];
    } cases[] = {{5, {381, 342}}, {5, {98, 98, 98, 98}}, {1, {3, 1, 1, 1}}, {1, {381}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pair p;
        begin(&p, 300000);
        p.limit.rate = cases[i].units * 1000;
        gac_client_notify(p.client, p.now, &p.limit, true);
        exchange(&p);
        for (int k = 0; k < 4 && cases[i].costs[k] > 0; k++) {
            if (take(&p, cases[i].costs[k] * 1000) == GAC_TAKEN)
                continue;
            exchange(&p);
            assert_int_equal(take(&p, cases[i].costs[k] * 1000), GAC_TAKEN);
        }
        end(&p);
    }
}

/* Milliseconds until it is let in. */
static int64_t ms_until_taken(struct pair *p, int64_t cost)
{
    for (int64_t ms = 0;; ms += 50) {
        assert_true(ms < 1000000);
        enum gac_verdict verdict = take(p, cost);
        if (verdict == GAC_WAIT) {
            exchange(p);
            verdict = take(p, cost);
        }
        if (verdict == GAC_TAKEN)
            return ms;
        pass(p, 50);
    }
}

/* As at a node: a second of the rate lets it in, and what is owed is paid before the next one. */
TEST(a_request_that_costs_more_than_a_second_is_admitted_into_debt)
{
    struct pair p;
    begin(&p, 300000);
    config_edit_gac(&p.config)->gac_start_units = 0;
    p.limit.rate = 5000;
    gac_client_notify(p.client, p.now, &p.limit, true);
    exchange(&p);
    assert_in_range(ms_until_taken(&p, 98000), 0, 1100);
    gac_client_settle(p.client, p.limit.key, 98000, 98000);
    assert_in_range(ms_until_taken(&p, 98000), 18000, 22000);
    gac_client_settle(p.client, p.limit.key, 98000, 98000);
    assert_in_range(ms_until_taken(&p, 1000), 18000, 21000);
    end(&p);
}

/* Found by seed 22000058: writes that cost more than they had taken left a router owing more than
 * the bank can hold, and it was granted nothing ever again. */
TEST(a_router_with_more_debt_than_the_bank_holds_is_served_again)
{
    enum {
        UNITS = 60,
        MAX_MS = 10000
    };
    static const char *const policies[] = {"lease",   "periodic",      "one-bucket",
                                           "doorman", "tenant-bucket", "pd-group"};
    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct pair p;
        int taken = 0;
        begin_with(&p, policies[i], 1000);
        p.limit.rate = UNITS * 1000;
        for (int ms = 0; taken < UNITS / 4; ms++, pass(&p, 10)) {
            assert_true(ms < MAX_MS);
            taken += take_all(&p, UNITS / 4 - taken);
        }
        for (int k = 0; k < taken; k++)
            settle(&p, 11000);
        assert_in_range(ms_until_taken(&p, 1000), 0, taken * 11000 / UNITS * 2);
        end(&p);
    }
}

/* LEDGER-5 */
TEST(unused_keys_are_evicted)
{
    struct pair p;
    begin(&p, 300000);
    for (uint32_t i = 0; i < 3000; i++) {
        p.limit.key.table = i % 1000 + 1;
        assert_int_equal(take_all(&p, 1), 1);
        settle(&p, 1000);
        for (int j = 0; j < 40; j++)
            pass(&p, 250);
    }
    int known = 0;
    for (uint32_t table = 1; table <= 1000; table++) {
        struct gac_holding holding;
        known += gac_client_holding(p.client, p.now, (struct gac_key){.table = table}, &holding);
    }
    assert_in_range(known, 60, 128); /* 60 in ten minutes */
    end(&p);
}

/* Found by seed 14013908: a server that a router came back to took it to hold what it had once had,
 * and nobody else was given anything. */
TEST(a_server_from_before_gets_a_report_of_what_is_held)
{
    struct pair p;
    begin(&p, 1000);
    p.limit.rate = 1000000;
    assert_int_equal(take_all(&p, 1), 1);
    settle(&p, 1000);
    struct gac_holding holding;
    assert_true(gac_client_holding(p.client, p.now, p.limit.key, &holding));
    assert_true(holding.grant_requests > 0);
    gac_client_down(p.client, p.now, 1, true);
    pass(&p, 5000); /* what it held is too old */
    uint64_t before = holding.grant_requests;
    gac_client_up(p.client, p.now, 1);
    exchange(&p);
    pass(&p, 1000);
    assert_true(gac_client_holding(p.client, p.now, p.limit.key, &holding));
    assert_int_equal(holding.grant_requests, before + 1);
    pass(&p, 1000);
    assert_true(gac_client_holding(p.client, p.now, p.limit.key, &holding));
    assert_int_equal(holding.grant_requests, before + 1);
    end(&p);
}

TEST(a_router_that_claims_more_than_there_is_ends_no_server)
{
    struct config config;
    config_init(&config, PROFILE_AWS);
    struct gac_server *s = gac_server_create(&(struct gac_server_options){&config, 1, 1, 7});
    struct instant now = {NS_PER_S};
    struct gac_request request = {.key = {7, 0, GAC_WRITE},
                                  .policy = GAC_LEASE,
                                  .epoch = 1,
                                  .version = 1,
                                  .rate = 1000000,
                                  .demand = 1000};
    static const int64_t pending[] = {0, INT64_C(1000000000000), GAC_AMOUNT_MAX, 0};
    for (uint64_t router = 1; router <= 32; router++) {
        for (uint64_t number = 1; number <= 4; number++) {
            struct buffer frame = {0}, answer = {0}, error = {0};
            request.number = number;
            request.pending = pending[number - 1];
            request.held = router % 2 == 0 ? request.pending : 0;
            gac_requests_encode(&frame, &(struct gac_requests){router, 1, 1});
            gac_request_encode(&frame, &request);
            now.ns += NS_PER_MS;
            assert_int_equal(gac_server_receive(s, now, (struct gac_origin){.link = router},
                                                buffer_slice(&frame), &answer, &error),
                             STATUS_OK);
            buffer_deinit(&frame);
            buffer_deinit(&answer);
        }
    }
    gac_server_destroy(s);
}

/* Found by seed 39676 of retry_time_property: until the end of a period nobody else had them. */
TEST(an_idle_router_gives_its_tokens_back_at_once)
{
    struct pair p;
    struct gac_bank bank;
    begin_with(&p, "periodic", 3000);
    config_edit_gac(&p.config)->gac_period_ms = 1000;
    assert_int_equal(take_all(&p, 1), 1);
    settle(&p, 1000);
    assert_true(gac_server_inspect(p.server, p.now, p.limit.key, &bank) && bank.held > 0);
    for (int i = 0; i < 8; i++)
        pass(&p, 100);
    assert_true(gac_server_inspect(p.server, p.now, p.limit.key, &bank) && bank.held == 0);
    end(&p);
}

/* Found by seed 31285 of retry_time_property: another router had used meanwhile what had been
 * due. */
TEST(a_router_that_was_idle_sends_a_grant_request_before_it_gives_a_retry_time)
{
    struct pair p;
    begin_with(&p, "periodic", 3000);
    config_edit_gac(&p.config)->gac_period_ms = 1000;
    assert_int_equal(take_all(&p, 1), 1);
    while (take(&p, 2000000) != GAC_REFUSED)
        exchange(&p);
    p.now = instant_add(p.now, duration_ms(400));
    assert_int_equal(take(&p, 2000000), GAC_REFUSED);
    p.now = instant_add(p.now, duration_ms(500));
    assert_int_equal(take(&p, 2000000), GAC_WAIT);
    exchange(&p);
    assert_int_equal(take(&p, 2000000), GAC_REFUSED);
    end(&p);
}
