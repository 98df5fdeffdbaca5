/* host_test.c - which hosts a public web page could have chosen, and that no request of a page is
 * executed which may not use the server. */
#include "router/http/host.h"
#include "tests/check.h"
#include "tests/support/fake_cluster.h"

static struct fake_cluster f;

static int prepare(void **state)
{
    (void)state;
    fake_init(&f);
    f.on_loopback = true;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

/* ---- hosts ---- */

TEST(a_host_is_an_address_or_a_name_with_an_optional_port)
{
    static const struct {
        const char *text;
        enum host_kind kind;
        const char *name;
    } CASES[] = {
        {"localhost", HOST_NAME, "localhost"},
        {"LocalHost:8000", HOST_NAME, "localhost"},
        {"weir.", HOST_NAME, "weir"},
        {"a.b.example:", HOST_NAME, "a.b.example"},
        {"127.0.0.1:8000", HOST_IPV4, "127.0.0.1"},
        {"127.0.0.1.example", HOST_NAME, "127.0.0.1.example"},
        {"127.0.0.256", HOST_NAME, "127.0.0.256"},
        {"[::1]:8000", HOST_IPV6, "::1"},
        {"[fe80::1%25eth0]", HOST_IPV6, "fe80::1"},
        {"[::ffff:127.0.0.1]", HOST_IPV6, "::ffff:127.0.0.1"},
        {"", HOST_MALFORMED, ""},
        {".", HOST_MALFORMED, ""},
        {":8000", HOST_MALFORMED, ""},
        {"a:b", HOST_MALFORMED, ""},
        {"a:80:80", HOST_MALFORMED, ""},
        {"::1", HOST_MALFORMED, ""},
        {"[::1", HOST_MALFORMED, ""},
        {"[]", HOST_MALFORMED, ""},
        {"[example]", HOST_MALFORMED, ""},
        {"[::1]example", HOST_MALFORMED, ""},
    };
    char name[HTTP_HOST_MAX];
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        assert_int_equal(host_read(slice_of(CASES[i].text), name), CASES[i].kind);
        assert_string_equal(name, CASES[i].name);
    }
    char text[HTTP_HOST_MAX + 1];
    memset(text, 'a', sizeof text);
    assert_int_equal(host_read(slice_make(text, HTTP_HOST_MAX), name), HOST_MALFORMED);
    assert_int_equal(host_read(slice_make(text, HTTP_HOST_MAX - 1), name), HOST_NAME);
}

TEST(names_that_the_owner_of_a_public_name_can_point_here_do_not_pass)
{
    static const char *const PASS[] = {"",
                                       "h",
                                       "localhost:8000",
                                       "10.0.0.7:80",
                                       "[2001:db8::7]:80",
                                       "app.localhost",
                                       "printer.local:8000",
                                       "host.docker.internal:8000",
                                       "weir.default.svc",
                                       "weir.default.svc.cluster.local.",
                                       "dynamodb.eu-west-1.amazonaws.com",
                                       "streams.dynamodb.eu-west-1.amazonaws.com"};
    static const char *const REFUSED[] = {"evil.example",
                                          "evil.example:8000",
                                          "localhost.evil.example",
                                          "evillocalhost.example",
                                          "127.0.0.1.nip.io",
                                          ".localhost.example",
                                          "dynamodb..example",
                                          "dynamodb.eu-west-1.amazonaws.com.evil.example",
                                          "x.dynamodb.eu-west-1.amazonaws.com",
                                          "dynamodb.amazonaws.com",
                                          "[evil.example]",
                                          "evil.example:8000:9"};
    for (size_t i = 0; i < COUNT_OF(PASS); i++)
        assert_true(host_passes(slice_of(PASS[i]), ""));
    for (size_t i = 0; i < COUNT_OF(REFUSED); i++)
        assert_false(host_passes(slice_of(REFUSED[i]), ""));
}

TEST(host_names_lists_names_and_patterns)
{
    const char *list = "db.example, *.Test.example,,x*y.z";
    assert_true(host_passes(slice_of("DB.example:8000"), list));
    assert_true(host_passes(slice_of("a.b.test.example"), list));
    assert_true(host_passes(slice_of("x.y.z"), list));
    assert_false(host_passes(slice_of("test.example"), list));
    assert_false(host_passes(slice_of(".test.example"), list));
    assert_false(host_passes(slice_of("xy.z"), list));
    assert_false(host_passes(slice_of("a.db.example"), list));
    assert_true(host_passes(slice_of("any.example"), "*"));
}

/* ---- requests of pages ---- */

static void set(const char *name, const char *value)
{
    struct buffer error = {0};
    assert_int_equal(config_set(&f.config, slice_of(name), slice_of(value), &error), STATUS_OK);
    buffer_deinit(&error);
}

static struct fake_answer ask(bool admin, const char *start, const char *lines, const char *body)
{
    char text[1024];
    if (f.clients[9].open)
        router_close(f.router, f.now, 9);
    f.clients[9].open = false;
    if (admin)
        fake_open_admin(&f, 9);
    else
        fake_open(&f, 9);
    snprintf(text, sizeof text, "%s HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%s", start, lines,
             strlen(body), body);
    fake_send_text(&f, 9, text);
    return fake_take_answer(&f, 9);
}

#define EVIL   "Host: 127.0.0.1:8000\r\nOrigin: http://evil.example\r\n"
#define IMAGE  "Host: 127.0.0.1:8000\r\nSec-Fetch-Site: cross-site\r\n"
#define CHOSEN "Host: evil.example:8000\r\n"
#define LISTS  "X-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Type: application/json\r\n"

static const char *const FOREIGN[] = {EVIL, IMAGE, CHOSEN,
                                      CHOSEN "Origin: http://evil.example:8000\r\n"};

TEST_WITH(a_request_of_a_page_that_may_not_use_the_server_is_not_executed, prepare, stop)
{
    static const struct {
        const char *start;
        const char *lines;
        const char *body;
    } CASES[] = {
        {"POST /", LISTS, "{}"},
        {"GET /", "", ""},
        {"OPTIONS /", "", ""},
        {"GET /weir/partitions", "", ""},
        {"GET /limiter/v1/check?entity=e&resource=r&a=1", "", ""},
        {"GET /nothing", "", ""},
    };
    fake_start(&f);
    for (size_t i = 0; i < COUNT_OF(FOREIGN); i++) {
        for (size_t k = 0; k < COUNT_OF(CASES); k++) {
            char lines[512];
            snprintf(lines, sizeof lines, "%s%s", FOREIGN[i], CASES[k].lines);
            assert_int_equal(ask(false, CASES[k].start, lines, CASES[k].body).status, 403);
        }
    }
    for (int op = 0; op < REQUEST_OPS; op++)
        assert_int_equal(f.asked[op], 0);
    assert_int_equal(ask(false, "POST /", "Host: h\r\n" LISTS, "{}").status, 200);
    assert_int_equal(f.asked[REQUEST_TABLE_LIST], 1);
}

static bool says(const struct fake_answer *a, const char *text)
{
    return memmem(a->body.data, a->body.size, text, strlen(text)) != NULL;
}

/* The host of a target counts, and no other (RFC 9112 3.2.2); a Host that does not pass is suspect
 * all the same. */
TEST_WITH(the_host_of_a_target_must_pass_as_well, prepare, stop)
{
    static const struct {
        const char *target, *host;
        int status;
    } CASES[] = {
        {"http://evil.example/", "localhost", 403},
        {"http://evil.example:8000", "localhost", 403},
        {"http://evil.example?a=b", "localhost", 403},
        {"http://localhost:8000/", "evil.example", 403},
        {"http://localhost:8000/", "localhost", 200},
        {"http://db.example/", "localhost", 200},
        {"http://localhost@evil.example/", "localhost", 400},
        {"http:///", "localhost", 400},
        {"http:///path", "localhost", 400},
    };
    fake_start(&f);
    set("host_names", "db.example");
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        char start[64], lines[256];
        snprintf(start, sizeof start, "POST %s", CASES[i].target);
        snprintf(lines, sizeof lines, "Host: %s\r\n" LISTS, CASES[i].host);
        assert_int_equal(ask(false, start, lines, "{}").status, CASES[i].status);
    }
}

TEST_WITH(the_refusal_of_a_name_tells_the_setting, prepare, stop)
{
    fake_start(&f);
    struct fake_answer a = ask(false, "POST /", CHOSEN LISTS, "{}");
    assert_true(says(&a, "the name evil.example for"));
    assert_true(says(&a, "--set host_names=evil.example (")); /* the port is none of the name */
    a = ask(false, "POST /", "Host: :8000\r\n" LISTS, "{}");
    assert_true(says(&a, "The host :8000 is neither an address nor a name"));
    a = ask(false, "POST /", EVIL LISTS, "{}");
    assert_true(says(&a, "--set cors_origins=http://evil.example ("));
    a = ask(false, "POST /", "Host: h\r\nOrigin: \xff\r\n" LISTS, "{}");
    assert_true(says(&a, "Pages of this origin"));
    set("host_names", "evil.example");
    assert_int_equal(ask(false, "POST /", CHOSEN LISTS, "{}").status, 200);
    set("host_names", "");
    assert_int_equal(ask(false, "POST /", CHOSEN LISTS, "{}").status, 403);
    assert_int_equal(ask(false, "POST /", "Host: evil-example:8000\r\n" LISTS, "{}").status, 200);
    assert_int_equal(ask(false, "POST /", CHOSEN LISTS, "{}").status, 403);
}

TEST_WITH(cors_origins_lets_pages_of_other_sites_in, prepare, stop)
{
    fake_start(&f);
    set("cors_origins", "http://evil.example");
    assert_int_equal(ask(false, "POST /", EVIL LISTS, "{}").status, 200);
    assert_int_equal(ask(false, "POST /", EVIL "Sec-Fetch-Site: cross-site\r\n" LISTS, "{}").status,
                     200);
    assert_int_equal(ask(false, "POST /", IMAGE LISTS, "{}").status, 403);
    set("cors_origins", "*");
    assert_int_equal(ask(false, "POST /", EVIL LISTS, "{}").status, 200);
    assert_int_equal(ask(false, "GET /", IMAGE, "").status, 200);
    assert_int_equal(ask(false, "GET /", CHOSEN, "").status, 403); /* another matter */
}

TEST_WITH(the_admin_listener_refuses_pages_unless_a_token_proves_who_asks, prepare, stop)
{
    fake_start(&f);
    set("cors_origins", "*"); /* is of the endpoint alone */
    for (size_t i = 0; i < COUNT_OF(FOREIGN); i++)
        assert_int_equal(ask(true, "GET /weir/gac", FOREIGN[i], "").status, 403);
    assert_int_equal(ask(true, "GET /weir/gac", "Host: h\r\n", "").status, 200);
}

TEST_WITH(the_admin_token_proves_who_asks, prepare, stop)
{
    f.admin_token = "0123456789abcdef";
    fake_start(&f);
    assert_int_equal(ask(true, "GET /weir/gac", CHOSEN, "").status, 403);
    assert_int_equal(
        ask(true, "GET /weir/gac", CHOSEN "Authorization: Bearer 0123456789abcdef\r\n", "").status,
        200);
}
