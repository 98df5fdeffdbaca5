/* gac_retry_time_test.c - the retry times of a ledger (LEDGER-8). */
#include "tests/check.h"

#include "base/gac_policy.h"
#include "base/settings/gac.h"
#include "gac/server.h"

/* A server under the policy `periodic`, and what the first router asked last. */
struct retry_server {
    struct config config;
    struct gac_server *server; /* owns */
    struct instant now;
    struct gac_request request;
    struct gac_answer answer;
};

static void retry_send(struct retry_server *p, uint64_t router, const struct gac_request *request)
{
    struct buffer frame = {0}, out = {0}, error = {0};
    struct gac_answers head;
    gac_requests_encode(&frame, &(struct gac_requests){router, 1, request != NULL});
    if (request != NULL)
        gac_request_encode(&frame, request);
    assert_int_equal(gac_server_receive(p->server, p->now, (struct gac_origin){.link = router},
                                        buffer_slice(&frame), &out, &error),
                     STATUS_OK);
    struct reader r = {buffer_slice(&out), false};
    assert_int_equal(gac_answers_decode(&r, &head), STATUS_OK);
    if (request != NULL)
        assert_int_equal(gac_answer_decode(&r, &p->answer), STATUS_OK);
    buffer_deinit(&frame);
    buffer_deinit(&out);
    buffer_deinit(&error);
}

/* The first router asks at this time. Returns what it is granted. */
static int64_t retry_request(struct retry_server *p, int64_t ms, int64_t need, bool reports)
{
    p->now = instant_add_ms((struct instant){0}, ms);
    p->request.number++;
    p->request.need = p->request.demand = need;
    p->request.reports = reports;
    retry_send(p, 1, &p->request);
    return p->answer.granted;
}

/* The first router lives, and asks for nothing. */
static void retry_live(struct retry_server *p, int64_t from_ms, int64_t to_ms)
{
    for (int64_t ms = from_ms; ms < to_ms; ms += 500) {
        p->now = instant_add_ms((struct instant){0}, ms);
        retry_send(p, 1, NULL);
    }
}

static void retry_begin(struct retry_server *p, int64_t rate)
{
    *p = (struct retry_server){
        .request = {
            .key = {.table = 1}, .policy = GAC_PERIODIC, .epoch = 1, .version = 1, .rate = rate}};
    config_init(&p->config, PROFILE_AWS);
    config_edit_gac(&p->config)->gac_period_ms = 1000;
    config_edit_gac(&p->config)->gac_bank_ms = 3000;
    p->server = gac_server_create(&(struct gac_server_options){&p->config, 1, 1, 7});
}

/* Found by seed 744 of retry_time_property: a router that was idle until its client came again gave
 * the tokens back. Then the client was refused by the second of a rate that had risen meanwhile. */
TEST(tokens_that_a_router_gives_back_stay_granted)
{
    struct retry_server p;
    retry_begin(&p, 100000);
    assert_int_equal(retry_request(&p, 1000, 100000, false), 100000);
    p.request.spent = 100000;
    assert_int_equal(retry_request(&p, 1100, 250000, true), 0);
    assert_int_equal(p.answer.until.ns, 900 * NS_PER_MS);
    p.request.rate = 260000;
    p.request.version = 2;
    assert_int_equal(retry_request(&p, 2000, 250000, false), 250000);
    assert_int_equal(retry_request(&p, 2100, 0, true), 0); /* gives them back */
    assert_int_equal(retry_request(&p, 2200, 250000, true), 250000);
    gac_server_destroy(p.server);
}

TEST(tokens_that_were_spent_end_the_retry_time)
{
    struct retry_server p;
    retry_begin(&p, 100000);
    retry_request(&p, 1000, 0, false);
    retry_live(&p, 1500, 5000);
    assert_int_equal(retry_request(&p, 5000, 50000, false), 50000);
    p.request.spent = 50000;
    assert_int_equal(retry_request(&p, 5100, 50000, true), 0);
    assert_int_equal(p.answer.until.ns, 900 * NS_PER_MS);
    gac_server_destroy(p.server);
}

/* Found by seed 1507 of retry_time_property. */
TEST(a_retry_time_outlives_the_router_timeout)
{
    struct retry_server p;
    retry_begin(&p, 1000);
    config_edit_gac(&p.config)->gac_router_timeout_ms = 10000;
    assert_int_equal(retry_request(&p, 1000, 100000, false), 100000);
    p.request.spent = 100000;
    retry_request(&p, 1100, 100000, true);
    assert_int_equal(p.answer.until.ns, 99900 * NS_PER_MS);
    retry_live(&p, 1500, 100900);
    p.request.rate = 200000;
    p.request.version = 2;
    p.now = instant_add_ms((struct instant){0}, 100900);
    struct gac_request other = p.request;
    other.need = other.demand = other.spent = 0;
    other.number = 1;
    retry_send(&p, 2, &other);
    assert_int_equal(retry_request(&p, 101000, 100000, false), 100000);
    gac_server_destroy(p.server);
}
