/* calls.c - the list of calls, in the order of their beginning, and when a call asks which node. */
#include "engine/node/calls.h"

#include <stdlib.h>

#include "engine/catalog/table.h"
#include "engine/message/frames.h"
#include "engine/message/redirect.h"
#include "engine/message/request_traits.h"
#include "engine/node/node_effect.h"

enum {
    SILENCE_MS = 250,  /* without an answer: another node is asked, or the same node again */
    PAUSE_MS = 10,     /* after a refusal; doubles with each further refusal */
    PAUSE_DOUBLES = 4, /* at most so many times */
    LENGTH_SIZE = 4    /* before a frame */
};

struct call {
    TAILQ_ENTRY(call) entry;
    uint64_t id;
    enum request_op op;
    struct call_options options;
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

void calls_init(struct calls *calls, struct node_env *env)
{
    calls->env = env;
    calls->at = INSTANT_NEVER;
    TAILQ_INIT(&calls->all);
}

static void call_free(struct calls *calls, struct call *c)
{
    TAILQ_REMOVE(&calls->all, c, entry);
    id_map_remove(&calls->by_id, c->id);
    free(c);
}

void calls_deinit(struct calls *calls)
{
    while (!TAILQ_EMPTY(&calls->all))
        call_free(calls, TAILQ_FIRST(&calls->all));
    id_map_deinit(&calls->by_id);
}

/* ---- asking ---- */

/* The call may end before its effect is taken: the effect has a copy of the frame. */
static void call_send(struct calls *calls, const struct call *c)
{
    struct slice frame = arena_copy(&calls->env->lent, slice_make(c->frame, c->size));
    struct node_effect *e = env_push(calls->env, NODE_REQUEST);
    e->to = c->node;
    must(request_decode(frame, &e->request) == STATUS_OK);
}

static void call_wait(struct calls *calls, struct call *c, int64_t ms)
{
    c->at = instant_earlier(instant_add_ms(calls->env->now, ms), c->deadline);
    calls->at = instant_earlier(calls->at, c->at);
}

static void call_ask(struct calls *calls, struct call *c, uint32_t node)
{
    c->moved |= c->node != 0 && c->node != node;
    c->node = node;
    call_send(calls, c);
    if (c->options.once)
        call_wait(calls, c, c->options.patience.ns / NS_PER_MS);
    else
        call_wait(calls, c, SILENCE_MS);
}

static uint32_t call_next_node(const struct calls *calls, struct call *c)
{
    uint32_t count = c->options.candidate_count;
    if (count == 0)
        return c->node % calls->env->node_count + 1;
    uint32_t node = c->options.candidates[c->turn++ % count];
    return node != c->node ? node : c->options.candidates[c->turn++ % count];
}

_Static_assert((int)REPLICAS_MAX < (int)CALL_CANDIDATES_MAX, "and the replica on its way out");

void calls_ask_leader(struct call_options *options, const struct partition_info *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->member_count; i++)
        options->candidates[count++] = partition_node(p, i);
    if (p->leaving != 0)
        options->candidates[count++] = raft_member_node(p->leaving);
    options->candidate_count = count;
}

void calls_begin(struct calls *calls, const struct call_options *options,
                 const struct request *request)
{
    struct buffer *b = &calls->env->scratch;
    struct request named = *request;
    must(options->candidate_count <= CALL_CANDIDATES_MAX);
    named.id = ++calls->last_id;
    buffer_clear(b);
    request_encode(b, &named);
    struct call *c = must_calloc(1, sizeof *c + b->size - LENGTH_SIZE);
    c->id = named.id;
    c->op = named.op;
    c->options = *options;
    c->deadline = instant_add(calls->env->now, options->patience);
    c->size = b->size - LENGTH_SIZE;
    memcpy(c->frame, b->data + LENGTH_SIZE, c->size);
    TAILQ_INSERT_TAIL(&calls->all, c, entry);
    id_map_add(&calls->by_id, c->id, c);
    call_ask(calls, c, options->first != 0 ? options->first : call_next_node(calls, c));
}

void calls_tell(struct calls *calls, uint32_t node, const struct request *request)
{
    struct node_effect *e = env_push(calls->env, NODE_REQUEST);
    e->to = node;
    e->request = *request;
}

/* ---- ending ---- */

static void call_answer(struct calls *calls, struct call *c, const struct reply *reply,
                        struct call_answer *out)
{
    *out = (struct call_answer){.kind = c->options.kind,
                                .subject = c->options.subject,
                                .token = c->options.token,
                                .node = c->node,
                                .moved = c->moved,
                                .reply = reply};
    call_free(calls, c);
}

static void calls_end_some(struct calls *calls, enum call_kind kind, const uint32_t *subject)
{
    struct call *next;
    for (struct call *c = TAILQ_FIRST(&calls->all); c != NULL; c = next) {
        next = TAILQ_NEXT(c, entry);
        if (c->options.kind == kind && (subject == NULL || c->options.subject == *subject))
            call_free(calls, c);
    }
}

void calls_end(struct calls *calls, enum call_kind kind, uint32_t subject)
{
    calls_end_some(calls, kind, &subject);
}

void calls_end_all(struct calls *calls, enum call_kind kind)
{
    calls_end_some(calls, kind, NULL);
}

/* Whether none of the candidates holds the partition (CALLS-3). */
static bool call_is_lost(struct call *c, enum reply_code code)
{
    const uint32_t count = c->options.candidate_count;
    for (uint32_t i = 0; i < count && code == REPLY_WRONG_PARTITION; i++)
        c->strangers |= c->options.candidates[i] == c->node ? 1U << i : 0;
    return count > 0 && c->strangers == (1U << count) - 1;
}

/* Whether another node may do what this node cannot, or this node may do it later. */
static bool call_goes_on(struct call *c, enum reply_code code)
{
    if (call_is_lost(c, code))
        return false;
    if (c->options.insists && code == REPLY_OVERLOADED)
        return true;
    return c->options.candidate_count != 1 &&
           (code == REPLY_NOT_LEADER || code == REPLY_WRONG_PARTITION || code == REPLY_STOPPED);
}

bool calls_take_reply(struct calls *calls, const struct reply *reply, struct call_answer *out)
{
    struct call *c = reply->id == 0 ? NULL : id_map_find(&calls->by_id, reply->id);
    if (c == NULL || !reply_fits(reply, c->op))
        return false;
    if (!call_goes_on(c, reply->code)) {
        call_answer(calls, c, reply, out);
        return true;
    }
    uint32_t leader = redirect_to(reply->leader, c->node, calls->env->node_count);
    if (leader != 0 && c->redirects++ < REDIRECTS_MAX) {
        call_ask(calls, c, leader);
        return false;
    }
    uint32_t doubles = c->pauses < PAUSE_DOUBLES ? c->pauses++ : PAUSE_DOUBLES;
    call_wait(calls, c, PAUSE_MS << doubles);
    return false;
}

bool calls_tick(struct calls *calls, struct call_answer *out)
{
    static const struct reply UNANSWERED = {.code = REPLY_UNKNOWN};
    if (instant_before(calls->env->now, calls->at))
        return false;
    calls->at = INSTANT_NEVER;
    struct call *c;
    TAILQ_FOREACH (c, &calls->all, entry) {
        if (!instant_before(calls->env->now, c->deadline)) {
            calls->at = calls->env->now; /* the calls after this one were not checked */
            call_answer(calls, c, &UNANSWERED, out);
            return true;
        }
        if (!instant_before(calls->env->now, c->at)) {
            c->redirects = 0;
            call_ask(calls, c, call_next_node(calls, c));
        } else {
            calls->at = instant_earlier(calls->at, c->at);
        }
    }
    return false;
}
