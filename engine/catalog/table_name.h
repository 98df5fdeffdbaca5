/* table_name.h - which names tables and their key attributes may have.
 *
 * Not here: the shortest name that the service takes (router/json/shape.c). */
#pragma once

#include "base/slice.h"

/* Letters, digits, _, - and . as in DynamoDB; 1 to TABLE_NAME_SIZE_MAX of them. Why no others:
 * names appear in pages and log lines. */
bool table_name_is_valid(struct slice name);
/* UTF-8 of at most KEY_NAME_SIZE_MAX bytes. The empty name: the table has no such key. */
bool key_name_is_valid(struct slice name);
