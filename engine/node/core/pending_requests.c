/* pending_requests.c - requests and scans that wait for pages, reads that wait for confirmed
 * leadership. */
#include "engine/node/core/pending_requests.h"

#include <stdlib.h>

#include "base/probe.h"
#include "base/settings/requests.h"
#include "engine/message/request_traits.h"
#include "engine/node/core/collection.h"
#include "engine/node/core/node_effect.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/core/pending_requests_internal.h"

enum {
    NO_TICKET = -1,
    RESERVED_PART = 8, /* WAIT-1: one slot in so many */
    SCANS_MAX = 16     /* WAIT-2 */
};

void pending_init(struct pending_requests *pending, struct node_env *env)
{
    pending->env = env;
    pending->size = (uint32_t)config_requests(env->config)->node_queue_max;
    pending->slots = must_calloc(pending->size + SCANS_MAX, sizeof pending->slots[0]);
}

void pending_deinit(struct pending_requests *pending)
{
    for (uint32_t i = 0; i < pending->size + SCANS_MAX; i++) {
        buffer_deinit(&pending->slots[i].bytes);
        buffer_deinit(&pending->slots[i].key);
    }
    free(pending->slots);
    buffer_deinit(&pending->spare);
}

/* Copies the request's slices to `spare`, then swaps `spare` and the slot's bytes. The request may
 * lie in these bytes: it may have waited in this slot before. */
static void pending_copy_request(struct pending_requests *pending, struct parked_request *d)
{
    struct request *r = &d->operation.request;
    buffer_clear(&pending->spare);
    message_copy_slices(traits_of(r)->fields, r, &pending->spare);
    struct buffer copy = pending->spare;
    pending->spare = d->bytes;
    d->bytes = copy;
}

/* -1: all slots of requests are taken. */
static int32_t pending_take_slot(struct pending_requests *pending)
{
    if (pending->count == pending->size)
        return NO_TICKET;
    uint32_t ticket = (uint32_t)prng_below(&pending->env->prng, pending->size);
    while (pending->slots[ticket].used)
        ticket = (ticket + 1) % pending->size;
    pending->slots[ticket].used = true;
    pending->count++;
    return (int32_t)ticket;
}

/* Keeps the operation, to run it again later. -1: the operation was refused. */
static int32_t pending_keep(struct pending_requests *pending, const struct operation *o)
{
    int32_t ticket = pending_take_slot(pending);
    if (ticket == NO_TICKET) {
        env_refuse(pending->env, o, REPLY_OVERLOADED, "node %u has %u requests waiting",
                   pending->env->id, pending->count);
        return NO_TICKET;
    }
    struct parked_request *d = &pending->slots[ticket];
    d->operation = *o;
    d->resume = RESUME_REQUEST;
    pending_copy_request(pending, d);
    return ticket;
}

/* -1: all slots of scans are taken. */
static int32_t pending_take_scan_slot(struct pending_requests *pending)
{
    for (uint32_t ticket = pending->size; ticket < pending->size + SCANS_MAX; ticket++) {
        if (!pending->slots[ticket].used) {
            pending->slots[ticket].used = true;
            pending->scans++;
            return (int32_t)ticket;
        }
    }
    return NO_TICKET;
}

bool pending_may_scan(struct pending_requests *pending, struct scan *s, enum resume resume,
                      uint64_t subject, struct slice key)
{
    if (s->state == SCAN_READY && s->subject != subject)
        s->state = SCAN_IDLE;
    if (s->state == SCAN_READY ||
        (s->state == SCAN_IDLE && !store_needs_touch(pending->env->store))) {
        s->state = SCAN_IDLE;
        return true;
    }
    int32_t ticket = s->state == SCAN_WAITING ? NO_TICKET : pending_take_scan_slot(pending);
    if (ticket == NO_TICKET)
        return false;
    s->state = SCAN_WAITING;
    s->subject = subject;
    struct parked_request *d = &pending->slots[ticket];
    d->resume = resume;
    d->subject = subject;
    buffer_set(&d->key, key);
    struct node_effect *e = env_push(pending->env, NODE_TOUCH);
    e->touch.ticket = (uint32_t)ticket;
    e->touch.key = buffer_slice(&d->key);
    e->touch.reverse = false;
    e->touch.bytes = SCAN_BYTES;
    return false;
}

const struct parked_request *pending_resume(const struct pending_requests *pending, uint32_t ticket)
{
    must(ticket < pending->size + SCANS_MAX && pending->slots[ticket].used);
    return &pending->slots[ticket];
}

void pending_free(struct pending_requests *pending, uint32_t ticket)
{
    pending->slots[ticket].used = false;
    if (ticket < pending->size)
        pending->count--;
    else
        pending->scans--;
}

void pending_touch(struct pending_requests *pending, const struct operation *o, enum touched pages,
                   uint64_t bytes)
{
    int32_t ticket = pending_keep(pending, o);
    if (ticket == NO_TICKET)
        return;
    struct parked_request *d = &pending->slots[ticket];
    d->operation.touched |= pages;
    const struct request *r = &d->operation.request;
    struct node_effect *e = env_push(pending->env, NODE_TOUCH);
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

void pending_touch_row(struct pending_requests *pending, const struct operation *o,
                       struct slice key, uint64_t bytes)
{
    int32_t ticket = pending_keep(pending, o);
    if (ticket == NO_TICKET)
        return;
    struct parked_request *d = &pending->slots[ticket];
    buffer_set(&d->key, key);
    struct node_effect *e = env_push(pending->env, NODE_TOUCH);
    e->touch =
        (struct touch){.ticket = (uint32_t)ticket, .key = buffer_slice(&d->key), .bytes = bytes};
}

static struct parked_request *pending_release(struct pending_requests *pending,
                                              struct parked_request *d)
{
    d->used = false; /* the bytes stay until the slot is taken again */
    pending->count--;
    return d;
}

static struct parked_request *pending_take_read(struct pending_requests *pending,
                                                struct partition *p)
{
    struct parked_request *d = STAILQ_FIRST(&p->reads);
    STAILQ_REMOVE_HEAD(&p->reads, place);
    return pending_release(pending, d);
}

void pending_add_locked(struct pending_requests *pending, struct partition *p,
                        const struct operation *o)
{
    if (pending->locked >= pending->size - pending->size / RESERVED_PART) {
        PROBE("too many requests wait for transactions");
        env_refuse(pending->env, o, REPLY_OVERLOADED,
                   "node %u has %u requests waiting for transactions", pending->env->id,
                   pending->locked);
        return;
    }
    int32_t ticket = pending_keep(pending, o);
    if (ticket == NO_TICKET)
        return;
    STAILQ_INSERT_TAIL(&p->locked, &pending->slots[ticket], place);
    pending->locked++;
}

uint32_t pending_locked_count(const struct partition *p)
{
    const struct parked_request *d;
    uint32_t count = 0;
    STAILQ_FOREACH (d, &p->locked, place)
        count++;
    return count;
}

void pending_take_locked(struct pending_requests *pending, struct partition *p,
                         struct operation *out)
{
    struct parked_request *d = STAILQ_FIRST(&p->locked);
    STAILQ_REMOVE_HEAD(&p->locked, place);
    pending->locked--;
    *out = pending_release(pending, d)->operation;
}

bool pending_add_read(struct pending_requests *pending, struct partition *p,
                      const struct operation *o, uint64_t round, uint64_t index)
{
    int32_t ticket = pending_keep(pending, o);
    if (ticket == NO_TICKET)
        return false;
    struct parked_request *d = &pending->slots[ticket];
    d->round = round;
    d->index = index;
    d->term = p->led;
    STAILQ_INSERT_TAIL(&p->reads, d, place);
    return true;
}

bool pending_next_read(struct pending_requests *pending, struct partition *p, struct operation *out)
{
    const struct parked_request *first = STAILQ_FIRST(&p->reads);
    if (first == NULL)
        return false;
    bool lost = p->led != first->term;
    if (!lost &&
        (raft_reads_confirmed(p->raft) < first->round || raft_applied(p->raft) < first->index))
        return false;
    *out = pending_take_read(pending, p)->operation;
    out->confirmed = lost ? 0 : p->led;
    return true;
}

void pending_drop_reads(struct pending_requests *pending, struct partition *p, enum reply_code code,
                        const char *why)
{
    while (!STAILQ_EMPTY(&p->reads)) {
        struct operation o = pending_take_read(pending, p)->operation;
        env_refuse(pending->env, &o, code, "partition %u: %s", p->info.id, why);
    }
    while (!STAILQ_EMPTY(&p->locked)) {
        struct operation o;
        pending_take_locked(pending, p, &o);
        env_refuse(pending->env, &o, code, "partition %u: %s", p->info.id, why);
    }
}
