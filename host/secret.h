/* secret.h - reading the secret of a cluster. */
#pragma once

#include "base/buffer.h"

/* Appends the file's content without line ends at its end. STATUS_IO, STATUS_MALFORMED: `error`
 * gets one line. The faults are:
 *   - the file cannot be read
 *   - others may read it (its mode is not 0600 or less)
 *   - it is shorter than SECRET_SIZE_MIN or longer than SECRET_SIZE_MAX (greeting.h) */
enum status secret_read(const char *path, struct buffer *out, struct buffer *error);
