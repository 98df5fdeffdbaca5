/* What clients in the simulator make of wrong answers: a Query that is answered wrongly must not
 * pass. The other end is a server that says what the test wants. */
#include "tests/check.h"

#include "sim/plan/sim_client.h"
#include "sim/plan/work_tables.h"

enum {
    CLIENT = 1,
    SERVER,
    CHANGER,
    PROCESSES = CHANGER,
    KEYS = 4
};

#define ITEM(s, v) "{\"k\":{\"S\":\"0\"},\"s\":{\"N\":\"" s "\"},\"v\":{\"N\":\"" v "\"}}"
#define ITEM_OF(s) ITEM(s, "0")
#define MORE(s)    ",\"LastEvaluatedKey\":{\"k\":{\"S\":\"0\"},\"s\":{\"N\":\"" s "\"}}"
/* Keys 0 to 3; numbers of sort keys begin at -12. */
#define ALL ITEM_OF("-12") "," ITEM_OF("-11") "," ITEM_OF("-10") "," ITEM_OF("-9")

struct server {
    struct network *network;
    const char *items;
    const char *backward;
    bool heeds_limits;
};

static void accepted(void *context, uint64_t link, uint32_t from)
{
    (void)context;
    (void)link;
    (void)from;
}

static void closed(void *context, uint64_t link, bool gone)
{
    (void)context;
    (void)link;
    (void)gone;
}

static void datagram(void *context, uint32_t from, struct slice frame)
{
    (void)context;
    (void)from;
    (void)frame;
}

/* The first page is as the test wants; a later page has nothing, nor has one with a limit. */
static void received(void *context, uint64_t link, struct slice bytes)
{
    const struct server *s = context;
    struct buffer out = {0}, body = {0};
    const char *items =
        dynamo_contains(bytes, "\"ScanIndexForward\":false") ? s->backward : s->items;
    if (dynamo_contains(bytes, "ExclusiveStartKey") ||
        (s->heeds_limits && dynamo_contains(bytes, "\"Limit\"")))
        items = "]";
    buffer_append_format(&body, "{\"Items\":[%s}", items);
    buffer_append_format(&out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", body.size);
    buffer_append_slice(&out, buffer_slice(&body));
    network_send(s->network, link, buffer_slice(&out));
    buffer_deinit(&body);
    buffer_deinit(&out);
}

static void never(void *context, struct slice why)
{
    (void)context;
    fail_msg("%.*s", (int)why.size, (const char *)why.data);
}

static const char beyond_limit[] = "more items than the limit";

/* Queries of the table's only collection, all answered like this; `wrong`: what is found, or NULL.
 */
static void assert_checked(const char *forward, const char *backward, const char *wrong)
{
    static const struct network_handler handler = {accepted, received, closed, datagram};
    struct scheduler scheduler = {.now = {NS_PER_S}};
    static struct trace trace;
    struct network_options options = {.scheduler = &scheduler,
                                      .trace = &trace,
                                      .processes = PROCESSES,
                                      .delays = {.ns_min = NS_PER_MS}};
    struct network *network = network_create(&options);
    struct server server = {network, forward, backward, wrong != beyond_limit};
    network_attach(network, SERVER, &handler, &server);
    network_start(network, SERVER);
    struct workload workload = {
        .tables = 1,
        .keys = KEYS,
        .shapes = {{.partition = ATTR_STRING, .sort = ATTR_NUMBER, .collection = KEYS}},
        .filler = {.max = 10},
        .read_percent = 100,
        .many_percent = 100,
        .query_percent = 100,
        .timeout_ns = NS_PER_S};
    struct recording history;
    recording_init(&history, KEYS);
    struct work_tables_options changer = {.http = {.scheduler = &scheduler,
                                                   .network = network,
                                                   .process = CHANGER,
                                                   .router_first = SERVER,
                                                   .router_count = 1},
                                          .history = &history,
                                          .workload = &workload,
                                          .failed = never};
    struct work_tables *tables = work_tables_create(&changer);
    struct sim_client_options client = {.http = changer.http,
                                        .history = &history,
                                        .workload = &workload,
                                        .work_tables = tables,
                                        .clients = 1};
    client.http.process = CLIENT;
    struct sim_client *c = sim_client_create(&client);
    sim_client_set_plan(c, CLIENT_LOAD);
    while (scheduler_step(&scheduler, (struct instant){2 * NS_PER_S})) {
    }
    struct buffer why = {0};
    bool good = recording_verify(&history, &why);
    buffer_append_u8(&why, '\0');
    if (good != (wrong == NULL) || (wrong != NULL && strstr((char *)why.data, wrong) == NULL))
        fail_msg("%s where %s", (char *)why.data, wrong == NULL ? "nothing is wrong" : wrong);
    assert_true(sim_client_counters(c).ok > 100);
    buffer_deinit(&why);
    network_destroy(network);
    sim_client_destroy(c);
    work_tables_destroy(tables);
    recording_deinit(&history);
    scheduler_deinit(&scheduler);
}

TEST(right_answers_pass)
{
    assert_checked("]", "]", NULL);
    assert_checked(ITEM_OF("-11") "]", ITEM_OF("-10") "," ITEM_OF("-12") "]", NULL);
    assert_checked(ITEM_OF("-12") "]" MORE("-12"), ITEM_OF("-9") "]" MORE("-9"), NULL);
}

TEST(wrong_order_is_found)
{
    assert_checked(ITEM_OF("-11") "," ITEM_OF("-12") "]", "]", "does not keep the order");
    assert_checked("]", ITEM_OF("-11") "," ITEM_OF("-10") "]", "does not keep the order");
    assert_checked(ITEM_OF("-11") "," ITEM_OF("-11") "]", "]", "names it twice");
}

TEST(items_that_were_not_requested_are_found)
{
    assert_checked(ITEM_OF("7") "]", "]", "not asked for");
    assert_checked("]" MORE("7"), "]", "not asked for");
}

TEST(more_than_the_limit_is_found)
{
    assert_checked(ALL "]", "]", beyond_limit);
}

TEST(a_page_that_ends_before_its_items_is_found)
{
    assert_checked(ITEM_OF("-11") "]" MORE("-12"), "]", "ends in a key before it");
}

/* Nobody wrote, so a value that is read is impossible; an item of pieces is found before. */
TEST(an_item_of_pieces_is_found)
{
    assert_checked(
        "{\"k\":{\"S\":\"0\"},\"s\":{\"N\":\"-11\"},\"v\":{\"N\":\"5\"},\"p\":{\"S\":\"?\"}}]", "]",
        "nobody wrote like this");
    assert_checked(ITEM("-11", "5") "]", "]", "key 1");
}
