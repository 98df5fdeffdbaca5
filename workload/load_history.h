/* load_history.h - writes the history of a load, as JSON lines for history.h. */
#pragma once

#include <stdio.h>

#include "workload/load_request.h"
#include "workload/load_verdict.h"

/* Empty: zeroed except `file`. */
struct load_history {
    FILE *file; /* borrows */
    struct buffer line;
};

void load_history_deinit(struct load_history *h);

/* Writes the line of a request that is sent. */
void load_history_invoke(struct load_history *h, const struct load_workload_options *w,
                         const struct load_request *r);
/* Writes the line of the request's end. `answer` is the body, JSON_ABSENT if no answer came. */
void load_history_return(struct load_history *h, const struct load_request *r, int64_t now_ns,
                         const struct load_verdict *v, const struct json_value *answer);
