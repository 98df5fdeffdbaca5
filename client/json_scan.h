/* json_scan.h - reads a JSON text from front to back, in place; no allocation.
 *
 * Promises: hostile text causes a failure, never a crash. A scan that has failed stays failed, and
 * gives zeros and empty texts; so a reader checks `failed` once, at its end. Texts are unescaped
 * where they stand and ended by a NUL; a text with \u0000 is a failure. Lifetime: texts lend from
 * the bytes. Not here: whether bytes are UTF-8; which members an answer must have. */
#pragma once

#include "base/slice.h"

enum {
    JSON_SCAN_DEPTH_MAX = 32 /* nested values that are skipped */
};

struct json_scan {
    char *at;  /* the next byte */
    char *end; /* a byte that may be written */
    bool failed;
};

/* `text` has `size` bytes, and one more that may be written. */
struct json_scan json_scan_of(char *text, size_t size);

/* Before a list or an object: `c` is [ or {. Then json_scan_more before each element. */
void json_scan_enter(struct json_scan *s, char c);
/* Whether another element follows; `c` is the ] or } that ends them. `*first` is true before the
 * first. */
bool json_scan_more(struct json_scan *s, char c, bool *first);

/* The name of a member; its value comes next. */
const char *json_scan_name(struct json_scan *s);
const char *json_scan_text(struct json_scan *s);
/* A number, times 1000. A number of more than 15 digits is read as the largest of 15, and further
 * decimals are cut off: an answer must not become unreadable by a number that is only shown. */
int64_t json_scan_thousandths(struct json_scan *s);
int64_t json_scan_whole(struct json_scan *s);
/* Any value. */
void json_scan_skip(struct json_scan *s);
/* Nothing but blanks may follow. */
void json_scan_finish(struct json_scan *s);
