/* node/proposals.c - proposals and records on their way to the disks, and the keys they write. */
#include <errno.h>

#include <stdlib.h>

#include "base/must.h"
#include "engine/node/node_internal.h"

enum {
    /* Log space that proposals and entries leave for terms and votes. */
    LOG_RESERVE = 64 * 1024
};

struct slice inflight_key(const struct inflight *e)
{
    return slice_make(e->payload.data + sizeof(struct write_head), e->shadows[SHADOW_ITEM].size);
}

struct slice inflight_item(const struct inflight *e)
{
    size_t at = sizeof(struct write_head) + e->shadows[SHADOW_ITEM].size;
    if (e->payload.size == at)
        return slice_make(NULL, 0);
    return slice_make(e->payload.data + at, e->payload.size - at);
}

struct inflight *node_shadow(const struct node *n, enum shadow_kind kind, struct slice key,
                             uint64_t hash)
{
    int32_t i = n->shadow[kind][hash & (n->inflight_size - 1)];
    while (i != NO_ENTRY) {
        struct inflight *e = &n->inflight[i];
        const struct shadow *s = &e->shadows[kind];
        if (s->hash == hash && slice_equal(slice_make(inflight_key(e).data, s->size), key))
            return e;
        i = s->older;
    }
    return NULL;
}

void node_shadow_add(struct node *n, struct inflight *e, enum shadow_kind kind, struct slice key,
                     uint64_t hash)
{
    int32_t *bucket = &n->shadow[kind][hash & (n->inflight_size - 1)];
    e->shadows[kind] = (struct shadow){hash, *bucket, (uint32_t)key.size};
    *bucket = (int32_t)(e - n->inflight);
}

static void shadow_drop(struct node *n, struct inflight *e)
{
    for (int kind = 0; kind < SHADOWS; kind++) {
        const struct shadow *s = &e->shadows[kind];
        int32_t *link = &n->shadow[kind][s->hash & (n->inflight_size - 1)];
        while (s->size > 0 && *link != e - n->inflight)
            link = &n->inflight[*link].shadows[kind].older;
        if (s->size > 0)
            *link = s->older;
    }
}

static struct inflight *take_free(struct node *n)
{
    struct inflight *e = n->inflight_free;
    must(e != NULL);
    n->inflight_free = e->next;
    n->inflight_count++;
    *e = (struct inflight){0};
    return e;
}

void node_free_inflight(struct node *n, struct inflight *e)
{
    e->next = n->inflight_free;
    n->inflight_free = e;
    n->inflight_count--;
}

bool node_has_log_space(const struct node *n, size_t bytes)
{
    return n->stop_error == 0 &&
           n->log.next_lsn + log_record_size(bytes) + 4 * LOG_HEADER_SIZE + LOG_RESERVE <=
               n->log_space_end;
}

bool node_can_write(struct node *n, const struct operation *o, size_t payload)
{
    uint64_t id = o->request.id;
    if (n->stop_error != 0) {
        node_refuse(n, o->from, id, REPLY_STOPPED,
                    "node %u refuses writes since its disk failed (%s): mend the disk, then "
                    "restart the node",
                    n->options.id, strerror(n->stop_error));
        return false;
    }
    bool log_short = !node_has_log_space(n, payload);
    bool no_space = n->log_error == 0 || n->log_error == ENOSPC || n->log_error == EDQUOT ||
                    n->log_error == EFBIG;
    if (!n->map_full && log_short && n->log_disk_full && !no_space) {
        node_refuse(n, o->from, id, REPLY_OVERLOADED,
                    "node %u cannot make a segment of its log (%s); reads are served",
                    n->options.id, strerror(n->log_error));
        return false;
    }
    if (n->map_full || (log_short && n->log_disk_full)) {
        node_refuse(n, o->from, id, REPLY_FULL,
                    "node %u has no space left for writes (%s); reads are served", n->options.id,
                    n->map_full ? "the LMDB map or its disk is full" : "the log's disk is full");
        return false;
    }
    /* What ends a partition ends what waits in it, and may be the only thing that does. */
    bool closes = o->request.op == REQUEST_PARTITION_CLOSE && n->inflight_free != NULL;
    bool full = n->inflight_free == NULL || n->inflight_count >= n->config->node_queue_max;
    bool busy = log_short || full ||
                n->log.unwritten_bytes > (size_t)n->config->inflight_max_bytes ||
                n->log.next_lsn - store_log_lsn(n->store) > (uint64_t)n->config->log_max_bytes ||
                store_active_bytes(n->store) > 2 * (size_t)n->config->memtable_max_bytes;
    if (closes && !log_short)
        return true;
    if (busy)
        node_refuse(n, o->from, id, REPLY_OVERLOADED,
                    "node %u has more writes in flight than it may hold", n->options.id);
    return !busy;
}

static void refuse_proposal(struct node *n, const struct partition *p, const struct operation *o,
                            enum raft_outcome outcome)
{
    if (outcome == RAFT_BUSY)
        node_refuse(n, o->from, o->request.id, REPLY_OVERLOADED,
                    "partition %u has more writes on their way to its replicas than "
                    "group_max_bytes = %lld allows",
                    p->info.id, (long long)n->config->group_max_bytes);
    else
        node_refuse_not_leader(n, o, p);
}

bool node_may_propose(struct node *n, const struct partition *p, const struct operation *o,
                      size_t payload)
{
    enum raft_outcome outcome = raft_may_propose(p->raft, payload);
    if (outcome != RAFT_OK)
        refuse_proposal(n, p, o, outcome);
    return outcome == RAFT_OK;
}

struct inflight *node_propose(struct node *n, struct partition *p, const struct operation *o,
                              enum log_kind kind, struct slice head, struct slice tail)
{
    uint64_t index;
    enum raft_outcome outcome = raft_propose(p->raft, n->now, kind, head, tail, &index);
    if (outcome != RAFT_OK) {
        refuse_proposal(n, p, o, outcome);
        return NULL;
    }
    struct inflight *e = take_free(n);
    e->kind = kind;
    e->group = p->info.id;
    e->index = index;
    e->term = p->led;
    e->payload = raft_entry_at(p->raft, index)->payload;
    e->answer = o->from != FROM_SELF;
    e->from = o->from;
    e->request_id = o->request.id;
    if (p->last == NULL)
        p->first = e;
    else
        p->last->next = e;
    p->last = e;
    node_group_stepped(n, p);
    return e;
}

static struct inflight *take_first(struct node *n, struct partition *p)
{
    struct inflight *e = p->first;
    if (e->kind == LOG_WRITE)
        shadow_drop(n, e);
    p->first = e->next;
    if (p->first == NULL)
        p->last = NULL;
    return e;
}

struct inflight *node_take_proposal(struct node *n, struct partition *p, const struct raft_entry *e)
{
    bool ours = p->first != NULL && p->first->index == e->index && p->first->term == e->term;
    return ours ? take_first(n, p) : NULL;
}

void node_void_proposals(struct node *n, struct partition *p)
{
    for (struct inflight *e = p->first; e != NULL; e = e->next) {
        if (e->kind != LOG_WRITE || partition_holds(p, inflight_key(e)))
            continue;
        shadow_drop(n, e);
        e->kind = LOG_NOOP; /* its place in the order stays */
        if (e->answer)
            node_refuse(n, e->from, e->request_id, REPLY_STALE_MAP,
                        "partition %u was split before the write", p->info.id);
        e->answer = false;
    }
}

void node_drop_proposals(struct node *n, struct partition *p, const char *why)
{
    while (p->first != NULL) {
        struct inflight *e = take_first(n, p);
        if (e->answer)
            node_refuse(n, e->from, e->request_id, REPLY_UNKNOWN,
                        "%s; the write may or may not take place", why);
        node_free_inflight(n, e);
    }
}

struct inflight *node_append_own(struct node *n, enum log_kind kind, uint32_t group, uint64_t index,
                                 struct slice payload)
{
    struct inflight *e = take_free(n);
    e->kind = kind;
    e->group = group;
    e->index = index;
    e->lsn = log_writer_append(&n->log, kind, group, 0, index, payload);
    uint8_t *copy = malloc(payload.size + 1);
    must(copy != NULL);
    if (payload.size > 0)
        memcpy(copy, payload.data, payload.size);
    e->payload = slice_make(copy, payload.size);
    if (n->own_last == NULL)
        n->own_first = e;
    else
        n->own_last->next = e;
    n->own_last = e;
    return e;
}
