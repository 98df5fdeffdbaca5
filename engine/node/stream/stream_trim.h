/* stream_trim.h - deletes records of streams that may go (stream_sweep.h).
 *
 * The leader looks now and then, and proposes an entry that deletes what the job has found. Each
 * replica notes the last record that is gone: a reader that wants it hears so.
 *
 * Invariant
 *   TRIM-1  At most one such entry is on its way, so no record is counted as gone twice. */
#pragma once

#include "engine/node/background/background.h"
#include "engine/node/replica/raft_driver.h"

struct stream_trims {
    struct node_env *env;
    struct partitions *partitions;
    struct proposals *proposals;
    struct raft_driver *driver;
    struct background *background;
    struct instant at;       /* when there is something to do; INSTANT_NEVER: no stream is here */
    struct instant check_at; /* at all partitions */
};

/* The partition leads here in a new term, or has another stream from now on. */
void stream_trims_begin(struct stream_trims *trims, struct partition *p);
void stream_trims_end_turn(struct stream_trims *trims);
static inline struct instant stream_trims_deadline(const struct stream_trims *trims)
{
    return trims->at;
}
