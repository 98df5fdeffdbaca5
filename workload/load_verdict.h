/* load_verdict.h - the outcome of a request, from its answer. */
#pragma once

#include "router/json/json.h"

enum {
    LOAD_LABEL_SIZE_MAX = 64,
    LOAD_REASONS_MAX = 4,
    LOAD_MESSAGE_SIZE_MAX = 400,
};

enum load_outcome {
    LOAD_ADMITTED,
    LOAD_REFUSED, /* throttled by the service's capacity or by a limit */
    LOAD_FAILED,  /* any other error of the service, or no answer */
};

/* Labels come from outside; only letters, digits and .-_# are kept. */
struct load_verdict {
    enum load_outcome outcome;
    bool applied_unknown;            /* a failed write may have taken effect */
    char error[LOAD_LABEL_SIZE_MAX]; /* the type's name without its prefix; empty if admitted */
    char reasons[LOAD_REASONS_MAX][LOAD_LABEL_SIZE_MAX]; /* of a refusal */
    int reason_count;
    char message[LOAD_MESSAGE_SIZE_MAX]; /* of a failure, in printable characters; may be empty */
};

/* `answer` is the body; JSON_ABSENT: not JSON. */
void load_verdict_of(int http_status, const struct json_value *answer, struct load_verdict *out);
