/* disks.h - the disks on which the nodes of a process have their directories: an account for each.
 *
 * Directories of one device have one account. Not here: the quotas (base/disk_account.h). */
#pragma once

#include "base/disk_account.h"

struct disks;

struct disks *disks_create(void);
/* All shares have left. NULL: does nothing. */
void disks_destroy(struct disks *d);

/* The account of the disk that has the directory. Lends until disks_destroy. NULL with errno set:
 * the directory cannot be opened. */
struct disk_account *disks_find(struct disks *d, const char *directory);
