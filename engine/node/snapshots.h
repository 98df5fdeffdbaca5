/* snapshots.h - a partition's range, streamed to a replica whose log ends before ours begins.
 *
 * Both ends of the transfer (snapshots.c). Whether a replica takes a snapshot, and what it does with
 * it once it is whole, is for rebuild.c to say. */
#ifndef WEIR_ENGINE_NODE_SNAPSHOTS_H
#define WEIR_ENGINE_NODE_SNAPSHOTS_H

#include <sys/queue.h>

#include "engine/node/checkpoints.h"
#include "engine/node/groups.h"
#include "engine/node/rows.h"
#include "engine/node/waiters.h"

struct snapshot_out;
struct snapshot_in;

struct snapshots {
    struct node_env *env;
    struct node_log *log;
    struct partitions *partitions;
    struct throughput *throughput;
    struct waiters *waiters;
    struct checkpoints *checkpoints;
    struct peers *peers;
    struct groups *groups;
    LIST_HEAD(, snapshot_out) out; /* owns */
    LIST_HEAD(, snapshot_in) in;   /* owns */
    struct token_bucket rate;
    int64_t served_mcu;     /* consumed in all, at the last chunk */
    struct buffer outgoing; /* a message while it is put together */
};

void snapshots_start(struct snapshots *snapshots);
void snapshots_deinit(struct snapshots *snapshots);
/* Starts a snapshot if a member of the group that is led here needs one. */
void snapshots_offer(struct snapshots *snapshots, struct partition *p);
void snapshots_end_turn(struct snapshots *snapshots);
struct instant snapshots_deadline(const struct snapshots *snapshots);
/* RESUME_SNAPSHOT_OUT, RESUME_SNAPSHOT_IN: pages have been read. */
void snapshots_touched(struct snapshots *snapshots, enum resume resume, uint64_t id);
/* Those on their way out end. */
void snapshots_close(struct snapshots *snapshots);
/* All of a partition end, which is about to be removed. */
void snapshots_forget(struct snapshots *snapshots, uint32_t group);

/* ---- receiving ---- */

/* A snapshot that another node offers. Slices lend from its message. */
struct snapshot_offer {
    struct partition *to; /* NULL: none is offered */
    uint64_t from;        /* member */
    uint64_t id;
    struct partition_row row;
    struct partition_info info;
};
/* A message of a snapshot. False: malformed. An offer is answered by one of those below, or not at
 * all: then it comes again. */
bool snapshots_receive(struct snapshots *snapshots, uint32_t from_node, struct reader *r,
                       struct snapshot_offer *offer);
/* Chunks may come. What there was of an earlier snapshot is forgotten. */
void snapshots_accept(struct snapshots *snapshots, const struct snapshot_offer *offer);
/* It is to begin again, from a later checkpoint. */
void snapshots_refuse(struct snapshots *snapshots, const struct snapshot_offer *offer);
/* The log has brought the replica what the snapshot would. */
void snapshots_decline(struct snapshots *snapshots, const struct snapshot_offer *offer);

/* A checkpoint has been frozen; what is whole is in it. */
void snapshots_frozen(struct snapshots *snapshots);
/* It is in the backing: the next replica whose snapshot is, to be installed (p->installing); NULL: no
 * more. */
struct partition *snapshots_next_stored(struct snapshots *snapshots);
/* The replica goes on from its snapshot's index. */
void snapshots_installed(struct snapshots *snapshots, struct partition *p);
/* Partitions that were waiting for a checkpoint are offered again. */
void snapshots_offer_held(struct snapshots *snapshots);

#endif
