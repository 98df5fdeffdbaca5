/* value_words.h - the words for a malformed number, and for a set that has an element twice.
 *
 * The service's words differ by the region and by the operation. Of ":a":{"N":"x"} they are
 *   older     ExpressionAttributeValues contains invalid value: The parameter cannot be converted
 *             to a numeric value: x for key :a
 *   bare      The parameter cannot be converted to a numeric value: x
 *   prefixed  1 validation error detected: The parameter cannot be converted to a numeric value: x
 * weir has the words that most regions had on 2026-10-07. The table in value_words.c is the whole
 * choice: the form of each operation, and the texts.
 * Not here: PartiQL's literals (router/partiql/literal.c). */
#pragma once

#include "base/arena.h"
#include "engine/item/item.h"
#include "engine/item/number.h"
#include "router/json/api_error.h"
#include "router/json/json.h"

/* Both set the fault in the words of fault->operation, and return false. fault->alone tells whether
 * the text must not be put behind "ExpressionAttributeValues contains invalid value". */
bool value_refuse_number(struct fault *fault, enum number_error why, struct slice text);
/* `list` is the set as it came. */
bool value_refuse_repeat(struct fault *fault, enum attr_type set, const struct json_value *list);
