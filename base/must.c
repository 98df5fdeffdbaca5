/* must.c - prints a broken invariant and aborts the process. */
#include "base/must.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void must_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "weir: invariant broken: %s (%s:%d)\n", condition, file, line);
    abort();
}
