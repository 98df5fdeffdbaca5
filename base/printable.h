/* printable.h - texts of outside bytes, for a line on a terminal.
 *
 * Promise: what is appended neither ends the line nor changes the order in which it is read. */
#pragma once

#include "base/buffer.h"

/* Appends the text with a question mark for each control character, for each mark of the direction
 * of text, and for line and paragraph separators. Other bytes stay as they are. */
void buffer_append_printable(struct buffer *out, struct slice text);
