/* reply_validation.h - whether the items and records of a node's reply are well-formed.
 *
 * The readers of items trust their structure, and a faulty node may send anything. */
#pragma once

#include <stdbool.h>

struct reply;

bool reply_items_are_valid(const struct reply *reply);
