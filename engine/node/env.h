/* env.h - what every component of a node has at hand: who the node is, the time of the event, the
 * store, and the effects that leave the node.
 *
 * A component is a struct with a header of its own. It holds pointers to the components below it,
 * never to one above: what happened is returned, and node.c, which composes them all, acts on it. */
#ifndef WEIR_ENGINE_NODE_ENV_H
#define WEIR_ENGINE_NODE_ENV_H

#include "base/prng.h"
#include "engine/node/node_effect.h"
#include "engine/node/operation.h"
#include "engine/store/log_writer.h"
#include "engine/store/store.h"

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
    struct trace trace;

    /* effects that were not taken yet, and what they lend */
    struct node_effect *effects; /* owns */
    size_t effect_count;
    size_t effect_next;
    size_t effect_capacity;
    struct arena lent; /* until the next event */
    struct buffer range_out;
    struct buffer scratch; /* for one function's use: no other function is called meanwhile */
};

void env_init(struct node_env *env, const struct node_options *options, struct store *store);
void env_deinit(struct node_env *env);

/* An event begins: what the last event lent is given back. */
void env_begin_event(struct node_env *env, struct instant now);

/* Milliseconds since 1970, for dates that people read. */
static inline int64_t env_wall_ms(const struct node_env *env)
{
    return env->wall_ms + instant_since(env->now, env->wall_at).ns / NS_PER_MS;
}

static inline void env_note(struct node_env *env, enum node_trace kind, uint32_t subject,
                            int64_t value)
{
    trace_add(&env->trace, env->now, kind, subject, value);
}

struct node_effect *env_push(struct node_env *env, enum node_effect_kind kind);
/* Replies to `from`; FROM_SELF comes back as an event of this node's own. */
struct reply *env_reply_to(struct node_env *env, uint64_t from, uint64_t request_id,
                           enum reply_code code);
struct reply *env_reply(struct node_env *env, const struct operation *o, enum reply_code code);
/* The same with a text, formatted into memory that lends until the next event. */
struct reply *env_refuse(struct node_env *env, const struct operation *o, enum reply_code code,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The node writes nothing any more, and promises nothing. node.c answers what is in flight. */
void env_stop(struct node_env *env, int error);

#endif
