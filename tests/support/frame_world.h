/* frame_world.h - three nodes with replicas, and frames that somebody has tampered with.
 *
 * Real nodes (engine/node/node.h) over memory, each with a log that is a buffer: a founded catalog, a
 * table of three partitions with items, a replica that was brought back by a snapshot, and a split.
 * Everything they say to each other, and what a router says to them, goes as frames and is
 * recorded. A tampered frame is handed to a node as a daemon would: what the role of its link may
 * not say (server/link_rights.h) and what does not decode closes the link, and nothing else happens.
 * One world at a time; the same calls give the same world. */
#ifndef WEIR_TESTS_SUPPORT_FRAME_WORLD_H
#define WEIR_TESTS_SUPPORT_FRAME_WORLD_H

#include "base/prng.h"
#include "engine/node/node.h"
#include "host/greeting.h"

enum {
    FRAME_WORLD_NODES = 3
};

struct frame_world;

struct frame_world *frame_world_create(void);
/* Three nodes of this configuration, which have just been started and hold nothing. */
struct frame_world *frame_world_begin(const struct config *config);
/* Whether the catalog answers within this time. */
bool frame_world_answers(struct frame_world *w, int64_t ms);
void frame_world_destroy(struct frame_world *w);

/* Frames recorded so far, of every kind a few. */
size_t frame_world_recorded(const struct frame_world *w);
/* Lends until the next call. */
struct slice frame_world_frame(const struct frame_world *w, size_t which);

/* A frame over a link of that process to a node. False: the link would be closed. */
bool frame_world_inject(struct frame_world *w, enum peer_kind kind, uint32_t id, uint32_t node,
                        struct slice frame);
/* A router's request, to one node after the other until one has something else to say than that it
 * does not lead. `*body` (may be NULL) is the answer's and lends until the next call. */
enum reply_code frame_world_ask(struct frame_world *w, struct request *r, struct slice *body);
/* Time passes, and everything that is due happens. */
void frame_world_pass(struct frame_world *w, int64_t ms);

/* All nodes end at once and start anew on what is on their disks. */
void frame_world_restart(struct frame_world *w);
/* Whether each partition of the table takes a write and gives it back within a minute. */
bool frame_world_is_available(struct frame_world *w);

/* Changes a frame as random numbers want it: bytes, numbers, lengths, cuts, insertions, pieces of
 * other recorded frames. `frame` is the copy that is changed. */
void frame_world_mutate(const struct frame_world *w, struct prng *p, struct buffer *frame);

#endif
