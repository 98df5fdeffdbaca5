/* trace_recorder.c - see trace_recorder.h. */
#include "workload/trace_recorder.h"

#include <stdlib.h>

#include "base/instant.h"

enum {
    RING_MIN = 1024
};

struct trace_pending {
    struct trace_record record;
    bool ended;
    char *key; /* owns */
    size_t key_size;
};

static struct trace_pending *recorder_at(struct trace_recorder *t, uint64_t number)
{
    return &t->ring[number & (t->capacity - 1)];
}

static void write_text(struct trace_recorder *t)
{
    fwrite(t->text.data, 1, t->text.size, t->file);
    buffer_clear(&t->text);
}

void trace_recorder_init(struct trace_recorder *t, FILE *file, const char *salt)
{
    *t = (struct trace_recorder){.file = file, .hashed = salt != NULL, .capacity = RING_MIN};
    if (salt != NULL)
        t->salt = trace_salt_of(slice_of(salt));
    t->ring = must_calloc(t->capacity, sizeof t->ring[0]);
    trace_append_head(&t->text, salt);
    write_text(t);
}

void trace_recorder_clock(struct trace_recorder *t, int64_t wall_us)
{
    must(t->end == 0);
    trace_append_clock(&t->text, wall_us);
    write_text(t);
}

static void write_pending(struct trace_recorder *t, struct trace_pending *p)
{
    int64_t at_us = p->record.at_ns / NS_PER_US;
    trace_append_line(&t->text, at_us - t->last_us, &p->record, slice_make(p->key, p->key_size),
                      t->hashed ? &t->salt : NULL);
    write_text(t);
    t->last_us = at_us;
    free(p->key);
    *p = (struct trace_pending){0};
}

void trace_recorder_deinit(struct trace_recorder *t)
{
    while (t->first < t->end)
        write_pending(t, recorder_at(t, t->first++));
    free(t->ring);
    buffer_deinit(&t->text);
    *t = (struct trace_recorder){0};
}

static uint32_t recorder_name(struct trace_recorder *t, const char *what, uint32_t *count,
                              const char *name)
{
    /* Requests that wait are written later: their lines follow the name, too. */
    trace_append_name(&t->text, what, *count, slice_of(name));
    write_text(t);
    return (*count)++;
}

uint32_t trace_recorder_table(struct trace_recorder *t, const char *name)
{
    return recorder_name(t, "table", &t->tables, name);
}

uint32_t trace_recorder_tenant(struct trace_recorder *t, const char *name)
{
    return recorder_name(t, "tenant", &t->tenants, name);
}

static void recorder_grow(struct trace_recorder *t)
{
    struct trace_pending *old = t->ring;
    uint64_t old_capacity = t->capacity;
    t->capacity *= 2;
    t->ring = must_calloc(t->capacity, sizeof t->ring[0]);
    for (uint64_t i = t->first; i < t->end; i++)
        t->ring[i & (t->capacity - 1)] = old[i & (old_capacity - 1)];
    free(old);
}

uint64_t trace_recorder_begin(struct trace_recorder *t, const struct trace_record *r,
                              struct slice key)
{
    if (t->end - t->first == t->capacity)
        recorder_grow(t);
    struct trace_pending *p = recorder_at(t, t->end);
    *p = (struct trace_pending){.record = *r, .key_size = key.size};
    p->key = must_have(malloc(key.size + 1));
    memcpy(p->key, key.data, key.size);
    p->record.outcome = TRACE_UNANSWERED;
    p->record.at_ns = MAX(p->record.at_ns, t->newest_ns);
    t->newest_ns = p->record.at_ns;
    return t->end++;
}

void trace_recorder_end(struct trace_recorder *t, uint64_t request, enum trace_outcome outcome)
{
    must(request >= t->first);
    must(request < t->end);
    struct trace_pending *p = recorder_at(t, request);
    must(!p->ended);
    p->ended = true;
    p->record.outcome = outcome;
    while (t->first < t->end && recorder_at(t, t->first)->ended)
        write_pending(t, recorder_at(t, t->first++));
}
