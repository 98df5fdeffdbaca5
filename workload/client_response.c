/* client_response.c - answers read by llhttp. */
#include "workload/client_response.h"

#include <ctype.h>

static int response_begin(llhttp_t *parser)
{
    struct client_response *r = parser->data;
    buffer_clear(&r->body);
    r->retry_after_ms = -1;
    r->header_size = 0;
    r->header_ended = false;
    return 0;
}

/* A name may come in pieces; a value follows it. */
static int response_header(llhttp_t *parser, const char *at, size_t size)
{
    struct client_response *r = parser->data;
    if (parser->status_code == 200)
        return 0;
    if (r->header_ended)
        r->header_size = 0;
    r->header_ended = false;
    for (size_t i = 0; i < size && r->header_size < sizeof r->header; i++)
        r->header[r->header_size++] = (char)tolower((unsigned char)at[i]);
    return 0;
}

static int response_value(llhttp_t *parser, const char *at, size_t size)
{
    static const char name[] = "x-amz-retry-after";
    enum {
        RETRY_AFTER_MS_MAX = 86400000
    };
    struct client_response *r = parser->data;
    bool first = !r->header_ended;
    r->header_ended = true;
    if (parser->status_code == 200 || r->header_size != sizeof name - 1 ||
        memcmp(r->header, name, sizeof name - 1) != 0)
        return 0;
    int64_t ms = first ? 0 : r->retry_after_ms;
    for (size_t i = 0; i < size && ms >= 0; i++) {
        bool digit = at[i] >= '0' && at[i] <= '9';
        ms = digit && ms <= RETRY_AFTER_MS_MAX ? ms * 10 + (at[i] - '0') : -1;
    }
    r->retry_after_ms = ms;
    return 0;
}

static int response_body(llhttp_t *parser, const char *at, size_t size)
{
    struct client_response *r = parser->data;
    if (parser->status_code == 200 && !r->keep_body)
        return 0;
    if (r->body.size + size > CLIENT_BODY_SIZE_MAX)
        return 1;
    buffer_append(&r->body, at, size);
    return 0;
}

static int response_end(llhttp_t *parser)
{
    struct client_response *r = parser->data;
    if (!llhttp_should_keep_alive(parser))
        r->closes = true;
    buffer_reserve(&r->body, CLIENT_BODY_PADDING);
    r->answer(r->context, (int)parser->status_code, buffer_slice(&r->body));
    return 0;
}

static const llhttp_settings_t response_settings = {.on_message_begin = response_begin,
                                                    .on_header_field = response_header,
                                                    .on_header_value = response_value,
                                                    .on_body = response_body,
                                                    .on_message_complete = response_end};

void client_response_init(struct client_response *r, bool keep_body, client_answer *answer,
                          void *context)
{
    struct buffer kept = r->body;
    buffer_clear(&kept);
    *r = (struct client_response){.body = kept,
                                  .keep_body = keep_body,
                                  .retry_after_ms = -1,
                                  .answer = answer,
                                  .context = context};
    llhttp_init(&r->parser, HTTP_RESPONSE, &response_settings);
    r->parser.data = r;
}

void client_response_deinit(struct client_response *r)
{
    buffer_deinit(&r->body);
}

enum status client_response_feed(struct client_response *r, struct slice bytes)
{
    llhttp_errno_t error = llhttp_execute(&r->parser, (const char *)bytes.data, bytes.size);
    return error == HPE_OK ? STATUS_OK : STATUS_MALFORMED;
}
