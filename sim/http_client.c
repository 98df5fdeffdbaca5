/* http_client.c - requests as all clients write them (workload/client_request.h).
 *
 * Answers are read here and not by workload/client_response.h: llhttp costs 10 % of the instructions
 * of a simulated request, for bytes that come from our own router. */
#include "sim/http_client.h"

#include "base/must.h"
#include "workload/client_request.h"

/* ---- answers ---- */

static void finish(struct http_client *c, int status, struct slice body)
{
    c->calling = false;
    c->done(c->context, status, body);
}

static void hang_up(struct http_client *c)
{
    if (c->link != 0)
        network_close(c->options.network, c->link);
    c->link = 0;
    buffer_clear(&c->in);
    c->router = (uint32_t)prng_below(&c->prng, c->options.router_count);
}

static uint64_t number_at(const uint8_t *p, const uint8_t *end)
{
    uint64_t value = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        value = value * 10 + (uint64_t)(*p - '0');
    return value;
}

/* False: the answer is not whole yet. The last line of our router's head is the length, and every
 * body is an object. */
static bool parse(struct slice in, int *status, struct slice *body)
{
    static const char before_status[] = "HTTP/1.1 ", before_length[] = "Content-Length: ";
    const size_t name_size = sizeof before_length - 1;
    const uint8_t *end = in.data + in.size, *text = memchr(in.data, '{', in.size);
    if (text == NULL)
        return false;
    const uint8_t *length = text - strlen("\r\n\r\n");
    while (length[-1] != ' ')
        length--;
    must(memcmp(length - name_size, before_length, name_size) == 0);
    size_t size = number_at(length, end);
    if ((size_t)(end - text) < size)
        return false;
    *status = (int)number_at(in.data + sizeof before_status - 1, end);
    *body = slice_make(text, size);
    return true;
}

static void received(void *context, uint64_t link, struct slice bytes)
{
    struct http_client *c = context;
    int status;
    struct slice body;
    if (link != c->link)
        return;
    must(c->calling); /* nothing was asked */
    if (c->in.size == 0 && parse(bytes, &status, &body)) {
        finish(c, status, body);
        return;
    }
    buffer_append_slice(&c->in, bytes);
    if (!parse(buffer_slice(&c->in), &status, &body))
        return;
    struct buffer whole = c->in;
    c->in = (struct buffer){0};
    finish(c, status, body);
    buffer_deinit(&whole);
}

static void closed(void *context, uint64_t link, bool gone)
{
    struct http_client *c = context;
    (void)gone;
    if (link != c->link)
        return;
    c->link = 0;
    hang_up(c);
    if (c->calling)
        finish(c, HTTP_CLIENT_LOST, slice_make(NULL, 0));
}

/* One timer for all calls: it runs on while they come and go. */
static void timer(void *context, uint64_t timer_at)
{
    struct http_client *c = context;
    if ((int64_t)timer_at != c->timer_at_ns)
        return;
    c->timer_at_ns = INT64_MAX;
    if (!c->calling)
        return;
    if (c->options.scheduler->now.ns < c->deadline_ns) {
        c->timer_at_ns = c->deadline_ns;
        scheduler_at(c->options.scheduler, (struct instant){c->deadline_ns}, timer, c,
                     (uint64_t)c->deadline_ns);
        return;
    }
    hang_up(c);
    finish(c, HTTP_CLIENT_TIMEOUT, slice_make(NULL, 0));
}

static void start_timer(struct http_client *c, struct duration timeout)
{
    c->deadline_ns = instant_add(c->options.scheduler->now, timeout).ns;
    if (c->timer_at_ns <= c->deadline_ns)
        return;
    c->timer_at_ns = c->deadline_ns;
    scheduler_at(c->options.scheduler, (struct instant){c->deadline_ns}, timer, c,
                 (uint64_t)c->deadline_ns);
}

/* ---- calls ---- */

static void write_request(struct http_client *c, const char *operation, struct slice body)
{
    buffer_clear(&c->out);
    client_write_head(&c->out, "sim", 0, operation, true);
    client_write_length(&c->out, body.size);
    buffer_append_slice(&c->out, body);
}

static bool send_out(struct http_client *c)
{
    struct slice rest = buffer_slice(&c->out);
    if (c->options.split_per_million > 0 &&
        prng_below(&c->prng, 1000000) < c->options.split_per_million) {
        size_t first = 1 + prng_below(&c->prng, rest.size - 1);
        if (!network_send(c->options.network, c->link, slice_make(rest.data, first)))
            return false;
        rest = slice_make(rest.data + first, rest.size - first);
    }
    return network_send(c->options.network, c->link, rest);
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
    write_request(c, operation, body);
    c->calling = true;
    if (c->link == 0 || !send_out(c)) {
        hang_up(c);
        finish(c, HTTP_CLIENT_NOT_SENT, slice_make(NULL, 0));
        return;
    }
    start_timer(c, timeout);
}

/* ---- life ---- */

static void accepted(void *context, uint64_t link, uint32_t from)
{
    (void)context;
    (void)link;
    must(from == 0); /* nobody dials a client */
}

static void datagram(void *context, uint32_t from, struct slice frame)
{
    (void)context;
    (void)frame;
    must(from == 0);
}

void http_client_init(struct http_client *c, const struct http_client_options *options)
{
    static const struct network_handler handler = {accepted, received, closed, datagram};
    *c = (struct http_client){
        .options = *options, .prng = prng_seeded(options->seed), .timer_at_ns = INT64_MAX};
    c->router = (uint32_t)prng_below(&c->prng, options->router_count);
    network_attach(options->network, options->process, &handler, c);
    network_start(options->network, options->process);
}

void http_client_deinit(struct http_client *c)
{
    buffer_deinit(&c->out);
    buffer_deinit(&c->in);
}
