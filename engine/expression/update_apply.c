/* update_apply.c - applies the program of an update to an item.
 *
 * 1. Each action becomes a step: its path, and the value that it writes. The values are read from
 *    the old item. All faults but the size are found here.
 * 2. The steps are sorted by path, and the old item is walked once. What no step changes is copied.
 *
 * Nothing is allocated for up to UPDATE_FEW actions, unless set.h says otherwise. */
#include <stdlib.h>

#include "engine/expression/program_part.h"
#include "engine/expression/set.h"
#include "engine/expression/update_program.h"

enum {
    UPDATE_FEW = 8
};

struct update_step {
    enum update_verb verb;
    struct reader path; /* at the first step of the path */
    uint32_t length;    /* of the path */
    bool done;
    struct attr value; /* SET: the value. ADD, DELETE: the elements of a set */
    struct attr tail;  /* SET: the list whose elements follow those of `value`; type 0: none */
    uint8_t number[NUMBER_ENCODED_MAX]; /* `value` may point to it */
};

struct update_run {
    struct slice item;
    bool exists;
    struct item_writer w;
    struct update_step *steps;
    struct update_step **order; /* by path; without steps that change nothing */
    uint32_t step_count;
    uint32_t order_count;
    struct update_step few_steps[UPDATE_FEW];
    struct update_step *few_order[UPDATE_FEW];
};

static void update_path_step(const struct update_step *s, uint32_t depth, struct path_part *out)
{
    struct reader path = s->path;
    must(depth < s->length);
    for (uint32_t i = 0; i <= depth; i++)
        program_read_step(&path, out);
}

/* ---- values ---- */

static enum update_fault update_read_operand(struct reader *r, uint8_t kind, struct slice item,
                                             struct attr *out)
{
    struct attr found = {0};
    bool there = false;
    for (; kind == UPDATE_OP_IF_NOT_EXISTS; kind = reader_u8(r)) {
        if (program_find_path(r, item, &found) && !there) {
            *out = found;
            there = true;
        }
    }
    if (kind == UPDATE_OP_PATH) {
        if (!program_find_path(r, item, &found) && !there)
            return UPDATE_NO_ATTRIBUTE;
    } else {
        found = program_read_value(r);
    }
    if (!there)
        *out = found;
    return UPDATE_OK;
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

static enum update_fault update_read_value(struct reader *r, struct slice item,
                                           struct update_step *s)
{
    const uint8_t op = reader_u8(r);
    if (op < UPDATE_OP_PLUS)
        return update_read_operand(r, op, item, &s->value);
    const enum attr_type type = op == UPDATE_OP_APPEND ? ATTR_LIST : ATTR_NUMBER;
    struct attr operands[2];
    for (int i = 0; i < 2; i++) {
        const uint8_t kind = reader_u8(r);
        const enum update_fault fault = update_read_operand(r, kind, item, &operands[i]);
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
        struct path_part step;
        *s = (struct update_step){.verb = reader_u8(r)};
        s->length = program_read_u16(r);
        s->path = *r;
        for (uint32_t j = 0; j < s->length; j++)
            program_read_step(r, &step);
        enum update_fault fault = UPDATE_OK;
        if (s->verb == UPDATE_SET)
            fault = update_read_value(r, run->item, s);
        else if (s->verb != UPDATE_REMOVE)
            s->value = program_read_value(r);
        if (fault != UPDATE_OK)
            return fault;
    }
    return UPDATE_OK;
}

/* ---- targets ---- */

/* Finds what the step changes; old->type is 0 if nothing is there yet. False: the path goes through
 * something that is no list or map, or through nothing. */
static bool update_find(const struct update_run *run, const struct update_step *s, struct attr *old)
{
    struct path_part step;
    struct reader path = s->path;
    program_read_step(&path, &step);
    bool there = item_find(run->item, step.name, old);
    for (uint32_t i = 1; i < s->length; i++) {
        const struct attr at = *old;
        program_read_step(&path, &step);
        if (!there || at.type != (step.indexed ? ATTR_LIST : ATTR_MAP))
            return false;
        there = program_take_step(&at, &step, old);
    }
    if (!there)
        old->type = 0;
    return true;
}

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

static enum update_fault update_resolve(struct update_run *run, struct update_step *s)
{
    struct attr old = {0};
    enum update_fault fault = UPDATE_OK;
    if (!update_find(run, s, &old)) {
        /* The service removes what is not there, if there is no item at all. */
        s->done = !run->exists && s->verb == UPDATE_REMOVE;
        return s->done ? UPDATE_OK : UPDATE_PATH_INVALID;
    }
    if (s->verb == UPDATE_ADD)
        fault = update_add(s, &old);
    else if (s->verb == UPDATE_DELETE && old.type != 0 && old.type != s->value.type)
        fault = UPDATE_OPERAND_TYPE;
    if (fault == UPDATE_OK && s->verb == UPDATE_SET &&
        !(attr_fits(&s->value, s->length - 1) &&
          (s->tail.type == 0 || attr_fits(&s->tail, s->length - 1))))
        fault = UPDATE_TOO_DEEP;
    return fault;
}

static int update_compare(const void *x, const void *y)
{
    const struct update_step *a = *(struct update_step *const *)x;
    const struct update_step *b = *(struct update_step *const *)y;
    struct path_part left, right;
    int order = 0;
    for (uint32_t i = 0; order == 0 && i < a->length && i < b->length; i++) {
        update_path_step(a, i, &left);
        update_path_step(b, i, &right);
        order = path_step_compare(&left, &right);
    }
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* ---- the walk ---- */

/* Finds among the sorted steps [*from, *to) those whose path goes on with `key` at this depth. */
static void update_matching(const struct update_run *run, uint32_t depth,
                            const struct path_part *key, uint32_t *from, uint32_t *to)
{
    struct path_part step;
    uint32_t low = *from, high = *to;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        update_path_step(run->order[middle], depth, &step);
        if (path_step_compare(&step, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *from = low;
    for (; high < *to; high++) {
        update_path_step(run->order[high], depth, &step);
        if (path_step_compare(&step, key) != 0)
            break;
    }
    *to = high;
}

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
    if (s->verb == UPDATE_REMOVE ||
        (s->verb == UPDATE_DELETE && (old == NULL || set_has_all(&s->value, old))))
        return;
    update_write_name(run, at);
    if (s->verb == UPDATE_DELETE) {
        set_write_difference(&run->w, old, &s->value);
    } else if (s->verb == UPDATE_ADD) {
        set_write_union(&run->w, old, &s->value);
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

/* Writes what the sorted steps [from, to) make of an attribute that all their paths lead to or
 * through. False: the item is too large. */
static bool update_walk_into(struct update_run *run, const struct path_part *at,
                             const struct attr *old, uint32_t depth, uint32_t from, uint32_t to)
{
    if (run->order[from]->length == depth + 1) { /* sorted: the shortest path comes first */
        update_write(run, at, old, run->order[from]);
        for (uint32_t i = from; i < to; i++)
            run->order[i]->done = true; /* only of paths that overlap there are others */
        return true;
    }
    update_write_name(run, at);
    item_open(&run->w, old->type);
    if (!update_walk(run, attr_elements(old), depth + 1, from, to))
        return false;
    item_close(&run->w);
    return true;
}

/* Writes the elements of a list or map, as the sorted steps [from, to) change them. */
static bool update_walk(struct update_run *run, struct attr_cursor old, uint32_t depth,
                        uint32_t from, uint32_t to)
{
    struct path_part at = {.indexed = !old.named};
    struct attr value;
    for (; attr_next(&old, &at.name, &value); at.index += at.indexed) {
        uint32_t first = from, end = to;
        update_matching(run, depth, &at, &first, &end);
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
        struct update_step *s = run->order[i];
        if (s->done || s->length != depth + 1 ||
            (i > from && update_compare(&run->order[i - 1], &run->order[i]) == 0))
            continue;
        update_path_step(s, depth, &at);
        update_write(run, &at, NULL, s);
        if (run->w.size > ITEM_SIZE_MAX)
            return false;
    }
    return true;
}

static enum update_fault update_run(struct update_run *run, struct reader *r, struct buffer *out)
{
    enum update_fault fault = update_read_steps(run, r);
    for (uint32_t i = 0; i < run->step_count && fault == UPDATE_OK; i++) {
        struct update_step *s = &run->steps[i];
        fault = update_resolve(run, s);
        if (!s->done)
            run->order[run->order_count++] = s;
    }
    if (fault != UPDATE_OK)
        return fault;
    qsort(run->order, run->order_count, sizeof(struct update_step *), update_compare);
    item_begin(&run->w, out);
    if (!update_walk(run, item_attrs(run->item), 0, 0, run->order_count)) {
        out->size = run->w.start;
        return UPDATE_TOO_LARGE;
    }
    item_end(&run->w);
    return UPDATE_OK;
}

enum update_fault update_apply(struct slice program, struct slice item, bool exists,
                               struct buffer *out)
{
    struct reader r = {program, false};
    struct update_run run = {.item = item, .exists = exists};
    run.step_count = program.size == 0 ? 0 : program_read_u16(&r);
    run.steps = run.few_steps;
    run.order = run.few_order;
    if (run.step_count > UPDATE_FEW) {
        run.steps = must_calloc(run.step_count, sizeof(struct update_step));
        run.order = must_calloc(run.step_count, sizeof(struct update_step *));
    }
    const enum update_fault fault = update_run(&run, &r, out);
    must(!r.failed);
    if (run.steps != run.few_steps) {
        free(run.steps);
        free(run.order);
    }
    return fault;
}
