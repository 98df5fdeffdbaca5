/* query_string.h - the parameters after the `?` of a path: table=users&after=7.
 *
 * The string comes from outside and may hold any bytes. Names and values are percent-decoded; `+`
 * stands for itself. A name without `=` has an empty value. */
#pragma once

#include "base/arena.h"
#include "router/json/api_error.h"

/* Takes the next parameter off the query. False: there is none. Name and value are in the arena. */
bool query_string_next(struct slice *query, struct arena *arena, struct slice *name,
                       struct slice *value);

/* values[i] gets the value of names[i]; data NULL: absent. `names` ends in NULL. Refuses a
 * parameter that is not in `names` or is given twice; the error names the parameter. */
bool query_string_read(struct slice query, struct arena *arena, const char *const names[],
                       struct slice values[], struct fault *fault);
