/* env.h - what all components of a node share: the node's id, the time of the event, the store,
 * and the effects that leave the node.
 *
 * A component is a struct with a header of its own. It holds pointers to the components below it,
 * never to a component above. It returns what happened. node.c composes all components and acts on
 * the results. */
#pragma once

#include "base/mutation.h"
#include "base/prng.h"
#include "engine/message/reply_code.h"
#include "engine/node/core/node_trace.h"
#include "engine/store/log_writer.h"
#include "engine/store/store.h"

struct config;
struct node_effect;
struct node_options;
struct operation;
struct reply;

enum {
    FROM_SELF = 0 /* the sender of the node's own requests */
};

struct node_env {
    const struct config *config; /* borrows */
    uint32_t id;                 /* 1 .. node_count */
    uint32_t node_count;
    struct store *store; /* owns */
    struct prng prng;
    bool started;
    int stop_error;     /* errno; 0: the node is not stopped */
    struct instant now; /* of the last event */
    int64_t wall_ms;    /* at wall_at */
    struct instant wall_at;
    int64_t agreed_ms; /* at agreed_at, by the clocks of most nodes; INT64_MIN / 2: not known */
    struct instant agreed_at;
    struct trace trace;

    /* effects that were not taken yet, and the memory that they lend */
    struct node_effect *effects; /* owns */
    size_t effect_count;
    size_t effect_next;
    size_t effect_capacity;
    struct arena lent; /* until the next event */
    struct buffer range_out;
    struct buffer scratch; /* copy its bytes before you call another function that uses it */
};

void env_init(struct node_env *env, const struct node_options *options, struct store *store);
void env_deinit(struct node_env *env);

/* An event begins: memory that the last event lent is reused. */
void env_begin_event(struct node_env *env, struct instant now);

/* Milliseconds since 1970, by this node's clock. No agreement between nodes rests on it, and
 * nothing is deleted or forgotten by it. */
static inline int64_t env_wall_ms(const struct node_env *env)
{
    return env->wall_ms + instant_since(env->now, env->wall_at).ns / NS_PER_MS;
}

/* What the clocks of most nodes have reached (CLOCKS-1). While most nodes have not been heard since
 * the start, this time is long ago. */
static inline int64_t env_majority_ms(const struct node_env *env)
{
    return env->agreed_ms + instant_since(env->now, env->agreed_at).ns / NS_PER_MS;
}

/* The time by which data is deleted and forgotten: what both this node's clock and those of most
 * nodes have reached. A clock that is ahead deletes nothing early. */
static inline int64_t env_agreed_ms(const struct node_env *env)
{
    const int64_t own = env_wall_ms(env), majority = env_majority_ms(env);
    return majority < own && !MUTATED(MUTATION_OWN_CLOCK) ? majority : own;
}

/* The time that is noted with data, for people, and for deleting it when it is old: no earlier than
 * what most clocks have reached. What a clock that is behind notes is not deleted early. */
static inline int64_t env_stamp_ms(const struct node_env *env)
{
    const int64_t own = env_wall_ms(env), majority = env_majority_ms(env);
    return MAX(majority, own);
}

static inline void env_note(struct node_env *env, enum node_trace kind, uint32_t subject,
                            int64_t value)
{
    trace_add(&env->trace, env->now, kind, subject, value);
}

/* A copy of the scratch buffer that lends until the next event. */
static inline struct slice env_lend_scratch(struct node_env *env)
{
    return arena_copy(&env->lent, buffer_slice(&env->scratch));
}

struct node_effect *env_push(struct node_env *env, enum node_effect_kind kind);
/* Replies to `from`. A reply to FROM_SELF comes back as an event of this node. */
struct reply *env_reply_to(struct node_env *env, uint64_t from, uint64_t request_id,
                           enum reply_code code);
struct reply *env_reply(struct node_env *env, const struct operation *o, enum reply_code code);
/* The same with a text, formatted into memory that lends until the next event. */
struct reply *env_refuse(struct node_env *env, const struct operation *o, enum reply_code code,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Stops the node: it writes nothing and gives no support any more. node.c answers the requests in
 * flight. */
void env_stop(struct node_env *env, int error);
