/* parts.c - buffers in a row. */
#include "router/http/parts.h"

#include <stdlib.h>

void parts_add(struct parts *p, struct buffer *bytes)
{
    if (bytes->size == 0)
        return;
    p->at = must_have(realloc(p->at, (p->count + 1) * sizeof *p->at));
    p->at[p->count++] = *bytes;
    p->size += bytes->size;
    *bytes = (struct buffer){0};
}

void parts_deinit(struct parts *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        buffer_deinit(&p->at[i]);
    free(p->at);
    *p = (struct parts){0};
}
