/* table_tags.h - tags as requests bring them and as answers tell them.
 *
 * The tags weir:gac and weir:item-collections steer a table, and only CreateTable may give them.
 * Other keys that begin with weir: are refused, so that a slip of the pen is not taken for a tag.
 */
#ifndef WEIR_ROUTER_OPERATIONS_TABLE_TAGS_H
#define WEIR_ROUTER_OPERATIONS_TABLE_TAGS_H

#include "router/operations/operation.h"

/* CreateTable: all of them into spec->tags, from the call's arena, and what those of weir say into
 * the spec, whose keys are known already. */
bool table_tags_create(struct call *c, const struct json_value *list, struct table_spec *spec);

/* TagResource (`list`: tags) and UntagResource (`remove`; `list`: keys). */
bool table_tags_change(struct call *c, const struct json_value *list, bool remove,
                       struct table_spec *spec);

/* [{"Key": .., "Value": ..}, ..] */
void table_tags_write(struct buffer *out, const struct table *t);

#endif
