/* item_requests.c - reads and writes: route, admit, evaluate, settle, then propose or answer. */
#include "base/probe.h"
#include "engine/item/storage_key.h"
#include "engine/message/request_traits.h"
#include "engine/node/collection.h"
#include "engine/node/owned_keys.h"
#include "engine/node/requests_internal.h"
#include "engine/store/change_set.h"

/* ---- waiting for leadership to be confirmed ---- */

bool requests_leads_read(struct requests *requests, struct partition *p, struct operation *o)
{
    uint64_t round;
    if (p->led != 0 && o->confirmed == p->led)
        return true;
    enum raft_outcome outcome =
        p->led == 0 ? RAFT_NOT_LEADER : raft_read(p->raft, requests->env->now, &round);
    if (outcome == RAFT_OK)
        return true;
    if (outcome != RAFT_PENDING || requests->env->stop_error != 0) {
        groups_refuse(requests->groups, o, p);
        return false;
    }
    if (waiters_add_read(requests->waiters, p, o, round))
        groups_stepped(requests->groups, p);
    return false;
}

/* ---- routing and admission ---- */

static struct partition *items_route(struct requests *requests, const struct operation *o)
{
    struct partition *p = partitions_find(requests->partitions, o->request.partition);
    if (p != NULL && !p->closing && !p->ended && p->info.epoch == o->request.epoch &&
        p->frozen.index == 0 && p->info.id != CATALOG_GROUP) {
        if (!p->no_state)
            return p;
        groups_refuse(requests->groups, o, p);
        return NULL;
    }
    bool stale =
        p != NULL && !p->closing && (p->info.epoch > o->request.epoch || p->frozen.index != 0);
    env_refuse(requests->env, o, stale ? REPLY_STALE_MAP : REPLY_WRONG_PARTITION,
               "node %u does not hold partition %u at epoch %llu", requests->env->id,
               o->request.partition, (unsigned long long)o->request.epoch);
    return NULL;
}

static bool items_holds_key(struct requests *requests, const struct partition *p,
                            const struct operation *o)
{
    if (partition_holds(p, request_key(&o->request)))
        return true;
    env_refuse(requests->env, o, REPLY_WRONG_PARTITION, "the key is outside partition %u",
               p->info.id);
    return false;
}

/* The other nodes that will do a write of this partition; none for a read. */
static const struct admit_group *items_group_of(struct requests *requests,
                                                const struct partition *p, enum admit_kind kind)
{
    requests->throughput->group.members = &requests->throughput->members;
    requests->throughput->group.count = 0;
    const struct raft_members *m = raft_members(p->raft);
    for (uint32_t i = 0; kind == ADMIT_WRITE && i < m->count; i++) {
        uint32_t node = raft_member_node(m->all[i].id);
        if (m->all[i].id != raft_self(p->raft) && node <= requests->env->node_count)
            requests->throughput->group.nodes[requests->throughput->group.count++] = node;
    }
    return &requests->throughput->group;
}

/* Charges the least that the request can cost. A request that was admitted before it waited for a
 * page is not charged again. */
static bool items_admit(struct requests *requests, struct partition *p, struct operation *o,
                        enum admit_kind kind, int64_t cost_mcu)
{
    if (o->admitted)
        return true;
    node_heat_add(requests->heat, p, kind, request_key(&o->request), cost_mcu);
    o->verdict = admission_try(&p->admission, &requests->throughput->admission, kind,
                               requests->env->now, cost_mcu, items_group_of(requests, p, kind));
    partition_count(p, kind, &o->verdict, cost_mcu);
    o->admitted = o->verdict.reason == ADMIT_OK;
    if (o->admitted) {
        requests->throughput->consumed_mcu[kind] += cost_mcu;
        buckets_spent(requests->buckets, p, kind, cost_mcu, !request_is_consistent(&o->request));
    } else {
        env_reply(requests->env, o, REPLY_THROTTLED)->verdict = o->verdict;
        env_note(requests->env, NODE_TRACE_THROTTLED, p->info.id, cost_mcu);
        if (o->verdict.reason == ADMIT_REFUSED_MEMBER) {
            PROBE("a write is refused for want of headroom elsewhere");
            env_note(requests->env, NODE_TRACE_NO_HEADROOM, o->verdict.member, cost_mcu);
        }
    }
    return o->admitted;
}

static void items_settle(struct requests *requests, struct partition *p, const struct operation *o,
                         enum admit_kind kind, int64_t extra_mcu)
{
    if (extra_mcu <= 0)
        return;
    node_heat_add(requests->heat, p, kind, request_key(&o->request), extra_mcu);
    admission_settle(&p->admission, &requests->throughput->admission, kind, requests->env->now,
                     &o->verdict, extra_mcu, items_group_of(requests, p, kind));
    p->counts[kind].load.consumed_mcu += extra_mcu;
    requests->throughput->consumed_mcu[kind] += extra_mcu;
    buckets_spent(requests->buckets, p, kind, extra_mcu, !request_is_consistent(&o->request));
}

static void items_refuse_corrupt(struct requests *requests, const struct operation *o,
                                 enum status status)
{
    env_refuse(requests->env, o, REPLY_CORRUPT, "node %u cannot read the item: %s",
               requests->env->id, status_text(status));
}

/* ---- reads ---- */

/* Loads the item's cache lines together: the checksum will read them one by one. */
static void items_prefetch(struct slice item)
{
    enum {
        LINE = 64,
        LINES_MAX = 16
    };
    for (size_t at = 0; at < item.size && at < LINE * LINES_MAX; at += LINE)
        __builtin_prefetch(item.data + at);
}

void requests_get(struct requests *requests, struct operation *o)
{
    struct partition *p = items_route(requests, o);
    const int64_t least = read_cost_mcu(0, o->request.get.consistent);
    if (p == NULL || !items_holds_key(requests, p, o) ||
        (o->request.get.consistent && !requests_leads_read(requests, p, o)) ||
        !items_admit(requests, p, o, ADMIT_READ, least))
        return;
    struct slice item = {NULL, 0};
    enum status status = store_get(requests->env->store, o->request.get.key,
                                   (o->touched & TOUCHED_ITEMS) != 0, &item);
    if (status == STATUS_PENDING) {
        waiters_touch(requests->waiters, o, TOUCHED_ITEMS, 0);
        return;
    }
    items_prefetch(item);
    if (status == STATUS_OK && !item_checksum_holds(item))
        status = STATUS_CORRUPT;
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        items_refuse_corrupt(requests, o, status);
        return;
    }
    bool found = status == STATUS_OK;
    int64_t cost = found ? read_cost_mcu(item_size(item), o->request.get.consistent) : least;
    items_settle(requests, p, o, ADMIT_READ, cost - least);
    struct reply *r = env_reply(requests->env, o, REPLY_OK);
    r->verdict = o->verdict;
    r->consumed_mcu = cost;
    r->kind = ANSWER_ITEM;
    r->item.found = found;
    r->item.bytes = item;
}

/* Collects items until a limit or the end. STATUS_CORRUPT: an item is damaged. */
static enum status items_collect(struct requests *requests, const struct partition *p,
                                 const struct request *q, struct reply *r)
{
    struct items_cursor c;
    struct slice key, item;
    buffer_clear(
        &requests->env->range_out); /* one event may answer several reads that were waiting */
    items_seek(p, requests->env->store, q->range.lo, q->range.hi, q->range.reverse, &c);
    enum status status;
    while ((status = items_next(&c, &key, &item)) == STATUS_OK) {
        if (r->range.read_bytes >= q->range.bytes_max ||
            (q->range.items_max > 0 && r->range.count == q->range.items_max)) {
            r->range.more = true;
            break;
        }
        if (!item_checksum_holds(item))
            return STATUS_CORRUPT;
        buffer_append_sized(&requests->env->range_out, item);
        r->range.read_bytes += item_size(item);
        r->range.count++;
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

void requests_range(struct requests *requests, struct operation *o)
{
    struct request *q = &o->request;
    struct partition *p = items_route(requests, o);
    const int64_t least = read_cost_mcu(0, q->range.consistent);
    if (p == NULL || (q->range.consistent && !requests_leads_read(requests, p, o)))
        return;
    if (slice_compare(q->range.lo, p->info.lo) < 0)
        q->range.lo = p->info.lo;
    if (q->range.hi.size == 0 ||
        (p->info.hi.size > 0 && slice_compare(p->info.hi, q->range.hi) < 0))
        q->range.hi = p->info.hi;
    if (q->range.bytes_max > PAGE_SIZE_MAX)
        q->range.bytes_max = PAGE_SIZE_MAX; /* a reply has room for so much */
    if (!items_admit(requests, p, o, ADMIT_READ, least))
        return;
    if (store_needs_touch(requests->env->store) && o->touched == 0) {
        waiters_touch(requests->waiters, o, TOUCHED_ITEMS, q->range.bytes_max);
        return;
    }
    struct reply answer = {.code = REPLY_OK, .kind = ANSWER_RANGE};
    bool empty = q->range.hi.size > 0 && slice_compare(q->range.lo, q->range.hi) >= 0;
    enum status status = empty ? STATUS_OK : items_collect(requests, p, q, &answer);
    if (status != STATUS_OK) {
        items_refuse_corrupt(requests, o, status);
        return;
    }
    answer.consumed_mcu = read_cost_mcu(answer.range.read_bytes, q->range.consistent);
    items_settle(requests, p, o, ADMIT_READ, answer.consumed_mcu - least);
    answer.id = q->id;
    answer.verdict = o->verdict;
    if (!empty)
        answer.range.items =
            arena_copy(&requests->env->lent, buffer_slice(&requests->env->range_out));
    *env_reply(requests->env, o, REPLY_OK) = answer;
}

/* ---- writes ---- */

/* The item that a write replaces, after all writes proposed so far. */
static enum status items_current_item(struct requests *requests, const struct operation *o,
                                      uint64_t hash, struct slice *item)
{
    *item = slice_make(NULL, 0);
    const struct shadow *shadow = proposals_shadow(requests->proposals, o->request.write.key, hash);
    if (shadow == NULL) {
        bool touched = (o->touched & TOUCHED_ITEMS) != 0;
        enum status status = store_get(requests->env->store, o->request.write.key, touched, item);
        return status == STATUS_OK && !item_checksum_holds(*item) ? STATUS_CORRUPT : status;
    }
    *item = shadow->value;
    return item->data == NULL ? STATUS_NOT_FOUND : STATUS_OK;
}

/* The size of the write's item collection, after all writes proposed so far. */
static enum status items_current_collection(struct requests *requests, const struct operation *o,
                                            struct slice key, uint64_t hash, int64_t *bytes)
{
    const struct shadow *shadow = proposals_shadow(requests->proposals, key, hash);
    struct slice row = shadow != NULL ? shadow->value : slice_make(NULL, 0);
    enum status status = row.data != NULL ? STATUS_OK : STATUS_NOT_FOUND;
    if (shadow == NULL)
        status = store_get(requests->env->store, key, (o->touched & TOUCHED_COLLECTION) != 0, &row);
    *bytes = 0;
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    return status == STATUS_OK ? collection_decode(key, row, bytes) : status;
}

/* The effect of a write, before it is proposed. */
struct write {
    uint64_t hash;
    int64_t old_size; /* item_size of the replaced item; -1: no item */
    int64_t cost_mcu;
    int64_t collection_bytes; /* after the write */
    uint64_t collection_hash;
};

/* Bytes that the write adds to the stored bytes; negative: the write frees bytes. */
static int64_t items_grows_by(const struct operation *o, const struct write *w)
{
    int64_t size = o->request.op == REQUEST_PUT ? (int64_t)item_size(o->request.write.item) : 0;
    return size - (w->old_size > 0 ? w->old_size : 0);
}

/* Sets the size that the item collection will have after the write. */
static enum status items_change_collection(struct requests *requests, const struct partition *p,
                                           const struct operation *o, struct write *w)
{
    w->collection_bytes = COLLECTION_NOT_COUNTED;
    if (!p->info.whole_collections)
        return STATUS_OK;
    struct slice key = collection_key(o->request.write.key);
    w->collection_hash = memtable_hash(key);
    enum status status =
        items_current_collection(requests, o, key, w->collection_hash, &w->collection_bytes);
    if (status == STATUS_OK)
        w->collection_bytes += items_grows_by(o, w);
    must(status != STATUS_OK || w->collection_bytes >= 0);
    return status;
}

/* The collection's row goes before the item: the item must be the last bytes of the entry. */
static void items_append_collection(struct buffer *out, const struct request *q,
                                    const struct write *w)
{
    uint8_t row[COLLECTION_ROW_SIZE];
    struct change c = {
        .space = SPACE_COLLECTIONS, .key = collection_key(q->write.key), .old_size = -1};
    if (w->collection_bytes > 0) {
        collection_encode(c.key, w->collection_bytes, row);
        c.value = slice_make(row, sizeof row);
    }
    change_set_append(out, &c);
}

static void items_propose_write(struct requests *requests, struct partition *p,
                                const struct operation *o, const struct write *w)
{
    const struct request *q = &o->request;
    const bool leases = requests->throughput->members.mode == WRITE_CHECK_LEASE;
    struct buffer *head = &requests->env->scratch;
    const struct slice item = q->write.item;
    const struct change change = {
        .space = SPACE_ITEMS, .key = q->write.key, .value = item, .old_size = w->old_size};
    buffer_clear(head);
    change_set_begin(head, w->cost_mcu, !o->verdict.burst ? 0 : leases ? 2 : 1);
    if (p->info.whole_collections)
        items_append_collection(head, q, w);
    change_set_append_last(head, &change);
    struct inflight *e =
        groups_propose(requests->groups, p, o, LOG_WRITE, buffer_slice(head), item);
    if (e == NULL)
        return;
    struct change_set set;
    change_set_reopen(e->payload, &set);
    for (struct change c; change_set_next(&set, &c);)
        proposals_shadow_add(requests->proposals, e,
                             c.space == SPACE_ITEMS ? w->hash : w->collection_hash, c.key, c.value);
    e->verdict = o->verdict;
    e->consumed_mcu = w->cost_mcu;
    e->collection_bytes = w->collection_bytes;
    e->want_old = q->write.want_old;
}

/* Reads what the write replaces, and computes its effect. False: the operation was refused, or will
 * run again. */
static bool items_evaluate(struct requests *requests, struct partition *p, struct operation *o,
                           struct write *out)
{
    struct slice old;
    *out = (struct write){.hash = memtable_hash(o->request.write.key), .old_size = -1};
    enum status status = items_current_item(requests, o, out->hash, &old);
    enum touched pages = TOUCHED_ITEMS;
    if (status == STATUS_OK)
        out->old_size = (int64_t)item_size(old);
    if (status == STATUS_OK || status == STATUS_NOT_FOUND) {
        status = items_change_collection(requests, p, o, out);
        pages = TOUCHED_COLLECTION;
    }
    if (status == STATUS_PENDING)
        waiters_touch(requests->waiters, o, pages, 0);
    else if (status != STATUS_OK)
        items_refuse_corrupt(requests, o, status);
    out->cost_mcu = out->old_size > 0 ? write_cost_mcu(out->old_size) : 0;
    return status == STATUS_OK;
}

void requests_write(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    struct partition *p = items_route(requests, o);
    if (p == NULL || !items_holds_key(requests, p, o))
        return;
    bool put = q->op == REQUEST_PUT;
    if (!storage_key_is_whole(q->write.key)) {
        env_refuse(requests->env, o, REPLY_MALFORMED, "the key is none that an item can have");
        return;
    }
    if (put &&
        (item_check(q->write.item) != STATUS_OK || item_size(q->write.item) > ITEM_SIZE_MAX)) {
        env_refuse(requests->env, o, REPLY_MALFORMED, "the item fails its checksum");
        return;
    }
    if (p->led == 0) {
        groups_refuse(requests->groups, o, p);
        return;
    }
    size_t payload = CHANGE_SET_HEAD_SIZE + 2 * CHANGE_HEAD_SIZE + 2 * q->write.key.size +
                     COLLECTION_ROW_SIZE + q->write.item.size;
    int64_t least = write_cost_mcu(put ? item_size(q->write.item) : 0);
    if (!proposals_may_write(requests->proposals, o, payload) ||
        !groups_may_propose(requests->groups, p, o, payload) ||
        !items_admit(requests, p, o, ADMIT_WRITE, least))
        return;
    struct write write;
    if (!items_evaluate(requests, p, o, &write))
        return;
    if (write.cost_mcu < least)
        write.cost_mcu = least;
    items_settle(requests, p, o, ADMIT_WRITE, write.cost_mcu - least);
    if (items_grows_by(o, &write) > 0 &&
        write.collection_bytes > requests->env->config->collection_max_bytes)
        env_refuse(requests->env, o, REPLY_COLLECTION_FULL,
                   "the item collection would hold %lld bytes, collection_max_bytes is %lld",
                   (long long)write.collection_bytes,
                   (long long)requests->env->config->collection_max_bytes);
    else
        items_propose_write(requests, p, o, &write);
}
