/* backing_memory.h - what stands in for LMDB: a sorted map of bytes in immutable versions.
 *
 * The map holds what LMDB would hold: records with keys of at most 511 bytes, buckets of long keys
 * among them (engine/store/long_key.h), and erases from them by the same rule.
 *
 * The medium outlives the process. A write makes a new version, all at once, at the moment it is
 * called: whoever drives the node calls it when the write is to be durable, so a crash before that
 * leaves the old version, and one after it the new. Readers keep the version of their last refresh
 * (or snapshot) alive.
 * Not here: how long a write takes (sim/node_process). */
#ifndef WEIR_SIM_BACKING_MEMORY_H
#define WEIR_SIM_BACKING_MEMORY_H

#include "engine/store/backing.h"

struct memory_version;

struct memory_medium {
    struct memory_version *version; /* owns a use */
    uint64_t map_bytes;             /* what the map may hold; grows by doubling */
    uint64_t map_max_bytes;
    bool full;                 /* writes find no space */
    bool fails;                /* the next write does */
    uint32_t unreadable;       /* of 64 records, by their keys, so many cannot be read .. */
    uint32_t unreadable_left;  /* .. until so many reads have failed */
    bool erases_whole_records; /* a mistake, to show that it is found */
    bool hides_errors;         /* another one: a record that cannot be read is not there */
};

void memory_medium_init(struct memory_medium *m, uint64_t map_bytes, uint64_t map_max_bytes);
void memory_medium_deinit(struct memory_medium *m);
void memory_medium_wipe(struct memory_medium *m);

/* Borrows the medium until it is closed. */
struct backing *backing_open_memory(struct memory_medium *m);

#endif
