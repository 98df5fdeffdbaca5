/* load_response.h - HTTP answers from a stream of bytes, and what they say about a request. */
#ifndef WEIR_CMD_LOAD_RESPONSE_H
#define WEIR_CMD_LOAD_RESPONSE_H

#include <llhttp.h>

#include "base/buffer.h"

enum {
    LOAD_LABEL_SIZE_MAX = 64,
    LOAD_REASONS_MAX = 4,
    LOAD_BODY_SIZE_MAX = 16 * 1024 * 1024,
};

enum load_outcome {
    LOAD_ADMITTED,
    LOAD_REFUSED, /* throttled: the service's capacity or a limit of it */
    LOAD_FAILED,  /* any other error of the service, or none came */
};

/* What an answer says. Labels come from outside: letters, digits and .-_# only. */
struct load_verdict {
    enum load_outcome outcome;
    bool applied_unknown;            /* a write that failed may have happened */
    char error[LOAD_LABEL_SIZE_MAX]; /* the type's name without its prefix; empty if admitted */
    char reasons[LOAD_REASONS_MAX][LOAD_LABEL_SIZE_MAX]; /* of a refusal */
    int reason_count;
};

void load_verdict_of(int http_status, struct slice body, struct load_verdict *out);

/* The text of the string member `"name":"..."` first met in a body; empty if there is none. Only
 * for members whose texts hold no escapes. */
struct slice load_find_text(struct slice body, const char *name);

/* One connection's answers. */
struct load_response_reader {
    llhttp_t parser;
    struct buffer body;
    bool keep_body; /* of admitted answers too: their bytes are skipped otherwise */
    bool closes;    /* the server will close the connection */
    void (*answer)(void *context, int http_status, struct slice body);
    void *context;
};

void load_response_init(struct load_response_reader *r, bool keep_body,
                        void (*answer)(void *context, int http_status, struct slice body),
                        void *context);
void load_response_deinit(struct load_response_reader *r);

/* STATUS_MALFORMED: not HTTP; the connection is of no more use. */
enum status load_response_feed(struct load_response_reader *r, struct slice bytes);

#endif
