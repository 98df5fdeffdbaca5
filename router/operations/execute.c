/* execute.c - statements about one item: requests, and what their answers show. */
#include "router/operations/execute.h"

#include <xxhash.h>

#include "engine/item/equal.h"
#include "router/expression/expressions.h"
#include "router/operations/write.h"

#define NO_KEY "Where clause does not contain a mandatory equality on all key attributes"
#define BATCH_READ                                                                    \
    "Select statements within BatchExecuteStatement must specify the primary key in " \
    "the where clause."
#define PART_READ                                                                      \
    "Select statements within ExecuteTransaction must specify the primary key in the " \
    "where clause."
#define PART_EXISTS "EXISTS() must contain a single item read with additional condition"

/* ---- the request alone ---- */

static uint64_t execute_digest(struct slice text, const struct attr *parameters, uint32_t count)
{
    uint64_t digest = XXH3_64bits_withSeed(text.data, text.size, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t value = attr_digest(&parameters[i]);
        digest = XXH3_64bits_withSeed(&value, sizeof value, digest);
    }
    return digest;
}

bool execute_parse(struct call *c, const struct json_value *text,
                   const struct json_value *parameters, struct statement *out, uint64_t *digest)
{
    const bool given = parameters->type == JSON_LIST;
    const uint32_t count = given ? (uint32_t)json_count(parameters) : 0;
    const struct slice copy = arena_copy(&c->arena, json_string(text));
    struct attr *values = arena_zalloc(&c->arena, (count + 1) * sizeof *values);
    struct json_cursor cursor = given ? json_elements(parameters) : (struct json_cursor){0};
    struct json_value value;
    /* Of more, some are too many for the text: they are refused unread. */
    for (uint32_t i = 0; i < count && i < copy.size && json_next_element(&cursor, &value); i++) {
        if (!value_read_attr(&c->arena, &value, &values[i], call_fault(c)))
            return false;
    }
    if (digest != NULL)
        *digest = execute_digest(copy, values, count < copy.size ? count : (uint32_t)copy.size);
    return statement_parse(copy, values, count, &c->arena, out, call_fault(c));
}

struct slice execute_table(struct call *c, const struct statement *s)
{
    const struct slice name = call_table_called(c, s->table);
    return shape_is_table_name(name) && name.size <= TABLE_NAME_SIZE_MAX ? name
                                                                         : slice_make(NULL, 0);
}

/* ---- with the table ---- */

bool execute_index_is_read(struct call *c, const struct statement *s, const struct table *t)
{
    const struct index *x = s->index.size > 0 ? index_set_find(t->index_set, s->index) : NULL;
    return x == NULL || (x->partition_count <= 1 && x->sort_count <= 1) ||
           call_invalid(c, "PartiQL statements cannot be executed on tables with multi-attribute "
                           "HASH keys or multi-attribute RANGE keys.");
}

bool execute_names_item(struct call *c, const struct statement *s, const struct table *t,
                        enum execute_place place)
{
    struct where_key key;
    where_find_key(s->where, t, s->verb == STATEMENT_SELECT, &c->arena, &key);
    const bool single = key.whole && s->index.size == 0;
    if (s->verb == STATEMENT_EXISTS)
        return (single && key.rest != NULL) || call_invalid(c, PART_EXISTS);
    return (single && key.rest == NULL) ||
           call_invalid(c, "%s", place == EXECUTE_IN_BATCH ? BATCH_READ : PART_READ);
}

static struct condition *execute_condition(struct call *c, const struct statement *s,
                                           const struct table *t, struct condition *rest)
{
    struct condition *exists =
        where_item_exists(&c->arena, t, s->verb != STATEMENT_INSERT && s->verb != STATEMENT_DELETE);
    if (s->verb == STATEMENT_DELETE) /* to delete what is not there is no failure */
        return rest == NULL ? NULL : where_join(&c->arena, CONDITION_OR, exists, rest);
    return where_join(&c->arena, CONDITION_AND, exists, rest);
}

static bool execute_find_key(struct call *c, const struct statement *s, const struct table *t,
                             enum execute_place place, struct where_key *key)
{
    where_find_key(s->where, t, !statement_writes(s), &c->arena, key);
    if (!key->whole)
        return call_invalid(c, "%s",
                            place == EXECUTE_IN_TRANSACTION
                                ? "The provided key element does not match the schema"
                                : NO_KEY);
    return key->twofold.size == 0 || s->verb == STATEMENT_EXISTS ||
           call_invalid(c,
                        "Multiple conditions on same key %.*s. Only single item "
                        "Update/Insert/Delete are supported",
                        SHOWN(key->twofold));
}

static enum request_op execute_op(enum statement_verb verb)
{
    switch (verb) {
    case STATEMENT_SELECT:
        return REQUEST_GET;
    case STATEMENT_EXISTS:
        return REQUEST_CHECK;
    case STATEMENT_INSERT:
        return REQUEST_PUT;
    case STATEMENT_UPDATE:
        return REQUEST_UPDATE;
    case STATEMENT_DELETE:
        break;
    }
    return REQUEST_DELETE;
}

static enum write_return execute_return_values(enum statement_returning returning)
{
    switch (returning) {
    case RETURNING_NOTHING:
        return RETURN_NONE;
    case RETURNING_ALL_OLD:
    case RETURNING_MODIFIED_OLD:
        return RETURN_OLD;
    case RETURNING_ALL_NEW:
    case RETURNING_MODIFIED_NEW:
        break;
    }
    return RETURN_NEW;
}

bool execute_lower(struct call *c, const struct statement *s, const struct table *t,
                   enum execute_place place, struct item_request *q)
{
    struct where_key key = {0};
    struct fault *f = call_fault(c);
    const struct key_schema schema = key_schema_of(t, NULL);
    q->op = execute_op(s->verb);
    q->return_values = execute_return_values(s->returning);
    q->inserts = s->verb == STATEMENT_INSERT;
    if (!q->inserts && !execute_find_key(c, s, t, place, &key))
        return false;
    q->item.at = c->bytes.size;
    if (q->inserts)
        buffer_append_slice(&c->bytes, s->item);
    else
        where_append_key(&c->bytes, t, &key);
    q->item.size = c->bytes.size - q->item.at;
    if (q->op == REQUEST_GET)
        return key_paths_of_projection(s->columns, t, f);
    const bool updates = s->verb == STATEMENT_UPDATE;
    q->updated = updates ? &s->update : NULL;
    q->condition_tree = execute_condition(c, s, t, key.rest);
    return (!q->inserts || write_item_fits(s->item, f)) &&
           key_paths_of_filter(s->where, t, &schema, NULL, f) &&
           expressions_encode(&c->bytes, q->condition_tree, &q->condition, f) &&
           expressions_encode_update(&c->bytes, q->updated, &q->update, f);
}

/* ---- answers ---- */

/* The attributes that the update names. */
static bool execute_write_modified(struct call *c, const struct statement *s, struct slice item)
{
    struct buffer *scratch = &c->router->scratch;
    buffer_clear(scratch);
    projection_append(scratch, update_paths(&s->update, &c->arena), item);
    if (item_count(buffer_slice(scratch)) == 0)
        return false;
    value_write_item(&c->body, buffer_slice(scratch));
    return true;
}

struct slice execute_shown(const struct statement *s, const struct reply *r)
{
    const bool nothing = statement_writes(s) && s->returning == RETURNING_NOTHING;
    return r->item.found && !nothing ? r->item.bytes : slice_make(NULL, 0);
}

bool execute_write_shown(struct call *c, const struct statement *s, struct slice item)
{
    if (item.size == 0)
        return false;
    if (s->returning == RETURNING_MODIFIED_OLD || s->returning == RETURNING_MODIFIED_NEW)
        return execute_write_modified(c, s, item);
    statement_write_row(&c->body, s->columns, item);
    return true;
}

bool execute_refuse(struct call *c, const struct statement *s, const struct subrequest *sub,
                    const struct reply *r)
{
    if (s->verb == STATEMENT_INSERT && r->code == REPLY_CONDITION_FAILED)
        return fault_set(call_fault(c), FAULT_EXISTS, "Duplicate primary key exists in table");
    return call_refuse(c, sub, r);
}
