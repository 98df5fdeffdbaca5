/* text_fields.h - the texts of workloads: a name, then fields separated by colons
 * ("spike:100:5k:60:30").
 *
 * Parsers of such texts return NULL, or the fault: a static text that tells what is allowed. */
#pragma once

#include "base/fields.h"

enum {
    TEXT_FIELD_SIZE_MAX = 64
};

/* Whether `text` is `name`, alone or followed by a colon. `*rest` is the text behind the colon, or
 * NULL without a colon. */
static inline bool text_begins(const char *text, const char *name, const char **rest)
{
    size_t size = strlen(name);
    if (strncmp(text, name, size) != 0 || (text[size] != 0 && text[size] != ':'))
        return false;
    *rest = text[size] == ':' ? text + size + 1 : NULL;
    return true;
}

/* Copies the next field, and moves `*text` behind its colon (to NULL behind the last field). False:
 * there is none, or it is empty or too long. */
static inline bool text_field(const char **text, char out[TEXT_FIELD_SIZE_MAX])
{
    if (*text == NULL)
        return false;
    size_t size = strcspn(*text, ":");
    if (size == 0 || size >= TEXT_FIELD_SIZE_MAX)
        return false;
    memcpy(out, *text, size);
    out[size] = 0;
    *text = (*text)[size] == ':' ? *text + size + 1 : NULL;
    return true;
}

/* The fields as numbers (k and M: times 1,000 and 1,000,000). Returns how many; -1: a field is no
 * number, or there are more than `max`. */
static inline int text_numbers(const char *text, double *out, int max)
{
    char field[TEXT_FIELD_SIZE_MAX];
    int count = 0;
    while (text != NULL) {
        if (count == max || !text_field(&text, field) || !field_parse_real(field, &out[count]))
            return -1;
        count++;
    }
    return count;
}

/* Seconds to nanoseconds; false: below a millisecond, or above 1e8 s (3 years). */
static inline bool text_seconds(double seconds, int64_t *out_ns)
{
    if (!(seconds >= 1e-3 && seconds <= 1e8))
        return false;
    *out_ns = (int64_t)(seconds * 1e9 + 0.5);
    return true;
}
