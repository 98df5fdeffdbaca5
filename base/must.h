/* must.h - assertions that stay on in production.
 *
 * must() guards against our own bugs only: one condition each, arguments first, then invariants.
 * Bytes from outside never reach a must(): bad bytes get a status and an error text. */
#pragma once

#define must(condition) \
    (__builtin_expect(!!(condition), 1) ? (void)0 : must_fail(#condition, __FILE__, __LINE__))

/* Prints condition and place to standard error, then aborts. */
_Noreturn void must_fail(const char *condition, const char *file, int line);
