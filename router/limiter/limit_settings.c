/* limit_settings.c - PUT, GET and DELETE of limits and of entities' parents, and reset.
 *
 * The first change creates the limiter's table. New limits of one bucket are sent to all its shards
 * at once. Those of other scopes reach a shard when it is used next. */
#include "router/json/json_writer.h"
#include "router/limiter/limiter_call.h"
#include "router/limiter/limiter_operations.h"
#include "router/operations/table_description.h"

enum setting_step {
    SETTING_BEGIN = 0,
    SETTING_AWAIT,  /* the table is asked for */
    SETTING_CREATE, /* it is created */
    SETTING_EXPIRE, /* its items shall expire */
    SETTING_ROUTE,  /* its map is asked for */
    SETTING_WRITE,
    SETTING_READ,
    SETTING_SEND_SHARDS, /* shards are read, and get the limits */
};

enum setting_kind {
    SETTING_PUT,
    SETTING_GET,
    SETTING_DELETE,
    SETTING_RESET
};

struct setting {
    struct limiter_call limiter_call; /* must be first */
    enum setting_kind kind;
    struct bucket_name name;
    enum limit_scope scope;
    struct limit_scope_item change;
    enum setting_step step;
    bool table_busy;    /* the table is being changed */
    bool table_ready;   /* it can be used */
    bool lacks_expiry;  /* its items do not expire yet */
    bool table_missing; /* there is no table */
    uint32_t tries;
    struct slice item; /* of the scope; in the arena */
};

enum {
    TABLE_TRIES_MAX = 2000 /* retries until the table can be used */
};

_Static_assert(offsetof(struct setting, limiter_call) == 0, "call->state is a limiter_call");

/* ---- the table ---- */

static void table_await(struct call *c)
{
    struct setting *t = c->state;
    t->step = SETTING_AWAIT;
    t->limiter_call.step = LIMITER_CALL_OWN_STEP;
    call_get_table(c, slice_of(LIMITER_TABLE));
}

static void table_change(struct call *c, enum setting_step step, enum request_op op,
                         const struct table_spec *spec)
{
    struct setting *t = c->state;
    struct buffer bytes = {0};
    t->step = step;
    t->limiter_call.step = LIMITER_CALL_OWN_STEP;
    table_spec_encode(&bytes, spec);
    struct subrequest *s = call_request(c, NULL, op);
    s->request.table.name = spec->name;
    s->request.table.spec = arena_take(&c->arena, &bytes);
    subrequest_start(c->router, s);
}

static void table_create(struct call *c)
{
    const struct table_spec spec = {.name = slice_of(LIMITER_TABLE),
                                    .partition_key = {.name = slice_of("PK"), .type = ATTR_STRING},
                                    .sort_key = {.name = slice_of("SK"), .type = ATTR_STRING},
                                    .billing = BILLING_ON_DEMAND};
    table_change(c, SETTING_CREATE, REQUEST_TABLE_CREATE, &spec);
}

static void table_expire(struct call *c)
{
    const struct table_spec spec = {.name = slice_of(LIMITER_TABLE),
                                    .ttl = TTL_ENABLING,
                                    .ttl_attribute = slice_of(LIMITER_TTL_ATTRIBUTE)};
    table_change(c, SETTING_EXPIRE, REQUEST_TABLE_UPDATE, &spec);
}

static bool table_reply(struct call *c, const struct subrequest *s, const struct reply *r)
{
    struct setting *t = c->state;
    struct table table;
    t->table_busy = t->table_ready = t->table_missing = t->lacks_expiry = false;
    /* INVALID: another request has had its items expire meanwhile. */
    if (r->code == REPLY_TABLE_BUSY || r->code == REPLY_TABLE_EXISTS ||
        (t->step == SETTING_EXPIRE && r->code == REPLY_TABLE_INVALID) ||
        (t->step != SETTING_AWAIT && r->code == REPLY_OK)) {
        t->table_busy = true;
        return true;
    }
    if (r->code == REPLY_TABLE_NOT_FOUND) {
        t->table_missing = true;
        return true;
    }
    if (!table_take_reply(c, s, r, &table))
        return false;
    t->table_busy = table.status != TABLE_ACTIVE;
    t->lacks_expiry = !t->table_busy && table.ttl == TTL_DISABLED;
    t->table_ready = !t->table_busy && !t->lacks_expiry;
    return true;
}

static void setting_send(struct call *c, enum setting_step step);

static bool table_continue(struct call *c)
{
    struct setting *t = c->state;
    if (++t->tries > TABLE_TRIES_MAX)
        return fault_set(call_fault(c), FAULT_UNAVAILABLE,
                         "The table " LIMITER_TABLE " is being changed: try again");
    if (t->table_missing) {
        table_create(c);
    } else if (t->lacks_expiry) {
        table_expire(c);
    } else if (t->table_ready) {
        t->step = SETTING_ROUTE;
        t->limiter_call.step = LIMITER_CALL_OWN_STEP;
        call_find_table(c, slice_of(LIMITER_TABLE), &t->limiter_call.table,
                        &t->limiter_call.table_absent);
        if (t->limiter_call.table != NULL) /* another call has had it found */
            setting_send(c, SETTING_WRITE);
        /* Otherwise `finish` comes again once it is there. */
    } else {
        t->step = SETTING_BEGIN; /* setting_plan comes after the retry timer */
        limiter_call_retry(c);
    }
    return true;
}

/* ---- items of scopes ---- */

static void setting_send(struct call *c, enum setting_step step)
{
    struct setting *t = c->state;
    struct item_place place;
    must(t->limiter_call.table != NULL);
    must((step == SETTING_READ) == (t->kind == SETTING_GET));
    t->step = step;
    t->limiter_call.step = LIMITER_CALL_OWN_STEP;
    item_place_of_scope(c, &t->limiter_call.table->table, &t->name, t->scope, &place);
    struct subrequest *s =
        call_request(c, t->limiter_call.table, step == SETTING_READ ? REQUEST_GET : REQUEST_UPDATE);
    if (step == SETTING_READ) {
        s->request.get.key = place.key;
        s->request.get.consistent = true;
    } else {
        s->request.write.key = place.key;
        s->request.write.item = place.item;
        s->request.write.update = limit_scope_change(c, t->scope, &t->change);
        s->request.write.return_values = RETURN_NEW;
    }
    subrequest_start(c->router, s);
}

static bool setting_scope_reply(struct call *c, const struct subrequest *s, const struct reply *r)
{
    struct setting *t = c->state;
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    if (r->kind == ANSWER_ITEM && r->item.found)
        t->item = arena_copy(&c->arena, r->item.bytes);
    return true;
}

/* ---- shards ---- */

static bool setting_answer(struct call *c);

/* All shards of the bucket were read: each gets the limits, or is filled. */
static bool setting_send_shards(struct call *c)
{
    struct setting *t = c->state;
    struct limiter_call *s = &t->limiter_call;
    must(s->chain_count > 0);
    must(t->kind != SETTING_GET);
    struct cached_bucket *b = s->chain[0];
    if (b->limits.count == 0)
        return setting_answer(c);
    t->limiter_call.step = LIMITER_CALL_OWN_STEP;
    t->step = SETTING_SEND_SHARDS;
    const enum limiter_verb verb = t->kind == SETTING_RESET ? LIMITER_RESET : LIMITER_CONFIGURE;
    for (uint32_t i = 0; i < bucket_shard_count(b); i++) {
        struct limiter_command command;
        shard_command_begin(c->router, b, verb, i, &command);
        shard_command_send(c, b, &command, i, slice_make(NULL, 0), 0);
    }
    return true;
}

static bool setting_shard_reply(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct setting *t = c->state;
    struct shard_command_result e;
    shard_command_reply(c, t->limiter_call.chain[0], sub->index, 1000, sub, r, &e);
    /* A shard may refuse: then it needs nothing. Throttled or expired, the command must be sent
     * again. */
    const bool done = e.end == CHARGE_DONE ||
                      (e.end == CHARGE_REFUSED && !e.throttled && e.refusal != LIMITER_EXPIRED);
    return done || fault_set(call_fault(c), FAULT_UNAVAILABLE,
                             "Not all shards of the bucket could be changed: try again");
}

/* ---- the answer ---- */

static bool setting_answer(struct call *c)
{
    struct setting *t = c->state;
    struct limit_scope_item item;
    limit_scope_read(t->item, &item);
    if (t->kind == SETTING_GET && item.limits.count == 0 && item.parent.size == 0)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         t->scope == LIMIT_SCOPE_PARENT ? "The entity has no parent"
                                                        : "No limits are set at this level");
    json_write_open(&c->body, '{');
    if (t->kind == SETTING_RESET) {
        json_member_bool(&c->body, "done", true);
    } else if (t->scope == LIMIT_SCOPE_PARENT) {
        json_member_string(&c->body, "entity", t->name.entity);
        if (item.parent.size > 0)
            json_member_string(&c->body, "parent", item.parent);
        json_member_bool(&c->body, "cascade", item.parent.size > 0 && item.cascade);
    } else {
        json_member_text(&c->body, "level", limit_scope_name(t->scope));
        limit_scope_write_limits(&c->body, &item.limits);
        if (item.on_unavailable != ON_UNAVAILABLE_UNSET)
            json_member_text(&c->body, "on_unavailable",
                             item.on_unavailable == ON_UNAVAILABLE_ALLOW ? "allow" : "block");
    }
    json_write_close(&c->body, '}');
    return true;
}

/* ---- steps ---- */

static bool setting_plan(struct call *c)
{
    struct setting *t = c->state;
    const bool writes = t->kind == SETTING_PUT || t->kind == SETTING_DELETE;
    if (t->kind == SETTING_RESET || t->step == SETTING_WRITE) {
        limiter_call_read_shards(c, t->limiter_call.chain[0]);
        return true;
    }
    if (t->limiter_call.table != NULL)
        setting_send(c, writes ? SETTING_WRITE : SETTING_READ);
    else if (t->kind == SETTING_PUT)
        table_await(c);
    else
        return setting_answer(c);
    return true;
}

static bool setting_shards_read(struct call *c)
{
    struct setting *t = c->state;
    struct cached_bucket *b = t->limiter_call.chain[0];
    if (bucket_shard_count(b) > t->tries && t->tries < LIMITER_SHARDS_MAX) {
        t->tries = bucket_shard_count(b); /* shard 0 has more shards in its map */
        limiter_call_read_shards(c, b);
        return true;
    }
    return setting_send_shards(c);
}

static bool setting_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    const struct setting *t = c->state;
    switch (t->step) {
    case SETTING_AWAIT:
    case SETTING_CREATE:
    case SETTING_EXPIRE:
        return table_reply(c, s, r);
    case SETTING_WRITE:
    case SETTING_READ:
        return setting_scope_reply(c, s, r);
    case SETTING_SEND_SHARDS:
        return setting_shard_reply(c, s, r);
    default:
        return true;
    }
}

static bool setting_finish(struct call *c)
{
    struct setting *t = c->state;
    switch (t->step) {
    case SETTING_AWAIT:
    case SETTING_CREATE:
    case SETTING_EXPIRE:
        return table_continue(c);
    case SETTING_ROUTE:
        if (t->limiter_call.table == NULL)
            table_await(c);
        else
            setting_send(c, SETTING_WRITE);
        return true;
    case SETTING_WRITE:
        limiter_expire_limits(c->router, &t->name);
        if (t->scope != LIMIT_SCOPE_ENTITY_RESOURCE)
            return setting_answer(c);
        t->tries = 0;
        t->limiter_call.force_refresh = true; /* the new limits, and then the shards */
        limiter_call_add_bucket(c, &t->name);
        return limiter_call_continue(c);
    default:
        return setting_answer(c);
    }
}

static bool setting_failed(UNUSED struct call *c)
{
    return false; /* the fault says why shards cannot be read */
}

static const struct limiter_call_handlers setting_handlers = {.plan = setting_plan,
                                                              .charge_ended = setting_failed,
                                                              .shards_read = setting_shards_read,
                                                              .reply = setting_reply,
                                                              .finish = setting_finish,
                                                              .allows_no_limits = true,
                                                              .no_deadline = true,
                                                              .no_parents = true};

/* ---- requests ---- */

static enum limit_scope limit_scope_of(const struct bucket_name *name)
{
    return name->entity.size > 0 && name->resource.size > 0 ? LIMIT_SCOPE_ENTITY_RESOURCE
           : name->entity.size > 0                          ? LIMIT_SCOPE_ENTITY
           : name->resource.size > 0                        ? LIMIT_SCOPE_RESOURCE
                                                            : LIMIT_SCOPE_SYSTEM;
}

/* Beside a kind: the operation is about an entity's parent, not about limits. */
enum {
    OF_ENTITY = 16
};

static struct setting *setting_create(struct call *c)
{
    struct setting *t = arena_zalloc(&c->arena, sizeof *t);
    t->kind = (enum setting_kind)(c->operation->variant & ~OF_ENTITY);
    return t;
}

static bool put_limits_begin(struct call *c, const struct json_value body[])
{
    static const char *const NAMES[] = {"namespace", "entity",         "resource",
                                        "limits",    "on_unavailable", NULL};
    struct setting *t = setting_create(c);
    struct limiter_request w;
    if (!limiter_request_body(&w, c, body) || !limiter_request_check_names(&w, NAMES) ||
        !limiter_request_namespace(&w, &t->name.name_space) ||
        !limiter_request_name(&w, "entity", false, &t->name.entity) ||
        !limiter_request_name(&w, "resource", false, &t->name.resource) ||
        !limiter_request_limits(&w, &t->change.limits) ||
        !limiter_request_on_unavailable(&w, &t->change.on_unavailable))
        return false;
    t->scope = limit_scope_of(&t->name);
    limiter_call_begin(c, &t->limiter_call, &setting_handlers, NULL);
    return true;
}

static bool setting_query_begin(struct call *c, UNUSED const struct json_value unused[])
{
    static const char *const LIMITS[] = {"namespace", "entity", "resource", NULL};
    static const char *const ENTITIES[] = {"namespace", "entity", NULL};
    const bool of_entity = (c->operation->variant & OF_ENTITY) != 0;
    struct setting *t = setting_create(c);
    struct limiter_request w;
    if (!limiter_request_query(&w, c) ||
        !limiter_request_check_names(&w, of_entity ? ENTITIES : LIMITS) ||
        !limiter_request_namespace(&w, &t->name.name_space) ||
        !limiter_request_name(&w, "entity", of_entity, &t->name.entity) ||
        (!of_entity && !limiter_request_name(&w, "resource", false, &t->name.resource)))
        return false;
    t->scope = of_entity ? LIMIT_SCOPE_PARENT : limit_scope_of(&t->name);
    limiter_call_begin(c, &t->limiter_call, &setting_handlers, NULL);
    return true;
}

static bool put_entity_begin(struct call *c, const struct json_value body[])
{
    static const char *const NAMES[] = {"namespace", "entity", "parent", "cascade", NULL};
    struct setting *t = setting_create(c);
    struct limiter_request w;
    if (!limiter_request_body(&w, c, body) || !limiter_request_check_names(&w, NAMES) ||
        !limiter_request_namespace(&w, &t->name.name_space) ||
        !limiter_request_name(&w, "entity", true, &t->name.entity) ||
        !limiter_request_name(&w, "parent", true, &t->change.parent))
        return false;
    const struct json_value cascade = json_find(body, "cascade");
    if (cascade.type != JSON_ABSENT && cascade.type != JSON_BOOL)
        return limiter_error_invalid(c, "cascade", "true or false is expected");
    t->change.cascade = cascade.type == JSON_ABSENT || json_bool(&cascade);
    if (slice_equal(t->change.parent, t->name.entity))
        return limiter_error_invalid(c, "parent", "an entity cannot be its own parent");
    t->scope = LIMIT_SCOPE_PARENT;
    limiter_call_begin(c, &t->limiter_call, &setting_handlers, NULL);
    return true;
}

static bool reset_begin(struct call *c, const struct json_value body[])
{
    static const char *const NAMES[] = {"namespace", "entity", "resource", NULL};
    struct setting *t = setting_create(c);
    struct limiter_request w;
    static const struct limiter_call_handlers setting_reset_handlers = {
        .plan = setting_plan,
        .charge_ended = setting_failed,
        .shards_read = setting_shards_read,
        .reply = setting_reply,
        .finish = setting_finish,
        .no_deadline = true,
        .no_parents = true};
    if (!limiter_request_body(&w, c, body) || !limiter_request_check_names(&w, NAMES) ||
        !limiter_request_bucket(&w, &t->name))
        return false;
    limiter_call_begin(c, &t->limiter_call, &setting_reset_handlers, &t->name);
    return true;
}

LIMITER_OPERATION(set_limits, "LimiterSetLimits", .begin = put_limits_begin, .variant = SETTING_PUT,
                  LIMITER_CALL_OPERATION);
LIMITER_OPERATION(get_limits, "LimiterGetLimits", .begin = setting_query_begin,
                  .variant = SETTING_GET, LIMITER_CALL_OPERATION);
LIMITER_OPERATION(delete_limits, "LimiterDeleteLimits", .begin = setting_query_begin,
                  .variant = SETTING_DELETE, LIMITER_CALL_OPERATION);
LIMITER_OPERATION(set_entity, "LimiterSetEntity", .begin = put_entity_begin,
                  .variant = SETTING_PUT | OF_ENTITY, LIMITER_CALL_OPERATION);
LIMITER_OPERATION(get_entity, "LimiterGetEntity", .begin = setting_query_begin,
                  .variant = SETTING_GET | OF_ENTITY, LIMITER_CALL_OPERATION);
LIMITER_OPERATION(delete_entity, "LimiterDeleteEntity", .begin = setting_query_begin,
                  .variant = SETTING_DELETE | OF_ENTITY, LIMITER_CALL_OPERATION);
LIMITER_OPERATION(reset, "LimiterReset", .begin = reset_begin, .variant = SETTING_RESET,
                  LIMITER_CALL_OPERATION);
