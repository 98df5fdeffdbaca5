/* proposals.c - proposals and own records on their way to the disks, and the keys they write. */
#include "engine/node/core/proposals.h"
#include "base/settings/requests.h"
#include "base/settings/storage.h"
#include "engine/node/core/owned_keys.h"

#include <stdlib.h>

enum {
    MANDATORY_MIN = 8,   /* slots that are left to mandatory entries when the queue is full */
    OWN_MIN = 8,         /* slots that are left to own records then */
    LOG_RESERVE_PART = 4 /* of a segment: what growth leaves while no segment can be made */
};

#define LOG_FULL_TEXT "the log's disk is full: free space on the disk"

void proposals_init(struct proposals *proposals, struct node_env *env, struct node_log *log)
{
    proposals->env = env;
    proposals->log = log;
    proposals->size = 16;
    while (proposals->size < config_requests(env->config)->node_queue_max + MANDATORY_MIN + OWN_MIN)
        proposals->size *= 2;
    proposals->slots = must_calloc(proposals->size, sizeof proposals->slots[0]);
    proposals->uncommitted_buckets =
        must_have(malloc(proposals->size * sizeof proposals->uncommitted_buckets[0]));
    proposals->uncommitted_free = NO_ENTRY;
    STAILQ_INIT(&proposals->free);
    STAILQ_INIT(&proposals->own);
    for (uint32_t i = proposals->size; i-- > 0;) {
        proposals->uncommitted_buckets[i] = NO_ENTRY;
        STAILQ_INSERT_HEAD(&proposals->free, &proposals->slots[i], place);
    }
}

void proposals_deinit(struct proposals *proposals)
{
    const struct inflight *e;
    STAILQ_FOREACH (e, &proposals->own, place)
        free((void *)(uintptr_t)e->payload.data);
    for (uint32_t i = 0; i < proposals->size; i++)
        free((void *)(uintptr_t)proposals->slots[i].items.data);
    free(proposals->uncommitted);
    free(proposals->uncommitted_buckets);
    free(proposals->slots);
}

/* ---- uncommitted versions ---- */

static int32_t *uncommitted_bucket(const struct proposals *proposals, uint64_t hash)
{
    return &proposals->uncommitted_buckets[hash & (proposals->size - 1)];
}

const struct uncommitted_version *proposals_find_uncommitted(const struct proposals *proposals,
                                                             struct slice key, uint64_t hash)
{
    for (int32_t i = *uncommitted_bucket(proposals, hash); i != NO_ENTRY;) {
        const struct uncommitted_version *s = &proposals->uncommitted[i];
        if (s->hash == hash && slice_equal(s->key, key))
            return s;
        i = s->older;
    }
    return NULL;
}

static void uncommitted_grow(struct proposals *proposals)
{
    uint32_t size = proposals->uncommitted_size == 0 ? 64 : 2 * proposals->uncommitted_size;
    proposals->uncommitted =
        must_have(realloc(proposals->uncommitted, size * sizeof proposals->uncommitted[0]));
    for (uint32_t i = size; i-- > proposals->uncommitted_size;) {
        proposals->uncommitted[i].older = proposals->uncommitted_free;
        proposals->uncommitted_free = (int32_t)i;
    }
    proposals->uncommitted_size = size;
}

void proposals_add_uncommitted(struct proposals *proposals, struct inflight *e, uint64_t hash,
                               struct slice key, struct slice value)
{
    int32_t *bucket = uncommitted_bucket(proposals, hash);
    if (proposals->uncommitted_free == NO_ENTRY)
        uncommitted_grow(proposals);
    int32_t at = proposals->uncommitted_free;
    struct uncommitted_version *s = &proposals->uncommitted[at];
    proposals->uncommitted_free = s->older;
    *s = (struct uncommitted_version){
        .hash = hash, .older = *bucket, .next = e->uncommitted, .key = key, .value = value};
    *bucket = at;
    e->uncommitted = at;
}

static void uncommitted_drop(struct proposals *proposals, struct inflight *e)
{
    while (e->uncommitted != NO_ENTRY) {
        int32_t at = e->uncommitted;
        struct uncommitted_version *s = &proposals->uncommitted[at];
        int32_t *link = uncommitted_bucket(proposals, s->hash);
        while (*link != at)
            link = &proposals->uncommitted[*link].older;
        *link = s->older;
        e->uncommitted = s->next;
        s->older = proposals->uncommitted_free;
        proposals->uncommitted_free = at;
    }
}

/* ---- proposals ---- */

static struct inflight *proposals_take_free(struct proposals *proposals)
{
    struct inflight *e = STAILQ_FIRST(&proposals->free);
    must(e != NULL);
    STAILQ_REMOVE_HEAD(&proposals->free, place);
    proposals->count++;
    *e = (struct inflight){.uncommitted = NO_ENTRY};
    return e;
}

void proposals_free(struct proposals *proposals, struct inflight *e)
{
    free((void *)(uintptr_t)e->items.data);
    e->items = slice_make(NULL, 0);
    STAILQ_INSERT_HEAD(&proposals->free, e, place);
    proposals->count--;
}

void proposals_set_items(struct inflight *e, struct slice items)
{
    must(e->items.data == NULL && items.size > 0);
    uint8_t *copy = must_have(malloc(items.size));
    memcpy(copy, items.data, items.size);
    e->items = slice_make(copy, items.size);
}

/* Why the log has no space for a record of this payload size, beside the `kept` bytes; 0: it has,
 * or a segment is being made. */
static int space_error(const struct proposals *proposals, size_t payload, size_t kept)
{
    const int error = proposals->log->segment_error;
    return error == 0 || node_log_has_space(proposals->log, payload + kept) ? 0 : error;
}

bool proposals_leave_room(const struct proposals *proposals, size_t bytes)
{
    return node_log_has_space(proposals->log, bytes) &&
           space_error(proposals, bytes, proposals->reserved_bytes) == 0;
}

/* Whether more is under way than the settings allow. Mandatory entries have slots of their own, and
 * bytes are few: what began it was counted. */
static bool is_busy(const struct proposals *proposals, bool mandatory)
{
    const struct settings_storage *storage = config_storage(proposals->env->config);
    const uint32_t max = (uint32_t)config_requests(proposals->env->config)->node_queue_max;
    return proposals_are_full(proposals) ||
           proposals->count >= max + (mandatory ? MANDATORY_MIN : 0) ||
           (!mandatory &&
            (proposals->log->writer.unwritten_bytes > (size_t)storage->inflight_max_bytes ||
             proposals->log->writer.next_lsn - store_log_lsn(proposals->env->store) >
                 (uint64_t)storage->log_max_bytes ||
             store_active_bytes(proposals->env->store) > 2 * (size_t)storage->memtable_max_bytes));
}

/* ---- space ---- */

/* What no checkpoint has written, what is on its way to the log or reserved there, and the records
 * that all of it will have written anew: each write alone may fit where all of them do not. */
static uint64_t proposals_space_cost(const struct proposals *proposals)
{
    return store_space_cost(proposals->env->store) +
           space_cost(store_space(proposals->env->store), 0,
                      proposals->log->writer.unwritten_bytes + proposals->reserved_bytes +
                          proposals->shared_bytes);
}

/* What a write of the operation's item costs beside its bytes. */
static size_t proposals_shared_cost(const struct proposals *proposals, const struct operation *o)
{
    const enum request_op op = o->request.op;
    return op == REQUEST_PUT || op == REQUEST_UPDATE || op == REQUEST_DELETE
               ? store_shared_cost(proposals->env->store, o->request.write.key)
               : 0;
}

static enum space_verdict proposals_change_space(const struct proposals *proposals, size_t bytes)
{
    return proposals->log->map_full ? SPACE_FULL
                                    : space_for_change(store_space(proposals->env->store),
                                                       proposals_space_cost(proposals), bytes);
}

/* Beside what stays for deletions. */
static enum space_verdict proposals_common_space(const struct proposals *proposals, size_t bytes)
{
    return proposals->log->map_full ? SPACE_FULL
                                    : space_for_write(store_space(proposals->env->store),
                                                      proposals_space_cost(proposals), bytes);
}

/* For a client's request. */
static enum space_verdict proposals_write_space(const struct proposals *proposals,
                                                const struct operation *o, size_t bytes)
{
    return o->request.op == REQUEST_DELETE ? proposals_change_space(proposals, bytes)
                                           : proposals_common_space(proposals, bytes);
}

static enum space_verdict proposals_growth_space(const struct proposals *proposals, size_t bytes)
{
    return proposals->log->map_full ? SPACE_FULL
                                    : space_for_growth(store_space(proposals->env->store),
                                                       proposals_space_cost(proposals), bytes);
}

/* The log's space that growth leaves: deletions fill the log too, until a checkpoint frees it. */
static size_t proposals_log_reserve(const struct proposals *proposals)
{
    return proposals->reserved_bytes + proposals->log->writer.segment_bytes / LOG_RESERVE_PART;
}

uint64_t proposals_growth_left(const struct proposals *proposals)
{
    const uint64_t left = space_growth_left_bytes(store_space(proposals->env->store));
    const uint64_t cost = proposals_space_cost(proposals);
    return proposals->log->map_full || cost > left ? 0 : left - cost;
}

bool proposals_lack_space(const struct proposals *proposals)
{
    return proposals->log->space_refused;
}

static bool proposals_refuse_full(struct proposals *proposals, const struct operation *o,
                                  bool grows, const char *what)
{
    proposals->log->space_refused = true;
    proposals->log->refused_full++;
    env_refuse(proposals->env, o, REPLY_FULL,
               "node %u has no space left for writes%s (%s); reads are served", proposals->env->id,
               grows ? " that add data" : "", what);
    return false;
}

static const char *proposals_full_text(const struct proposals *proposals)
{
    if (proposals->log->map_full)
        return "the LMDB map or its disk is full: free space on the disk, or raise map_max_bytes";
    return store_space(proposals->env->store)->disk_bound
               ? "its disk is full: delete items or tables, or free space on the disk"
               : "its LMDB map is full: delete items or tables, or raise map_max_bytes (and ulimit "
                 "-f, if that is lower)";
}

static bool proposals_refuse_waiting(struct proposals *proposals, const struct operation *o)
{
    proposals->log->space_refused = true;
    proposals->log->refused_waiting++;
    env_refuse(proposals->env, o, REPLY_OVERLOADED,
               "node %u is short of space, and waits for a checkpoint: try again in a moment",
               proposals->env->id);
    return false;
}

bool proposals_may_grow(struct proposals *proposals, const struct operation *o, int64_t grown)
{
    if (grown <= 0 || operation_is_mandatory(o))
        return true;
    const size_t bytes = (size_t)grown;
    if (status_is_no_space(space_error(proposals, bytes, proposals_log_reserve(proposals))))
        return proposals_refuse_full(proposals, o, true, LOG_FULL_TEXT);
    switch (proposals_growth_space(proposals, bytes + proposals_shared_cost(proposals, o))) {
    case SPACE_THERE:
        break;
    case SPACE_WAITS:
        return proposals_refuse_waiting(proposals, o);
    case SPACE_FULL:
        return proposals_refuse_full(proposals, o, true, proposals_full_text(proposals));
    }
    return true;
}

bool proposals_leave_space(struct proposals *proposals, size_t bytes)
{
    const bool leaves = proposals_common_space(proposals, bytes) == SPACE_THERE;
    proposals->log->space_refused |= !leaves;
    return leaves;
}

/* ---- what may be written ---- */

bool proposals_may_reserve(struct proposals *proposals, const struct operation *o, size_t payload,
                           size_t reserved)
{
    if (proposals->env->stop_error != 0) {
        env_refuse(proposals->env, o, REPLY_STOPPED,
                   "node %u refuses writes since its disk failed (%s): repair the disk, then "
                   "restart the node",
                   proposals->env->id, strerror(proposals->env->stop_error));
        return false;
    }
    const bool mandatory = operation_is_mandatory(o);
    const int error =
        space_error(proposals, payload, mandatory ? 0 : reserved + proposals->reserved_bytes);
    const enum space_verdict space =
        mandatory ? SPACE_THERE
                  : proposals_write_space(proposals, o,
                                          payload + reserved + proposals_shared_cost(proposals, o));
    if (space != SPACE_FULL && error != 0 && !status_is_no_space(error)) {
        env_refuse(proposals->env, o, REPLY_OVERLOADED,
                   "node %u cannot make a segment of its log (%s); reads are served",
                   proposals->env->id, strerror(error));
        return false;
    }
    if (space == SPACE_FULL || status_is_no_space(error))
        return proposals_refuse_full(proposals, o, false,
                                     space == SPACE_FULL ? proposals_full_text(proposals)
                                                         : LOG_FULL_TEXT);
    if (space == SPACE_WAITS)
        return proposals_refuse_waiting(proposals, o);
    /* Closing a partition ends the proposals that wait in it. Perhaps nothing else can end them. */
    const bool closes = o->request.op == REQUEST_PARTITION_CLOSE && !proposals_are_full(proposals);
    const bool busy =
        !node_log_has_space(proposals->log, payload) || (!closes && is_busy(proposals, mandatory));
    if (busy)
        env_refuse(proposals->env, o, REPLY_OVERLOADED,
                   "node %u has its maximum of writes in flight", proposals->env->id);
    return !busy;
}

bool proposals_may_follow(struct proposals *proposals, size_t bytes)
{
    const enum space_verdict space = proposals_common_space(proposals, bytes);
    const bool takes =
        space == SPACE_THERE ||
        (space == SPACE_FULL && space_for_last(store_space(proposals->env->store), bytes));
    proposals->log->space_refused |= !takes;
    return takes && !proposals->log->map_full && proposals_leave_room(proposals, bytes);
}

bool proposals_may_write(struct proposals *proposals, const struct operation *o, size_t payload)
{
    return proposals_may_reserve(proposals, o, payload, 0);
}

void proposals_count_index_feed(struct partition *p, struct inflight *e, size_t bytes)
{
    e->index_feed_bytes += bytes;
    p->proposed_index_feed_bytes += bytes;
}

void proposals_count_shared(struct proposals *proposals, struct inflight *e, size_t bytes)
{
    e->shared_bytes += bytes;
    proposals->shared_bytes += bytes;
}

/* Nothing counts on the proposal any more: it is applied, or will change nothing. */
static void proposal_release(struct proposals *proposals, struct partition *p, struct inflight *e)
{
    must(p->proposed_index_feed_bytes >= e->index_feed_bytes);
    p->proposed_index_feed_bytes -= e->index_feed_bytes;
    e->index_feed_bytes = 0;
    must(proposals->shared_bytes >= e->shared_bytes);
    proposals->shared_bytes -= e->shared_bytes;
    e->shared_bytes = 0;
    uncommitted_drop(proposals, e);
}

struct inflight *proposals_take(struct proposals *proposals, struct partition *p,
                                const struct raft_entry *e)
{
    struct inflight *first = STAILQ_FIRST(&p->proposals);
    if (first == NULL || first->index != e->index || first->term != e->term)
        return NULL;
    STAILQ_REMOVE_HEAD(&p->proposals, place);
    proposal_release(proposals, p, first);
    return first;
}

/* Whether the partition holds all keys that the proposal changes. */
static bool uncommitted_are_held(const struct proposals *proposals, const struct inflight *e,
                                 const struct partition *p)
{
    for (int32_t at = e->uncommitted; at != NO_ENTRY; at = proposals->uncommitted[at].next) {
        const struct slice key = proposals->uncommitted[at].key; /* rows lie with their item */
        if (!partition_holds(p,
                             key.data[0] == 0 ? key : key_in_space(key, 0, &proposals->env->lent)))
            return false;
    }
    return true;
}

/* An operation with the sender and the id that the answer needs. */
static struct operation inflight_sender(const struct inflight *e)
{
    return (struct operation){.from = e->from, .request.id = e->request_id};
}

void proposals_void(struct proposals *proposals, struct partition *p)
{
    struct inflight *e;
    STAILQ_FOREACH (e, &p->proposals, place) {
        if (uncommitted_are_held(proposals, e, p))
            continue;
        proposal_release(proposals, p, e);
        e->kind = LOG_NOOP; /* the proposal keeps its place in the order */
        const struct operation o = inflight_sender(e);
        if (e->answer)
            env_refuse(proposals->env, &o, REPLY_STALE_MAP,
                       "partition %u was split before the write", p->info.id);
        e->answer = false;
    }
}

bool proposals_split(const struct partition *p)
{
    const struct inflight *e;
    STAILQ_FOREACH (e, &p->proposals, place) {
        if (e->kind == LOG_SPLIT)
            return true;
    }
    return false;
}

void proposals_drop(struct proposals *proposals, struct partition *p, const char *why)
{
    for (struct inflight *e; (e = STAILQ_FIRST(&p->proposals)) != NULL;) {
        STAILQ_REMOVE_HEAD(&p->proposals, place);
        proposal_release(proposals, p, e);
        const struct operation o = inflight_sender(e);
        if (e->answer)
            env_refuse(proposals->env, &o, REPLY_UNKNOWN, "%s", why);
        proposals_free(proposals, e);
    }
}

struct inflight *proposals_add(struct proposals *proposals, struct partition *p,
                               const struct operation *o, enum log_kind kind, uint64_t index,
                               struct slice payload)
{
    struct inflight *e = proposals_take_free(proposals);
    must(p->led != 0); /* DRIVER-2 */
    e->kind = kind;
    e->group = p->info.id;
    e->index = index;
    e->term = p->led;
    e->payload = payload;
    e->answer = o->from != FROM_SELF || o->request.id != 0;
    e->from = o->from;
    e->request_id = o->request.id;
    e->answer_kind = request_traits[o->request.op].answer;
    if (kind == LOG_SPLIT || kind == LOG_INDEXES)
        p->stream.changing = index;
    STAILQ_INSERT_TAIL(&p->proposals, e, place);
    return e;
}

struct inflight *proposals_take_own(struct proposals *proposals)
{
    struct inflight *e = STAILQ_FIRST(&proposals->own);
    if (e == NULL || e->lsn > proposals->log->writer.written_lsn)
        return NULL;
    STAILQ_REMOVE_HEAD(&proposals->own, place);
    return e;
}

void proposals_free_own(struct proposals *proposals, struct inflight *e)
{
    free((void *)(uintptr_t)e->payload.data);
    proposals_free(proposals, e);
}

void proposals_drop_own(struct proposals *proposals, const char *why)
{
    for (struct inflight *e; (e = STAILQ_FIRST(&proposals->own)) != NULL;) {
        STAILQ_REMOVE_HEAD(&proposals->own, place);
        const struct operation o = inflight_sender(e);
        if (e->answer)
            env_refuse(proposals->env, &o, REPLY_UNKNOWN, "%s", why);
        proposals_free_own(proposals, e);
    }
}

struct inflight *proposals_append_own(struct proposals *proposals, enum log_kind kind,
                                      uint32_t group, uint64_t index, struct slice payload)
{
    struct inflight *e = proposals_take_free(proposals);
    e->kind = kind;
    e->group = group;
    e->index = index;
    e->lsn = log_writer_append(&proposals->log->writer, kind, group, 0, index, payload);
    uint8_t *copy = must_have(malloc(payload.size + 1));
    if (payload.size > 0)
        memcpy(copy, payload.data, payload.size);
    e->payload = slice_make(copy, payload.size);
    STAILQ_INSERT_TAIL(&proposals->own, e, place);
    return e;
}

bool proposals_open_range(const struct proposals *proposals, uint32_t but, struct slice lo,
                          struct slice hi)
{
    const struct inflight *e;
    STAILQ_FOREACH (e, &proposals->own, place) {
        struct partition_info other;
        if (e->kind != LOG_PARTITION || e->group == but)
            continue;
        must(partition_info_decode(e->payload, &other) == STATUS_OK);
        bool before = hi.size > 0 && slice_compare(hi, other.lo) <= 0;
        bool behind = other.hi.size > 0 && slice_compare(other.hi, lo) <= 0;
        if (!before && !behind)
            return true;
    }
    return false;
}
