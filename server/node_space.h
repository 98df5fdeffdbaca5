/* node_space.h - segments of the log, made ahead of its end.
 *
 * NODE-SPACE-1  the segment being written exists, and, unless the disk is slow or full, the next
 *               one, and from the middle of a segment on the one after.
 * NODE-SPACE-2  the node hears how far it may write, and why no further (node_log_space).
 * A segment that cannot be made is tried again every half second. */
#ifndef WEIR_SERVER_NODE_SPACE_H
#define WEIR_SERVER_NODE_SPACE_H

#include "engine/node/node.h"
#include "server/ports.h"

struct node_space {
    const struct log_port *log; /* borrows */
    struct node *node;          /* borrows */
    uint64_t segment_bytes;
    uint64_t first; /* segment in which this life of the node began */
    uint64_t last;  /* the last one that is there */
    bool making;    /* the next one is on its way */
    bool is_short;  /* the next one could not be made */
    struct instant retry_at;
};

/* Segment `first` is there. */
void node_space_init(struct node_space *s, const struct log_port *log, struct node *node,
                     uint64_t segment_bytes, uint64_t first);
/* After events that may have moved the log's end. */
void node_space_prepare(struct node_space *s, struct instant now);
/* The answer to log_port.make; 0 or errno. */
void node_space_made(struct node_space *s, struct instant now, int error);
/* When node_space_prepare has something to try again. */
struct instant node_space_deadline(const struct node_space *s);

#endif
