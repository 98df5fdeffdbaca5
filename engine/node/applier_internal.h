/* applier_internal.h - what apply.c, split.c, merge.c and rebuild.c share. */
#ifndef WEIR_ENGINE_NODE_APPLIER_INTERNAL_H
#define WEIR_ENGINE_NODE_APPLIER_INTERNAL_H

#include "engine/node/applier.h"

/* ---- apply.c ---- */
struct applied {
    bool want_old;      /* asked for: the item that a write replaces goes into the reply */
    struct reply reply; /* but for what the proposal knows of it */
};
/* Before the start: entries up to `index`, which were committed and durable in an earlier life, are
 * applied. STATUS_CORRUPT: they are not there. */
enum status applier_replay_to(struct applier *applier, struct partition *p, uint64_t index);
/* The replica is gone, and its row; its items stay. */
void applier_remove_partition(struct applier *applier, struct partition *p);

/* ---- split.c ---- */
void split_apply(struct applier *applier, struct partition *p, const struct raft_entry *e,
                 struct applied *out);
/* The replica is about to be closed: its promise ends, and so does a promise that a child has taken
 * over from it. */
void split_orphan(struct applier *applier, const struct partition *p);
/* A replica that a snapshot overtakes first applies what it has in its log of the splits the
 * snapshot contains: whoever has acknowledged a split must come to hold the children. */
void split_catch_up(struct applier *applier, struct partition *p,
                    const struct split_history *splits);
/* Takes over the range of a snapshot, and erases what is the replica's no more. False: it would
 * come to hold what another one here holds, or had less already. */
bool split_take_range(struct applier *applier, struct partition *p,
                      const struct partition_info *told);

/* ---- merge.c ---- */
bool merge_is_sound(uint32_t group, struct slice payload);
void merge_apply(struct applier *applier, struct partition *p, const struct raft_entry *e,
                 struct applied *out);
/* A snapshot for `to` brings the keys [lo, hi), which it has taken over: the replica that holds them
 * here goes, the items stay. False: they are not what one replica holds. */
bool merge_give_way(struct applier *applier, const struct partition *to, struct slice lo,
                    struct slice hi);

#endif
