/* readable.h - whether what a node has answered can be read.
 *
 * The readers of items trust their structure, and a faulty node may send anything. */
#pragma once

#include <stdbool.h>

struct reply;

bool reply_is_readable(const struct reply *reply);
