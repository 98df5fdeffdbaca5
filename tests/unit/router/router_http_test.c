#include "tests/check.h"

#include <zlib.h>

#include "base/buffer.h"
#include "base/settings/http.h"
#include "base/settings/requests.h"
#include "tests/support/fake_cluster.h"

static struct fake_cluster f;

static int init(void **state)
{
    (void)state;
    fake_init(&f);
    config_edit_http(&f.config)->http_header_max_bytes = 1024;
    config_edit_http(&f.config)->http_body_max_bytes = 4096;
    return 0;
}

static int start(void **state)
{
    init(state);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    fake_open(&f, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_deinit(&f);
    return 0;
}

FIXTURE(start, stop)

static struct buffer request_of(const char *operation, const char *body)
{
    struct buffer b = {0};
    fake_request_text(&b, operation, slice_of(body));
    return b;
}

static void send_list(uint64_t connection)
{
    struct buffer b = request_of("ListTables", "{}");
    fake_send(&f, connection, buffer_slice(&b));
    buffer_deinit(&b);
}

static void expect_list(uint64_t connection)
{
    struct fake_answer a = fake_take_answer(&f, connection);
    assert_int_equal(a.status, 200);
    assert_slice_is(a.body, "{\"TableNames\":[\"users\"]}");
}

TEST(get_slash_answers_that_it_is_healthy)
{
    fake_send_text(&f, 1, "GET / HTTP/1.1\r\nHost: localhost:8000\r\n\r\n");
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 200);
    assert_slice_is(a.body, "healthy: localhost:8000");
    assert_false(f.clients[1].closed);
}

TEST(an_answer_carries_id_checksum_and_type)
{
    send_list(1);
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_slice_is(fake_header(a, "Content-Type"), "application/x-amz-json-1.0");
    struct slice id = fake_header(a, "x-amzn-RequestId");
    assert_int_equal(id.size, 52);
    for (size_t i = 0; i < id.size; i++)
        assert_true((id.data[i] >= '0' && id.data[i] <= '9') ||
                    (id.data[i] >= 'A' && id.data[i] <= 'V'));
    char first[53] = {0};
    memcpy(first, id.data, 52);
    send_list(1);
    assert_false(slice_is(fake_header(fake_take_answer(&f, 1), "x-amzn-RequestId"), first));
}

TEST(application_json_is_answered_in_kind)
{
    fake_send_text(
        &f, 1,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Type:  application/json ; charset=utf-8\r\n"
        "x-amz-target: DynamoDB_20120810.ListTables\r\nContent-Length: 2\r\n\r\n{}");
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 200);
    assert_slice_is(fake_header(a, "Content-Type"), "application/json");
}

TEST(other_methods_paths_and_types_are_not_found)
{
    static const char *const REQUESTS[] = {
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
        "DELETE / HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi",
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/jsonasdf\r\nContent-Length: "
         "2\r\n\r\nhi"),
    };
    for (size_t i = 0; i < sizeof REQUESTS / sizeof REQUESTS[0]; i++) {
        fake_send_text(&f, 1, REQUESTS[i]);
        struct fake_answer a = fake_take_answer(&f, 1);
        assert_int_equal(a.status, 404);
        assert_slice_is(a.body, "<UnknownOperationException/>\n");
        assert_slice_is(fake_header(a, "x-amz-crc32"), "3552371480");
    }
    assert_false(f.clients[1].closed);
}

TEST(head_gets_no_body)
{
    fake_send_text(&f, 1, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_non_null(memmem(f.clients[1].received.data, f.clients[1].received.size,
                           "Content-Length: 10\r\n", 20));
    assert_memory_equal(f.clients[1].received.data + f.clients[1].received.size - 4, "\r\n\r\n", 4);
}

TEST(requests_may_come_byte_by_byte)
{
    struct buffer b = request_of("ListTables", "{\"Limit\": 1}");
    for (size_t i = 0; i < b.size; i++) {
        assert_int_equal(f.clients[1].received.size, 0);
        fake_send(&f, 1, slice_make(b.data + i, 1));
    }
    expect_list(1);
    buffer_deinit(&b);
}

/* Whole, where plain ones are read directly, and byte by byte, where llhttp reads them. */
TEST(however_a_request_comes_it_means_the_same)
{
    static const struct {
        const char *text;
        int status;
    } LINES[] = {
        {"Content-Length: 2\r\n", 200},
        {"content-length:2\r\nCONNECTION: Keep-Alive\r\n", 200},
        {"Content-Length:   2\r\nUser-Agent: a b/1.0 (c; d) #e\r\n", 200},
        {"Content-Length: 2\r\nConnection: close\r\n", 200},
        {"Content-Length: 2\r\nConnection: keep-alive, close\r\n", 200},
        {"Content-Length: 2 \r\nAccept-Encoding: \r\n", 200},
        {"Content-Length: 2\r\nContent-Length: 2\r\n", 400},
        {"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Content-Length: 2\r\nProxy-Connection: close\r\n", 200},
        {"Content-Length: 2x\r\n", 400},
        {"Content-Length: 0000000000000000002\r\n", 200},
        {"Content-Length: 99999\r\n", 413},
        {"Content-Length: 2\r\nX y: z\r\n", 400},
        {"Content-Length: 2\r\n: z\r\n", 400},
        {"Content-Length: 2\r\nX-Y\r\n", 400},
        {"Content-Length: 2\r\nX: a\x01z\r\n", 400},
        {"Content-Length: 2\r\nX: a\tz\r\n", 200},
        {"Content-Length: 2\r\nX: a\rz\r\n", 400},         /* HTTP-1 */
        {"Content-Length: 2\r\nX: a\r\n folded\r\n", 400}, /* HTTP-2 */
        {"Content-Length: 2\nX: a\n", 400},                /* HTTP-1 */
        {"Content-Length: 2\r\nContent-Encoding: br\r\n", 400},
        {"Content-Length: 2\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n", 400},
        {"X y: z\r\nContent-Length: 2\r\nHost: h\r\n", 400},
        {"X: a\r\n folded\r\nContent-Length: 2\r\nHost: h\r\n", 400},
        {"Host: h\r\nX: a\r\n folded\r\nContent-Length: 2\r\n", 400},
    };
    for (uint64_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        char text[512];
        const uint64_t whole = 2 + 2 * i, pieces = whole + 1;
        snprintf(text, sizeof text,
                 "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
                 "X-Amz-Target: DynamoDB_20120810.ListTables\r\n%s\r\n{}",
                 LINES[i].text);
        fake_open(&f, whole);
        fake_open(&f, pieces);
        fake_send_text(&f, whole, text);
        for (size_t at = 0; text[at] != '\0' && !f.clients[pieces].closed; at++)
            fake_send(&f, pieces, slice_make(text + at, 1));
        struct fake_answer a = fake_take_answer(&f, whole), b = fake_take_answer(&f, pieces);
        assert_int_equal(a.status, b.status);
        assert_true(slice_equal(a.body, b.body));
        assert_int_equal(f.clients[whole].closed, f.clients[pieces].closed);
        if (a.status != LINES[i].status)
            print_message("%s", LINES[i].text);
        assert_int_equal(a.status, LINES[i].status);
    }
}

TEST(pipelined_requests_are_answered_in_order)
{
    struct buffer b = {0};
    f.hold = true;
    fake_request_text(&b, "ListTables", slice_of("{}"));
    fake_request_text(&b, "Nonsense", slice_of("{}"));
    fake_request_text(&b, "ListTables", slice_of("{}"));
    fake_send(&f, 1, buffer_slice(&b));
    assert_int_equal(f.held_count, 1);
    assert_int_equal(f.clients[1].received.size, 0);
    fake_answer(&f, 0);
    expect_list(1);
    assert_int_equal(fake_take_answer(&f, 1).status, 400);
    assert_int_equal(fake_take_answer(&f, 1).status, 0);
    fake_answer(&f, 0);
    expect_list(1);
    buffer_deinit(&b);
}

TEST(many_pipelined_requests_that_need_no_node_are_all_answered)
{
    struct buffer b = {0};
    for (int i = 0; i < 500; i++)
        buffer_append_text(&b, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    fake_send(&f, 1, buffer_slice(&b));
    for (int i = 0; i < 500; i++)
        assert_int_equal(fake_take_answer(&f, 1).status, 200);
    assert_int_equal(f.clients[1].received.size, 0);
    buffer_deinit(&b);
}

TEST(a_client_that_sends_on_without_end_while_it_waits_is_closed)
{
    static uint8_t noise[1024];
    f.hold = true;
    send_list(1);
    for (int i = 0; i < 5; i++)
        fake_send(&f, 1, slice_make(noise, sizeof noise));
    assert_false(f.clients[1].closed);
    fake_send(&f, 1, slice_make(noise, sizeof noise));
    assert_true(f.clients[1].closed);
    fake_answer_all(&f);
}

TEST(chunked_bodies_are_put_together)
{
    fake_send_text(&f, 1,
                   "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
                   "X-Amz-Target: DynamoDB_20120810.ListTables\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n5\r\n\"Limi\r\n");
    fake_send_text(&f, 1, "5\r\nt\":1}\r\n0\r\nX-Amz-Target: Nonsense\r\n\r\n");
    expect_list(1);
}

TEST(a_length_and_chunks_together_are_refused)
{
    fake_send_text(
        &f, 1,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}");
    assert_int_equal(fake_take_answer(&f, 1).status, 400);
    assert_true(f.clients[1].closed);
}

TEST(expect_100_continue_is_answered_at_once)
{
    fake_send_text(&f, 1,
                   "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
                   "X-Amz-Target: DynamoDB_20120810.ListTables\r\n"
                   "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assert_int_equal(fake_take_answer(&f, 1).status, 100);
    fake_send_text(&f, 1, "{}");
    expect_list(1);
}

static struct buffer gzipped(struct slice bytes)
{
    struct buffer b = {0};
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes.data, .avail_in = (uInt)bytes.size};
    deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    z.next_out = buffer_reserve(&b, MIB);
    z.avail_out = MIB;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b.size = MIB - z.avail_out;
    deflateEnd(&z);
    return b;
}

static void send_gzipped(struct slice body, size_t cut)
{
    struct buffer packed = gzipped(body), b = {0};
    packed.size -= cut;
    buffer_append_format(
        &b,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "X-Amz-Target: DynamoDB_20120810.ListTables\r\n"
        "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
        packed.size);
    buffer_append_slice(&b, buffer_slice(&packed));
    fake_send(&f, 1, buffer_slice(&b));
    buffer_deinit(&packed);
    buffer_deinit(&b);
}

TEST(gzip_bodies_are_unpacked)
{
    send_gzipped(slice_of("{\"Limit\":1}"), 0);
    expect_list(1);
}

TEST(a_gzip_bomb_and_a_torn_gzip_are_refused_and_the_connection_lives)
{
    static uint8_t zeros[1 << 20];
    send_gzipped(slice_make(zeros, sizeof zeros), 0);
    assert_int_equal(fake_take_answer(&f, 1).status, 413);
    send_gzipped(slice_of("{}"), 3);
    assert_int_equal(fake_take_answer(&f, 1).status, 400);
    assert_false(f.clients[1].closed);
    send_list(1);
    expect_list(1);
}

TEST(large_answers_are_packed_for_those_who_accept_it)
{
    struct buffer item = {0};
    buffer_append_text(&item, "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"}");
    for (int i = 0; i < 3; i++) {
        buffer_append_format(&item, ",\"v%d\":{\"S\":\"%01000d\"}", i, i);
        buffer_append_u8(&item, 0);
        item.size--;
    }
    buffer_append_text(&item, "}}");
    buffer_append_u8(&item, 0);
    fake_call(&f, "PutItem", (char *)item.data);
    for (int i = 0; i < 8; i++) {
        char put[64];
        snprintf(put, sizeof put, "{\"S\":\"%d\"}", i);
        char *at = strstr((char *)item.data, "{\"S\":\"");
        memcpy(at, put, strlen(put));
        assert_int_equal(fake_call(&f, "PutItem", (char *)item.data).status, 200);
    }
    struct buffer b = {0};
    buffer_append_text(&b,
                       "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
                       "X-Amz-Target: DynamoDB_20120810.Scan\r\nContent-Length: 21\r\n"
                       "Accept-Encoding: br, gzip\r\n\r\n{\"TableName\":\"users\"}");
    fake_send(&f, 1, buffer_slice(&b));
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 200);
    assert_slice_is(fake_header(a, "Content-Encoding"), "gzip");
    uint8_t plain[65536];
    z_stream z = {.next_in = (Bytef *)(uintptr_t)a.body.data,
                  .avail_in = (uInt)a.body.size,
                  .next_out = plain,
                  .avail_out = sizeof plain};
    inflateInit2(&z, 31);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    assert_non_null(memmem(plain, sizeof plain - z.avail_out, "\"Count\":9,", 10));
    buffer_deinit(&item);
    buffer_deinit(&b);
}

static struct fake_answer send_packed(const char *coding, struct slice packed)
{
    struct buffer b = {0};
    buffer_append_format(
        &b,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "X-Amz-Target: DynamoDB_20120810.ListTables\r\n"
        "Content-Encoding: %s\r\nContent-Length: %zu\r\n\r\n",
        coding, packed.size);
    buffer_append_slice(&b, packed);
    fake_send(&f, 1, buffer_slice(&b));
    buffer_deinit(&b);
    return fake_take_answer(&f, 1);
}

TEST(deflate_bodies_and_gzip_of_several_members_are_unpacked)
{
    struct buffer members = gzipped(slice_of("{\"Lim")), rest = gzipped(slice_of("it\":1}"));
    buffer_append_slice(&members, buffer_slice(&rest));
    assert_int_equal(send_packed("gzip", buffer_slice(&members)).status, 200);
    assert_int_equal(send_packed("x-gzip", buffer_slice(&members)).status, 200);
    assert_int_equal(send_packed("identity, gzip", buffer_slice(&members)).status, 200);
    assert_int_equal(send_packed("deflate", buffer_slice(&members)).status, 400);
    assert_int_equal(send_packed("gzip, gzip", buffer_slice(&members)).status, 400);
    uint8_t packed[100];
    uLongf size = sizeof packed;
    assert_int_equal(compress(packed, &size, (const Bytef *)"{\"Limit\":1}", 11), Z_OK);
    assert_int_equal(send_packed("deflate", slice_make(packed, size)).status, 200);
    assert_int_equal(send_packed("gzip", slice_make(packed, size)).status, 400);
    assert_int_equal(send_packed("br", slice_make(packed, size)).status, 400);
    buffer_deinit(&members);
    buffer_deinit(&rest);
}

TEST(a_large_body_unpacks_to_at_most_64_times_its_size)
{
    fake_deinit(&f);
    init(NULL);
    config_edit_http(&f.config)->http_body_max_bytes = 16 * MIB;
    fake_start(&f);
    fake_open(&f, 1);
    static uint8_t body[MIB + 1];
    memset(body, ' ', sizeof body);
    memcpy(body, "{}", 2);
    struct buffer small = gzipped(slice_make(body, MIB)),
                  large = gzipped(slice_make(body, MIB + 1));
    assert_int_equal(send_packed("gzip", buffer_slice(&small)).status, 200);
    struct fake_answer a = send_packed("gzip", buffer_slice(&large));
    assert_int_equal(a.status, 413);
    assert_non_null(memmem(a.body.data, a.body.size, "64 times", 8));
    buffer_deinit(&small);
    buffer_deinit(&large);
}

TEST(a_body_that_unpacks_past_the_memory_budget_is_refused)
{
    fake_deinit(&f);
    init(NULL);
    config_edit_http(&f.config)->http_body_max_bytes = 16 * MIB;
    config_edit_http(&f.config)->http_memory_max_bytes = MIB;
    fake_start(&f);
    fake_open(&f, 1);
    static uint8_t body[3 * MIB];
    for (uint32_t i = 0, random = 1; i < sizeof body; i++) {
        random = random * 1103515245 + 12345;
        body[i] = i % 40 == 0 ? (uint8_t)('a' + (random >> 16) % 26) : ' ';
    }
    body[0] = body[sizeof body - 1] = '"';
    struct buffer packed = gzipped(slice_make(body, sizeof body));
    assert_int_equal(send_packed("gzip", buffer_slice(&packed)).status, 503);
    assert_false(f.clients[1].closed);
    send_list(1);
    assert_int_equal(fake_take_answer(&f, 1).status, 200); /* nothing is held of it */
    buffer_deinit(&packed);
}

TEST(answers_are_packed_from_4096_bytes_on)
{
    static const struct {
        int size;
        const char *accepted, *coding;
    } CASES[] = {{4095, "gzip", ""},
                 {4096, "gzip", "gzip"},
                 {4096, "deflate, gzip;q=0.5", "deflate"},
                 {4096, "gzip;q=0", ""},
                 {4096, "*", "gzip"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char put[6000], get[400];
        static const char ANSWER[] = "{\"Item\":{\"id\":{\"S\":\"a\"},\"v\":{\"S\":\"\"}}}";
        snprintf(put, sizeof put,
                 "{\"TableName\":\"users\",\"Item\":{\"id\":{\"S\":\"a\"},\"v\":{\"S\":\"%0*d\"}}}",
                 CASES[i].size - (int)strlen(ANSWER), 0);
        config_edit_http(&f.config)->http_body_max_bytes = 16 * KIB;
        fake_deinit(&f);
        init(NULL);
        config_edit_http(&f.config)->http_body_max_bytes = 16 * KIB;
        fake_start(&f);
        fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
        assert_int_equal(fake_call(&f, "PutItem", put).status, 200);
        snprintf(
            get, sizeof get,
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
            "X-Amz-Target: DynamoDB_20120810.GetItem\r\nAccept-Encoding: %s\r\n"
            "Content-Length: 44\r\n\r\n{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"a\"}}}",
            CASES[i].accepted);
        fake_send_text(&f, 1, get);
        struct fake_answer a = fake_take_answer(&f, 1);
        assert_int_equal(a.status, 200);
        assert_slice_is(fake_header(a, "Content-Encoding"), CASES[i].coding);
        if (CASES[i].coding[0] == '\0')
            assert_int_equal(a.body.size, CASES[i].size);
    }
}

TEST(what_stands_between_chunks_is_bounded)
{
    static const char HEAD[] = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const char *const ENDLESS[] = {"1;a=", "1\r\nx\r\n0\r\nX: ", "000"};
    for (uint64_t i = 0; i < sizeof ENDLESS / sizeof ENDLESS[0]; i++) {
        const uint64_t connection = 10 + i;
        fake_open(&f, connection);
        fake_send_text(&f, connection, HEAD);
        fake_send_text(&f, connection, ENDLESS[i]);
        for (int n = 0; n < 1100 && !f.clients[connection].closed; n++)
            fake_send_text(&f, connection, i == 2 ? "0" : "y");
        assert_int_equal(fake_take_answer(&f, connection).status, 400);
        assert_true(f.clients[connection].closed);
    }
}

TEST(a_body_too_large_is_answered_read_to_its_end_and_closed)
{
    fake_send_text(&f, 1, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n12345");
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 413);
    assert_slice_is(fake_header(a, "Connection"), "close");
    assert_false(f.clients[1].closed);
    uint8_t rest[4995] = {0};
    fake_send(&f, 1, slice_make(rest, 4994));
    assert_false(f.clients[1].closed);
    fake_send(&f, 1, slice_make(rest, 1));
    assert_true(f.clients[1].closed);
}

TEST(a_chunked_body_that_grows_too_large_is_answered_and_closed)
{
    char chunk[1100];
    fake_send_text(&f, 1, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    snprintf(chunk, sizeof chunk, "400\r\n%01024d\r\n", 0);
    for (int i = 0; i < 4; i++)
        fake_send_text(&f, 1, chunk);
    assert_int_equal(fake_take_answer(&f, 1).status, 0);
    fake_send_text(&f, 1, chunk);
    assert_int_equal(fake_take_answer(&f, 1).status, 413);
    for (int i = 0; i < 5 && !f.clients[1].closed; i++)
        fake_send_text(&f, 1, chunk);
    assert_true(f.clients[1].closed);
}

TEST(a_body_nobody_has_sent_yet_is_refused_without_waiting)
{
    fake_send_text(
        &f, 1,
        "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n");
    assert_int_equal(fake_take_answer(&f, 1).status, 413);
    assert_true(f.clients[1].closed);
}

TEST(header_lines_too_long_are_refused)
{
    char line[1200];
    snprintf(line, sizeof line, "GET / HTTP/1.1\r\nHost: h\r\nX: %01100d\r\n", 0);
    fake_send_text(&f, 1, line);
    assert_int_equal(fake_take_answer(&f, 1).status, 400);
    assert_true(f.clients[1].closed);
}

TEST(what_is_not_http_is_refused_and_closed)
{
    static const char *const NOISE[] = {
        "\x16\x03\x01\x02\x00\x01",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        "CONNECT x:1 HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nXYZ\r\n",
    };
    for (size_t i = 0; i < sizeof NOISE / sizeof NOISE[0]; i++) {
        uint64_t connection = i + 2;
        fake_open(&f, connection);
        fake_send_text(&f, connection, NOISE[i]);
        assert_int_equal(fake_take_answer(&f, connection).status, 400);
        assert_true(f.clients[connection].closed);
    }
}

TEST(a_malformed_request_is_told_the_line_that_is_wrong)
{
    char long_line[400];
    snprintf(long_line, sizeof long_line, "Host: h\r\nX-Amz-Target: %0100d\r\n", 0);
    const struct {
        const char *lines;
        const char *told;
    } FAULTS[] = {
        /* HTTP-3 */
        {"Host: h\r\nHost: h\r\n", "it has more than one Host"},
        {"Host: h\r\nOrigin: http://a\r\nOrigin: http://a\r\n", "more than one Origin"},
        {"Host: h\r\nAuthorization: a\r\nAuthorization: b\r\n", "more than one Authorization"},
        {"Host: h\r\nContent-Type: a\r\nContent-Type: a\r\n", "more than one Content-Type"},
        {"Host: h\r\nX-Amz-Target: a\r\nX-Amz-Target: a\r\n", "more than one X-Amz-Target"},
        {long_line, "its X-Amz-Target has more than 95 bytes"},
        {"X: y\r\n", "it has no Host"}, /* HTTP-4 */
        /* HTTP-5 */
        {"Host: h\r\nTransfer-Encoding: chunked, gzip\r\n", "Transfer-Encoding"},
        {"Host: h\r\nTransfer-Encoding: gzip\r\n", "Transfer-Encoding"},
        {"Host: h\r\nContent-Length: 2\r\nContent-Length: 2\r\n", "it has two Content-Length"},
        {"Host: h\r\nContent-Length: -1\r\n", "its Content-Length is not a number"},
        {"Host: h\r\nX y: z\r\n", "a header line has an invalid byte"},
    };
    for (size_t i = 0; i < COUNT_OF(FAULTS); i++) {
        const uint64_t connection = i + 2;
        char text[512];
        snprintf(text, sizeof text, "POST / HTTP/1.1\r\n%s\r\n", FAULTS[i].lines);
        fake_open(&f, connection);
        fake_send_text(&f, connection, text);
        const struct fake_answer a = fake_take_answer(&f, connection);
        assert_int_equal(a.status, 400);
        if (memmem(a.body.data, a.body.size, FAULTS[i].told, strlen(FAULTS[i].told)) == NULL)
            fail_msg("%.*s does not have %s", TEXT_OF(a.body), FAULTS[i].told);
    }
}

TEST(connection_close_and_http_1_0_are_obeyed)
{
    fake_send_text(&f, 1, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert_slice_is(fake_header(fake_take_answer(&f, 1), "Connection"), "close");
    assert_true(f.clients[1].closed);
    fake_open(&f, 2);
    fake_send_text(&f, 2, "GET / HTTP/1.0\r\n\r\n");
    assert_int_equal(fake_take_answer(&f, 2).status, 200);
    assert_true(f.clients[2].closed);
    fake_open(&f, 3);
    fake_send_text(&f, 3, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_slice_is(fake_header(fake_take_answer(&f, 3), "Connection"), "keep-alive");
    assert_false(f.clients[3].closed);
}

TEST(an_offer_to_upgrade_is_not_taken)
{
    fake_send_text(&f, 1,
                   "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
                   "X-Amz-Target: DynamoDB_20120810.ListTables\r\n"
                   "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}");
    expect_list(1);
}

TEST(an_idle_connection_is_closed_without_a_word)
{
    send_list(1);
    expect_list(1);
    fake_advance_ms(&f, config_http(&f.config)->http_idle_ms - 1);
    assert_false(f.clients[1].closed);
    fake_advance_ms(&f, 1);
    assert_true(f.clients[1].closed);
    assert_int_equal(f.clients[1].received.size, 0);
}

TEST(a_request_that_does_not_arrive_in_time_is_answered_408)
{
    fake_open(&f, 2);
    fake_send_text(&f, 2, "POST / HTTP/1.1\r\nHost: h\r\nX:");
    for (int i = 0; i < 9; i++) { /* trickling does not help */
        fake_advance_ms(&f, config_http(&f.config)->http_request_ms / 10);
        fake_send_text(&f, 2, "x");
    }
    assert_false(f.clients[2].closed);
    fake_advance_ms(&f, config_http(&f.config)->http_request_ms / 10);
    assert_int_equal(fake_take_answer(&f, 2).status, 408);
    assert_true(f.clients[2].closed);
}

TEST(waiting_for_a_node_is_not_idling)
{
    config_edit_requests(&f.config)->request_deadline_ms = 600000;
    fake_deinit(&f);
    init(NULL);
    config_edit_requests(&f.config)->request_deadline_ms = 600000;
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    fake_open(&f, 1);
    f.hold = true;
    send_list(1);
    fake_advance_ms(&f,
                    config_http(&f.config)->http_idle_ms + config_http(&f.config)->http_request_ms);
    assert_false(f.clients[1].closed);
    fake_answer_all(&f);
    expect_list(1);
}

TEST(a_client_that_goes_away_leaves_nothing_behind)
{
    f.hold = true;
    send_list(1);
    assert_int_equal(f.held_count, 1);
    router_close(f.router, f.now, 1);
    f.clients[1].open = false;
    fake_answer_all(&f); /* finds nobody */
    fake_open(&f, 1);
    send_list(1);
    fake_answer_all(&f);
    expect_list(1);
}

TEST(a_client_that_has_said_all_gets_its_answers_before_the_close)
{
    f.hold = true;
    struct buffer b = {0};
    fake_request_text(&b, "ListTables", slice_of("{}"));
    fake_request_text(&b, "ListTables", slice_of("{}"));
    fake_send(&f, 1, buffer_slice(&b));
    router_end(f.router, f.now, 1);
    fake_pump(&f);
    fake_answer(&f, 0);
    expect_list(1);
    assert_false(f.clients[1].closed);
    fake_answer(&f, 0);
    expect_list(1);
    assert_true(f.clients[1].closed);
    buffer_deinit(&b);
}

TEST(beyond_the_connection_limit_clients_are_turned_away)
{
    fake_deinit(&f);
    init(NULL);
    config_edit_http(&f.config)->connections_max = 2;
    fake_start(&f);
    fake_open(&f, 1);
    fake_open(&f, 2);
    fake_open(&f, 3);
    assert_true(f.clients[3].closed);
    assert_false(f.clients[2].closed);
    router_close(f.router, f.now, 1);
    fake_open(&f, 4);
    assert_false(f.clients[4].closed);
}

TEST(beyond_the_memory_budget_requests_are_refused_and_the_connection_lives)
{
    fake_deinit(&f);
    init(NULL);
    config_edit_http(&f.config)->http_body_max_bytes = 16 * MIB;
    config_edit_http(&f.config)->http_memory_max_bytes = MIB;
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    fake_open(&f, 1);
    fake_open(&f, 2);
    /* One holds most of the budget with a body that has not come whole. */
    static uint8_t bytes[MIB];
    memset(bytes, ' ', sizeof bytes);
    fake_send_text(&f, 1,
                   "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
                   "X-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Length: 900000\r\n\r\n");
    fake_send(&f, 1, slice_make(bytes, 899000));
    fake_send_text(&f, 2,
                   "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
                   "X-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Length: 500000\r\n\r\n");
    fake_send(&f, 2, slice_make(bytes, 500000));
    struct fake_answer a = fake_take_answer(&f, 2);
    assert_int_equal(a.status, 503);
    assert_non_null(memmem(a.body.data, a.body.size, "ServiceUnavailable", 18));
    assert_false(f.clients[2].closed);
    router_close(f.router, f.now, 1);
    send_list(2);
    expect_list(2);
}

TEST(retries_of_clients_are_counted)
{
    for (int attempt = 1; attempt <= 3; attempt++) {
        char request[512];
        snprintf(request, sizeof request,
                 "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n"
                 "X-Amz-Target: DynamoDB_20120810.ListTables\r\n"
                 "amz-sdk-request: attempt=%d; max=3\r\nContent-Length: 2\r\n\r\n{}",
                 attempt);
        fake_send_text(&f, 1, request);
        expect_list(1);
    }
    fake_send_text(&f, 1, "GET /weir/partitions HTTP/1.1\r\nHost: h\r\n\r\n");
    struct fake_answer a = fake_take_answer(&f, 1);
    assert_int_equal(a.status, 200);
    assert_non_null(memmem(a.body.data, a.body.size, "\"requests\":3,\"client_retries\":2", 31));
}
