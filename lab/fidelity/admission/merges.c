/* merges.c - two neighbouring partitions become one.
 *
 * The controller decides (control/merge.c), and the catalog has the steps (engine/catalog/merge.c):
 * both are the product's. The model takes the part of the nodes
 * (engine/node/catalog_leader/reconcile.c, engine/node/apply/merge.c): it tells the catalog that a
 * step is done, MERGE_STEP_MS after it was recorded, if the nodes that must do it are up.
 *
 * A frozen partition serves nothing. Here a request for it is decided on when it comes, by the
 * buckets of the frozen partition, and the answer waits until the next step is done. */
#include "base/settings/merge.h"
#include "lab/fidelity/admission/model_internal.h"

enum {
    MERGE_STEP_MS = 10, /* what the fidelity full needs at best */
    MERGE_TERM = 1      /* of the entry that freezes: nothing here looks at it */
};

static void merges_step(void *context, uint64_t argument);

void model_merges_sync(struct model *m, const struct table *t)
{
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *info = &t->partitions[i];
        struct model_partition *p = model_partitions_find(m, info->id);
        const int64_t next_ns = m->scheduler.now.ns + MERGE_STEP_MS * NS_PER_MS;
        if (info->merge == MERGE_NONE || p->merging)
            continue;
        if (info->merge == MERGE_FREEZE && p->frozen_until_ns < m->scheduler.now.ns)
            p->give_up_ns =
                m->scheduler.now.ns + config_merge(m->config)->merge_freeze_ms * NS_PER_MS;
        if (info->merge == MERGE_FREEZE || info->merge == MERGE_THAW)
            p->frozen_until_ns = next_ns;
        p->merging = true;
        model_in(m, MERGE_STEP_MS * NS_PER_MS, merges_step, m, (uint64_t)t->id << 32 | info->id);
    }
}

/* The word that the catalog is told; 0: nothing yet. */
static enum merge_command merges_next(const struct model *m, const struct model_partition *p,
                                      const struct partition_info *info)
{
    const uint32_t up = model_partitions_up(m, p); /* they can do what the step asks for */
    const bool all = up == p->replica_count, group = up > p->replica_count / 2;
    switch (info->merge) {
    case MERGE_FREEZE:
        return m->scheduler.now.ns >= p->give_up_ns ? MERGE_GIVE_UP : all ? MERGE_ABSORB_IT : 0;
    case MERGE_THAW:
        return group ? MERGE_THAWED : 0;
    case MERGE_ABSORB:
        return !info->absorbed ? (group ? MERGE_ABSORBED : 0) : all ? MERGE_DONE : 0;
    case MERGE_NONE:
        break;
    }
    return 0;
}

static void merges_report(struct model *m, const struct table *t, const struct partition_info *info,
                          enum merge_command command)
{
    struct decision d = {
        .table_id = t->id, .partition = info->id, .epoch = info->epoch, .merge = command};
    if (command == MERGE_ABSORB_IT)
        d.frozen_index = d.frozen_term = MERGE_TERM;
    if (command == MERGE_GIVE_UP) {
        d.has_event = true;
        d.event = (struct event){.kind = EVENT_MERGE_GIVEN_UP,
                                 .table_id = t->id,
                                 .partition = info->id,
                                 .table = t->name,
                                 .reason = slice_of("not all its replicas stopped in time")};
    }
    model_control_decide(m, CATALOG_MERGE, &d);
}

/* `argument`: table and partition. */
static void merges_step(void *context, uint64_t argument)
{
    struct model *m = context;
    const uint32_t table = (uint32_t)(argument >> 32), id = (uint32_t)argument;
    struct model_partition *p = model_partitions_find(m, id);
    const struct table *t = catalog_find_id(m->catalog, table);
    const struct partition_info *info = t == NULL ? NULL : table_find_partition(t, id);
    if (p == NULL || info == NULL)
        return;
    p->merging = false;
    const enum merge_command command = merges_next(m, p, info);
    if (command != 0)
        merges_report(m, t, info, command);
    model_merges_sync(m, catalog_find_id(m->catalog, table)); /* the step may be open still */
}
