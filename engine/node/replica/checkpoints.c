/* checkpoints.c - when the memtable is written to the backing, and how much is erased then. */
#include "engine/node/replica/checkpoints.h"

#include <errno.h>

#include "base/settings/replication.h"
#include "base/settings/storage.h"
#include "engine/node/core/local_state.h"
#include "engine/node/core/node_effect.h"

enum {
    RETRY_MS = 1000,
    ERASE_MS = 250,   /* between two checkpoints that erase */
    ERASE_MS_MIN = 5, /* the same, after few bytes were erased */
    SPACE_MS = 100,   /* between two checkpoints for want of space */
    CHECK_MS = 1000,  /* the same, if only a refused write asks for one */
    ERASE_SPACE_PART = 8,
};

static struct instant checkpoints_next(const struct checkpoints *checkpoints)
{
    return instant_add_ms(checkpoints->env->now,
                          config_storage(checkpoints->env->config)->checkpoint_ms);
}

/* How many bytes a checkpoint that begins now may erase. */
static uint64_t checkpoints_erase_share(struct checkpoints *checkpoints)
{
    if (!store_erase_pending(checkpoints->env->store) ||
        instant_before(checkpoints->env->now, checkpoints->erase_at))
        return 0;
    checkpoints->erase_at = instant_add_ms(checkpoints->env->now, ERASE_MS);
    const struct space *space = store_space(checkpoints->env->store);
    const uint64_t share =
        (uint64_t)(config_storage(checkpoints->env->config)->erase_bytes_s * ERASE_MS / 1000);
    const uint64_t left = (space->total_bytes - space_used_bytes(space)) / ERASE_SPACE_PART;
    return space->total_bytes == 0 || share < left ? share : left > 0 ? left : 1;
}

/* A range is erased: the next range waits as long as the erased bytes take at erase_bytes_s, not
 * for all of ERASE_MS. A deleted table leaves a range per partition, and new replicas may wait for
 * a range to be empty. */
static void checkpoints_pace_next_ranges(struct checkpoints *checkpoints)
{
    int64_t ms = (int64_t)(store_erased_bytes(checkpoints->env->store) * 1000 /
                           (uint64_t)config_storage(checkpoints->env->config)->erase_bytes_s);
    struct instant next = instant_add_ms(checkpoints->env->now, MAX(ms, ERASE_MS_MIN));
    checkpoints->erase_at = instant_earlier(checkpoints->erase_at, next);
}

/* Whether a checkpoint would free a segment of the log, and none can be made. */
static bool checkpoints_free_log(const struct checkpoints *checkpoints)
{
    const struct log_writer *w = &checkpoints->log->writer;
    return checkpoints->log->segment_error != 0 &&
           store_log_lsn(checkpoints->env->store) / w->segment_bytes <
               w->written_lsn / w->segment_bytes;
}

/* When a checkpoint may begin for want of space; INSTANT_NEVER: there is space. */
static struct instant checkpoints_next_by_space(const struct checkpoints *checkpoints)
{
    struct store *store = checkpoints->env->store;
    if (store_needs_checkpoint(store) || checkpoints_free_log(checkpoints))
        return checkpoints->space_at;
    const bool futile = store_keeps_pages(store) && !store_space(store)->disk_bound;
    return checkpoints->log->space_refused && !futile ? checkpoints->check_at : INSTANT_NEVER;
}

/* Each checkpoint takes some pages for which those that it frees are of no use while a snapshot is
 * open. So none is made for the time alone where they are scarce: a snapshot may last minutes, and
 * with the last page its receiver's group would come to a stop. */
static struct instant checkpoints_next_by_time(const struct checkpoints *checkpoints)
{
    const bool waits = !checkpoints->requested && store_keeps_pages(checkpoints->env->store);
    const struct instant next = instant_earlier(waits ? INSTANT_NEVER : checkpoints->at,
                                                checkpoints_next_by_space(checkpoints));
    return store_erase_pending(checkpoints->env->store)
               ? instant_earlier(next, checkpoints->erase_at)
               : next;
}

/* Not before the log has what was logged again. */
static bool checkpoints_may_begin(const struct checkpoints *checkpoints)
{
    return !store_is_frozen(checkpoints->env->store) && checkpoints->env->stop_error == 0 &&
           checkpoints->log->writer.written_lsn >= checkpoints->log->relogged_lsn;
}

static bool checkpoints_due(const struct checkpoints *checkpoints)
{
    if (!checkpoints_may_begin(checkpoints))
        return false;
    size_t bytes = store_active_bytes(checkpoints->env->store);
    return !instant_before(checkpoints->env->now, checkpoints_next_by_time(checkpoints)) ||
           checkpoints->installed_bytes >=
               config_replication(checkpoints->env->config)->snapshot_step_bytes ||
           bytes >= (size_t)config_storage(checkpoints->env->config)->memtable_max_bytes ||
           checkpoints->log->writer.next_lsn - store_log_lsn(checkpoints->env->store) >
               (uint64_t)config_storage(checkpoints->env->config)->log_max_bytes / 2;
}

void checkpoints_start(struct checkpoints *checkpoints)
{
    checkpoints->check_at = instant_add_ms(checkpoints->env->now, SPACE_MS);
    checkpoints->log->space_refused = store_space(checkpoints->env->store)->disk_bound;
}

bool checkpoints_tick(struct checkpoints *checkpoints)
{
    struct node_env *env = checkpoints->env;
    bool retry = store_is_frozen(env->store) && !checkpoints->running && env->stop_error == 0 &&
                 !instant_before(env->now, checkpoints->retry_at);
    if (retry) {
        checkpoints->retry_at = INSTANT_NEVER;
        checkpoints->running = true;
        env_push(env, NODE_CHECKPOINT);
        return false;
    }
    if (checkpoints->at.ns == INSTANT_NEVER.ns && store_active_bytes(env->store) > 0 &&
        !store_is_frozen(env->store))
        checkpoints->at = checkpoints_next(checkpoints);
    return checkpoints_due(checkpoints);
}

void checkpoints_begin(struct checkpoints *checkpoints, uint64_t pinned_lsn)
{
    struct node_env *env = checkpoints->env;
    uint64_t lsn = checkpoints->log->writer.written_lsn;
    checkpoints->log->local_lsn = lsn;
    local_state_store_local_lsn(env, lsn);
    lsn = MIN(lsn, pinned_lsn);
    store_freeze(env->store, lsn, checkpoints_erase_share(checkpoints));
    checkpoints->installed_bytes = 0;
    checkpoints->log->space_refused = false;
    checkpoints->space_at = instant_add_ms(env->now, SPACE_MS);
    checkpoints->check_at = instant_add_ms(env->now, CHECK_MS);
    env_note(env, NODE_TRACE_CHECKPOINT_BEGUN, 0, (int64_t)lsn);
    checkpoints->running = true;
    checkpoints->requested = false;
    checkpoints->at = INSTANT_NEVER;
    env_push(env, NODE_CHECKPOINT);
}

bool checkpoints_ended(struct checkpoints *checkpoints, enum status status)
{
    struct node_env *env = checkpoints->env;
    must(checkpoints->running);
    env_note(env, NODE_TRACE_CHECKPOINT_ENDED, status, (int64_t)store_log_lsn(env->store));
    checkpoints->running = false;
    if (status != STATUS_OK && status != STATUS_FULL) {
        env_stop(env, EIO);
        return false;
    }
    store_checkpoint_done(env->store, status);
    if (status == STATUS_FULL && store_grow(env->store) == STATUS_OK) {
        checkpoints->running = true;
        env_push(env, NODE_CHECKPOINT);
        return false;
    }
    checkpoints->log->map_full = status == STATUS_FULL;
    if (checkpoints->log->map_full) {
        checkpoints->retry_at = instant_add_ms(env->now, RETRY_MS);
        return false;
    }
    struct slice erased;
    while (store_next_erased(env->store, &erased)) {
        local_state_erased(env, erased);
        checkpoints_pace_next_ranges(checkpoints);
    }
    env_push(env, NODE_TRIM_LOG)->lsn = store_log_lsn(env->store);
    if (store_active_bytes(env->store) > 0 && checkpoints->at.ns == INSTANT_NEVER.ns)
        checkpoints->at = checkpoints_next(checkpoints);
    return true;
}

void checkpoints_soon(struct checkpoints *checkpoints)
{
    if (store_active_bytes(checkpoints->env->store) == 0)
        return;
    checkpoints->at = checkpoints->env->now;
    checkpoints->requested = true;
}

struct instant checkpoints_deadline(const struct checkpoints *checkpoints)
{
    if (checkpoints->env->stop_error != 0)
        return INSTANT_NEVER; /* a stopped node makes no checkpoint */
    if (store_is_frozen(checkpoints->env->store))
        return checkpoints->running ? INSTANT_NEVER : checkpoints->retry_at;
    return checkpoints_may_begin(checkpoints) ? checkpoints_next_by_time(checkpoints)
                                              : INSTANT_NEVER;
}
