/* node_recovery.h - the start of a node: replays its log and cleans the log's tail.
 *
 * NODE-RECOVERY-1  every record that was acknowledged is replayed, or the start fails: what cannot
 *                  be read before the end of the log is damage.
 * NODE-RECOVERY-2 remains of torn batches behind the end are zeroed before the log goes on. */
#pragma once

#include "engine/node/node.h"
#include "server/ports.h"

struct node_recovery {
    struct node *node;          /* borrows */
    const struct log_port *log; /* borrows */
    const char *place;          /* place of the log, for error texts */
    uint64_t segment_bytes;
    /* results */
    uint64_t next_lsn; /* the log continues here, in an existing segment */
    uint64_t replayed; /* records */
};

/* STATUS_CORRUPT, STATUS_MALFORMED, STATUS_IO, STATUS_FULL: `error` gets the fault and the
 * remedy. */
enum status node_recover(struct node_recovery *r, struct buffer *error);
