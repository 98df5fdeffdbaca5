/* frame_cluster.h - three nodes with replicas, and frames that were tampered with.
 *
 * A world (sim/world/world.h) with a founded catalog, a table of three partitions with items, a
 * replica
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
    FRAME_CLUSTER_NODES = 3
};

struct frame_cluster;

struct frame_cluster *frame_cluster_create(void);
/* Three nodes of this configuration, which have just started and hold nothing. */
struct frame_cluster *frame_cluster_begin(const struct config *config);
/* Whether the catalog answers within this time. */
bool frame_cluster_answers(struct frame_cluster *w, int64_t ms);
void frame_cluster_destroy(struct frame_cluster *w);

/* The number of frames recorded so far: a few of every kind. */
size_t frame_cluster_recorded(const struct frame_cluster *w);
/* Lends until the next call. */
struct slice frame_cluster_frame(const struct frame_cluster *w, size_t which);

/* Gives a node a frame as if over a link of that process. False: the link would be closed. */
bool frame_cluster_inject(struct frame_cluster *w, enum peer_kind kind, uint32_t id, uint32_t node,
                          struct slice frame);
/* Sends a router's request to one node after the other, until an answer is not REPLY_NOT_LEADER.
 * `*body` (may be NULL) is the body of the answer, and lends until the next call. */
enum reply_code frame_cluster_send(struct frame_cluster *w, struct request *r, struct slice *body);
/* The same to this node only. REPLY_UNKNOWN: no answer within a second. */
enum reply_code frame_cluster_send_to(struct frame_cluster *w, uint32_t node, struct request *r,
                                      struct slice *body);
/* The table as the catalog has it. Its slices lend from `bytes` and the arena. */
void frame_cluster_fetch(struct frame_cluster *w, struct slice name, struct arena *arena,
                         struct buffer *bytes, struct table *out);
/* Creates a table, and waits until it is active. */
void frame_cluster_create_table(struct frame_cluster *w, const struct table_spec *spec,
                                struct arena *arena, struct buffer *bytes, struct table *out);
/* The node does nothing for so long; its clock goes on. */
void frame_cluster_pause(struct frame_cluster *w, uint32_t node, int64_t ms);
/* The state machine of a node, for a test that gives it an event by hand, and the time by its
 * clock. */
struct node *frame_cluster_node(struct frame_cluster *w, uint32_t node);
struct instant frame_cluster_clock(struct frame_cluster *w, uint32_t node);
/* Asks the leader of the catalog, as the controller does. */
void frame_cluster_decide(struct frame_cluster *w, enum catalog_op op, const struct decision *d);
/* Nothing passes between this node and the others, until it is healed. */
void frame_cluster_cut_off(struct frame_cluster *w, uint32_t node);
void frame_cluster_heal(struct frame_cluster *w, uint32_t node);
/* Is called for every frame that a node hears. */
void frame_cluster_watch(struct frame_cluster *w,
                         void (*received)(void *context, uint32_t node, struct slice frame),
                         void *context);
/* One node crashes, and starts again after this time. */
void frame_cluster_crash(struct frame_cluster *w, uint32_t node, int64_t ms);
/* Checkpoints of the node take up to so long from now on; none at first. */
void frame_cluster_slow_checkpoints(struct frame_cluster *w, uint32_t node, int64_t ms);
/* The node's wall clock steps. */
void frame_cluster_step_wall(struct frame_cluster *w, uint32_t node, int64_t ms);
/* Lets time pass, with all that is due. */
void frame_cluster_pass(struct frame_cluster *w, int64_t ms);
void frame_cluster_pass_us(struct frame_cluster *w, int64_t us);

/* The power of all nodes fails at once, and they start again from their disks. After tampered
 * frames of nodes a node may stay down, with a reason. */
void frame_cluster_restart(struct frame_cluster *w);
/* Whether the table takes writes and gives them back, each within a minute. Makes the table again
 * if it was deleted. */
bool frame_cluster_is_available(struct frame_cluster *w);

/* Changes `frame`, a copy, at random: bytes, numbers, lengths, cuts, insertions, pieces of other
 * recorded frames. */
void frame_cluster_mutate(const struct frame_cluster *w, struct prng *p, struct buffer *frame);
