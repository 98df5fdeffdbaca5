/* run.c - what the parts of one simulated run share: its plan, its world and its first violation. */
#include "sim/run.h"

#include <stdarg.h>
#include <stdio.h>

void run_violate(struct run *r, const char *format, ...)
{
    char text[512];
    if (r->violation.size > 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buffer_append_text(&r->violation, text);
}
