/* shapes.h - shapes that several operations' inputs share.
 * Source: the service model, DynamoDB 2012-08-10. */
#ifndef WEIR_ROUTER_OPERATIONS_SHAPES_H
#define WEIR_ROUTER_OPERATIONS_SHAPES_H

#include "base/limits.h"
#include "router/json/shape.h"

extern const struct shape shape_table_name; /* with its constraints */
extern const struct shape
    shape_plain_table_name; /* checked first, in other words: only the pattern */
extern const struct shape shape_string;
extern const struct shape shape_boolean_value;
extern const struct shape shape_anything;
extern const struct shape shape_attribute_map; /* an item or a key */
extern const struct shape shape_return_consumed;
extern const struct shape shape_return_metrics;
extern const struct shape shape_return_values;
extern const struct shape shape_select;
extern const struct shape shape_limit;
extern const struct shape shape_name_map; /* ExpressionAttributeNames */
extern const struct shape shape_throughput;

#endif
