/* quiet_phase.c - nothing is written for a while, and then things change that need no write to
 * end. */
#include "sim/quiet_phase.h"

#include "base/probe.h"
#include "engine/catalog/catalog.h"

enum {
    MERGES = 3,
    POLL_MS = 500
};

static void quiet_phase_merge(void *context, UNUSED uint64_t argument)
{
    struct quiet_phase *s = context;
    const struct table *t = run_find_table(s->run, work_tables_name(0));
    const bool rests = t != NULL && t->status == TABLE_ACTIVE && !table_is_changing(t);
    s->merged = rests && (s->merges == MERGES || t->partition_count == 1);
    if (s->merged)
        return;
    if (rests) {
        work_splits_request_merge(s->work_splits, t);
        s->merges++;
    }
    scheduler_in(&s->run->world.scheduler, duration_ms(POLL_MS), quiet_phase_merge, s, 0);
}

void quiet_phase_begin_changes(struct quiet_phase *s)
{
    PROBE("nothing was written for a while");
    work_tables_renew_index(s->work_tables);
    work_key_sharding_leave(s->work_key_sharding);
    quiet_phase_merge(s, 0);
}

bool quiet_phase_is_over(const struct quiet_phase *s)
{
    return s->merged && work_tables_are_settled(s->work_tables) &&
           work_key_sharding_are_over(s->work_key_sharding);
}
