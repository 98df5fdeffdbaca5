/* arena.c - chunks in a list; allocations come from the newest one. */
#include "base/arena.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/must.h"

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    size_t used;
    _Alignas(16) uint8_t bytes[];
};

static struct arena_chunk *chunk_create(size_t size)
{
    struct arena_chunk *chunk = malloc(sizeof *chunk + size);
    must(chunk != NULL);
    chunk->next = NULL;
    chunk->size = size;
    chunk->used = 0;
    return chunk;
}

static void chunks_destroy(struct arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void arena_deinit(struct arena *a)
{
    chunks_destroy(a->first);
    *a = (struct arena){0};
}

void arena_reset(struct arena *a)
{
    a->used_bytes = 0;
    if (a->first == NULL)
        return;
    chunks_destroy(a->first->next);
    a->first->next = NULL;
    a->first->used = 0;
    a->current = a->first;
}

static void arena_grow(struct arena *a, size_t size)
{
    size_t needed = a->current == NULL ? ARENA_CHUNK_SIZE_MIN : a->current->size * 2;
    needed = MIN(needed, ARENA_CHUNK_SIZE_MAX);
    needed = MAX(needed, size);
    struct arena_chunk *chunk = chunk_create(needed);
    if (a->current == NULL)
        a->first = chunk;
    else
        a->current->next = chunk;
    a->current = chunk;
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t rounded = (size + 15) & ~(size_t)15;
    must(rounded >= size);
    if (a->current == NULL || a->current->size - a->current->used < rounded)
        arena_grow(a, rounded);
    void *memory = a->current->bytes + a->current->used;
    a->current->used += rounded;
    a->used_bytes += rounded;
    return memory;
}

void *arena_zalloc(struct arena *a, size_t size)
{
    return memset(arena_alloc(a, size), 0, size);
}

struct slice arena_copy(struct arena *a, struct slice s)
{
    if (s.size == 0)
        return (struct slice){NULL, 0};
    return slice_make(memcpy(arena_alloc(a, s.size), s.data, s.size), s.size);
}

struct slice arena_take(struct arena *a, struct buffer *from)
{
    const struct slice copy = arena_copy(a, buffer_slice(from));
    buffer_deinit(from);
    return copy;
}
