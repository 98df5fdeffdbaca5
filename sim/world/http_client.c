/* http_client.c - writes requests as all clients do (workload/client_request.h).
 *
 * Answers are not read by workload/client_response.h: all bytes come from our own router, and
 * llhttp would add 8 % to the instructions of a run (`weir sim --bench --clients 8 --nodes 1
 * --seconds 1`). */
#include "sim/world/http_client.h"

#include "base/limits.h"
#include "base/probe.h"
#include "router/core/body.h"
#include "router/http/gzip.h"
#include "sim/world/process.h"
#include "workload/client_request.h"

enum {
    ANSWER_SIZE_MAX = 64 * MIB
};

/* ---- answers ---- */

static void http_client_finish(struct http_client *c, int status, struct slice body)
{
    c->calling = false;
    c->last_status = status;
    buffer_clear(&c->last_error);
    if (status != 200)
        buffer_append_slice(&c->last_error, body);
    c->done(c->context, status, body);
}

static void drop_link(struct http_client *c)
{
    if (c->link != 0)
        network_close(c->options.network, c->link);
    c->link = 0;
    c->ended = false;
    c->to_ignore = 0;
    buffer_clear(&c->in);
}

static void hang_up(struct http_client *c)
{
    drop_link(c);
    c->router = (uint32_t)prng_below(&c->prng, c->options.router_count);
}

static uint64_t http_client_number_at(const uint8_t *p, const uint8_t *end)
{
    uint64_t value = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        value = value * 10 + (uint64_t)(*p - '0');
    return value;
}

/* The first byte after the head's blank line. NULL: the head is not complete. */
static const uint8_t *head_end(struct slice in)
{
    const uint8_t *at = in.data, *end = in.data + in.size;
    while (end - at >= 4 && (at = memchr(at, '\r', (size_t)(end - at - 3))) != NULL) {
        if (memcmp(at, "\r\n\r\n", 4) == 0)
            return at + 4;
        at += 2;
    }
    return NULL;
}

/* False: the answer is not complete. Our router's head ends with the length. */
static bool http_client_parse(struct slice in, struct slice *head, struct slice *body)
{
    static const char before_length[] = "Content-Length: ";
    const size_t name_size = sizeof before_length - 1;
    const uint8_t *end = in.data + in.size, *text = head_end(in);
    if (text == NULL)
        return false;
    const uint8_t *length = text - strlen("\r\n\r\n");
    while (length[-1] != ' ')
        length--;
    must(memcmp(length - name_size, before_length, name_size) == 0);
    size_t size = http_client_number_at(length, end);
    if ((size_t)(end - text) < size)
        return false;
    *head = slice_make(in.data, (size_t)(text - in.data));
    *body = slice_make(text, size);
    return true;
}

static void http_client_answered(struct http_client *c, struct slice head, struct slice body)
{
    static const char status[] = "HTTP/1.1 ", packed[] = "Content-Encoding: gzip";
    const int code =
        (int)http_client_number_at(head.data + sizeof status - 1, head.data + head.size);
    struct buffer unpacked = {0};
    if (c->ended)
        drop_link(c);
    if (c->options.manners.unpacks == 0 ||
        memmem(head.data, head.size, packed, sizeof packed - 1) == NULL) {
        http_client_finish(c, code, body);
        return;
    }
    PROBE("an answer comes packed");
    must(coding_unpack(&unpacked, CODING_GZIP, body, ANSWER_SIZE_MAX) == STATUS_OK);
    http_client_finish(c, code, buffer_slice(&unpacked));
    buffer_deinit(&unpacked);
}

/* Takes the complete answers. The bytes of an incomplete one wait in c->in. */
static void http_client_received(void *context, uint64_t link, struct slice bytes)
{
    struct http_client *c = context;
    struct buffer whole = {0};
    struct slice head, body;
    if (link != c->link)
        return;
    must(c->calling); /* no answer comes without a call */
    if (c->in.size > 0) {
        buffer_append_slice(&c->in, bytes);
        whole = c->in;
        c->in = (struct buffer){0};
        bytes = buffer_slice(&whole);
    }
    bool is_complete = http_client_parse(bytes, &head, &body);
    while (is_complete && c->to_ignore > 0) {
        const size_t used = head.size + body.size;
        c->to_ignore--;
        bytes = slice_make(bytes.data + used, bytes.size - used);
        is_complete = http_client_parse(bytes, &head, &body);
    }
    if (is_complete) {
        must(head.size + body.size == bytes.size);
        http_client_answered(c, head, body);
    } else {
        buffer_append_slice(&c->in, bytes);
    }
    buffer_deinit(&whole);
}

static void http_client_closed(void *context, uint64_t link, UNUSED bool gone)
{
    struct http_client *c = context;
    if (link != c->link)
        return;
    c->link = 0;
    hang_up(c);
    if (c->calling)
        http_client_finish(c, HTTP_CLIENT_LOST, slice_make(NULL, 0));
}

/* One timer serves all calls. It keeps running when a call ends. */
static void http_client_timer(void *context, uint64_t timer_at)
{
    struct http_client *c = context;
    if ((int64_t)timer_at != c->timer_at_ns)
        return;
    c->timer_at_ns = INT64_MAX;
    if (!c->calling)
        return;
    if (c->options.scheduler->now.ns < c->deadline_ns) {
        c->timer_at_ns = c->deadline_ns;
        scheduler_at(c->options.scheduler, (struct instant){c->deadline_ns}, http_client_timer, c,
                     (uint64_t)c->deadline_ns);
        return;
    }
    hang_up(c);
    http_client_finish(c, HTTP_CLIENT_TIMEOUT, slice_make(NULL, 0));
}

static void start_timer(struct http_client *c, struct duration timeout)
{
    c->deadline_ns = instant_add(c->options.scheduler->now, timeout).ns;
    if (c->timer_at_ns <= c->deadline_ns)
        return;
    c->timer_at_ns = c->deadline_ns;
    scheduler_at(c->options.scheduler, (struct instant){c->deadline_ns}, http_client_timer, c,
                 (uint64_t)c->deadline_ns);
}

/* ---- calls ---- */

static bool http_client_often(struct http_client *c, uint32_t percent)
{
    return percent > 0 && prng_below(&c->manners_prng, 100) < percent;
}

static void write_chunks(struct http_client *c, struct slice body)
{
    while (body.size > 0) {
        const size_t max = http_client_often(c, 50) ? 3 : body.size;
        const size_t size = 1 + prng_below(&c->manners_prng, MIN(max, body.size));
        buffer_append_format(&c->out, http_client_often(c, 50) ? "%zx\r\n" : "%zX;name=value\r\n",
                             size);
        buffer_append(&c->out, body.data, size);
        buffer_append_text(&c->out, "\r\n");
        body = slice_make(body.data + size, body.size - size);
    }
    buffer_append_text(&c->out,
                       http_client_often(c, 20) ? "0\r\nTrailer: yes\r\n\r\n" : "0\r\n\r\n");
}

/* A method and a path, as in "PUT /limiter/v1/limits". */
static bool is_plain(const char *operation)
{
    return strchr(operation, ' ') != NULL;
}

/* The head up to the lines that its body decides. */
static void write_head(struct http_client *c, const char *operation)
{
    static const char length[] = "Content-Length: ";
    if (!is_plain(operation)) {
        client_write_head(&c->out, "sim", 0, operation, true);
        c->out.size -= sizeof length - 1;
        return;
    }
    buffer_append_text(&c->out, operation);
    buffer_append_text(&c->out, " HTTP/1.1\r\nHost: sim\r\n");
    if (strncmp(operation, "GET ", 4) != 0)
        buffer_append_text(&c->out, "Content-Type: application/json\r\n");
}

/* Only short bodies go in chunks: a chunk may be a few bytes. */
static void write_request(struct http_client *c, const char *operation, struct slice body)
{
    enum {
        CHUNKED_MAX = 20000
    };
    const struct http_manners *m = &c->options.manners;
    struct buffer packed = {0}, blanks = {0};
    write_head(c, operation);
    buffer_append_text(&c->out, c->lines);
    if (http_client_often(c, m->unpacks))
        buffer_append_text(&c->out, "Accept-Encoding: gzip\r\n");
    if (is_plain(operation) && body.size == 0) {
        buffer_append_text(&c->out, "\r\n");
        return;
    }
    if (!is_plain(operation) && http_client_often(c, m->large)) {
        memset(buffer_reserve(&blanks, BODY_LARGE_MIN), ' ', BODY_LARGE_MIN);
        blanks.size = BODY_LARGE_MIN;
        buffer_append_slice(&blanks, body);
        body = buffer_slice(&blanks);
    }
    if (http_client_often(c, m->packed)) {
        buffer_append_text(&c->out, "Content-Encoding: gzip\r\n");
        coding_pack(&packed, CODING_GZIP, body);
        body = buffer_slice(&packed);
    }
    if (body.size < CHUNKED_MAX && http_client_often(c, m->chunked)) {
        buffer_append_text(&c->out, "Transfer-Encoding: chunked\r\n\r\n");
        write_chunks(c, body);
    } else {
        buffer_append_text(&c->out, "Content-Length: ");
        client_write_length(&c->out, body.size);
        buffer_append_slice(&c->out, body);
    }
    buffer_deinit(&packed);
    buffer_deinit(&blanks);
}

static bool send_some(struct http_client *c, struct slice bytes)
{
    return network_send(c->options.network, c->link, bytes);
}

static bool send_out(struct http_client *c, struct slice rest)
{
    enum {
        PIECES = 5
    };
    if (c->options.split_per_million > 0 &&
        prng_below(&c->prng, 1000000) < c->options.split_per_million) {
        size_t first = 1 + prng_below(&c->prng, rest.size - 1);
        if (!send_some(c, slice_make(rest.data, first)))
            return false;
        rest = slice_make(rest.data + first, rest.size - first);
    }
    for (int i = http_client_often(c, c->options.manners.pieces) ? PIECES : 0;
         i > 0 && rest.size > 1; i--) {
        const uint64_t max = http_client_often(c, 50) ? 8 : rest.size;
        const size_t size = 1 + prng_below(&c->manners_prng, max < rest.size ? max : rest.size - 1);
        if (!send_some(c, slice_make(rest.data, size)))
            return false;
        rest = slice_make(rest.data + size, rest.size - size);
    }
    return send_some(c, rest);
}

/* Closes the link somewhere in the request: at least the last byte is not sent. */
static void http_client_cut_off(struct http_client *c, size_t before)
{
    PROBE("a client gives a request up half-way");
    const size_t size = before + 1 + prng_below(&c->manners_prng, c->out.size - before - 1);
    send_out(c, slice_make(c->out.data, c->options.manners.cut_too_late ? c->out.size : size));
    hang_up(c);
    http_client_finish(c, HTTP_CLIENT_CUT, slice_make(NULL, 0));
}

/* Requests that change nothing; their answers are ignored. */
static void write_others(struct http_client *c)
{
    const int64_t others = http_client_often(c, c->options.manners.pipelined)
                               ? prng_between(&c->manners_prng, 1, 4)
                               : 0;
    for (int64_t i = 0; i < others; i++)
        write_request(c, "ListTables", slice_of("{}"));
    c->to_ignore += (uint32_t)others;
}

void http_client_move(struct http_client *c)
{
    must(!c->calling);
    hang_up(c);
}

void http_client_call(struct http_client *c, const char *operation, struct slice body,
                      struct duration timeout, http_client_done *done, void *context)
{
    must(!c->calling);
    c->done = done;
    c->context = context;
    if (c->link == 0)
        c->link = network_connect(c->options.network, c->options.process,
                                  c->options.router_first + c->router);
    buffer_clear(&c->out);
    write_others(c);
    const size_t before = c->out.size;
    write_request(c, operation, body);
    c->calling = true;
    if (c->link != 0 && http_client_often(c, c->options.manners.cut)) {
        http_client_cut_off(c, before);
        return;
    }
    if (c->link == 0 || !send_out(c, buffer_slice(&c->out))) {
        hang_up(c);
        http_client_finish(c, HTTP_CLIENT_NOT_SENT, slice_make(NULL, 0));
        return;
    }
    c->ended = http_client_often(c, c->options.manners.ends);
    if (c->ended)
        network_end(c->options.network, c->link);
    start_timer(c, timeout);
}

/* ---- life ---- */

static void http_client_accepted(UNUSED void *context, UNUSED uint64_t link, uint32_t from)
{
    must(from == 0); /* no process connects to a client */
}

void http_client_init(struct http_client *c, const struct http_client_options *options)
{
    static const struct network_handler handler = {http_client_accepted, http_client_received,
                                                   http_client_closed, process_datagram_refuse};
    *c = (struct http_client){
        .options = *options, .prng = prng_seeded(options->seed), .timer_at_ns = INT64_MAX};
    c->router = (uint32_t)prng_below(&c->prng, options->router_count);
    network_attach(options->network, options->process, &handler, c);
    network_start(options->network, options->process);
    c->manners_prng = prng_seeded(options->seed ^ UINT64_C(0x6d616e6e65727300));
    if (http_client_often(c, 50))
        network_read_slowly(options->network, options->process, options->manners.read_bytes_ms);
}

void http_client_describe(const struct http_client *c, struct buffer *out)
{
    buffer_append_format(out, "; the last answer was %d %.*s\n", c->last_status,
                         TEXT_OF(c->last_error));
}

void http_client_deinit(struct http_client *c)
{
    buffer_deinit(&c->last_error);
    buffer_deinit(&c->out);
    buffer_deinit(&c->in);
}
