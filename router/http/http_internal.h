/* http_internal.h - what the files of the HTTP parser share. */
#ifndef WEIR_ROUTER_HTTP_HTTP_INTERNAL_H
#define WEIR_ROUTER_HTTP_HTTP_INTERNAL_H

#include "router/http/http.h"

/* ---- http.c ---- */

/* A request's first byte has come. */
void http_request_begin(struct http *h);
/* Its last byte has come. */
void http_request_end(struct http *h);

/* ---- head.c ---- */

void http_head_clear(struct http_head *head);

/* `name` is `field`, which is in lower case. Most names differ at their ends. */
bool http_is_field(const char *field, const char *name, size_t size);

/* Without blanks at its ends. */
struct slice http_trimmed(struct slice s);

/* Takes from a header line what the router wants to know of every request. False: the line says
 * nothing to it. `at`: where the value stands in the head's text, or will stand. */
bool http_head_take(struct http_head *head, struct slice name, struct slice value, size_t at);

/* All lines are there: what is wrong with them. */
enum http_refusal http_head_check(struct http_head *head);

/* ---- plain.c ---- */

/* A plain request stands in `bytes`, whole: its head is taken. False: nothing has changed. */
bool http_plain_begins(struct http *h, struct slice bytes, size_t *taken);
/* The body of the plain request whose head was taken. */
enum http_event http_plain_ends(struct http *h, struct slice bytes, size_t *taken);

#endif
