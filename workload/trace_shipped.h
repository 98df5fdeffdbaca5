/* trace_shipped.h - the traces that come with weir, as texts in the program (workload/traces/).
 *
 * weir:NAME stands for the path of such a trace, wherever a trace is named. A file of that name is
 * ./weir:NAME. */
#pragma once

#include "base/buffer.h"

struct trace_shipped {
    const char *name; /* of the file, without .trace */
    struct slice text;
};

/* In the order of the files. The build writes them (workload/traces.cmake). */
extern const struct trace_shipped trace_shipped[];
extern const size_t trace_shipped_count;

/* Whether the path is weir:NAME. */
bool trace_is_shipped(const char *path);
/* NULL: no trace has this name, and `error` gets one line. The path is weir:NAME. */
const struct trace_shipped *trace_shipped_find(const char *path, struct buffer *error);
