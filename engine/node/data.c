/* node/data.c - reads and writes: route, admit, evaluate, propose or answer, settle. */
#include "base/must.h"
#include "base/probe.h"
#include "engine/item/storage_key.h"
#include "engine/node/node_internal.h"

/* ---- waiting for a page ---- */

/* The request may lie in this slot's own bytes: it waited here before. So the copy is made beside
 * them. */
static void copy_request(struct node *n, struct deferred *d)
{
    struct request *r = &d->operation.request;
    struct slice *parts[] = {&r->key, &r->end, &r->body};
    size_t at = 0;
    buffer_clear(&n->deferred_spare);
    for (int i = 0; i < 3; i++)
        buffer_append_slice(&n->deferred_spare, *parts[i]);
    struct buffer copy = n->deferred_spare;
    n->deferred_spare = d->bytes;
    d->bytes = copy;
    for (int i = 0; i < 3; i++) {
        *parts[i] = slice_make(d->bytes.data + at, parts[i]->size);
        at += parts[i]->size;
    }
}

/* -1: all are taken. */
static int32_t take_slot(struct node *n)
{
    if (n->deferred_count == n->deferred_size)
        return NO_ENTRY;
    uint32_t ticket = (uint32_t)prng_below(&n->prng, n->deferred_size);
    while (n->deferred[ticket].used)
        ticket = (ticket + 1) % n->deferred_size;
    n->deferred[ticket].used = true;
    n->deferred_count++;
    return (int32_t)ticket;
}

/* Keeps the operation to run it again from where it is. -1: it was refused. */
static int32_t keep(struct node *n, const struct operation *o)
{
    int32_t ticket = take_slot(n);
    if (ticket == NO_ENTRY) {
        node_refuse(n, o->from, o->request.id, REPLY_OVERLOADED, "node %u has %u requests waiting",
                    n->options.id, n->deferred_count);
        return NO_ENTRY;
    }
    struct deferred *d = &n->deferred[ticket];
    d->operation = *o;
    d->resume = RESUME_REQUEST;
    copy_request(n, d);
    return ticket;
}

bool node_scan_may_read(struct node *n, struct scan *s, enum resume resume, uint64_t subject,
                        struct slice key)
{
    if (s->state == SCAN_READY && s->subject != subject)
        s->state = SCAN_IDLE;
    if (s->state == SCAN_READY || (s->state == SCAN_IDLE && !store_needs_touch(n->store))) {
        s->state = SCAN_IDLE;
        return true;
    }
    int32_t ticket = s->state == SCAN_WAITING ? NO_ENTRY : take_slot(n);
    if (ticket == NO_ENTRY)
        return false;
    s->state = SCAN_WAITING;
    s->subject = subject;
    n->deferred[ticket].resume = resume;
    n->deferred[ticket].subject = subject;
    struct node_effect *e = node_push(n, NODE_TOUCH);
    e->touch.ticket = (uint32_t)ticket;
    e->touch.key = arena_copy(&n->lent, key);
    e->touch.reverse = false;
    e->touch.bytes = SCAN_BYTES;
    return false;
}

void node_resume(struct node *n, uint32_t ticket)
{
    must(ticket < n->deferred_size && n->deferred[ticket].used);
    struct deferred *d = &n->deferred[ticket];
    struct operation o = d->operation;
    switch (d->resume) {
    case RESUME_REQUEST:
        node_run(n, &o);
        break;
    case RESUME_COUNT:
        n->count_scan.state = SCAN_READY;
        n->count_at = n->now;
        break;
    case RESUME_MIDDLE:
        n->middle_scan.state = SCAN_READY;
        n->middle_at = n->now;
        break;
    case RESUME_SNAPSHOT_OUT:
    case RESUME_SNAPSHOT_IN:
        node_snapshot_touched(n, d->resume, d->subject);
        break;
    }
    d->used = false;
    n->deferred_count--;
}

/* The operation is run again, from where admission left it, once its pages have been read. */
static void defer(struct node *n, const struct operation *o, enum touched pages, uint64_t bytes)
{
    int32_t ticket = keep(n, o);
    if (ticket == NO_ENTRY)
        return;
    n->deferred[ticket].operation.touched |= pages;
    const struct request *r = &n->deferred[ticket].operation.request;
    struct node_effect *e = node_push(n, NODE_TOUCH);
    e->touch.ticket = (uint32_t)ticket;
    e->touch.key = pages == TOUCHED_COLLECTION ? collection_key(r->key)
                   : r->reverse                ? r->end
                                               : r->key;
    e->touch.reverse = r->reverse;
    e->touch.bytes = bytes;
}

/* ---- waiting for leadership to be confirmed ---- */

bool node_leads_read(struct node *n, struct partition *p, struct operation *o)
{
    uint64_t round;
    if (p->led != 0 && o->confirmed == p->led)
        return true;
    enum raft_outcome outcome = p->led == 0 ? RAFT_NOT_LEADER : raft_read(p->raft, n->now, &round);
    if (outcome == RAFT_OK)
        return true;
    if (outcome != RAFT_PENDING || n->stop_error != 0) {
        node_refuse_not_leader(n, o, p);
        return false;
    }
    int32_t ticket = keep(n, o);
    if (ticket == NO_ENTRY)
        return false;
    struct deferred *d = &n->deferred[ticket];
    d->round = round;
    d->term = p->led;
    d->next = NO_ENTRY;
    if (p->reads_first == NO_ENTRY)
        p->reads_first = ticket;
    else
        n->deferred[p->reads_last].next = ticket;
    p->reads_last = ticket;
    node_group_stepped(n, p);
    return false;
}

static struct deferred *take_read(struct node *n, struct partition *p)
{
    struct deferred *d = &n->deferred[p->reads_first];
    p->reads_first = d->next;
    d->used = false; /* its bytes stay until the slot is taken again */
    n->deferred_count--;
    return d;
}

void node_run_reads(struct node *n, struct partition *p)
{
    while (p->reads_first != NO_ENTRY) {
        const struct deferred *first = &n->deferred[p->reads_first];
        bool lost = p->led != first->term;
        if (!lost && raft_reads_confirmed(p->raft) < first->round)
            return;
        struct operation o = take_read(n, p)->operation;
        o.confirmed = lost ? 0 : p->led;
        if (lost)
            node_refuse_not_leader(n, &o, p);
        else
            node_run(n, &o);
    }
}

void node_drop_reads(struct node *n, struct partition *p, enum reply_code code, const char *why)
{
    while (p->reads_first != NO_ENTRY) {
        struct operation o = take_read(n, p)->operation;
        node_refuse(n, o.from, o.request.id, code, "partition %u: %s", p->info.id, why);
    }
}

/* ---- routing and admission ---- */

static struct partition *route(struct node *n, const struct operation *o)
{
    struct partition *p = node_partition(n, o->request.partition);
    if (p != NULL && !p->closing && !p->ended && p->info.epoch == o->request.epoch &&
        p->frozen.index == 0 && p->info.id != CATALOG_GROUP) {
        if (!p->no_state)
            return p;
        node_refuse_not_leader(n, o, p);
        return NULL;
    }
    bool stale =
        p != NULL && !p->closing && (p->info.epoch > o->request.epoch || p->frozen.index != 0);
    node_refuse(n, o->from, o->request.id, stale ? REPLY_STALE_MAP : REPLY_WRONG_PARTITION,
                "node %u does not hold partition %u at epoch %llu", n->options.id,
                o->request.partition, (unsigned long long)o->request.epoch);
    return NULL;
}

static bool holds_key(struct node *n, const struct partition *p, const struct operation *o)
{
    if (partition_holds(p, o->request.key))
        return true;
    node_refuse(n, o->from, o->request.id, REPLY_WRONG_PARTITION, "the key is outside partition %u",
                p->info.id);
    return false;
}

/* The other nodes that will do a write of this partition. */
static const struct admit_group *group_of(struct node *n, const struct partition *p,
                                          enum admit_kind kind)
{
    n->group.members = &n->members;
    n->group.count = 0;
    const struct raft_members *m = raft_members(p->raft);
    for (uint32_t i = 0; kind == ADMIT_WRITE && i < m->count; i++) {
        uint32_t node = raft_member_node(m->all[i].id);
        if (m->all[i].id != raft_self(p->raft) && node <= n->options.node_count)
            n->group.nodes[n->group.count++] = node;
    }
    return &n->group;
}

/* Charges the least the request can cost. A request that waited for a page was charged before. */
static bool admit(struct node *n, struct partition *p, struct operation *o, enum admit_kind kind,
                  int64_t cost_mcu)
{
    if (o->admitted)
        return true;
    node_heat_add(n, p, kind, o->request.key, cost_mcu);
    o->verdict =
        admission_try(&p->admission, &n->admission, kind, n->now, cost_mcu, group_of(n, p, kind));
    partition_count(p, kind, &o->verdict, cost_mcu);
    o->admitted = o->verdict.reason == ADMIT_OK;
    if (o->admitted) {
        n->consumed_mcu[kind] += cost_mcu;
        node_buckets_spent(n, p, kind, cost_mcu, !o->request.consistent);
    } else {
        node_push_reply(n, o->from, o->request.id, REPLY_THROTTLED)->verdict = o->verdict;
        node_note(n, NODE_TRACE_THROTTLED, p->info.id, cost_mcu);
        if (o->verdict.reason == ADMIT_REFUSED_MEMBER) {
            PROBE("a write is refused for want of headroom elsewhere");
            node_note(n, NODE_TRACE_NO_HEADROOM, o->verdict.member, cost_mcu);
        }
    }
    return o->admitted;
}

static void settle(struct node *n, struct partition *p, const struct operation *o,
                   enum admit_kind kind, int64_t extra_mcu)
{
    if (extra_mcu <= 0)
        return;
    node_heat_add(n, p, kind, o->request.key, extra_mcu);
    admission_settle(&p->admission, &n->admission, kind, n->now, &o->verdict, extra_mcu,
                     group_of(n, p, kind));
    p->counts[kind].load.consumed_mcu += extra_mcu;
    n->consumed_mcu[kind] += extra_mcu;
    node_buckets_spent(n, p, kind, extra_mcu, !o->request.consistent);
}

static void refuse_corrupt(struct node *n, const struct operation *o, enum status status)
{
    node_refuse(n, o->from, o->request.id, REPLY_CORRUPT, "node %u cannot read the item: %s",
                n->options.id, status_text(status));
}

/* ---- reads ---- */

/* The checksum is about to read all of the item: its lines come in together, not one by one. */
static void prefetch(struct slice item)
{
    enum {
        LINE = 64,
        LINES_MAX = 16
    };
    for (size_t at = 0; at < item.size && at < LINE * LINES_MAX; at += LINE)
        __builtin_prefetch(item.data + at);
}

static void run_get(struct node *n, struct operation *o)
{
    struct partition *p = route(n, o);
    const int64_t least = read_cost_mcu(0, o->request.consistent);
    if (p == NULL || !holds_key(n, p, o) || (o->request.consistent && !node_leads_read(n, p, o)) ||
        !admit(n, p, o, ADMIT_READ, least))
        return;
    struct slice item = {NULL, 0};
    enum status status =
        store_get(n->store, o->request.key, (o->touched & TOUCHED_ITEMS) != 0, &item);
    if (status == STATUS_PENDING) {
        defer(n, o, TOUCHED_ITEMS, 0);
        return;
    }
    prefetch(item);
    if (status == STATUS_OK && !item_checksum_holds(item))
        status = STATUS_CORRUPT;
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        refuse_corrupt(n, o, status);
        return;
    }
    bool found = status == STATUS_OK;
    int64_t cost = found ? read_cost_mcu(item_size(item), o->request.consistent) : least;
    settle(n, p, o, ADMIT_READ, cost - least);
    struct reply *r = node_push_reply(n, o->from, o->request.id, REPLY_OK);
    r->verdict = o->verdict;
    r->consumed_mcu = cost;
    r->found = found;
    r->body = item;
}

/* Collects items until a limit or the end; false if one is damaged. */
static enum status collect(struct node *n, const struct partition *p, const struct request *q,
                           struct reply *r)
{
    struct store_cursor c;
    struct slice key, item;
    buffer_clear(&n->range_out); /* several reads that waited may be answered in one event */
    store_seek(n->store, q->key, q->end, q->reverse, &c);
    enum status status;
    while ((status = store_next(&c, &key, &item)) == STATUS_OK) {
        if (partition_is_row(p, key))
            continue;
        if (r->read_bytes >= q->bytes_max || (q->items_max > 0 && r->count == q->items_max)) {
            r->more = true;
            break;
        }
        if (!item_checksum_holds(item))
            return STATUS_CORRUPT;
        buffer_append_sized(&n->range_out, item);
        r->read_bytes += item_size(item);
        r->count++;
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static void run_range(struct node *n, struct operation *o)
{
    struct request *q = &o->request;
    struct partition *p = route(n, o);
    const int64_t least = read_cost_mcu(0, q->consistent);
    if (p == NULL || (q->consistent && !node_leads_read(n, p, o)))
        return;
    if (slice_compare(q->key, p->info.lo) < 0)
        q->key = p->info.lo;
    if (q->end.size == 0 || (p->info.hi.size > 0 && slice_compare(p->info.hi, q->end) < 0))
        q->end = p->info.hi;
    if (q->bytes_max > PAGE_SIZE_MAX)
        q->bytes_max = PAGE_SIZE_MAX; /* what a reply has room for */
    if (!admit(n, p, o, ADMIT_READ, least))
        return;
    if (store_needs_touch(n->store) && o->touched == 0) {
        defer(n, o, TOUCHED_ITEMS, q->bytes_max);
        return;
    }
    struct reply answer = {.code = REPLY_OK};
    bool empty = q->end.size > 0 && slice_compare(q->key, q->end) >= 0;
    enum status status = empty ? STATUS_OK : collect(n, p, q, &answer);
    if (status != STATUS_OK) {
        refuse_corrupt(n, o, status);
        return;
    }
    answer.consumed_mcu = read_cost_mcu(answer.read_bytes, q->consistent);
    settle(n, p, o, ADMIT_READ, answer.consumed_mcu - least);
    answer.id = q->id;
    answer.verdict = o->verdict;
    if (!empty)
        answer.body = arena_copy(&n->lent, buffer_slice(&n->range_out));
    *node_push_reply(n, o->from, q->id, REPLY_OK) = answer;
}

/* ---- writes ---- */

/* The item a write replaces, as of everything proposed so far. */
static enum status current_item(struct node *n, const struct operation *o, uint64_t hash,
                                struct slice *item)
{
    *item = slice_make(NULL, 0);
    const struct inflight *e = node_shadow(n, SHADOW_ITEM, o->request.key, hash);
    if (e == NULL) {
        bool touched = (o->touched & TOUCHED_ITEMS) != 0;
        enum status status = store_get(n->store, o->request.key, touched, item);
        return status == STATUS_OK && !item_checksum_holds(*item) ? STATUS_CORRUPT : status;
    }
    *item = inflight_item(e);
    return item->data == NULL ? STATUS_NOT_FOUND : STATUS_OK;
}

/* The item collection a write falls in, as of everything proposed so far. */
static enum status current_collection(struct node *n, const struct operation *o, struct slice key,
                                      uint64_t hash, int64_t *bytes)
{
    struct slice row;
    const struct inflight *e = node_shadow(n, SHADOW_COLLECTION, key, hash);
    *bytes = e == NULL ? 0 : e->collection_bytes;
    if (e != NULL)
        return STATUS_OK;
    enum status status = store_get(n->store, key, (o->touched & TOUCHED_COLLECTION) != 0, &row);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    return status == STATUS_OK ? collection_decode(key, row, bytes) : status;
}

/* What a write does, as it is to be proposed. */
struct change {
    uint64_t hash;
    int64_t old_size; /* as in write_head */
    int64_t cost_mcu;
    int64_t collection_bytes;
    uint64_t collection_hash;
};

/* Bytes the write adds to what is stored; negative: it takes some away. */
static int64_t grows_by(const struct operation *o, const struct change *c)
{
    int64_t size = o->request.op == REQUEST_PUT ? (int64_t)item_size(o->request.body) : 0;
    return size - (c->old_size > 0 ? c->old_size : 0);
}

/* What the collection will hold, into the change. */
static enum status change_collection(struct node *n, const struct partition *p,
                                     const struct operation *o, struct change *c)
{
    c->collection_bytes = COLLECTION_NOT_COUNTED;
    if (!p->info.whole_collections)
        return STATUS_OK;
    struct slice key = collection_key(o->request.key);
    c->collection_hash = memtable_hash(key);
    enum status status = current_collection(n, o, key, c->collection_hash, &c->collection_bytes);
    if (status == STATUS_OK)
        c->collection_bytes += grows_by(o, c);
    must(status != STATUS_OK || c->collection_bytes >= 0);
    return status;
}

static void propose_write(struct node *n, struct partition *p, const struct operation *o,
                          const struct change *c)
{
    const struct request *q = &o->request;
    struct write_head head = {
        .old_size = c->old_size,
        .cost_mcu = c->cost_mcu,
        .collection_bytes = c->collection_bytes,
        .key_size = (uint32_t)q->key.size,
        .burst = o->verdict.burst ? n->members.mode == WRITE_CHECK_LEASE ? 2 : 1 : 0};
    buffer_clear(&n->scratch);
    buffer_append(&n->scratch, &head, sizeof head);
    buffer_append_slice(&n->scratch, q->key);
    struct slice item = q->op == REQUEST_PUT ? q->body : slice_make(NULL, 0);
    struct inflight *e = node_propose(n, p, o, LOG_WRITE, buffer_slice(&n->scratch), item);
    if (e == NULL)
        return;
    node_shadow_add(n, e, SHADOW_ITEM, q->key, c->hash);
    if (p->info.whole_collections)
        node_shadow_add(n, e, SHADOW_COLLECTION, collection_key(q->key), c->collection_hash);
    e->verdict = o->verdict;
    e->consumed_mcu = c->cost_mcu;
    e->collection_bytes = c->collection_bytes;
    e->want_old = q->want_old;
}

/* What is there, and what comes of it. False: the operation was refused, or is run again. */
static bool evaluate(struct node *n, struct partition *p, struct operation *o, struct change *out)
{
    struct slice old;
    *out = (struct change){.hash = memtable_hash(o->request.key), .old_size = -1};
    enum status status = current_item(n, o, out->hash, &old);
    enum touched pages = TOUCHED_ITEMS;
    if (status == STATUS_OK)
        out->old_size = (int64_t)item_size(old);
    if (status == STATUS_OK || status == STATUS_NOT_FOUND) {
        status = change_collection(n, p, o, out);
        pages = TOUCHED_COLLECTION;
    }
    if (status == STATUS_PENDING)
        defer(n, o, pages, 0);
    else if (status != STATUS_OK)
        refuse_corrupt(n, o, status);
    out->cost_mcu = out->old_size > 0 ? write_cost_mcu(out->old_size) : 0;
    return status == STATUS_OK;
}

static void run_write(struct node *n, struct operation *o)
{
    const struct request *q = &o->request;
    struct partition *p = route(n, o);
    if (p == NULL || !holds_key(n, p, o))
        return;
    bool put = q->op == REQUEST_PUT;
    if (!storage_key_is_whole(q->key)) {
        node_refuse(n, o->from, q->id, REPLY_MALFORMED, "the key is none that an item can have");
        return;
    }
    if (put && (item_check(q->body) != STATUS_OK || item_size(q->body) > ITEM_SIZE_MAX)) {
        node_refuse(n, o->from, q->id, REPLY_MALFORMED, "the item fails its checksum");
        return;
    }
    if (p->led == 0) {
        node_refuse_not_leader(n, o, p);
        return;
    }
    size_t payload = sizeof(struct write_head) + q->key.size + q->body.size;
    int64_t least = write_cost_mcu(put ? item_size(q->body) : 0);
    if (!node_can_write(n, o, payload) || !node_may_propose(n, p, o, payload) ||
        !admit(n, p, o, ADMIT_WRITE, least))
        return;
    struct change change;
    if (!evaluate(n, p, o, &change))
        return;
    if (change.cost_mcu < least)
        change.cost_mcu = least;
    settle(n, p, o, ADMIT_WRITE, change.cost_mcu - least);
    if (grows_by(o, &change) > 0 && change.collection_bytes > n->config->collection_max_bytes)
        node_refuse(n, o->from, q->id, REPLY_COLLECTION_FULL,
                    "the item collection would hold %lld bytes, collection_max_bytes is %lld",
                    (long long)change.collection_bytes, (long long)n->config->collection_max_bytes);
    else
        propose_write(n, p, o, &change);
}

/* ---- the node itself ---- */

static void count_replicas(const struct partition *p, struct partition_stats *s)
{
    const struct raft_members *m = raft_members(p->raft);
    s->leads = p->led != 0;
    for (uint32_t i = 0; s->leads && i < m->count; i++) {
        if (!m->all[i].voter)
            continue;
        s->voters++;
        s->caught_up += raft_is_whole(p->raft, m->all[i].id);
    }
}

static void stats_of(const struct node *n, const struct partition *p, struct partition_stats *out)
{
    *out = (struct partition_stats){.partition = p->info.id,
                                    .node = n->options.id,
                                    .table_id = p->info.table_id,
                                    .bytes = p->counting ? -1 : p->item_bytes};
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        out->kinds[kind].allocated_mcu = p->info.rate_mcu[kind];
        out->kinds[kind].counts = p->counts[kind];
        out->kinds[kind].levels =
            admission_levels(&p->admission, &n->admission, (enum admit_kind)kind, n->now);
    }
    count_replicas(p, out);
}

static void run_stats(struct node *n, const struct operation *o)
{
    buffer_clear(&n->range_out);
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        const struct partition *p = n->partitions[i];
        struct partition_stats s;
        if (p == NULL || p->info.id == CATALOG_GROUP)
            continue;
        stats_of(n, p, &s);
        partition_stats_encode(&n->range_out, &s);
    }
    struct slice body = arena_copy(&n->lent, buffer_slice(&n->range_out));
    node_push_reply(n, o->from, o->request.id, REPLY_OK)->body = body;
}

void node_run(struct node *n, struct operation *o)
{
    switch (o->request.op) {
    case REQUEST_GET:
        run_get(n, o);
        break;
    case REQUEST_PUT:
    case REQUEST_DELETE:
        run_write(n, o);
        break;
    case REQUEST_RANGE:
        run_range(n, o);
        break;
    case REQUEST_STATS:
        run_stats(n, o);
        break;
    case REQUEST_PING:
        node_push_reply(n, o->from, o->request.id, REPLY_OK);
        break;
    case REQUEST_PARTITION_OPEN:
        node_run_open(n, o);
        break;
    case REQUEST_PARTITION_CLOSE:
        node_run_close(n, o);
        break;
    case REQUEST_PARTITION_MEMBERS:
        node_run_members(n, o);
        break;
    case REQUEST_PARTITION_SPLIT:
        node_run_split(n, o);
        break;
    case REQUEST_PARTITION_MERGE:
        node_run_merge(n, o);
        break;
    case REQUEST_PARTITION_HEAT:
    case REQUEST_PARTITION_MIDDLE:
        node_run_advice(n, o);
        break;
    case REQUEST_TABLE_CREATE:
    case REQUEST_TABLE_GET:
    case REQUEST_TABLE_LIST:
    case REQUEST_TABLE_UPDATE:
    case REQUEST_TABLE_DELETE:
    case REQUEST_TABLE_REPORT:
    case REQUEST_EVENTS:
    case REQUEST_DECIDE:
    case REQUEST_TABLE_SPLIT:
        node_catalog_request(n, o);
        break;
    case REQUEST_OPS:
        must(o->request.op != REQUEST_OPS);
    }
}
