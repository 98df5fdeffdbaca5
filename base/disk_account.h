/* disk_account.h - what the stores of one process may still take of a disk that they share.
 *
 * Each store has a share. The share has the store's need: the bytes that accepted writes will take.
 * The free bytes of the disk are divided: the quota of a store is its need, and an equal part of
 * the rest.
 *
 *   free 100, and three stores need 10, 0 and 30: 60 are left, and the quotas are 30, 20 and 50
 *
 * Each measurement divides anew for all stores. So a quota that is not used up shrinks when
 * others use the disk, and grows when they free it.
 *
 * Invariants
 *   SHARE-1  After each measurement, quotas and segments that are being made are together at
 *            most what is free. What a store writes reduces its quota and the disk alike.
 *   SHARE-2  A quota is at least the need and an equal part of what nobody needs. If the needs
 *            exceed what is free, the quotas are in the proportion of the needs.
 *   SHARE-3  A store reduces its need only after a measurement that follows its write.
 * Threads: all functions may be called by any thread. A lock is held while the disk is asked.
 * disk_share_set_need and disk_share_quota take no lock.
 * Not here: processes that do not share the account. The next measurement sees what they took. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct disk_account;
struct disk_share;

/* `free_bytes` asks the disk. UINT64_MAX: the disk does not tell. */
struct disk_account *disk_account_create(uint64_t (*free_bytes)(void *context), void *context);
/* All shares have left. NULL: does nothing. */
void disk_account_destroy(struct disk_account *a);

struct disk_share *disk_account_join(struct disk_account *a);
/* NULL: does nothing. */
void disk_share_leave(struct disk_share *s);

/* Bytes by which the store may grow. */
uint64_t disk_share_quota(const struct disk_share *s);
/* Bytes by which accepted writes may make the store grow. After a reduction (SHARE-3) call
 * disk_share_settle. */
void disk_share_set_need(struct disk_share *s, uint64_t bytes);
/* Asks the disk, and divides. */
void disk_share_measure(struct disk_share *s);
/* Divides what the disk had when it was last asked. */
void disk_share_settle(struct disk_share *s);

/* Takes the bytes for a file that is about to be made. They are in no store's quota any more. */
void disk_account_take(struct disk_account *a, uint64_t bytes);
/* Takes the bytes if `kept_each` bytes are left for each store beside its need. False: takes
 * nothing. */
bool disk_account_take_ahead(struct disk_account *a, uint64_t bytes, uint64_t kept_each);
/* The file that they were taken for is there, or was given up. */
void disk_account_taken(struct disk_account *a, uint64_t bytes);
/* Whether the disk had so many bytes beside `kept_each` for each store and its need, when it was
 * last asked. */
bool disk_account_has(struct disk_account *a, uint64_t bytes, uint64_t kept_each);
