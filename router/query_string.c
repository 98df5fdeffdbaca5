#include "router/query_string.h"

static int query_hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static struct slice query_decode(struct arena *arena, const char *at, size_t size)
{
    uint8_t *text = arena_alloc(arena, size + 1);
    size_t out = 0;
    for (size_t i = 0; i < size; i++) {
        int high = at[i] == '%' && i + 2 < size ? query_hex((uint8_t)at[i + 1]) : -1;
        int low = high >= 0 ? query_hex((uint8_t)at[i + 2]) : -1;
        text[out++] = low >= 0 ? (uint8_t)(high * 16 + low) : (uint8_t)at[i];
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
        fault_set(fault, FAULT_VALIDATION, "Unknown parameter '%.*s': this path takes none",
                  SHOWN(name));
    else
        fault_set(fault, FAULT_VALIDATION, "Unknown parameter '%.*s': this path takes %.*s",
                  SHOWN(name), (int)known.size, (const char *)known.data);
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
            return fault_set(fault, FAULT_VALIDATION, "The parameter '%s' is given twice",
                             names[i]);
        values[i] = value;
        return true;
    }
    return query_unknown(fault, names, name);
}

bool query_string_read(const char *path, struct arena *arena, const char *const names[],
                       struct slice values[], struct fault *fault)
{
    for (size_t i = 0; names[i] != NULL; i++)
        values[i] = slice_make(NULL, 0);
    const char *at = path + strcspn(path, "?#");
    if (*at != '?')
        return true;
    for (at++; *at != '\0' && *at != '#'; at += *at == '&') {
        size_t size = strcspn(at, "&#"), name_size = strcspn(at, "=&#");
        if (size > 0) {
            size_t value_at = name_size < size ? name_size + 1 : size;
            struct slice name = query_decode(arena, at, name_size);
            struct slice value = query_decode(arena, at + value_at, size - value_at);
            if (!query_bind(names, values, name, value, fault))
                return false;
        }
        at += size;
    }
    return true;
}

int64_t query_string_number(struct slice value)
{
    int64_t number = 0;
    if (value.size == 0 || value.size > 18)
        return -1;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return -1;
        number = number * 10 + (value.data[i] - '0');
    }
    return number;
}
