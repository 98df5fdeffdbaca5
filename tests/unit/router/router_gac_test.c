/* router_gac_test.c - global admission control on the way of a request: the router and the servers
 * are the real ones, nodes and catalog are fakes. */
#include "tests/check.h"

#include "base/policies.h"
#include "base/settings/choices.h"
#include "base/settings/gac.h"
#include "include/weir/policy.h"
#include "router/core/limit.h"
#include "router/core/router_internal.h"
#include "tests/support/expect.h"

static struct fake_gac servers;
static struct fake_cluster f;

static const char GET[] = "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}";
static const char PUT[] = "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}}}";
static const char DELETE[] = "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}";

enum {
    UNITS = 100 /* a second, of reads and of writes */
};

static void give_units(struct table *t, int64_t units)
{
    t->rcu = t->wcu = units;
    t->version++;
}

/* What the next table is. */
static struct {
    enum table_billing billing;
    int64_t units;
    uint8_t gac;
} as;

static void begin(struct fake_cluster *c, enum gac_policy policy)
{
    fake_init(c);
    config_edit_choices(&c->config)->gac = policy;
    config_edit_gac(&c->config)->gac_bank_ms = 1000; /* a table may save up for a second */
    c->gac = &servers;
    fake_table(c, "users", "id", ATTR_STRING, NULL, 0, 4);
    struct table *t = &c->tables[0];
    give_units(t, as.units);
    t->billing = as.billing;
    t->maximum[ADMIT_WRITE] = as.billing == BILLING_ON_DEMAND ? as.units : 0;
    t->gac = as.gac;
}

static void start_with(enum gac_policy policy, uint32_t count)
{
    begin(&f, policy);
    fake_gac_init(&servers, &f.config, count);
    fake_start(&f);
    fake_advance_ms(&f, 300); /* signs of life */
    if (count == 0)
        return;
    /* The ledgers are there, and have saved up all they may. */
    fake_call(&f, "DeleteItem", DELETE);
    fake_call(&f, "GetItem", GET);
    fake_advance_ms(&f, 2000);
    memset(f.requests, 0, sizeof f.requests);
    f.router->counters = (struct metrics_router){0};
}

static int start(void **state)
{
    (void)state;
    as.billing = BILLING_PROVISIONED;
    as.units = UNITS;
    as.gac = GAC_AS_CONFIGURED;
    start_with(GAC_LEASE, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    fake_gac_deinit(&servers);
    return 0;
}

FIXTURE(start, stop)

static void start_again(enum gac_policy policy)
{
    stop(NULL);
    start_with(policy, 1);
}

static void send_call(struct fake_cluster *c, uint64_t connection, const char *operation,
                      const char *body)
{
    struct buffer b = {0};
    if (!c->clients[connection].open)
        fake_open(c, connection);
    fake_request_text(&b, operation, slice_of(body));
    fake_send(c, connection, buffer_slice(&b));
    buffer_deinit(&b);
}

static bool body_contains(struct fake_answer a, const char *text)
{
    return memmem(a.body.data, a.body.size, text, strlen(text)) != NULL;
}

static int64_t tokens(struct fake_cluster *c, enum gac_kind kind)
{
    struct gac_holding h;
    struct gac_key key = {c->tables[0].id, 0, kind};
    return gac_client_holding(c->router->gac, c->now, key, &h) ? h.tokens : 0;
}

/* Puts for `ms`, `per_ms` at a time; how many were let in. */
static int load(struct fake_cluster *c, int ms, int per_ms)
{
    int done = 0;
    for (int i = 0; i < ms; i++) {
        for (int j = 0; j < per_ms; j++)
            done += fake_call(c, "PutItem", PUT).status == 200;
        fake_advance_ms(c, 1);
        while (c->clients[1].open) { /* one that waited has its answer now, or soon */
            struct fake_answer a = fake_take_answer(c, 1);
            if (a.status == 0)
                break;
            done += a.status == 200;
        }
    }
    return done;
}

TEST(a_request_waits_for_its_first_tokens_and_goes_on_with_them)
{
    f.hold_gac = true;
    send_call(&f, 1, "PutItem", PUT);
    assert_int_equal(f.requests[REQUEST_PUT], 0);
    assert_int_equal(f.router->counters.limit_delayed, 1);
    f.hold_gac = false;
    fake_deliver_gac(&f);
    fake_pump(&f);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
    assert_int_equal(f.requests[REQUEST_PUT], 1);
}

TEST(with_tokens_nothing_waits_and_no_message_is_sent)
{
    expect_call(&f, "PutItem", PUT, 200, "{}");
    int64_t before = tokens(&f, GAC_WRITE);
    assert_true(before >= 3000);
    f.hold_gac = true;
    size_t frames = f.frame_count;
    expect_call(&f, "PutItem", PUT, 200, "{}");
    assert_int_equal(f.frame_count, frames);
    assert_int_equal(tokens(&f, GAC_WRITE), before - 1000);
    assert_int_equal(f.router->counters.limit_delayed, 1);
}

TEST(above_the_rate_the_table_throttles_with_the_services_message)
{
    static const struct {
        enum table_billing billing;
        const char *type;
        const char *reasons;
    } CASES[] = {
        {BILLING_PROVISIONED, "#ProvisionedThroughputExceededException",
         "\"ThrottlingReasons\":[{\"reason\":\"TableWriteProvisionedThroughputExceeded\","
         "\"resource\":\"arn:aws:dynamodb:us-east-1:000000000000:table/users\"}]"},
        {BILLING_ON_DEMAND, "#ThrottlingException",
         "\"throttlingReasons\":[{\"reason\":\"TableWriteMaxOnDemandThroughputExceeded\","
         "\"resource\":\"arn:aws:dynamodb:us-east-1:000000000000:table/users\"}]"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        as.billing = CASES[i].billing;
        start_again(GAC_LEASE);
        int done = load(&f, 1000, 1);
        /* Of 1,000 offered in a second: the rate, and what the ledger began with. */
        assert_in_range(done, UNITS, 2 * UNITS);
        assert_int_equal(f.requests[REQUEST_PUT], done);
        fake_advance_ms(&f, 100);
        while (fake_take_answer(&f, 1).status != 0)
            ;
        struct fake_answer a = {.status = 200};
        for (int tries = 0; tries < 3 * UNITS && a.status != 400; tries++) {
            a = fake_call(&f, "PutItem", PUT);
            if (a.status == 0) {
                fake_advance_ms(&f, 60);
                a = fake_take_answer(&f, 1);
            }
        }
        assert_int_equal(a.status, 400);
        assert_true(body_contains(a, CASES[i].type));
        assert_true(body_contains(a, CASES[i].reasons));
        assert_true(f.router->counters.limit_refused > 0);
        assert_slice_is(fake_header(a, "x-weir-throttled-by"), "table");
        assert_int_equal(fake_header(a, "x-weir-partition").size, 0);
        assert_true(body_contains(a, "(table: the table's limit of write units is used up"));
        fake_open(&f, 9);
        fake_send_text(&f, 9, "GET /weir/partitions HTTP/1.1\r\nHost: h\r\n\r\n");
        a = fake_take_answer(&f, 9);
        assert_true(body_contains(a, "\"refused_by_routers\":{\"read\":0,\"write\":"));
        assert_false(body_contains(a, "\"refused_by_routers\":{\"read\":0,\"write\":0}"));
    }
}

static int64_t spent(struct fake_cluster *c, enum gac_kind kind, int64_t before)
{
    return before - tokens(c, kind);
}

/* What is in hand is in hand for a while, and no message changes it meanwhile. */
static int64_t fill(struct fake_cluster *c, enum gac_kind kind)
{
    fake_call(c, kind == GAC_WRITE ? "PutItem" : "GetItem", kind == GAC_WRITE ? PUT : GET);
    assert_true(tokens(c, kind) >= (kind == GAC_WRITE ? 9000 : 4000));
    c->hold_gac = true;
    return tokens(c, kind);
}

TEST(what_it_cost_more_is_taken_later_and_what_it_cost_less_comes_back)
{
    char put[6000];
    snprintf(put, sizeof put,
             "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"x\":{\"S\":\"%05000d\"}}}",
             0);
    int64_t before = fill(&f, GAC_WRITE);
    expect_call(&f, "PutItem", put, 200, "{}"); /* known beforehand */
    assert_int_equal(spent(&f, GAC_WRITE, before), 5000);
    expect_call(&f, "PutItem", PUT, 200, "{}"); /* the old item is larger */
    assert_int_equal(spent(&f, GAC_WRITE, before), 10000);
    f.hold_gac = false;
    fake_deliver_gac(&f);
    fake_call(&f, "PutItem", put);
    before = fill(&f, GAC_READ);
    fake_call(&f, "GetItem", GET); /* 0.5 for up to 4 KB */
    assert_int_equal(spent(&f, GAC_READ, before), 1000);
}

TEST(what_a_node_refused_comes_back_and_what_may_have_been_done_does_not) /* LIMIT-1 */
{
    static const struct {
        enum reply_code code;
        int64_t kept;
    } CASES[] = {{REPLY_THROTTLED, 0}, {REPLY_OVERLOADED, 0}, {REPLY_UNKNOWN, 1000}};
    int64_t before = fill(&f, GAC_WRITE);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        f.fail_code = CASES[i].code;
        f.fail_reason = ADMIT_REFUSED_KEY_RANGE;
        f.fail_count = 1;
        assert_int_not_equal(fake_call(&f, "PutItem", PUT).status, 200);
        assert_int_equal(spent(&f, GAC_WRITE, before), CASES[i].kept);
    }
}

TEST(what_is_tried_again_is_paid_once)
{
    int64_t before = fill(&f, GAC_WRITE);
    f.fail_code = REPLY_STALE_MAP;
    f.fail_count = 2;
    fake_call(&f, "PutItem", PUT);
    fake_advance_ms(&f, 20);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
    assert_int_equal(f.requests[REQUEST_PUT], 4);
    assert_int_equal(spent(&f, GAC_WRITE, before), 1000);
}

TEST(a_client_that_goes_pays_for_what_was_sent_and_not_for_what_waits)
{
    int64_t before = fill(&f, GAC_WRITE);
    f.hold = true;
    send_call(&f, 2, "PutItem", PUT);
    router_close(f.router, f.now, 2);
    f.clients[2].open = false;
    assert_int_equal(spent(&f, GAC_WRITE, before), 1000);
    fake_answer_all(&f);              /* nobody waits for it */
    send_call(&f, 3, "GetItem", GET); /* of reads there are no tokens yet */
    assert_int_equal(f.router->counters.limit_delayed, 2);
    router_close(f.router, f.now, 3);
    f.clients[3].open = false;
    f.hold_gac = false;
    fake_deliver_gac(&f);
    fake_pump(&f);
    assert_int_equal(f.requests[REQUEST_GET], 0);
}

TEST(a_table_may_be_deleted_and_created_anew_while_a_request_waits)
{
    f.hold_gac = true;
    send_call(&f, 1, "PutItem", PUT);
    assert_int_equal(f.router->counters.limit_delayed, 1);
    f.tables[0].id = 99;
    fake_repartition(&f, &f.tables[0], 2);
    f.hold_gac = false;
    fake_deliver_gac(&f);
    fake_pump(&f);
    fake_advance_ms(&f, 500);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 503); /* nothing was done; the next try sees the new table */
    assert_true(body_contains(a, "created again"));
}

TEST(those_who_wait_go_on_in_their_order) /* LIMIT-2 */
{
    f.hold_gac = f.hold = true;
    for (uint64_t i = 1; i <= 5; i++) {
        char put[100];
        snprintf(put, sizeof put, "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"%d\"}}}",
                 (int)i);
        send_call(&f, i, "PutItem", put);
        while (f.held_count > 0 && f.requests[REQUEST_PUT] == 0)
            fake_answer(&f, 0); /* the table is looked up */
    }
    assert_int_equal(f.requests[REQUEST_PUT], 0);
    f.hold_gac = false;
    fake_deliver_gac(&f);
    fake_pump(&f);
    assert_int_equal(f.held_count, 5);
    for (uint64_t i = 1; i <= 5; i++) {
        fake_answer(&f, 0);
        expect_answer(fake_take_answer(&f, i), 200, "{}");
    }
}

TEST(one_that_waited_long_enough_is_throttled)
{
    f.hold_gac = true;
    send_call(&f, 1, "PutItem", PUT);
    fake_advance_ms(&f, config_gac(&f.config)->gac_wait_ms - 1);
    assert_int_equal(fake_take_answer(&f, 1).status, 0);
    fake_advance_ms(&f, 1);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 400);
    assert_true(body_contains(a, "TableWriteProvisionedThroughputExceeded"));
    assert_int_equal(f.requests[REQUEST_PUT], 0);
    f.hold_gac = false;
    fake_deliver_gac(&f);
    fake_pump(&f);
    expect_call(&f, "PutItem", PUT, 200, "{}");
}

/* A rate of two units a second: of a batch of eight not all can have tokens. */
TEST(of_a_batch_only_what_had_no_tokens_is_unprocessed)
{
    struct buffer batch = {0};
    as.units = 4;
    start_again(GAC_LEASE);
    buffer_append_text(&batch, "{\"RequestItems\":{\"users\":[");
    for (int i = 0; i < 8; i++)
        buffer_append_format(&batch, "%s{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"%d\"}}}}",
                             i == 0 ? "" : ",", i);
    buffer_append_text(&batch, "]}}");
    buffer_append_u8(&batch, 0);
    send_call(&f, 1, "BatchWriteItem", (const char *)batch.data);
    fake_advance_ms(&f, 100);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 200);
    assert_true(body_contains(a, "{\"UnprocessedItems\":{\"users\":["));
    assert_in_range(f.requests[REQUEST_PUT], 1, 7);
    assert_int_equal(f.item_count, f.requests[REQUEST_PUT]);
    send_call(&f, 1, "BatchWriteItem", (const char *)batch.data);
    fake_advance_ms(&f, 100);
    a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 400); /* of the second one none had any */
    assert_true(body_contains(a, "#ProvisionedThroughputExceededException"));
    buffer_deinit(&batch);
}

TEST(without_a_server_a_router_goes_on_at_its_part)
{
    load(&f, 50, 1);
    fake_gac_kill(&servers, 1);
    fake_gac_down(&f, 1, true);
    int done = load(&f, 3000, 1);
    /* One router: all of the rate, a second's worth more at the begin. */
    assert_in_range(done, 3 * UNITS - 5, 5 * UNITS);
    fake_gac_start(&servers, 1);
    fake_gac_up(&f, 1);
    done = load(&f, 2000, 1);
    assert_in_range(done, 2 * UNITS - 10, 4 * UNITS);
}

TEST(unlimited_requests_need_no_grant)
{
    as.billing = BILLING_ON_DEMAND;
    as.units = 0; /* no maximum */
    start_again(GAC_LEASE);
    assert_int_equal(load(&f, 100, 3), 300);
    assert_int_equal(f.router->counters.limit_delayed, 0);
    as.billing = BILLING_PROVISIONED;
    as.units = UNITS;
    start_again(GAC_OFF);
    assert_int_equal(load(&f, 100, 3), 300);
    config_edit_choices(&f.config)->gac = GAC_LEASE;
    f.config.profile = PROFILE_OFF;
    assert_int_equal(load(&f, 100, 3), 300);
    assert_int_equal(tokens(&f, GAC_WRITE), 0);
}

TEST(the_tables_own_policy_goes_before_the_configured_one)
{
    as.gac = 1 + GAC_OFF;
    start_again(GAC_LEASE);
    assert_int_equal(load(&f, 100, 3), 300);
    as.gac = 1 + GAC_STATIC;
    start_again(GAC_OFF);
    assert_in_range(load(&f, 1000, 1), UNITS, 2 * UNITS);
    assert_int_equal(f.router->counters.limit_delayed, 0);
}

static int changed(struct fake_cluster *c, int64_t units)
{
    char body[200];
    snprintf(body, sizeof body,
             "{\"TableName\":\"users\",\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%d,"
             "\"WriteCapacityUnits\":%d}}",
             UNITS, (int)units);
    send_call(c, 2, "UpdateTable", body);
    fake_advance_ms(c, 1);
    return fake_take_answer(c, 2).status;
}

/* The other router has the table from long ago, and nobody writes where it was changed. */
TEST(an_update_of_a_table_reaches_the_routers_that_did_not_do_it)
{
    static struct fake_cluster other;
    begin(&other, GAC_LEASE);
    other.seed = 79;
    fake_start(&other);
    fake_advance_ms(&other, 300);
    load(&f, 100, 1);
    fake_advance_ms(&other, 100);
    load(&other, 2000, 1);
    fake_advance_ms(&f, 2000);
    int before = load(&other, 1000, 2);
    assert_in_range(before, UNITS / 2, UNITS + UNITS / 2);
    fake_advance_ms(&f, 1000);
    assert_int_equal(changed(&f, 5 * UNITS), 200);
    give_units(&other.tables[0], 5 * UNITS);
    int64_t fetched = other.requests[REQUEST_TABLE_GET];
    load(&other, 2000, 2);
    fake_advance_ms(&f, 2000);
    assert_in_range(other.requests[REQUEST_TABLE_GET] - fetched, 1, 2);
    /* Each has a clock of its own, and the server the later one of them. */
    load(&other, (int)(instant_since(f.now, other.now).ns / NS_PER_MS), 2);
    assert_in_range(load(&other, 1000, 2), 4 * UNITS, 6 * UNITS);
    fake_deinit(&other);
}

/* The one server that knew of the change is gone: whoever asks the next one looks first. */
TEST(a_change_is_not_lost_with_the_server_that_knew_of_it)
{
    load(&f, 1000, 1);
    give_units(&f.tables[0], 5 * UNITS);
    load(&f, 1000, 2);
    assert_int_equal(f.requests[REQUEST_TABLE_GET], 0); /* nobody has told it */
    fake_gac_kill(&servers, 1);
    fake_gac_down(&f, 1, true);
    load(&f, 1000, 2);
    assert_int_equal(f.requests[REQUEST_TABLE_GET], 1);
    assert_in_range(load(&f, 1000, 2), 5 * UNITS - 10, 5 * UNITS);
}

static void create(const char *tag, int status, const char *text)
{
    char body[400];
    snprintf(body, sizeof body,
             "{\"TableName\":\"with-%s\",\"BillingMode\":\"PAY_PER_REQUEST\","
             "\"AttributeDefinitions\":[{\"AttributeName\":\"id\",\"AttributeType\":\"S\"}],"
             "\"KeySchema\":[{\"AttributeName\":\"id\",\"KeyType\":\"HASH\"}],"
             "\"Tags\":[{\"Key\":\"weir:gac\",\"Value\":\"%s\"}]}",
             tag, tag);
    struct fake_answer a = fake_call(&f, "CreateTable", body);
    assert_int_equal(a.status, status);
    assert_true(body_contains(a, text));
}

TEST(a_tag_chooses_the_tables_policy_at_its_creation)
{
    static const char *const NAMES[] = {"off", "static", "periodic", "lease"};
    for (uint8_t i = 0; i < 4; i++) {
        create(NAMES[i], 200, "TableDescription");
        assert_int_equal(f.tables[1 + i].gac, 1 + i);
    }
    create("some", 400,
           "The tag weir:gac is 'some' and may only be 'off', 'static', 'periodic', 'lease' "
           "or 'named'");
    stop(NULL);
    fake_init(&f);
    fake_gac_init(&servers, &f.config, 0);
    fake_start(&f);
    create("lease", 400, "and the cluster has none");
    create("off", 200, "TableDescription");
}

static void get_page(uint64_t connection)
{
    if (!f.clients[connection].open)
        fake_open(&f, connection);
    fake_send_text(&f, connection, "GET /weir/gac HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

TEST(a_page_shows_what_the_router_holds_and_what_it_refused)
{
    f.hold_gac = true;
    send_call(&f, 1, "PutItem", PUT);
    get_page(2);
    struct fake_answer a = fake_take_answer(&f, 2);
    assert_int_equal(a.status, 200);
    assert_true(
        body_contains(a, "{\"gac\":\"lease\",\"servers\":1,\"limit_delayed\":1,\"limit_refused\":0,"
                         "\"limits\":["));
    assert_true(body_contains(
        a, "{\"table\":\"users\",\"kind\":\"write\",\"policy\":\"lease\","
           "\"server\":1,\"rate\":100.0,\"tokens\":0.0,\"demand\":1.0,\"grant_requests\":"));
    assert_true(body_contains(a, "\"waiting\":1,\"refused\":0}"));
    f.hold_gac = false;
    fake_deliver_gac(&f);
    fake_pump(&f);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
    load(&f, 500, 2);
    get_page(2);
    a = fake_take_answer(&f, 2);
    assert_true(body_contains(a, "\"kind\":\"write\""));
    assert_false(body_contains(a, "\"limit_refused\":0,"));
}

static int64_t tokens_of(struct gac_key key)
{
    struct gac_holding h = {0};
    assert_true(gac_client_holding(f.router->gac, f.now, key, &h));
    return h.tokens;
}

TEST(of_several_limits_all_are_taken_or_none) /* LIMIT-3 */
{
    start_again(GAC_STATIC);
    struct limits_taken taken = {.count = 0};
    struct limit_need needs[LIMITS_MAX];
    for (uint32_t i = 0; i < LIMITS_MAX; i++)
        needs[i] = (struct limit_need){.limit = {.key = {.table = 70 + i, .kind = GAC_READ},
                                                 .policy = GAC_STATIC,
                                                 .rate = 1000 * MCU_PER_UNIT,
                                                 .version = 1},
                                       .mcu = (i + 1) * MCU_PER_UNIT};
    struct gac_client *gac = f.router->gac;
    for (uint32_t i = 0; i < LIMITS_MAX; i++) /* known from now on: tokens come */
        assert_int_equal(limits_take(gac, f.now, &needs[i], 1, &taken), GAC_REFUSED);
    fake_advance_ms(&f, 500);
    assert_int_equal(limits_take(gac, f.now, needs, LIMITS_MAX, &taken), GAC_TAKEN);
    assert_int_equal(taken.count, LIMITS_MAX);
    for (uint32_t i = 0; i < LIMITS_MAX; i++) {
        assert_int_equal(taken.list[i].mcu, needs[i].mcu);
        gac_client_settle(gac, taken.list[i].key, taken.list[i].mcu, 0);
    }
    /* The last one is used up. */
    taken.count = 0;
    const int64_t before = tokens_of(needs[0].limit.key);
    needs[LIMITS_MAX - 1].mcu = 1000 * 1000 * MCU_PER_UNIT;
    while (limits_take(gac, f.now, &needs[LIMITS_MAX - 1], 1, &taken) == GAC_TAKEN)
        taken.count = 0;
    assert_int_equal(limits_take(gac, f.now, needs, LIMITS_MAX, &taken), GAC_REFUSED);
    assert_int_equal(taken.count, 0);
    assert_int_equal(taken.short_of.table, needs[LIMITS_MAX - 1].limit.key.table);
    assert_true(taken.wait.ns > 0);
    assert_int_equal(tokens_of(needs[0].limit.key), before);
}

/* What the refusal tells; 0: the item was written. */
static int64_t put_retry_after_ms(const char *key)
{
    char body[96];
    snprintf(body, sizeof body, "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"%s\"}}}", key);
    struct fake_answer a = fake_call(&f, "PutItem", body);
    const struct slice retry_after = fake_header(a, "x-weir-retry-after-ms");
    return a.status == 200
               ? 0
               : strtoll(retry_after.size > 0 ? (const char *)retry_after.data : "-1", NULL, 10);
}

/* LINE-1, LINE-2 */
TEST(the_bytes_of_a_call_are_read_once_for_all_its_refused_parts)
{
    struct call batch = {.router = f.router}, again = {.router = f.router};
    buffer_append_text(&batch.bytes, "the items of a batch");
    buffer_append_text(&again.bytes, "the items of a batch");
    const uint64_t number = call_bytes_number(&batch);
    assert_true(number == call_bytes_number(&again));
    again.bytes_number = 0;
    again.bytes.data[0]++;
    assert_true(number != call_bytes_number(&again));
    batch.bytes.data[0]++; /* only a second reading could see it */
    assert_true(number == call_bytes_number(&batch));
    buffer_deinit(&batch.bytes);
    buffer_deinit(&again.bytes);
}

TEST(refused_requests_get_retry_times_one_after_the_other)
{
    char key[16];
    int64_t retry_after_ms = 0, last_ms = 0;
    for (int i = 0; i < 10 * UNITS && retry_after_ms == 0; i++) {
        snprintf(key, sizeof key, "k%d", i);
        retry_after_ms = put_retry_after_ms(key);
    }
    assert_true(retry_after_ms > 0);
    fake_advance_ms(&f, 1);
    const int64_t again_ms = put_retry_after_ms(key);
    assert_in_range(again_ms, retry_after_ms - 1, retry_after_ms);
    for (int i = 0; i < 5; i++) {
        snprintf(key, sizeof key, "later%d", i);
        last_ms = put_retry_after_ms(key);
        assert_true(last_ms > retry_after_ms);
        retry_after_ms = last_ms - 1;
        fake_advance_ms(&f, 1);
    }
    fake_advance_ms(&f, last_ms);
    assert_int_equal(put_retry_after_ms(key), 0);
}

/* ---- without a server ---- */

static struct fake_answer put_elsewhere(uint64_t connection)
{
    send_call(&f, connection, "PutItem",
              "{\"TableName\":\"other\",\"Item\":{\"id\":{\"S\":\"a\"}}}");
    return fake_take_answer(&f, connection);
}

/* The part of the rate begins with no tokens. The second request is told to come again. */
TEST(the_first_request_of_a_limit_waits_for_the_part_of_a_router_without_a_server)
{
    give_units(fake_table(&f, "other", "id", ATTR_STRING, NULL, 0, 1), UNITS);
    fake_gac_down(&f, 1, true);
    assert_int_equal(put_elsewhere(1).status, 0);
    assert_int_equal(put_elsewhere(2).status, 0);
    fake_advance_ms(&f, 1000 / UNITS - 1);
    assert_int_equal(fake_take_answer(&f, 1).status, 0);
    fake_advance_ms(&f, 1);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
    assert_int_equal(fake_take_answer(&f, 2).status, 400);
    assert_int_equal(put_elsewhere(1).status, 400);
    assert_int_equal(f.router->counters.limit_delayed, 2);
}

TEST(a_request_that_would_wait_too_long_for_its_part_is_refused_at_once)
{
    give_units(fake_table(&f, "other", "id", ATTR_STRING, NULL, 0, 1), 10);
    fake_gac_down(&f, 1, true);
    const struct fake_answer a = put_elsewhere(1);
    assert_int_equal(a.status, 400);
    assert_slice_is(fake_header(a, "x-weir-retry-after-ms"), "100");
    fake_advance_ms(&f, 100);
    expect_answer(put_elsewhere(1), 200, "{}");
}

TEST(a_request_that_waits_for_its_part_has_the_tokens_of_a_server_that_comes)
{
    give_units(fake_table(&f, "other", "id", ATTR_STRING, NULL, 0, 1), 25);
    fake_gac_down(&f, 1, true);
    assert_int_equal(put_elsewhere(1).status, 0);
    fake_gac_up(&f, 1);
    fake_advance_ms(&f, 5);
    expect_answer(fake_take_answer(&f, 1), 200, "{}");
}

/* ---- what policies of overload see ---- */

struct seen {
    uint32_t calls;
    bool within_limit;
    int64_t wait_ns, target_ns, interval_ns, limit_ns;
    uint32_t priority;
    void *state;
};

static struct seen arrived, sent;

static void see(struct seen *out, struct weir_arrival *a)
{
    *out = (struct seen){.calls = out->calls + 1,
                         .within_limit = weir_arrival_is_within_limit(a),
                         .wait_ns = weir_arrival_wait_ns(a),
                         .target_ns = weir_arrival_target_ns(a),
                         .interval_ns = weir_arrival_interval_ns(a),
                         .limit_ns = weir_arrival_limit_ns(a),
                         .priority = weir_arrival_priority(a),
                         .state = weir_arrival_state(a)};
    assert_true(weir_arrival_now_ns(a) > 0);
    assert_int_equal(weir_arrival_sender(a), 0);
}

static bool see_arrive(struct weir_arrival *a)
{
    see(&arrived, a);
    return true;
}

static bool see_send(struct weir_arrival *a)
{
    see(&sent, a);
    return true;
}

/* A Get that has waited for 7 ms is seen the same at both hooks of a router. */
static void assert_seen(enum gac_policy policy, bool within_limit)
{
    static const struct weir_overload_policy watcher = {.size = sizeof watcher,
                                                        .state_bytes = 8,
                                                        .peer_bytes = 8,
                                                        .name = "watcher",
                                                        .flags = WEIR_OVERLOAD_CLASSES,
                                                        .arrive = see_arrive,
                                                        .send = see_send};
    static const struct weir_overload_policy *const all[] = {&watcher};
    const struct weir_policy_plugin plugin = {
        .abi = WEIR_POLICY_ABI, .size = sizeof plugin, .overload_count = 1, .overload = all};
    static struct policies policies;
    struct buffer error = {0};
    stop(NULL);
    policies = (struct policies){0};
    assert_int_equal(policies_add(&policies, &plugin, "FILE.so", NULL, &error), STATUS_OK);
    begin(&f, policy);
    f.config.policies = &policies;
    snprintf(f.config.overload_policy, sizeof f.config.overload_policy, "watcher");
    fake_gac_init(&servers, &f.config, 1);
    fake_start(&f);
    fake_advance_ms(&f, 300);
    fake_call(&f, "GetItem", GET);
    fake_advance_ms(&f, 2000);
    arrived = sent = (struct seen){0};
    f.waited.all = duration_ms(7);
    assert_int_equal(fake_call(&f, "GetItem", GET).status, 200);
    assert_true(arrived.calls > 0 && sent.calls > 0);
    assert_int_equal(arrived.wait_ns, 7 * NS_PER_MS);
    assert_int_equal(sent.wait_ns, 7 * NS_PER_MS);
    assert_true(arrived.within_limit == within_limit && sent.within_limit == within_limit);
    assert_int_equal(sent.priority, arrived.priority);
    assert_true(sent.target_ns == arrived.target_ns && sent.target_ns > 0);
    assert_true(sent.interval_ns == arrived.interval_ns && sent.interval_ns > 0);
    assert_true(sent.limit_ns == arrived.limit_ns && sent.limit_ns > 0);
    assert_true(sent.state != NULL && arrived.state != NULL && sent.state != arrived.state);
}

TEST(a_policy_of_overload_sees_the_same_request_when_it_comes_and_when_it_is_sent)
{
    assert_seen(GAC_LEASE, true);
    assert_seen(GAC_OFF, true); /* nodes have not said otherwise */
    as.gac = 1 + GAC_OFF;
    assert_seen(GAC_LEASE, false); /* of all tables, routers keep no limit of this one */
}

/* The next answer of a node has this verdict. Whether the request after it is within a limit. */
static bool is_within_after(struct admit_verdict verdict)
{
    const struct reply reply = {.code = verdict.reason == ADMIT_OK ? REPLY_OK : REPLY_OVERLOADED,
                                .kind = verdict.reason == ADMIT_OK ? ANSWER_ITEM : ANSWER_NONE,
                                .verdict = verdict};
    f.hold = true;
    fake_send_call(&f, 1, "GetItem", GET);
    f.hold = false;
    fake_answer_with(&f, 0, &reply);
    fake_take_answer(&f, 1);
    fake_call(&f, "GetItem", GET);
    return sent.within_limit;
}

TEST(a_router_without_a_limit_knows_the_class_of_a_table_by_the_nodes_answers)
{
    assert_seen(GAC_OFF, true);
    assert_true(is_within_after((struct admit_verdict){.reason = ADMIT_OK}));
    assert_false(is_within_after((struct admit_verdict){.reason = ADMIT_OK, .burst = true}));
    fake_call(&f, "DeleteItem", DELETE);
    assert_true(sent.within_limit); /* another kind of throughput */
    fake_advance_ms(&f, 998);
    fake_call(&f, "GetItem", GET);
    assert_false(sent.within_limit);
    fake_advance_ms(&f, 10);
    fake_call(&f, "GetItem", GET);
    assert_true(sent.within_limit);
    assert_false(is_within_after((struct admit_verdict){.reason = ADMIT_REFUSED_OVERLOAD}));
    assert_seen(GAC_LEASE, true);
    assert_true(is_within_after((struct admit_verdict){.reason = ADMIT_OK, .burst = true}));
}
