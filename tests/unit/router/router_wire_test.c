/* What RFC 9112 demands of a server, as a table of inputs and answers. Every input goes to a router
 * whole, where plain requests are read directly, and byte by byte, where llhttp reads them: both
 * must answer the same. Behind most inputs stands a second request, the canary, which a server that
 * finds another end of the first one would run. */
#include "tests/check.h"

#include "base/buffer.h"
#include "tests/support/fake_cluster.h"

#define LINE "POST / HTTP/1.1\r\n"
#define HOST "Host: h\r\n"
#define LIST \
    "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n"
#define PLAIN LINE HOST LIST
#define CANARY                                                                   \
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-amz-json-1.0\r\n" \
    "X-Amz-Target: DynamoDB_20120810.DeleteTable\r\nContent-Length: 21\r\n\r\n"  \
    "{\"TableName\":\"users\"}"

/* The first answer's status, whether the connection closes, and whether the canary ran. */
enum end {
    STAYS,
    CLOSES
};

static const struct wire_case {
    const char *what;
    const char *bytes;
    int status; /* 0: no answer yet */
    enum end end;
    bool canary;
} CASES[] = {
    {"a plain request", PLAIN "Content-Length: 2\r\n\r\n{}", 200, STAYS, false},
    {"two of them", PLAIN "Content-Length: 2\r\n\r\n{}" CANARY, 200, STAYS, true},
    {"an empty line before the request", "\r\n" PLAIN "Content-Length: 2\r\n\r\n{}" CANARY, 200,
     STAYS, true},
    {"names in any case", LINE "hOST: h\r\n" LIST "cONTENT-lENGTH: 2\r\n\r\n{}" CANARY, 200, STAYS,
     true},
    {"blanks around values", LINE "Host: \t h \t\r\n" LIST "Content-Length: \t2 \r\n\r\n{}" CANARY,
     200, STAYS, true},
    {"a chunked body", PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY, 200,
     STAYS, true},
    {"chunk sizes with zeros in front, extensions and trailers",
     PLAIN "Transfer-Encoding: Chunked\r\n\r\n002;a=\"b\"\r\n{}\r\n0\r\nX: y\r\n\r\n" CANARY, 200,
     STAYS, true},
    {"the absolute form",
     "POST http://h/ HTTP/1.1\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 200, STAYS,
     true},
    {"Connection: close", PLAIN "Connection: close\r\nContent-Length: 2\r\n\r\n{}" CANARY, 200,
     CLOSES, false},
    {"HTTP/1.0 without Host", "POST / HTTP/1.0\r\n" LIST "Content-Length: 2\r\n\r\n{}" CANARY, 200,
     CLOSES, false},
    {"an upgrade is not taken",
     PLAIN "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}" CANARY, 200, STAYS,
     true},

    /* 2.2: lines */
    {"bare LF after the request line",
     "POST / HTTP/1.1\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"bare LF after a header line", LINE "Host: h\n" LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400,
     CLOSES, false},
    {"bare LF at the end of the head", PLAIN "Content-Length: 2\r\n\n{}" CANARY, 400, CLOSES,
     false},
    {"bare LF all over", "POST / HTTP/1.1\nHost: h\nContent-Length: 0\n\n" CANARY, 400, CLOSES,
     false},
    {"bare LF before the request", "\n" PLAIN "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES,
     false},
    {"bare CR in a value", PLAIN "X: a\rb\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES,
     false},
    {"bare CR as a line's end", PLAIN "X: a\rContent-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES,
     false},
    {"CR CR LF", PLAIN "Content-Length: 2\r\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a blank before the first header line",
     LINE " Host: h\r\n" LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a tab before the first header line",
     LINE "\tX: y\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a blank before the request line", " " PLAIN "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES,
     false},
    {"a line of blanks before the headers",
     LINE " \r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},

    /* 3: the request line */
    {"two blanks", "POST  / HTTP/1.1\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400,
     CLOSES, false},
    {"no version", "POST /\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a blank in the target",
     "POST /a b HTTP/1.1\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a blank after the version",
     "POST / HTTP/1.1 \r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"HTTP/1.10", "POST / HTTP/1.10\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400,
     CLOSES, false},
    {"HTTP/0.9", "POST / HTTP/0.9\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES,
     false},
    {"HTTP/2.0", "POST / HTTP/2.0\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES,
     false},
    {"http/1.1", "POST / http/1.1\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES,
     false},
    {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" CANARY, 400, CLOSES, false},
    {"a method in lower case", "post / HTTP/1.1\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY,
     400, CLOSES, false},
    {"CONNECT", "CONNECT h:1 HTTP/1.1\r\n" HOST "\r\n" CANARY, 400, CLOSES, false},

    /* 3.2: Host */
    {"no Host", LINE LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"no Host, chunked", LINE LIST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" CANARY, 400,
     CLOSES, false},
    {"two Hosts", PLAIN HOST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"two Hosts, one empty", LINE "Host:\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400,
     CLOSES, false},
    {"a list of Hosts with a blank",
     LINE "Host: a, b\r\n" LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a path in Host", LINE "Host: h/x\r\n" LIST "Content-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES,
     false},

    /* 5: header lines */
    {"a blank before the colon of Content-Length", PLAIN "Content-Length : 2\r\n\r\n{}" CANARY, 400,
     CLOSES, false},
    {"a tab before the colon", PLAIN "Content-Length\t: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a blank before the colon of Transfer-Encoding",
     PLAIN "Transfer-Encoding : chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY, 400, CLOSES, false},
    {"a blank in a name", PLAIN "X y: z\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"no name", PLAIN ": z\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"no colon", PLAIN "Xyz\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a byte in a name that is no token", PLAIN "X(y): z\r\nContent-Length: 2\r\n\r\n{}" CANARY,
     400, CLOSES, false},
    {"a control in a value", PLAIN "X: a\x01z\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES,
     false},
    {"DEL in a value", PLAIN "X: a\x7fz\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a folded line", PLAIN "X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a folded Content-Length", PLAIN "Content-Length:\r\n 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"a folded Transfer-Encoding",
     PLAIN "Transfer-Encoding:\r\n chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY, 400, CLOSES, false},

    /* 6.1: Transfer-Encoding */
    {"a length and chunks",
     PLAIN "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" CANARY, 400, CLOSES,
     false},
    {"chunks and a length",
     PLAIN "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" CANARY, 400, CLOSES,
     false},
    {"gzip, chunked", PLAIN "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY,
     501, CLOSES, false},
    {"gzip and chunked in two lines",
     PLAIN
     "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY,
     501, CLOSES, false},
    {"chunked, gzip", PLAIN "Transfer-Encoding: chunked, gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY,
     400, CLOSES, false},
    {"chunked twice",
     PLAIN "Transfer-Encoding: chunked, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY, 400, CLOSES,
     false},
    {"chunked in two lines",
     PLAIN
     "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY,
     400, CLOSES, false},
    {"identity", PLAIN "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400,
     CLOSES, false},
    {"gzip alone", PLAIN "Transfer-Encoding: gzip\r\n\r\n" CANARY, 400, CLOSES, false},
    {"xchunked", PLAIN "Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY, 400,
     CLOSES, false},
    {"chunked in quotes", PLAIN "Transfer-Encoding: \"chunked\"\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY,
     400, CLOSES, false},
    {"chunked behind a vertical tab",
     PLAIN "Transfer-Encoding: \x0b"
           "chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY,
     400, CLOSES, false},
    {"an empty Transfer-Encoding", PLAIN "Transfer-Encoding:\r\nContent-Length: 2\r\n\r\n{}" CANARY,
     400, CLOSES, false},
    {"chunks in HTTP/1.0",
     "POST / HTTP/1.0\r\n" LIST "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" CANARY,
     400, CLOSES, false},

    /* 6.2: Content-Length */
    {"two lengths", PLAIN "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}" CANARY, 400, CLOSES,
     false},
    {"the same length twice", PLAIN "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400,
     CLOSES, false},
    {"a list of lengths", PLAIN "Content-Length: 2, 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"+2", PLAIN "Content-Length: +2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"-2", PLAIN "Content-Length: -2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"0x2", PLAIN "Content-Length: 0x2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"2.0", PLAIN "Content-Length: 2.0\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"2 2", PLAIN "Content-Length: 2 2\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"2^64 + 2", PLAIN "Content-Length: 18446744073709551618\r\n\r\n{}" CANARY, 400, CLOSES, false},
    {"no digits", PLAIN "Content-Length:\r\n\r\n{}" CANARY, 400, CLOSES, false},

    /* 7.1: chunks */
    {"no CRLF after a chunk's data",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n" CANARY, 400, CLOSES, false},
    {"no bytes at all after a chunk's data",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n" CANARY, 400, CLOSES, false},
    {"bare LF after a chunk's size",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n" CANARY, 400, CLOSES, false},
    {"bare LF after a chunk's data",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\n0\r\n\r\n" CANARY, 400, CLOSES, false},
    {"bare LF in a chunk's extension",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n2;a\n0\r\n{}\r\n0\r\n\r\n" CANARY, 400, CLOSES,
     false},
    {"bare CR in a chunk's extension",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n2;a\rb\r\n{}\r\n0\r\n\r\n" CANARY, 400, CLOSES,
     false},
    {"a size of 0x2", PLAIN "Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n" CANARY, 400,
     CLOSES, false},
    {"a size of -2", PLAIN "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n" CANARY, 400,
     CLOSES, false},
    {"a blank before a size",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n 2\r\n{}\r\n0\r\n\r\n" CANARY, 400, CLOSES, false},
    {"no size", PLAIN "Transfer-Encoding: chunked\r\n\r\n\r\n{}\r\n0\r\n\r\n" CANARY, 400, CLOSES,
     false},
    {"a size of 2^64 + 2",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\n{}\r\n0\r\n\r\n" CANARY, 400,
     CLOSES, false},
    {"bare LF after the last chunk",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\n\n" CANARY, 400, CLOSES, false},
    {"bare LF in a trailer",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\n\r\n" CANARY, 400, CLOSES,
     false},
    {"trailers say nothing",
     PLAIN
     "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Amz-Target: Nonsense\r\n\r\n" CANARY,
     200, STAYS, true},
    {"a trailer without a name",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n: y\r\n\r\n" CANARY, 400, CLOSES,
     false},
    {"a folded trailer",
     PLAIN "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n z\r\n\r\n" CANARY, 400,
     CLOSES, false},

    /* what is the router's own */
    {"two targets",
     PLAIN "X-Amz-Target: DynamoDB_20120810.DeleteTable\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400,
     CLOSES, false},
    {"two Authorizations",
     PLAIN "Authorization: a\r\nAuthorization: b\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400,
     CLOSES, false},
    {"two types", PLAIN "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}" CANARY, 400,
     CLOSES, false},
    {"another path", "POST /garbage HTTP/1.1\r\n" HOST LIST "Content-Length: 2\r\n\r\n{}" CANARY,
     404, STAYS, true},
    {"a body behind a GET is not a request",
     "GET / HTTP/1.1\r\n" HOST "Content-Length: 180\r\n\r\n" CANARY, 0, STAYS, false},
};

static struct fake_cluster f;
static int wrong;

static void send_pieces(uint64_t connection, struct slice bytes, size_t piece)
{
    for (size_t at = 0; at < bytes.size && !f.clients[connection].closed; at += piece) {
        size_t left = bytes.size - at;
        fake_send(&f, connection, slice_make(bytes.data + at, left < piece ? left : piece));
    }
}

static void run(const struct wire_case *c, size_t piece, struct buffer *received)
{
    fake_init(&f);
    fake_start(&f);
    fake_table(&f, "users", "id", ATTR_STRING, NULL, 0, 1);
    fake_open(&f, 1);
    send_pieces(1, slice_of(c->bytes), piece);
    buffer_append_slice(received, buffer_slice(&f.clients[1].received));
    const bool closed = f.clients[1].closed;
    const int status = fake_take_answer(&f, 1).status;
    const bool canary = f.asked[REQUEST_TABLE_DELETE] > 0;
    const bool as_said = status == c->status && closed == (c->end == CLOSES) && canary == c->canary;
    wrong += !as_said;
    if (!as_said)
        print_error("%s, in pieces of %zu: answered %d (%d), %s (%s), the canary %s (%s)\n",
                    c->what, piece, status, c->status, closed ? "closed" : "open",
                    c->end == CLOSES ? "closed" : "open", canary ? "ran" : "did not run",
                    c->canary ? "ran" : "did not run");
    fake_deinit(&f);
}

TEST(every_input_is_answered_as_the_table_says_however_it_comes)
{
    static const size_t PIECES[] = {SIZE_MAX / 2, 1, 2, 7};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct buffer first = {0};
        for (size_t p = 0; p < sizeof PIECES / sizeof PIECES[0]; p++) {
            struct buffer received = {0};
            run(&CASES[i], PIECES[p], p == 0 ? &first : &received);
            bool same = p == 0 || slice_equal(buffer_slice(&first), buffer_slice(&received));
            wrong += !same;
            if (!same)
                print_error("%s: another answer in pieces of %zu:\n%.*s\n%.*s\n", CASES[i].what,
                            PIECES[p], (int)first.size, (const char *)first.data,
                            (int)received.size, (const char *)received.data);
            buffer_deinit(&received);
        }
        buffer_deinit(&first);
    }
    assert_int_equal(wrong, 0);
}

/* NUL does not fit into the table's texts. */
TEST(a_nul_in_a_head_is_refused)
{
    static const char BYTES[] = PLAIN "X: a\0b\r\nContent-Length: 2\r\n\r\n{}" CANARY;
    for (size_t piece = 1; piece <= sizeof BYTES; piece += sizeof BYTES - 1) {
        fake_init(&f);
        fake_start(&f);
        fake_open(&f, 1);
        send_pieces(1, slice_make(BYTES, sizeof BYTES - 1), piece);
        assert_int_equal(fake_take_answer(&f, 1).status, 400);
        assert_true(f.clients[1].closed);
        fake_deinit(&f);
    }
}
