/* expression_cases_test.c - what updates, conditions and projections make of an item, and which
 * texts are none: tests/cases/expression (tests/support/case_file.h). Commands:
 *
 *   item {..}         the item; none {..}: there is no item, and its key would be this
 *   names {..}, values {..}     as in a request
 *   update TEXT       what the update makes of the item
 *   paths TEXT        what the paths of the update show of the item
 *   if TEXT           whether the condition holds; of no item without a key: no bytes at all
 *   project TEXT      what the projection shows of the item
 *   used TEXT         how many paths the projection has, and which names it marks as used
 *
 * <N*TEXT> and <N,TEXT>, <A-B,TEXT> are repetitions (tests/support/case_file.h). A large or deep
 * item is shown by its sizes. Each program is checked by its bytes: what is cut off or
 * followed by more is none. */
#include "engine/expression/program.h"
#include "engine/expression/projection.h"
#include "engine/expression/update_program.h"
#include "tests/check.h"
#include "tests/support/case_file.h"
#include "tests/support/expression_fixture.h"

enum {
    SHOWN_MAX = 1200, /* of larger items only the sizes are shown */
    ATTRIBUTES_MAX = 8,
    PROGRAM_MAX = 1000 /* of larger programs not each piece is tried */
};

struct scene {
    struct buffer item, names, values; /* as JSON, with a final NUL; empty: none */
    bool exists;
    struct expression_fixture e; /* of a command */
    struct slice old;
};

/* ---- output ---- */

static void print_sizes(struct slice item, struct buffer *out)
{
    struct attr_cursor c = item_attrs(item);
    struct slice name;
    buffer_append_format(out, "%u bytes, %u attributes:", item_size(item), item_count(item));
    for (struct attr value; item_count(item) <= ATTRIBUTES_MAX && attr_next(&c, &name, &value);) {
        uint32_t count = 0;
        buffer_append_format(out, " %.*s %s", TEXT_OF(name), attr_type_name(value.type));
        if (value.type < ATTR_STRING_SET)
            continue;
        struct attr element;
        for (struct attr_cursor e = attr_elements(&value); attr_next(&e, &name, &element);)
            count++;
        buffer_append_format(out, " of %u", count);
    }
    buffer_append_u8(out, '\n');
}

static void print_item(struct scene *s, struct slice item, struct buffer *out)
{
    const size_t before = out->size;
    assert_int_equal(item_check(item), STATUS_OK);
    if (item.size < SHOWN_MAX)
        case_append_wrapped(out, slice_of(expression_fixture_json(&s->e, item)));
    size_t line = before;
    while (line < out->size) {
        const uint8_t *end = memchr(out->data + line, '\n', out->size - line);
        const size_t size = (size_t)(end - out->data) - line;
        if (size > CASE_COLUMNS + 2)
            break;
        line += size + 1;
    }
    if (line < out->size || item.size >= SHOWN_MAX) {
        out->size = before;
        print_sizes(item, out);
    }
}

static void print_refused(struct scene *s, const char *parameter,
                          const struct expression_fault *fault, struct buffer *out)
{
    buffer_append_format(out, "%s\n", expression_fixture_text(&s->e, parameter, fault));
}

/* ---- programs as bytes ---- */

static void check_program(struct buffer *program, enum status (*check)(struct slice), size_t least)
{
    assert_int_equal(check(buffer_slice(program)), STATUS_OK);
    if (program->size > PROGRAM_MAX)
        return;
    for (size_t size = least; size < program->size; size++)
        assert_int_equal(check(slice_make(program->data, size)), STATUS_MALFORMED);
    buffer_append_u8(program, 0);
    assert_int_equal(check(buffer_slice(program)), STATUS_MALFORMED);
    program->size--;
}

/* ---- commands ---- */

static void run_update(struct scene *s, struct slice text, struct buffer *out)
{
    struct expression_fault fault;
    struct buffer program = {0}, made = {0};
    const struct update *u = update_parse(text, &s->e.names, &s->e.arena, &fault);
    if (u == NULL) {
        print_refused(s, "UpdateExpression", &fault, out);
        return;
    }
    assert_true(update_program_encode(&program, u));
    check_program(&program, update_program_check, 1); /* no bytes change nothing */
    const enum update_fault why =
        update_apply(buffer_slice(&program), s->old, s->exists, &(struct steps){0}, &made);
    if (why == UPDATE_OK)
        print_item(s, buffer_slice(&made), out);
    else
        buffer_append_format(out, "%s\n", update_fault_text(why));
    assert_true(why == UPDATE_OK || made.size == 0);
    assert_true(made.capacity < 3 * ITEM_SIZE_MAX); /* one that grows too large is given up */
    buffer_deinit(&program);
    buffer_deinit(&made);
}

static void print_shown(struct scene *s, const struct projection *paths, struct buffer *out)
{
    static const char BEFORE[] = "before";
    struct buffer shown = {0};
    const size_t size = sizeof BEFORE - 1;
    buffer_append_text(&shown, BEFORE);
    projection_append(&shown, paths, s->old);
    assert_memory_equal(shown.data, BEFORE, size);
    print_item(s, slice_make(shown.data + size, shown.size - size), out);
    buffer_deinit(&shown);
}

static void run_paths(struct scene *s, struct slice text, struct buffer *out)
{
    struct expression_fault fault;
    const struct update *u = update_parse(text, &s->e.names, &s->e.arena, &fault);
    assert_non_null(u);
    const struct projection *paths = update_paths(u, &s->e.arena);
    buffer_append_format(out, "%u paths: ", paths->count);
    print_shown(s, paths, out);
}

static bool condition_holds(struct scene *s, const struct condition *c)
{
    struct buffer program = {0};
    program_encode(&program, c);
    check_program(&program, program_check, 0);
    const bool holds = program_holds(buffer_slice(&program),
                                     s->exists ? s->old : slice_make(NULL, 0), &(struct steps){0});
    buffer_deinit(&program);
    return holds;
}

static void run_if(struct scene *s, struct slice text, struct buffer *out)
{
    struct expression_fault fault;
    struct buffer opposite = {0};
    const struct condition *c = condition_parse(text, &s->e.names, &s->e.arena, &fault);
    if (c == NULL) {
        print_refused(s, "ConditionExpression", &fault, out);
        return;
    }
    const bool holds = condition_holds(s, c);
    buffer_append_text(out, holds ? "true\n" : "false\n");
    buffer_append_format(&opposite, "NOT (%.*s)", TEXT_OF(text));
    c = condition_parse(buffer_slice(&opposite), &s->e.names, &s->e.arena, &fault);
    assert_true(c != NULL && condition_holds(s, c) == !holds);
    buffer_deinit(&opposite);
}

static void run_project(struct scene *s, struct slice text, struct buffer *out)
{
    struct expression_fault fault;
    const struct projection *p = projection_parse(text, &s->e.names, &s->e.arena, &fault);
    if (p == NULL)
        print_refused(s, "ProjectionExpression", &fault, out);
    else
        print_shown(s, p, out);
}

static void run_used(struct scene *s, struct slice text, struct buffer *out)
{
    struct expression_fault fault;
    const struct projection *p = projection_parse(text, &s->e.names, &s->e.arena, &fault);
    if (p == NULL) {
        print_refused(s, "ProjectionExpression", &fault, out);
        return;
    }
    assert_int_equal(fault.error, EXPRESSION_OK);
    buffer_append_format(out, "%u path%s", p->count, p->count == 1 ? "" : "s");
    for (size_t i = 0; i < s->e.names.name_count; i++) {
        if (s->e.names.names[i].used)
            buffer_append_format(out, " %.*s", TEXT_OF(s->e.names.names[i].key));
    }
    buffer_append_u8(out, '\n');
}

static const struct {
    const char *verb;
    void (*run)(struct scene *s, struct slice text, struct buffer *out);
} COMMANDS[] = {{"update", run_update},
                {"paths", run_paths},
                {"if", run_if},
                {"project", run_project},
                {"used", run_used}};

/* ---- files ---- */

/* Whether the command is one of what later ones work on. */
static bool scene_set(struct scene *s, const char *verb, struct slice text)
{
    const bool item = strcmp(verb, "item") == 0 || strcmp(verb, "none") == 0;
    struct buffer *to = item                          ? &s->item
                        : strcmp(verb, "names") == 0  ? &s->names
                        : strcmp(verb, "values") == 0 ? &s->values
                                                      : NULL;
    if (to == NULL)
        return false;
    if (item)
        s->exists = verb[0] == 'i';
    buffer_set(to, text);
    buffer_append_u8(to, 0);
    return true;
}

static void scene_run(struct scene *s, const char *verb, struct slice text, struct buffer *out)
{
    size_t i = 0;
    while (i < COUNT_OF(COMMANDS) && strcmp(verb, COMMANDS[i].verb) != 0)
        i++;
    if (i == COUNT_OF(COMMANDS))
        fail_msg("no command '%s'", verb);
    expression_fixture_init(&s->e, (const char *)s->names.data, (const char *)s->values.data);
    s->old = expression_fixture_item(&s->e, s->item.size == 0 ? "{}" : (const char *)s->item.data);
    COMMANDS[i].run(s, text, out);
    expression_fixture_deinit(&s->e);
}

static void run(void *world, struct slice command, struct buffer *out)
{
    struct buffer text = {0};
    char verb[16];
    const char *rest = strchr((const char *)command.data, ' ');
    const size_t size = rest == NULL ? command.size : (size_t)(rest - (const char *)command.data);
    assert_in_range(size, 1, sizeof verb - 1);
    memcpy(verb, command.data, size);
    verb[size] = '\0';
    case_append_expanded(&text, rest == NULL ? "" : rest + 1);
    if (!scene_set(world, verb, buffer_slice(&text)))
        scene_run(world, verb, buffer_slice(&text), out);
    buffer_deinit(&text);
}

static void *begin(void)
{
    static struct scene s;
    s = (struct scene){.exists = true};
    return &s;
}

static void end(void *world)
{
    struct scene *s = world;
    buffer_deinit(&s->item);
    buffer_deinit(&s->names);
    buffer_deinit(&s->values);
}

TEST(expressions_are_as_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run};
    case_files_run("expression/*.case", &FORMAT);
}
