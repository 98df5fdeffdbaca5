/* status.h - failures that are not bugs of weir. A code exists only if a caller acts on it. */
#pragma once

#include <stdbool.h>

#define STATUS_LIST(X)                          \
    X(STATUS_OK, "ok")                          \
    X(STATUS_NO_MEMORY, "out of memory")        \
    X(STATUS_IO, "input/output error")          \
    X(STATUS_CORRUPT, "stored data is damaged") \
    X(STATUS_FULL, "disk or map is full")       \
    X(STATUS_MALFORMED, "malformed input")      \
    X(STATUS_TOO_LARGE, "too large")            \
    X(STATUS_NOT_FOUND, "not found")            \
    X(STATUS_PENDING, "not yet; the answer follows")

enum status {
#define X(code, text) code,
    STATUS_LIST(X)
#undef X
};

/* Whether a write or an allocation that failed with this errno found no space: on the disk
 * (ENOSPC), in a quota (EDQUOT), or below the largest file that the process may write (EFBIG).
 * Nothing else looks for these three (tools/tidy). */
bool status_is_no_space(int error);
/* The code's text: a static string. */
const char *status_text(enum status status);
