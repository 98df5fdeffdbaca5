/* csv.h - texts in files of comma-separated values (RFC 4180). */
#pragma once

#include "base/buffer.h"

/* In quotation marks, whatever it has. */
void csv_append_text(struct buffer *out, struct slice text);
