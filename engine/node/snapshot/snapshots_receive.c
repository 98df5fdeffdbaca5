/* snapshots_receive.c - puts the chunks of a snapshot in place of what the replica had there.
 *
 * A chunk is put in place in slices, as the memtable has room. The oldest snapshot comes first. A
 * chunk that waits is acknowledged again when its sender repeats it. Once the last chunk is in the
 * backing, with a row that says so, the replica goes on from the snapshot's index. */
#include "engine/node/snapshot/snapshots_internal.h"

#include <stdlib.h>

#include "base/probe.h"
#include "base/settings/replication.h"
#include "base/settings/storage.h"
#include "engine/node/core/owned_keys.h"

void snapshot_drop_in(struct snapshots *snapshots, struct snapshot_in *s)
{
    TAILQ_REMOVE(&snapshots->in, s, place);
    buffer_deinit(&s->counted_to);
    buffer_deinit(&s->key);
    buffer_deinit(&s->chunk);
    buffer_deinit(&s->to);
    free(s);
}

struct snapshot_in *snapshot_find_in(struct snapshots *snapshots, uint32_t group)
{
    struct snapshot_in *s = TAILQ_FIRST(&snapshots->in);
    while (s != NULL && s->group != group)
        s = TAILQ_NEXT(s, place);
    return s;
}

static void snapshot_send_ack(struct snapshots *snapshots, const struct partition *p, uint64_t to,
                              uint64_t id, uint64_t sequence, uint64_t installed)
{
    struct buffer *out = snapshot_message(snapshots, to, SNAPSHOT_ACK, p, id);
    buffer_append_u64(out, sequence);
    buffer_append_u64(out, installed);
    snapshot_post(snapshots, to);
}

static void snapshot_acknowledge(struct snapshots *snapshots, const struct partition *p,
                                 const struct snapshot_in *s)
{
    snapshot_send_ack(snapshots, p, s->from, s->id, s->sequence,
                      s->installed ? s->row.base.index : 0);
}

void snapshots_accept(struct snapshots *snapshots, const struct snapshot_offer *offer)
{
    struct partition *p = offer->to;
    struct snapshot_in *s = snapshot_find_in(snapshots, p->info.id);
    if (s != NULL)
        snapshot_drop_in(snapshots, s);
    s = must_calloc(1, sizeof *s);
    s->group = p->info.id;
    s->from = offer->from;
    s->id = offer->id;
    s->row = offer->row;
    buffer_set(&s->counted_to, offer->row.counted_to);
    s->row.counted_to = buffer_slice(&s->counted_to);
    s->sequence = 1;
    TAILQ_INSERT_TAIL(&snapshots->in, s, place);
    snapshot_acknowledge(snapshots, p, s);
}

void snapshots_refuse(struct snapshots *snapshots, const struct snapshot_offer *offer)
{
    snapshot_send_ack(snapshots, offer->to, offer->from, offer->id, 0, 0);
}

void snapshots_decline(struct snapshots *snapshots, const struct snapshot_offer *offer)
{
    snapshot_send_ack(snapshots, offer->to, offer->from, offer->id, 1, offer->row.base.index);
}

/* The offer of a snapshot. A repeated offer of an accepted snapshot is acknowledged again. */
bool snapshot_receive_begin(struct snapshots *snapshots, struct snapshot_offer *offer,
                            struct partition *p, struct slice row)
{
    struct snapshot_in *s = snapshot_find_in(snapshots, p->info.id);
    if (partition_row_decode(row, &offer->row) != STATUS_OK || offer->row.base.no_state)
        return false;
    if (partition_info_decode(offer->row.info, &offer->info) != STATUS_OK ||
        offer->info.id != p->info.id)
        return false;
    if (s != NULL && s->id == offer->id)
        snapshot_acknowledge(snapshots, p, s);
    else
        offer->to = p;
    return true;
}

/* Collects in `gone` the replica's keys after s->key and up to the chunk's last key that the chunk
 * does not have: they must be deleted. The chunk's keys ascend. The last chunk reaches to the
 * partition's end. `all` false: only a slice was read, and `at` is its last key. */
static enum status snapshot_collect_gone(struct snapshots *snapshots, const struct partition *p,
                                         const struct snapshot_in *s, struct buffer *gone,
                                         struct buffer *at, bool *all)
{
    struct reader chunk = {buffer_slice(&s->chunk), false};
    uint32_t count = s->chunk_count;
    struct slice key, value, lo = s->key.size > 0 ? buffer_slice(&s->key) : p->info.lo;
    struct slice next = count > 0 ? reader_sized(&chunk) : slice_make(NULL, 0);
    struct key_ranges ranges =
        key_ranges_of(p->info.lo, p->info.hi, p->info.indexes, &snapshots->env->lent);
    struct owned_cursor c;
    size_t bytes = 0;
    enum status status;
    *all = true;
    key_ranges_skip(&ranges, lo);
    owned_seek(snapshots->env->store, &ranges, &c);
    for (int i = 0; (status = owned_next(&c, &key, &value)) == STATUS_OK; i++) {
        if (!s->chunk_last && slice_compare(key, buffer_slice(&s->to)) > 0)
            return STATUS_OK;
        while (next.data != NULL && slice_compare(next, key) < 0) {
            reader_sized(&chunk);
            next = --count > 0 ? reader_sized(&chunk) : slice_make(NULL, 0);
        }
        if (s->key.size > 0 && slice_equal(key, lo))
            continue; /* in place already; the slice has at least one key after it */
        if (next.data == NULL || !slice_equal(next, key))
            buffer_append_sized(gone, key);
        bytes += value.size;
        if (i == SCAN_ITEMS || bytes >= SCAN_BYTES) {
            buffer_append_slice(at, key);
            *all = false;
            return STATUS_OK;
        }
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* Writes are refused from twice memtable_max_bytes on: they have room beside snapshots. */
static bool snapshot_has_room(const struct snapshots *snapshots)
{
    return 2 * store_active_bytes(snapshots->env->store) <
           3 * (uint64_t)config_storage(snapshots->env->config)->memtable_max_bytes;
}

/* Puts the chunk's items up to `to` in place (empty: all items), and deletes the keys in `gone`.
 * False: there was no room for all of them; those up to s->key are in place. */
static bool snapshot_put_items(struct snapshots *snapshots, struct snapshot_in *s,
                               struct slice gone, struct slice to)
{
    bool all = true;
    struct slice last = {NULL, 0};
    struct reader r = {gone, false};
    while (r.left.size > 0)
        store_put(snapshots->env->store, reader_sized(&r), slice_make(NULL, 0));
    r = (struct reader){buffer_slice(&s->chunk), false};
    struct slice left = r.left;
    while (s->chunk_count > 0) {
        struct slice key = reader_sized(&r);
        struct slice value = reader_sized(&r);
        if (to.size > 0 && slice_compare(key, to) > 0)
            break;
        all = last.data == NULL || snapshot_has_room(snapshots);
        if (!all)
            break;
        last = key;
        store_put(snapshots->env->store, key, value.data != NULL ? value : slice_of(""));
        s->chunk_count--;
        left = r.left;
    }
    snapshots->checkpoints->installed_bytes += (int64_t)(s->chunk.size - left.size + gone.size);
    if (!all)
        buffer_set(&s->key, last);
    buffer_set(&s->chunk, left);
    return all;
}

/* Whether the chunk's keys ascend, lie in the partition, and come after s->key. `to` is the last
 * key. */
static bool snapshot_chunk_is_valid(struct snapshots *snapshots, const struct partition *p,
                                    const struct snapshot_in *s, struct reader chunk,
                                    uint32_t count, struct slice *to)
{
    struct slice before = s->key.size > 0 ? buffer_slice(&s->key) : slice_make(NULL, 0);
    const struct key_ranges ranges =
        key_ranges_of(p->info.lo, p->info.hi, p->info.indexes, &snapshots->env->lent);
    for (uint32_t i = 0; i < count; i++) {
        struct slice key = reader_sized(&chunk);
        reader_sized(&chunk);
        if (chunk.failed || key.size == 0 || key.size > STORAGE_KEY_SIZE_MAX ||
            !key_ranges_hold(&ranges, key) || (before.size > 0 && slice_compare(key, before) <= 0))
            return false;
        before = key;
    }
    *to = before;
    return chunk.left.size == 0;
}

/* The whole snapshot is in the memtable: the next checkpoint stores it, with a row that says so. */
static void snapshot_finish(struct snapshots *snapshots, struct partition *p, struct snapshot_in *s)
{
    s->complete = true;
    partition_take_row(p, &s->row);
    p->installing = must_calloc(1, sizeof *p->installing);
    *p->installing = s->row.base;
    local_state_store_partition(snapshots->env, p);
    checkpoints_soon(snapshots->checkpoints);
}

/* Puts a slice of the chunk in place. A chunk for which there is no room stays here until a
 * checkpoint has made room: its sender would bring it again only after some time. */
static void snapshot_put_slice(struct snapshots *snapshots, struct partition *p,
                               struct snapshot_in *s)
{
    if (!proposals_leave_space(snapshots->driver->proposals, s->chunk.size) ||
        !snapshot_has_room(snapshots)) {
        s->again_at = instant_add_ms(snapshots->env->now,
                                     config_replication(snapshots->env->config)->append_retry_ms);
        return;
    }
    struct slice from = s->key.size > 0 ? buffer_slice(&s->key) : p->info.lo;
    if (!pending_may_scan(snapshots->pending, &s->scan, RESUME_SNAPSHOT_IN, s->id, from)) {
        s->again_at = pending_scan_again_at(snapshots->pending, &s->scan);
        return;
    }
    struct buffer gone = {0}, at = {0};
    bool all;
    if (snapshot_collect_gone(snapshots, p, s, &gone, &at, &all) != STATUS_OK) {
        PROBE("what a snapshot replaces cannot be read");
        s->again_at = instant_add_ms(snapshots->env->now,
                                     config_replication(snapshots->env->config)->append_retry_ms);
        buffer_deinit(&gone);
        buffer_deinit(&at);
        return;
    }
    if (!snapshot_put_items(snapshots, s, buffer_slice(&gone), buffer_slice(&at)))
        all = false;
    else
        buffer_set(&s->key, buffer_slice(all ? &s->to : &at));
    buffer_deinit(&gone);
    buffer_deinit(&at);
    s->again_at = snapshots->env->now;
    if (!all)
        return;
    s->has_chunk = false;
    if (s->chunk_last)
        snapshot_finish(snapshots, p, s);
    else
        s->sequence++;
    snapshot_acknowledge(snapshots, p, s);
}

bool snapshot_receive_chunk(struct snapshots *snapshots, struct partition *p, uint64_t from,
                            uint64_t id, struct reader *r)
{
    uint64_t sequence = reader_u64(r);
    bool last = reader_u8(r);
    uint32_t count = reader_u32(r);
    struct snapshot_in *s = snapshot_find_in(snapshots, p->info.id);
    if (r->failed)
        return false;
    if (s == NULL || s->id != id || sequence > s->sequence) {
        snapshot_send_ack(snapshots, p, from, id, 0,
                          0); /* forgotten in a restart: the sender must begin again */
        return true;
    }
    if (sequence < s->sequence || s->complete || s->has_chunk) {
        snapshot_acknowledge(snapshots, p, s); /* has_chunk: it is being put in place */
        return true;
    }
    struct slice to;
    if (!snapshot_chunk_is_valid(snapshots, p, s, *r, count, &to))
        return false;
    s->has_chunk = true;
    s->chunk_last = last;
    s->chunk_count = count;
    buffer_set(&s->chunk, r->left);
    buffer_set(&s->to, to);
    snapshot_put_slice(snapshots, p, s);
    return true;
}

/* ---- checkpoints and turns ---- */

void snapshots_wake_receiving(struct snapshots *snapshots)
{
    struct snapshot_in *s;
    TAILQ_FOREACH (s, &snapshots->in, place)
        s->again_at = snapshots->env->now;
}

void snapshots_frozen(struct snapshots *snapshots)
{
    struct snapshot_in *s;
    TAILQ_FOREACH (s, &snapshots->in, place)
        s->frozen = s->complete && !s->installed;
    snapshots_wake_receiving(snapshots);
}

struct partition *snapshots_next_stored(struct snapshots *snapshots)
{
    struct snapshot_in *s;
    TAILQ_FOREACH (s, &snapshots->in, place) {
        if (!s->frozen)
            continue;
        s->frozen = false;
        s->installed = true;
        return partitions_find(snapshots->partitions, s->group);
    }
    return NULL;
}

void snapshots_installed(struct snapshots *snapshots, struct partition *p)
{
    const struct snapshot_in *s = snapshot_find_in(snapshots, p->info.id);
    env_note(snapshots->env, NODE_TRACE_SNAPSHOT_INSTALLED, p->info.id, (int64_t)s->row.base.index);
    snapshot_acknowledge(snapshots, p, s);
}

void snapshots_go_on_receiving(struct snapshots *snapshots)
{
    struct snapshot_in *s;
    TAILQ_FOREACH (s, &snapshots->in, place) {
        if (s->has_chunk && !instant_before(snapshots->env->now, s->again_at))
            snapshot_put_slice(snapshots, partitions_find(snapshots->partitions, s->group), s);
    }
}
