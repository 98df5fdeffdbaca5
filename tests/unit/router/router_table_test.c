#include "tests/check.h"

#include "base/settings/requests.h"
#include "tests/support/expect.h"

static struct fake_cluster f;

static int start(void **state)
{
    (void)state;
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 2);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static struct fake_answer page(const char *path)
{
    char text[256];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    if (!f.clients[2].open)
        fake_open(&f, 2);
    fake_send_text(&f, 2, text);
    return fake_take_answer(&f, 2);
}

static void expect_page_refused(struct fake_answer a, int status, const char *message)
{
    assert_int_equal(a.status, status);
    assert_non_null(memmem(a.body.data, a.body.size, message, strlen(message)));
}

TEST(the_partitions_page_names_what_it_cannot_show)
{
    expect_page_refused(page("/weir/partitions?table=none"), 400, "Table: none not found");
    expect_page_refused(page("/weir/partitions?table="), 400,
                        "table: the name of a table is expected, not ''");
    f.hold = true;
    page("/weir/partitions");
    fake_answer(&f, 0); /* the list of the tables */
    assert_int_equal(f.held_count, 1);
    f.down = UINT32_MAX;
    fake_answer_code(&f, 0, REPLY_NOT_LEADER);
    fake_advance_ms(&f, config_requests(&f.config)->request_deadline_ms);
    expect_page_refused(fake_take_answer(&f, 2), 503, "ServiceUnavailable");
}

/* What is being merged, and in which step; nothing of other partitions. */
TEST(the_partitions_page_shows_what_is_being_merged)
{
    static const struct {
        enum merge_step step;
        const char *text;
    } cases[] = {
        {MERGE_NONE, "\"splitting\":false,\"start_hash\":\"80"},
        {MERGE_FREEZE, "\"splitting\":false,\"merge\":\"freeze\",\"start_hash\":\"80"},
        {MERGE_THAW, "\"splitting\":false,\"merge\":\"thaw\",\"start_hash\":\"80"},
        {MERGE_ABSORB, "\"splitting\":false,\"merge\":\"absorb\",\"start_hash\":\"80"},
    };
    static const char LOWER[] = "\"splitting\":false,\"start_hash\":\"00";
    struct table *t = fake_table(&f, "zoo", "id", ATTR_STRING, NULL, 0, 2);
    fake_open(&f, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        t->partitions[1].merge = cases[i].step;
        t->partitions[1].merge_with = t->partitions[0].id;
        fake_send_text(&f, 2, "GET /weir/partitions?table=zoo HTTP/1.1\r\nHost: h\r\n\r\n");
        struct slice body = fake_take_answer(&f, 2).body;
        assert_non_null(memmem(body.data, body.size, cases[i].text, strlen(cases[i].text)));
        assert_non_null(memmem(body.data, body.size, LOWER, sizeof LOWER - 1));
    }
}
