/* env.c - the effects of an event, and the memory that they lend. */
#include "engine/node/core/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/message/message.h"
#include "engine/node/core/node_effect.h"
#include "engine/node/core/node_operation.h"

enum {
    EFFECTS_KEPT = 1024 /* a larger array is freed at the next event */
};

void env_init(struct node_env *env, const struct node_options *options, struct store *store)
{
    env->config = options->config;
    env->id = options->id;
    env->node_count = options->node_count;
    env->store = store;
    env->prng = prng_seeded(options->seed);
}

void env_deinit(struct node_env *env)
{
    free(env->effects);
    arena_deinit(&env->lent);
    buffer_deinit(&env->range_out);
    buffer_deinit(&env->scratch);
    store_destroy(env->store);
}

void env_begin_event(struct node_env *env, struct instant now)
{
    must(env->started);
    must(!instant_before(now, env->now));
    must(env->effect_next == env->effect_count); /* all effects were taken */
    env->now = now;
    env->effect_count = env->effect_next = 0;
    if (env->effect_capacity > EFFECTS_KEPT) {
        free(env->effects);
        env->effects = NULL;
        env->effect_capacity = 0;
    }
    arena_reset(&env->lent);
    if (env->store != NULL) /* tests of single components have none */
        store_release(env->store);
    buffer_clear(&env->range_out);
}

struct node_effect *env_push(struct node_env *env, enum node_effect_kind kind)
{
    env->effects =
        must_grow(env->effects, env->effect_count, &env->effect_capacity, sizeof env->effects[0]);
    struct node_effect *e = &env->effects[env->effect_count++];
    memset(e, 0, sizeof *e);
    e->kind = kind;
    return e;
}

struct reply *env_reply_to(struct node_env *env, uint64_t from, uint64_t request_id,
                           enum reply_code code)
{
    struct node_effect *e = env_push(env, NODE_REPLY);
    e->to = from;
    e->reply.id = request_id;
    e->reply.code = code;
    return &e->reply;
}

struct reply *env_reply(struct node_env *env, const struct operation *o, enum reply_code code)
{
    return env_reply_to(env, o->from, o->request.id, code);
}

struct reply *env_refuse(struct node_env *env, const struct operation *o, enum reply_code code,
                         const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct slice copy = arena_copy(&env->lent, slice_of(text));
    struct reply *reply = env_reply(env, o, code);
    reply->text = copy;
    env_note(env, NODE_TRACE_REFUSED, code, (int64_t)o->request.id);
    return reply;
}

void env_stop(struct node_env *env, int error)
{
    env->stop_error = error;
    env_note(env, NODE_TRACE_STOPPED, 0, error);
}
