/* query_string.c - decodes the parameters of a path and binds them to names. */
#include "router/http/query_string.h"

static int query_hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static struct slice query_decode(struct arena *arena, struct slice s)
{
    uint8_t *text = arena_alloc(arena, s.size + 1);
    size_t out = 0;
    for (size_t i = 0; i < s.size; i++) {
        int high = s.data[i] == '%' && i + 2 < s.size ? query_hex(s.data[i + 1]) : -1;
        int low = high >= 0 ? query_hex(s.data[i + 2]) : -1;
        text[out++] = low >= 0 ? (uint8_t)(high * 16 + low) : s.data[i];
        i += low >= 0 ? 2 : 0;
    }
    return slice_make(text, out);
}

static bool query_unknown(struct fault *fault, const char *const names[], struct slice name)
{
    struct buffer known = {0};
    for (size_t i = 0; names[i] != NULL; i++)
        buffer_append_format(&known, "%s%s", i > 0 ? ", " : "", names[i]);
    if (known.size == 0)
        fault_invalid(fault, "Unknown parameter '%.*s': this path takes none", SHOWN(name));
    else
        fault_invalid(fault, "Unknown parameter '%.*s': this path takes %.*s", SHOWN(name),
                      TEXT_OF(known));
    buffer_deinit(&known);
    return false;
}

static bool query_bind(const char *const names[], struct slice values[], struct slice name,
                       struct slice value, struct fault *fault)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (!slice_is(name, names[i]))
            continue;
        if (values[i].data != NULL)
            return fault_invalid(fault, "The parameter '%s' is given twice", names[i]);
        values[i] = value;
        return true;
    }
    return query_unknown(fault, names, name);
}

bool query_string_next(struct slice *query, struct arena *arena, struct slice *name,
                       struct slice *value)
{
    while (query->size > 0) {
        struct slice part = slice_cut(query, '&');
        if (part.size == 0)
            continue;
        *value = part;
        *name = slice_cut(value, '=');
        *name = query_decode(arena, *name);
        *value = query_decode(arena, *value);
        return true;
    }
    return false;
}

bool query_string_read(struct slice query, struct arena *arena, const char *const names[],
                       struct slice values[], struct fault *fault)
{
    struct slice rest = slice_cut(&query, '#'), name, value;
    for (size_t i = 0; names[i] != NULL; i++)
        values[i] = slice_make(NULL, 0);
    while (query_string_next(&rest, arena, &name, &value)) {
        if (!query_bind(names, values, name, value, fault))
            return false;
    }
    return true;
}
