/* settings.c - PUT, GET and DELETE of limits and of entities' parents, and reset.
 *
 * The first change makes the limiter's table. New limits of one bucket are told to all its shards at
 * once. Those of other levels reach a shard when it is used next. */
#include "router/json/json_writer.h"
#include "router/limiter/pages.h"
#include "router/limiter/session.h"
#include "router/operations/table_description.h"

enum setting_step {
    SETTING_BEGIN = 0,
    SETTING_AWAIT,  /* is the table there? */
    SETTING_CREATE, /* it is made */
    SETTING_EXPIRE, /* its items shall expire */
    SETTING_ROUTE,  /* its map is asked for */
    SETTING_WRITE,
    SETTING_READ,
    SETTING_TELL, /* shards are read, and told */
};

enum setting_kind {
    SETTING_PUT,
    SETTING_GET,
    SETTING_DELETE,
    SETTING_RESET
};

struct setting {
    struct session session; /* must be first */
    enum setting_kind kind;
    struct bucket_name name;
    enum level level;
    struct level_item to;
    enum setting_step step;
    bool waits;        /* the table is being changed */
    bool there;        /* it can be used */
    bool lacks_expiry; /* its items do not expire yet */
    bool lacks;        /* there is no table */
    uint32_t rounds;
    struct slice item; /* of the level; in the arena */
};

enum {
    ROUNDS_MAX = 2000 /* pauses until the table can be used */
};

/* ---- the table ---- */

static void table_ask(struct call *c)
{
    struct setting *t = c->state;
    t->step = SETTING_AWAIT;
    t->session.step = SESSION_OWN;
    call_get_table(c, slice_of(LIMITER_TABLE));
}

static void table_change(struct call *c, enum setting_step step, enum request_op op,
                         const struct table_spec *spec)
{
    struct setting *t = c->state;
    struct buffer bytes = {0};
    t->step = step;
    t->session.step = SESSION_OWN;
    table_spec_encode(&bytes, spec);
    struct subrequest *s = call_request(c, NULL, op);
    s->request.table.name = spec->name;
    s->request.table.spec = arena_copy(&c->arena, buffer_slice(&bytes));
    buffer_deinit(&bytes);
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

static bool table_took(struct call *c, const struct subrequest *s, const struct reply *r)
{
    struct setting *t = c->state;
    struct table table;
    t->waits = t->there = t->lacks = t->lacks_expiry = false;
    /* INVALID: another request has had its items expire meanwhile. */
    if (r->code == REPLY_TABLE_BUSY || r->code == REPLY_TABLE_EXISTS ||
        (t->step == SETTING_EXPIRE && r->code == REPLY_TABLE_INVALID) ||
        (t->step != SETTING_AWAIT && r->code == REPLY_OK)) {
        t->waits = true;
        return true;
    }
    if (r->code == REPLY_TABLE_NOT_FOUND) {
        t->lacks = true;
        return true;
    }
    if (!table_take_reply(c, s, r, &table))
        return false;
    t->waits = table.status != TABLE_ACTIVE;
    t->lacks_expiry = !t->waits && table.ttl == TTL_DISABLED;
    t->there = !t->waits && !t->lacks_expiry;
    return true;
}

static bool table_go_on(struct call *c)
{
    struct setting *t = c->state;
    if (++t->rounds > ROUNDS_MAX)
        return fault_set(call_fault(c), FAULT_UNAVAILABLE,
                         "The table " LIMITER_TABLE " is being changed: try again");
    if (t->lacks) {
        table_create(c);
    } else if (t->lacks_expiry) {
        table_expire(c);
    } else if (t->there) {
        t->step = SETTING_ROUTE;
        t->session.step = SESSION_OWN; /* `finish` comes again once it is there */
        call_look_for_table(c, slice_of(LIMITER_TABLE), &t->session.table, &t->session.absent);
    } else {
        t->step = SETTING_BEGIN; /* setting_known comes after the pause */
        session_pause(c);
    }
    return true;
}

/* ---- items of levels ---- */

static void level_send(struct call *c, enum setting_step step)
{
    struct setting *t = c->state;
    struct place place;
    t->step = step;
    t->session.step = SESSION_OWN;
    place_of_level(c, &t->session.table->table, &t->name, t->level, &place);
    struct subrequest *s =
        call_request(c, t->session.table, step == SETTING_READ ? REQUEST_GET : REQUEST_UPDATE);
    if (step == SETTING_READ) {
        s->request.get.key = place.key;
        s->request.get.consistent = true;
    } else {
        s->request.write.key = place.key;
        s->request.write.item = place.item;
        s->request.write.update = level_change(c, t->level, &t->to);
        s->request.write.want = WANT_NEW;
    }
    subrequest_start(c->router, s);
}

static bool level_took(struct call *c, const struct subrequest *s, const struct reply *r)
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
static bool setting_tell(struct call *c)
{
    struct setting *t = c->state;
    struct session *s = &t->session;
    struct known_bucket *b = s->chain[0];
    if (b->limits.count == 0)
        return setting_answer(c);
    t->session.step = SESSION_OWN;
    t->step = SETTING_TELL;
    const enum limiter_verb verb = t->kind == SETTING_RESET ? LIMITER_RESET : LIMITER_CONFIGURE;
    for (uint32_t i = 0; i < bucket_count(b); i++) {
        struct limiter_command command;
        command_begin(c->router, b, verb, i, &command);
        command_send(c, b, &command, i, slice_make(NULL, 0), 0);
    }
    return true;
}

static bool tell_took(struct call *c, const struct subrequest *sub, const struct reply *r)
{
    struct setting *t = c->state;
    struct command_end e;
    command_took(c, t->session.chain[0], sub->index, 1000, sub, r, &e);
    /* What the shard is, it may refuse: then it needs nothing. Throttled or late, it was not told. */
    const bool told = e.end == CHARGE_DONE ||
                      (e.end == CHARGE_REFUSED && !e.throttled && e.refusal != LIMITER_EXPIRED);
    return told || fault_set(call_fault(c), FAULT_UNAVAILABLE,
                             "Not all shards of the bucket could be told: try again");
}

/* ---- the answer ---- */

static bool setting_answer(struct call *c)
{
    struct setting *t = c->state;
    struct level_item item;
    level_read(t->item, &item);
    if (t->kind == SETTING_GET && item.limits.count == 0 && item.parent.size == 0)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         t->level == LEVEL_META ? "The entity has no parent"
                                                : "No limits are set at this level");
    json_write_open(&c->body, '{');
    if (t->kind == SETTING_RESET) {
        json_member_bool(&c->body, "done", true);
    } else if (t->level == LEVEL_META) {
        json_member_string(&c->body, "entity", t->name.entity);
        if (item.parent.size > 0)
            json_member_string(&c->body, "parent", item.parent);
        json_member_bool(&c->body, "cascade", item.parent.size > 0 && item.cascade);
    } else {
        json_member_text(&c->body, "level", level_name(t->level));
        level_write_limits(&c->body, &item.limits);
        if (item.on_unavailable != ON_UNAVAILABLE_UNSAID)
            json_member_text(&c->body, "on_unavailable",
                             item.on_unavailable == ON_UNAVAILABLE_ALLOW ? "allow" : "block");
    }
    json_write_close(&c->body, '}');
    return true;
}

/* ---- steps ---- */

static bool setting_known(struct call *c)
{
    struct setting *t = c->state;
    const bool writes = t->kind == SETTING_PUT || t->kind == SETTING_DELETE;
    if (t->kind == SETTING_RESET || t->step == SETTING_WRITE) {
        session_read(c, t->session.chain[0]);
        return true;
    }
    if (t->session.table != NULL)
        level_send(c, writes ? SETTING_WRITE : SETTING_READ);
    else if (t->kind == SETTING_PUT)
        table_ask(c);
    else
        return setting_answer(c);
    return true;
}

static bool setting_read(struct call *c)
{
    struct setting *t = c->state;
    struct known_bucket *b = t->session.chain[0];
    if (bucket_count(b) > t->rounds && t->rounds < LIMITER_SHARDS_MAX) {
        t->rounds = bucket_count(b); /* shard 0 has told of more */
        session_read(c, b);
        return true;
    }
    return setting_tell(c);
}

static bool setting_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    const struct setting *t = c->state;
    switch (t->step) {
    case SETTING_AWAIT:
    case SETTING_CREATE:
    case SETTING_EXPIRE:
        return table_took(c, s, r);
    case SETTING_WRITE:
    case SETTING_READ:
        return level_took(c, s, r);
    case SETTING_TELL:
        return tell_took(c, s, r);
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
        return table_go_on(c);
    case SETTING_ROUTE:
        if (t->session.table == NULL)
            table_ask(c);
        else
            level_send(c, SETTING_WRITE);
        return true;
    case SETTING_WRITE:
        limiter_forget_limits(c->router, &t->name);
        if (t->level != LEVEL_ENTITY_RESOURCE)
            return setting_answer(c);
        t->rounds = 0;
        t->session.fresh = true; /* the new limits, and then the shards */
        session_add(c, &t->name);
        return session_go_on(c);
    default:
        return setting_answer(c);
    }
}

static bool setting_charged(struct call *c)
{
    (void)c;
    return false; /* the fault says why shards cannot be read */
}

static const struct session_work WORK = {.known = setting_known,
                                         .charged = setting_charged,
                                         .read = setting_read,
                                         .reply = setting_reply,
                                         .finish = setting_finish,
                                         .lenient = true,
                                         .patient = true,
                                         .no_parents = true};

/* ---- requests ---- */

static enum level level_of(const struct bucket_name *name)
{
    return name->entity.size > 0 && name->resource.size > 0 ? LEVEL_ENTITY_RESOURCE
           : name->entity.size > 0                          ? LEVEL_ENTITY
           : name->resource.size > 0                        ? LEVEL_RESOURCE
                                                            : LEVEL_SYSTEM;
}

static struct setting *setting_create(struct call *c, enum setting_kind kind)
{
    struct setting *t = arena_zalloc(&c->arena, sizeof *t);
    t->kind = kind;
    return t;
}

static bool put_limits_begin(struct call *c, const struct json_value body[])
{
    static const char *const NAMES[] = {"namespace", "entity",         "resource",
                                        "limits",    "on_unavailable", NULL};
    struct setting *t = setting_create(c, SETTING_PUT);
    struct words w;
    if (!words_body(&w, c, body) || !words_only(&w, NAMES) || !words_space(&w, &t->name.space) ||
        !words_name(&w, "entity", false, &t->name.entity) ||
        !words_name(&w, "resource", false, &t->name.resource) ||
        !level_words_limits(&w, &t->to.limits) || !words_on_unavailable(&w, &t->to.on_unavailable))
        return false;
    t->level = level_of(&t->name);
    session_begin(c, &t->session, &WORK, NULL);
    return true;
}

static bool query_begin(struct call *c, enum setting_kind kind, bool of_entity)
{
    static const char *const LIMITS[] = {"namespace", "entity", "resource", NULL};
    static const char *const ENTITIES[] = {"namespace", "entity", NULL};
    struct setting *t = setting_create(c, kind);
    struct words w;
    if (!words_query(&w, c) || !words_only(&w, of_entity ? ENTITIES : LIMITS) ||
        !words_space(&w, &t->name.space) || !words_name(&w, "entity", of_entity, &t->name.entity) ||
        (!of_entity && !words_name(&w, "resource", false, &t->name.resource)))
        return false;
    t->level = of_entity ? LEVEL_META : level_of(&t->name);
    session_begin(c, &t->session, &WORK, NULL);
    return true;
}

static bool get_limits_begin(struct call *c, const struct json_value unused[])
{
    (void)unused;
    return query_begin(c, SETTING_GET, false);
}

static bool delete_limits_begin(struct call *c, const struct json_value unused[])
{
    (void)unused;
    return query_begin(c, SETTING_DELETE, false);
}

static bool put_entity_begin(struct call *c, const struct json_value body[])
{
    static const char *const NAMES[] = {"namespace", "entity", "parent", "cascade", NULL};
    struct setting *t = setting_create(c, SETTING_PUT);
    struct words w;
    if (!words_body(&w, c, body) || !words_only(&w, NAMES) || !words_space(&w, &t->name.space) ||
        !words_name(&w, "entity", true, &t->name.entity) ||
        !words_name(&w, "parent", true, &t->to.parent))
        return false;
    const struct json_value cascade = json_find(body, "cascade");
    if (cascade.type != JSON_ABSENT && cascade.type != JSON_BOOL)
        return words_invalid(c, "cascade", "true or false is expected");
    t->to.cascade = cascade.type == JSON_ABSENT || json_bool(&cascade);
    if (slice_equal(t->to.parent, t->name.entity))
        return words_invalid(c, "parent", "an entity cannot be its own parent");
    t->level = LEVEL_META;
    session_begin(c, &t->session, &WORK, NULL);
    return true;
}

static bool get_entity_begin(struct call *c, const struct json_value unused[])
{
    (void)unused;
    return query_begin(c, SETTING_GET, true);
}

static bool delete_entity_begin(struct call *c, const struct json_value unused[])
{
    (void)unused;
    return query_begin(c, SETTING_DELETE, true);
}

static bool reset_begin(struct call *c, const struct json_value body[])
{
    static const char *const NAMES[] = {"namespace", "entity", "resource", NULL};
    struct setting *t = setting_create(c, SETTING_RESET);
    struct words w;
    static const struct session_work RESET = {.known = setting_known,
                                              .charged = setting_charged,
                                              .read = setting_read,
                                              .reply = setting_reply,
                                              .finish = setting_finish,
                                              .patient = true,
                                              .no_parents = true};
    if (!words_body(&w, c, body) || !words_only(&w, NAMES) || !words_bucket(&w, &t->name))
        return false;
    session_begin(c, &t->session, &RESET, &t->name);
    return true;
}

const struct operation operation_limiter_set_limits = {
    .name = "LimiterSetLimits", .begin = put_limits_begin, SESSION_STEPS};
const struct operation operation_limiter_get_limits = {
    .name = "LimiterGetLimits", .begin = get_limits_begin, SESSION_STEPS};
const struct operation operation_limiter_delete_limits = {
    .name = "LimiterDeleteLimits", .begin = delete_limits_begin, SESSION_STEPS};
const struct operation operation_limiter_set_entity = {
    .name = "LimiterSetEntity", .begin = put_entity_begin, SESSION_STEPS};
const struct operation operation_limiter_get_entity = {
    .name = "LimiterGetEntity", .begin = get_entity_begin, SESSION_STEPS};
const struct operation operation_limiter_delete_entity = {
    .name = "LimiterDeleteEntity", .begin = delete_entity_begin, SESSION_STEPS};
const struct operation operation_limiter_reset = {
    .name = "LimiterReset", .begin = reset_begin, SESSION_STEPS};
