/* history_check.c - reads a history to its end, counts, and judges it key by key. */
#include "workload/history_check.h"

#include <errno.h>
#include <stdlib.h>

enum {
    CHUNK_SIZE = 1 << 20
};

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

/* Adds the complete lines; the rest moves to the front. */
static enum status add_lines(struct history_check *c, struct buffer *text, struct buffer *error)
{
    size_t at = 0;
    const uint8_t *end;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (end = memchr(text->data + at, '\n', text->size - at)) != NULL) {
        size_t size = (size_t)(end - text->data) - at;
        if (size > 0)
            status = history_add_line(&c->history, slice_make(text->data + at, size), error);
        else
            c->history.lines++;
        at += size + 1;
    }
    text->size -= at;
    memmove(text->data, text->data + at, text->size);
    if (status == STATUS_OK && text->size > HISTORY_LINE_SIZE_MAX)
        status = buffer_explain(error, STATUS_MALFORMED, "line %lld: longer than %d bytes",
                                (long long)c->history.lines + 1, HISTORY_LINE_SIZE_MAX);
    return status;
}

enum status history_check_read(struct history_check *c, FILE *f, struct buffer *error)
{
    struct buffer text = {0};
    enum status status = STATUS_OK;
    size_t n;
    while (status == STATUS_OK &&
           (n = fread(buffer_reserve(&text, CHUNK_SIZE + HISTORY_LINE_PADDING), 1, CHUNK_SIZE, f)) >
               0) {
        text.size += n;
        status = add_lines(c, &text, error);
    }
    if (status == STATUS_OK && ferror(f))
        status = buffer_explain(error, STATUS_IO, "%s", strerror(errno));
    if (status == STATUS_OK)
        add_last_line(c, buffer_slice(&text));
    buffer_deinit(&text);
    if (status == STATUS_OK && c->history.count == 0)
        status = buffer_explain(error, STATUS_MALFORMED, "holds no operations");
    return status == STATUS_OK ? history_group(&c->history, error) : status;
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
        max = c->history.keys[key].count > max ? c->history.keys[key].count : max;
    struct history_op *ops = must_calloc(max + 1, sizeof *ops);
    for (uint32_t key = 0; key < c->history.key_count; key++) {
        if (progress != NULL)
            progress(context, key);
        check_key(c, key, ops);
    }
    free(ops);
}
