/* must.h - assertions that stay on in production, and memory that is never missing.
 *
 * must() guards against our own bugs only: one condition each, arguments first, then invariants.
 * Bytes from outside never reach a must(): bad bytes get a status and an error text.
 *
 * must_in_tests() is for conditions that walk a list, or cost more than some nanoseconds. It is a
 * must() with WEIR_PROBES, which only builds for tests define (base/probe.h). Without WEIR_PROBES
 * its condition is compiled and not evaluated. */
#pragma once

#include <stddef.h>

#define must(condition) \
    (__builtin_expect(!!(condition), 1) ? (void)0 : must_fail(#condition, __FILE__, __LINE__))

#ifdef WEIR_PROBES
#define must_in_tests(condition) must(condition)
#else
#define must_in_tests(condition) ((void)(0 && (condition)))
#endif

/* Prints condition and place to standard error, then aborts. */
_Noreturn void must_fail(const char *condition, const char *file, int line);

/* calloc. The process ends if there is no memory. */
void *must_calloc(size_t count, size_t size);

/* Makes room for one more element of `size` bytes after the first `count`: a full array doubles.
 * The process ends if there is no memory. */
void *must_grow(void *array, size_t count, size_t *capacity, size_t size);
/* Makes room for the element at `index`. New elements are zero. */
void *must_grow_zeroed(void *array, size_t index, size_t *capacity, size_t size);

/* The memory that malloc or realloc returned. The process ends if there is none. */
#define must_have(memory) must_have_at((memory), #memory, __FILE__, __LINE__)

static inline void *must_have_at(void *memory, const char *call, const char *file, int line)
{
    if (__builtin_expect(!memory, 0))
        must_fail(call, file, line);
    return memory;
}
