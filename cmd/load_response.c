#include "cmd/load_response.h"

#include <stdio.h>

/* ---- what it says ---- */

struct slice load_find_text(struct slice body, const char *name)
{
    static const struct slice none = {NULL, 0};
    char quoted[LOAD_LABEL_SIZE_MAX + 4];
    int size = snprintf(quoted, sizeof quoted, "\"%s\"", name);
    if (body.size == 0 || size < 0 || (size_t)size >= sizeof quoted)
        return none;
    const uint8_t *at = memmem(body.data, body.size, quoted, (size_t)size);
    const uint8_t *end = body.data + body.size;
    if (at == NULL)
        return none;
    at += size;
    while (at < end && (*at == ' ' || *at == ':'))
        at++;
    if (at == end || *at != '"')
        return none;
    at++;
    const uint8_t *close = memchr(at, '"', (size_t)(end - at));
    return close ? slice_make(at, (size_t)(close - at)) : none;
}

static void copy_label(struct slice from, char out[LOAD_LABEL_SIZE_MAX])
{
    size_t size = 0;
    for (size_t i = 0; i < from.size && size < LOAD_LABEL_SIZE_MAX - 1; i++) {
        char c = (char)from.data[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '-' || c == '_' || c == '#';
        out[size++] = plain ? c : '_';
    }
    out[size] = 0;
}

static bool is_throttling(const char *type)
{
    return strcmp(type, "ProvisionedThroughputExceededException") == 0 ||
           strcmp(type, "ThrottlingException") == 0 || strcmp(type, "RequestLimitExceeded") == 0;
}

static void collect_reasons(struct slice body, struct load_verdict *out)
{
    while (out->reason_count < LOAD_REASONS_MAX) {
        struct slice reason = load_find_text(body, "reason");
        if (reason.size == 0)
            return;
        copy_label(reason, out->reasons[out->reason_count++]);
        const uint8_t *after = reason.data + reason.size;
        body = slice_make(after, (size_t)(body.data + body.size - after));
    }
}

void load_verdict_of(int http_status, struct slice body, struct load_verdict *out)
{
    out->outcome = LOAD_ADMITTED;
    out->applied_unknown = false;
    out->error[0] = 0;
    out->reason_count = 0;
    if (http_status == 200)
        return;
    struct slice type = load_find_text(body, "__type");
    const uint8_t *hash = type.size ? memchr(type.data, '#', type.size) : NULL;
    if (hash != NULL)
        type = slice_make(hash + 1, type.size - (size_t)(hash + 1 - type.data));
    if (type.size > 0)
        copy_label(type, out->error);
    else
        snprintf(out->error, sizeof out->error, "http-%d", http_status);
    out->outcome = is_throttling(out->error) ? LOAD_REFUSED : LOAD_FAILED;
    out->applied_unknown = http_status >= 500;
    if (out->outcome == LOAD_REFUSED)
        collect_reasons(body, out);
}

/* ---- HTTP ---- */

static int on_begin(llhttp_t *parser)
{
    struct load_response_reader *r = parser->data;
    buffer_clear(&r->body);
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t size)
{
    struct load_response_reader *r = parser->data;
    if (parser->status_code == 200 && !r->keep_body)
        return 0;
    if (r->body.size + size > LOAD_BODY_SIZE_MAX)
        return 1;
    buffer_append(&r->body, at, size);
    return 0;
}

static int on_complete(llhttp_t *parser)
{
    struct load_response_reader *r = parser->data;
    if (!llhttp_should_keep_alive(parser))
        r->closes = true;
    r->answer(r->context, (int)parser->status_code, buffer_slice(&r->body));
    return 0;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_begin, .on_body = on_body, .on_message_complete = on_complete};

void load_response_init(struct load_response_reader *r, bool keep_body,
                        void (*answer)(void *context, int http_status, struct slice body),
                        void *context)
{
    struct buffer kept = r->body;
    buffer_clear(&kept);
    *r = (struct load_response_reader){
        .body = kept, .keep_body = keep_body, .answer = answer, .context = context};
    llhttp_init(&r->parser, HTTP_RESPONSE, &settings);
    r->parser.data = r;
}

void load_response_deinit(struct load_response_reader *r)
{
    buffer_deinit(&r->body);
}

enum status load_response_feed(struct load_response_reader *r, struct slice bytes)
{
    llhttp_errno_t error = llhttp_execute(&r->parser, (const char *)bytes.data, bytes.size);
    return error == HPE_OK ? STATUS_OK : STATUS_MALFORMED;
}
