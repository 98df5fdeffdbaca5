/* must.c - prints a broken invariant and aborts the process; allocates. */
#include "base/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void must_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "weir: invariant broken: %s (%s:%d)\n", condition, file, line);
    abort();
}

void *must_calloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    must(memory != NULL);
    return memory;
}

void *must_grow(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity == 0 ? 16 : *capacity * 2;
    array = reallocarray(array, *capacity, size);
    must(array != NULL);
    return array;
}

void *must_grow_zeroed(void *array, size_t index, size_t *capacity, size_t size)
{
    while (index >= *capacity) {
        const size_t before = *capacity;
        array = must_grow(array, before, capacity, size);
        memset((char *)array + before * size, 0, (*capacity - before) * size);
    }
    return array;
}
