/* internal_calls.c - the list of calls, in the order of their beginning, and when a call asks which
 * node. */
#include "engine/node/core/internal_calls.h"

#include <stdlib.h>

#include "engine/catalog/table.h"
#include "engine/message/frames.h"
#include "engine/message/redirect.h"
#include "engine/message/request_traits.h"
#include "engine/node/core/node_effect.h"

enum {
    TIMEOUT_MS = 250,  /* without an answer: another node is asked, or the same node again */
    PAUSE_MS = 10,     /* after a refusal; doubles with each further refusal */
    PAUSE_DOUBLES = 4, /* at most so many times */
    LENGTH_SIZE = 4    /* before a frame */
};

struct internal_call {
    TAILQ_ENTRY(internal_call) entry;
    uint64_t id;
    enum request_op op;
    struct internal_call_options options;
    struct instant deadline;
    struct instant at; /* when the next node is asked, unless there is an answer before */
    uint32_t node;     /* that was asked last */
    uint32_t turn;     /* which candidate is next */
    uint32_t redirects;
    uint32_t pauses;
    uint32_t strangers; /* a bit per candidate that does not hold the partition */
    bool moved;
    size_t size;
    uint8_t frame[]; /* of the request */
};

void internal_calls_init(struct internal_calls *calls, struct node_env *env)
{
    calls->env = env;
    calls->at = INSTANT_NEVER;
    TAILQ_INIT(&calls->all);
}

static void internal_call_free(struct internal_calls *calls, struct internal_call *c)
{
    TAILQ_REMOVE(&calls->all, c, entry);
    id_map_remove(&calls->by_id, c->id);
    free(c);
}

void internal_calls_deinit(struct internal_calls *calls)
{
    while (!TAILQ_EMPTY(&calls->all))
        internal_call_free(calls, TAILQ_FIRST(&calls->all));
    id_map_deinit(&calls->by_id);
}

/* ---- asking ---- */

/* The call may end before its effect is taken: the effect has a copy of the frame. */
static void internal_call_send(struct internal_calls *calls, const struct internal_call *c)
{
    struct slice frame = arena_copy(&calls->env->lent, slice_make(c->frame, c->size));
    struct node_effect *e = env_push(calls->env, NODE_REQUEST);
    e->to = c->node;
    must(request_decode(frame, &e->request) == STATUS_OK);
}

static void internal_call_wait(struct internal_calls *calls, struct internal_call *c, int64_t ms)
{
    c->at = instant_earlier(instant_add_ms(calls->env->now, ms), c->deadline);
    calls->at = instant_earlier(calls->at, c->at);
}

static void internal_call_try(struct internal_calls *calls, struct internal_call *c, uint32_t node)
{
    c->moved |= c->node != 0 && c->node != node;
    c->node = node;
    internal_call_send(calls, c);
    if (c->options.once)
        internal_call_wait(calls, c, c->options.timeout.ns / NS_PER_MS);
    else
        internal_call_wait(calls, c, TIMEOUT_MS);
}

static uint32_t internal_call_next_node(const struct internal_calls *calls, struct internal_call *c)
{
    uint32_t count = c->options.candidate_count;
    if (count == 0)
        return c->node % calls->env->node_count + 1;
    uint32_t node = c->options.candidates[c->turn++ % count];
    return node != c->node ? node : c->options.candidates[c->turn++ % count];
}

_Static_assert((int)REPLICAS_MAX < (int)INTERNAL_CALL_CANDIDATES_MAX,
               "and the replica on its way out");

void internal_calls_to_leader(struct internal_call_options *options, const struct partition_info *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->member_count; i++)
        options->candidates[count++] = partition_node(p, i);
    if (p->leaving != 0)
        options->candidates[count++] = raft_member_node(p->leaving);
    options->candidate_count = count;
}

void internal_calls_begin(struct internal_calls *calls, const struct internal_call_options *options,
                          const struct request *request)
{
    struct buffer *b = &calls->env->scratch;
    struct request named = *request;
    must(options->candidate_count <= INTERNAL_CALL_CANDIDATES_MAX);
    named.id = ++calls->last_id;
    buffer_clear(b);
    request_encode(b, &named);
    struct internal_call *c = must_calloc(1, sizeof *c + b->size - LENGTH_SIZE);
    c->id = named.id;
    c->op = named.op;
    c->options = *options;
    c->deadline = instant_add(calls->env->now, options->timeout);
    c->size = b->size - LENGTH_SIZE;
    memcpy(c->frame, b->data + LENGTH_SIZE, c->size);
    TAILQ_INSERT_TAIL(&calls->all, c, entry);
    id_map_add(&calls->by_id, c->id, c);
    internal_call_try(calls, c,
                      options->first != 0 ? options->first : internal_call_next_node(calls, c));
}

void internal_calls_send(struct internal_calls *calls, uint32_t node, const struct request *request)
{
    struct node_effect *e = env_push(calls->env, NODE_REQUEST);
    e->to = node;
    e->request = *request;
}

/* ---- ending ---- */

static void internal_call_answer(struct internal_calls *calls, struct internal_call *c,
                                 const struct reply *reply, struct internal_call_answer *out)
{
    *out = (struct internal_call_answer){.kind = c->options.kind,
                                         .subject = c->options.subject,
                                         .token = c->options.token,
                                         .node = c->node,
                                         .moved = c->moved,
                                         .reply = reply};
    internal_call_free(calls, c);
}

static void internal_calls_end_some(struct internal_calls *calls, enum internal_call_kind kind,
                                    const uint32_t *subject)
{
    struct internal_call *next;
    for (struct internal_call *c = TAILQ_FIRST(&calls->all); c != NULL; c = next) {
        next = TAILQ_NEXT(c, entry);
        if (c->options.kind == kind && (subject == NULL || c->options.subject == *subject))
            internal_call_free(calls, c);
    }
}

void internal_calls_end(struct internal_calls *calls, enum internal_call_kind kind,
                        uint32_t subject)
{
    internal_calls_end_some(calls, kind, &subject);
}

void internal_calls_end_all(struct internal_calls *calls, enum internal_call_kind kind)
{
    internal_calls_end_some(calls, kind, NULL);
}

/* Whether none of the candidates holds the partition (CALLS-3). */
static bool internal_call_is_lost(struct internal_call *c, enum reply_code code)
{
    const uint32_t count = c->options.candidate_count;
    for (uint32_t i = 0; i < count && code == REPLY_WRONG_PARTITION; i++)
        c->strangers |= c->options.candidates[i] == c->node ? 1U << i : 0;
    return count > 0 && c->strangers == (1U << count) - 1;
}

/* Whether another node may do what this node cannot, or this node may do it later. */
static bool internal_call_goes_on(struct internal_call *c, enum reply_code code)
{
    if (internal_call_is_lost(c, code))
        return false;
    if (c->options.insists && code == REPLY_OVERLOADED)
        return true;
    return c->options.candidate_count != 1 &&
           (code == REPLY_NOT_LEADER || code == REPLY_WRONG_PARTITION || code == REPLY_STOPPED);
}

bool internal_calls_take_reply(struct internal_calls *calls, const struct reply *reply,
                               struct internal_call_answer *out)
{
    struct internal_call *c = reply->id == 0 ? NULL : id_map_find(&calls->by_id, reply->id);
    if (c == NULL || !reply_fits(reply, c->op))
        return false;
    if (!internal_call_goes_on(c, reply->code)) {
        internal_call_answer(calls, c, reply, out);
        return true;
    }
    uint32_t leader = redirect_to(reply->leader, c->node, calls->env->node_count);
    if (leader != 0 && c->redirects++ < REDIRECTS_MAX) {
        internal_call_try(calls, c, leader);
        return false;
    }
    uint32_t doubles = c->pauses < PAUSE_DOUBLES ? c->pauses++ : PAUSE_DOUBLES;
    internal_call_wait(calls, c, PAUSE_MS << doubles);
    return false;
}

bool internal_calls_tick(struct internal_calls *calls, struct internal_call_answer *out)
{
    static const struct reply UNANSWERED = {.code = REPLY_UNKNOWN};
    if (instant_before(calls->env->now, calls->at))
        return false;
    calls->at = INSTANT_NEVER;
    struct internal_call *c;
    TAILQ_FOREACH (c, &calls->all, entry) {
        if (!instant_before(calls->env->now, c->deadline)) {
            calls->at = calls->env->now; /* the calls after this one were not checked */
            internal_call_answer(calls, c, &UNANSWERED, out);
            return true;
        }
        if (!instant_before(calls->env->now, c->at)) {
            c->redirects = 0;
            internal_call_try(calls, c, internal_call_next_node(calls, c));
        } else {
            calls->at = instant_earlier(calls->at, c->at);
        }
    }
    return false;
}
