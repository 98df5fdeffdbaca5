/* rebuild.c - a replica that takes a snapshot: whether, and what becomes of it. */
#include <errno.h>
#include <stdlib.h>

#include "base/must.h"
#include "base/probe.h"
#include "engine/node/applier_internal.h"

/* What a snapshot contains is committed. Where the log here has it already, it is applied as soon
 * as it is durable, and no state is given up for it: this may be the only disk left with what comes
 * behind it, and a replica without state does not run. */
static bool rebuild_is_about_to_apply(struct applier *applier, struct partition *p,
                                      const struct raft_base *base)
{
    const struct raft_entry *e = raft_entry_at(p->raft, base->index);
    if (p->no_state || base->index <= raft_applied(p->raft) || e == NULL || e->term != base->term)
        return false;
    PROBE("the log has what a snapshot would bring");
    if (raft_learn_commit(p->raft, base->index, base->term))
        applier_apply_committed(applier, p);
    return raft_applied(p->raft) < base->index;
}

/* What there was begins to be replaced. */
static void rebuild_begin(struct applier *applier, struct partition *p)
{
    if (!p->no_state)
        raft_install_begin(p->raft);
    p->no_state = true;
    p->frozen = (struct frozen){0};
    p->thaws = false;
    proposals_drop(applier->proposals, p, "the replica is being rebuilt");
    groups_stepped(applier->groups, p);
    rows_store_partition(applier->env, p); /* in the same checkpoint as the first change */
}

void applier_offered(struct applier *applier, const struct snapshot_offer *offer)
{
    struct partition *p = offer->to;
    const struct raft_base *base = &offer->row.base;
    if (partition_is_frozen(p) && offer->info.epoch == p->info.epoch) {
        PROBE("a frozen replica needs no snapshot");
        return; /* it may be taken over at any moment: it keeps what it has */
    }
    split_catch_up(applier, p, &offer->row.splits);
    if (rebuild_is_about_to_apply(applier, p, base))
        return; /* the offer comes again, if it has to */
    if (!p->no_state && base->index <= raft_applied(p->raft)) {
        snapshots_decline(applier->snapshots, offer);
        return;
    }
    if (partition_led_term(p) != 0 || p->installing != NULL)
        return;
    if (base->index < raft_applied(p->raft) || base->index + 1 < raft_first(p->raft)) {
        snapshots_refuse(applier->snapshots, offer); /* it may not forget that it had more */
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
        catalog_replica_forget(applier->catalog);
        env_stop(applier->env, EIO);
        return; /* still without state: nothing is applied to a part of the catalog */
    }
    must(raft_install(p->raft, applier->env->now, p->installing));
    free(p->installing);
    p->installing = NULL;
    p->no_state = false;
    p->absorbed_lsn = 0;
    background_wake(applier->background, BACKGROUND_COUNT);
    groups_stepped(applier->groups, p);
    snapshots_installed(applier->snapshots, p);
}

void applier_stored(struct applier *applier)
{
    struct partition *p;
    while ((p = snapshots_next_stored(applier->snapshots)) != NULL)
        rebuild_install(applier, p);
    snapshots_offer_held(applier->snapshots);
}
