/* frame_world.h - three nodes with replicas, and frames that were tampered with.
 *
 * A world (sim/world.h) with a founded catalog, a table of three partitions with items, a replica
 * that was brought back by a snapshot, splits and a merge. What nodes hear from each other and from
 * a router is recorded. A tampered frame reaches a node as if a link had carried it. If the frame
 * does not decode, or its link may not send it, the node closes the link, and nothing else happens.
 * One world at a time; the same calls give the same world. */
#pragma once

#include "base/peer.h"
#include "base/prng.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/decision.h"
#include "engine/node/node.h"

enum {
    FRAME_WORLD_NODES = 3
};

struct frame_world;

struct frame_world *frame_world_create(void);
/* Three nodes of this configuration, which have just started and hold nothing. */
struct frame_world *frame_world_begin(const struct config *config);
/* Whether the catalog answers within this time. */
bool frame_world_answers(struct frame_world *w, int64_t ms);
void frame_world_destroy(struct frame_world *w);

/* The number of frames recorded so far: a few of every kind. */
size_t frame_world_recorded(const struct frame_world *w);
/* Lends until the next call. */
struct slice frame_world_frame(const struct frame_world *w, size_t which);

/* Gives a node a frame as if over a link of that process. False: the link would be closed. */
bool frame_world_inject(struct frame_world *w, enum peer_kind kind, uint32_t id, uint32_t node,
                        struct slice frame);
/* Sends a router's request to one node after the other, until an answer is not REPLY_NOT_LEADER.
 * `*body` (may be NULL) is the body of the answer, and lends until the next call. */
enum reply_code frame_world_ask(struct frame_world *w, struct request *r, struct slice *body);
/* The same to this node only. REPLY_UNKNOWN: no answer within a second. */
enum reply_code frame_world_ask_node(struct frame_world *w, uint32_t node, struct request *r,
                                     struct slice *body);
/* The table as the catalog has it. Its slices lend from `bytes` and the arena. */
void frame_world_fetch(struct frame_world *w, struct slice name, struct arena *arena,
                       struct buffer *bytes, struct table *out);
/* Creates a table, and waits until it is active. */
void frame_world_create_table(struct frame_world *w, const struct table_spec *spec,
                              struct arena *arena, struct buffer *bytes, struct table *out);
/* The node does nothing for so long; its clock goes on. */
void frame_world_pause(struct frame_world *w, uint32_t node, int64_t ms);
/* The state machine of a node, for a test that gives it an event by hand, and the time by its
 * clock. */
struct node *frame_world_node(struct frame_world *w, uint32_t node);
struct instant frame_world_clock(struct frame_world *w, uint32_t node);
/* Asks the leader of the catalog, as the controller does. */
void frame_world_decide(struct frame_world *w, enum catalog_op op, const struct decision *d);
/* Nothing passes between this node and the others, until it is healed. */
void frame_world_cut_off(struct frame_world *w, uint32_t node);
void frame_world_heal(struct frame_world *w, uint32_t node);
/* Is called for every frame that a node hears. */
void frame_world_watch(struct frame_world *w,
                       void (*heard)(void *context, uint32_t node, struct slice frame),
                       void *context);
/* One node crashes, and starts again after this time. */
void frame_world_crash(struct frame_world *w, uint32_t node, int64_t ms);
/* Checkpoints of the node take up to so long from now on; none at first. */
void frame_world_slow_checkpoints(struct frame_world *w, uint32_t node, int64_t ms);
/* The node's wall clock steps. */
void frame_world_step_wall(struct frame_world *w, uint32_t node, int64_t ms);
/* Lets time pass, with all that is due. */
void frame_world_pass(struct frame_world *w, int64_t ms);
void frame_world_pass_us(struct frame_world *w, int64_t us);

/* The power of all nodes fails at once, and they start again from their disks. After tampered
 * frames of nodes a node may stay down, with a reason. */
void frame_world_restart(struct frame_world *w);
/* Whether the table takes writes and gives them back, each within a minute. Makes the table again
 * if it was deleted. */
bool frame_world_is_available(struct frame_world *w);

/* Changes `frame`, a copy, at random: bytes, numbers, lengths, cuts, insertions, pieces of other
 * recorded frames. */
void frame_world_mutate(const struct frame_world *w, struct prng *p, struct buffer *frame);
