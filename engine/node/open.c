/* node/open.c - replicas that the catalog wants here are opened, others closed.
 *
 * The catalog's leader says so again and again until it is acknowledged, and a word may be on its way
 * for long: each says up to where the catalog's log was known to whoever said it. What was closed is
 * opened by no older word. The record of a replica is on disk before the answer. */
#include "base/must.h"
#include "base/probe.h"
#include "engine/node/node_internal.h"

/* The answer to an own record comes when it is durable. */
static void answer_later(struct inflight *e, const struct operation *o)
{
    e->answer = true;
    e->from = o->from;
    e->request_id = o->request.id;
}

/* `p`: NULL, there is no replica, and none may come by an older word. */
static struct inflight *append_close(struct node *n, struct partition *p, uint32_t group,
                                     uint64_t as_of)
{
    if (p != NULL)
        p->closing = true; /* a second one on its way finds nothing left to do */
    if (as_of > n->closed_as_of)
        n->closed_as_of = as_of;
    return node_append_own(n, LOG_PARTITION_CLOSE, group, as_of, slice_make(NULL, 0));
}

void node_close_orphan(struct node *n, struct partition *p, uint64_t as_of)
{
    if (!p->closing && n->inflight_free != NULL && node_has_log_space(n, 0))
        append_close(n, p, p->info.id, as_of);
}

/* Whether the replica here is to be this member, or there is none. If not it was refused: what was
 * moved away is closed first, if that was never told, and what is meant for it comes too late. */
static bool is_member(struct node *n, const struct operation *o, struct partition *p,
                      uint64_t member, uint64_t as_of)
{
    if (p == NULL || raft_self(p->raft) == member)
        return true;
    if (raft_self(p->raft) < member) {
        PROBE("a replica comes back before it is gone");
        node_close_orphan(n, p, as_of);
    }
    node_refuse(n, o->from, o->request.id, REPLY_STALE_MAP,
                "node %u has another replica of partition %u", n->options.id, p->info.id);
    return false;
}

/* Whether the replica is being opened, and not by the same word. */
static bool is_opening(const struct node *n, uint32_t partition, struct slice word)
{
    bool opening = false;
    for (const struct inflight *e = n->own_first; e != NULL; e = e->next)
        opening |=
            e->kind == LOG_PARTITION && e->group == partition && !slice_equal(e->payload, word);
    return opening;
}

static void refuse_opening(struct node *n, const struct operation *o, uint32_t partition,
                           const char *what)
{
    node_refuse(n, o->from, o->request.id, REPLY_WRONG_PARTITION, "partition %u is being %s",
                partition, what);
}

void node_run_open(struct node *n, const struct operation *o)
{
    struct partition_info info;
    struct reader r = {o->request.body, false};
    uint64_t member = 0, as_of = reader_u64(&r);
    const struct slice word = r.left;
    if (partition_info_decode(&r, &info) == STATUS_OK && r.left.size == 0)
        member = partition_member_on(&info, n->options.id);
    if (member == 0 || raft_member_generation(member) != n->generation) {
        node_refuse(n, o->from, o->request.id, REPLY_MALFORMED,
                    "not a replica of node %u, generation %u", n->options.id, n->generation);
        return;
    }
    struct partition *p = node_partition(n, info.id);
    if ((p != NULL && p->closing) || (p == NULL && is_opening(n, info.id, word))) {
        refuse_opening(n, o, info.id, p != NULL ? "closed" : "opened");
        return;
    }
    if (!is_member(n, o, p, member, as_of))
        return;
    if (p == NULL && as_of < n->closed_as_of) {
        PROBE("what was closed is to be opened by an older word");
        node_refuse(n, o->from, o->request.id, REPLY_STALE_MAP,
                    "node %u has closed replicas since the catalog said so", n->options.id);
        return;
    }
    if (p != NULL && p->absorbed_lsn > n->log.written_lsn) {
        node_refuse(n, o->from, o->request.id, REPLY_OVERLOADED,
                    "that partition %u was merged is not on disk yet", info.id);
        return;
    }
    if (p != NULL && slice_equal(buffer_slice(&p->bytes), word)) {
        node_push_reply(n, o->from, o->request.id, REPLY_OK);
        return;
    }
    if (p != NULL && info.epoch != p->info.epoch) {
        bool older = info.epoch < p->info.epoch;
        p->thaws = p->frozen.index != 0 && !older; /* only that gives it another epoch */
        node_refuse(n, o->from, o->request.id, older ? REPLY_STALE_MAP : REPLY_OVERLOADED,
                    "partition %u is at epoch %llu here", info.id,
                    (unsigned long long)p->info.epoch);
        return;
    }
    if (p != NULL && p->frozen.index != 0) {
        node_refuse(n, o->from, o->request.id, REPLY_OVERLOADED, "partition %u is being merged",
                    info.id);
        return;
    }
    if (p == NULL &&
        (node_holds_range(n, info.lo, info.hi) || node_opens_range(n, info.id, info.lo, info.hi))) {
        PROBE("a child is to be opened where its parent has not split yet");
        node_doubt_holders(n, info.lo, info.hi);
        node_refuse(n, o->from, o->request.id, REPLY_OVERLOADED,
                    "node %u has not split off partition %u yet", n->options.id, info.id);
        return;
    }
    if (p == NULL && store_erase_overlaps(n->store, info.lo, info.hi)) {
        node_refuse(n, o->from, o->request.id, REPLY_OVERLOADED,
                    "node %u is still erasing what it held there before", n->options.id);
        return;
    }
    if (node_can_write(n, o, word.size))
        answer_later(node_append_own(n, LOG_PARTITION, info.id, 0, word), o);
}

/* Closes what has ended, unless it is still held by a promise: the leader that was given it may
 * serve by lease, and counts on this replica. The promise ends when the leader gives up, or lapses
 * with its node's support. */
void node_close_ended(struct node *n, struct partition *p)
{
    if (!p->close_asked || p->closing || raft_is_promised(p->raft))
        return;
    const struct operation o = {
        .from = p->close_from,
        .request = {.op = REQUEST_PARTITION_CLOSE, .id = p->close_id},
    };
    p->close_asked = false;
    if (node_can_write(n, &o, 0))
        answer_later(append_close(n, p, p->info.id, p->close_as_of), &o);
}

/* The table is deleted. From here on the replica serves nothing, closed or not. */
static void end_partition(struct node *n, const struct operation *o, struct partition *p,
                          uint64_t as_of)
{
    p->ended = p->close_asked = true;
    p->close_as_of = as_of;
    p->close_from = o->from;
    p->close_id = o->request.id;
    raft_resign(p->raft, n->now);
    raft_ask_leader(p->raft);
    node_group_stepped(n, p);
    node_close_ended(n, p);
}

/* The replica that is meant, or one from before it; one that has come since stays. Where there is
 * none yet, none comes by an older word. */
void node_run_close(struct node *n, const struct operation *o)
{
    struct partition_info info;
    struct reader r = {o->request.body, false};
    const uint64_t as_of = reader_u64(&r);
    if (partition_info_decode(&r, &info) != STATUS_OK || info.id != o->request.partition) {
        node_refuse(n, o->from, o->request.id, REPLY_MALFORMED,
                    "which replica of partition %u is to be closed?", o->request.partition);
        return;
    }
    uint64_t member = partition_member_on(&info, n->options.id);
    if (member == 0)
        member = info.leaving;
    struct partition *p = node_partition(n, info.id);
    bool absent =
        p == NULL || raft_self(p->raft) > member || raft_member_generation(member) != n->generation;
    if (p == NULL && is_opening(n, info.id, slice_make(NULL, 0)))
        refuse_opening(n, o, info.id, "opened");
    else if (absent && (p != NULL || as_of <= n->closed_as_of))
        node_push_reply(n, o->from, o->request.id, REPLY_OK);
    else if (!absent && o->request.consistent && !p->closing)
        end_partition(n, o, p, as_of);
    else if (node_can_write(n, o, 0))
        answer_later(append_close(n, absent ? NULL : p, info.id, as_of), o);
}
