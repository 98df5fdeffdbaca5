/* snapshots.h - sends a partition's range to a replica whose log ends before the leader's begins.
 *
 * snapshots.c has both ends of the transfer. Not here: whether a replica takes a snapshot, and what
 * happens once the snapshot is whole (rebuild.c). */
#pragma once

#include <sys/queue.h>

#include "engine/node/core/local_state.h"
#include "engine/node/core/pending_requests.h"
#include "engine/node/replica/checkpoints.h"
#include "engine/node/replica/raft_driver.h"

struct snapshot_out;
struct snapshot_in;

struct snapshots {
    struct node_env *env;
    struct node_log *log;
    struct partitions *partitions;
    struct throughput *throughput;
    struct pending_requests *pending;
    struct checkpoints *checkpoints;
    struct peers *peers;
    struct raft_driver *driver;
    LIST_HEAD(, snapshot_out) out; /* owns */
    TAILQ_HEAD(, snapshot_in) in;  /* owns; the oldest first */
    struct token_bucket rate;
    int64_t served_mcu;     /* the node's total consumption at the last chunk */
    struct buffer outgoing; /* the message that is being built */
    bool full;              /* a member waits until another snapshot ends */
};

void snapshots_start(struct snapshots *snapshots);
void snapshots_deinit(struct snapshots *snapshots);
/* Starts a snapshot if a member of the group that is led here needs one. */
void snapshots_offer(struct snapshots *snapshots, struct partition *p);
void snapshots_end_turn(struct snapshots *snapshots);
struct instant snapshots_deadline(const struct snapshots *snapshots);
/* RESUME_SNAPSHOT_OUT, RESUME_SNAPSHOT_IN: pages have been read. */
void snapshots_touched(struct snapshots *snapshots, enum resume resume, uint64_t id);
/* Ends all outgoing snapshots. */
void snapshots_close(struct snapshots *snapshots);
/* Ends all snapshots of a partition that is about to be removed. */
void snapshots_remove_group(struct snapshots *snapshots, uint32_t group);

/* ---- receiving ---- */

/* A snapshot that another node offers. Slices lend from its message. */
struct snapshot_offer {
    struct partition *to; /* NULL: the message was no new offer */
    uint64_t from;        /* member */
    uint64_t id;
    struct partition_row row;
    struct partition_info info;
};
/* A message of a snapshot. False: malformed. The caller answers an offer by accept, refuse or
 * decline. An offer without an answer comes again. */
bool snapshots_receive(struct snapshots *snapshots, uint32_t from_node, struct reader *r,
                       struct snapshot_offer *offer);
/* Accepts: the sender may send chunks. Forgets the chunks of an earlier snapshot. */
void snapshots_accept(struct snapshots *snapshots, const struct snapshot_offer *offer);
/* Makes the sender begin again, from a later checkpoint. */
void snapshots_refuse(struct snapshots *snapshots, const struct snapshot_offer *offer);
/* The replica needs no snapshot: it has applied all that the snapshot contains. */
void snapshots_decline(struct snapshots *snapshots, const struct snapshot_offer *offer);

/* A checkpoint was frozen. It contains the snapshots that are whole. */
void snapshots_frozen(struct snapshots *snapshots);
/* That checkpoint is in the backing. The next replica whose snapshot must be installed
 * (p->installing). NULL: no more. */
struct partition *snapshots_next_stored(struct snapshots *snapshots);
/* The replica goes on from its snapshot's index: tells the sender. */
void snapshots_installed(struct snapshots *snapshots, struct partition *p);
/* Offers the snapshots that were waiting for a checkpoint. */
void snapshots_offer_held(struct snapshots *snapshots);
