/* node/checkpoints.c - from the memtable to the backing, and freeing the log behind it.
 *
 * A checkpoint holds everything applied, each replica's row with the index up to which that is. The
 * log must stay from the first entry on that some replica has not applied; one that holds it up
 * from one checkpoint to the next (a minority without its leader) is written again at the end. */
#include <errno.h>

#include "base/must.h"
#include "engine/node/node_internal.h"

enum {
    RETRY_MS = 1000,
    ERASE_MS = 250,   /* between two checkpoints that erase */
    ERASE_MS_MIN = 5, /* the same, where there was little to erase */
};

static struct instant next_checkpoint(const struct node *n)
{
    return instant_add(n->now, duration_ms(n->config->checkpoint_ms));
}

/* How much of what is to be erased goes with a checkpoint now. */
static uint64_t erase_share(struct node *n)
{
    if (!store_erase_pending(n->store) || instant_before(n->now, n->erase_at))
        return 0;
    n->erase_at = instant_add(n->now, duration_ms(ERASE_MS));
    return (uint64_t)(n->config->erase_bytes_s * ERASE_MS / 1000);
}

/* Ranges came to their end: the next ones wait as long as their bytes take at the rate. A deleted
 * table leaves as many ranges as it had partitions, and replicas may wait for a range to be empty.
 */
static void pace_next_ranges(struct node *n)
{
    int64_t ms =
        (int64_t)(store_erased_bytes(n->store) * 1000 / (uint64_t)n->config->erase_bytes_s);
    struct instant next = instant_add(n->now, duration_ms(ms > ERASE_MS_MIN ? ms : ERASE_MS_MIN));
    n->erase_at = instant_earlier(n->erase_at, next);
}

static void start(struct node *n)
{
    node_groups_compact(n);
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        if (n->partitions[i] != NULL && !n->partitions[i]->stored)
            node_store_partition(n, n->partitions[i]);
    }
    uint64_t lsn = n->log.written_lsn, pinned = node_groups_pinned_lsn(n);
    n->local_lsn = lsn;
    node_store_local_lsn(n, lsn);
    if (pinned < lsn)
        lsn = pinned;
    store_freeze(n->store, lsn, erase_share(n));
    n->installed_bytes = 0;
    node_snapshots_frozen(n);
    node_note(n, NODE_TRACE_CHECKPOINT_BEGUN, 0, (int64_t)lsn);
    n->checkpoint_running = true;
    n->checkpoint_at = INSTANT_NEVER;
    node_push(n, NODE_CHECKPOINT);
}

static struct instant next_by_time(const struct node *n)
{
    return store_erase_pending(n->store) ? instant_earlier(n->checkpoint_at, n->erase_at)
                                         : n->checkpoint_at;
}

static bool due(const struct node *n)
{
    if (store_is_frozen(n->store) || n->stop_error != 0 || n->log.written_lsn < n->relogged_lsn)
        return false;
    size_t bytes = store_active_bytes(n->store);
    return !instant_before(n->now, next_by_time(n)) ||
           n->installed_bytes >= n->config->snapshot_step_bytes ||
           bytes >= (size_t)n->config->memtable_max_bytes ||
           n->log.next_lsn - store_log_lsn(n->store) > (uint64_t)n->config->log_max_bytes / 2;
}

void node_checkpoint_tick(struct node *n)
{
    bool retry = store_is_frozen(n->store) && !n->checkpoint_running && n->stop_error == 0 &&
                 !instant_before(n->now, n->retry_at);
    if (retry) {
        n->retry_at = INSTANT_NEVER;
        n->checkpoint_running = true;
        node_push(n, NODE_CHECKPOINT);
        return;
    }
    if (n->checkpoint_at.ns == INSTANT_NEVER.ns && store_active_bytes(n->store) > 0 &&
        !store_is_frozen(n->store))
        n->checkpoint_at = next_checkpoint(n);
    if (due(n))
        start(n);
}

void node_checkpoint_ended(struct node *n, enum status status)
{
    must(n->checkpoint_running);
    node_note(n, NODE_TRACE_CHECKPOINT_ENDED, status, (int64_t)store_log_lsn(n->store));
    n->checkpoint_running = false;
    if (status == STATUS_FULL)
        node_snapshots_close(n); /* the map cannot grow under them */
    if (status == STATUS_FULL && store_grow(n->store) == STATUS_OK) {
        n->checkpoint_running = true;
        node_push(n, NODE_CHECKPOINT);
        return;
    }
    n->map_full = status == STATUS_FULL;
    if (n->map_full) {
        n->retry_at = instant_add(n->now, duration_ms(RETRY_MS));
        return;
    }
    if (status != STATUS_OK) {
        node_stop(n, EIO);
        return;
    }
    struct slice erased;
    store_checkpoint_done(n->store, status);
    while (store_next_erased(n->store, &erased)) {
        node_erased(n, erased);
        pace_next_ranges(n);
    }
    node_push(n, NODE_TRIM_LOG)->lsn = store_log_lsn(n->store);
    if (store_active_bytes(n->store) > 0 && n->checkpoint_at.ns == INSTANT_NEVER.ns)
        n->checkpoint_at = next_checkpoint(n);
    node_groups_relog(n, n->local_lsn);
    node_snapshots_stored(n);
}

void node_checkpoint_soon(struct node *n)
{
    if (store_active_bytes(n->store) > 0)
        n->checkpoint_at = n->now;
}

void node_finish(struct node *n)
{
    node_buckets_finish(n);
    n->checkpoint_at = n->now;
}

struct instant node_checkpoint_deadline(const struct node *n)
{
    if (n->stop_error != 0)
        return INSTANT_NEVER; /* no checkpoint will come of it */
    if (store_is_frozen(n->store))
        return n->checkpoint_running ? INSTANT_NEVER : n->retry_at;
    return next_by_time(n);
}
