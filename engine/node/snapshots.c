/* node/snapshots.c - a partition's range, streamed to a replica whose log ends before ours begins.
 *
 * The sender reads the backing as it was at its last checkpoint, in a read transaction, chunk by
 * chunk: one is on its way at a time, sent again until it is acknowledged, all of a node's
 * snapshots together at most snapshot_bytes_s. The receiver puts each chunk in place of what it had
 * in that interval of keys: it never needs room for two copies, and going on after a lost message
 * is sending the chunk again. While it lasts the replica has no state (raft.h): it votes but
 * neither runs, reads nor takes entries, and its row says so, so that a crash half-way starts over.
 * Once the last chunk has reached the backing with a row that says so, the replica goes on from the
 * snapshot's index.
 *
 * Messages: u8 kind | u32 group | u64 from | u64 to (member ids) | u64 id | BEGIN: sized row of the
 * partition | CHUNK: u64 sequence, u8 last, u32 count, each: sized key, sized value |
 * ACK: u64 sequence awaited next (0: begin again), u64 index installed (0: not yet). */
#include <stdlib.h>

#include "base/must.h"
#include "base/probe.h"
#include "engine/node/node_internal.h"

enum {
    SNAPSHOT_BEGIN = 1,
    SNAPSHOT_CHUNK,
    SNAPSHOT_ACK,
    CHUNK_BYTES = 64 * 1024, /* what a turn can spare */
    SNAPSHOTS_OUT_MAX = 4,
    TRIES_MAX = 25,
};

struct snapshot_out {
    struct snapshot_out *next;
    uint32_t group;
    uint64_t to;
    uint64_t id;
    uint64_t term; /* led in, when it began */
    uint64_t index;
    struct backing_snapshot *source; /* owns */
    struct buffer row;
    struct buffer hi;   /* the range's end as of the row: it may have been split since */
    struct buffer key;  /* the last one acknowledged */
    struct buffer sent; /* the last one of the chunk on its way */
    uint64_t sequence;  /* 0: BEGIN is to be acknowledged first */
    bool on_its_way;
    bool sent_last;
    uint32_t tries;
    struct instant again_at;
    struct scan scan;
};

struct snapshot_in {
    struct snapshot_in *next;
    uint32_t group;
    uint64_t from;
    uint64_t id;
    struct raft_base base;
    uint64_t sequence;
    int64_t item_count;
    int64_t item_bytes;
    bool counting;
    struct buffer counted_to;
    struct split_history splits;
    struct frozen as_frozen; /* the partition was, at the base */
    struct buffer key;       /* everything up to it is in place */
    bool has_chunk;          /* one is being put in place, a slice of what is there at a time */
    bool chunk_last;
    uint32_t chunk_count; /* of `chunk` */
    struct buffer chunk;  /* its items that are not in place yet */
    struct buffer to;     /* its last key */
    struct instant again_at;
    struct scan scan;
    bool whole;  /* all of it, on its way to the backing */
    bool frozen; /* in the checkpoint that is being written */
    bool installed;
};

/* How much dearer a byte is while the node serves requests. */
static int64_t busy_factor(const struct node *n)
{
    int64_t factor = n->config->snapshot_bytes_s / n->config->snapshot_busy_bytes_s;
    return factor > 1 ? factor : 1;
}

/* A chunk at a time: what was saved in quiet times would go out at once, ahead of requests. */
void node_snapshots_start(struct node *n)
{
    const int64_t most = 4 * (int64_t)CHUNK_BYTES + (int64_t)LOG_PAYLOAD_SIZE_MAX;
    token_bucket_init(&n->snapshot_rate, CHUNK_BYTES, n->config->snapshot_bytes_s,
                      most * busy_factor(n), CHUNK_BYTES, n->now);
}

/* Requests come first: a snapshot that is sent while there are any is sent slowly. */
static void pay(struct node *n, int64_t bytes)
{
    int64_t served_mcu = n->consumed_mcu[ADMIT_READ] + n->consumed_mcu[ADMIT_WRITE];
    bool busy = served_mcu != n->snapshot_served_mcu;
    n->snapshot_served_mcu = served_mcu;
    token_bucket_debit(&n->snapshot_rate, busy ? bytes * busy_factor(n) : bytes);
}

/* ---- sending ---- */

static void drop_out(struct node *n, struct snapshot_out **link, uint64_t installed)
{
    struct snapshot_out *s = *link;
    struct partition *p = node_partition(n, s->group);
    *link = s->next;
    if (s->source != NULL)
        store_snapshot_close(n->store, s->source);
    if (p != NULL)
        p->hold = 0;
    if (p != NULL && !p->closing && node_led_term(p) == s->term) {
        raft_snapshot_ended(p->raft, n->now, s->to, installed);
        node_group_stepped(n, p);
    }
    buffer_deinit(&s->row);
    buffer_deinit(&s->hi);
    buffer_deinit(&s->key);
    buffer_deinit(&s->sent);
    free(s);
}

static struct buffer *message(struct node *n, uint64_t to, uint8_t kind, const struct partition *p,
                              uint64_t id)
{
    struct buffer *out = &n->outgoing;
    buffer_clear(out);
    buffer_append_u8(out, kind);
    buffer_append_u32(out, p->info.id);
    buffer_append_u64(out, raft_self(p->raft));
    buffer_append_u64(out, to);
    buffer_append_u64(out, id);
    return out;
}

static void post(struct node *n, uint64_t to)
{
    buffer_append_sized(node_peer_message(n, raft_member_node(to), PEER_SNAPSHOT),
                        buffer_slice(&n->outgoing));
}

/* The partition as of the last checkpoint, if the log goes on from there. */
static bool open_source(struct node *n, const struct partition *p, struct snapshot_out *s)
{
    struct slice value;
    struct partition_row row;
    if (store_snapshot_open(n->store, &s->source) != STATUS_OK)
        return false;
    bool usable = store_snapshot_get(n->store, s->source, node_partition_row_key(n, p->info.id),
                                     &value) == STATUS_OK &&
                  partition_row_decode(value, &row) == STATUS_OK && !row.base.no_state &&
                  row.base.index + 1 >= raft_first(p->raft) &&
                  row.base.index <= raft_applied(p->raft) && row.base.index > 0;
    if (!usable) {
        store_snapshot_close(n->store, s->source);
        return false;
    }
    struct partition_info info;
    struct reader r = {row.info, false};
    must(partition_info_decode(&r, &info) == STATUS_OK); /* its checksum held */
    if (info.epoch != p->info.epoch) {                   /* from before a merge or a split */
        store_snapshot_close(n->store, s->source);
        return false;
    }
    s->index = row.base.index;
    buffer_append_slice(&s->row, value);
    buffer_append_slice(&s->hi, info.hi);
    return true;
}

/* A replica of a node that has lost its disk since is nowhere any more. */
static bool is_gone(const struct node *n, uint64_t member)
{
    uint32_t node = raft_member_node(member);
    return node == 0 || node > n->options.node_count || node == n->options.id ||
           n->peers[node].generation != raft_member_generation(member);
}

/* The next member that needs one and can be sent it; those who cannot are asked for again later. */
static uint64_t next_receiver(struct node *n, struct partition *p)
{
    uint64_t to = raft_next_snapshot(p->raft);
    for (uint32_t i = 0; to != 0 && i < RAFT_MEMBERS_MAX; i++) {
        if (!is_gone(n, to) && node_is_reachable(n, raft_member_node(to)))
            return to;
        raft_snapshot_started(p->raft, to);
        raft_snapshot_ended(p->raft, n->now, to, 0);
        to = raft_next_snapshot(p->raft);
    }
    return 0;
}

void node_snapshot_offer(struct node *n, struct partition *p)
{
    uint32_t running = 0;
    uint64_t to = p->hold != 0 ? 0 : next_receiver(n, p);
    if (to == 0)
        return;
    for (struct snapshot_out *s = n->snapshots_out; s != NULL; s = s->next)
        running++;
    if (running >= SNAPSHOTS_OUT_MAX)
        return;
    struct snapshot_out *s = calloc(1, sizeof *s);
    must(s != NULL);
    if (!open_source(n, p, s)) {
        free(s);
        p->hold = raft_applied(p->raft);
        node_store_partition(n, p); /* so that the next checkpoint has it */
        node_checkpoint_soon(n);
        return;
    }
    s->group = p->info.id;
    s->to = to;
    s->term = node_led_term(p);
    s->id = prng_next(&n->prng);
    s->again_at = n->now;
    s->next = n->snapshots_out;
    n->snapshots_out = s;
    p->hold = s->index;
    raft_snapshot_started(p->raft, to);
    node_note(n, NODE_TRACE_SNAPSHOT_BEGUN, p->info.id, (int64_t)s->index);
}

/* Items from behind the last key on, up to a chunk's size; an error ends the snapshot. */
static bool append_items(struct node *n, const struct partition *p, struct snapshot_out *s,
                         struct buffer *out)
{
    size_t head = out->size, start = out->size + 5;
    uint32_t count = 0;
    buffer_append_u8(out, 0);
    buffer_append_u32(out, 0);
    bool after = s->key.size > 0;
    struct slice from = after ? buffer_slice(&s->key) : p->info.lo;
    struct backing_change item;
    buffer_clear(&s->sent);
    buffer_append_slice(&s->sent, from);
    s->sent_last = false;
    while (out->size - start < CHUNK_BYTES) {
        enum status status = store_snapshot_seek(n->store, s->source, from, after, &item);
        if (status != STATUS_OK && status != STATUS_NOT_FOUND)
            return false;
        s->sent_last = status == STATUS_NOT_FOUND ||
                       (s->hi.size > 0 && slice_compare(item.key, buffer_slice(&s->hi)) >= 0);
        if (s->sent_last)
            break;
        buffer_append_sized(out, item.key);
        buffer_append_sized(out, item.value);
        count++;
        buffer_clear(&s->sent);
        buffer_append_slice(&s->sent, item.key);
        from = buffer_slice(&s->sent);
        after = true;
    }
    out->data[head] = s->sent_last;
    memcpy(out->data + head + 1, &count, sizeof count);
    return true;
}

/* False: it cannot go on. */
static bool send_next(struct node *n, struct partition *p, struct snapshot_out *s)
{
    struct slice from = s->key.size > 0 ? buffer_slice(&s->key) : p->info.lo;
    if (s->sequence > 0 && !node_scan_may_read(n, &s->scan, RESUME_SNAPSHOT_OUT, s->id, from)) {
        s->again_at = node_scan_retry_at(n, &s->scan);
        return true;
    }
    if (s->sequence == 0) {
        struct buffer *out = message(n, s->to, SNAPSHOT_BEGIN, p, s->id);
        buffer_append_sized(out, buffer_slice(&s->row));
    } else {
        struct buffer *out = message(n, s->to, SNAPSHOT_CHUNK, p, s->id);
        size_t before = out->size;
        buffer_append_u64(out, s->sequence);
        if (!append_items(n, p, s, out))
            return false;
        pay(n, (int64_t)(out->size - before));
    }
    post(n, s->to);
    s->on_its_way = true;
    s->tries++;
    s->again_at = instant_add(n->now, duration_ms(5 * n->config->append_retry_ms));
    return true;
}

static void receive_ack(struct node *n, uint64_t id, uint64_t sequence, uint64_t installed)
{
    struct snapshot_out **link = &n->snapshots_out;
    while (*link != NULL && (*link)->id != id)
        link = &(*link)->next;
    struct snapshot_out *s = *link;
    if (s == NULL)
        return;
    if (installed != 0) {
        node_note(n, NODE_TRACE_SNAPSHOT_ENDED, s->group, (int64_t)installed);
        drop_out(n, link, installed);
        return;
    }
    if (sequence == 0) { /* it is to begin again, from a later checkpoint */
        struct partition *p = node_partition(n, s->group);
        drop_out(n, link, 0);
        if (p != NULL)
            node_store_partition(n, p);
        node_checkpoint_soon(n);
        return;
    }
    if (sequence == s->sequence && s->on_its_way && s->sent_last && s->sequence > 0) {
        s->tries = 0; /* all of it is there, not yet durable: asked again from time to time */
        return;
    }
    if (sequence != s->sequence + 1 || !s->on_its_way)
        return; /* late or doubled */
    if (s->sequence > 0) {
        buffer_clear(&s->key);
        buffer_append_slice(&s->key, buffer_slice(&s->sent));
    }
    s->sequence = sequence;
    s->on_its_way = false;
    s->tries = 0;
    s->again_at = n->now;
}

/* ---- receiving ---- */

static void drop_in(struct snapshot_in **link)
{
    struct snapshot_in *s = *link;
    *link = s->next;
    buffer_deinit(&s->counted_to);
    buffer_deinit(&s->key);
    buffer_deinit(&s->chunk);
    buffer_deinit(&s->to);
    free(s);
}

static struct snapshot_in **find_in(struct node *n, uint32_t group)
{
    struct snapshot_in **link = &n->snapshots_in;
    while (*link != NULL && (*link)->group != group)
        link = &(*link)->next;
    return link;
}

static void send_ack(struct node *n, const struct partition *p, uint64_t to, uint64_t id,
                     uint64_t sequence, uint64_t installed)
{
    struct buffer *out = message(n, to, SNAPSHOT_ACK, p, id);
    buffer_append_u64(out, sequence);
    buffer_append_u64(out, installed);
    post(n, to);
}

static void acknowledge(struct node *n, const struct partition *p, const struct snapshot_in *s)
{
    send_ack(n, p, s->from, s->id, s->sequence, s->installed ? s->base.index : 0);
}

/* What there was begins to be replaced. */
static void begin_in(struct node *n, struct partition *p, uint64_t from, uint64_t id,
                     const struct partition_row *row)
{
    struct snapshot_in **link = find_in(n, p->info.id);
    if (*link != NULL)
        drop_in(link);
    struct snapshot_in *s = calloc(1, sizeof *s);
    must(s != NULL);
    s->group = p->info.id;
    s->from = from;
    s->id = id;
    s->base = row->base;
    s->sequence = 1;
    s->item_count = row->item_count;
    s->item_bytes = row->item_bytes;
    s->counting = row->counting;
    buffer_append_slice(&s->counted_to, row->counted_to);
    s->splits = row->splits;
    s->as_frozen = row->frozen;
    s->next = n->snapshots_in;
    n->snapshots_in = s;
    if (!p->no_state)
        raft_install_begin(p->raft);
    p->no_state = true;
    p->frozen = (struct frozen){0};
    p->thaws = false;
    node_drop_proposals(n, p, "the replica is being rebuilt");
    node_group_stepped(n, p);
    node_store_partition(n, p); /* in the same checkpoint as the first change */
    acknowledge(n, p, s);
}

/* What a snapshot contains is committed. Where the log here has it already, it is applied as soon
 * as it is durable, and no state is given up for it: this may be the only disk left with what comes
 * behind it, and a replica without state does not run. */
static bool is_about_to_apply(struct node *n, struct partition *p, const struct raft_base *base)
{
    const struct raft_entry *e = raft_entry_at(p->raft, base->index);
    if (p->no_state || base->index <= raft_applied(p->raft) || e == NULL || e->term != base->term)
        return false;
    PROBE("the log has what a snapshot would bring");
    if (raft_learn_commit(p->raft, base->index, base->term))
        node_group_apply(n, p);
    return raft_applied(p->raft) < base->index;
}

static bool begin(struct node *n, struct partition *p, uint64_t from, uint64_t id, struct slice row)
{
    struct partition_row decoded;
    struct partition_info info;
    if (partition_row_decode(row, &decoded) != STATUS_OK || decoded.base.no_state)
        return false;
    struct reader r = {decoded.info, false};
    if (partition_info_decode(&r, &info) != STATUS_OK || info.id != p->info.id)
        return false;
    struct snapshot_in **link = find_in(n, p->info.id);
    if (*link != NULL && (*link)->id == id) {
        acknowledge(n, p, *link);
        return true;
    }
    if (partition_is_frozen(p) && info.epoch == p->info.epoch) {
        PROBE("a frozen replica needs no snapshot");
        return true; /* it may be taken over at any moment: it keeps what it has */
    }
    node_split_catch_up(n, p, &decoded.splits);
    if (is_about_to_apply(n, p, &decoded.base))
        return true; /* it comes again, if it has to */
    if (!p->no_state && decoded.base.index <= raft_applied(p->raft)) {
        send_ack(n, p, from, id, 1, decoded.base.index); /* the log has brought it meanwhile */
        return true;
    }
    if (node_led_term(p) != 0 || p->installing != NULL)
        return true;
    if (decoded.base.index < raft_applied(p->raft) ||
        decoded.base.index + 1 < raft_first(p->raft)) {
        send_ack(n, p, from, id, 0, 0); /* it had more already, and may not forget that it had */
        return true;
    }
    if (!node_split_take_range(n, p, &info)) {
        PROBE("a snapshot from before a split is refused");
        send_ack(n, p, from, id, 0, 0);
        return true;
    }
    begin_in(n, p, from, id, &decoded);
    return true;
}

/* Keys of ours behind s->key, up to the chunk's last one, that are not in the chunk, whose keys
 * ascend: they are gone. The last chunk reaches to the partition's end. False: a slice was read,
 * and `at` is the last key of it. */
static bool collect_gone(struct node *n, const struct partition *p, const struct snapshot_in *s,
                         struct buffer *gone, struct buffer *at)
{
    struct reader chunk = {buffer_slice(&s->chunk), false};
    uint32_t count = s->chunk_count;
    struct slice key, value, lo = s->key.size > 0 ? buffer_slice(&s->key) : p->info.lo;
    struct slice next = count > 0 ? reader_sized(&chunk) : slice_make(NULL, 0);
    struct store_cursor c;
    size_t bytes = 0;
    store_seek(n->store, lo, p->info.hi, false, &c);
    for (int i = 0; store_next(&c, &key, &value) == STATUS_OK; i++) {
        if (!s->chunk_last && slice_compare(key, buffer_slice(&s->to)) > 0)
            return true;
        while (next.data != NULL && slice_compare(next, key) < 0) {
            reader_sized(&chunk);
            next = --count > 0 ? reader_sized(&chunk) : slice_make(NULL, 0);
        }
        if (s->key.size > 0 && slice_equal(key, lo))
            continue; /* in place already: a slice holds at least one key behind it */
        if (next.data == NULL || !slice_equal(next, key))
            buffer_append_sized(gone, key);
        bytes += value.size;
        if (i == SCAN_ITEMS || bytes >= SCAN_BYTES) {
            buffer_append_slice(at, key);
            return false;
        }
    }
    return true;
}

/* Puts the chunk's items up to `to` in place, empty: all of them; what is gone goes. */
static void put_items(struct node *n, struct snapshot_in *s, struct slice gone, struct slice to)
{
    struct reader r = {gone, false};
    while (r.left.size > 0)
        store_put(n->store, reader_sized(&r), slice_make(NULL, 0));
    r = (struct reader){buffer_slice(&s->chunk), false};
    struct slice left = r.left;
    while (s->chunk_count > 0) {
        struct slice key = reader_sized(&r);
        struct slice value = reader_sized(&r);
        if (to.size > 0 && slice_compare(key, to) > 0)
            break;
        store_put(n->store, key, value.data != NULL ? value : slice_of(""));
        s->chunk_count--;
        left = r.left;
    }
    n->installed_bytes += (int64_t)(s->chunk.size - left.size + gone.size);
    struct buffer rest = {0};
    buffer_append_slice(&rest, left);
    buffer_deinit(&s->chunk);
    s->chunk = rest;
}

/* Whether the keys ascend within the partition, behind what is in place; `to` gets the last. */
static bool chunk_is_valid(const struct partition *p, const struct snapshot_in *s,
                           struct reader chunk, uint32_t count, struct slice *to)
{
    struct slice before = s->key.size > 0 ? buffer_slice(&s->key) : slice_make(NULL, 0);
    for (uint32_t i = 0; i < count; i++) {
        struct slice key = reader_sized(&chunk);
        reader_sized(&chunk);
        if (chunk.failed || key.size == 0 || key.size > STORAGE_KEY_SIZE_MAX ||
            !partition_holds(p, key) || (before.size > 0 && slice_compare(key, before) <= 0))
            return false;
        before = key;
    }
    *to = before;
    return chunk.left.size == 0;
}

/* All of it is in the memtable: the next checkpoint takes it, and a row that says so. */
static void finish(struct node *n, struct partition *p, struct snapshot_in *s)
{
    s->whole = true;
    p->item_count = s->item_count;
    p->item_bytes = s->item_bytes;
    p->counting = s->counting;
    buffer_clear(&p->counted_to);
    buffer_append_slice(&p->counted_to, buffer_slice(&s->counted_to));
    partition_set_splits(p, &s->splits);
    p->frozen = s->as_frozen;
    p->installing = malloc(sizeof *p->installing);
    must(p->installing != NULL);
    *p->installing = s->base;
    node_store_partition(n, p);
    node_checkpoint_soon(n);
}

/* A slice of the chunk. */
static void put_slice(struct node *n, struct partition *p, struct snapshot_in *s)
{
    struct slice from = s->key.size > 0 ? buffer_slice(&s->key) : p->info.lo;
    if (!node_scan_may_read(n, &s->scan, RESUME_SNAPSHOT_IN, s->id, from)) {
        s->again_at = node_scan_retry_at(n, &s->scan);
        return;
    }
    struct buffer gone = {0}, at = {0};
    bool all = collect_gone(n, p, s, &gone, &at);
    put_items(n, s, buffer_slice(&gone), buffer_slice(&at));
    buffer_deinit(&gone);
    buffer_clear(&s->key);
    buffer_append_slice(&s->key, buffer_slice(all ? &s->to : &at));
    buffer_deinit(&at);
    s->again_at = n->now;
    if (!all)
        return;
    s->has_chunk = false;
    if (s->chunk_last)
        finish(n, p, s);
    else
        s->sequence++;
    acknowledge(n, p, s);
}

static bool chunk(struct node *n, struct partition *p, uint64_t from, uint64_t id, struct reader *r)
{
    uint64_t sequence = reader_u64(r);
    bool last = reader_u8(r);
    uint32_t count = reader_u32(r);
    struct snapshot_in *s = *find_in(n, p->info.id);
    if (r->failed)
        return false;
    if (s == NULL || s->id != id || sequence > s->sequence) {
        send_ack(n, p, from, id, 0, 0); /* forgotten in a restart: it is to begin again */
        return true;
    }
    if (sequence < s->sequence || s->whole) {
        acknowledge(n, p, s);
        return true;
    }
    struct slice to;
    if (s->has_chunk)
        return true; /* it is being put in place */
    if (!chunk_is_valid(p, s, *r, count, &to))
        return false;
    if (n->map_full || store_active_bytes(n->store) >= 2 * (size_t)n->config->memtable_max_bytes)
        return true; /* it comes again */
    s->has_chunk = true;
    s->chunk_last = last;
    s->chunk_count = count;
    buffer_clear(&s->chunk);
    buffer_append_slice(&s->chunk, r->left);
    struct buffer end = {0}; /* `to` may be s->key */
    buffer_append_slice(&end, to);
    buffer_deinit(&s->to);
    s->to = end;
    put_slice(n, p, s);
    return true;
}

void node_snapshot_touched(struct node *n, enum resume resume, uint64_t id)
{
    for (struct snapshot_out *s = n->snapshots_out; s != NULL; s = s->next) {
        if (resume == RESUME_SNAPSHOT_OUT && s->id == id) {
            s->scan.state = SCAN_READY;
            s->again_at = n->now;
        }
    }
    for (struct snapshot_in *s = n->snapshots_in; s != NULL; s = s->next) {
        if (resume == RESUME_SNAPSHOT_IN && s->id == id) {
            s->scan.state = SCAN_READY;
            s->again_at = n->now;
        }
    }
}

bool node_snapshot_receive(struct node *n, uint32_t from_node, struct reader *r)
{
    struct reader m = {reader_sized(r), false};
    if (r->failed)
        return false;
    uint8_t kind = reader_u8(&m);
    uint32_t group = reader_u32(&m);
    uint64_t from = reader_u64(&m), to = reader_u64(&m), id = reader_u64(&m);
    if (m.failed || raft_member_node(from) != from_node)
        return false;
    struct partition *p = node_partition(n, group);
    bool ours = p != NULL && !p->closing && raft_self(p->raft) == to;
    if (kind == SNAPSHOT_BEGIN) {
        struct slice row = reader_sized(&m);
        return !m.failed && (!ours || begin(n, p, from, id, row));
    }
    if (kind == SNAPSHOT_CHUNK)
        return !ours || chunk(n, p, from, id, &m);
    uint64_t sequence = reader_u64(&m), installed = reader_u64(&m);
    if (kind != SNAPSHOT_ACK || m.failed || m.left.size > 0)
        return false;
    if (ours)
        receive_ack(n, id, sequence, installed);
    return true;
}

/* ---- checkpoints ---- */

static bool is_sending(const struct node *n, uint32_t group)
{
    for (const struct snapshot_out *s = n->snapshots_out; s != NULL; s = s->next) {
        if (s->group == group)
            return true;
    }
    return false;
}

void node_snapshots_frozen(struct node *n)
{
    for (struct snapshot_in *s = n->snapshots_in; s != NULL; s = s->next)
        s->frozen = s->whole && !s->installed;
}

static void install(struct node *n, struct partition *p, struct snapshot_in *s)
{
    must(raft_install(p->raft, n->now, &s->base));
    free(p->installing);
    p->installing = NULL;
    p->no_state = false;
    p->absorbed_lsn = 0;
    s->installed = true;
    s->frozen = false;
    n->count_at = n->now;
    node_group_stepped(n, p);
    if (p->info.id == CATALOG_GROUP)
        must(node_load_catalog(n) == STATUS_OK);
    node_note(n, NODE_TRACE_SNAPSHOT_INSTALLED, p->info.id, (int64_t)s->base.index);
    acknowledge(n, p, s);
}

void node_snapshots_stored(struct node *n)
{
    for (struct snapshot_in *s = n->snapshots_in; s != NULL; s = s->next) {
        if (s->frozen)
            install(n, node_partition(n, s->group), s);
    }
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        struct partition *p = n->partitions[i];
        if (p == NULL || p->hold == 0 || is_sending(n, p->info.id))
            continue;
        p->hold = 0;
        if (node_led_term(p) != 0) {
            node_snapshot_offer(n, p);
            node_group_stepped(n, p);
        }
    }
}

/* ---- turns ---- */

static void go_on_receiving(struct node *n)
{
    for (struct snapshot_in *s = n->snapshots_in; s != NULL; s = s->next) {
        if (s->has_chunk && !instant_before(n->now, s->again_at))
            put_slice(n, node_partition(n, s->group), s);
    }
}

void node_snapshots_end_turn(struct node *n)
{
    go_on_receiving(n);
    if (n->snapshots_out == NULL)
        return;
    token_bucket_refill(&n->snapshot_rate, n->now);
    for (struct snapshot_out **link = &n->snapshots_out; *link != NULL;) {
        struct snapshot_out *s = *link;
        struct partition *p = node_partition(n, s->group);
        bool valid = p != NULL && node_led_term(p) == s->term && s->tries < TRIES_MAX &&
                     !is_gone(n, s->to) && raft_members_find(raft_members(p->raft), s->to) != NULL;
        if (!valid) {
            drop_out(n, link, 0);
            continue;
        }
        bool due = !instant_before(n->now, s->again_at) &&
                   token_bucket_has(&n->snapshot_rate, CHUNK_BYTES);
        if (due && !send_next(n, p, s)) {
            drop_out(n, link, 0);
            continue;
        }
        link = &s->next;
    }
}

struct instant node_snapshots_deadline(const struct node *n)
{
    struct instant t = INSTANT_NEVER;
    for (const struct snapshot_out *s = n->snapshots_out; s != NULL; s = s->next) {
        struct instant rate = instant_add(n->snapshot_rate.updated_at,
                                          token_bucket_wait(&n->snapshot_rate, CHUNK_BYTES));
        t = instant_earlier(t, instant_before(s->again_at, rate) ? rate : s->again_at);
    }
    for (const struct snapshot_in *s = n->snapshots_in; s != NULL; s = s->next) {
        if (s->has_chunk)
            t = instant_earlier(t, s->again_at);
    }
    return t;
}

/* ---- endings ---- */

void node_snapshots_close(struct node *n)
{
    while (n->snapshots_out != NULL)
        drop_out(n, &n->snapshots_out, 0);
}

void node_snapshots_deinit(struct node *n)
{
    node_snapshots_close(n);
    while (n->snapshots_in != NULL)
        drop_in(&n->snapshots_in);
}

void node_snapshots_forget(struct node *n, uint32_t group)
{
    for (struct snapshot_out **link = &n->snapshots_out; *link != NULL;) {
        if ((*link)->group == group)
            drop_out(n, link, 0);
        else
            link = &(*link)->next;
    }
    struct snapshot_in **link = find_in(n, group);
    if (*link != NULL)
        drop_in(link);
}
