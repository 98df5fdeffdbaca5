/* statement.c - parses a statement, checks its trees, and writes rows of its answer. */
#include "router/partiql/statement.h"

#include <stdlib.h>

#include "engine/expression/path_lookup.h"
#include "router/json/json_writer.h"
#include "router/json/value.h"
#include "router/partiql/parse.h"

/* ---- columns ---- */

/* The last name of a path. */
static const struct path_part *column_begin(const struct path_part *path)
{
    const struct path_part *last = path;
    for (const struct path_part *p = path; p != NULL; p = p->next)
        last = p->indexed ? last : p;
    return last;
}

void statement_column_name(struct buffer *out, const struct path_part *path)
{
    const struct path_part *last = column_begin(path);
    buffer_append_slice(out, last->name);
    for (const struct path_part *p = last->next; p != NULL; p = p->next)
        buffer_append_format(out, "[%u]", p->index);
}

/* Finds what the columns lead to. `bytes` has them as the lookup needs them, and lends. */
static void columns_find(const struct projection *columns, struct slice item, struct buffer *bytes,
                         struct path_lookup *out)
{
    struct steps steps = {0};
    for (const struct projection_path *c = columns->paths; c != NULL; c = c->next)
        program_append_path(bytes, c->path);
    struct reader r = {buffer_slice(bytes), false};
    path_lookup_init(out, (uint32_t)columns->count);
    while (r.left.size > 0)
        path_lookup_add(out, &r);
    path_lookup_find(out, item, &steps);
}

void statement_write_row(struct buffer *out, const struct projection *columns, struct slice item)
{
    struct buffer name = {0}, bytes = {0};
    struct path_lookup paths;
    if (columns == NULL) {
        value_write_item(out, item);
        return;
    }
    columns_find(columns, item, &bytes, &paths);
    json_write_open(out, '{');
    const struct found_path *p = paths.all;
    for (const struct projection_path *c = columns->paths; c != NULL; c = c->next, p++) {
        if (p->found.type == 0)
            continue;
        buffer_clear(&name);
        statement_column_name(&name, c->path);
        json_write_name(out, buffer_slice(&name));
        value_write(out, &p->found);
    }
    json_write_close(out, '}');
    path_lookup_deinit(&paths);
    buffer_deinit(&bytes);
    buffer_deinit(&name);
}

void parse_column(struct parse *p, struct path_part *path)
{
    struct projection_path *column = arena_zalloc(p->arena, sizeof *column);
    if (p->columns == NULL) {
        p->out->columns = p->columns = arena_zalloc(p->arena, sizeof *p->columns);
        p->columns_end = &p->columns->paths;
    }
    column->path = path;
    *p->columns_end = column;
    p->columns_end = &column->next;
    p->columns->count++;
}

/* For qsort: by the columns' names. */
static int columns_compare(const void *x, const void *y)
{
    return path_compare(column_begin(*(const struct path_part *const *)x),
                        column_begin(*(const struct path_part *const *)y));
}

/* Refuses two columns of one name. Comparing all pairs would be slow. */
static void columns_check(struct parse *p, const struct projection *columns)
{
    const struct path_part **sorted =
        arena_alloc(p->arena, columns->count * sizeof(const struct path_part *));
    struct buffer name = {0};
    uint32_t count = 0;
    for (const struct projection_path *c = columns->paths; c != NULL; c = c->next)
        sorted[count++] = c->path;
    qsort(sorted, count, sizeof *sorted, columns_compare);
    for (uint32_t i = 1; i < count && !p->refused; i++) {
        if (columns_compare(&sorted[i - 1], &sorted[i]) != 0)
            continue;
        statement_column_name(&name, sorted[i]);
        parse_refuse(p, "Two columns of the statement have the same name: %.*s",
                     SHOWN(buffer_slice(&name)));
    }
    buffer_deinit(&name);
}

/* ---- checks ---- */

static void statement_refuse_where(struct parse *p, const struct expression_fault *why)
{
    if (why->error == EXPRESSION_SYNTAX) /* a path or a value where a condition must stand */
        parse_refuse(p, NOT_WELL_FORMED "%s", "Unexpected term");
    else
        parse_refuse_expression(p, why);
}

static void statement_check_trees(struct parse *p)
{
    struct statement *s = p->out;
    struct expression_fault why;
    if (p->parameters_used != p->parameter_count)
        parse_refuse(p, "Number of parameters in request and statement don't match.");
    if (p->refused)
        return;
    if (s->where != NULL && !condition_check(s->where, &why))
        statement_refuse_where(p, &why);
    else if (s->verb == STATEMENT_UPDATE && !update_check(&s->update, p->arena, &why))
        parse_refuse_expression(p, &why);
}

static void statement_check_clauses(struct parse *p)
{
    static const char *const NAMES[] = {[RETURNING_MODIFIED_OLD] = "MODIFIED OLD",
                                        [RETURNING_ALL_NEW] = "ALL NEW",
                                        [RETURNING_MODIFIED_NEW] = "MODIFIED NEW"};
    const struct statement *s = p->out;
    if (s->columns != NULL)
        columns_check(p, s->columns);
    if (s->verb == STATEMENT_DELETE && s->returning > RETURNING_ALL_OLD)
        parse_refuse(
            p,
            "Invalid returning clause: RETURNING %s *. Only RETURNING ALL OLD * is allowed "
            "in DELETE statements.",
            NAMES[s->returning]);
    if (statement_writes(s) && s->verb != STATEMENT_EXISTS && s->index.size > 0)
        parse_refuse(p, "A statement that writes must name a table, not an index");
    if (s->order != NULL && s->where == NULL)
        parse_refuse(p, "Must have WHERE clause in the statement when using ORDER BY clause.");
}

bool statement_parse(struct slice text, const struct attr *parameters, uint32_t count,
                     struct arena *arena, struct statement *out, struct fault *fault)
{
    *out = (struct statement){0};
    struct parse p = {.text = text,
                      .arena = arena,
                      .parameters = parameters,
                      .parameter_count = count,
                      .out = out,
                      .fault = fault,
                      .order_end = &out->order,
                      .update_end = &out->update.actions};
    parse_run(&p);
    if (!p.ended)
        statement_check_clauses(&p);
    if (!p.ended)
        statement_check_trees(&p);
    return !p.ended && !p.refused;
}
