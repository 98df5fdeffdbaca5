#include "tests/check.h"

#include "base/id_map.h"
#include "base/settings/http.h"
#include "engine/expression/condition.h"
#include "router/core/timer.h"
#include "router/expression/names.h"
#include "router/http/gzip.h"
#include "router/http/http_internal.h"
#include "router/json/base64.h"
#include "router/json/json.h"
#include "router/json/json_writer.h"
#include "router/json/value.h"

TEST(base64_gives_back_what_it_took)
{
    uint8_t bytes[256], back[256];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        struct buffer text = {0};
        base64_append(&text, slice_make(bytes, size));
        assert_int_equal(base64_check(buffer_slice(&text)), BASE64_OK);
        assert_int_equal(base64_decode(buffer_slice(&text), back), size);
        assert_memory_equal(back, bytes, size);
        buffer_deinit(&text);
    }
}

TEST(base64_is_strict)
{
    assert_int_equal(base64_check(slice_of("abc")), BASE64_LENGTH);
    assert_int_equal(base64_check(slice_of("ab c")), BASE64_CHARACTER);
    assert_int_equal(base64_check(slice_of("ab=c")), BASE64_LAST);
    assert_int_equal(base64_check(slice_of("YR==")), BASE64_LAST);
    assert_int_equal(base64_check(slice_of("YWJ=")), BASE64_LAST);
    assert_int_equal(base64_check(slice_of("====")), BASE64_LAST);
}

TEST(json_text_is_escaped_and_amounts_have_their_fraction)
{
    struct buffer out = {0};
    json_write_open(&out, '[');
    json_write_string(&out, slice_make("a\"\\\b\f\n\r\t\x1f\0\xc3\xa4", 12));
    json_write_thousandths(&out, 0);
    json_write_thousandths(&out, 1500);
    json_write_thousandths(&out, -25);
    json_write_thousandths(&out, INT64_MIN);
    json_write_integer(&out, INT64_MIN);
    json_write_open(&out, '{');
    json_write_key(&out, "k");
    json_write_bool(&out, true);
    json_write_close(&out, '}');
    json_write_close(&out, ']');
    assert_slice_is(buffer_slice(&out),
                    "[\"a\\\"\\\\\\b\\f\\n\\r\\t\\u001f\\u0000\xc3\xa4\",0.0,1.5,-0.025,"
                    "-9223372036854775.808,-9223372036854775808,{\"k\":true}]");
    buffer_deinit(&out);
}

static enum status parse(struct json_parser *p, const char *text, struct json_value *root)
{
    char padded[4096 + JSON_PADDING] = {0};
    size_t size = strlen(text);
    assert_true(size <= 4096);
    memcpy(padded, text, size);
    return json_parse(p, slice_make(padded, size), root);
}

TEST(json_that_is_not_json_is_refused_and_the_parser_lives)
{
    static const char *const BAD[] = {"",         "{",           "{\"a\":}", "[1,]",
                                      "\"\xff\"", "\"\\ud800\"", "1e999",    "{\"a\" 1}",
                                      "truex",    "[1] 2"};
    struct json_parser *p = json_parser_create();
    struct json_value root;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        assert_int_equal(parse(p, BAD[i], &root), STATUS_MALFORMED);
        assert_int_equal(parse(p, "{\"a\":[1,2.5,null]}", &root), STATUS_OK);
    }
    struct json_cursor members = json_members(&root);
    struct slice name = {0};
    struct json_value list = {0}, value = {0};
    assert_true(json_next_member(&members, &name, &list));
    assert_slice_is(name, "a");
    assert_false(json_next_member(&members, &name, &value));
    struct json_cursor elements = json_elements(&list);
    assert_true(json_next_element(&elements, &value));
    assert_int_equal(json_integer(&value), 1);
    assert_true(json_next_element(&elements, &value));
    assert_int_equal(value.type, JSON_DECIMAL);
    assert_true(json_next_element(&elements, &value));
    assert_int_equal(value.type, JSON_NULL);
    assert_false(json_next_element(&elements, &value));
    json_parser_destroy(p);
}

TEST(json_nests_so_deep_and_no_deeper)
{
    struct json_parser *p = json_parser_create();
    struct json_value root;
    char text[4096];
    for (size_t depth = JSON_DEPTH_MAX - 2; depth <= JSON_DEPTH_MAX + 2; depth++) {
        memset(text, '[', depth);
        text[depth] = '1';
        memset(text + depth + 1, ']', depth);
        text[2 * depth + 1] = '\0';
        bool refused = parse(p, text, &root) != STATUS_OK;
        assert_int_equal(refused, depth >= JSON_DEPTH_MAX);
    }
    json_parser_destroy(p);
}

static void the_id_map_agrees_with_an_array(struct prng *p)
{
    enum {
        IDS = 400
    };
    static bool in[IDS + 1];
    struct id_map m = {0};
    size_t count = 0;
    memset(in, 0, sizeof in);
    for (int i = 0; i < 4000; i++) {
        uint64_t id = 1 + prng_below(p, IDS);
        if (in[id])
            id_map_remove(&m, id);
        else
            id_map_add(&m, id, &in[id]);
        in[id] = !in[id];
        count += in[id] ? 1 : (size_t)-1;
        assert_int_equal(m.count, count);
        for (uint64_t j = 1; j <= IDS; j++)
            assert_ptr_equal(id_map_find(&m, j), in[j] ? &in[j] : NULL);
    }
    id_map_deinit(&m);
}

TEST(an_id_map_finds_what_was_added_and_not_removed)
{
    check_seeds(5, the_id_map_agrees_with_an_array);
}

TEST(timers_expire_in_the_order_they_were_started)
{
    struct timer_queue q;
    timer_queue_init(&q, (struct duration){10});
    struct timer t[3] = {0};
    for (int i = 0; i < 3; i++)
        timer_start(&t[i], &q, (struct instant){i});
    timer_start(&t[0], &q, (struct instant){3});
    timer_stop(&t[2]);
    timer_stop(&t[2]);
    assert_int_equal(timer_queue_next(&q).ns, 11);
    assert_null(timer_queue_expire(&q, (struct instant){10}));
    assert_ptr_equal(timer_queue_expire(&q, (struct instant){20}), &t[1]);
    assert_ptr_equal(timer_queue_expire(&q, (struct instant){20}), &t[0]);
    assert_null(timer_queue_expire(&q, (struct instant){20}));
    assert_int_equal(timer_queue_next(&q).ns, INSTANT_NEVER.ns);
}

TEST(codings_give_back_what_they_took_and_stop_at_the_limit)
{
    static uint8_t bytes[300000];
    for (enum content_coding coding = CODING_GZIP; coding <= CODING_DEFLATE; coding++) {
        struct buffer packed = {0}, back = {0};
        coding_pack(&packed, coding, slice_make(bytes, sizeof bytes));
        assert_true(packed.size < 2000);
        struct slice all = buffer_slice(&packed);
        assert_int_equal(coding_unpack(&back, coding, all, sizeof bytes), STATUS_OK);
        assert_true(slice_equal(buffer_slice(&back), slice_make(bytes, sizeof bytes)));
        buffer_clear(&back);
        assert_int_equal(coding_unpack(&back, coding, all, sizeof bytes - 1), STATUS_TOO_LARGE);
        struct slice torn = slice_make(packed.data, packed.size - 1);
        assert_int_not_equal(coding_unpack(&back, coding, torn, sizeof bytes), STATUS_OK);
        buffer_append_u8(&packed, 0);
        all = buffer_slice(&packed);
        assert_int_equal(coding_unpack(&back, coding, all, sizeof bytes), STATUS_MALFORMED);
        assert_int_equal(coding_unpack(&back, coding, slice_of("no gzip"), 100), STATUS_MALFORMED);
        assert_int_equal(coding_unpack(&back, coding, slice_of(""), 100), STATUS_MALFORMED);
        assert_int_equal(back.size, 0);
        buffer_deinit(&packed);
        buffer_deinit(&back);
    }
}

/* RFC 1952 2.2; what the last member says of its length is no guess for all. */
TEST(members_of_gzip_are_one_stream)
{
    static const char *const TEXTS[] = {"one ", "", "and a longer one, longer than the last ",
                                        "end"};
    struct buffer packed = {0}, back = {0}, expected = {0};
    static uint8_t large[100000];
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        coding_pack(&packed, CODING_GZIP, slice_of(TEXTS[i]));
        buffer_append_text(&expected, TEXTS[i]);
        coding_pack(&packed, CODING_GZIP, slice_make(large, sizeof large));
        buffer_append(&expected, large, sizeof large);
    }
    struct slice all = buffer_slice(&packed);
    assert_int_equal(coding_unpack(&back, CODING_GZIP, all, expected.size), STATUS_OK);
    assert_true(slice_equal(buffer_slice(&back), buffer_slice(&expected)));
    buffer_clear(&back);
    assert_int_equal(coding_unpack(&back, CODING_GZIP, all, expected.size - 1), STATUS_TOO_LARGE);
    buffer_deinit(&packed);
    buffer_deinit(&back);
    buffer_deinit(&expected);
}

/* RFC 9110 12.5.3. */
TEST(accept_encoding_is_a_list_with_weights)
{
    static const struct {
        const char *value;
        enum content_coding coding;
    } CASES[] = {
        {"gzip", CODING_GZIP},
        {"GZIP", CODING_GZIP},
        {"x-gzip", CODING_GZIP},
        {"deflate", CODING_DEFLATE},
        {"br, gzip", CODING_GZIP},
        {"gzip, deflate", CODING_GZIP},
        {"gzip;q=0.5, deflate", CODING_DEFLATE},
        {"gzip;q=0.8", CODING_GZIP},
        {"gzip ; q=0.001", CODING_GZIP},
        {"gzip;q=0", CODING_IDENTITY},
        {"gzip; q=0.000", CODING_IDENTITY},
        {"gzip;q=0, *", CODING_DEFLATE},
        {"gzip;q=0, deflate;q=0, *", CODING_IDENTITY},
        {"*", CODING_GZIP},
        {"*;q=0", CODING_IDENTITY},
        {"*;q=0, gzip", CODING_GZIP},
        {"identity", CODING_IDENTITY},
        {"identity, gzip;q=0.5", CODING_IDENTITY},
        {"identity;q=0.5, gzip", CODING_GZIP},
        {"gzip;q=2", CODING_IDENTITY},
        {"gzip;q=x", CODING_IDENTITY},
        {"gzip;q=", CODING_IDENTITY},
        {"gzip;level=9", CODING_GZIP},
        {"bgzip, gzipped, not-gzip", CODING_IDENTITY},
        {"", CODING_IDENTITY},
        {", ,gzip,", CODING_GZIP},
        {"br", CODING_IDENTITY},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct http_head head = {0};
        assert_true(
            http_head_take(&head, slice_of("Accept-Encoding"), slice_of(CASES[i].value), 0));
        if (http_accepted_coding(&head) != CASES[i].coding)
            fail_msg("Accept-Encoding: %s: %d", CASES[i].value, http_accepted_coding(&head));
    }
}

/* In pieces of `piece` bytes up to the end of the head. */
static void receive_head(struct http *h, const char *bytes, size_t piece)
{
    const size_t size = strlen(bytes);
    size_t at = 0, taken;
    enum http_event event = HTTP_EVENT_MORE;
    while (event == HTTP_EVENT_MORE && at < size) {
        event =
            http_receive(h, slice_make(bytes + at, size - at < piece ? size - at : piece), &taken);
        at += taken;
    }
    assert_int_equal(event, HTTP_EVENT_HEADERS);
}

TEST(every_line_of_a_head_is_kept_however_it_comes)
{
    struct config config = {0};
    config_edit_http(&config)->http_header_max_bytes = 8000;
    config_edit_http(&config)->http_body_max_bytes = 8000;
    static const char *const TARGETS[][3] = {
        {"/", "/", ""},
        {"/weir/x?table=a%20b&c", "/weir/x", "table=a%20b&c"},
        {"http://h:1/y?z", "/y", "z"},
        {"http://h:1?z=http://i", "/", "z=http://i"},
        {"http://h:1", "/", ""},
    };
    for (size_t i = 0; i < sizeof TARGETS / sizeof TARGETS[0] * 2; i++) {
        struct http h;
        char bytes[400];
        snprintf(bytes, sizeof bytes,
                 "POST %s HTTP/1.1\r\nhOst: h\r\nX-Amz-Date: 2026\r\nX-Empty:\r\n"
                 "X-Amz-Date: 2027\r\nAUTHORIZATION:  bearer the token\r\nContent-Length: "
                 "2\r\n\r\n{}",
                 TARGETS[i / 2][0]);
        http_init(&h, &config);
        receive_head(&h, bytes, i % 2 == 0 ? sizeof bytes : 1);
        assert_slice_is(http_text(&h.head, h.head.target), TARGETS[i / 2][0]);
        assert_slice_is(http_text(&h.head, h.head.path), TARGETS[i / 2][1]);
        assert_slice_is(http_text(&h.head, h.head.query), TARGETS[i / 2][2]);
        assert_slice_is(http_find(&h.head, "host"), "h");
        assert_slice_is(http_find(&h.head, "x-amz-date"), "2026");
        assert_slice_is(http_find(&h.head, "x-empty"), "");
        assert_slice_is(http_bearer(&h.head), "the token");
        assert_slice_is(http_find(&h.head, "content-length"), "2");
        assert_null(http_find(&h.head, "x-amz-dat").data);
        http_deinit(&h);
    }
}

/* The fast path answers as the general one does: only this tells that it is taken. */
TEST(requests_as_sdks_send_them_are_read_directly)
{
#define HEAD   "POST / HTTP/1.1\r\n"
#define TARGET "X-Amz-Target: DynamoDB_20120810.ListTables\r\n"
    static const struct {
        const char *bytes;
        bool direct;
    } CASES[] = {
        /* boto3 */
        {HEAD
         "Host: 127.0.0.1:8000\r\nAccept-Encoding: identity\r\n" TARGET
         "Content-Type: application/x-amz-json-1.0\r\n"
         "User-Agent: Boto3/1.26.27 Python/3.11.2 Linux/6.1 Botocore/1.29.27\r\n"
         "X-Amz-Date: 20231114T221320Z\r\n"
         "Authorization: AWS4-HMAC-SHA256 Credential=a/20231114/local/dynamodb/aws4_request, "
         "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=0123456789abcdef\r\n"
         "amz-sdk-invocation-id: 2c2f\r\namz-sdk-request: attempt=1\r\n"
         "Content-Length: 2\r\n\r\n{}",
         true},
        /* the JavaScript SDK; Go */
        {HEAD "content-type: application/x-amz-json-1.0\r\nx-amz-target: a\r\nhost: h\r\n"
              "content-length: 2\r\nConnection: keep-alive\r\n\r\n{}",
         true},
        {HEAD "Host: h\r\nContent-Length: 2\r\nAccept-Encoding: gzip\r\n" TARGET "\r\n{}", true},
        /* weir load */
        {HEAD "Host: h\r\nContent-Length: 2\r\n" TARGET "\r\n{}", true},
        /* these are for llhttp */
        {HEAD "Content-Length: 2\r\n" TARGET "\r\n{}", false},
        {HEAD "Host: h\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", false},
        {HEAD "Host: h\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", false},
        {HEAD "Host: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", false},
        {HEAD "Host: h\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", false},
        {HEAD "Host: h\r\nContent-Length: 2\r\n" TARGET TARGET "\r\n{}", false},
        {HEAD "Host: h\r\nContent-Length: 2\r\n folded: x\r\n\r\n{}", false},
        {HEAD "Host: h\r\nContent-Length: 3\r\n\r\n{}", false},
        {HEAD "Host: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", false},
    };
#undef HEAD
#undef TARGET
    struct config config;
    config_init(&config, PROFILE_AWS);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct http h;
        size_t taken;
        http_init(&h, &config);
        bool direct = http_plain_begins(&h, slice_of(CASES[i].bytes), &taken);
        if (direct != CASES[i].direct)
            fail_msg("%s: %d", CASES[i].bytes, direct);
        http_deinit(&h);
    }
}

TEST(dates_have_the_form_of_http)
{
    static const struct {
        int64_t s;
        const char *text;
    } CASES[] = {
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
        {4107542399, "Sun, 28 Feb 2100 23:59:59 GMT"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char date[HTTP_DATE_SIZE];
        http_date(CASES[i].s, date);
        assert_slice_is(slice_make(date, sizeof date), CASES[i].text);
    }
}

TEST(reserved_words_are_known_in_any_case)
{
    static const char *const RESERVED[] = {"ABORT", "zone", "Name", "at", "INNTER"};
    static const char *const FREE[] = {"abor", "aborts", "zones", "", "id", "zz", "a"};
    for (size_t i = 0; i < sizeof RESERVED / sizeof RESERVED[0]; i++)
        assert_true(token_is_reserved(slice_of(RESERVED[i])));
    for (size_t i = 0; i < sizeof FREE / sizeof FREE[0]; i++)
        assert_false(token_is_reserved(slice_of(FREE[i])));
}

/* ---- items that are too much ---- */

/* Elements repeated under a name; those with a %u are all different. */
struct crowd {
    const char *before;
    const char *element;
    const char *after;
    unsigned count;
    const char *fault; /* NULL: it is an item */
};

#define TOO_LARGE "Item size has exceeded the maximum allowed size"

static void read_crowd(const struct crowd *crowd)
{
    struct buffer text = {0}, out = {0};
    struct arena arena = {0};
    struct fault fault = {0};
    struct json_parser *p = json_parser_create();
    struct json_value root;
    struct span item;
    buffer_append_text(&text, crowd->before);
    for (unsigned i = 0; i < crowd->count; i++) {
        buffer_append_text(&text, i > 0 ? "," : "");
        if (strstr(crowd->element, "%u") != NULL)
            buffer_append_format(&text, crowd->element, i);
        else
            buffer_append_text(&text, crowd->element);
    }
    buffer_append_text(&text, crowd->after);
    memset(buffer_reserve(&text, JSON_PADDING), 0, JSON_PADDING);
    assert_int_equal(json_parse(p, buffer_slice(&text), &root), STATUS_OK);
    bool read = value_read_item(&out, &arena, &root, &item, &fault);
    assert_int_equal(read, crowd->fault == NULL);
    if (!read)
        assert_slice_is(buffer_slice(&fault.text), crowd->fault);
    assert_true(arena.used_bytes <= 900 * 1024);
    assert_true(out.capacity <= 4 * 1024 * 1024);
    json_parser_destroy(p);
    fault_deinit(&fault);
    arena_deinit(&arena);
    buffer_deinit(&text);
    buffer_deinit(&out);
}

TEST(an_item_is_not_read_on_once_it_is_too_large)
{
    static const struct crowd CROWDS[] = {
        {"{\"s\":{\"NS\":[", "\"1\"", "]}}", 4100000, TOO_LARGE},
        {"{\"s\":{\"NS\":[", "\"%u\"", "]}}", 204801, TOO_LARGE},
        {"{\"s\":{\"NS\":[", "\"%u\"", "]}}", 204800, TOO_LARGE},
        {"{\"s\":{\"NS\":[", "\"%u\"", "]}}", 90000, NULL},
        {"{\"s\":{\"SS\":[", "\"%u\"", "]}}", 200000, TOO_LARGE},
        {"{\"s\":{\"SS\":[", "\"%u\"", "]}}", 70000, NULL},
        {"{\"s\":{\"BS\":[", "\"AAAA\"", "]}}", 2000000, TOO_LARGE},
        {"{\"l\":{\"L\":[", "{\"S\":\"\"}", "]}}", 1000000, TOO_LARGE},
        {"{\"l\":{\"L\":[", "{\"L\":[]}", "]}}", 300000, TOO_LARGE},
        {"{\"m\":{\"M\":{", "\"%u\":{\"NULL\":true}", "}}}", 300000, TOO_LARGE},
        {"{", "\"%u\":{\"NULL\":true}", "}", 150000, TOO_LARGE},
        {"{", "\"%u\":{\"NULL\":true}", "}", 60000, NULL},
    };
    for (size_t i = 0; i < sizeof CROWDS / sizeof CROWDS[0]; i++)
        read_crowd(&CROWDS[i]);
}

TEST(large_sets_and_maps_are_searched_for_duplicates)
{
    static const struct crowd CROWDS[] = {
        {"{\"s\":{\"NS\":[\"77.0\",", "\"%u\"", "]}}", 1000,
         "Input collection contains duplicates"},
        {"{\"s\":{\"NS\":[\"77.5\",", "\"%u\"", "]}}", 1000, NULL},
        {"{\"m\":{\"M\":{\"999\":{\"S\":\"\"},", "\"%u\":{\"S\":\"x\"}", "}}}", 1000,
         "Duplicate attribute name in a map"},
        {"{\"m\":{\"M\":{\"x\":{\"S\":\"\"},", "\"%u\":{\"S\":\"x\"}", "}}}", 1000, NULL},
        {"{\"s\":{\"BS\":[\"AQI=\",\"AQ==\",\"Ag==\",\"Aw==\",\"BA==\",\"BQ==\",\"Bg==\",\"Bw==\",",
         "\"AQIC\"", "]}}", 1, NULL},
    };
    for (size_t i = 0; i < sizeof CROWDS / sizeof CROWDS[0]; i++)
        read_crowd(&CROWDS[i]);
}

/* ---- expressions ---- */

/* `count` times `each` between `before` and `after`; whether it is taken. */
static bool expression_is_taken(const char *before, const char *each, int count, const char *after,
                                const char *message)
{
    struct buffer text = {0};
    struct arena arena = {0};
    struct fault fault = {0};
    struct expression_names names = {0};
    buffer_append_text(&text, before);
    for (int i = 0; i < count; i++)
        buffer_append_text(&text, each);
    buffer_append_text(&text, after);
    struct expression_fault wrong;
    bool taken = condition_parse(buffer_slice(&text), &names, &arena, &wrong) != NULL ||
                 expression_refuse(&fault, "FilterExpression", &wrong);
    buffer_append_u8(&fault.text, 0);
    assert_true(taken || strstr((const char *)fault.text.data, message) != NULL);
    fault_deinit(&fault);
    arena_deinit(&arena);
    buffer_deinit(&text);
    return taken;
}

TEST(an_expression_has_at_most_300_operators_and_100_operands_of_in)
{
    static const char MANY[] = "too many operators",
                      IN[] = "too many operands; number of operands: 101";
    assert_true(expression_is_taken("", "a=b OR ", 150, "c IN (d)", MANY) == false);
    assert_true(expression_is_taken("", "a=b OR ", 149, "c=d AND e IN (f)", MANY) == false);
    assert_true(expression_is_taken("", "a=b OR ", 149, "c=d", MANY));
    assert_true(expression_is_taken("", "NOT ", 299, "a=b", MANY));
    assert_false(expression_is_taken("", "NOT ", 300, "a=b", MANY));
    assert_true(expression_is_taken("a IN (b", ",b", 99, ")", IN));
    assert_false(expression_is_taken("a IN (b", ",b", 100, ")", IN));
    assert_true(expression_is_taken("a = a[0]", "", 0, "", IN));
}
