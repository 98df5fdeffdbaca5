/* node_recovery.h - the start of a node: its log is replayed, and its tail cleaned.
 *
 * NODE-RECOVERY-1  every record that was acknowledged is replayed, or the start fails: what cannot
 *                  be read before the end of the log is damage.
 * NODE-RECOVERY-2  what torn batches left behind the end is zeros before the log goes on. */
#ifndef WEIR_SERVER_NODE_RECOVERY_H
#define WEIR_SERVER_NODE_RECOVERY_H

#include "engine/node/node.h"
#include "server/ports.h"

struct node_recovery {
    struct node *node;          /* borrows */
    const struct log_port *log; /* borrows */
    const char *place;          /* where the log is, for texts */
    uint64_t segment_bytes;
    /* what comes out */
    uint64_t next_lsn; /* the log goes on here, in a segment that is there */
    uint64_t replayed; /* records */
};

/* STATUS_CORRUPT, STATUS_MALFORMED, STATUS_IO, STATUS_FULL: `error` tells what and what to do. */
enum status node_recover(struct node_recovery *r, struct buffer *error);

#endif
