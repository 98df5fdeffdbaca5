/* limit_scope.c - items of scopes: their places, their bytes, and how they change. */
#include "router/limiter/limit_scope.h"

#include "engine/expression/update_program.h"
#include "router/json/json_writer.h"

const char *limit_scope_name(enum limit_scope scope)
{
    static const char *const NAMES[] = {[LIMIT_SCOPE_ENTITY_RESOURCE] = "entity",
                                        [LIMIT_SCOPE_ENTITY] = "entity default",
                                        [LIMIT_SCOPE_RESOURCE] = "resource",
                                        [LIMIT_SCOPE_SYSTEM] = "system",
                                        [LIMIT_SCOPE_PARENT] = "entity"};
    must(scope < LIMIT_SCOPES);
    return NAMES[scope];
}

/* ---- places ---- */

static void item_place_make(struct call *c, const struct table *t, struct slice partition,
                            struct slice sort, struct item_place *out)
{
    struct buffer bytes = {0};
    struct item_writer w;
    const struct key key = {.partition = {ATTR_STRING, partition}, .sort = {ATTR_STRING, sort}};
    item_begin(&w, &bytes);
    item_name(&w, slice_of("PK"));
    item_string(&w, partition);
    item_name(&w, slice_of("SK"));
    item_string(&w, sort);
    item_end(&w);
    out->item = arena_copy(&c->arena, buffer_slice(&bytes));
    out->key = call_storage_key(c, t, &key);
    buffer_deinit(&bytes);
}

void item_place_of_shard(struct call *c, const struct table *t, const struct bucket_name *b,
                         uint32_t shard, struct item_place *out)
{
    struct buffer text = {0};
    must(shard < LIMITER_SHARDS_MAX);
    buffer_append_slice(&text, b->name_space);
    buffer_append_text(&text, "/BUCKET#");
    buffer_append_slice(&text, b->entity);
    buffer_append_u8(&text, '#');
    buffer_append_slice(&text, b->resource);
    buffer_append_u8(&text, '#');
    buffer_append_decimal(&text, shard);
    item_place_make(c, t, buffer_slice(&text), slice_of("#STATE"), out);
    buffer_deinit(&text);
}

bool bucket_name_of_key(struct slice key, struct bucket_name *out)
{
    static const char middle[] = "/BUCKET#";
    const uint8_t *end = key.data + key.size;
    const uint8_t *at = memmem(key.data, key.size, middle, sizeof middle - 1);
    if (at == NULL)
        return false;
    out->name_space = slice_make(key.data, (size_t)(at - key.data));
    at += sizeof middle - 1;
    const uint8_t *resource = memchr(at, '#', (size_t)(end - at));
    if (resource == NULL)
        return false;
    out->entity = slice_make(at, (size_t)(resource++ - at));
    const uint8_t *shard = memchr(resource, '#', (size_t)(end - resource));
    if (shard == NULL)
        return false;
    out->resource = slice_make(resource, (size_t)(shard - resource));
    return limiter_name_is_plain(out->name_space, LIMITER_NAMESPACE_MAX) &&
           limiter_entity_is_valid(out->entity) && limiter_entity_is_valid(out->resource);
}

void item_place_of_scope(struct call *c, const struct table *t, const struct bucket_name *b,
                         enum limit_scope scope, struct item_place *out)
{
    struct buffer partition = {0}, sort = {0};
    must(scope < LIMIT_SCOPES);
    buffer_append_format(&partition, "%.*s/", TEXT_OF(b->name_space));
    if (scope == LIMIT_SCOPE_SYSTEM)
        buffer_append_text(&partition, "SYSTEM");
    else if (scope == LIMIT_SCOPE_RESOURCE)
        buffer_append_format(&partition, "RESOURCE#%.*s", TEXT_OF(b->resource));
    else
        buffer_append_format(&partition, "ENTITY#%.*s", TEXT_OF(b->entity));
    buffer_append_text(&sort, scope == LIMIT_SCOPE_PARENT ? "#META" : "#LIMITS");
    if (scope == LIMIT_SCOPE_ENTITY_RESOURCE)
        buffer_append_format(&sort, "#%.*s", TEXT_OF(b->resource));
    item_place_make(c, t, buffer_slice(&partition), buffer_slice(&sort), out);
    buffer_deinit(&partition);
    buffer_deinit(&sort);
}

/* ---- reading ---- */

static int64_t limit_scope_number(const struct attr *map, const char *name, int64_t otherwise)
{
    struct attr value;
    struct number n;
    size_t used;
    int64_t number;
    if (!attr_find(attr_elements(map), slice_of(name), &value))
        return otherwise;
    const bool whole = value.type == ATTR_NUMBER &&
                       number_decode(value.body, &n, &used) == STATUS_OK &&
                       number_to_i64(&n, &number);
    return whole ? number : -1;
}

static void limit_scope_read_limits(const struct attr *map, struct limiter_limits *out)
{
    struct attr_cursor at = attr_elements(map);
    struct slice name;
    struct attr limit;
    while (attr_next(&at, &name, &limit)) {
        if (out->count == LIMITER_LIMITS_MAX || limit.type != ATTR_MAP) {
            out->count = 0;
            return;
        }
        out->at[out->count++] =
            (struct limiter_limit){.name = name,
                                   .capacity = limit_scope_number(&limit, "cp", -1),
                                   .amount = limit_scope_number(&limit, "ra", -1),
                                   .period_ms = limit_scope_number(&limit, "rp", -1),
                                   .request_min = limit_scope_number(&limit, "ls", 1000)};
    }
    if (out->count > 0 && limiter_limits_fault(out) != NULL)
        out->count = 0;
}

void limit_scope_read(struct slice item, struct limit_scope_item *out)
{
    struct attr value;
    struct number n;
    size_t used;
    int64_t version;
    *out = (struct limit_scope_item){0};
    if (item.size == 0)
        return;
    if (item_find(item, slice_of("version"), &value) && value.type == ATTR_NUMBER &&
        number_decode(value.body, &n, &used) == STATUS_OK && number_to_i64(&n, &version) &&
        version > 0)
        out->version = (uint64_t)version;
    if (item_find(item, slice_of("limits"), &value) && value.type == ATTR_MAP)
        limit_scope_read_limits(&value, &out->limits);
    if (item_find(item, slice_of("on_unavailable"), &value) && value.type == ATTR_STRING)
        out->on_unavailable = slice_is(value.body, "allow")   ? ON_UNAVAILABLE_ALLOW
                              : slice_is(value.body, "block") ? ON_UNAVAILABLE_BLOCK
                                                              : ON_UNAVAILABLE_UNSET;
    if (item_find(item, slice_of("parent"), &value) && value.type == ATTR_STRING &&
        value.body.size <= LIMITER_ENTITY_MAX)
        out->parent = value.body;
    if (item_find(item, slice_of("cascade"), &value) && value.type == ATTR_BOOL)
        out->cascade = value.body.data[0] != 0;
}

/* ---- writing ---- */

static void limit_scope_write_number(struct item_writer *w, const char *name, int64_t value)
{
    const struct number n = number_from_i64(value);
    item_name(w, slice_of(name));
    item_number(w, &n);
}

static void limit_scope_write_map(struct item_writer *w, const struct limiter_limits *limits)
{
    item_open(w, ATTR_MAP);
    for (uint32_t i = 0; i < limits->count; i++) {
        const struct limiter_limit *l = &limits->at[i];
        item_name(w, l->name);
        item_open(w, ATTR_MAP);
        limit_scope_write_number(w, "cp", l->capacity);
        limit_scope_write_number(w, "ra", l->amount);
        limit_scope_write_number(w, "rp", l->period_ms);
        if (l->request_min != 1000)
            limit_scope_write_number(w, "ls", l->request_min);
        item_close(w);
    }
    item_close(w);
}

/* Adds an action on an attribute. `values` has its value; without one the attribute goes. */
static void limit_scope_add_change(struct call *c, struct update *u, enum update_verb verb,
                                   const char *name, struct slice values)
{
    struct update_action *a = arena_zalloc(&c->arena, sizeof *a);
    struct update_action **at = &u->actions;
    a->path = arena_zalloc(&c->arena, sizeof *a->path);
    a->path->name = slice_of(name);
    a->verb = UPDATE_REMOVE;
    a->value = arena_zalloc(&c->arena, sizeof *a->value);
    a->value->kind = UPDATE_VALUE;
    if (item_find(values, slice_of(name), &a->value->value))
        a->verb = verb;
    else
        a->value = NULL;
    while (*at != NULL)
        at = &(*at)->next;
    *at = a;
    u->count++;
}

struct slice limit_scope_change(struct call *c, enum limit_scope scope,
                                const struct limit_scope_item *to)
{
    struct buffer values = {0}, program = {0};
    struct item_writer w;
    struct update u = {0};
    must(to->limits.count <= LIMITER_LIMITS_MAX);
    must(scope == LIMIT_SCOPE_PARENT || to->parent.size == 0);
    must(scope != LIMIT_SCOPE_PARENT || to->limits.count == 0);
    item_begin(&w, &values);
    limit_scope_write_number(&w, "version", 1);
    if (to->limits.count > 0) {
        item_name(&w, slice_of("limits"));
        limit_scope_write_map(&w, &to->limits);
    }
    if (to->on_unavailable != ON_UNAVAILABLE_UNSET) {
        item_name(&w, slice_of("on_unavailable"));
        item_string(&w, slice_of(to->on_unavailable == ON_UNAVAILABLE_ALLOW ? "allow" : "block"));
    }
    if (to->parent.size > 0) {
        item_name(&w, slice_of("parent"));
        item_string(&w, to->parent);
        item_name(&w, slice_of("cascade"));
        item_bool(&w, to->cascade);
    }
    item_end(&w);
    const struct slice item = arena_copy(&c->arena, buffer_slice(&values));
    limit_scope_add_change(c, &u, UPDATE_ADD, "version", item);
    if (scope == LIMIT_SCOPE_PARENT) {
        limit_scope_add_change(c, &u, UPDATE_SET, "parent", item);
        limit_scope_add_change(c, &u, UPDATE_SET, "cascade", item);
    } else {
        limit_scope_add_change(c, &u, UPDATE_SET, "limits", item);
        limit_scope_add_change(c, &u, UPDATE_SET, "on_unavailable", item);
    }
    must(update_program_encode(&program, &u));
    const struct slice out = arena_copy(&c->arena, buffer_slice(&program));
    buffer_deinit(&values);
    buffer_deinit(&program);
    return out;
}

/* ---- JSON ---- */

static bool limiter_request_limit(struct limiter_request *w, const struct json_value *v,
                                  struct limiter_limit *out)
{
    static const char *const NAMES[] = {
        "name", "capacity", "refill_amount", "refill_period_ms", "smallest_request", NULL};
    struct limiter_request inner;
    struct json_value member;
    if (v->type != JSON_OBJECT)
        return limiter_error_invalid(w->call, "limits", "a list of objects is expected");
    if (!limiter_request_body(&inner, w->call, v) || !limiter_request_check_names(&inner, NAMES) ||
        !limiter_request_text(&inner, "name", LIMITER_NAME_MAX, &out->name))
        return false;
    if (!limiter_name_is_plain(out->name, LIMITER_NAME_MAX) ||
        slice_is(out->name, LIMITER_WRITES_NAME))
        return limiter_error_invalid(w->call, "name",
                                     "1 to %d letters, digits and _.- are expected, and not " //
                                     LIMITER_WRITES_NAME ", which is weir's own: '%.*s'",
                                     LIMITER_NAME_MAX, SHOWN(out->name));
    member = json_find(v, "capacity");
    if (!limiter_request_tokens(w->call, "capacity", &member, 1000, LIMITER_MTOK_MAX,
                                &out->capacity))
        return false;
    member = json_find(v, "refill_amount");
    out->amount = out->capacity;
    if (member.type != JSON_ABSENT && !limiter_request_tokens(w->call, "refill_amount", &member,
                                                              1000, LIMITER_MTOK_MAX, &out->amount))
        return false;
    member = json_find(v, "refill_period_ms");
    if (member.type == JSON_ABSENT)
        return limiter_error_invalid(w->call, "refill_period_ms", "it is missing");
    if (!limiter_request_integer(&inner, "refill_period_ms", 1, LIMITER_PERIOD_MAX, 0,
                                 &out->period_ms))
        return false;
    member = json_find(v, "smallest_request");
    out->request_min = 1000;
    return member.type == JSON_ABSENT ||
           limiter_request_tokens(w->call, "smallest_request", &member, 1, out->capacity,
                                  &out->request_min);
}

bool limiter_request_limits(struct limiter_request *w, struct limiter_limits *out)
{
    const struct json_value list = json_find(w->body, "limits");
    struct json_value v;
    *out = (struct limiter_limits){0};
    if (list.type != JSON_LIST || json_count(&list) == 0 || json_count(&list) > LIMITER_LIMITS_MAX)
        return limiter_error_invalid(w->call, "limits", "a list of 1 to %d limits is expected",
                                     LIMITER_LIMITS_MAX);
    JSON_FOREACH (v, &list) {
        if (!limiter_request_limit(w, &v, &out->at[out->count++]))
            return false;
    }
    const char *fault = limiter_limits_fault(out);
    return fault == NULL || limiter_error_invalid(w->call, "limits", "%s", fault);
}

void limit_scope_write_limits(struct buffer *out, const struct limiter_limits *limits)
{
    json_member_open(out, "limits", '[');
    for (uint32_t i = 0; i < limits->count; i++) {
        const struct limiter_limit *l = &limits->at[i];
        json_write_open(out, '{');
        json_member_string(out, "name", l->name);
        json_member_thousandths(out, "capacity", l->capacity);
        json_member_thousandths(out, "refill_amount", l->amount);
        json_member_integer(out, "refill_period_ms", l->period_ms);
        json_member_thousandths(out, "smallest_request", l->request_min);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}
