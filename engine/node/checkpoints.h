/* checkpoints.h - when the memtable goes to the backing, and how much is erased with it. */
#ifndef WEIR_ENGINE_NODE_CHECKPOINTS_H
#define WEIR_ENGINE_NODE_CHECKPOINTS_H

#include "engine/node/node_log.h"

struct checkpoints {
    struct node_env *env;
    struct node_log *log;
    bool running;
    struct instant at;       /* the next one by time; INSTANT_NEVER if nothing to write */
    struct instant retry_at; /* after one that found no space */
    struct instant erase_at; /* the next one that may erase */
    int64_t installed_bytes; /* of snapshots, since the last one began */
};

/* The next one comes with the next tick. */
void checkpoints_soon(struct checkpoints *checkpoints);
/* The end of a turn; one that found no space is tried again here. True: one is due. Whatever must
 * be in it is stored, then checkpoints_begin is called. */
bool checkpoints_tick(struct checkpoints *checkpoints);
/* The log must stay from `pinned_lsn` on. */
void checkpoints_begin(struct checkpoints *checkpoints, uint64_t pinned_lsn);
/* Where it found no space no snapshot of the store may be open. True: it is in the backing. False:
 * it is tried again, or the node has stopped. */
bool checkpoints_ended(struct checkpoints *checkpoints, enum status status);

struct instant checkpoints_deadline(const struct checkpoints *checkpoints);

#endif
