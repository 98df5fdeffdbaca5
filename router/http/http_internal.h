/* http_internal.h - functions that the files of the HTTP parser share. */
#pragma once

#include <strings.h>

#include "router/http/http.h"

/* ---- http.c ---- */

/* The first byte of a request has come. */
void http_request_begin(struct http *h);
/* The last byte of the request has come. */
void http_request_end(struct http *h);

/* ---- head.c ---- */

void http_head_clear(struct http_head *head);

/* Whether `s` is `text`, which is in lower case and not empty, in any case. Compares the last
 * characters first: most names differ there. */
static inline bool http_is(struct slice s, const char *text)
{
    return s.size == strlen(text) && (s.data[s.size - 1] | 0x20) == (text[s.size - 1] | 0x20) &&
           strncasecmp((const char *)s.data, text, s.size) == 0;
}

/* Takes a header line that the router reads in every request. False: any other line. `at`: the
 * position that the value has, or will have, in the head's text. */
bool http_head_take(struct http_head *head, struct slice name, struct slice value, size_t at);

/* Checks the complete head, and finds path and query in its target. */
enum http_refusal http_head_check(struct http_head *head);

/* ---- plain.c ---- */

/* Takes the head, if `bytes` begins with a whole plain request. False: llhttp must read it. */
bool http_plain_begins(struct http *h, struct slice bytes, size_t *taken);
/* Takes the body of the plain request whose head was taken. */
enum http_event http_plain_ends(struct http *h, struct slice bytes, size_t *taken);
