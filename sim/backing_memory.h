/* backing_memory.h - a simulated store's backing: a sorted map in immutable versions.
 *
 * The map holds the same records as LMDB would: keys of at most 511 bytes, and buckets of long keys
 * (engine/store/long_key.h). Erases follow the same rule.
 *
 * The medium outlives the process. A write makes a new version at once, when it is called. The
 * driver of the node calls it at the time at which the write is durable. A crash before that time
 * leaves the old version, a crash after it the new version. Readers keep alive the version of their
 * last refresh or snapshot.
 * Not here: how long a write takes (sim/node_process). */
#ifndef WEIR_SIM_BACKING_MEMORY_H
#define WEIR_SIM_BACKING_MEMORY_H

#include "engine/store/backing.h"

struct memory_version;

struct memory_medium {
    struct memory_version *version; /* owns a use */
    uint64_t map_bytes;             /* capacity of the map; grows by doubling */
    uint64_t map_max_bytes;
    bool full;                 /* writes find no space */
    bool fails;                /* the next write fails */
    uint32_t unreadable;       /* of 64 records, this many cannot be read; a hash chooses them */
    uint32_t unreadable_left;  /* reads that still fail; then all records can be read */
    bool erases_whole_records; /* a planted mistake, which checks must find */
    bool hides_errors;         /* a planted mistake: unreadable records are not found */
};

void memory_medium_init(struct memory_medium *m, uint64_t map_bytes, uint64_t map_max_bytes);
void memory_medium_deinit(struct memory_medium *m);
void memory_medium_wipe(struct memory_medium *m);

/* Borrows the medium until the backing is closed. */
struct backing *backing_open_memory(struct memory_medium *m);

#endif
