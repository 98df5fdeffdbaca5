/* trace_order.c - a binary heap of records, by time and number. */
#include "workload/trace_order.h"

#include <stdlib.h>

#include "base/instant.h"

struct trace_held {
    struct trace_record record; /* if keys are hashed, `key` is the hash */
    uint64_t number;
    char *key; /* owns; NULL if keys are hashed */
    size_t key_size;
};

void trace_order_init(struct trace_order *o, const char *salt)
{
    *o = (struct trace_order){.hashed = salt != NULL};
    if (salt != NULL)
        o->salt = trace_salt_of(slice_of(salt));
}

void trace_order_deinit(struct trace_order *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->heap[i].key);
    free(o->heap);
    *o = (struct trace_order){0};
}

static bool held_is_before(const struct trace_held *a, const struct trace_held *b)
{
    return a->record.at_ns != b->record.at_ns ? a->record.at_ns < b->record.at_ns
                                              : a->number < b->number;
}

static void held_swap(struct trace_order *o, size_t a, size_t b)
{
    struct trace_held kept = o->heap[a];
    o->heap[a] = o->heap[b];
    o->heap[b] = kept;
}

static void held_rise(struct trace_order *o, size_t at)
{
    while (at > 0 && held_is_before(&o->heap[at], &o->heap[(at - 1) / 2])) {
        held_swap(o, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static void held_sink(struct trace_order *o)
{
    for (size_t at = 0, first = 0;; at = first) {
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < o->count; child++) {
            if (held_is_before(&o->heap[child], &o->heap[first]))
                first = child;
        }
        if (first == at)
            return;
        held_swap(o, at, first);
    }
}

static void write_first(struct trace_order *o, struct buffer *out)
{
    struct trace_held first = o->heap[0];
    int64_t at_us = first.record.at_ns / NS_PER_US;
    at_us = MAX(at_us, o->last_us);
    if (o->hashed)
        trace_append_hashed(out, at_us - o->last_us, &first.record);
    else
        trace_append_line(out, at_us - o->last_us, &first.record,
                          slice_make(first.key, first.key_size), NULL);
    o->last_us = at_us;
    o->lines++;
    free(first.key);
    o->heap[0] = o->heap[--o->count];
    held_sink(o);
}

void trace_order_add(struct trace_order *o, const struct trace_record *r, struct slice key,
                     struct buffer *out)
{
    if (o->count == TRACE_ORDER_HELD_MAX)
        write_first(o, out);
    o->heap = must_grow(o->heap, o->count, &o->capacity, sizeof o->heap[0]);
    struct trace_held *h = &o->heap[o->count];
    *h = (struct trace_held){.record = *r, .number = o->next_number++};
    if (o->hashed) {
        h->record.key = trace_hash(&o->salt, key);
    } else {
        h->key = must_have(malloc(key.size + 1));
        h->key_size = key.size;
        memcpy(h->key, key.data, key.size);
    }
    held_rise(o, o->count++);
}

void trace_order_write(struct trace_order *o, int64_t until_ns, struct buffer *out)
{
    while (o->count > 0 && o->heap[0].record.at_ns <= until_ns)
        write_first(o, out);
}
