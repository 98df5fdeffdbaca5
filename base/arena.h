/* arena.h - memory that is given back all at once.
 *
 * Chunks grow by doubling up to ARENA_CHUNK_SIZE_MAX; an allocation larger than a chunk gets one of
 * its own. arena_reset keeps the first chunk, so that a request in the steady state mallocs
 * nothing. */
#pragma once

#include "base/slice.h"

enum {
    ARENA_CHUNK_SIZE_MIN = 4096,
    ARENA_CHUNK_SIZE_MAX = 1 << 20
};

struct arena_chunk;
struct buffer;

struct arena {
    struct arena_chunk *first; /* owns the chain */
    struct arena_chunk *current;
    size_t used_bytes; /* handed out since the last reset, alignment included */
};

void arena_deinit(struct arena *a);

/* Forgets everything allocated; the first chunk stays. */
void arena_reset(struct arena *a);

/* 16-byte aligned, not zeroed; never NULL. Lends until arena_reset or arena_deinit. */
void *arena_alloc(struct arena *a, size_t size);

/* arena_alloc, zeroed. */
void *arena_zalloc(struct arena *a, size_t size);

struct slice arena_copy(struct arena *a, struct slice s);

/* A copy of the bytes of `from`, which is freed. */
struct slice arena_take(struct arena *a, struct buffer *from);
