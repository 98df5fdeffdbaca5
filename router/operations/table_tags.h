/* table_tags.h - tags in requests and in answers.
 *
 * The tags weir:gac and weir:weight are settings of a table; only CreateTable may set them. The tag
 * weir:key-sharding (KEY_SHARDING_TAG) may be set, changed and removed. Other keys that begin with
 * weir: are refused: they may be misspelled. */
#pragma once

#include "router/core/operation.h"

/* For CreateTable: puts all tags into spec->tags (in the call's arena), and the settings of weir's
 * tags into the spec. The spec's keys must be set before. */
bool table_tags_create(struct call *c, const struct json_value *list, struct table_spec *spec);

/* For TagResource (`list`: tags) and UntagResource (`remove`; `list`: keys). */
bool table_tags_change(struct call *c, const struct json_value *list, bool remove,
                       struct table_spec *spec);

/* Writes [{"Key": ..., "Value": ...}, ...]. */
void table_tags_write(struct buffer *out, const struct table *t);
