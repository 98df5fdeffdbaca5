/* client_response.c - answers read by llhttp. */
#include "workload/client_response.h"

static int response_begin(llhttp_t *parser)
{
    struct client_response *r = parser->data;
    buffer_clear(&r->body);
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
                                                    .on_body = response_body,
                                                    .on_message_complete = response_end};

void client_response_init(struct client_response *r, bool keep_body, client_answer *answer,
                          void *context)
{
    struct buffer kept = r->body;
    buffer_clear(&kept);
    *r = (struct client_response){
        .body = kept, .keep_body = keep_body, .answer = answer, .context = context};
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
