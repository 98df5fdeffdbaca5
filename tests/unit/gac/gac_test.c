/* gac_test.c - global admission control, piece by piece: the ring, the messages, the ledger. */
#include "tests/check.h"

#include "base/gac_policy.h"
#include "gac/client.h"
#include "gac/ledger.h"
#include "gac/ring.h"
#include "gac/server.h"

enum {
    SERVERS = 5,
    TABLES = 20000
};

static const uint64_t all = (1 << SERVERS) - 1;

TEST(a_server_that_goes_takes_only_its_own_keys_with_it)
{
    static struct ring ring;
    ring_init(&ring, SERVERS);
    uint32_t owned[SERVERS + 1] = {0}, moved_to[SERVERS + 1] = {0};
    const uint32_t gone = 2;
    for (uint32_t t = 1; t <= TABLES; t++) {
        struct gac_key key = {t, 0, t % 2 == 0 ? GAC_READ : GAC_WRITE};
        uint32_t before = ring_owner(&ring, key, all);
        uint32_t after = ring_owner(&ring, key, all & ~(UINT64_C(1) << (gone - 1)));
        owned[before]++;
        if (before == gone)
            moved_to[after]++;
        else
            assert_int_equal(after, before);
    }
    for (uint32_t s = 1; s <= SERVERS; s++) {
        assert_in_range(owned[s], TABLES / SERVERS / 2, TABLES / SERVERS * 2);
        assert_true(s == gone ? moved_to[s] == 0 : moved_to[s] > 0);
    }
    assert_int_equal(ring_owner(&ring, (struct gac_key){1, 0, GAC_READ}, 0), 0);
}

static const struct gac_request a_request = {.key = {7, 1, GAC_WRITE},
                                             .policy = GAC_LEASE,
                                             .created = true,
                                             .epoch = 2,
                                             .number = 3,
                                             .version = 9,
                                             .rate = 1000000,
                                             .spent = 41000,
                                             .held = -5,
                                             .demand = 300000,
                                             .need = 4000,
                                             .cost = 1500};

TEST(what_is_written_is_read_back)
{
    struct buffer b = {0};
    struct gac_requests requests;
    struct gac_request request = a_request;
    request.pending = 700;
    request.share = 250000;
    request.reports = true;
    gac_requests_encode(&b, &(struct gac_requests){11, 5, 1});
    gac_request_encode(&b, &request);
    struct reader r = {buffer_slice(&b), false};
    request = (struct gac_request){0};
    assert_int_equal(gac_requests_decode(&r, &requests), STATUS_OK);
    assert_int_equal(gac_request_decode(&r, &request), STATUS_OK);
    assert_true(requests.router == 11 && requests.view == 5 && requests.count == 1);
    assert_true(gac_key_equal(request.key, a_request.key) && request.policy == GAC_LEASE);
    assert_true(request.epoch == 2 && request.number == 3 && request.version == 9 &&
                request.rate == 1000000);
    assert_true(request.created && request.spent == 41000 && request.held == -5 &&
                request.demand == 300000 && request.need == 4000 && request.cost == 1500 &&
                request.share == 250000 && request.pending == 700 && request.reports);
    for (size_t cut = 0; cut < b.size; cut++) {
        struct reader cut_short = {slice_make(b.data, cut), false};
        assert_int_equal(gac_requests_decode(&cut_short, &requests), STATUS_MALFORMED);
    }
    buffer_deinit(&b);
}

TEST(answers_are_read_back_too)
{
    const struct gac_answer written = {.key = {7, 1, GAC_WRITE},
                                       .epoch = 2,
                                       .number = 3,
                                       .version = 9,
                                       .granted = 5000,
                                       .lifetime = {NS_PER_S},
                                       .wait = {NS_PER_MS},
                                       .until = {300 * NS_PER_S},
                                       .others = 77000,
                                       .share = 250000};
    struct buffer b = {0};
    gac_answers_encode(&b, &(struct gac_answers){11, 5, 1});
    gac_answer_encode(&b, &written);
    struct reader r = {buffer_slice(&b), false};
    struct gac_answers answers;
    struct gac_answer read;
    assert_int_equal(gac_answers_decode(&r, &answers), STATUS_OK);
    assert_int_equal(gac_answer_decode(&r, &read), STATUS_OK);
    assert_true(answers.server == 11 && answers.routers == 5 && answers.count == 1);
    assert_true(gac_key_equal(read.key, written.key) && read.epoch == 2 && read.number == 3);
    assert_true(read.version == 9 && read.granted == 5000);
    assert_true(read.lifetime.ns == NS_PER_S && read.wait.ns == NS_PER_MS);
    assert_true(read.others == 77000 && read.share == 250000 && read.until.ns == 300 * NS_PER_S);
    for (size_t cut = 0; cut < b.size; cut++) {
        struct reader cut_short = {slice_make(b.data, cut), false};
        assert_int_equal(gac_answers_decode(&cut_short, &answers), STATUS_MALFORMED);
    }
    buffer_deinit(&b);
}

TEST(a_key_without_a_number_is_malformed)
{
    static const struct gac_key bad[] = {{0, 0, GAC_READ}, {7, UINT32_C(1) << 31, GAC_READ}};
    static const struct gac_key good = {7, INT32_MAX, GAC_READ};
    for (int i = 0; i <= 2; i++) {
        const struct gac_key key = i < 2 ? bad[i] : good;
        const enum status expected = i < 2 ? STATUS_MALFORMED : STATUS_OK;
        struct buffer requests = {0}, answers = {0};
        struct gac_request request = a_request;
        struct gac_answer answer = {.key = key};
        request.key = key;
        gac_request_encode(&requests, &request);
        gac_answer_encode(&answers, &answer);
        assert_int_equal(
            gac_request_decode(&(struct reader){buffer_slice(&requests), false}, &request),
            expected);
        assert_int_equal(
            gac_answer_decode(&(struct reader){buffer_slice(&answers), false}, &answer), expected);
        buffer_deinit(&requests);
        buffer_deinit(&answers);
    }
}

/* Whoever asks with an older version hears of the newer one, and does not bring its rate back. */
TEST(a_ledger_keeps_the_newest_rate_and_reports_its_version)
{
    const struct ledger_terms two = {.bank = {NS_PER_S},
                                     .lifetime = {NS_PER_S},
                                     .start = {NS_PER_S},
                                     .grant = {100 * NS_PER_MS},
                                     .routers = 2,
                                     .here = 2};
    struct instant now = {NS_PER_S};
    struct ledger l;
    const struct gac_answer *again;
    struct gac_request old = a_request, new = a_request;
    new.version = old.version + 1;
    new.rate = 2 * old.rate;
    new.demand = new.held = new.spent = 0; /* only to tell */
    ledger_init(&l, now, &two, &old);
    assert_int_equal(ledger_take(&l, now, &two, 1, &old, &again)->answer.version, 9);
    assert_int_equal(ledger_take(&l, now, &two, 2, &new, &again)->answer.version, 10);
    old.number++;
    assert_int_equal(ledger_take(&l, now, &two, 1, &old, &again)->answer.version, 10);
    assert_int_equal(l.rate, new.rate);
    ledger_deinit(&l);
}

TEST(what_was_saved_up_at_a_higher_rate_is_worth_as_many_seconds_of_a_lower)
{
    const struct ledger_terms one = {
        .bank = {10 * NS_PER_S}, .lifetime = {NS_PER_S}, .routers = 1, .here = 1};
    struct instant now = {NS_PER_S};
    struct gac_request request = a_request;
    const struct gac_answer *again;
    struct ledger l;
    request.held = 0;
    ledger_init(&l, now, &one, &request);
    now.ns += 4 * NS_PER_S;
    ledger_refill(&l, now, &one);
    assert_int_equal(l.bank.balance, 4 * a_request.rate);
    request.number++;
    request.version++;
    request.rate /= 10;
    assert_non_null(ledger_take(&l, now, &one, 1, &request, &again));
    assert_int_equal(l.bank.balance, 4 * request.rate);
    request.number++;
    request.version++;
    request.rate *= 5; /* no more for it */
    assert_non_null(ledger_take(&l, now, &one, 1, &request, &again));
    assert_int_equal(l.bank.balance, 4 * a_request.rate / 10);
    ledger_deinit(&l);
}

/* Found by seed 1600243: a router that rested on what it had been granted before the rate fell kept
 * all others from what came in, until it was forgotten. */
TEST(what_is_held_since_a_higher_rate_keeps_nobody_from_what_comes_in)
{
    const struct ledger_terms two = {.bank = {2 * NS_PER_S},
                                     .lifetime = {NS_PER_S},
                                     .router_timeout = {100 * NS_PER_S},
                                     .start = {2 * NS_PER_S},
                                     .grant = {100 * NS_PER_MS},
                                     .routers = 2,
                                     .here = 2};
    struct instant now = {NS_PER_S};
    const struct gac_answer *again;
    struct gac_request first = a_request, other;
    struct ledger l;
    first.held = 0;
    ledger_init(&l, now, &two, &first);
    struct weir_holder *h = ledger_take(&l, now, &two, 1, &first, &again);
    ledger_grant(&l, h, l.bank.balance);
    other = first;
    other.version++;
    other.rate /= 4;
    assert_non_null(ledger_take(&l, now, &two, 2, &other, &again));
    assert_int_equal(l.bank.balance, 0);
    now.ns += NS_PER_S;
    other.number++;
    assert_non_null(ledger_take(&l, now, &two, 2, &other, &again));
    assert_int_equal(l.bank.balance, other.rate / 5); /* two grants' worth, and no more is saved */
    ledger_deinit(&l);
}

static const struct ledger_terms terms = {.bank = {10 * NS_PER_S},
                                          .lifetime = {NS_PER_S},
                                          .router_timeout = {100 * NS_PER_S},
                                          .start = {NS_PER_S},
                                          .grant = {100 * NS_PER_MS},
                                          .routers = 1,
                                          .here = 1};

TEST(a_doubled_grant_request_changes_nothing_and_is_answered_again)
{
    struct instant now = {NS_PER_S};
    struct gac_request request = a_request;
    const struct gac_answer *again;
    struct ledger l;
    request.held = 0;
    ledger_init(&l, now, &terms, &request);
    struct weir_holder *h = ledger_take(&l, now, &terms, 1, &request, &again);
    assert_non_null(h);
    ledger_grant(&l, h, 70000);
    int64_t left = l.bank.balance;
    assert_null(ledger_take(&l, now, &terms, 1, &request, &again));
    assert_int_equal(again->granted, 70000);
    request.number--;
    assert_null(ledger_take(&l, now, &terms, 1, &request, &again));
    assert_null(again);
    assert_int_equal(l.bank.balance, left);
    ledger_deinit(&l);
}

/* The next ask says what is held without it. */
TEST(a_grant_that_never_arrived_is_back_in_the_bank)
{
    struct instant now = {NS_PER_S};
    struct gac_request request = a_request;
    const struct gac_answer *again;
    struct ledger l;
    request.held = 0;
    ledger_init(&l, now, &terms, &request);
    now.ns += 60 * NS_PER_S;
    ledger_refill(&l, now, &terms);
    const int64_t full = 10 * request.rate; /* found by seed 12015072: there was no room for it */
    ledger_grant(&l, ledger_take(&l, now, &terms, 1, &request, &again), 70000);
    assert_int_equal(l.bank.balance, full - 70000);
    request.number++;
    assert_non_null(ledger_take(&l, now, &terms, 1, &request, &again));
    assert_int_equal(l.bank.balance, full);
    request.number++;
    request.spent += 9000; /* more than it had: debt, which the bank pays */
    request.held = 0;
    assert_non_null(ledger_take(&l, now, &terms, 1, &request, &again));
    assert_int_equal(l.bank.balance, full - 9000);
    ledger_deinit(&l);
}

/* Found by seed 1007003: the first router that asked did not know that the table was new, and spent
 * from the ledger's first grant; the second one knew. */
TEST(what_a_new_table_begins_with_counts_what_was_spent_before)
{
    struct instant now = {NS_PER_S};
    struct gac_request request = a_request;
    struct ledger_terms rich = terms;
    const struct gac_answer *again;
    struct ledger l;
    rich.start_tokens = 100 * request.rate;
    request.held = 0;
    ledger_init(&l, now, &rich, &request);
    ledger_grant(&l, ledger_take(&l, now, &rich, 1, &request, &again), 70000);
    request.number++;
    request.spent += 70000;
    assert_non_null(ledger_take(&l, now, &rich, 1, &request, &again));
    ledger_refill(&l, now, &rich);
    ledger_start_table(&l, &rich);
    assert_int_equal(l.bank.balance, 10 * request.rate - 70000);
    ledger_start_table(&l, &rich);
    assert_int_equal(l.bank.balance, 10 * request.rate - 70000);
    ledger_deinit(&l);
}

/* LEDGER-1: what routers hold counts as saved up, wherever they may have taken it, until they are
 * known to be gone. */
TEST(what_is_held_leaves_less_room_in_the_bank)
{
    struct instant now = {NS_PER_S};
    struct gac_request request = a_request;
    const struct gac_answer *again;
    struct ledger l;
    request.held = 0;
    ledger_init(&l, now, &terms, &request);
    ledger_grant(&l, ledger_take(&l, now, &terms, 1, &request, &again), 500000);
    request.number++;
    request.held = 500000;
    assert_non_null(ledger_take(&l, now, &terms, 1, &request, &again));
    now.ns += 60 * NS_PER_S;
    ledger_refill(&l, now, &terms);
    assert_int_equal(l.bank.balance, 10 * request.rate - 500000);
    ledger_remove_router(&l, 1, false);
    ledger_refill(&l, now, &terms);
    ledger_refill(&l, instant_add(now, duration_ms(1000)), &terms);
    assert_int_equal(l.bank.balance, 10 * request.rate);
    ledger_deinit(&l);
}

/* Found by seed 497631340: a ledger of half the routers let nothing out for as long as the other
 * half might have been served by another server; by 6011800: nor while a router that was gone held
 * more than two grants. */
TEST(what_comes_in_is_granted_though_all_may_be_saved_elsewhere)
{
    struct instant now = {NS_PER_S};
    struct ledger_terms half = terms;
    half.start = (struct duration){0};
    half.routers = 2;
    half.here = 0;
    struct ledger l;
    ledger_init(&l, now, &half, &a_request);
    now.ns += 20 * NS_PER_S;
    ledger_refill(&l, now, &half);
    assert_int_equal(l.elsewhere, 10 * a_request.rate);
    half.here = 1;
    for (int second = 0; second < 3; second++) {
        ledger_refill(&l, now, &half);
        now.ns += NS_PER_S;
    }
    assert_int_equal(l.bank.balance, a_request.rate / 2 * 200 / 1000); /* two grants of the half */
    const struct gac_answer *again;
    struct gac_request request = a_request;
    request.held = request.rate;
    assert_non_null(ledger_take(&l, now, &half, 1, &request, &again));
    token_bucket_debit(&l.bank, l.bank.balance);
    for (int second = 0; second < 3; second++) {
        ledger_refill(&l, now, &half);
        now.ns += NS_PER_S;
    }
    assert_int_equal(l.bank.balance, a_request.rate / 2 * 200 / 1000);
    ledger_deinit(&l);
}

/* Found by seed 12013574: a router that timed out held all that may be saved up, until it was
 * forgotten. */
TEST(what_comes_in_is_granted_though_timed_out_routers_hold_all)
{
    struct instant now = {NS_PER_S};
    struct ledger_terms half = terms;
    struct gac_request request = a_request;
    const struct gac_answer *again;
    struct ledger l;
    request.held = 10 * request.rate;
    half.routers = 2;
    half.here = 2;
    ledger_init(&l, now, &half, &request);
    assert_non_null(ledger_take(&l, now, &half, 1, &request, &again));
    now.ns += NS_PER_S;
    ledger_refill(&l, now, &half);
    assert_int_equal(l.bank.balance, 0); /* all of it can still be spent */
    half.here = 1;
    ledger_refill(&l, now, &half);
    now.ns += NS_PER_S;
    ledger_refill(&l, now, &half);
    assert_int_equal(l.bank.balance, a_request.rate / 2 * 200 / 1000); /* two grants of the half */
    ledger_deinit(&l);
}

/* One that asked elsewhere since then, and may never ask here again. */
TEST(what_was_held_long_ago_is_gone)
{
    struct instant now = {NS_PER_S};
    struct gac_request request = a_request;
    const struct gac_answer *again;
    struct ledger l;
    request.held = 10 * request.rate;
    ledger_init(&l, now, &terms, &request);
    assert_non_null(ledger_take(&l, now, &terms, 1, &request, &again));
    request.held = 0;
    now.ns += 99 * NS_PER_S;
    assert_non_null(ledger_take(&l, now, &terms, 2, &request, &again));
    ledger_refill(&l, instant_add(now, duration_ms(500)), &terms);
    assert_int_equal(l.bank.balance, 0);
    now.ns += NS_PER_S;
    request.number++;
    assert_non_null(ledger_take(&l, now, &terms, 2, &request, &again));
    ledger_refill(&l, instant_add(now, duration_ms(500)), &terms);
    assert_int_equal(l.bank.balance, request.rate / 2);
    ledger_deinit(&l);
}

/* Found by seed 12012011: who wanted more than there was room for in the bank was denied all. */
TEST(what_there_is_room_for_is_granted)
{
    struct instant now = {NS_PER_S};
    struct ledger_terms little = terms;
    struct gac_request request = a_request;
    const struct gac_answer *again;
    struct ledger l;
    request.rate = 20000;
    request.held = 0;
    request.demand = 1000000;
    request.need = 1000;
    little.bank = duration_ms(100);
    little.start = (struct duration){0};
    ledger_init(&l, now, &little, &request);
    now.ns += NS_PER_S;
    ledger_refill(&l, now, &little);
    struct weir_holder *h = ledger_take(&l, now, &little, 1, &request, &again);
    ledger_grant_by_policy(&l, now, &little, NULL, &weir_table_lease, h);
    assert_true(h->answer.granted >= 1000);
    ledger_deinit(&l);
}

TEST(a_grant_request_beyond_every_table_is_refused)
{
    for (int field = 0; field < 6; field++) {
        struct gac_request request = a_request;
        int64_t *fields[] = {&request.rate,   &request.pending, &request.held,
                             &request.demand, &request.need,    &request.cost};
        *fields[field] = GAC_AMOUNT_MAX + 1;
        struct buffer b = {0};
        gac_request_encode(&b, &request);
        struct reader r = {buffer_slice(&b), false};
        assert_int_equal(gac_request_decode(&r, &request), STATUS_MALFORMED);
        buffer_deinit(&b);
    }
}
