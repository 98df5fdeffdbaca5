/* file_lock.h - locks a file for one process at a time, and waits for the process that has the
 * lock.
 *
 * The kernel releases a lock when its process has ended. A killed process with much memory takes
 * seconds to end: the kernel frees the memory first. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* Locks the file for as long as it is open. If another process has the lock, `note` (may be NULL)
 * is called once with that process, 0 if unknown. Then the lock is tried again for up to `wait_ms`.
 * A lock of this process itself is not waited for. STATUS_IO, errno EWOULDBLOCK: the file is
 * locked. */
enum status file_lock_take(int fd, int64_t wait_ms, void (*note)(void *context, int64_t owner),
                           void *context);
