#include "router/fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/must.h"
#include "router/json_writer.h"

static const struct {
    int status;
    const char *type;
    const char *member;
} FAULTS[] = {
#define X(kind, status, type, member) {status, type, member},
    FAULT_LIST(X)
#undef X
};

void fault_deinit(struct fault *f)
{
    buffer_deinit(&f->text);
    buffer_deinit(&f->more);
}

bool fault_set(struct fault *f, enum fault_kind kind, const char *format, ...)
{
    f->kind = kind;
    buffer_clear(&f->text);
    buffer_clear(&f->more);
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    must(size >= 0);
    vsnprintf((char *)buffer_reserve(&f->text, (size_t)size + 1), (size_t)size + 1, format, again);
    f->text.size = (size_t)size;
    va_end(again);
    va_end(arguments);
    return false;
}

bool fault_set_later(struct fault *f, const char *what)
{
    return fault_set(f, FAULT_VALIDATION, "%s is not supported by weir yet", what);
}

int fault_status(enum fault_kind kind)
{
    return FAULTS[kind].status;
}

int fault_shown_size(struct slice s)
{
    if (s.size <= FAULT_SHOWN_MAX)
        return (int)s.size;
    size_t size = FAULT_SHOWN_MAX;
    while (size > 0 && (s.data[size] & 0xc0) == 0x80)
        size--;
    return (int)size;
}

void fault_write(struct buffer *out, const struct fault *f)
{
    json_write_open(out, '{');
    json_member_text(out, "__type", FAULTS[f->kind].type);
    if (f->text.size > 0) {
        json_member_string(out, FAULTS[f->kind].member, buffer_slice(&f->text));
    }
    if (f->more.size > 0) {
        buffer_append_u8(out, ',');
        buffer_append_slice(out, buffer_slice(&f->more));
    }
    json_write_close(out, '}');
}
