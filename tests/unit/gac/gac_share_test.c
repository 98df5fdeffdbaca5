/* gac_share_test.c - the parts of a rate that routers use while they reach no server: LEDGER-9. */
#include "tests/check.h"

#include "base/settings/gac.h"
#include "gac/client.h"
#include "gac/server.h"

enum {
    ROUTERS = 4,
    EVEN = GAC_WHOLE / ROUTERS
};

struct four {
    struct instant now;
    struct ledger_terms terms;
    struct ledger ledger;
    uint64_t number;
};

/* The router sends a grant request and reports this part. */
static struct weir_holder *share_reports(struct four *f, uint64_t router, int64_t share)
{
    const struct gac_request request = {.key = {.table = 1},
                                        .policy = GAC_LEASE,
                                        .epoch = 1,
                                        .number = ++f->number,
                                        .version = 1,
                                        .rate = 1000000,
                                        .share = share};
    const struct gac_answer *again;
    if (f->ledger.key.table == 0)
        ledger_init(&f->ledger, f->now, &f->terms, &request);
    struct weir_holder *h = ledger_take(&f->ledger, f->now, &f->terms, router, &request, &again);
    assert_non_null(h);
    return h;
}

/* It reports, and the policy targets `target`. What it is told. */
static int64_t share_after(struct four *f, uint64_t router, int64_t reported, int64_t target)
{
    struct weir_holder *h = share_reports(f, router, reported);
    ledger_set_share(&f->ledger, &f->terms, h, target);
    return h->answer.share;
}

static void four_begin(struct four *f)
{
    *f = (struct four){.now = {NS_PER_S},
                       .terms = {.bank = {NS_PER_S},
                                 .lifetime = {NS_PER_S},
                                 .router_timeout = {10 * NS_PER_S},
                                 .routers = ROUTERS,
                                 .here = ROUTERS}};
    for (uint64_t router = 1; router <= ROUTERS; router++)
        assert_int_equal(share_after(f, router, 0, EVEN), EVEN);
}

TEST(a_share_is_raised_by_what_others_have_given_back)
{
    struct four f;
    four_begin(&f);
    assert_int_equal(share_after(&f, 1, EVEN, 700000), EVEN);
    assert_int_equal(share_after(&f, 2, EVEN, 100000), 100000);
    assert_int_equal(share_after(&f, 1, EVEN, 700000), EVEN); /* 2 may not have heard of it */
    assert_int_equal(share_after(&f, 2, EVEN, 100000), 100000);
    assert_int_equal(share_after(&f, 2, 100000, 100000), 100000);
    assert_int_equal(share_after(&f, 1, EVEN, 700000), 400000);
    assert_int_equal(share_after(&f, 2, 100000, EVEN), 100000); /* 1 has it */
    assert_int_equal(share_after(&f, 3, EVEN, 0), EVEN / 4);
    ledger_deinit(&f.ledger);
}

TEST(the_share_of_a_router_that_is_gone_is_given_to_others)
{
    struct four f;
    four_begin(&f);
    ledger_remove_router(&f.ledger, 2, false);
    assert_int_equal(share_after(&f, 1, EVEN, 700000), EVEN); /* it may come back */
    f.terms.routers = f.terms.here = ROUTERS - 1;
    assert_int_equal(share_after(&f, 1, EVEN, 700000), GAC_WHOLE - 2 * EVEN);
    ledger_deinit(&f.ledger);
}

/* It takes its part to the server that it moves to, where others may get it. */
TEST(the_share_of_a_router_that_moved_is_given_to_nobody_here)
{
    struct four f;
    four_begin(&f);
    f.terms.here = ROUTERS - 1;
    ledger_remove_router(&f.ledger, 2, true);
    f.terms.routers = ROUTERS - 1;
    f.terms.here = ROUTERS - 2; /* another one has moved */
    assert_int_equal(share_after(&f, 1, EVEN, 700000), EVEN);
    f.terms.here = ROUTERS - 1;
    assert_int_equal(share_after(&f, 1, EVEN, 700000), GAC_WHOLE - 2 * EVEN);
    ledger_deinit(&f.ledger);
}

TEST(a_router_that_comes_takes_its_share_from_all)
{
    struct four f;
    four_begin(&f);
    f.terms.routers = f.terms.here = ROUTERS + 1; /* the fifth asks for other tables */
    assert_int_equal(share_after(&f, 1, EVEN, EVEN), GAC_WHOLE / 5 / 4);
    for (uint64_t router = 2; router <= ROUTERS; router++)
        share_reports(&f, router, GAC_WHOLE / 5);
    assert_int_equal(share_after(&f, 1, GAC_WHOLE / 5, EVEN), GAC_WHOLE / 5);
    ledger_deinit(&f.ledger);
}

/* A part is remembered for as long as its router is known, however long it asks for nothing. */
TEST(the_refill_leaves_routers_elsewhere_their_shares)
{
    struct four f;
    four_begin(&f);
    share_after(&f, 2, EVEN, 100000);
    share_reports(&f, 2, 100000);
    assert_int_equal(share_after(&f, 1, EVEN, 400000), 400000);
    ledger_refill(&f.ledger, f.now, &f.terms);
    assert_int_equal(f.ledger.bank.rate, 1000000);
    f.now.ns += 60 * NS_PER_S;
    share_reports(&f, 3, EVEN);
    f.terms.here = ROUTERS - 1;
    f.terms.shares_elsewhere = ledger_share_of(&f.ledger, 1, ROUTERS);
    assert_int_equal(f.terms.shares_elsewhere, 400000);
    ledger_refill(&f.ledger, f.now, &f.terms);
    assert_int_equal(f.ledger.bank.rate, 600000);
    ledger_deinit(&f.ledger);
}

/* Another server has told the shares: a ledger that knows some of them gives no more than these. */
TEST(a_new_ledger_gives_what_its_routers_have_brought)
{
    struct four f = {.now = {NS_PER_S},
                     .terms = {.bank = {NS_PER_S},
                               .lifetime = {NS_PER_S},
                               .router_timeout = {10 * NS_PER_S},
                               .routers = ROUTERS,
                               .here = 1}};
    assert_int_equal(share_after(&f, 2, 100000, 400000), 100000);
    f.terms.shares_elsewhere = 3 * EVEN;
    ledger_refill(&f.ledger, f.now, &f.terms);
    assert_int_equal(f.ledger.bank.rate, 100000);
    ledger_deinit(&f.ledger);
}

/* A router that is silent may have had the whole rate: the others still get what they were told. */
TEST(the_refill_is_no_less_than_what_routers_here_may_use_without_a_server)
{
    struct four f;
    four_begin(&f);
    f.terms.here = 1;
    f.terms.shares_elsewhere = GAC_WHOLE;
    ledger_refill(&f.ledger, f.now, &f.terms);
    assert_int_equal(f.ledger.bank.rate, 0);
    f.terms.shares_here = ledger_share_known(&f.ledger, 1);
    assert_int_equal(f.terms.shares_here, EVEN);
    share_reports(&f, 1, EVEN);
    assert_int_equal(f.ledger.bank.rate, 1000000 / ROUTERS);
    ledger_deinit(&f.ledger);
}

/* ---- routers and a server ---- */

struct routers {
    struct config config;
    struct instant now;
    struct gac_client *clients[2];
    struct gac_server *server;
    struct gac_limit limit;
    uint32_t numbers[2]; /* of the routers in their cluster */
    bool cut, absent[2];
};

static void routers_exchange(struct routers *r)
{
    uint32_t number;
    struct slice frame;
    struct buffer answer = {0}, error = {0};
    for (uint64_t i = 0; i < 2; i++) {
        while (!r->cut && !r->absent[i] &&
               gac_client_next_frame(r->clients[i], r->now, &number, &frame)) {
            buffer_clear(&answer);
            assert_int_equal(gac_server_receive(r->server, r->now,
                                                (struct gac_origin){i + 1, r->numbers[i]}, frame,
                                                &answer, &error),
                             STATUS_OK);
            assert_int_equal(gac_client_receive(r->clients[i], r->now, 1, buffer_slice(&answer)),
                             STATUS_OK);
        }
    }
    buffer_deinit(&answer);
    buffer_deinit(&error);
}

/* For `ms`, the routers request so many units in 10 ms. What each takes. */
static void routers_request(struct routers *r, int ms, const int requested[2], int taken[2])
{
    struct duration wait;
    taken[0] = taken[1] = 0;
    for (int at = 0; at < ms; at += 10) {
        r->now = instant_add(r->now, duration_ms(10));
        for (int i = 0; i < 2; i++) {
            gac_client_tick(r->clients[i], r->now);
            for (int k = 0; k < requested[i]; k++) {
                if (gac_client_take(r->clients[i], r->now, &r->limit, 1000, &wait) != GAC_TAKEN)
                    continue;
                gac_client_settle(r->clients[i], r->limit.key, 1000, 1000);
                taken[i]++;
            }
        }
        routers_exchange(r);
    }
}

/* The limit is 1,000 units a second. */
static void routers_begin(struct routers *r)
{
    *r = (struct routers){
        .now = {NS_PER_S},
        .limit = {.key = {.table = 1}, .policy = GAC_LEASE, .rate = 1000000, .version = 1}};
    config_init(&r->config, PROFILE_AWS);
    config_edit_gac(&r->config)->gac_bank_ms = 1000;
    r->server = gac_server_create(&(struct gac_server_options){&r->config, 1, 1, 7});
    for (uint64_t i = 0; i < 2; i++) {
        r->clients[i] = gac_client_create(&(struct gac_client_options){&r->config, 1, i + 1});
        gac_client_up(r->clients[i], r->now, 1);
    }
}

static void routers_cut(struct routers *r)
{
    r->cut = true;
    for (uint64_t i = 0; i < 2; i++) {
        gac_client_down(r->clients[i], r->now, 1, true);
        gac_server_link_closed(r->server, i + 1);
    }
}

static void routers_end(struct routers *r)
{
    for (uint64_t i = 0; i < 2; i++)
        gac_client_destroy(r->clients[i]);
    gac_server_destroy(r->server);
}

/* Clients of one router request 1,500 units a second, those of the other one 100. */
TEST(without_a_server_each_router_goes_on_with_its_share_of_demand)
{
    static const int uneven[2] = {15, 1}, both[2] = {15, 15};
    struct routers r;
    int taken[2];
    routers_begin(&r);
    routers_request(&r, 5000, uneven, taken);
    routers_cut(&r);
    routers_request(&r, 1000, uneven, taken);
    routers_request(&r, 5000, uneven, taken);
    assert_in_range(taken[0], 4300, 4600);
    assert_in_range(taken[1], 490, 500);
    routers_request(&r, 5000, both, taken);
    assert_in_range(taken[0] + taken[1], 4700, 5200);
    routers_end(&r);
}

TEST(an_idle_router_leaves_its_share_to_others)
{
    struct routers r;
    static const int first[2] = {15, 1}, second[2] = {0, 15};
    int taken[2];
    routers_begin(&r);
    routers_request(&r, 3000, first, taken);
    routers_request(&r, 3000, second, taken);
    routers_cut(&r);
    routers_request(&r, 1000, second, taken);
    routers_request(&r, 5000, second, taken);
    assert_in_range(taken[1], 4200, 4500); /* all but an eighth: a quarter of an even part */
    routers_end(&r);
}

/* The machine of a router has lost its power: no link was closed. It had all of the rate. */
TEST(a_router_that_is_started_again_takes_the_place_of_its_former_life)
{
    static const int first[2] = {15, 0}, second[2] = {0, 15};
    struct routers r;
    int taken[2];
    routers_begin(&r);
    r.numbers[0] = r.numbers[1] = 5;
    r.absent[1] = true; /* it is not started yet */
    routers_request(&r, 3000, first, taken);
    assert_in_range(taken[0], 2800, 4000);
    r.absent[0] = true;
    r.absent[1] = false;
    routers_request(&r, 1000, second, taken); /* tokens of the former life may live for a while */
    routers_request(&r, 3000, second, taken);
    assert_in_range(taken[1], 2900, 3100);
    /* what comes late of the former life has no answer */
    struct duration wait;
    uint32_t server;
    struct slice frame;
    struct buffer answer = {0}, error = {0};
    gac_client_tick(r.clients[0], r.now);
    gac_client_take(r.clients[0], r.now, &r.limit, 1000, &wait);
    assert_true(gac_client_next_frame(r.clients[0], r.now, &server, &frame));
    assert_int_equal(
        gac_server_receive(r.server, r.now, (struct gac_origin){1, 5}, frame, &answer, &error),
        STATUS_OK);
    assert_int_equal(answer.size, 0);
    assert_int_equal(
        gac_server_receive(r.server, r.now, (struct gac_origin){1, 6}, frame, &answer, &error),
        STATUS_OK);
    assert_true(answer.size > 0); /* another number is another router */
    buffer_deinit(&answer);
    buffer_deinit(&error);
    routers_end(&r);
}
