/* api_error.c - builds the texts and the answers of faults. */
#include "router/json/api_error.h"

#include <stdarg.h>

#include "router/json/json_writer.h"

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

static void fault_append_integer(struct buffer *out, int64_t value)
{
    if (value < 0)
        buffer_append_u8(out, '-');
    buffer_append_decimal(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Why not vsnprintf: it ends a text at the first NUL, and a client may send NUL. */
static void fault_append_formatted(struct buffer *out, const char *format, va_list *arguments)
{
    for (;;) {
        const char *end = strchrnul(format, '%');
        int size;
        buffer_append(out, format, (size_t)(end - format));
        if (*end == '\0')
            return;
        format = end + 1;
        switch (*format++) {
        case '.': /* %.*s */
            size = va_arg(*arguments, int);
            must(size >= 0 && format[0] == '*' && format[1] == 's');
            buffer_append(out, va_arg(*arguments, const char *), (size_t)size);
            format += 2;
            break;
        case 's':
            buffer_append_text(out, va_arg(*arguments, const char *));
            break;
        case 'd':
            fault_append_integer(out, va_arg(*arguments, int));
            break;
        case 'u':
            fault_append_integer(out, va_arg(*arguments, unsigned));
            break;
        case 'l': /* %lld */
            must(format[0] == 'l' && format[1] == 'd');
            fault_append_integer(out, va_arg(*arguments, long long));
            format += 2;
            break;
        case 'z': /* %zu */
            must(*format++ == 'u');
            buffer_append_decimal(out, va_arg(*arguments, size_t));
            break;
        default:
            must(false); /* an unknown conversion */
        }
    }
}

bool fault_set(struct fault *f, enum fault_kind kind, const char *format, ...)
{
    f->kind = kind;
    f->alone = false;
    buffer_clear(&f->text);
    buffer_clear(&f->more);
    va_list arguments;
    va_start(arguments, format);
    fault_append_formatted(&f->text, format, &arguments);
    va_end(arguments);
    return false;
}

bool fault_set_later(struct fault *f, const char *what)
{
    return fault_invalid(f, "%s is not supported by weir yet", what);
}

const char *fault_type(enum fault_kind kind)
{
    const char *type = FAULTS[kind].type, *hash = strchr(type, '#');
    return hash != NULL ? hash + 1 : type;
}

int fault_status(enum fault_kind kind)
{
    return FAULTS[kind].status;
}

void fault_write(struct buffer *out, const struct fault *f)
{
    json_write_open(out, '{');
    json_member_text(out, "__type", FAULTS[f->kind].type);
    if (f->text.size > 0)
        json_member_string(out, FAULTS[f->kind].member, buffer_slice(&f->text));
    if (f->more.size > 0) {
        buffer_append_u8(out, ',');
        buffer_append_slice(out, buffer_slice(&f->more));
    }
    json_write_close(out, '}');
}
