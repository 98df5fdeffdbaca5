/* limiter_error.c - the JSON of errors, and their codes and statuses. */
#include "router/limiter/limiter_error.h"

#include <stdarg.h>
#include <stdio.h>

#include "router/json/json_writer.h"

bool limiter_error_invalid(struct call *c, const char *field, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct fault *f = call_fault(c);
    fault_set(f, FAULT_VALIDATION, "%s: %s", field, text);
    json_member_text(&f->more, "field", field);
    return false;
}

static const struct {
    enum fault_kind kind;
    int status;
    const char *code;
} CODES[] = {{FAULT_VALIDATION, 400, "invalid"},
             {FAULT_SERIALIZATION, 400, "invalid"},
             {FAULT_MALFORMED_HTTP, 400, "invalid"},
             {FAULT_NOT_FOUND, 404, "no_limits"},
             {FAULT_IN_USE, 409, "lease_used"},
             {FAULT_EXPIRED_ITERATOR, 409, "lease_over"},
             {FAULT_TOKEN_MISMATCH, 409, "token_mismatch"},
             {FAULT_UNKNOWN_OPERATION, 404, "not_found"},
             {FAULT_NOT_IMPLEMENTED, 405, "method_not_allowed"},
             {FAULT_UNAVAILABLE, 503, "unavailable"},
             {FAULT_THROUGHPUT, 503, "unavailable"},
             {FAULT_THROTTLING, 503, "unavailable"},
             {FAULT_CONFLICT, 503, "unavailable"},
             {FAULT_IN_PROGRESS, 503, "unavailable"},
             {FAULT_CANCELED, 503, "unavailable"},
             {FAULT_FORBIDDEN, 403, "forbidden"},
             {FAULT_TOO_LARGE, 413, "too_large"},
             {FAULT_TARGET_TOO_LONG, 414, "target_too_long"},
             {FAULT_HEADERS_TOO_LARGE, 400, "invalid"},
             {FAULT_TIMEOUT, 408, "timeout"},
             {FAULT_INTERNAL, 503, "unavailable"}};

/* What has no row of its own is a fault of the store: the last row. */
static size_t limiter_error_row(const struct fault *f)
{
    size_t i = 0;
    while (i + 1 < COUNT_OF(CODES) && CODES[i].kind != f->kind)
        i++;
    return i;
}

int limiter_error_status(const struct fault *f)
{
    return CODES[limiter_error_row(f)].status;
}

void limiter_error_write(struct buffer *out, const struct fault *f)
{
    json_write_open_with(out, "error", '{');
    json_member_text(out, "code", CODES[limiter_error_row(f)].code);
    json_member_string(out, "message", buffer_slice(&f->text));
    if (f->more.size > 0) {
        buffer_append_u8(out, ',');
        buffer_append_slice(out, buffer_slice(&f->more));
    }
    json_write_closes(out, "}}");
}

int limiter_error_answer(struct call *c, const struct fault *f)
{
    const int status = limiter_error_status(f);
    limiter_error_write(&c->body, f);
    if (status == 503)
        c->lines = slice_of("\r\nRetry-After: 1");
    return status;
}
