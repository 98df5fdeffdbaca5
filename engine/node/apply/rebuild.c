/* rebuild.c - whether a replica takes a snapshot, and its installation. */
#include <errno.h>
#include <stdlib.h>

#include "base/probe.h"
#include "engine/node/apply/applier_internal.h"

/* Whether the log here has the snapshot's last entry. A snapshot contains only committed entries,
 * so the replica applies them once they are durable, and keeps its state. This disk may be the last
 * one with the entries after the snapshot, and a replica without state cannot become leader. */
static bool rebuild_is_about_to_apply(struct applier *applier, struct partition *p,
                                      const struct raft_base *base)
{
    const struct raft_entry *e = raft_entry_at(p->raft, base->index);
    if (p->no_state || base->index <= raft_applied(p->raft) || e == NULL || e->term != base->term)
        return false;
    PROBE("the log has what a snapshot would bring");
    applier_learn_commit(applier, p, base->index, base->term);
    return raft_applied(p->raft) < base->index;
}

/* From now on the replica has no state: chunks will replace it. */
static void rebuild_begin(struct applier *applier, struct partition *p)
{
    if (!p->no_state)
        raft_install_begin(p->raft);
    p->no_state = true;
    p->frozen = (struct frozen){0};
    p->thaws = false;
    proposals_drop(applier->proposals, p, "the replica is being rebuilt");
    raft_driver_stepped(applier->driver, p);
    local_state_store_partition(applier->env,
                                p); /* in the checkpoint of the first chunk, or before */
}

void applier_offered(struct applier *applier, const struct snapshot_offer *offer)
{
    struct partition *p = offer->to;
    const struct raft_base *base = &offer->row.base;
    if (partition_is_frozen(p) && offer->info.epoch == p->info.epoch) {
        PROBE("a frozen replica needs no snapshot");
        return; /* ABSORB-2: another partition may absorb it at any moment */
    }
    split_catch_up(applier, p, &offer->row.splits);
    if (rebuild_is_about_to_apply(applier, p, base))
        return; /* the offer comes again if it is still needed */
    if (!p->no_state && base->index <= raft_applied(p->raft)) {
        snapshots_decline(applier->snapshots, offer);
        return;
    }
    if (partition_led_term(p) != 0 || p->installing != NULL)
        return;
    if (base->index < raft_applied(p->raft) || base->index + 1 < raft_first(p->raft)) {
        snapshots_refuse(applier->snapshots, offer); /* the replica has had more than this */
        return;
    }
    if (!split_take_range(applier, p, &offer->info)) {
        PROBE("a snapshot from before a split is refused");
        snapshots_refuse(applier->snapshots, offer);
        return;
    }
    rebuild_begin(applier, p);
    snapshots_accept(applier->snapshots, offer);
}

static void rebuild_install(struct applier *applier, struct partition *p)
{
    if (p->info.id == CATALOG_GROUP && catalog_replica_load(applier->catalog) != STATUS_OK) {
        PROBE("a node that cannot read its catalog stops");
        catalog_replica_discard(applier->catalog);
        env_stop(applier->env, EIO);
        return; /* still without state: no entry is applied to an incomplete catalog */
    }
    must(raft_install(p->raft, applier->env->now, p->installing));
    free(p->installing);
    p->installing = NULL;
    p->no_state = false;
    p->absorbed_lsn = 0;
    background_wake(applier->background, BACKGROUND_COUNT);
    raft_driver_stepped(applier->driver, p);
    snapshots_installed(applier->snapshots, p);
}

void applier_stored(struct applier *applier)
{
    struct partition *p;
    while ((p = snapshots_next_stored(applier->snapshots)) != NULL)
        rebuild_install(applier, p);
    snapshots_offer_held(applier->snapshots);
}
