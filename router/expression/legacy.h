/* legacy.h - the parameters that DynamoDB had before expressions. They become the same trees.
 *
 * A condition on an attribute means what the expression of the same name means, with one exception:
 * NOT_CONTAINS does not hold if the item has no such attribute.
 * Source: DynamoDB developer guide, "Legacy conditional parameters". */
#pragma once

#include "engine/expression/key_condition.h"
#include "engine/expression/projection.h"
#include "engine/expression/update.h"
#include "router/json/api_error.h"
#include "router/json/json.h"

/* All trees lend from the arena. False: the fault is set. */

/* Reads Expected. `any`: ConditionalOperator is OR. NULL: no condition. */
bool legacy_read_expected(struct arena *arena, const struct json_value *map, bool any,
                          const struct condition **out, struct fault *fault);
/* Reads QueryFilter or ScanFilter. */
bool legacy_read_filter(struct arena *arena, const struct json_value *map, bool any,
                        const struct condition **out, struct fault *fault);
/* Reads KeyConditions. */
bool legacy_read_keys(struct arena *arena, const struct json_value *map, struct key_conditions *out,
                      struct fault *fault);
/* Reads AttributesToGet. */
bool legacy_read_attributes(struct arena *arena, const struct json_value *list,
                            const struct projection **out, struct fault *fault);
/* Reads AttributeUpdates. */
bool legacy_read_updates(struct arena *arena, const struct json_value *map,
                         const struct update **out, struct fault *fault);
