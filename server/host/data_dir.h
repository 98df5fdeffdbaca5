/* data_dir.h - claims a node's directory.
 *
 * No other process uses a claimed directory, and its data has the format of this program. The file
 * LOCK ensures both: it is locked, and contains the format in one line.
 * Not here: the log (host/log_dir.h), LMDB (engine/store). */
#pragma once

#include "base/buffer.h"

enum {
    /* Raised by every change of the format of items, rows or log records. */
    DATA_FORMAT = 19,
    DATA_DIR_WAIT_MS = 5000
};

/* Makes the directory if it is missing. Closing `*fd` releases the claim. A process that has the
 * directory may have been killed and be ending. So it is waited for, up to DATA_DIR_WAIT_MS, after
 * `note` (may be NULL) got a line about it. `*made`: the directory was missing, is claimed, and
 * nothing is in it. On failure `error` gets the reason. STATUS_IO; STATUS_CORRUPT: another
 * format. */
enum status data_dir_claim(const char *path, void (*note)(void *context, const char *text),
                           void *context, struct buffer *error, int *fd, bool *made);
