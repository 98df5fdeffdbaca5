/* subrequest.c - requests to nodes: sent, answered, sent again, given up.
 *
 * A subrequest's deadline runs from its first start; all retries happen before it. An answer that
 * comes later is dropped: nodes may have forgotten what they keep for that time only. A request is
 * retried if it did nothing: it was never sent, or a node refused it because the node does not
 * lead, or as wrongly routed. After a split the new map is fetched at once. A read is also retried
 * if its node went away. A write whose node went away has an unknown outcome and is never repeated.
 *
 * A node may be unresponsive (node_watch.h): stopped, cut off, or busy for a moment. Then
 *   - a read that was sent to the node is sent to another node. A later answer of the unresponsive
 *     node is dropped;
 *   - new requests go to other nodes. The followers refuse writes until one of them leads, and the
 *     router tries again until the deadline. A false alarm costs a pause, but causes no error;
 *   - a write that was sent to the node waits. If the node answers, the client gets the answer.
 *     Once a ping was unanswered for support_ms, another node may lead: the outcome is unknown.
 * A request that no other node can serve waits until the deadline.
 *
 * Not here: which node is asked (replica_choice.h). */
#include "engine/message/index_messages.h"
#include "engine/message/redirect.h"
#include "engine/message/request_traits.h"
#include "router/core/answer_record.h"
#include "router/core/counter_reads.h"
#include "router/core/item_placement.h"
#include "router/core/late_replies.h"
#include "router/core/limit.h"
#include "router/core/node_watch.h"
#include "router/core/operation.h"
#include "router/core/replica_choice.h"
#include "router/core/reply_slots.h"
#include "router/core/reply_validation.h"
#include "router/core/request_metrics.h"
#include "router/core/shedding.h"

enum {
    ATTEMPTS_PER_MAP = 4,       /* then the catalog is asked for the map again */
    ATTEMPTS_UNTIL_NOTIFIED = 8 /* while a partition does not know the registry yet */
};

/* ---- queues: subrequests that the host must take, or that wait for tokens ---- */

void subrequest_queue_add(struct subrequest_queue *q, struct subrequest *s)
{
    must(s->queue == NULL);
    s->queue = q;
    TAILQ_INSERT_TAIL(q, s, entry);
}

void subrequest_queue_remove(struct subrequest *s)
{
    if (s->queue == NULL)
        return;
    TAILQ_REMOVE(s->queue, s, entry);
    s->queue = NULL;
}

bool subrequest_next_effect(struct router *r, struct router_effect *out)
{
    struct subrequest *s = TAILQ_FIRST(&r->sending);
    if (s == NULL)
        return false;
    subrequest_queue_remove(s);
    s->state = SUBREQUEST_SENT;
    s->sent_at = r->now;
    s->answered = false;
    s->overload_hint = 0;
    node_watch_sent(r, s->node);
    timer_start(&s->node_timeout, &r->node_timeout, r->now);
    *out = (struct router_effect){
        .kind = ROUTER_SEND_REQUEST, .node = s->node, .request = &s->request};
    return true;
}

void subrequest_refuse_later(struct router *r, struct subrequest *s)
{
    subrequest_queue_remove(s);
    s->state = SUBREQUEST_WAITING;
    subrequest_queue_add(&r->refused, s);
}

/* ---- partition and node ---- */

static bool subrequest_is_for_catalog(const struct subrequest *s)
{
    return !traits_of(&s->request)->data && !traits_of(&s->request)->of_node;
}

/* What the read must show of the router's own writes in the partition (own_writes.h). */
static void subrequest_require_own_writes(struct router *r, struct subrequest *s,
                                          const struct partition_info *p)
{
    uint64_t *after = own_writes_member(&s->request);
    bool waits = s->request.op == REQUEST_INDEX_SHOWS;
    if (after != NULL && !s->own_over) {
        *after = s->rows ? AFTER_ALL : own_writes_after(r, p->id);
        s->surely = *after == AFTER_ALL || (s->surely && *after != 0);
        waits = *after != 0;
    }
    if (!waits || s->own_over || s->own.queue != NULL)
        return;
    r->counters.own_writes_required++;
    timer_start(&s->own, &r->own.waits, r->now);
}

/* Chooses partition and node. False: the choice is the one that a node has just refused. */
static bool subrequest_route(struct router *r, struct subrequest *s)
{
    const struct partition_info *p = replica_choice_partition(s);
    subrequest_require_own_writes(r, s, p);
    uint32_t node = replica_choice_of(r, s, p);
    bool same = s->attempts > 0 && s->request.partition == p->id && s->request.epoch == p->epoch &&
                s->node == node;
    if (s->request.partition != p->id || s->request.epoch != p->epoch)
        s->unresponsive = 0; /* the partition may have other members */
    s->request.partition = p->id;
    s->request.epoch = p->epoch;
    s->node = node;
    return !same;
}

static void subrequest_send(struct router *r, struct subrequest *s)
{
    if (traits_of(&s->request)->data && !shedding_may_send(r, s)) {
        subrequest_refuse_later(r, s);
        return;
    }
    reply_slot_take(r, s);
    s->state = SUBREQUEST_QUEUED;
    subrequest_queue_add(&r->sending, s);
}

void subrequest_start(struct router *r, struct subrequest *s)
{
    must(s->state == SUBREQUEST_IDLE);
    if (counter_read_begins(s))
        return;
    if (s->call != NULL)
        s->call->outstanding++;
    s->started = r->now;
    timer_start(&s->deadline, &r->deadlines, r->now);
    if (!traits_of(&s->request)->data) {
        subrequest_send(r, s);
        return;
    }
    placement_resolve(s);
    if (s->invalid != NULL || s->busy != NULL)
        subrequest_refuse_later(r, s);
    else if (limit_take(r, s))
        subrequest_admitted(r, s);
    else
        s->state = SUBREQUEST_WAITING;
}

void subrequest_admitted(struct router *r, struct subrequest *s)
{
    must(placement_next(s));
    s->admitted_at = r->now;
    answer_record_note_wait(s);
    subrequest_route(r, s);
    subrequest_send(r, s);
}

/* Takes the subrequest out of queue, slot, timers and waiters. The deadline runs on. */
static void subrequest_withdraw(struct router *r, struct subrequest *s)
{
    subrequest_queue_remove(s);
    if (s->state == SUBREQUEST_QUEUED || s->state == SUBREQUEST_SENT) {
        const bool late = s->state == SUBREQUEST_SENT && !s->answered;
        reply_slot_give(r, s);
        if (traits_of(&s->request)->data && late)
            late_reply_expect(r, s);
        else if (traits_of(&s->request)->data)
            shedding_answered(r, s->node, s->state == SUBREQUEST_SENT ? s->overload_hint : 0);
    }
    if (s->state == SUBREQUEST_SENT)
        node_watch_withdrawn(r, s->node);
    timer_stop(&s->backoff);
    timer_stop(&s->node_timeout);
    route_cancel(&s->waiter);
}

void subrequest_cancel(struct router *r, struct subrequest *s)
{
    if (s->state == SUBREQUEST_IDLE || s->state == SUBREQUEST_DONE)
        return;
    /* A node does the request that was sent, although no one waits for the reply. */
    if (s->state == SUBREQUEST_SENT)
        limit_keep(r, s);
    else
        limit_settle(r, s, 0);
    subrequest_withdraw(r, s);
    timer_stop(&s->deadline);
    timer_stop(&s->own);
    s->state = SUBREQUEST_DONE;
}

/* A write costs what it costs even if the item does not fit its condition or its update. */
static bool subrequest_was_charged(enum reply_code code)
{
    return code == REPLY_OK || code == REPLY_CONDITION_FAILED || code == REPLY_UPDATE_FAILED;
}

static void subrequest_settle(struct router *r, struct subrequest *s, const struct reply *reply)
{
    if (reply->code == REPLY_UNKNOWN) /* the request may be done */
        limit_keep(r, s);
    else
        limit_settle(r, s, subrequest_was_charged(reply->code) ? reply->consumed_mcu : 0);
}

/* The size of the item that was read or written, as far as request and reply tell. -1: not known.
 * */
static int64_t subrequest_item_bytes(const struct request *q, const struct reply *reply)
{
    if (q->op == REQUEST_PUT)
        return item_size(q->write.item);
    if (reply->code != REPLY_OK)
        return -1;
    if (q->op == REQUEST_RANGE)
        return reply->kind == ANSWER_RANGE ? reply->range.read_bytes : 0;
    bool found = reply->kind == ANSWER_ITEM && reply->item.found;
    if (q->op == REQUEST_GET)
        return found ? (int64_t)item_size(reply->item.bytes) : 0;
    bool has_item = q->write.return_values == (q->op == REQUEST_UPDATE ? RETURN_NEW : RETURN_OLD);
    return found && has_item ? (int64_t)item_size(reply->item.bytes) : -1;
}

static void subrequest_note_end(const struct router *r, struct subrequest *s,
                                const struct reply *reply)
{
    s->end = (struct subrequest_end){.replied = true,
                                     .code = reply->code,
                                     .at = r->now,
                                     .verdict = reply->verdict,
                                     .consumed_mcu = reply->consumed_mcu,
                                     .item_bytes = subrequest_item_bytes(&s->request, reply)};
    if (reply->code == REPLY_OK && reply->kind == ANSWER_RANGE)
        s->end.scanned = reply->range.scanned;
}

static void subrequest_finish(struct router *r, struct subrequest *s, const struct reply *given)
{
    const struct reply final = s->placement != NULL ? placement_end(s, given) : *given;
    const struct reply *reply = &final;
    if (traits_of(&s->request)->data) {
        subrequest_note_end(r, s, reply);
        request_metrics_note_reply(r, s, reply);
    }
    subrequest_settle(r, s, reply);
    subrequest_cancel(r, s);
    if (s->call == NULL) {
        route_fetched(r, s->fetch, reply);
        return;
    }
    struct call *c = s->call;
    c->outstanding--;
    c->consumed_mcu += reply->consumed_mcu;
    struct reply sum;
    if (s->counter != NULL) {
        if (!counter_read_takes(s, reply, &sum))
            return;
        reply = &sum;
    }
    if (!c->operation->reply(c, s, reply)) {
        call_fail(c);
        return;
    }
    call_account(c);
    call_advance(c);
}

static void subrequest_give_up(struct router *r, struct subrequest *s, enum reply_code code,
                               const char *text)
{
    subrequest_finish(r, s, &(struct reply){.code = code, .text = slice_of(text)});
}

void subrequest_refused(struct router *r, struct subrequest *s, const struct admit_verdict *verdict)
{
    subrequest_finish(r, s, &(struct reply){.code = REPLY_THROTTLED, .verdict = *verdict});
}

void subrequest_shed(struct router *r, struct subrequest *s)
{
    struct reply reply = {.code = REPLY_OVERLOADED,
                          .verdict.reason = ADMIT_REFUSED_OVERLOAD,
                          .text = slice_of(s->shed)};
    subrequest_finish(r, s, &reply);
}

/* If it is busy, the catalog is asked whether that holds for the next request. */
void subrequest_refuse_item(struct router *r, struct subrequest *s)
{
    const bool busy = s->busy != NULL;
    if (busy)
        route_renew(r, s->route);
    subrequest_give_up(r, s, busy ? REPLY_OVERLOADED : REPLY_TABLE_INVALID,
                       busy ? s->busy : s->invalid);
}

/* ---- retries ---- */

static void subrequest_back_off(struct router *r, struct subrequest *s)
{
    uint32_t step = s->attempts < BACKOFFS ? s->attempts : BACKOFFS - 1;
    s->state = SUBREQUEST_WAITING;
    timer_start(&s->backoff, &r->backoffs[step], r->now);
}

void subrequest_start_later(struct router *r, struct subrequest *s)
{
    must(s->state == SUBREQUEST_IDLE);
    must(!traits_of(&s->request)->data);
    if (s->attempts == 0) {
        subrequest_start(r, s);
        return;
    }
    s->call->outstanding++;
    timer_start(&s->deadline, &r->deadlines, r->now);
    s->attempts--;
    subrequest_back_off(r, s);
    s->attempts++;
}

/* Sends what comes next: to a previous owner of the item, or the request itself. */
static void subrequest_go_on(struct router *r, struct subrequest *s)
{
    s->state = SUBREQUEST_WAITING;
    s->attempts = s->turn = 0;
    s->rested = s->hedged = false;
    if (!placement_next(s)) {
        subrequest_finish(r, s, &(struct reply){.code = REPLY_OK});
        return;
    }
    subrequest_route(r, s);
    subrequest_send(r, s);
}

/* The registry of sharded keys has changed. Nothing was done. */
static void subrequest_place_anew(struct router *r, struct subrequest *s)
{
    if (placement_is_fixed(&s->request)) {
        subrequest_finish(r, s, &(struct reply){.code = REPLY_STALE_MAP});
        return;
    }
    placement_resolve(s);
    if (s->invalid != NULL || s->busy != NULL)
        subrequest_refuse_item(r, s);
    else
        subrequest_go_on(r, s);
}

/* Sends again by the cached map. `fresh`: not by a stale map. */
static void subrequest_reroute(struct router *r, struct subrequest *s, bool fresh)
{
    struct slice name = s->route->table.name;
    s->state = SUBREQUEST_WAITING;
    s->waiter = (struct route_waiter){.call = s->call, .subrequest = s};
    struct route *route = route_acquire(r, name, fresh, &s->waiter);
    if (route == NULL)
        return;
    subrequest_routed(r, s, route, NULL);
    route_release(route);
}

void subrequest_routed(struct router *r, struct subrequest *s, struct route *found,
                       const struct reply *refusal)
{
    if (found == NULL && refusal->code == REPLY_NOT_LEADER) {
        subrequest_back_off(r, s); /* no catalog leader now; the map in use may still be right */
        return;
    }
    if (found == NULL) {
        subrequest_finish(r, s, refusal);
        return;
    }
    if (found->table.status == TABLE_DELETING) {
        subrequest_give_up(r, s, REPLY_TABLE_NOT_FOUND, "");
        return;
    }
    if (found->table.id != s->route->table.id) {
        /* The table was deleted and created again, perhaps with other keys. */
        subrequest_give_up(
            r, s, REPLY_OVERLOADED,
            "the table was deleted and created again meanwhile: nothing was done, try again");
        return;
    }
    const uint64_t key_sharding_version = table_key_sharding_version(&found->table);
    if (key_sharding_version < s->request.key_sharding_version) {
        subrequest_back_off(r, s); /* an old leader of the catalog has told it */
        return;
    }
    s->route = call_hold_route(s->call, found);
    if (key_sharding_version != s->request.key_sharding_version) {
        subrequest_place_anew(r, s);
        return;
    }
    /* A node that has just refused the request gets it again only after a pause. */
    if (subrequest_route(r, s) || s->rested)
        subrequest_send(r, s);
    else
        subrequest_back_off(r, s);
}

void subrequest_backoff_over(struct router *r, struct subrequest *s)
{
    s->rested = true;
    s->redirects = 0;
    if (!traits_of(&s->request)->data) {
        if (subrequest_is_for_catalog(s))
            s->node = r->catalog_node;
        subrequest_send(r, s);
        return;
    }
    if (s->attempts % ATTEMPTS_PER_MAP == 0)
        route_drop(r, s->route);
    subrequest_reroute(r, s, false);
}

/* The node refused the request as wrongly routed. */
static void subrequest_try_again(struct router *r, struct subrequest *s)
{
    subrequest_withdraw(r, s);
    s->attempts++;
    s->turn++; /* perhaps the map is right, and only that member is lost */
    s->rested = false;
    r->counters.internal_retries++;
    if (traits_of(&s->request)->data) {
        replica_choice_clear_leader(s);
        route_drop(r, s->route);
    }
    if (traits_of(&s->request)->data && s->attempts == 1)
        subrequest_reroute(r, s, true);
    else
        subrequest_back_off(r, s);
}

/* Nothing was done, and the catalog has a newer map: fetches the map at once. */
static void subrequest_try_by_new_map(struct router *r, struct subrequest *s)
{
    subrequest_withdraw(r, s);
    s->attempts++;
    s->rested = false;
    r->counters.internal_retries++;
    route_drop(r, s->route);
    if (s->redirects++ < REDIRECTS_MAX)
        subrequest_reroute(r, s, true);
    else
        subrequest_back_off(r, s);
}

/* What it waits for will be done soon: sends again after a pause. */
static void subrequest_wait_for_shards(struct router *r, struct subrequest *s)
{
    subrequest_withdraw(r, s);
    s->attempts++;
    s->rested = false;
    r->counters.internal_retries++;
    subrequest_back_off(r, s);
}

/* The node does not lead, or cannot be reached: asks the named leader or the next member. */
static void subrequest_try_elsewhere(struct router *r, struct subrequest *s, uint32_t leader)
{
    uint32_t from = s->node;
    leader = redirect_to(leader, from, r->options.node_count);
    bool named = leader != 0 && !node_watch_is_unresponsive(r, leader);
    subrequest_withdraw(r, s);
    s->attempts++;
    s->turn++;
    r->counters.internal_retries++;
    if (subrequest_is_for_catalog(s) && r->catalog_node == from)
        r->catalog_node = named ? leader : replica_choice_catalog_after(r, from);
    if (traits_of(&s->request)->data && !replica_choice_is_any(s)) {
        if (named)
            replica_choice_note_leader(s, leader);
        else
            replica_choice_clear_leader(s);
    }
    if (s->redirects++ >= REDIRECTS_MAX || (!named && !replica_choice_is_any(s))) {
        subrequest_back_off(r, s);
        return;
    }
    if (traits_of(&s->request)->data)
        subrequest_route(r, s);
    else if (subrequest_is_for_catalog(s))
        s->node = r->catalog_node;
    subrequest_send(r, s);
}

/* Notes whether the node has answered, for the text of a refusal. */
static void subrequest_note_answered(struct subrequest *s, bool answered)
{
    if (!traits_of(&s->request)->data)
        return;
    const struct partition_info *p = replica_choice_partition(s);
    for (uint32_t i = 0; i < p->member_count; i++) {
        if (partition_node(p, i) == s->node)
            s->unresponsive = answered ? s->unresponsive & ~(1U << i) : s->unresponsive | 1U << i;
    }
}

/* Also notes the members that were not asked because they are unresponsive. */
static void subrequest_note_unresponsive_members(const struct router *r, struct subrequest *s)
{
    if (!traits_of(&s->request)->data)
        return;
    const struct partition_info *p = replica_choice_partition(s);
    for (uint32_t i = 0; i < p->member_count; i++) {
        if (node_watch_is_unresponsive(r, partition_node(p, i)))
            s->unresponsive |= 1U << i;
    }
}

static void subrequest_try_elsewhere_after_timeout(struct router *r, struct subrequest *s)
{
    subrequest_note_answered(s, false);
    subrequest_try_elsewhere(r, s, 0);
}

static void subrequest_try_refused_elsewhere(struct router *r, struct subrequest *s,
                                             const struct reply *reply)
{
    bool is_new_reason = reply->code == REPLY_NOT_LEADER || s->why.size == 0;
    if (s->call != NULL && is_new_reason && !slice_equal(s->why, reply->text))
        s->why = arena_copy(&s->call->arena, reply->text);
    subrequest_note_answered(s, true);
    subrequest_try_elsewhere(r, s, reply->leader);
}

/* The node may answer pings, but be cut off from other nodes. New requests now go to other nodes,
 * and so does this request if it may be done twice. */
void subrequest_node_timeout(struct router *r, struct subrequest *s)
{
    if (traits_of(&s->request)->data && !replica_choice_is_any(s))
        replica_choice_clear_leader(s);
    if (!traits_of(&s->request)->once)
        subrequest_try_elsewhere_after_timeout(r, s);
    else if (subrequest_is_for_catalog(s) && r->catalog_node == s->node)
        r->catalog_node = replica_choice_catalog_after(r, s->node);
}

/* Goes on as if the router had written nothing (OWN-1). */
void subrequest_own_over(struct router *r, struct subrequest *s)
{
    uint64_t *after = own_writes_member(&s->request);
    s->own_over = true;
    if (s->request.op != REQUEST_INDEX_SHOWS && after == NULL)
        return; /* the read has become consistent, and waits for nothing */
    r->counters.own_writes_late++;
    if (s->request.op == REQUEST_INDEX_SHOWS) {
        subrequest_give_up(r, s, REPLY_OVERLOADED, "an index lacks changes");
        return;
    }
    s->surely = false;
    *after = 0;
    if (s->waiter.entry != NULL || s->queue == &r->refused)
        return; /* it goes on, or ends, by itself */
    subrequest_withdraw(r, s);
    subrequest_route(r, s);
    subrequest_send(r, s);
}

/* Indexes lack changes: asks again soon. */
static bool subrequest_waits_for_indexes(struct router *r, struct subrequest *s,
                                         const struct reply *reply)
{
    if (s->request.op != REQUEST_INDEX_SHOWS || reply->code != REPLY_OVERLOADED)
        return false;
    if (reply->applied != 0)
        request_edit_shows(&s->request)->after = reply->applied;
    subrequest_withdraw(r, s);
    s->attempts = 1;
    s->rested = false;
    subrequest_back_off(r, s);
    return true;
}

/* ---- replies, and their absence ---- */

static struct subrequest *subrequest_find_sent(struct router *r, uint32_t node, uint64_t id)
{
    struct subrequest *s = reply_slot_find(r, id);
    return s != NULL && s->state == SUBREQUEST_SENT && s->node == node ? s : NULL;
}

/* A reply to a request about a sharded key: the item has left a previous owner, or cannot do so
 * now, or the partition was not told of the key yet. False: it is like others. */
static bool subrequest_take_shards(struct router *r, struct subrequest *s,
                                   const struct reply *reply)
{
    const bool moves = placement_moves(s);
    const bool counter = moves && s->placement->counter;
    if (counter && reply->code == REPLY_OK)
        return false; /* the addition was done before */
    if (moves && reply->code == (counter ? REPLY_ABORTED : REPLY_OK)) {
        subrequest_withdraw(r, s);
        placement_left(s);
        subrequest_go_on(r, s);
        return true;
    }
    const bool waits = moves || (s->placement != NULL && s->placement->counter);
    if (s->placement != NULL)
        s->placement->locked = waits && reply->code == REPLY_LOCKED;
    const bool not_notified = reply->code == REPLY_OVERLOADED &&
                              reply->verdict.reason != ADMIT_REFUSED_OVERLOAD &&
                              (moves || s->attempts < ATTEMPTS_UNTIL_NOTIFIED);
    if (!not_notified && !(waits && reply->code == REPLY_LOCKED) &&
        !(moves && reply->code == REPLY_UNKNOWN))
        return false;
    subrequest_wait_for_shards(r, s);
    return true;
}

void subrequest_reply(struct router *r, uint32_t node, const struct reply *reply)
{
    struct subrequest *s = subrequest_find_sent(r, node, reply->id);
    if (s == NULL) {
        late_reply_take(r, node, reply);
        return;
    }
    s->answered = true;
    s->overload_hint = reply->overload_hint;
    shedding_note_reply(r, s, reply);
    if (!reply_fits(reply, s->request.op)) {
        subrequest_give_up(r, s, REPLY_UNKNOWN, "the node's answer is to another kind of request");
        return;
    }
    if (!reply_items_are_valid(reply)) {
        subrequest_give_up(r, s, REPLY_UNKNOWN, "the node's answer has a damaged item");
        return;
    }
    if (s->guessed && reply->code == REPLY_OK) /* this node leads, not the unresponsive node */
        replica_choice_note_leader(s, node);
    if (reply->kind == ANSWER_TABLE)
        router_set_agreed(r, reply->table.agreed_ms);
    own_writes_note(r, s, reply);
    replica_choice_note_reply(s, reply);
    if ((s->request.sharded_key_version != 0 && subrequest_take_shards(r, s, reply)) ||
        subrequest_waits_for_indexes(r, s, reply))
        return;
    bool others = reply->code == REPLY_WRONG_PARTITION && traits_of(&s->request)->data &&
                  s->attempts + 1 < replica_choice_partition(s)->member_count;
    if (others)
        subrequest_try_refused_elsewhere(r, s, reply); /* perhaps only this replica is lost */
    else if (reply->code == REPLY_WRONG_PARTITION)
        subrequest_try_again(r, s);
    else if (reply->code == REPLY_STALE_MAP && traits_of(&s->request)->data)
        subrequest_try_by_new_map(r, s);
    else if (reply->code == REPLY_NOT_LEADER || replica_choice_is_led_elsewhere(s, reply) ||
             (reply->code == REPLY_THROTTLED && replica_choice_has_other_tokens(r, s)))
        subrequest_try_refused_elsewhere(r, s, reply);
    else
        subrequest_finish(r, s, reply);
}

void subrequest_not_sent(struct router *r, uint32_t node, uint64_t id)
{
    struct subrequest *s = subrequest_find_sent(r, node, id);
    if (s == NULL)
        return;
    s->answered = true;
    if (traits_of(&s->request)->data || subrequest_is_for_catalog(s))
        subrequest_try_elsewhere_after_timeout(r, s);
    else
        subrequest_give_up(r, s, REPLY_UNKNOWN, "the node cannot be reached");
}

void subrequest_node_lost(struct router *r, uint32_t node)
{
    /* Only requests that were sent before this call: retries go to other nodes. */
    for (uint32_t i = 0; i < r->slot_count; i++) {
        struct subrequest *s = r->slots[i].subrequest;
        if (s == NULL || s->state != SUBREQUEST_SENT || s->node != node)
            continue;
        if (traits_of(&s->request)->once)
            subrequest_give_up(r, s, REPLY_UNKNOWN, "the connection to the node was lost");
        else
            subrequest_try_elsewhere_after_timeout(r, s);
    }
}

void subrequest_node_unresponsive(struct router *r, uint32_t node)
{
    if (r->catalog_node == node)
        r->catalog_node = replica_choice_catalog_after(r, node);
    for (uint32_t i = 0; i < r->slot_count; i++) {
        struct subrequest *s = r->slots[i].subrequest;
        if (s == NULL || s->state != SUBREQUEST_SENT || s->node != node ||
            !replica_choice_may_hedge(r, s))
            continue;
        s->hedged = true;
        subrequest_try_elsewhere_after_timeout(r, s);
    }
}

void subrequest_node_given_up(struct router *r, uint32_t node)
{
    for (uint32_t i = 0; i < r->slot_count; i++) {
        struct subrequest *s = r->slots[i].subrequest;
        if (s == NULL || s->state != SUBREQUEST_SENT || s->node != node)
            continue;
        if (traits_of(&s->request)->once && replica_choice_has_other(r, s))
            subrequest_give_up(r, s, REPLY_UNKNOWN, "the node does not answer");
    }
}

void subrequest_deadline(struct router *r, struct subrequest *s)
{
    if (limit_is_waiting(r, s)) {
        limit_wait_over(r, s);
        return;
    }
    r->counters.deadlines++;
    if (s->state == SUBREQUEST_SENT) {
        subrequest_give_up(r, s, REPLY_UNKNOWN, "no node answered within the deadline");
        return;
    }
    subrequest_note_unresponsive_members(r, s);
    subrequest_finish(r, s, &(struct reply){.code = REPLY_NOT_LEADER, .text = s->why});
}
