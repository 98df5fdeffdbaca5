/* update_apply.c - applies the program of an update to an item.
 *
 * 1. All paths of the program are looked up (path_lookup.h).
 * 2. Each action becomes a step: its path, and the value that it writes. The values are read from
 *    the old item. All faults but the size are found here.
 * 3. The old item and the sorted paths of the steps are walked together. What no step changes is
 *    copied.
 *
 * Nothing is allocated for up to UPDATE_FEW actions, unless set.h or path_lookup.h say
 * otherwise. */
#include <stdlib.h>

#include "engine/expression/path_lookup.h"
#include "engine/expression/set.h"
#include "engine/expression/update_program.h"

enum {
    UPDATE_FEW = 8
};

struct update_step {
    enum update_verb verb;
    struct found_path *path;
    bool done;
    struct attr value; /* SET: the value. ADD, DELETE: the elements of a set */
    struct attr tail;  /* SET: the list whose elements follow those of `value`; type 0: none */
    uint8_t number[NUMBER_ENCODED_MAX]; /* `value` may point to it */
};

struct update_run {
    bool exists;
    struct steps *spent;
    struct item_writer w;
    struct path_lookup paths;
    uint32_t next_path; /* of `paths.all`, to be read */
    struct update_step *steps;
    uint32_t step_count;
    struct found_path **order; /* those of steps that change something, sorted */
    uint32_t order_count;
    struct update_step few_steps[UPDATE_FEW];
};

/* ---- paths ---- */

static void update_skip_path(struct reader *r)
{
    struct path_part step;
    const uint32_t length = program_read_u16(r);
    for (uint32_t i = 0; i < length; i++)
        program_read_step(r, &step);
}

/* Adds a path to the lookup; NULL: only moves on. */
static void update_take_path(struct path_lookup *to, struct reader *r)
{
    if (to != NULL)
        path_lookup_add(to, r);
    else
        update_skip_path(r);
}

/* Returns the number of paths, as the following functions do. */
static uint32_t update_take_operand(struct path_lookup *to, struct reader *r, uint8_t kind)
{
    uint32_t count = 0;
    for (; kind == UPDATE_OP_IF_NOT_EXISTS; kind = reader_u8(r), count++)
        update_take_path(to, r);
    if (kind != UPDATE_OP_PATH) {
        program_read_value(r);
        return count;
    }
    update_take_path(to, r);
    return count + 1;
}

static uint32_t update_take_value(struct path_lookup *to, struct reader *r)
{
    const uint8_t op = reader_u8(r);
    if (op < UPDATE_OP_PLUS)
        return update_take_operand(to, r, op);
    const uint32_t count = update_take_operand(to, r, reader_u8(r));
    return count + update_take_operand(to, r, reader_u8(r));
}

/* Adds the paths of a program, in their order. */
static uint32_t update_take_paths(struct path_lookup *to, struct slice program)
{
    struct reader r = {program, false};
    const uint32_t actions = program.size == 0 ? 0 : program_read_u16(&r);
    uint32_t count = actions;
    for (uint32_t i = 0; i < actions; i++) {
        const enum update_verb verb = reader_u8(&r);
        update_take_path(to, &r);
        if (verb == UPDATE_SET)
            count += update_take_value(to, &r);
        else if (verb != UPDATE_REMOVE)
            program_read_value(&r);
    }
    return count;
}

/* What the next path of the program leads to. */
static struct found_path *update_next_path(struct update_run *run, struct reader *r)
{
    must(run->next_path < run->paths.count);
    update_skip_path(r);
    return &run->paths.all[run->next_path++];
}

/* ---- values ---- */

static enum update_fault update_read_operand(struct update_run *run, struct reader *r, uint8_t kind,
                                             struct attr *out)
{
    *out = (struct attr){0};
    for (; kind == UPDATE_OP_IF_NOT_EXISTS; kind = reader_u8(r)) {
        const struct attr found = update_next_path(run, r)->found;
        if (out->type == 0)
            *out = found;
    }
    const struct attr last =
        kind == UPDATE_OP_PATH ? update_next_path(run, r)->found : program_read_value(r);
    if (out->type == 0)
        *out = last;
    return out->type == 0 ? UPDATE_NO_ATTRIBUTE : UPDATE_OK;
}

/* Sets the step's value to a + b, or to a - b. */
static enum update_fault update_sum(struct update_step *s, const struct attr *a,
                                    const struct attr *b, bool minus)
{
    struct number x, y, sum;
    size_t used;
    must(number_decode(a->body, &x, &used) == STATUS_OK);
    must(number_decode(b->body, &y, &used) == STATUS_OK);
    switch (minus ? number_subtract(&x, &y, &sum) : number_add(&x, &y, &sum)) {
    case NUMBER_OK:
        s->value =
            (struct attr){ATTR_NUMBER, slice_make(s->number, number_encode(&sum, s->number))};
        return UPDATE_OK;
    case NUMBER_UNDERFLOW:
        return UPDATE_NUMBER_SMALL;
    default:
        return UPDATE_NUMBER_RANGE;
    }
}

static enum update_fault update_read_value(struct update_run *run, struct reader *r,
                                           struct update_step *s)
{
    const uint8_t op = reader_u8(r);
    if (op < UPDATE_OP_PLUS)
        return update_read_operand(run, r, op, &s->value);
    const enum attr_type type = op == UPDATE_OP_APPEND ? ATTR_LIST : ATTR_NUMBER;
    struct attr operands[2];
    for (int i = 0; i < 2; i++) {
        const uint8_t kind = reader_u8(r);
        const enum update_fault fault = update_read_operand(run, r, kind, &operands[i]);
        if (fault != UPDATE_OK)
            return fault;
        if (operands[i].type != type)
            return UPDATE_OPERAND_TYPE;
    }
    if (op != UPDATE_OP_APPEND)
        return update_sum(s, &operands[0], &operands[1], op == UPDATE_OP_MINUS);
    s->value = operands[0];
    s->tail = operands[1];
    return UPDATE_OK;
}

static enum update_fault update_read_steps(struct update_run *run, struct reader *r)
{
    for (uint32_t i = 0; i < run->step_count; i++) {
        struct update_step *s = &run->steps[i];
        *s = (struct update_step){.verb = reader_u8(r)};
        must(s->verb >= UPDATE_SET);
        must(s->verb <= UPDATE_DELETE);
        s->path = update_next_path(run, r);
        s->path->context = s;
        enum update_fault fault = UPDATE_OK;
        if (s->verb == UPDATE_SET)
            fault = update_read_value(run, r, s);
        else if (s->verb != UPDATE_REMOVE)
            s->value = program_read_value(r);
        if (fault != UPDATE_OK)
            return fault;
    }
    return UPDATE_OK;
}

/* ---- targets ---- */

/* ADD of a number or list becomes SET of the result; so does every ADD to nothing. */
static enum update_fault update_add(struct update_step *s, const struct attr *old)
{
    if (old->type == 0) {
        s->verb = UPDATE_SET;
        return UPDATE_OK;
    }
    if (old->type != s->value.type)
        return UPDATE_OPERAND_TYPE;
    if (attr_set_element(old->type) != 0)
        return UPDATE_OK;
    s->verb = UPDATE_SET;
    if (old->type == ATTR_NUMBER)
        return update_sum(s, old, &(struct attr){ATTR_NUMBER, s->value.body}, false);
    s->tail = s->value;
    s->value = *old;
    return UPDATE_OK;
}

/* Whether the value that the step sets may stand where its path leads. */
static bool update_fits(struct update_run *run, const struct update_step *s)
{
    const uint32_t depth = s->path->length - 1;
    steps_take_bytes(run->spent, s->value.body.size + s->tail.body.size, STEPS_MEASURED_BYTES);
    return attr_fits(&s->value, depth) && (s->tail.type == 0 || attr_fits(&s->tail, depth));
}

static enum update_fault update_resolve(struct update_run *run, struct update_step *s)
{
    const struct attr *old = &s->path->found;
    enum update_fault fault = UPDATE_OK;
    if (!s->path->open) {
        /* The service removes what is not there, if there is no item at all. */
        s->done = !run->exists && s->verb == UPDATE_REMOVE;
        return s->done ? UPDATE_OK : UPDATE_PATH_INVALID;
    }
    if (s->verb == UPDATE_ADD)
        fault = update_add(s, old);
    else if (s->verb == UPDATE_DELETE && old->type != 0 && old->type != s->value.type)
        fault = UPDATE_OPERAND_TYPE;
    if (fault == UPDATE_OK && s->verb == UPDATE_SET && !update_fits(run, s))
        fault = UPDATE_TOO_DEEP;
    return fault;
}

/* ---- the walk ---- */

static void update_write_name(struct update_run *run, const struct path_part *step)
{
    if (!step->indexed)
        item_name(&run->w, step->name);
}

/* Writes what the step makes of `old`, which is NULL if there is nothing. */
static void update_write(struct update_run *run, const struct path_part *at, const struct attr *old,
                         struct update_step *s)
{
    struct slice name;
    struct attr element;
    s->done = true;
    if (s->verb == UPDATE_REMOVE || (s->verb == UPDATE_DELETE && old == NULL))
        return;
    if (s->verb == UPDATE_DELETE) {
        set_write_difference(&run->w, at->name, old, &s->value, run->spent);
        return;
    }
    update_write_name(run, at);
    if (s->verb == UPDATE_ADD) {
        set_write_union(&run->w, old, &s->value, run->spent);
    } else if (s->tail.type == 0) {
        item_attr(&run->w, &s->value);
    } else {
        item_open(&run->w, ATTR_LIST);
        for (struct attr_cursor c = attr_elements(&s->value); attr_next(&c, &name, &element);)
            item_attr(&run->w, &element);
        for (struct attr_cursor c = attr_elements(&s->tail); attr_next(&c, &name, &element);)
            item_attr(&run->w, &element);
        item_close(&run->w);
    }
}

static bool update_walk(struct update_run *run, struct attr_cursor old, uint32_t depth,
                        uint32_t from, uint32_t to);

/* Writes what the steps of the sorted paths [from, to) make of an attribute that all the paths lead
 * to or through. False: the item is too large. */
static bool update_walk_into(struct update_run *run, const struct path_part *at,
                             const struct attr *old, uint32_t depth, uint32_t from, uint32_t to)
{
    must(from < to);
    must(run->order[from]->length > depth);
    if (run->order[from]->length == depth + 1) { /* sorted: the shortest path comes first */
        update_write(run, at, old, run->order[from]->context);
        for (uint32_t i = from; i < to; i++) /* only of paths that overlap there are others */
            ((struct update_step *)run->order[i]->context)->done = true;
        return true;
    }
    update_write_name(run, at);
    item_open(&run->w, old->type);
    if (!update_walk(run, attr_elements(old), depth + 1, from, to))
        return false;
    item_close(&run->w);
    path_lookup_enter(run->order, depth, from, to);
    return true;
}

/* Writes the elements of a list or map, as the steps of the sorted paths [from, to) change them. */
static bool update_walk(struct update_run *run, struct attr_cursor old, uint32_t depth,
                        uint32_t from, uint32_t to)
{
    struct path_part at = {.indexed = !old.named};
    struct attr value;
    path_lookup_enter(run->order, depth, from, to);
    for (; attr_next(&old, &at.name, &value); at.index += at.indexed) {
        uint32_t first = from, end = to;
        path_lookup_match(run->order, &at, &first, &end, run->spent);
        if (first == end) {
            update_write_name(run, &at);
            item_attr(&run->w, &value);
        } else if (!update_walk_into(run, &at, &value, depth, first, end)) {
            return false;
        }
        if (run->w.size > ITEM_SIZE_MAX)
            return false;
    }
    for (uint32_t i = from; i < to; i++) {
        struct found_path *path = run->order[i];
        struct update_step *s = path->context;
        if (s->done || path->length != depth + 1 ||
            (i > from && found_path_compare(run->order[i - 1], path) == 0))
            continue;
        update_write(run, &path->step, NULL, s);
        if (run->w.size > ITEM_SIZE_MAX)
            return false;
    }
    return true;
}

/* Keeps the sorted paths of the steps that change something. */
static void update_set_order(struct update_run *run)
{
    run->order = run->paths.sorted;
    for (uint32_t i = 0; i < run->paths.count; i++) {
        const struct update_step *s = run->paths.sorted[i]->context;
        if (s != NULL && !s->done)
            run->order[run->order_count++] = run->paths.sorted[i];
    }
    must(run->order_count <= run->step_count);
}

static enum update_fault update_run(struct update_run *run, struct reader *r, struct slice item,
                                    struct buffer *out)
{
    enum update_fault fault = update_read_steps(run, r);
    for (uint32_t i = 0; i < run->step_count && fault == UPDATE_OK; i++) {
        fault = update_resolve(run, &run->steps[i]);
        if (steps_are_spent(run->spent))
            fault = UPDATE_TOO_COSTLY;
    }
    if (fault != UPDATE_OK)
        return fault;
    must(run->next_path == run->paths.count);
    must(r->left.size == 0);
    update_set_order(run);
    item_begin(&run->w, out);
    if (!update_walk(run, item_attrs(item), 0, 0, run->order_count)) {
        out->size = run->w.start;
        return UPDATE_TOO_LARGE;
    }
    item_end(&run->w);
    return UPDATE_OK;
}

enum update_fault update_apply(struct slice program, struct slice item, bool exists,
                               struct steps *steps, struct buffer *out)
{
    struct reader r = {program, false};
    struct update_run run = {.exists = exists, .spent = steps};
    path_lookup_init(&run.paths, update_take_paths(NULL, program));
    update_take_paths(&run.paths, program);
    path_lookup_find(&run.paths, item, steps);
    run.step_count = program.size == 0 ? 0 : program_read_u16(&r);
    run.steps = run.few_steps;
    if (run.step_count > UPDATE_FEW)
        run.steps = must_calloc(run.step_count, sizeof(struct update_step));
    const enum update_fault fault = update_run(&run, &r, item, out);
    must(!r.failed);
    if (run.steps != run.few_steps)
        free(run.steps);
    path_lookup_deinit(&run.paths);
    return fault;
}
