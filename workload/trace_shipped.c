/* trace_shipped.c - finds a shipped trace. */
#include "workload/trace_shipped.h"

#include <string.h>

#include "base/fields.h"

static const char shipped_prefix[] = "weir:";

bool trace_is_shipped(const char *path)
{
    return strncmp(path, shipped_prefix, sizeof shipped_prefix - 1) == 0;
}

const struct trace_shipped *trace_shipped_find(const char *path, struct buffer *error)
{
    must(trace_is_shipped(path));
    const char *name = path + sizeof shipped_prefix - 1;
    const size_t place = NAME_PLACE(name, trace_shipped, trace_shipped_count);
    if (place < trace_shipped_count)
        return &trace_shipped[place];
    buffer_append_format(error, "there is no trace `%s`: weir has", path);
    for (size_t i = 0; i < trace_shipped_count; i++)
        buffer_append_format(error, "%s %s%s", i > 0 ? "," : "", shipped_prefix,
                             trace_shipped[i].name);
    return NULL;
}
