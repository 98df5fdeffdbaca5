/* body.h - a request's body becomes a text, and a large text becomes JSON beside the router's loop.
 *
 * Why beside it: unpacking and parsing 16 MB take 30 to 100 ms, and neither can be cut into steps.
 * body_run touches the body alone, so that the host may call it on another thread. What is small is
 * unpacked and parsed in the loop (serve.c). */
#pragma once

#include "base/config.h"
#include "router/http/gzip.h"
#include "router/json/api_error.h"
#include "router/json/json.h"

enum {
    BODY_LARGE_MIN = 256 * 1024 /* packed or unpacked */
};

struct body {
    enum content_coding coding;
    struct buffer packed; /* owns; empty: the text was not packed */
    size_t unpacked_max;
    struct buffer text;       /* owns; padded for the parser */
    struct json_parser *json; /* owns; NULL: not parsed, or no JSON */
    struct json_value root;   /* lends from `json` */
    enum status unpacked;     /* STATUS_TOO_LARGE, STATUS_MALFORMED: as coding_unpack */
};

/* What a packed body may have in bytes when it is unpacked. */
size_t body_unpacked_max(const struct config *config, size_t packed);
/* Sets the fault for a body that coding_unpack has refused. Always false. */
bool body_refuse(struct fault *f, const struct config *config, enum content_coding coding,
                 size_t unpacked_max, enum status refused);

/* The parser reads past the end of a text. */
static inline void body_pad(struct buffer *text)
{
    memset(buffer_reserve(text, JSON_PADDING), 0, JSON_PADDING);
}

/* Unpacks and parses. `body` is a struct body, which nobody else may use meanwhile. */
void body_run(void *body);
/* The bytes that it holds. Not while body_run is at work. */
size_t body_held(const struct body *b);
void body_deinit(struct body *b);
