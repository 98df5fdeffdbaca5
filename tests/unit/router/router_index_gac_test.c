/* Global admission control of global indexes: routers keep the limit of an index's reads, as of a
 * table's. The router and the servers are the real ones, nodes and catalog are fakes. */
#include "tests/check.h"

#include "base/settings/choices.h"
#include "base/settings/gac.h"
#include "router/core/limit.h"
#include "router/core/router_internal.h"
#include "tests/support/router_indexes.h"

static struct fake_gac servers;
static struct fake_cluster f;

enum {
    READS_A = 30, /* of the index by-a, a second */
    READS_B = 70
};

/* Half a unit, of one partition. */
#define BY(index, key)                                                                       \
    "{\"TableName\":\"units\",\"IndexName\":\"" index "\",\"KeyConditionExpression\":\"" key \
    " = :v\",\"ExpressionAttributeValues\":{\":v\":"                                         \
    "{\"S\":\"x\"}}}"
#define BY_A BY("by-a", "a")
#define BY_B BY("by-b", "b")

/* Table "units" of 500 units, with by-a and by-b. */
static void create_units(const char *more)
{
    char members[512];
    snprintf(members, sizeof members, "%s%s", UNITS("500", "500"), more);
    struct fake_answer a =
        create_table(&f, "units", DEFINED_A "," DEFINE("b", "S"),
                     INDEX("by-a", A_HASH, "," ALL "," UNITS("30", "500")) "," INDEX(
                         "by-b", KEY("b", "HASH"), "," ALL "," UNITS("70", "500")),
                     members);
    assert_int_equal(a.status, 200);
}

static void start_with(enum gac_policy policy, const char *more)
{
    fake_init(&f);
    config_edit_choices(&f.config)->gac = policy;
    config_edit_gac(&f.config)->gac_bank_ms = 1000;
    config_edit_gac(&f.config)->gac_start_units = 1;
    f.gac = &servers;
    fake_gac_init(&servers, &f.config, 1);
    fake_start(&f);
    fake_advance_ms(&f, 300);
    create_units(more);
    fake_advance_ms(&f, 300);
}

static int start(void **state)
{
    (void)state;
    start_with(GAC_LEASE, "");
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

static bool body_contains(struct fake_answer a, const char *text)
{
    return memmem(a.body.data, a.body.size, text, strlen(text)) != NULL;
}

/* Asks once a millisecond for `ms`. How many were done; `*refused` gets the last refusal's text. */
static int request_for(const char *operation, const char *body, int ms, char *refused, size_t room)
{
    int done = 0;
    for (int i = 0; i < ms; i++) {
        struct fake_answer a = fake_call(&f, operation, body);
        for (int more = 0; more < 2; more++) { /* one that waited has its answer after a while */
            done += a.status == 200;
            if (a.status == 400 && refused != NULL)
                snprintf(refused, room, "%.*s", (int)a.body.size, (const char *)a.body.data);
            if (more == 0)
                fake_advance_ms(&f, 1);
            a = fake_take_answer(&f, 1);
        }
    }
    return done;
}

/* The limit's key; fails if routers keep no such limit. */
static struct gac_holding holding_of(const char *name, enum admit_kind kind)
{
    struct gac_holding h = {0};
    for (uint32_t i = 0; i < f.table_count; i++) {
        const struct gac_key key = {f.tables[i].id, 0, kind == ADMIT_READ ? GAC_READ : GAC_WRITE};
        if (slice_is(f.tables[i].name, name))
            gac_client_holding(f.router->gac, f.now, key, &h);
    }
    return h;
}

/* Its partitions, which are fakes, would take everything. */
TEST(an_indexs_reads_are_limited_by_its_own_units)
{
    char text[1024] = "";
    request_for("Query", BY_A, 1500, NULL, 0); /* the bank is used up */
    const int done = request_for("Query", BY_A, 2000, text, sizeof text);
    const int ahead =
        2 * READS_A / 10; /* what came within gac_grant_ms, before the router asked again */
    assert_in_range(done, 2 * 2 * READS_A * 95 / 100, 2 * 2 * READS_A + ahead);
    assert_non_null(strstr(text, "#ProvisionedThroughputExceededException"));
    assert_non_null(strstr(text, "\"ThrottlingReasons\":[{\"reason\":"
                                 "\"IndexReadProvisionedThroughputExceeded\",\"resource\":\"" ARN
                                 "units/index/by-a\"}]"));
    assert_non_null(strstr(text, "(table: the index's limit of read units is used up"));
    assert_true(holding_of("units/by-a", ADMIT_READ).refused > 0);
}

TEST(a_shortage_of_an_index_touches_neither_its_table_nor_other_indexes)
{
    char text[1024] = "";
    request_for("Query", BY_A, 1500, text, sizeof text);
    assert_string_not_equal(text, "");
    for (int i = 0; i < READS_B; i++) {
        text[0] = '\0';
        request_for("GetItem", "{\"TableName\":\"units\",\"Key\":{\"p\":{\"S\":\"x\"}}}", 1, text,
                    sizeof text);
        request_for("PutItem",
                    "{\"TableName\":\"units\",\"Item\":{\"p\":{\"S\":\"x\"},\"a\":{\"S\":\"x\"}}}",
                    1, text, sizeof text);
        request_for("Query", BY_B, 1, text, sizeof text);
        fake_advance_ms(&f, 9);
        assert_string_equal(text, "");
    }
    assert_int_equal(holding_of("units", ADMIT_READ).refused, 0);
    assert_int_equal(holding_of("units", ADMIT_WRITE).refused, 0);
    assert_int_equal(holding_of("units/by-b", ADMIT_READ).refused, 0);
}

/* Feeds write the rows, not routers. */
TEST(routers_keep_no_limit_of_an_indexs_writes)
{
    request_for("PutItem",
                "{\"TableName\":\"units\",\"Item\":{\"p\":{\"S\":\"x\"},\"a\":{\"S\":\"x\"}}}", 100,
                NULL, 0);
    request_for("Query", BY_A, 10, NULL, 0);
    assert_true(holding_of("units", ADMIT_WRITE).taken > 0);
    assert_true(holding_of("units/by-a", ADMIT_READ).taken > 0);
    assert_int_equal(holding_of("units/by-a", ADMIT_WRITE).taken, 0);
    assert_int_equal(holding_of("units/by-a", ADMIT_WRITE).grant_requests, 0);
}

TEST(the_tables_choice_holds_for_its_indexes)
{
    stop(NULL);
    start_with(GAC_LEASE, ",\"Tags\":[{\"Key\":\"weir:gac\",\"Value\":\"off\"}]");
    assert_int_equal(request_for("Query", BY_A, 500, NULL, 0), 500);
    stop(NULL);
    start_with(GAC_OFF, ",\"Tags\":[{\"Key\":\"weir:gac\",\"Value\":\"lease\"}]");
    request_for("Query", BY_A, 1500, NULL, 0);
    assert_in_range(request_for("Query", BY_A, 1000, NULL, 0), READS_A, 2 * READS_A + 2);
}

TEST(an_update_of_an_index_changes_its_limit)
{
    request_for("Query", BY_A, 1500, NULL, 0);
    struct fake_answer a =
        fake_call(&f, "UpdateTable", UPDATES("units", UPDATE("by-a", "," UNITS("150", "500"))));
    assert_int_equal(a.status, 200);
    fake_advance_ms(&f, 300);
    request_for("Query", BY_A, 1500, NULL, 0);
    const int grant = 2 * 150 / 10; /* gac_grant_ms before, it may be in hand */
    assert_in_range(request_for("Query", BY_A, 1000, NULL, 0), 2 * 150 * 95 / 100, 2 * 150 + grant);
}

TEST(the_page_shows_the_index_by_its_name)
{
    request_for("Query", BY_A, 10, NULL, 0);
    fake_open(&f, 9);
    fake_send_text(&f, 9, "GET /weir/gac HTTP/1.1\r\nHost: localhost\r\n\r\n");
    struct fake_answer a = fake_take_answer(&f, 9);
    assert_int_equal(a.status, 200);
    assert_true(body_contains(a, "{\"table\":\"units/by-a\",\"kind\":\"read\",\"policy\":\"lease\","
                                 "\"server\":1,\"rate\":30.0,"));
    assert_false(body_contains(a, "{\"table\":\"units/by-a\",\"kind\":\"write\""));
    assert_true(body_contains(a, "{\"table\":\"units\",\"kind\":\"write\""));
}
