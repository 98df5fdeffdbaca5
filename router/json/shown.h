/* shown.h - values as the service's messages show them: "Value '[a, b]' at 'attributesToGet'".
 *
 * The service prints its Java objects. It prints the RequestItems of BatchGetItem as JSON. */
#pragma once

#include "router/json/shape.h"

enum {
    SHOWN_VALUE_MAX = 16 * 1024 /* bytes of a list, map or structure; a longer one is cut off */
};

/* Appends `v`. The value need not fit the shape: it may be printed before its type is refused. */
void shown_append(struct buffer *out, const struct shape *shape, const struct json_value *v);
