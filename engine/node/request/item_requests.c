/* item_requests.c - what reads and writes of items share, and reads: route, admit, read, settle,
 * answer. */
#include "engine/node/request/item_requests.h"
#include "base/probe.h"
#include "engine/expression/program.h"
#include "engine/message/index_messages.h"
#include "engine/node/core/key_shard_cursor.h"

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
        raft_driver_refuse(requests->driver, o, p);
        return false;
    }
    if (pending_add_read(requests->pending, p, o, round, 0))
        raft_driver_stepped(requests->driver, p);
    return false;
}

/* ---- routing and admission ---- */

/* Whether the request is about items, and its sender goes by the registry of sharded keys. */
static bool items_are_requested(const struct request *q)
{
    switch (q->op) {
    case REQUEST_GET:
    case REQUEST_RANGE:
    case REQUEST_UNCHANGED:
    case REQUEST_TRANSACT:
    case REQUEST_TRANSACT_ADMIT:
    case REQUEST_KEY_SHARD_MOVE:
        return true;
    case REQUEST_PUT:
    case REQUEST_DELETE:
    case REQUEST_UPDATE:
    case REQUEST_CHECK:
        return q->write.origin == WRITE_BY_CLIENT || q->write.origin == WRITE_BY_MOVE;
    default:
        return false;
    }
}

/* Whether sender and partition know the same of sharded keys, as far as the request goes. If not,
 * it was refused. An item may have gone to a shard that an older sender does not look at. A newer
 * sender may come before the word of the catalog: then an older one still writes here. */
static bool items_fence_lets(struct requests *requests, const struct partition *p,
                             const struct operation *o)
{
    const struct request *q = &o->request;
    if ((q->key_sharding_version >= p->info.key_sharding_version &&
         q->sharded_key_version <= p->info.key_sharding_version) ||
        !items_are_requested(q))
        return true;
    const bool moves =
        (q->op == REQUEST_PUT || q->op == REQUEST_DELETE || q->op == REQUEST_UPDATE) &&
        request_moves(q);
    const bool older = q->key_sharding_version < p->info.key_sharding_version && !moves &&
                       !MUTATED(MUTATION_SKIP_FENCE);
    if (!older && q->sharded_key_version <= p->info.key_sharding_version)
        return true;
    if (older)
        env_refuse(requests->env, o, REPLY_STALE_MAP, "partition %u has newer sharded keys",
                   p->info.id);
    else
        env_refuse(requests->env, o, REPLY_OVERLOADED,
                   "partition %u does not have the sharded key yet", p->info.id);
    return false;
}

struct partition *items_route(struct requests *requests, const struct operation *o)
{
    struct partition *p = partitions_find(requests->partitions, o->request.partition);
    if (p != NULL && !p->closing && !p->ended && p->info.epoch == o->request.epoch &&
        p->frozen.index == 0 && p->info.id != CATALOG_GROUP) {
        if (!p->no_state)
            return items_fence_lets(requests, p, o) ? p : NULL;
        raft_driver_refuse(requests->driver, o, p);
        return NULL;
    }
    bool stale =
        p != NULL && !p->closing && (p->info.epoch > o->request.epoch || p->frozen.index != 0);
    env_refuse(requests->env, o, stale ? REPLY_STALE_MAP : REPLY_WRONG_PARTITION,
               "node %u does not hold partition %u at epoch %llu", requests->env->id,
               o->request.partition, (unsigned long long)o->request.epoch);
    return NULL;
}

bool items_holds_key(struct requests *requests, const struct partition *p,
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
    must(requests->throughput->group.count < COUNT_OF(requests->throughput->group.nodes));
    return &requests->throughput->group;
}

/* Whether the node has time for the request. Otherwise it is refused, and costs nothing. */
static bool items_arrive(struct requests *requests, struct partition *p, const struct operation *o,
                         enum admit_kind kind, int64_t cost_mcu)
{
    struct overload *overload = &requests->throughput->overload;
    const struct overload_arrival a = {
        .now = instant_add(requests->env->now, o->waited.ahead),
        .waited = o->waited.all,
        .within_limit =
            o->waited.all.ns <= overload->target_ns ||
            admission_is_within_limit(&p->admission, kind, requests->env->now, cost_mcu),
        .sender = o->from,
        .key_hash = storage_key_bound_hash(request_key(&o->request), 0)};
    if (overload_arrive(overload, &a))
        return true;
    PROBE("a node sheds a request that has waited too long");
    p->counts[kind].load.refused[ADMIT_REFUSED_OVERLOAD]++;
    requests->throughput->served.kinds[SERVED_REFUSE].requests++;
    struct reply *reply = env_refuse(requests->env, o, REPLY_OVERLOADED,
                                     "the request has waited %lld ms for node %u's processor",
                                     (long long)(o->waited.all.ns / NS_PER_MS), requests->env->id);
    reply->verdict.reason = ADMIT_REFUSED_OVERLOAD;
    return MUTATED(MUTATION_SHED_IS_DONE);
}

static enum served_kind items_served(enum admit_kind kind)
{
    return kind == ADMIT_READ ? SERVED_READ : SERVED_WRITE;
}

/* Charges the least that the request can cost. A request that was admitted before it waited for a
 * page is not charged again. */
bool items_admit(struct requests *requests, struct partition *p, struct operation *o,
                 enum admit_kind kind, int64_t cost_mcu)
{
    must(cost_mcu >= 0);
    if (o->admitted)
        return true;
    must(!o->charged);
    if (!items_arrive(requests, p, o, kind, cost_mcu))
        return false;
    node_heat_add(requests->heat, p, kind, request_key(&o->request), cost_mcu);
    o->verdict = admission_try(&p->admission, &requests->throughput->admission, kind,
                               requests->env->now, cost_mcu, items_group_of(requests, p, kind));
    o->admitted = o->charged = o->verdict.reason == ADMIT_OK;
    o->charged_mcu = cost_mcu;
    if (o->admitted) {
        requests->throughput->consumed_mcu[kind] += cost_mcu;
        requests->throughput->served.kinds[items_served(kind)].requests++;
        requests->throughput->served.kinds[items_served(kind)].mcu += cost_mcu;
        bucket_mirrors_spent(requests->buckets, p, kind, cost_mcu,
                             !request_is_consistent(&o->request));
    } else {
        partition_count(p, kind, &o->verdict, cost_mcu);
        requests->throughput->served.kinds[SERVED_REFUSE].requests++;
        env_reply(requests->env, o, REPLY_THROTTLED)->verdict = o->verdict;
        env_note(requests->env, NODE_TRACE_THROTTLED, p->info.id, cost_mcu);
        if (o->verdict.reason == ADMIT_REFUSED_MEMBER) {
            PROBE("a write is refused for want of headroom elsewhere");
            env_note(requests->env, NODE_TRACE_NO_HEADROOM, o->verdict.member, cost_mcu);
        }
    }
    return o->admitted;
}

void items_settle(struct requests *requests, struct partition *p, struct operation *o,
                  enum admit_kind kind, int64_t extra_mcu)
{
    must(!o->charged || (o->charged_mcu >= 0 && o->verdict.reason == ADMIT_OK));
    if (o->charged)
        partition_count(p, kind, &o->verdict, o->charged_mcu);
    o->charged = false;
    if (extra_mcu <= 0)
        return;
    node_heat_add(requests->heat, p, kind, request_key(&o->request), extra_mcu);
    admission_settle(&p->admission, &requests->throughput->admission, kind, requests->env->now,
                     &o->verdict, extra_mcu, items_group_of(requests, p, kind));
    p->counts[kind].load.consumed_mcu += extra_mcu;
    requests->throughput->consumed_mcu[kind] += extra_mcu;
    requests->throughput->served.kinds[items_served(kind)].mcu += extra_mcu;
    bucket_mirrors_spent(requests->buckets, p, kind, extra_mcu,
                         !request_is_consistent(&o->request));
}

void items_give_back(struct requests *requests, struct partition *p, const struct operation *o,
                     enum admit_kind kind, int64_t cost_mcu)
{
    admission_give_back(&p->admission, &requests->throughput->admission, kind, requests->env->now,
                        &o->verdict, cost_mcu, items_group_of(requests, p, kind));
    bucket_mirrors_spent(requests->buckets, p, kind, 0, false);
}

void items_uncharge(struct requests *requests, struct partition *p, struct operation *o,
                    enum admit_kind kind)
{
    if (!o->charged)
        return;
    must(o->admitted && o->charged_mcu >= 0);
    items_give_back(requests, p, o, kind, o->charged_mcu);
    o->admitted = o->charged = false;
}

void items_refuse_corrupt(struct requests *requests, const struct operation *o, enum status status)
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

/* Whether no transaction keeps a strong read of the item from being answered now. A read of a
 * transaction is refused like a write if another transaction has the item. */
static bool get_is_unlocked(struct requests *requests, struct partition *p, struct operation *o)
{
    const struct slice key = request_key(&o->request);
    if (o->request.op == REQUEST_GET && !o->request.get.transacts)
        return transactions_let_get(requests->transactions, p, o, key);
    transactions_mark(p);
    return transactions_let_write(requests->transactions, p, o, key);
}

/* Whether only the leader may answer the read, after the transactions that lock its items: so for
 * an eventual read that must show entries which this replica has not applied. */
static bool items_are_read_surely(const struct partition *p, bool consistent, uint64_t after)
{
    return consistent || (p != NULL && raft_applied(p->raft) < after);
}

/* REQUEST_UNCHANGED. A mark stands for many items: that one of them has changed tells nothing of
 * the others, so an item that did not change may be taken for one that did. */
void requests_unchanged(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    const struct read_stamp *since = &q->unchanged.since;
    struct partition *p = items_route(requests, o);
    if (p == NULL || !items_holds_key(requests, p, o) || !requests_leads_read(requests, p, o) ||
        !get_is_unlocked(requests, p, o))
        return;
    if (p->marks != NULL && since->partition == p->info.id && since->epoch == p->info.epoch &&
        p->marks[mark_of(requests->env->store, q->unchanged.key)] <= since->index)
        env_reply(requests->env, o, REPLY_OK);
    else
        env_refuse(requests->env, o, REPLY_LOCKED, "the item has been written");
}

/* Whether no more items are taken: of a limit, or because filtering them has taken a turn's steps.
 * */
static bool items_are_enough(const struct request *q, const struct reply *r, uint64_t steps)
{
    return r->range.read_bytes >= q->range.bytes_max || steps >= STEPS_TURN_MAX ||
           (q->range.items_max > 0 && r->range.scanned == q->range.items_max);
}

/* Whether the item passes the filter. `taken` grows by the steps; an item that is too costly is
 * told by r->code. */
static bool items_pass(const struct requests *requests, const struct request *q, struct slice item,
                       uint64_t *taken, struct reply *r)
{
    struct steps steps = steps_begin(store_hash_seed(requests->env->store));
    const bool passes = q->range.filter.size == 0 || program_holds(q->range.filter, item, &steps);
    if (steps_are_spent(&steps))
        r->code = REPLY_UPDATE_FAILED;
    *taken += steps.taken;
    return passes;
}

/* Collects items until a limit or the end. STATUS_CORRUPT: an item is damaged. If it may skip no
 * more items of other shards, it ends before the limit: then the next request goes on with the
 * first item. */
static enum status items_collect(struct requests *requests, const struct partition *p,
                                 const struct request *q, struct reply *r)
{
    uint64_t steps = 0;
    struct key_shard_cursor c;
    struct slice key, item;
    struct buffer *last = &requests->last_key; /* a cursor's key lends until its next step */
    buffer_clear(
        &requests->env->range_out); /* one event may answer several reads that were waiting */
    struct slice lo = q->range.lo, hi = q->range.hi;
    if (q->range.index != 0) {
        lo = key_in_space(lo, q->range.index, &requests->env->lent);
        hi = key_in_space(hi, q->range.index, &requests->env->lent);
    }
    key_shard_seek(p, requests->env->store, lo, hi, q->range.reverse, q->key_sharding_version == 0,
                   q->range.shard, &c);
    enum status status;
    while ((status = key_shard_next(&c, &key, &item)) == STATUS_OK) {
        if (items_are_enough(q, r, steps)) {
            r->range.more = true;
            break;
        }
        if (!items_is_valid(item, q->range.filter.size > 0)) {
            status = STATUS_CORRUPT;
            break;
        }
        buffer_set(last, key);
        r->range.scanned++;
        r->range.read_bytes += item_size(item);
        const bool passes = items_pass(requests, q, item, &steps, r);
        if (r->code != REPLY_OK)
            break;
        if (!passes)
            continue;
        r->range.count++;
        if (!q->range.count_only)
            buffer_append_sized(&requests->env->range_out, item);
    }
    must(r->range.count <= r->range.scanned);
    must(q->range.items_max == 0 || r->range.scanned <= q->range.items_max);
    r->range.more |= status == STATUS_PENDING;
    if (r->range.scanned > 0 || status == STATUS_PENDING)
        r->range.last = key_in_space(buffer_slice(r->range.scanned > 0 ? last : &c.out), 0,
                                     &requests->env->lent);
    key_shard_cursor_deinit(&c);
    return status == STATUS_NOT_FOUND || status == STATUS_PENDING ? STATUS_OK : status;
}

/* What is wrong with the request; NULL: nothing. */
static const char *items_range_fault(const struct partition *p, const struct request *q)
{
    if (q->range.filter.size > 0 && program_check(q->range.filter) != STATUS_OK)
        return "malformed filter program";
    return q->range.index <= index_set_local(p->indexes) ? NULL : "the table has no such index";
}

/* The keys of the items whose rows may lie in the range: an index has a collection's rows in
 * another order. */
static void items_of_rows(struct node_env *env, const struct request *q, struct slice *lo,
                          struct slice *hi)
{
    *lo = q->range.lo;
    *hi = q->range.hi;
    if (q->range.index == 0)
        return;
    lo->size = storage_key_collection_size(*lo);
    const size_t size = storage_key_collection_size(*hi);
    if (size == hi->size)
        return; /* no collection has the bound inside */
    buffer_clear(&env->scratch);
    buffer_append(&env->scratch, hi->data, size);
    storage_key_successor(&env->scratch);
    *hi = arena_copy(&env->lent, buffer_slice(&env->scratch));
}

/* A filter costs too many steps on an item. No other fault of an expression can be that of a range,
 * so the answer does not tell which. */
static void items_refuse_costly(struct requests *requests, const struct operation *o, int64_t mcu)
{
    struct reply *r = env_reply(requests->env, o, REPLY_UPDATE_FAILED);
    r->verdict = o->verdict;
    r->consumed_mcu = mcu;
}

/* ---- the stages of reads ---- */

/* A GET or a RANGE on its way. */
struct read_run {
    struct requests *requests;
    struct partition *p;
    struct operation *o;
    bool consistent;
    bool surely;      /* items_are_read_surely */
    int64_t factor;   /* of the units */
    int64_t paid_mcu; /* at least so much it costs: charged before it is read */
};

static bool read_stage_route(struct read_run *r)
{
    const struct request *q = &r->o->request;
    const bool gets = q->op == REQUEST_GET;
    r->p = items_route(r->requests, r->o);
    r->consistent = gets ? q->get.consistent : q->range.consistent;
    r->surely = items_are_read_surely(r->p, r->consistent, gets ? q->get.after : q->range.after);
    r->factor = gets && q->get.transacts ? TRANSACTION_FACTOR : 1;
    r->paid_mcu = r->factor * read_cost_mcu(0, r->consistent);
    return r->p != NULL;
}

static bool read_stage_key(struct read_run *r)
{
    return r->o->request.op != REQUEST_GET || items_holds_key(r->requests, r->p, r->o);
}

static bool read_stage_leader(struct read_run *r)
{
    return !r->surely || requests_leads_read(r->requests, r->p, r->o);
}

static bool read_stage_shape(struct read_run *r)
{
    const struct request *q = &r->o->request;
    const char *fault = q->op == REQUEST_GET ? NULL : items_range_fault(r->p, q);
    if (fault != NULL)
        env_refuse(r->requests->env, r->o, REPLY_MALFORMED, "%s", fault);
    return fault == NULL;
}

static bool read_stage_lock(struct read_run *r)
{
    struct slice lo, hi;
    if (!r->surely)
        return true;
    if (r->o->request.op == REQUEST_GET)
        return get_is_unlocked(r->requests, r->p, r->o);
    items_of_rows(r->requests->env, &r->o->request, &lo, &hi);
    return transactions_let_range(r->requests->transactions, r->p, r->o, lo, hi);
}

/* Bounds the range by the partition, and the page by what a reply has room for. */
static void read_clamp(const struct partition *p, struct request *q)
{
    if (slice_compare(q->range.lo, p->info.lo) < 0)
        q->range.lo = p->info.lo;
    if (q->range.hi.size == 0 ||
        (p->info.hi.size > 0 && slice_compare(p->info.hi, q->range.hi) < 0))
        q->range.hi = p->info.hi;
    q->range.bytes_max = MIN(q->range.bytes_max, PAGE_SIZE_MAX);
}

/* What was asked for beyond the partition is not counted as heat. */
static bool read_stage_admit(struct read_run *r)
{
    if (r->o->request.op != REQUEST_GET)
        read_clamp(r->p, &r->o->request);
    return items_admit(r->requests, r->p, r->o, ADMIT_READ, r->paid_mcu);
}

static void read_get(struct read_run *r)
{
    struct requests *requests = r->requests;
    struct operation *o = r->o;
    struct slice item = {NULL, 0};
    enum status status = store_get(requests->env->store, o->request.get.key,
                                   (o->touched & TOUCHED_ITEMS) != 0, &item);
    if (status == STATUS_PENDING) {
        pending_touch(requests->pending, o, TOUCHED_ITEMS, 0);
        return;
    }
    items_prefetch(item);
    if (status == STATUS_OK && !item_checksum_holds(item))
        status = STATUS_CORRUPT;
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        items_refuse_corrupt(requests, o, status);
        return;
    }
    const bool found = status == STATUS_OK;
    const int64_t cost =
        found ? r->factor * read_cost_mcu(item_size(item), r->consistent) : r->paid_mcu;
    must(cost >= r->paid_mcu && o->admitted);
    items_settle(requests, r->p, o, ADMIT_READ, cost - r->paid_mcu);
    struct reply *reply = env_reply(requests->env, o, REPLY_OK);
    reply->verdict = o->verdict;
    reply->consumed_mcu = cost;
    reply->kind = ANSWER_ITEM;
    reply->item.found = found;
    reply->item.bytes = item;
    reply->item.wall_ms = env_wall_ms(requests->env);
    if (o->request.get.transacts)
        reply->item.stamp =
            (struct read_stamp){r->p->info.id, r->p->info.epoch, raft_applied(r->p->raft)};
}

static void read_range(struct read_run *r)
{
    struct requests *requests = r->requests;
    struct operation *o = r->o;
    const struct request *q = &o->request;
    if (store_needs_touch(requests->env->store) && o->touched == 0) {
        pending_touch(requests->pending, o, TOUCHED_ITEMS, q->range.bytes_max);
        return;
    }
    struct reply answer = {.code = REPLY_OK, .kind = ANSWER_RANGE};
    const bool empty = q->range.hi.size > 0 && slice_compare(q->range.lo, q->range.hi) >= 0;
    enum status status = empty ? STATUS_OK : items_collect(requests, r->p, q, &answer);
    if (status != STATUS_OK) {
        items_refuse_corrupt(requests, o, status);
        return;
    }
    answer.consumed_mcu = read_cost_mcu(answer.range.read_bytes, r->consistent);
    must(answer.consumed_mcu >= r->paid_mcu && o->admitted);
    items_settle(requests, r->p, o, ADMIT_READ, answer.consumed_mcu - r->paid_mcu);
    if (answer.code != REPLY_OK) {
        items_refuse_costly(requests, o, answer.consumed_mcu);
        return;
    }
    answer.id = q->id;
    answer.verdict = o->verdict;
    if (!empty)
        answer.range.items =
            arena_copy(&requests->env->lent, buffer_slice(&requests->env->range_out));
    *env_reply(requests->env, o, REPLY_OK) = answer;
}

static bool read_stage_read(struct read_run *r)
{
    if (r->o->request.op == REQUEST_GET)
        read_get(r);
    else
        read_range(r);
    return false;
}

/* The order in which a read may be refused, as that of writes (item_writes.c). */
static const struct read_stage {
    const char *name;
    bool (*run)(struct read_run *r); /* whether the next stage comes */
} READ_STAGES[] = {
    {"route", read_stage_route}, {"key", read_stage_key},   {"leader", read_stage_leader},
    {"shape", read_stage_shape}, {"lock", read_stage_lock}, {"admit", read_stage_admit},
    {"read", read_stage_read},
};

const char *read_stage_name(size_t number)
{
    return number < COUNT_OF(READ_STAGES) ? READ_STAGES[number].name : NULL;
}

void requests_read(struct requests *requests, struct operation *o)
{
    struct read_run r = {.requests = requests, .o = o};
    for (size_t i = 0; READ_STAGES[i].run(&r); i++)
        must(i + 1 < COUNT_OF(READ_STAGES)); /* the last one does not go on */
}

/* ---- sessions ---- */

/* A leader of a base table wants to write rows of an index. */
void requests_open_session(struct requests *requests, struct operation *o)
{
    const struct request *q = &o->request;
    struct partition *p = items_route(requests, o);
    if (p == NULL)
        return;
    if (p->led == 0) {
        raft_driver_refuse(requests->driver, o, p);
        return;
    }
    struct reply *r = env_reply(requests->env, o, REPLY_OK);
    r->kind = ANSWER_SESSION;
    reply_edit_session(r)->id =
        index_sessions_open(&p->sessions, p->led, request_session(q)->lo, request_session(q)->hi);
}

/* A router wants to read rows that follow from its own writes. */
void requests_index_shows(struct requests *requests, struct operation *o)
{
    struct partition *p = items_route(requests, o);
    if (p == NULL || !requests_leads_read(requests, p, o))
        return;
    uint64_t after = request_shows(&o->request)->after;
    if (after == AFTER_ALL) {
        if (!transactions_let_range(requests->transactions, p, o, p->info.lo, p->info.hi))
            return;
        after = raft_applied(p->raft);
    }
    if (raft_applied(p->raft) >= after && index_feeds_have_done(requests->feeds, p, after)) {
        env_reply(requests->env, o, REPLY_OK);
        return;
    }
    env_refuse(requests->env, o, REPLY_OVERLOADED, "indexes lack changes of partition %u",
               p->info.id)
        ->applied = after;
}

void requests_fill_index(struct requests *requests, struct operation *o)
{
    struct partition *p = items_route(requests, o);
    if (p == NULL)
        return;
    if (p->led == 0)
        raft_driver_refuse(requests->driver, o, p);
    else if (!transactions_are_known(requests->transactions, p, o))
        return;
    else if (transactions_move(p))
        env_refuse(requests->env, o, REPLY_OVERLOADED,
                   "items of partition %u are moving to other shards", p->info.id);
    else if (store_needs_touch(requests->env->store) && o->touched == 0)
        pending_touch(requests->pending, o, TOUCHED_ITEMS, INDEX_FEED_FILL_BYTES);
    else
        index_feeds_fill(requests->feeds, p, o);
}
