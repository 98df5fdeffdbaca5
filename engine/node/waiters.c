/* waiters.c - requests and scans that wait for pages, reads that wait for confirmed leadership. */
#include "engine/node/waiters.h"

#include <stdlib.h>

#include "base/probe.h"
#include "base/settings/requests.h"
#include "engine/message/request_traits.h"
#include "engine/node/collection.h"
#include "engine/node/node_effect.h"
#include "engine/node/operation.h"
#include "engine/node/owned_keys.h"
#include "engine/node/waiters_internal.h"

enum {
    NO_TICKET = -1,
    RESERVED_PART = 8, /* WAIT-1: one slot in so many */
    SCANS_MAX = 16     /* WAIT-2 */
};

void waiters_init(struct waiters *waiters, struct node_env *env)
{
    waiters->env = env;
    waiters->size = (uint32_t)config_requests(env->config)->node_queue_max;
    waiters->slots = must_calloc(waiters->size + SCANS_MAX, sizeof waiters->slots[0]);
}

void waiters_deinit(struct waiters *waiters)
{
    for (uint32_t i = 0; i < waiters->size + SCANS_MAX; i++) {
        buffer_deinit(&waiters->slots[i].bytes);
        buffer_deinit(&waiters->slots[i].key);
    }
    free(waiters->slots);
    buffer_deinit(&waiters->spare);
}

/* Copies the request's slices to `spare`, then swaps `spare` and the slot's bytes. The request may
 * lie in these bytes: it may have waited in this slot before. */
static void waiters_copy_request(struct waiters *waiters, struct deferred *d)
{
    struct request *r = &d->operation.request;
    buffer_clear(&waiters->spare);
    message_copy_slices(traits_of(r)->fields, r, &waiters->spare);
    struct buffer copy = waiters->spare;
    waiters->spare = d->bytes;
    d->bytes = copy;
}

/* -1: all slots of requests are taken. */
static int32_t waiters_take_slot(struct waiters *waiters)
{
    if (waiters->count == waiters->size)
        return NO_TICKET;
    uint32_t ticket = (uint32_t)prng_below(&waiters->env->prng, waiters->size);
    while (waiters->slots[ticket].used)
        ticket = (ticket + 1) % waiters->size;
    waiters->slots[ticket].used = true;
    waiters->count++;
    return (int32_t)ticket;
}

/* Keeps the operation, to run it again later. -1: the operation was refused. */
static int32_t waiters_keep(struct waiters *waiters, const struct operation *o)
{
    int32_t ticket = waiters_take_slot(waiters);
    if (ticket == NO_TICKET) {
        env_refuse(waiters->env, o, REPLY_OVERLOADED, "node %u has %u requests waiting",
                   waiters->env->id, waiters->count);
        return NO_TICKET;
    }
    struct deferred *d = &waiters->slots[ticket];
    d->operation = *o;
    d->resume = RESUME_REQUEST;
    waiters_copy_request(waiters, d);
    return ticket;
}

/* -1: all slots of scans are taken. */
static int32_t waiters_take_scan_slot(struct waiters *waiters)
{
    for (uint32_t ticket = waiters->size; ticket < waiters->size + SCANS_MAX; ticket++) {
        if (!waiters->slots[ticket].used) {
            waiters->slots[ticket].used = true;
            waiters->scans++;
            return (int32_t)ticket;
        }
    }
    return NO_TICKET;
}

bool waiters_may_scan(struct waiters *waiters, struct scan *s, enum resume resume, uint64_t subject,
                      struct slice key)
{
    if (s->state == SCAN_READY && s->subject != subject)
        s->state = SCAN_IDLE;
    if (s->state == SCAN_READY ||
        (s->state == SCAN_IDLE && !store_needs_touch(waiters->env->store))) {
        s->state = SCAN_IDLE;
        return true;
    }
    int32_t ticket = s->state == SCAN_WAITING ? NO_TICKET : waiters_take_scan_slot(waiters);
    if (ticket == NO_TICKET)
        return false;
    s->state = SCAN_WAITING;
    s->subject = subject;
    struct deferred *d = &waiters->slots[ticket];
    d->resume = resume;
    d->subject = subject;
    buffer_set(&d->key, key);
    struct node_effect *e = env_push(waiters->env, NODE_TOUCH);
    e->touch.ticket = (uint32_t)ticket;
    e->touch.key = buffer_slice(&d->key);
    e->touch.reverse = false;
    e->touch.bytes = SCAN_BYTES;
    return false;
}

const struct deferred *waiters_resume(const struct waiters *waiters, uint32_t ticket)
{
    must(ticket < waiters->size + SCANS_MAX && waiters->slots[ticket].used);
    return &waiters->slots[ticket];
}

void waiters_free(struct waiters *waiters, uint32_t ticket)
{
    waiters->slots[ticket].used = false;
    if (ticket < waiters->size)
        waiters->count--;
    else
        waiters->scans--;
}

void waiters_touch(struct waiters *waiters, const struct operation *o, enum touched pages,
                   uint64_t bytes)
{
    int32_t ticket = waiters_keep(waiters, o);
    if (ticket == NO_TICKET)
        return;
    struct deferred *d = &waiters->slots[ticket];
    d->operation.touched |= pages;
    const struct request *r = &d->operation.request;
    struct node_effect *e = env_push(waiters->env, NODE_TOUCH);
    e->touch.ticket = (uint32_t)ticket;
    e->touch.reverse = r->op == REQUEST_RANGE && r->range.reverse;
    struct slice key = e->touch.reverse ? r->range.hi : request_key(r);
    if (pages == TOUCHED_COLLECTION)
        key = collection_key(key);
    buffer_set(&d->key, key);
    if (r->op == REQUEST_RANGE && r->range.index != 0 && key.size > 0)
        d->key.data[0] = r->range.index;
    e->touch.key = buffer_slice(&d->key);
    e->touch.bytes = bytes;
}

void waiters_touch_row(struct waiters *waiters, const struct operation *o, struct slice key,
                       uint64_t bytes)
{
    int32_t ticket = waiters_keep(waiters, o);
    if (ticket == NO_TICKET)
        return;
    struct deferred *d = &waiters->slots[ticket];
    buffer_set(&d->key, key);
    struct node_effect *e = env_push(waiters->env, NODE_TOUCH);
    e->touch =
        (struct touch){.ticket = (uint32_t)ticket, .key = buffer_slice(&d->key), .bytes = bytes};
}

static struct deferred *waiters_release(struct waiters *waiters, struct deferred *d)
{
    d->used = false; /* the bytes stay until the slot is taken again */
    waiters->count--;
    return d;
}

static struct deferred *waiters_take_read(struct waiters *waiters, struct partition *p)
{
    struct deferred *d = STAILQ_FIRST(&p->reads);
    STAILQ_REMOVE_HEAD(&p->reads, place);
    return waiters_release(waiters, d);
}

void waiters_add_locked(struct waiters *waiters, struct partition *p, const struct operation *o)
{
    if (waiters->locked >= waiters->size - waiters->size / RESERVED_PART) {
        PROBE("too many requests wait for transactions");
        env_refuse(waiters->env, o, REPLY_OVERLOADED,
                   "node %u has %u requests waiting for transactions", waiters->env->id,
                   waiters->locked);
        return;
    }
    int32_t ticket = waiters_keep(waiters, o);
    if (ticket == NO_TICKET)
        return;
    STAILQ_INSERT_TAIL(&p->locked, &waiters->slots[ticket], place);
    waiters->locked++;
}

uint32_t waiters_locked(const struct partition *p)
{
    const struct deferred *d;
    uint32_t count = 0;
    STAILQ_FOREACH (d, &p->locked, place)
        count++;
    return count;
}

void waiters_take_locked(struct waiters *waiters, struct partition *p, struct operation *out)
{
    struct deferred *d = STAILQ_FIRST(&p->locked);
    STAILQ_REMOVE_HEAD(&p->locked, place);
    waiters->locked--;
    *out = waiters_release(waiters, d)->operation;
}

bool waiters_add_read(struct waiters *waiters, struct partition *p, const struct operation *o,
                      uint64_t round, uint64_t index)
{
    int32_t ticket = waiters_keep(waiters, o);
    if (ticket == NO_TICKET)
        return false;
    struct deferred *d = &waiters->slots[ticket];
    d->round = round;
    d->index = index;
    d->term = p->led;
    STAILQ_INSERT_TAIL(&p->reads, d, place);
    return true;
}

bool waiters_next_read(struct waiters *waiters, struct partition *p, struct operation *out)
{
    const struct deferred *first = STAILQ_FIRST(&p->reads);
    if (first == NULL)
        return false;
    bool lost = p->led != first->term;
    if (!lost &&
        (raft_reads_confirmed(p->raft) < first->round || raft_applied(p->raft) < first->index))
        return false;
    *out = waiters_take_read(waiters, p)->operation;
    out->confirmed = lost ? 0 : p->led;
    return true;
}

void waiters_drop_reads(struct waiters *waiters, struct partition *p, enum reply_code code,
                        const char *why)
{
    while (!STAILQ_EMPTY(&p->reads)) {
        struct operation o = waiters_take_read(waiters, p)->operation;
        env_refuse(waiters->env, &o, code, "partition %u: %s", p->info.id, why);
    }
    while (!STAILQ_EMPTY(&p->locked)) {
        struct operation o;
        waiters_take_locked(waiters, p, &o);
        env_refuse(waiters->env, &o, code, "partition %u: %s", p->info.id, why);
    }
}
