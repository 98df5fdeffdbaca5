/* history_check.c - reads a history to its end, counts, and judges it key by key. */
#include "workload/history_check.h"

#include <stdlib.h>

#include "workload/input_file.h"

_Static_assert((int)INPUT_PADDING >= (int)HISTORY_LINE_PADDING,
               "lines are parsed where they were read");

void history_check_init(struct history_check *c)
{
    *c = (struct history_check){0};
    history_init(&c->history);
}

void history_check_deinit(struct history_check *c)
{
    history_deinit(&c->history);
}

/* ---- reading ---- */

/* A last line without an end is ignored if it is incomplete. */
static void add_last_line(struct history_check *c, struct slice line)
{
    struct buffer ignored = {0};
    if (line.size > 0 && history_add_line(&c->history, line, &ignored) != STATUS_OK)
        c->torn_bytes = line.size;
    buffer_deinit(&ignored);
}

/* Adds all lines. `wrong` gets the fault of a line. */
static enum status add_lines(struct history_check *c, struct input_lines *lines,
                             struct buffer *wrong, struct buffer *error)
{
    for (;;) {
        struct slice line;
        const enum input_line found = input_lines_next(lines, &line, error);
        if (found == INPUT_FAILED)
            return STATUS_IO;
        if (found == INPUT_LINE_LAST)
            add_last_line(c, line);
        if (found != INPUT_LINE)
            return STATUS_OK;
        if (line.size == 0)
            c->history.lines++;
        else if (history_add_line(&c->history, line, wrong) != STATUS_OK)
            return STATUS_MALFORMED;
    }
}

enum status history_check_read(struct history_check *c, const char *path, struct buffer *error)
{
    struct input_lines lines;
    struct buffer wrong = {0};
    enum status status = input_lines_open(&lines, path, true, HISTORY_LINE_SIZE_MAX, error);
    if (status == STATUS_OK)
        status = add_lines(c, &lines, &wrong, error);
    if (status == STATUS_OK && c->history.count == 0)
        status = buffer_explain(&wrong, STATUS_MALFORMED, "holds no operations");
    if (status == STATUS_OK)
        status = history_group(&c->history, &wrong);
    if (wrong.size > 0)
        buffer_append_format(error, "%s: %.*s", path, TEXT_OF(wrong));
    input_lines_close(&lines);
    buffer_deinit(&wrong);
    return status;
}

/* ---- judging ---- */

static void count_outcomes(struct history_check *c)
{
    for (size_t i = 0; i < c->history.count; i++) {
        const struct history_entry *e = &c->history.entries[i];
        c->ok += e->op.outcome == HISTORY_OK;
        c->fail += e->op.outcome == HISTORY_FAIL;
        c->info += e->op.outcome == HISTORY_INFO;
        c->unanswered += e->returned_line == 0;
        c->eventual += e->eventual;
    }
}

static void add_violation(struct history_check *c, uint32_t key, uint64_t op)
{
    if (c->violation_count < HISTORY_VIOLATIONS_KEPT)
        c->violations[c->violation_count] = (struct history_violation){key, op};
    c->violation_count++;
}

static void check_key(struct history_check *c, uint32_t key, struct history_op *ops)
{
    struct history_verdict v;
    history_check_key(&c->history, key, ops, &v);
    if (v.exhausted)
        c->undecided_count++;
    else if (!v.linearizable)
        add_violation(c, key, v.culprit);
    const struct history_entry *wrong = history_false_read(&c->history, key);
    if (wrong != NULL)
        add_violation(c, key, wrong->op.id);
}

void history_check_evaluate(struct history_check *c, history_check_progress *progress,
                            void *context)
{
    size_t max = 0;
    count_outcomes(c);
    for (uint32_t key = 0; key < c->history.key_count; key++)
        max = MAX(c->history.keys[key].count, max);
    struct history_op *ops = must_calloc(max + 1, sizeof *ops);
    for (uint32_t key = 0; key < c->history.key_count; key++) {
        if (progress != NULL)
            progress(context, key);
        check_key(c, key, ops);
    }
    free(ops);
}
