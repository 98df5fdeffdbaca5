/* load_history.h - the history of a load, as JSON lines: what history.h reads back. */
#ifndef WEIR_WORKLOAD_LOAD_HISTORY_H
#define WEIR_WORKLOAD_LOAD_HISTORY_H

#include <stdio.h>

#include "workload/load_request.h"
#include "workload/load_verdict.h"

/* Zeroed but for `file`: empty. */
struct load_history {
    FILE *file; /* borrows */
    struct buffer line;
};

void load_history_deinit(struct load_history *h);

/* A request goes out. */
void load_history_invoke(struct load_history *h, const struct load_workload_options *w,
                         const struct load_request *r);
/* It has ended; `answer` is the body, JSON_ABSENT if none came. */
void load_history_return(struct load_history *h, const struct load_request *r, int64_t now_ns,
                         const struct load_verdict *v, const struct json_value *answer);

#endif
