/* applier_internal.h - what apply.c, split.c, merge.c and rebuild.c share. */
#pragma once

#include "engine/message/message.h"
#include "engine/node/apply/applier.h"

/* ---- apply.c ---- */
struct applied {
    uint8_t return_values; /* enum write_return */
    bool answers;          /* a request waits for the reply */
    struct reply reply;    /* without the fields that the proposal knows */
    struct slice
        collections; /* the sizes of item collections now, in the order of the entry: i64 */
};
/* Before the start: applies the entries up to `index`. An earlier life has committed them.
 * STATUS_CORRUPT: entries are missing. */
enum status applier_replay_to(struct applier *applier, struct partition *p, uint64_t index);
/* Removes the replica and its row. Its items stay. */
void applier_remove_partition(struct applier *applier, struct partition *p);

/* ---- split.c ---- */
void split_apply(struct applier *applier, struct partition *p, const struct raft_entry *e,
                 struct applied *out);
/* Before the replica is closed: ends its lease grant, and the grant that a child has taken over
 * from it. */
void split_orphan(struct applier *applier, const struct partition *p);
/* Before a snapshot replaces the replica: applies the splits that the snapshot contains and the
 * replica's log has. A replica that has acknowledged a split must create the children. */
void split_catch_up(struct applier *applier, struct partition *p,
                    const struct split_history *splits);
/* Takes over the range of a snapshot, and erases the keys that the replica loses. False:
 *   - The snapshot has an older epoch, and one of these holds: its range is narrower; the replica
 *     has state or a log; a partition is being opened here; another replica holds some of the keys
 *     beyond the replica's range; some of these keys are being erased.
 *   - The snapshot has a newer epoch and a wider range, and another replica here holds some of the
 *     additional keys, but not exactly these. */
bool split_take_range(struct applier *applier, struct partition *p,
                      const struct partition_info *target);

/* ---- merge.c ---- */
bool merge_is_valid(uint32_t group, struct slice payload);
void merge_apply(struct applier *applier, struct partition *p, const struct raft_entry *e,
                 struct applied *out);
/* A snapshot for `to` brings the keys [lo, hi), which `to` has absorbed. Removes the replica that
 * holds these keys here; the items stay. False: a replica here holds some of the keys, but another
 * range. */
bool merge_give_way(struct applier *applier, const struct partition *to, struct slice lo,
                    struct slice hi);
