/* weir_expressions.c - the expressions of a call: parsed, checked against the table's key, and
 * turned into programs for the node.
 *
 * Errors name the member of the options: "condition: ...". The parsers and their texts are the
 * engine's. */
#include "embed/weir_internal.h"
#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "engine/expression/wording.h"

_Static_assert(WEIR_RETURN_OLD == (int)RETURN_OLD && WEIR_RETURN_NEW == (int)RETURN_NEW,
               "the same numbers");

/* ---- placeholders ---- */

static enum status placeholders_check_key(struct weir *db, const char *what,
                                          const struct expression_name *list, size_t at, char sign)
{
    if (!token_is_placeholder(list[at].key, sign))
        return buffer_explain(&db->error, STATUS_MALFORMED,
                              "%s: \"%.*s\" is not a placeholder: %c, then letters, digits or _",
                              what, SHOWN(list[at].key), sign);
    for (size_t i = 0; i < at; i++) {
        if (slice_equal(list[i].key, list[at].key))
            return buffer_explain(&db->error, STATUS_MALFORMED, "%s: %.*s occurs twice", what,
                                  SHOWN(list[at].key));
    }
    return STATUS_OK;
}

static enum status placeholders_check_count(struct weir *db, const char *what, size_t count)
{
    return count <= EXPRESSION_SIZE_MAX
               ? STATUS_OK
               : buffer_explain(&db->error, STATUS_MALFORMED,
                                "%s: %zu placeholders are more than an expression can use", what,
                                count);
}

static enum status placeholders_read_names(struct weir *db, const struct weir_placeholders *p,
                                           struct expression_names *out)
{
    enum status status = placeholders_check_count(db, "names", p->name_count);
    if (status != STATUS_OK || p->name_count == 0)
        return status;
    out->names = arena_zalloc(&db->arena, p->name_count * sizeof *out->names);
    for (size_t i = 0; i < p->name_count && status == STATUS_OK; i++) {
        const struct weir_name *from = &p->names[i];
        struct expression_name *n = &out->names[out->name_count++];
        n->key = slice_of(from->placeholder != NULL ? from->placeholder : "");
        n->name = slice_of(from->attribute != NULL ? from->attribute : "");
        status = placeholders_check_key(db, "names", out->names, i, '#');
        if (status == STATUS_OK && (n->name.size == 0 || n->name.size > ATTRIBUTE_NAME_SIZE_MAX))
            status = buffer_explain(&db->error, STATUS_MALFORMED,
                                    "names: %.*s stands for no name of 1 to %d bytes",
                                    SHOWN(n->key), ATTRIBUTE_NAME_SIZE_MAX);
    }
    return status;
}

static enum status placeholders_read_values(struct weir *db, const struct weir_placeholders *p,
                                            struct expression_names *out)
{
    struct slice bytes;
    if (p->values == NULL)
        return STATUS_OK;
    const char *wrong = weir_item_finish((struct weir_item *)(uintptr_t)p->values, true, &bytes);
    if (wrong != NULL)
        return buffer_explain(&db->error, STATUS_MALFORMED, "values: %s", wrong);
    const size_t count = item_count(bytes);
    enum status status = placeholders_check_count(db, "values", count);
    if (status != STATUS_OK || count == 0)
        return status;
    out->values = arena_zalloc(&db->arena, count * sizeof *out->values);
    struct attr_cursor c = item_attrs(bytes);
    while (status == STATUS_OK && out->value_count < count) {
        struct expression_name *v = &out->values[out->value_count];
        must(attr_next(&c, &v->key, &v->value));
        status = placeholders_check_key(db, "values", out->values, out->value_count++, ':');
    }
    return status;
}

/* Forgets the expressions of earlier calls. */
static enum status placeholders_read(struct weir *db, const struct weir_placeholders *p,
                                     struct expression_names *out)
{
    *out = (struct expression_names){0};
    arena_reset(&db->arena);
    buffer_clear(&db->program);
    buffer_clear(&db->error);
    const enum status status = placeholders_read_names(db, p, out);
    return status != STATUS_OK ? status : placeholders_read_values(db, p, out);
}

static enum status placeholders_check_used(struct weir *db, const char *what,
                                           const struct expression_name *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!list[i].used)
            return buffer_explain(&db->error, STATUS_MALFORMED, "%s: no expression uses %.*s", what,
                                  SHOWN(list[i].key));
    }
    return STATUS_OK;
}

static enum status placeholders_all_used(struct weir *db, const struct expression_names *n)
{
    const enum status status = placeholders_check_used(db, "names", n->names, n->name_count);
    return status != STATUS_OK ? status
                               : placeholders_check_used(db, "values", n->values, n->value_count);
}

/* ---- errors ---- */

static enum status expressions_refuse(struct weir *db, const char *member,
                                      const struct expression_fault *why)
{
    buffer_append_format(&db->error, "%s: ", member);
    expression_fault_append(&db->error, why);
    return STATUS_MALFORMED;
}

static enum status expressions_refuse_size(struct weir *db, const char *member)
{
    return buffer_explain(&db->error, STATUS_MALFORMED,
                          "%s: its values have more than %d bytes, each as often as it is named",
                          member, EXPRESSION_VALUES_SIZE_MAX);
}

static enum status expressions_refuse_nested(struct weir *db, const char *member,
                                             const struct key_attr *key)
{
    return buffer_explain(&db->error, STATUS_MALFORMED,
                          "%s: the key attribute %.*s is a scalar; nothing is inside it", member,
                          SHOWN(key->name));
}

/* ---- expressions ---- */

/* The table's key attributes. */
static uint32_t expressions_keys(const struct weir_table *t, const struct key_attr *out[2])
{
    out[0] = &t->table.partition_key;
    out[1] = &t->table.sort_key;
    return table_has_sort_key(&t->table) ? 2 : 1;
}

/* Appends the program of a condition or filter. */
static enum status expressions_condition(struct weir_table *t, const char *member, const char *text,
                                         struct expression_names *names)
{
    const struct key_attr *keys[2];
    struct expression_fault why;
    if (text == NULL)
        return STATUS_OK;
    const struct condition *c = condition_parse(slice_of(text), names, &t->db->arena, &why);
    if (c == NULL)
        return expressions_refuse(t->db, member, &why);
    for (uint32_t i = 0; i < expressions_keys(t, keys); i++) {
        if (condition_uses(c, keys[i]->name, true))
            return expressions_refuse_nested(t->db, member, keys[i]);
    }
    return program_encode(&t->db->program, c) ? STATUS_OK : expressions_refuse_size(t->db, member);
}

/* Appends the program of an update. */
static enum status expressions_update(struct weir_table *t, const char *text,
                                      struct expression_names *names)
{
    const struct key_attr *keys[2];
    struct expression_fault why;
    if (text == NULL)
        return STATUS_OK;
    const struct update *u = update_parse(slice_of(text), names, &t->db->arena, &why);
    if (u == NULL)
        return expressions_refuse(t->db, "update", &why);
    for (uint32_t i = 0; i < expressions_keys(t, keys); i++) {
        if (update_changes(u, keys[i]->name))
            return buffer_explain(&t->db->error, STATUS_MALFORMED,
                                  "update: the key attribute %.*s cannot be changed",
                                  SHOWN(keys[i]->name));
        if (update_uses(u, keys[i]->name))
            return expressions_refuse_nested(t->db, "update", keys[i]);
    }
    return update_program_encode(&t->db->program, u) ? STATUS_OK
                                                     : expressions_refuse_size(t->db, "update");
}

static enum status expressions_projection(struct weir_table *t, const char *text,
                                          struct expression_names *names,
                                          const struct projection **out)
{
    const struct key_attr *keys[2];
    struct expression_fault why;
    *out = NULL;
    if (text == NULL)
        return STATUS_OK;
    *out = projection_parse(slice_of(text), names, &t->db->arena, &why);
    if (*out == NULL)
        return expressions_refuse(t->db, "projection", &why);
    for (uint32_t i = 0; i < expressions_keys(t, keys); i++) {
        if (projection_uses(*out, keys[i]->name))
            return expressions_refuse_nested(t->db, "projection", keys[i]);
    }
    return STATUS_OK;
}

/* ---- calls ---- */

enum status weir_compile_write(struct weir_table *t, const char *update,
                               const struct weir_write_options *options, struct request *r)
{
    static const struct weir_write_options none = {0};
    struct expression_names names;
    const struct buffer *program = &t->db->program;
    if (options == NULL)
        options = &none;
    enum status status = placeholders_read(t->db, &options->placeholders, &names);
    if (status == STATUS_OK)
        status = expressions_condition(t, "condition", options->condition, &names);
    const size_t condition_size = program->size;
    if (status == STATUS_OK)
        status = expressions_update(t, update, &names);
    if (status == STATUS_OK)
        status = placeholders_all_used(t->db, &names);
    if (status != STATUS_OK)
        return status;
    if (options->returned > (r->op == REQUEST_UPDATE ? WEIR_RETURN_NEW : WEIR_RETURN_OLD))
        return buffer_explain(&t->db->error, STATUS_MALFORMED,
                              "returned: %d is none of the items that this write can return",
                              (int)options->returned);
    r->write.condition = slice_make(program->data, condition_size);
    r->write.update = slice_make(program->data + condition_size, program->size - condition_size);
    r->write.return_values = (uint8_t)options->returned;
    r->write.return_failed = options->return_if_failed;
    return STATUS_OK;
}

enum status weir_compile_read(struct weir_table *t, const struct weir_query_options *options,
                              struct slice *filter, const struct projection **shown)
{
    struct expression_names names;
    enum status status = placeholders_read(t->db, &options->placeholders, &names);
    if (status == STATUS_OK)
        status = expressions_condition(t, "filter", options->filter, &names);
    if (status == STATUS_OK)
        status = expressions_projection(t, options->projection, &names, shown);
    *filter = buffer_slice(&t->db->program);
    return status == STATUS_OK ? placeholders_all_used(t->db, &names) : status;
}
