/* data_dir.h - a node's directory, claimed: nobody else uses it, and what is in it has the form
 * that this program reads. The file LOCK stands for both: it is locked, and says the form in a
 * line. Not here: the log (host/log_dir.h), LMDB (engine/store). */
#ifndef WEIR_SERVER_HOST_DATA_DIR_H
#define WEIR_SERVER_HOST_DATA_DIR_H

#include "base/buffer.h"
#include "base/status.h"

enum {
    /* Goes up with every change of what is on disk: items, rows, log records. */
    DATA_FORMAT = 8,
    DATA_DIR_WAIT_MS = 5000
};

/* Makes the directory if there is none. `*fd`: closing it gives the directory up. A process that
 * has it is waited for, DATA_DIR_WAIT_MS at most, after `note` (may be NULL) got a line that says
 * so: it may have been killed, and be ending. Otherwise `error` tells why: STATUS_IO;
 * STATUS_CORRUPT: another form. */
enum status data_dir_claim(const char *path, void (*note)(void *context, const char *text),
                           void *context, struct buffer *error, int *fd);

#endif
