/* session.c - the steps that all operations of the rate limiter share. */
#include "router/limiter/session.h"

#include "base/settings/limiter.h"
#include "router/limiter/homes.h"
#include "router/limiter/tend.h"
#include "router/limiter/turns.h"

/* ---- life ---- */

void session_begin(struct call *c, struct session *s, const struct session_work *work,
                   const struct bucket_name *name)
{
    c->state = s;
    s->work = work;
    s->call = c;
    if (!work->patient)
        timer_start(&s->deadline, &c->router->limiter->deadlines, c->router->now);
    if (name != NULL)
        session_add(c, name);
    call_look_for_table(c, slice_of(LIMITER_TABLE), &s->table, &s->absent);
}

struct known_bucket *session_add(struct call *c, const struct bucket_name *name)
{
    struct session *s = c->state;
    must(s->chain_count < LIMITER_CHAIN_MAX);
    return s->chain[s->chain_count++] = bucket_hold(c->router, name);
}

/* The requests are answered, or given up. */
static void charge_unreckon(struct charge *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->parts[i].reckoned)
            bucket_reckon(g->parts[i].bucket, g->parts[i].shard, g->parts[i].amounts, -1);
        g->parts[i].reckoned = false;
    }
}

void session_end(struct call *c)
{
    struct session *s = c->state;
    if (s == NULL)
        return;
    timer_stop(&s->pause);
    timer_stop(&s->deadline);
    turn_leave(c->router, s);
    charge_unreckon(&s->charge);
    for (uint32_t i = 0; i < s->chain_count; i++)
        bucket_release(c->router, s->chain[i]);
    s->chain_count = 0;
}

/* ---- limits ---- */

static void limits_ask(struct call *c)
{
    struct session *s = c->state;
    s->step = SESSION_LIMITS;
    s->deaf = false;
    for (uint32_t i = 0; i < LEVELS; i++) {
        struct place place;
        s->levels[i] = slice_make(NULL, 0);
        place_of_level(c, &s->table->table, &s->chain[s->configured]->name, (enum level)i, &place);
        struct subrequest *sub = call_request(c, s->table, REQUEST_GET);
        sub->index = i;
        sub->request.get.key = place.key;
        sub->request.get.consistent = true;
        subrequest_start(c->router, sub);
    }
}

/* The bucket's entity has a parent that is charged too. */
static void session_add_parent(struct call *c, const struct known_bucket *b)
{
    const struct session *s = c->state;
    struct bucket_name name = b->name;
    name.entity = b->parent;
    if (b->parent.size == 0 || s->work->no_parents || s->chain_count == LIMITER_CHAIN_MAX)
        return;
    for (uint32_t i = 0; i < s->chain_count; i++) {
        if (slice_equal(s->chain[i]->name.entity, name.entity))
            return; /* a circle */
    }
    session_add(c, &name);
}

/* Goes on with the next bucket of the chain, or with the operation. */
bool session_go_on(struct call *c)
{
    struct session *s = c->state;
    while (s->configured < s->chain_count) {
        struct known_bucket *b = s->chain[s->configured];
        bucket_check_age(c->router, b);
        const bool fresh = b->configured && instant_before(c->router->now, b->fresh_until);
        if (!fresh || s->fresh) {
            limits_ask(c);
            return true;
        }
        s->configured++;
        session_add_parent(c, b);
    }
    s->fresh = false;
    if (s->chain_count > 0 && s->chain[0]->limits.count == 0 && !s->work->lenient)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "No limits apply to entity '%.*s' and resource '%.*s'; set some with PUT "
                         "/limiter/v1/limits",
                         SHOWN(s->chain[0]->name.entity), SHOWN(s->chain[0]->name.resource));
    return s->work->known(c);
}

static bool limits_take(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct session *s = c->state;
    if (r->code != REPLY_OK) {
        s->deaf = true;
    } else if (r->kind == ANSWER_ITEM && r->item.found) {
        s->levels[sub->index] = arena_copy(&c->arena, r->item.bytes);
    }
    return true;
}

/* All levels have answered. While they cannot be read, limits that are known stay. */
static bool limits_end(struct call *c)
{
    struct session *s = c->state;
    struct known_bucket *b = s->chain[s->configured];
    if (s->deaf && !b->configured)
        return fault_set(call_fault(c), FAULT_UNAVAILABLE,
                         "The limits of the bucket cannot be read: the store does not answer");
    if (!s->deaf)
        bucket_configure(c->router, b, s->levels);
    s->configured++;
    session_add_parent(c, b);
    return session_go_on(c);
}

/* A table that is being made or deleted has no limits. */
static bool session_table_is_there(const struct session *s)
{
    return !s->absent && s->table->table.status != TABLE_CREATING &&
           s->table->table.status != TABLE_DELETING;
}

bool session_ready(struct call *c)
{
    struct session *s = c->state;
    s->step = SESSION_OVER;
    s->absent = !session_table_is_there(s);
    if (s->absent)
        s->table = NULL;
    if (s->absent && !s->work->lenient)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "No limits were ever set; set some with PUT /limiter/v1/limits");
    return s->absent ? s->work->known(c) : session_go_on(c);
}

/* ---- charges ---- */

static void charge_command(struct call *c, struct charge_part *p, struct limiter_command *out)
{
    const struct session *s = c->state;
    const struct charge *g = &s->charge;
    command_begin(c->router, p->bucket, p->verb, p->shard, out);
    memcpy(out->amounts, p->amounts, sizeof out->amounts);
    if (g->until_ms > 0)
        out->expires_ms = g->until_ms;
    out->token_has_owner = g->homed && p == g->parts;
    out->owner_key = g->home;
    out->unreported_refusals = p->bucket->attempts;
    p->bucket->attempts = 0;
    p->mwcu = out->mwcu;
    p->attempts = out->unreported_refusals;
    bucket_reckon(p->bucket, p->shard, p->amounts, 1);
    p->reckoned = true;
}

/* The refusals that were not told must be told later. */
static void charge_take_back(struct charge *g)
{
    for (uint32_t i = 0; i < g->count; i++)
        g->parts[i].bucket->attempts += g->parts[i].attempts;
}

static void charge_many(struct call *c)
{
    struct session *s = c->state;
    struct charge *g = &s->charge;
    struct item_plan *plan = item_plan_create(c, 1, g->count);
    const struct slice token =
        g->named ? slice_make(g->token, sizeof g->token) : slice_make(NULL, 0);
    s->step = SESSION_TRANSACT;
    s->asked = c->router->now;
    plan->tables->name = s->table->table.name;
    plan->tables->route = s->table;
    for (uint32_t i = 0; i < g->count; i++) {
        struct limiter_command command;
        struct place place;
        struct buffer bytes = {0};
        charge_command(c, &g->parts[i], &command);
        command.mwcu *= TRANSACTION_FACTOR;
        limiter_command_walk(&(struct codec){.out = &bytes}, &command);
        place_of_shard(c, &s->table->table, &g->parts[i].bucket->name, g->parts[i].shard, &place);
        plan->items[i] =
            (struct item_request){.op = REQUEST_UPDATE,
                                  .key = place.key,
                                  .limited = place.item,
                                  .limiter = arena_copy(&c->arena, buffer_slice(&bytes)),
                                  .want_failed = true};
        buffer_deinit(&bytes);
    }
    c->plan = plan;
    s->write = (struct transact_write){0};
    transact_writes_init(c, &s->write, g->count, token);
    if (g->named) /* the same name as that of an update of the first shard alone */
        memcpy(s->write.token, g->token, sizeof g->token);
    s->write.digest = g->digest;
    must(transact_writes_start(c));
}

void session_charge(struct call *c)
{
    struct session *s = c->state;
    struct charge *g = &s->charge;
    struct limiter_command command;
    g->end = 0;
    g->before = g->throttled = false;
    if (!turn_take(c))
        return;
    if (g->count > 1) {
        charge_many(c);
        return;
    }
    s->step = SESSION_CHARGE;
    charge_command(c, &g->parts[0], &command);
    command_send(c, g->parts[0].bucket, &command, 0,
                 g->named ? slice_make(g->token, sizeof g->token) : slice_make(NULL, 0), g->digest);
}

/* A transaction or another call has the item. */
static bool charge_is_busy(struct call *c)
{
    struct session *s = c->state;
    charge_take_back(&s->charge);
    session_wait(c);
    return true;
}

static bool charge_took(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct session *s = c->state;
    struct charge *g = &s->charge;
    struct charge_part *p = &g->parts[0];
    struct command_end e;
    charge_unreckon(g);
    command_took(c, p->bucket, p->shard, p->mwcu, sub, r, &e);
    if (e.heard && (e.end == CHARGE_DONE || e.refusal == LIMITER_TOO_FEW_TOKENS))
        bucket_learn_pause(c->router, p->bucket, p->shard, p->amounts, s->asked,
                           e.end == CHARGE_DONE);
    g->end = e.busy ? 0 : e.end;
    g->refusal = e.refusal;
    g->before = e.before;
    g->throttled = e.throttled;
    g->failed = 0;
    return true;
}

/* Why a part of the transaction was refused. */
static void charge_find_refusal(struct call *c)
{
    struct session *s = c->state;
    struct charge *g = &s->charge;
    struct limiter_bucket heard;
    g->end = 0; /* busy, or given up without a reason of its own */
    for (uint32_t i = 0; i < g->count; i++) {
        const struct part_end *e = &s->write.ends[i];
        struct charge_part *p = &g->parts[i];
        bucket_owe(c->router, p->bucket, p->shard,
                   e->code == REPLY_THROTTLED ? TRANSACTION_FACTOR * 1000 : e->consumed.table_mcu);
        if (e->item.size > 0)
            bucket_heard(c->router, p->bucket, p->shard, e->item, s->asked, -1, &heard);
        if (g->end != 0 || (e->code != REPLY_CONDITION_FAILED && e->code != REPLY_THROTTLED))
            continue;
        g->end = CHARGE_REFUSED;
        g->failed = i;
        g->throttled = e->code == REPLY_THROTTLED;
        g->refusal = g->throttled || e->fault >= LIMITER_REFUSALS ? LIMITER_TOO_FEW_WRITES
                                                                  : (enum limiter_refusal)e->fault;
    }
}

static bool transact_ends(struct call *c)
{
    struct session *s = c->state;
    struct charge *g = &s->charge;
    const bool done = transact_write_finish(c);
    if (done && c->outstanding > 0) {
        s->step = SESSION_TRANSACT; /* it goes on */
        return true;
    }
    buffer_clear(&c->body);
    charge_unreckon(g);
    if (done) {
        g->end = CHARGE_DONE;
        g->before = s->write.failure.code == REPLY_TOKEN_DONE;
        for (uint32_t i = 0; i < g->count && !g->before; i++)
            bucket_took(c->router, g->parts[i].bucket, g->parts[i].shard, g->parts[i].amounts,
                        TRANSACTION_FACTOR * g->parts[i].mwcu);
    } else if (call_fault(c)->kind == FAULT_TOKEN_MISMATCH) {
        g->end = CHARGE_USED;
    } else if (call_fault(c)->kind == FAULT_CANCELED) {
        charge_find_refusal(c);
    } else {
        g->end = call_fault(c)->kind == FAULT_IN_PROGRESS ? 0 : CHARGE_LOST;
        call_fault(c)->kind = FAULT_UNAVAILABLE; /* the text says whether the outcome is known */
    }
    return false;
}

static bool charge_ends(struct call *c)
{
    struct session *s = c->state;
    if (s->charge.end == 0)
        return charge_is_busy(c);
    turn_end(c->router, s);
    if (s->charge.end != CHARGE_DONE)
        charge_take_back(&s->charge);
    return s->work->charged(c);
}

/* ---- pauses ---- */

static void session_pause_for(struct call *c, uint32_t pauses)
{
    struct session *s = c->state;
    s->step = SESSION_PAUSE;
    s->pauses = pauses;
    c->outstanding++;
    timer_start(&s->pause, &c->router->limiter->pauses, c->router->now);
}

void session_pause(struct call *c)
{
    session_pause_for(c, 1);
}

/* Twice as many pauses at most each time. Their number is random: two that were in each other's way
 * do not come again at the same time. */
void session_wait(struct call *c)
{
    struct session *s = c->state;
    must(!s->work->patient); /* CHARGE-2 */
    s->waits += s->waits < SESSION_DOUBLINGS_MAX;
    session_pause_for(c, 1 + (uint32_t)prng_below(&c->router->prng, UINT64_C(1) << s->waits));
}

void session_pause_over(struct session *s)
{
    if (--s->pauses > 0) {
        timer_start(&s->pause, &s->call->router->limiter->pauses, s->call->router->now);
        return;
    }
    s->call->outstanding--;
    call_advance(s->call);
}

void session_deadline(struct session *s)
{
    const long long ms = config_limiter(s->call->router->config)->limiter_deadline_ms;
    if (s->step == SESSION_PAUSE)
        fault_set(call_fault(s->call), FAULT_UNAVAILABLE,
                  "The bucket has been busy with other requests for %lld ms (limiter_deadline_ms): "
                  "send the request again",
                  ms);
    else
        fault_set(call_fault(s->call), FAULT_UNAVAILABLE,
                  "The store has not answered within %lld ms (limiter_deadline_ms)", ms);
    call_fail(s->call);
}

/* ---- mending ---- */

void session_read(struct call *c, struct known_bucket *b)
{
    struct session *s = c->state;
    s->step = SESSION_READ;
    s->deaf = s->reads_home = false;
    s->mended = b;
    for (uint32_t i = 0; i < bucket_count(b); i++)
        command_read(c, b, i);
}

static bool mend_again(struct call *c)
{
    struct session *s = c->state;
    if (s->charge.end == CHARGE_LOST || s->charge.throttled)
        return s->work->charged(c); /* the fault is of this event */
    if (++s->rounds > SESSION_ROUNDS_MAX) {
        s->charge.end = CHARGE_LOST;
        fault_set(call_fault(c), FAULT_UNAVAILABLE,
                  "The bucket's shards change too fast: try again");
        return s->work->charged(c);
    }
    return s->work->known(c);
}

static bool read_ends(struct call *c)
{
    struct session *s = c->state;
    if (!s->deaf)
        return s->work->read != NULL && !s->reads_home ? s->work->read(c) : mend_again(c);
    s->charge.end = s->throttled ? CHARGE_REFUSED : CHARGE_LOST;
    s->charge.refusal = LIMITER_TOO_FEW_WRITES;
    s->charge.throttled = true;
    s->charge.failed = 0;
    if (s->charge.parts != NULL) { /* whose plan is not made yet */
        s->charge.parts[0] = (struct charge_part){.bucket = s->mended};
        s->charge.count = 1;
    }
    fault_set(call_fault(c), FAULT_UNAVAILABLE, "The bucket's shards cannot be read: %s",
              s->throttled ? "the table " LIMITER_TABLE " is read too often"
                           : "the store does not answer");
    return s->work->charged(c);
}

static void read_took(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct session *s = c->state;
    struct limiter_bucket heard;
    if (r->code != REPLY_OK) {
        s->deaf = true;
        s->throttled = r->code == REPLY_THROTTLED;
    } else if (r->kind == ANSWER_ITEM && r->item.found) {
        bucket_heard(c->router, s->mended, sub->index, r->item.bytes, s->asked, r->item.wall_ms,
                     &heard);
    }
}

/* Asks the shard that `shard` comes from for its gift. */
static void give_send(struct call *c)
{
    struct session *s = c->state;
    const uint32_t child = s->opened[s->opened_count - 1];
    struct limiter_command command;
    s->step = SESSION_GIVE;
    command_begin(c->router, s->mended, LIMITER_RESERVE_CHILD, limiter_parent_shard(child),
                  &command);
    command.child = child;
    command_send(c, s->mended, &command, 0, slice_make(NULL, 0), 0);
}

static bool open_push(struct session *s, uint32_t shard)
{
    if (s->opened_count == LIMITER_SIZES || shard == 0)
        return false;
    s->opened[s->opened_count++] = shard;
    return true;
}

static const struct limiter_reserved_share *gift_for(const struct limiter_bucket *from,
                                                     uint32_t child)
{
    for (uint32_t i = 0; i < from->reserved_count; i++) {
        if (from->reserved[i].child == child)
            return &from->reserved[i];
    }
    return NULL;
}

/* Keeps the command that makes the shard: it needs the limits that the gift goes by. */
static void open_prepare(struct call *c, const struct limiter_bucket *from,
                         const struct limiter_reserved_share *gift)
{
    struct session *s = c->state;
    s->command = arena_alloc(&c->arena, sizeof *s->command);
    command_begin(c->router, s->mended, LIMITER_CREATE_CHILD, gift->child, s->command);
    s->command->reserved_share = *gift;
    s->command->limits = from->limits;
    for (uint32_t i = 0; i < from->limits.count; i++)
        s->command->limits.at[i].name = arena_copy(&c->arena, from->limits.at[i].name);
}

static void give_took(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct session *s = c->state;
    const uint32_t child = s->opened[s->opened_count - 1];
    struct command_end e;
    s->command = NULL;
    command_took(c, s->mended, limiter_parent_shard(child), 1000, sub, r, &e);
    const struct limiter_reserved_share *gift = e.heard ? gift_for(&e.item, child) : NULL;
    s->charge.end = e.end;
    s->charge.refusal = e.refusal;
    s->charge.throttled = e.throttled;
    if (e.busy)
        s->charge.end = 0;
    else if (gift != NULL && e.item.epoch <= s->mended->shards.epoch &&
             (e.end == CHARGE_DONE || e.refusal == LIMITER_NO_CHANGE))
        open_prepare(c, &e.item, gift);
    else if (e.refusal == LIMITER_ABSENT && !open_push(s, limiter_parent_shard(child)))
        s->charge.refusal = LIMITER_SEALED; /* no shard 0 any more: look again */
}

static bool give_ends(struct call *c)
{
    struct session *s = c->state;
    if (s->command != NULL) {
        s->step = SESSION_OPEN;
        command_send(c, s->mended, s->command, 0, slice_make(NULL, 0), 0);
        return true;
    }
    if (s->charge.end == CHARGE_REFUSED && s->charge.refusal == LIMITER_ABSENT &&
        ++s->rounds <= SESSION_ROUNDS_MAX) {
        give_send(c); /* the shard that gives must be made first */
        return true;
    }
    s->opened_count = 0;
    if (s->charge.end == CHARGE_REFUSED && !s->charge.throttled &&
        ++s->rounds <= SESSION_ROUNDS_MAX) {
        s->step = SESSION_READ; /* the router may be wrong about the number of shards */
        s->deaf = false;
        command_read(c, s->mended, 0);
        return true;
    }
    return mend_again(c);
}

static bool open_ends(struct call *c)
{
    struct session *s = c->state;
    s->opened_count--;
    if (s->opened_count > 0 && !s->charge.throttled) {
        give_send(c);
        return true;
    }
    return mend_again(c);
}

void session_grow(struct call *c, struct known_bucket *b)
{
    struct session *s = c->state;
    struct limiter_command command;
    s->mended = b;
    if (b->shards.epoch == 0) { /* the router must know what shall grow */
        s->step = SESSION_READ;
        s->deaf = false;
        command_read(c, b, 0);
        return;
    }
    s->step = SESSION_GROW;
    command_begin(c->router, b, LIMITER_GROW, 0, &command);
    command_send(c, b, &command, 0, slice_make(NULL, 0), 0);
}

bool session_tell(struct call *c, struct known_bucket *b)
{
    struct session *s = c->state;
    bool any = false;
    if (s->rounds++ >= SESSION_ROUNDS_MAX)
        return false;
    for (uint32_t i = 0; i < bucket_count(b); i++) {
        const uint64_t version = bucket_shard(b, i)->version;
        struct limiter_command command;
        if (version == 0 || version >= b->limits.version)
            continue;
        command_begin(c->router, b, LIMITER_CONFIGURE, i, &command);
        command_send(c, b, &command, i, slice_make(NULL, 0), 0);
        any = true;
    }
    if (any) {
        s->step = SESSION_TELL;
        s->mended = b;
    }
    return any;
}

static void tell_took(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct session *s = c->state;
    struct command_end e;
    command_took(c, s->mended, sub->index, 1000, sub, r, &e);
    if (!e.heard)
        bucket_shard(s->mended, sub->index)->version = 0;
    if (e.end == CHARGE_LOST && !e.busy)
        s->charge.end = CHARGE_LOST;
}

static bool tell_ends(struct call *c)
{
    const struct session *s = c->state;
    if (s->charge.end == CHARGE_LOST) /* the fault of that reply may be another call's by now */
        fault_set(call_fault(c), FAULT_UNAVAILABLE,
                  "Not all shards of the bucket could be told of their limits: try again");
    return mend_again(c);
}

bool session_mend(struct call *c)
{
    struct session *s = c->state;
    const struct charge_part *p = &s->charge.parts[s->charge.failed];
    if (s->charge.end != CHARGE_REFUSED || s->rounds++ >= SESSION_ROUNDS_MAX)
        return false;
    s->mended = p->bucket;
    switch (s->charge.refusal) {
    case LIMITER_ABSENT:
        s->opened_count = 0;
        if (!open_push(s, p->shard))
            return false;
        give_send(c);
        return true;
    case LIMITER_SEALED:
    case LIMITER_NOT_OWNER:
        s->step = SESSION_READ;
        s->deaf = false;
        command_read(c, p->bucket, 0);
        return true;
    case LIMITER_NO_LIMIT:
        s->fresh = true;
        s->configured = 0;
        for (; s->chain_count > 1; s->chain_count--)
            bucket_release(c->router, s->chain[s->chain_count - 1]);
        limits_ask(c);
        return true;
    default:
        return false;
    }
}

/* ---- replies ---- */

bool session_reply(struct call *c, struct subrequest *sub, const struct reply *r)
{
    struct session *s = c->state;
    struct command_end e;
    switch (s->step) {
    case SESSION_LIMITS:
        return limits_take(c, sub, r);
    case SESSION_CHARGE:
        return charge_took(c, sub, r);
    case SESSION_TRANSACT:
        return transact_write_reply(c, sub, r);
    case SESSION_READ:
        read_took(c, sub, r);
        return true;
    case SESSION_GIVE:
        give_took(c, sub, r);
        return true;
    case SESSION_OPEN:
    case SESSION_GROW:
        command_took(c, s->mended, s->step == SESSION_GROW ? 0 : s->command->shard, 1000, sub, r,
                     &e);
        s->charge.end = e.busy ? 0 : e.end;
        s->charge.refusal = e.refusal;
        s->charge.throttled = e.throttled;
        if (s->step == SESSION_GROW && e.end == CHARGE_DONE)
            tend_tell(c->router, s->mended, true);
        return true;
    case SESSION_TELL:
        tell_took(c, sub, r);
        return true;
    case SESSION_ASK:
        homes_took(c, r);
        return true;
    case SESSION_OWN:
        return s->work->reply(c, sub, r);
    case SESSION_PAUSE:
    case SESSION_OVER:
        break;
    }
    return true;
}

bool session_finish(struct call *c)
{
    struct session *s = c->state;
    const enum session_step step = s->step;
    s->step = SESSION_OVER;
    switch (step) {
    case SESSION_LIMITS:
        return limits_end(c);
    case SESSION_CHARGE:
        return charge_ends(c);
    case SESSION_TRANSACT:
        return transact_ends(c) || charge_ends(c);
    case SESSION_PAUSE:
        s->is_next |= s->has_turn; /* the plan is made anew */
        turn_end(c->router, s);
        return s->work->known(c);
    case SESSION_READ:
        return read_ends(c);
    case SESSION_GIVE:
        return give_ends(c);
    case SESSION_OPEN:
        return open_ends(c);
    case SESSION_GROW:
        return mend_again(c);
    case SESSION_TELL:
        return tell_ends(c);
    case SESSION_ASK:
        return homes_end(c);
    case SESSION_OWN:
        return s->work->finish(c);
    case SESSION_OVER:
        break;
    }
    return true;
}
