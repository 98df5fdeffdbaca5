/* file_lock.h - a file that one process at a time has locked, and waiting for the one that has it.
 *
 * The kernel gives a lock up when its process has ended. A process that was killed takes a while to
 * end: its memory is taken apart first, seconds where that is large. */
#ifndef WEIR_HOST_FILE_LOCK_H
#define WEIR_HOST_FILE_LOCK_H

#include <stdint.h>

#include "base/status.h"

/* The process that has the file locked; 0: nobody, or it cannot be told. */
int64_t file_lock_owner(int fd);

/* Locks the file for as long as it is open. Where another process has it, `note` (may be NULL) is
 * called once with that process, 0 if it cannot be told, and then it is tried again for up to
 * `wait_ms`. This process's own lock is not waited for. STATUS_IO, errno EWOULDBLOCK: it is taken.
 */
enum status file_lock_take(int fd, int64_t wait_ms, void (*note)(void *context, int64_t owner),
                           void *context);

#endif
