/* checkpoints.h - when the memtable is written to the backing, and how much is erased then. */
#pragma once

#include "engine/node/core/node_log.h"

struct checkpoints {
    struct node_env *env;
    struct node_log *log;
    bool running;
    struct instant at;       /* the next checkpoint by time; INSTANT_NEVER: nothing to write */
    bool requested;          /* by checkpoints_soon */
    struct instant retry_at; /* the next attempt after a checkpoint found no space */
    struct instant space_at; /* from when a checkpoint may begin for want of space */
    struct instant check_at; /* the same, to see whether there is space */
    struct instant erase_at; /* from when a checkpoint may erase */
    int64_t installed_bytes; /* of snapshots, since the last checkpoint began */
};

/* Other nodes of the process begin at the same time, and make their logs on the same disk: the
 * space is measured again soon. */
void checkpoints_start(struct checkpoints *checkpoints);
/* Makes a checkpoint due at the next tick. */
void checkpoints_soon(struct checkpoints *checkpoints);
/* At the end of a turn. A checkpoint that found no space is tried again here. True: a checkpoint is
 * due. The caller stores what the checkpoint must contain, then calls checkpoints_begin. */
bool checkpoints_tick(struct checkpoints *checkpoints);
/* The log must stay from `pinned_lsn` on. */
void checkpoints_begin(struct checkpoints *checkpoints, uint64_t pinned_lsn);
/* If the checkpoint found no space, no snapshot of the store may be open. True: the checkpoint is
 * in the backing. False: it will be tried again, or the node has stopped. */
bool checkpoints_ended(struct checkpoints *checkpoints, enum status status);

struct instant checkpoints_deadline(const struct checkpoints *checkpoints);
