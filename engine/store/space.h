/* space.h - how much a backing can still take: pages that are used, pages that are free, and the
 * largest size that it may get on its disk and within its map.
 *
 * A tenth is the reserve; of a small total it is more. Writes that grow the data end before it.
 * Deletions, updates that shrink, checkpoints, the catalog and Raft use it: so a full node gets
 * empty again by requests, without a restart.
 * A free page is as good as any other: no value needs pages that lie side by side (lmdb_parts.h).
 * Only the list of the pages that a checkpoint frees does, so checkpoints are small where free
 * pages lie apart.
 * Stores of one process share a disk: the total moves while others use it (base/disk_account.h).
 * A checkpoint writes pages anew before it frees the old ones: its cost is reckoned, too. What one
 * checkpoint frees counts as used until the next one may use it.
 *
 * Invariants
 *   SPACE-1  What grows is refused while less than the reserve is free.
 *   SPACE-2  What makes room is refused only where a checkpoint could not be written. All else
 *            leaves it a part of each checkpoint: writes without a pause, entries of other leaders,
 *            snapshots.
 * Not here: what a write grows (engine/node/request/item_writes.c), and the space of the log. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SPACE_PAGE = 4096,
    SPACE_LISTED = 400 /* pages that a checkpoint may free for each page of their list */
};

/* As it was after the last checkpoint, with the present total. All zero: not known, and everything
 * is allowed. */
struct space {
    uint64_t total_bytes; /* the backing can get as large */
    uint64_t map_bytes;   /* so large without a disk that bounds it */
    uint64_t file_bytes;  /* its size now, free pages included */
    uint64_t free_bytes; /* that the next checkpoint may use; 0: half of the total was never used */
    uint64_t run_bytes;  /* of free pages that lie side by side: the most */
    bool has_parts;      /* there are values of several pages */
    bool disk_bound;     /* the disk bounds the total, and not map_max_bytes */
};

enum space_verdict {
    SPACE_THERE,
    SPACE_WAITS, /* perhaps the next checkpoint shows that there is space */
    SPACE_FULL,
};

/* So many bytes are left for the backing outside its file (base/disk_account.h). */
void space_set_quota(struct space *s, uint64_t bytes);
/* Whether free pages matter, so that they must be counted. */
bool space_is_scarce(const struct space *s);
/* What a cost takes beyond free pages. */
uint64_t space_need(const struct space *s, uint64_t cost);
/* The most that a record may use of pages that lie side by side; at least a page. */
uint64_t space_run_bytes(const struct space *s);
/* Bytes that hold data. */
uint64_t space_used_bytes(const struct space *s);
/* The most that may be used before growth is refused. */
uint64_t space_growth_max_bytes(const struct space *s);
/* The bytes by which the data may grow before that. */
uint64_t space_growth_left_bytes(const struct space *s);

/* What a checkpoint of so many records costs at most, while it is written: their bytes, and for
 * each a page that is written anew or stays half empty. */
uint64_t space_cost(const struct space *s, size_t records, size_t bytes);
/* Whether the data may grow by so many bytes. `cost`: of everything before them that no checkpoint
 * has written. */
enum space_verdict space_for_growth(const struct space *s, uint64_t cost, size_t bytes);
/* The same for what makes room, or is decided. */
enum space_verdict space_for_change(const struct space *s, uint64_t cost, size_t bytes);
/* The same for everything else: a part of each checkpoint stays for deletions. */
enum space_verdict space_for_write(const struct space *s, uint64_t cost, size_t bytes);
/* Whether a checkpoint of so many bytes alone fits, if no space is left for the next one. */
bool space_for_last(const struct space *s, size_t bytes);
/* The cost from which on a checkpoint should be written: soon it would not fit. */
uint64_t space_checkpoint_cost(const struct space *s);
