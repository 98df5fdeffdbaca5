/* query_string.h - the parameters behind the `?` of a path: table=users&after=7.
 *
 * Bytes from outside: any string is taken apart, nothing is trusted. Names and values are
 * percent-decoded; `+` stands for itself. A name without `=` has an empty value. */
#ifndef WEIR_ROUTER_HTTP_QUERY_STRING_H
#define WEIR_ROUTER_HTTP_QUERY_STRING_H

#include "base/arena.h"
#include "router/api_error.h"

/* values[i] gets the value of names[i], with data NULL if it is absent; names end in NULL. Refuses
 * a parameter that is not among them, and one given twice, by name. */
bool query_string_read(struct slice query, struct arena *arena, const char *const names[],
                       struct slice values[], struct fault *fault);

/* A whole number of at most 18 digits; -1: the value is anything else. */
int64_t query_string_number(struct slice value);

#endif
