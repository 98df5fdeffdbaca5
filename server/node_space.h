/* node_space.h - makes segments of the log ahead of its end.
 *
 * NODE-SPACE-1  the segment being written exists, and, unless the disk is slow or full, the next
 *               one, and from the middle of a segment on the one after.
 * NODE-SPACE-2 the node is told how far it may write, and why no further (node_log_space). A failed
 * attempt to make a segment is repeated every half second. */
#pragma once

#include "engine/node/node.h"
#include "server/ports.h"

struct node_space {
    const struct log_port *log; /* borrows */
    struct node *node;          /* borrows */
    uint64_t segment_bytes;
    uint64_t first; /* segment in which this process began to write */
    uint64_t last;  /* the last existing segment */
    bool making;    /* the next segment is being made */
    int error;      /* of the last attempt to make one: errno, or 0 */
    struct instant retry_at;
};

/* Segment `first` must exist. */
void node_space_init(struct node_space *s, const struct log_port *log, struct node *node,
                     uint64_t segment_bytes, uint64_t first);
/* Call after events that may have moved the log's end. */
void node_space_prepare(struct node_space *s, struct instant now);
/* The answer to log_port.make; 0 or errno. */
void node_space_made(struct node_space *s, struct instant now, int error);
/* The time of node_space_prepare's next attempt. */
struct instant node_space_deadline(const struct node_space *s);
