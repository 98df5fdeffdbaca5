/* gac_protocol_property.c - the real router's and server's side of global admission control, driven
 * event by event through whatever a network and processes can do.
 *
 * The events are those of tests/model/gac.pml: take, settle, send, deliver, lose, double, answers
 * that come late, time that passes, crashes of either side, servers that cannot be reached. After
 * each event what was taken, ever, goes through an ideal bucket (`SAFE` in the model). All orders
 * of a few events are tried, then long random ones. */
#include "tests/check.h"

#include <string.h>

#include "base/gac_policy.h"
#include "base/must.h"
#include "base/settings/gac.h"
#include "base/token_bucket.h"
#include "gac/client.h"
#include "gac/server.h"

enum {
    CLIENTS = 2,
    SERVERS = 2,
    FRAMES_MAX = 16, /* on their way, between two, in one direction */
    PENDING_MAX = 64,
    RATE = 100000, /* mcu a second */
    BANK_MS = 1000,
    STEPS = 2000
};

static const struct gac_key key = {1, 0, GAC_WRITE};

struct frames {
    uint32_t count;
    struct buffer all[FRAMES_MAX];
};

struct fixture {
    struct config config;
    struct instant now;
    struct gac_client *clients[CLIENTS];     /* NULL: down */
    struct gac_server *servers[SERVERS + 1]; /* from 1; NULL: down */
    uint64_t links[CLIENTS][SERVERS + 1];    /* 0: down */
    struct frames requests[CLIENTS][SERVERS + 1];
    struct frames answers[CLIENTS][SERVERS + 1];
    int64_t seen[CLIENTS];
    int64_t pending[CLIENTS][PENDING_MAX]; /* what requests have taken that are not done */
    uint32_t pending_count[CLIENTS];
    struct token_bucket ideal;
    int64_t allowed; /* that faults may have added */
    int64_t taken;
    uint64_t lives;
    uint32_t faults;
    bool orderly;   /* no event that adds to `allowed` */
    int64_t costly; /* what some requests cost, more than a second of the rate; 0: none do */
};

/* ---- frames ---- */

static void drop(struct frames *f, uint32_t at)
{
    buffer_deinit(&f->all[at]);
    memmove(&f->all[at], &f->all[at + 1], (--f->count - at) * sizeof f->all[0]);
}

static void clear(struct frames *f)
{
    while (f->count > 0)
        drop(f, 0);
}

static void put(struct frames *f, struct slice bytes)
{
    if (f->count == FRAMES_MAX)
        drop(f, 0);
    f->all[f->count] = (struct buffer){0};
    buffer_append_slice(&f->all[f->count++], bytes);
}

/* ---- processes ---- */

static void link_up(struct fixture *w, uint32_t c, uint32_t s)
{
    if (w->clients[c] == NULL || w->servers[s] == NULL || w->links[c][s] != 0)
        return;
    w->links[c][s] = ++w->lives;
    gac_client_up(w->clients[c], w->now, s);
}

static void link_down(struct fixture *w, uint32_t c, uint32_t s, bool client_gone, bool server_gone)
{
    clear(&w->requests[c][s]);
    clear(&w->answers[c][s]);
    if (w->links[c][s] == 0)
        return;
    if (!client_gone)
        gac_client_down(w->clients[c], w->now, s, server_gone);
    if (client_gone)
        gac_server_link_closed(w->servers[s], w->links[c][s]);
    w->links[c][s] = 0;
}

static void start_client(struct fixture *w, uint32_t c)
{
    w->clients[c] =
        gac_client_create(&(struct gac_client_options){&w->config, SERVERS, ++w->lives});
    w->seen[c] = 0;
    w->pending_count[c] = 0;
    for (uint32_t s = 1; s <= SERVERS; s++)
        link_up(w, c, s);
}

static void start_server(struct fixture *w, uint32_t s)
{
    w->servers[s] =
        gac_server_create(&(struct gac_server_options){&w->config, s, SERVERS, ++w->lives});
    for (uint32_t c = 0; c < CLIENTS; c++)
        link_up(w, c, s);
}

static void crash_client(struct fixture *w, uint32_t c)
{
    for (uint32_t s = 1; s <= SERVERS; s++)
        link_down(w, c, s, true, false);
    gac_client_destroy(w->clients[c]);
    w->clients[c] = NULL;
}

static void crash_server(struct fixture *w, uint32_t s)
{
    for (uint32_t c = 0; c < CLIENTS; c++)
        link_down(w, c, s, false, true);
    gac_server_destroy(w->servers[s]);
    w->servers[s] = NULL;
}

/* ---- what must hold ---- */

static void check_bound(struct fixture *w)
{
    for (uint32_t c = 0; c < CLIENTS; c++) {
        struct gac_holding h = {0};
        if (w->clients[c] != NULL)
            gac_client_holding(w->clients[c], w->now, key, &h);
        int64_t more = h.taken - w->seen[c];
        w->seen[c] = h.taken;
        if (w->clients[c] == NULL || more == 0)
            continue;
        w->taken += more;
        token_bucket_refill(&w->ideal, w->now);
        if (more < 0)
            token_bucket_add(&w->ideal, -more);
        else
            token_bucket_debit(&w->ideal, more);
    }
    if (w->ideal.balance < -w->allowed)
        fail_msg("%lld mcu more than there is, and faults account for %lld",
                 (long long)-w->ideal.balance, (long long)w->allowed);
}

/* What a change of the owner may add: what a new ledger begins with, and what is held by then. */
static void fault(struct fixture *w)
{
    w->faults++;
    w->allowed += 2 * (int64_t)RATE * config_gac(&w->config)->gac_grant_ms / 1000 + w->costly;
}

/* ---- events ---- */

static void send(struct fixture *w, uint32_t c)
{
    uint32_t server;
    struct slice bytes;
    while (w->clients[c] != NULL && gac_client_next_frame(w->clients[c], w->now, &server, &bytes))
        put(&w->requests[c][server], bytes);
}

static void deliver_request(struct fixture *w, uint32_t c, uint32_t s, uint32_t at, bool keep)
{
    struct frames *f = &w->requests[c][s];
    struct buffer answer = {0}, error = {0};
    if (at >= f->count || w->servers[s] == NULL)
        return;
    assert_int_equal(gac_server_receive(w->servers[s], w->now,
                                        (struct gac_origin){.link = w->links[c][s]},
                                        buffer_slice(&f->all[at]), &answer, &error),
                     STATUS_OK);
    put(&w->answers[c][s], buffer_slice(&answer));
    buffer_deinit(&answer);
    buffer_deinit(&error);
    if (!keep)
        drop(f, at);
}

static void deliver_answer(struct fixture *w, uint32_t c, uint32_t s, uint32_t at, bool keep)
{
    struct frames *f = &w->answers[c][s];
    if (at >= f->count || w->clients[c] == NULL)
        return;
    assert_int_equal(gac_client_receive(w->clients[c], w->now, s, buffer_slice(&f->all[at])),
                     STATUS_OK);
    if (!keep)
        drop(f, at);
}

static void take(struct fixture *w, uint32_t c, int64_t cost)
{
    struct gac_limit limit = {.key = key, .policy = GAC_LEASE, .rate = RATE, .version = 1};
    struct duration wait;
    if (w->clients[c] == NULL || w->pending_count[c] == PENDING_MAX)
        return;
    if (gac_client_take(w->clients[c], w->now, &limit, cost, &wait) == GAC_TAKEN)
        w->pending[c][w->pending_count[c]++] = cost;
}

/* One of the requests is done, and has cost more or less, but no less than nothing. */
static void settle(struct fixture *w, uint32_t c, uint32_t at, int64_t more)
{
    if (w->clients[c] == NULL || at >= w->pending_count[c])
        return;
    int64_t taken = w->pending[c][at];
    w->pending[c][at] = w->pending[c][--w->pending_count[c]];
    gac_client_settle(w->clients[c], key, taken, taken + more < 0 ? 0 : taken + more);
}

static void pass(struct fixture *w, int64_t ns)
{
    w->now = instant_add(w->now, (struct duration){ns});
    for (uint32_t c = 0; c < CLIENTS; c++) {
        if (w->clients[c] != NULL)
            gac_client_tick(w->clients[c], w->now);
    }
}

/* ---- worlds ---- */

static void begin(struct fixture *w, bool orderly)
{
    *w = (struct fixture){.now = {NS_PER_S}, .orderly = orderly};
    config_init(&w->config, PROFILE_AWS);
    config_edit_gac(&w->config)->gac_bank_ms = BANK_MS;
    int64_t bank = (int64_t)RATE * BANK_MS / 1000;
    int64_t start =
        (int64_t)RATE * config_gac(&w->config)->gac_grant_ms / 1000; /* what a ledger begins with */
    token_bucket_init(&w->ideal, bank, RATE, INT64_MAX / 4, start, w->now);
    for (uint32_t s = 1; s <= SERVERS; s++)
        start_server(w, s);
    for (uint32_t c = 0; c < CLIENTS; c++)
        start_client(w, c);
    /* Everyone has heard of everyone before anything is taken. */
    for (uint32_t c = 0; c < CLIENTS; c++) {
        send(w, c);
        for (uint32_t s = 1; s <= SERVERS; s++) {
            deliver_request(w, c, s, 0, false);
            deliver_answer(w, c, s, 0, false);
        }
    }
}

static void end(struct fixture *w)
{
    for (uint32_t c = 0; c < CLIENTS; c++) {
        if (w->clients[c] != NULL)
            crash_client(w, c);
    }
    for (uint32_t s = 1; s <= SERVERS; s++) {
        if (w->servers[s] != NULL)
            crash_server(w, s);
    }
}

/* ---- all orders of a few events ---- */

enum event {
    TAKE_ONE,
    TAKE_OTHER,
    SETTLE_MORE,
    SETTLE_LESS,
    SEND,
    REQUEST_ARRIVES,
    REQUEST_ARRIVES_AND_STAYS, /* it will come again */
    LAST_REQUEST_ARRIVES,      /* before those sent earlier */
    ANSWER_ARRIVES,
    ANSWER_ARRIVES_AND_STAYS,
    LOSE,
    TIMEOUT,
    EXPIRE,
    EVENTS
};

static void each(struct fixture *w,
                 void (*deliver)(struct fixture *, uint32_t, uint32_t, uint32_t, bool), bool keep,
                 bool last)
{
    for (uint32_t c = 0; c < CLIENTS; c++) {
        for (uint32_t s = 1; s <= SERVERS; s++) {
            const struct frames *f =
                deliver == deliver_request ? &w->requests[c][s] : &w->answers[c][s];
            if (f->count > 0)
                deliver(w, c, s, last ? f->count - 1 : 0, keep);
        }
    }
}

static void happen(struct fixture *w, enum event e)
{
    switch (e) {
    case TAKE_ONE:
    case TAKE_OTHER:
        take(w, e == TAKE_OTHER, 1000);
        break;
    case SETTLE_MORE:
        settle(w, 0, 0, 20000);
        break;
    case SETTLE_LESS:
        settle(w, 0, 0, -1000);
        break;
    case SEND:
        for (uint32_t c = 0; c < CLIENTS; c++)
            send(w, c);
        break;
    case REQUEST_ARRIVES:
    case REQUEST_ARRIVES_AND_STAYS:
        each(w, deliver_request, e == REQUEST_ARRIVES_AND_STAYS, false);
        break;
    case LAST_REQUEST_ARRIVES:
        each(w, deliver_request, true, true);
        break;
    case ANSWER_ARRIVES:
    case ANSWER_ARRIVES_AND_STAYS:
        each(w, deliver_answer, e == ANSWER_ARRIVES_AND_STAYS, false);
        break;
    case LOSE:
        for (uint32_t c = 0; c < CLIENTS; c++) {
            for (uint32_t s = 1; s <= SERVERS; s++) {
                clear(&w->requests[c][s]);
                clear(&w->answers[c][s]);
            }
        }
        break;
    case TIMEOUT:
        pass(w, config_gac(&w->config)->gac_timeout_ms * NS_PER_MS);
        break;
    case EXPIRE:
        pass(w, config_gac(&w->config)->gac_lifetime_ms * NS_PER_MS / 2);
        break;
    case EVENTS:
        must(false);
    }
    check_bound(w);
}

/* Each order is run from the start: a world is cheap, and cannot be copied. */
TEST(all_orders_of_a_few_events_are_safe)
{
    enum {
        DEPTH = 5
    };
    static const enum event first[] = {
        TAKE_ONE, TAKE_OTHER, SEND, REQUEST_ARRIVES_AND_STAYS, ANSWER_ARRIVES_AND_STAYS, TAKE_ONE};
    (void)state;
    uint64_t orders = 1;
    int64_t most = 0;
    for (int i = 0; i < DEPTH - (getenv("SEEDS") == NULL); i++)
        orders *= EVENTS;
    for (uint64_t order = 0; order < orders; order++) {
        struct fixture w;
        begin(&w, true);
        for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
            happen(&w, first[i]);
        for (uint64_t left = order, i = 1; i < orders; i *= EVENTS, left /= EVENTS)
            happen(&w, (enum event)(left % EVENTS));
        most = w.taken > most ? w.taken : most;
        end(&w);
    }
    printf("    %llu orders, at most %lld mcu taken\n", (unsigned long long)orders,
           (long long)most);
    assert_true(most >= 2000); /* tokens do arrive in some of them */
}

/* ---- long random ones ---- */

static void something_breaks(struct fixture *w, struct prng *p)
{
    uint32_t c = (uint32_t)prng_below(p, CLIENTS), s = 1 + (uint32_t)prng_below(p, SERVERS);
    switch (prng_below(p, 4)) {
    case 0:
        if (w->servers[s] != NULL)
            crash_server(w, s);
        else
            start_server(w, s);
        break;
    case 1:
        if (w->clients[c] != NULL)
            crash_client(w, c);
        else
            start_client(w, c);
        break;
    default:
        if (w->links[c][s] != 0)
            link_down(w, c, s, false, false);
        else
            link_up(w, c, s);
    }
    fault(w);
}

static void random_event(struct fixture *w, struct prng *p)
{
    uint32_t c = (uint32_t)prng_below(p, CLIENTS), s = 1 + (uint32_t)prng_below(p, SERVERS);
    switch (prng_below(p, 12)) {
    case 0:
    case 1:
    case 2:
        take(w, c,
             w->costly > 0 && prng_below(p, 8) == 0 ? w->costly : 1000 * prng_between(p, 1, 5));
        break;
    case 3:
        settle(w, c, (uint32_t)prng_below(p, 1 + w->pending_count[c]),
               prng_between(p, -5000, 3000));
        break;
    case 4:
    case 5:
        send(w, c);
        break;
    case 6:
    case 7:
        deliver_request(w, c, s, (uint32_t)prng_below(p, 1 + w->requests[c][s].count),
                        prng_below(p, 4) == 0);
        break;
    case 8:
    case 9:
        deliver_answer(w, c, s, (uint32_t)prng_below(p, 1 + w->answers[c][s].count),
                       prng_below(p, 4) == 0);
        break;
    case 10:
        pass(w, prng_between(p, 0, 20) * NS_PER_MS);
        break;
    case 11:
        if (w->orderly)
            pass(w, prng_between(p, 0, 5) * NS_PER_MS);
        else if (prng_below(p, 20) == 0)
            something_breaks(w, p);
    }
}

static int64_t taken_by_all; /* of the worlds of one test */

static void random_orders(struct prng *p, bool orderly, int64_t costly)
{
    struct fixture w;
    begin(&w, orderly);
    w.costly = costly;
    w.allowed += costly;
    for (int i = 0; i < STEPS; i++) {
        random_event(&w, p);
        check_bound(&w);
    }
    taken_by_all += w.taken;
    end(&w);
}

/* Nothing that faults could excuse: frames are only late, lost, doubled and out of order. */
static void frames_in_any_order_mint_nothing(struct prng *p)
{
    random_orders(p, true, 0);
}

static void crashes_add_no_more_than_a_grant(struct prng *p)
{
    random_orders(p, false, 0);
}

/* What is let in beyond the bank is one request's debt; one more for each server that began anew.
 */
static void costly_requests_add_one_debt(struct prng *p)
{
    random_orders(p, prng_below(p, 2) == 0, 300000);
}

TEST(test_costly_requests_add_one_debt)
{
    taken_by_all = 0;
    check_seeds(50, costly_requests_add_one_debt);
    printf("    %lld units taken\n", (long long)(taken_by_all / 1000));
    assert_true(taken_by_all > 0);
}

/* LEDGER-6 */
TEST(test_frames_in_any_order_mint_nothing)
{
    taken_by_all = 0;
    check_seeds(50, frames_in_any_order_mint_nothing);
    printf("    %lld units taken\n", (long long)(taken_by_all / 1000));
    assert_true(taken_by_all > 0);
}

TEST(test_crashes_add_no_more_than_a_grant)
{
    taken_by_all = 0;
    check_seeds(50, crashes_add_no_more_than_a_grant);
    printf("    %lld units taken\n", (long long)(taken_by_all / 1000));
    assert_true(taken_by_all > 0);
}
