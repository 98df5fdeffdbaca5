/* limiter_call.c - the steps that all operations of the rate limiter share. */
#include "router/limiter/limiter_call.h"

#include "base/settings/limiter.h"
#include "router/limiter/bucket_maintenance.h"
#include "router/limiter/idempotency_lookup.h"
#include "router/limiter/transaction_queue.h"

_Static_assert(offsetof(struct limiter_call, write) == 0, "call->state is a transact_write");
_Static_assert((int)CHARGE_PARTS_MAX <= (int)TRANSACTION_ITEMS_MAX, "a charge is one transaction");

/* ---- life ---- */

void limiter_call_begin(struct call *c, struct limiter_call *s,
                        const struct limiter_call_handlers *handlers,
                        const struct bucket_name *name)
{
    must(handlers->plan != NULL);
    must(handlers->charge_ended != NULL);
    must(s->chain_count == 0);
    c->state = s;
    s->handlers = handlers;
    s->call = c;
    if (!handlers->no_deadline)
        timer_start(&s->deadline, &c->router->limiter->deadline_timers, c->router->now);
    if (name != NULL)
        limiter_call_add_bucket(c, name);
    call_find_table(c, slice_of(LIMITER_TABLE), &s->table, &s->table_absent);
}

struct cached_bucket *limiter_call_add_bucket(struct call *c, const struct bucket_name *name)
{
    struct limiter_call *s = c->state;
    must(s->chain_count < LIMITER_CHAIN_MAX);
    return s->chain[s->chain_count++] = bucket_hold(c->router, name);
}

/* The requests are answered, or given up. */
static void charge_end_in_flight(struct charge *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->parts[i].is_in_flight)
            bucket_add_in_flight(g->parts[i].bucket, g->parts[i].shard, g->parts[i].amounts, -1);
        g->parts[i].is_in_flight = false;
    }
}

void limiter_call_end(struct call *c)
{
    struct limiter_call *s = c->state;
    if (s == NULL)
        return;
    timer_stop(&s->retry_timer);
    timer_stop(&s->deadline);
    transaction_queue_leave(c->router, s);
    charge_end_in_flight(&s->charge);
    for (uint32_t i = 0; i < s->chain_count; i++)
        bucket_release(c->router, s->chain[i]);
    s->chain_count = 0;
    must(!s->is_queued);
    must(!s->holds_shards);
}

/* ---- limits ---- */

static void limits_request(struct call *c)
{
    struct limiter_call *s = c->state;
    must(s->table != NULL);
    must(s->configured_count < s->chain_count);
    s->step = LIMITER_CALL_READ_LIMITS;
    s->read_failed = false;
    for (uint32_t i = 0; i < LIMIT_SCOPES; i++) {
        struct item_place place;
        s->scope_items[i] = slice_make(NULL, 0);
        item_place_of_scope(c, &s->table->table, &s->chain[s->configured_count]->name,
                            (enum limit_scope)i, &place);
        struct subrequest *sub = call_request(c, s->table, REQUEST_GET);
        sub->index = i;
        sub->request.get.key = place.key;
        sub->request.get.consistent = true;
        subrequest_start(c->router, sub);
    }
}

/* The bucket's entity has a parent that is charged too. */
static void limiter_call_add_parent(struct call *c, const struct cached_bucket *b)
{
    const struct limiter_call *s = c->state;
    struct bucket_name name = b->name;
    name.entity = b->parent;
    if (b->parent.size == 0 || s->handlers->no_parents || s->chain_count == LIMITER_CHAIN_MAX)
        return;
    for (uint32_t i = 0; i < s->chain_count; i++) {
        if (slice_equal(s->chain[i]->name.entity, name.entity))
            return; /* a circle */
    }
    limiter_call_add_bucket(c, &name);
}

/* Goes on with the next bucket of the chain, or with the operation. */
bool limiter_call_continue(struct call *c)
{
    struct limiter_call *s = c->state;
    while (s->configured_count < s->chain_count) {
        struct cached_bucket *b = s->chain[s->configured_count];
        bucket_expire_shard_map(c->router, b);
        const bool fresh = b->configured && instant_before(c->router->now, b->limits_valid_until);
        if (!fresh || s->force_refresh) {
            limits_request(c);
            return true;
        }
        s->configured_count++;
        limiter_call_add_parent(c, b);
    }
    must(s->configured_count == s->chain_count);
    s->force_refresh = false;
    if (s->chain_count > 0 && s->chain[0]->limits.count == 0 && !s->handlers->allows_no_limits)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "No limits apply to entity '%.*s' and resource '%.*s'; set some with "
                         "`weir limiter set` or PUT /limiter/v1/limits",
                         SHOWN(s->chain[0]->name.entity), SHOWN(s->chain[0]->name.resource));
    return s->handlers->plan(c);
}

static bool limits_reply(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct limiter_call *s = c->state;
    if (r->code != REPLY_OK) {
        s->read_failed = true;
    } else if (r->kind == ANSWER_ITEM && r->item.found) {
        s->scope_items[sub->index] = arena_copy(&c->arena, r->item.bytes);
    }
    return true;
}

/* All scopes have answered. While they cannot be read, cached limits stay. */
static bool limits_finish(struct call *c)
{
    struct limiter_call *s = c->state;
    must(s->configured_count < s->chain_count);
    struct cached_bucket *b = s->chain[s->configured_count];
    if (s->read_failed && !b->configured)
        return fault_set(call_fault(c), FAULT_UNAVAILABLE,
                         "The limits of the bucket cannot be read: the store does not answer");
    if (!s->read_failed)
        bucket_configure(c->router, b, s->scope_items);
    s->configured_count++;
    limiter_call_add_parent(c, b);
    return limiter_call_continue(c);
}

/* A table that is being made or deleted has no limits. */
static bool limiter_call_table_is_ready(const struct limiter_call *s)
{
    return !s->table_absent && s->table->table.status != TABLE_CREATING &&
           s->table->table.status != TABLE_DELETING;
}

bool limiter_call_ready(struct call *c)
{
    struct limiter_call *s = c->state;
    s->step = LIMITER_CALL_DONE;
    s->table_absent = !limiter_call_table_is_ready(s);
    if (s->table_absent)
        s->table = NULL;
    if (s->table_absent && !s->handlers->allows_no_limits)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "No limits were ever set; set some with `weir limiter set` or PUT "
                         "/limiter/v1/limits");
    return s->table_absent ? s->handlers->plan(c) : limiter_call_continue(c);
}

/* ---- charges ---- */

static void charge_command(struct call *c, struct charge_part *p, struct limiter_command *out)
{
    const struct limiter_call *s = c->state;
    const struct charge *g = &s->charge;
    must(!p->is_in_flight); /* CHARGE-1 */
    must(p->verb == LIMITER_TAKE || p->verb == LIMITER_ADJUST);
    shard_command_begin(c->router, p->bucket, p->verb, p->shard, out);
    memcpy(out->amounts, p->amounts, sizeof out->amounts);
    if (g->expires_ms > 0)
        out->expires_ms = g->expires_ms;
    out->token_has_owner = g->token_has_owner && p == g->parts;
    out->owner_key = g->owner_key;
    out->unreported_refusals = p->bucket->unreported_refusals;
    p->bucket->unreported_refusals = 0;
    p->mwcu = out->mwcu;
    p->unreported_refusals = out->unreported_refusals;
    bucket_add_in_flight(p->bucket, p->shard, p->amounts, 1);
    p->is_in_flight = true;
}

/* Refusals that were not reported are reported later. */
static void charge_restore_refusals(struct charge *g)
{
    for (uint32_t i = 0; i < g->count; i++)
        g->parts[i].bucket->unreported_refusals += g->parts[i].unreported_refusals;
    must(g->count == 0 || g->parts[0].bucket->unreported_refusals >= 0);
}

static void charge_transact(struct call *c)
{
    struct limiter_call *s = c->state;
    struct charge *g = &s->charge;
    must(g->count > 1);
    must(g->count <= CHARGE_PARTS_MAX);
    struct item_plan *plan = item_plan_create(c, 1, g->count);
    const struct slice token =
        g->has_token ? slice_make(g->token, sizeof g->token) : slice_make(NULL, 0);
    s->step = LIMITER_CALL_TRANSACT;
    s->requested_at = c->router->now;
    plan->tables->name = s->table->table.name;
    plan->tables->route = s->table;
    for (uint32_t i = 0; i < g->count; i++) {
        struct limiter_command command;
        struct item_place place;
        charge_command(c, &g->parts[i], &command);
        command.mwcu *= TRANSACTION_FACTOR;
        item_place_of_shard(c, &s->table->table, &g->parts[i].bucket->name, g->parts[i].shard,
                            &place);
        plan->items[i] = (struct item_request){.op = REQUEST_UPDATE,
                                               .key = place.key,
                                               .limited = place.item,
                                               .limiter = shard_command_encode(c, &command),
                                               .return_failed = true};
    }
    c->plan = plan;
    s->write = (struct transact_write){0};
    transact_writes_init(c, &s->write, g->count, token);
    if (g->has_token) /* the same token as that of an update of the first shard alone */
        memcpy(s->write.token, g->token, sizeof g->token);
    s->write.digest = g->digest;
    must(transact_writes_start(c));
}

void limiter_call_charge(struct call *c)
{
    struct limiter_call *s = c->state;
    struct charge *g = &s->charge;
    struct limiter_command command;
    must(g->count > 0);
    must(c->outstanding == 0); /* one step at a time */
    must(s->table != NULL);
    g->end = 0;
    g->is_repeat = g->throttled = false;
    if (!transaction_queue_enter(c))
        return;
    if (g->count > 1) {
        charge_transact(c);
        return;
    }
    s->step = LIMITER_CALL_CHARGE;
    charge_command(c, &g->parts[0], &command);
    shard_command_send(c, g->parts[0].bucket, &command, 0,
                       g->has_token ? slice_make(g->token, sizeof g->token) : slice_make(NULL, 0),
                       g->digest);
}

/* A transaction or another call has the item. */
static bool charge_back_off(struct call *c)
{
    struct limiter_call *s = c->state;
    charge_restore_refusals(&s->charge);
    limiter_call_back_off(c);
    return true;
}

static bool charge_reply(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct limiter_call *s = c->state;
    struct charge *g = &s->charge;
    struct charge_part *p = &g->parts[0];
    struct shard_command_result e;
    charge_end_in_flight(g);
    shard_command_reply(c, p->bucket, p->shard, p->mwcu, sub, r, &e);
    if (e.has_item && (e.end == CHARGE_DONE || e.refusal == LIMITER_TOO_FEW_TOKENS))
        bucket_update_backoff(c->router, p->bucket, p->shard, p->amounts, s->requested_at,
                              e.end == CHARGE_DONE);
    g->end = e.busy ? 0 : e.end;
    g->refusal = e.refusal;
    g->is_repeat = e.is_repeat;
    g->throttled = e.throttled;
    g->failed = 0;
    return true;
}

/* Whether the part's reply has its shard. */
static bool charge_take_shard(struct call *c, const struct charge_part *p, const struct part_end *e)
{
    const struct limiter_call *s = c->state;
    struct limiter_bucket item;
    if (e->item.size == 0 || !bucket_update_from_shard(c->router, p->bucket, p->shard, e->item,
                                                       s->requested_at, e->wall_ms, &item))
        return false;
    bucket_shard(p->bucket, p->shard)->by_transaction = true;
    return true;
}

/* Why a part of the transaction was refused. */
static void charge_find_refusal(struct call *c)
{
    struct limiter_call *s = c->state;
    struct charge *g = &s->charge;
    g->end = 0; /* busy, or given up without a reason of its own */
    for (uint32_t i = 0; i < g->count; i++) {
        const struct part_end *e = &s->write.ends[i];
        struct charge_part *p = &g->parts[i];
        bucket_add_deferred_cost(c->router, p->bucket, p->shard,
                                 e->code == REPLY_THROTTLED ? TRANSACTION_FACTOR * 1000
                                                            : e->consumed.table_mcu);
        const bool known = charge_take_shard(c, p, e);
        if (known && e->code == REPLY_OK)
            bucket_return_charge(p->bucket, p->shard, p->amounts, TRANSACTION_FACTOR * p->mwcu);
        if (g->end != 0 || (e->code != REPLY_CONDITION_FAILED && e->code != REPLY_THROTTLED))
            continue;
        g->end = CHARGE_REFUSED;
        g->failed = i;
        g->throttled = e->code == REPLY_THROTTLED;
        g->refusal = g->throttled || e->fault >= LIMITER_REFUSALS ? LIMITER_TOO_FEW_WRITES
                                                                  : (enum limiter_refusal)e->fault;
    }
}

/* The shards as the transaction has left them. */
static void charge_take_shards(struct call *c)
{
    struct limiter_call *s = c->state;
    const struct charge *g = &s->charge;
    for (uint32_t i = 0; i < g->count && !g->is_repeat; i++)
        charge_take_shard(c, &g->parts[i], &s->write.ends[i]);
}

static bool transact_finish(struct call *c)
{
    struct limiter_call *s = c->state;
    struct charge *g = &s->charge;
    const bool done = transact_write_finish(c);
    if (done && c->outstanding > 0) {
        s->step = LIMITER_CALL_TRANSACT; /* it goes on */
        return true;
    }
    buffer_clear(&c->body);
    charge_end_in_flight(g);
    if (done) {
        g->end = CHARGE_DONE;
        g->is_repeat = s->write.failure.code == REPLY_TOKEN_DONE;
        charge_take_shards(c);
    } else if (call_fault(c)->kind == FAULT_TOKEN_MISMATCH) {
        g->end = CHARGE_TOKEN_MISMATCH;
    } else if (call_fault(c)->kind == FAULT_CANCELED) {
        charge_find_refusal(c);
    } else {
        g->end = call_fault(c)->kind == FAULT_IN_PROGRESS ? 0 : CHARGE_UNAVAILABLE;
        call_fault(c)->kind = FAULT_UNAVAILABLE; /* the text says whether the outcome is known */
    }
    return false;
}

static bool charge_finish(struct call *c)
{
    struct limiter_call *s = c->state;
    if (s->charge.end == 0)
        return charge_back_off(c);
    transaction_queue_release(c->router, s);
    if (s->charge.end != CHARGE_DONE)
        charge_restore_refusals(&s->charge);
    return s->handlers->charge_ended(c);
}

/* ---- retries ---- */

static void limiter_call_retry_after(struct call *c, uint32_t ticks)
{
    struct limiter_call *s = c->state;
    must(ticks > 0);
    must(c->outstanding == 0);
    s->step = LIMITER_CALL_WAIT;
    s->retry_ticks = ticks;
    c->outstanding++;
    timer_start(&s->retry_timer, &c->router->limiter->retry_timers, c->router->now);
}

void limiter_call_retry(struct call *c)
{
    limiter_call_retry_after(c, 1);
}

/* At most twice as many ticks each time. Their number is random: two calls that were in each
 * other's way do not come again at the same time. */
void limiter_call_back_off(struct call *c)
{
    struct limiter_call *s = c->state;
    must(!s->handlers->no_deadline); /* CHARGE-2 */
    s->backoff_doublings += s->backoff_doublings < LIMITER_CALL_DOUBLINGS_MAX;
    limiter_call_retry_after(
        c, 1 + (uint32_t)prng_below(&c->router->prng, UINT64_C(1) << s->backoff_doublings));
}

void limiter_call_retry_due(struct limiter_call *s)
{
    must(s->step == LIMITER_CALL_WAIT);
    must(s->retry_ticks > 0);
    must(s->call->outstanding > 0);
    if (--s->retry_ticks > 0) {
        timer_start(&s->retry_timer, &s->call->router->limiter->retry_timers, s->call->router->now);
        return;
    }
    s->call->outstanding--;
    call_advance(s->call);
}

void limiter_call_time_out(struct limiter_call *s)
{
    const long long ms = config_limiter(s->call->router->config)->limiter_deadline_ms;
    if (s->step == LIMITER_CALL_WAIT)
        fault_set(call_fault(s->call), FAULT_UNAVAILABLE,
                  "The bucket has been busy with other requests for %lld ms (limiter_deadline_ms): "
                  "send the request again",
                  ms);
    else
        fault_set(call_fault(s->call), FAULT_UNAVAILABLE,
                  "The store has not answered within %lld ms (limiter_deadline_ms)", ms);
    call_fail(s->call);
}

/* ---- repairs ---- */

void limiter_call_read_shards(struct call *c, struct cached_bucket *b)
{
    struct limiter_call *s = c->state;
    must(c->outstanding == 0);
    must(s->table != NULL);
    s->step = LIMITER_CALL_READ_SHARDS;
    s->read_failed = s->reads_owner = false;
    s->repaired = b;
    for (uint32_t i = 0; i < bucket_shard_count(b); i++)
        shard_read_send(c, b, i);
}

static bool repair_continue(struct call *c)
{
    struct limiter_call *s = c->state;
    if (s->charge.end == CHARGE_UNAVAILABLE || s->charge.throttled)
        return s->handlers->charge_ended(c); /* the fault is of this event */
    if (++s->repairs > LIMITER_CALL_REPAIRS_MAX) {
        s->charge.end = CHARGE_UNAVAILABLE;
        fault_set(call_fault(c), FAULT_UNAVAILABLE,
                  "The bucket's shards change too fast: try again");
        return s->handlers->charge_ended(c);
    }
    return s->handlers->plan(c);
}

static bool read_shards_finish(struct call *c)
{
    struct limiter_call *s = c->state;
    if (!s->read_failed)
        return s->handlers->shards_read != NULL && !s->reads_owner ? s->handlers->shards_read(c)
                                                                   : repair_continue(c);
    s->charge.end = s->throttled ? CHARGE_REFUSED : CHARGE_UNAVAILABLE;
    s->charge.refusal = LIMITER_TOO_FEW_WRITES;
    s->charge.throttled = true;
    s->charge.failed = 0;
    if (s->charge.parts != NULL) { /* whose plan is not made yet */
        s->charge.parts[0] = (struct charge_part){.bucket = s->repaired};
        s->charge.count = 1;
    }
    fault_set(call_fault(c), FAULT_UNAVAILABLE, "The bucket's shards cannot be read: %s",
              s->throttled ? "the table " LIMITER_TABLE " gets too many reads"
                           : "the store does not answer");
    return s->handlers->charge_ended(c);
}

static void read_shards_reply(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct limiter_call *s = c->state;
    struct limiter_bucket item;
    if (r->code != REPLY_OK) {
        s->read_failed = true;
        s->throttled = r->code == REPLY_THROTTLED;
    } else if (r->kind == ANSWER_ITEM && r->item.found) {
        bucket_update_from_shard(c->router, s->repaired, sub->index, r->item.bytes, s->requested_at,
                                 r->item.wall_ms, &item);
    }
}

/* Asks the parent of the next child to reserve the child's share. */
static void reserve_child_send(struct call *c)
{
    struct limiter_call *s = c->state;
    must(s->child_count > 0);
    const uint32_t child = s->children[s->child_count - 1];
    must(child > 0); /* shard 0 has no parent */
    struct limiter_command command;
    s->step = LIMITER_CALL_RESERVE_CHILD;
    shard_command_begin(c->router, s->repaired, LIMITER_RESERVE_CHILD, limiter_parent_shard(child),
                        &command);
    command.child = child;
    shard_command_send(c, s->repaired, &command, 0, slice_make(NULL, 0), 0);
}

static bool create_child_push(struct limiter_call *s, uint32_t shard)
{
    if (s->child_count == LIMITER_SIZES || shard == 0)
        return false;
    must(s->child_count == 0 || limiter_parent_shard(s->children[s->child_count - 1]) == shard);
    s->children[s->child_count++] = shard;
    return true;
}

static const struct limiter_reserved_share *reserved_share_for(const struct limiter_bucket *from,
                                                               uint32_t child)
{
    for (uint32_t i = 0; i < from->reserved_count; i++) {
        if (from->reserved[i].child == child)
            return &from->reserved[i];
    }
    return NULL;
}

/* Keeps the command that creates the child: it needs the limits of the reserved share. */
static void create_child_prepare(struct call *c, const struct limiter_bucket *from,
                                 const struct limiter_reserved_share *reserved)
{
    struct limiter_call *s = c->state;
    s->command = arena_alloc(&c->arena, sizeof *s->command);
    shard_command_begin(c->router, s->repaired, LIMITER_CREATE_CHILD, reserved->child, s->command);
    s->command->reserved_share = *reserved;
    s->command->limits = from->limits;
    for (uint32_t i = 0; i < from->limits.count; i++)
        s->command->limits.at[i].name = arena_copy(&c->arena, from->limits.at[i].name);
}

static void reserve_child_reply(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct limiter_call *s = c->state;
    must(s->child_count > 0);
    const uint32_t child = s->children[s->child_count - 1];
    struct shard_command_result e;
    s->command = NULL;
    shard_command_reply(c, s->repaired, limiter_parent_shard(child), 1000, sub, r, &e);
    const struct limiter_reserved_share *reserved =
        e.has_item ? reserved_share_for(&e.item, child) : NULL;
    s->charge.end = e.end;
    s->charge.refusal = e.refusal;
    s->charge.throttled = e.throttled;
    if (e.busy)
        s->charge.end = 0;
    else if (reserved != NULL && e.item.epoch <= s->repaired->shard_map.epoch &&
             (e.end == CHARGE_DONE || e.refusal == LIMITER_NO_CHANGE))
        create_child_prepare(c, &e.item, reserved);
    else if (e.refusal == LIMITER_ABSENT && !create_child_push(s, limiter_parent_shard(child)))
        s->charge.refusal = LIMITER_SEALED; /* shard 0 is absent: read it again */
}

static bool reserve_child_finish(struct call *c)
{
    struct limiter_call *s = c->state;
    if (s->command != NULL) {
        s->step = LIMITER_CALL_CREATE_CHILD;
        shard_command_send(c, s->repaired, s->command, 0, slice_make(NULL, 0), 0);
        return true;
    }
    if (s->charge.end == CHARGE_REFUSED && s->charge.refusal == LIMITER_ABSENT &&
        ++s->repairs <= LIMITER_CALL_REPAIRS_MAX) {
        reserve_child_send(c); /* the parent must be created first */
        return true;
    }
    s->child_count = 0;
    if (s->charge.end == CHARGE_REFUSED && !s->charge.throttled &&
        ++s->repairs <= LIMITER_CALL_REPAIRS_MAX) {
        s->step = LIMITER_CALL_READ_SHARDS; /* the router may be wrong about the number of shards */
        s->read_failed = false;
        shard_read_send(c, s->repaired, 0);
        return true;
    }
    return repair_continue(c);
}

static bool create_child_finish(struct call *c)
{
    struct limiter_call *s = c->state;
    must(s->child_count > 0);
    s->child_count--;
    if (s->child_count > 0 && !s->charge.throttled) {
        reserve_child_send(c);
        return true;
    }
    return repair_continue(c);
}

void limiter_call_grow(struct call *c, struct cached_bucket *b)
{
    struct limiter_call *s = c->state;
    struct limiter_command command;
    must(c->outstanding == 0);
    s->repaired = b;
    if (b->shard_map.epoch == 0) { /* the shard map must be known */
        s->step = LIMITER_CALL_READ_SHARDS;
        s->read_failed = false;
        shard_read_send(c, b, 0);
        return;
    }
    s->step = LIMITER_CALL_GROW;
    shard_command_begin(c->router, b, LIMITER_GROW, 0, &command);
    shard_command_send(c, b, &command, 0, slice_make(NULL, 0), 0);
}

bool limiter_call_send_limits(struct call *c, struct cached_bucket *b)
{
    struct limiter_call *s = c->state;
    bool any = false;
    must(c->outstanding == 0);
    if (s->repairs++ >= LIMITER_CALL_REPAIRS_MAX)
        return false;
    for (uint32_t i = 0; i < bucket_shard_count(b); i++) {
        const uint64_t version = bucket_shard(b, i)->version;
        struct limiter_command command;
        if (version == 0 || version >= b->limits.version)
            continue;
        shard_command_begin(c->router, b, LIMITER_CONFIGURE, i, &command);
        shard_command_send(c, b, &command, i, slice_make(NULL, 0), 0);
        any = true;
    }
    if (any) {
        s->step = LIMITER_CALL_SEND_LIMITS;
        s->repaired = b;
    }
    return any;
}

static void send_limits_reply(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct limiter_call *s = c->state;
    struct shard_command_result e;
    shard_command_reply(c, s->repaired, sub->index, 1000, sub, r, &e);
    if (!e.has_item)
        bucket_shard(s->repaired, sub->index)->version = 0;
    if (e.end == CHARGE_UNAVAILABLE && !e.busy)
        s->charge.end = CHARGE_UNAVAILABLE;
}

static bool send_limits_finish(struct call *c)
{
    const struct limiter_call *s = c->state;
    /* The fault of that reply may be another call's by now. */
    if (s->charge.end == CHARGE_UNAVAILABLE)
        fault_set(call_fault(c), FAULT_UNAVAILABLE,
                  "The limits could not be set in all shards of the bucket: try again");
    return repair_continue(c);
}

bool limiter_call_repair(struct call *c)
{
    struct limiter_call *s = c->state;
    must(s->charge.failed < s->charge.count);
    const struct charge_part *p = &s->charge.parts[s->charge.failed];
    if (s->charge.end != CHARGE_REFUSED || s->repairs++ >= LIMITER_CALL_REPAIRS_MAX)
        return false;
    s->repaired = p->bucket;
    switch (s->charge.refusal) {
    case LIMITER_ABSENT:
        s->child_count = 0;
        if (!create_child_push(s, p->shard))
            return false;
        reserve_child_send(c);
        return true;
    case LIMITER_SEALED:
    case LIMITER_NOT_OWNER:
        s->step = LIMITER_CALL_READ_SHARDS;
        s->read_failed = false;
        shard_read_send(c, p->bucket, 0);
        return true;
    case LIMITER_NO_LIMIT:
        s->force_refresh = true;
        s->configured_count = 0;
        for (; s->chain_count > 1; s->chain_count--)
            bucket_release(c->router, s->chain[s->chain_count - 1]);
        limits_request(c);
        return true;
    default:
        return false;
    }
}

/* ---- replies ---- */

bool limiter_call_reply(struct call *c, struct subrequest *sub, const struct reply *r)
{
    struct limiter_call *s = c->state;
    struct shard_command_result e;
    switch (s->step) {
    case LIMITER_CALL_READ_LIMITS:
        return limits_reply(c, sub, r);
    case LIMITER_CALL_CHARGE:
        return charge_reply(c, sub, r);
    case LIMITER_CALL_TRANSACT:
        return transact_write_reply(c, sub, r);
    case LIMITER_CALL_READ_SHARDS:
        read_shards_reply(c, sub, r);
        return true;
    case LIMITER_CALL_RESERVE_CHILD:
        reserve_child_reply(c, sub, r);
        return true;
    case LIMITER_CALL_CREATE_CHILD:
    case LIMITER_CALL_GROW:
        shard_command_reply(c, s->repaired, s->step == LIMITER_CALL_GROW ? 0 : s->command->shard,
                            1000, sub, r, &e);
        s->charge.end = e.busy ? 0 : e.end;
        s->charge.refusal = e.refusal;
        s->charge.throttled = e.throttled;
        if (s->step == LIMITER_CALL_GROW && e.end == CHARGE_DONE)
            maintenance_report(c->router, s->repaired, true);
        return true;
    case LIMITER_CALL_SEND_LIMITS:
        send_limits_reply(c, sub, r);
        return true;
    case LIMITER_CALL_LOOKUP:
        idempotency_lookup_reply(c, r);
        return true;
    case LIMITER_CALL_OWN_STEP:
        return s->handlers->reply(c, sub, r);
    case LIMITER_CALL_WAIT:
    case LIMITER_CALL_DONE:
        break;
    }
    return true;
}

static bool limiter_call_next(struct call *c)
{
    struct limiter_call *s = c->state;
    const enum limiter_call_step step = s->step;
    s->step = LIMITER_CALL_DONE;
    switch (step) {
    case LIMITER_CALL_READ_LIMITS:
        return limits_finish(c);
    case LIMITER_CALL_CHARGE:
        return charge_finish(c);
    case LIMITER_CALL_TRANSACT:
        return transact_finish(c) || charge_finish(c);
    case LIMITER_CALL_WAIT:
        s->is_next |= s->holds_shards; /* the plan is made anew */
        transaction_queue_release(c->router, s);
        return s->handlers->plan(c);
    case LIMITER_CALL_READ_SHARDS:
        return read_shards_finish(c);
    case LIMITER_CALL_RESERVE_CHILD:
        return reserve_child_finish(c);
    case LIMITER_CALL_CREATE_CHILD:
        return create_child_finish(c);
    case LIMITER_CALL_GROW:
        return repair_continue(c);
    case LIMITER_CALL_SEND_LIMITS:
        return send_limits_finish(c);
    case LIMITER_CALL_LOOKUP:
        return idempotency_lookup_finish(c);
    case LIMITER_CALL_OWN_STEP:
        return s->handlers->finish(c);
    case LIMITER_CALL_DONE:
        break;
    }
    return true;
}

bool limiter_call_finish(struct call *c)
{
    if (!limiter_call_next(c))
        return false;
    const bool over = c->outstanding == 0 && c->routes_pending == 0 && c->client != NULL;
    must_in_tests(!over || c->status == 204 || c->body.size > 0); /* otherwise nothing was done */
    return true;
}
