/* load_verdict.h - what an answer says about the request of a load. */
#ifndef WEIR_WORKLOAD_LOAD_VERDICT_H
#define WEIR_WORKLOAD_LOAD_VERDICT_H

#include "router/json/json.h"

enum {
    LOAD_LABEL_SIZE_MAX = 64,
    LOAD_REASONS_MAX = 4,
};

enum load_outcome {
    LOAD_ADMITTED,
    LOAD_REFUSED, /* throttled: the service's capacity or a limit of it */
    LOAD_FAILED,  /* any other error of the service, or none came */
};

/* Labels come from outside: letters, digits and .-_# only. */
struct load_verdict {
    enum load_outcome outcome;
    bool applied_unknown;            /* a write that failed may have happened */
    char error[LOAD_LABEL_SIZE_MAX]; /* the type's name without its prefix; empty if admitted */
    char reasons[LOAD_REASONS_MAX][LOAD_LABEL_SIZE_MAX]; /* of a refusal */
    int reason_count;
};

/* `answer` is the body; JSON_ABSENT: it is no JSON. */
void load_verdict_of(int http_status, const struct json_value *answer, struct load_verdict *out);

#endif
