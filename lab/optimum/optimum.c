/* optimum.c - memory of the optimum. */
#include "lab/optimum/optimum.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "lab/optimum/optimum_internal.h"

struct optimum *optimum_create(void)
{
    return must_calloc(1, sizeof(struct optimum));
}

void optimum_destroy(struct optimum *o)
{
    if (o == NULL)
        return;
    for (int i = 0; i < OPTIMUM_BLOCKS; i++)
        free(o->blocks[i]);
    free(o);
}

void *optimum_room(struct optimum *o, enum optimum_block block, size_t count, size_t size)
{
    size_t bytes = (count + 1) * size;
    if (bytes > o->sizes[block]) {
        free(o->blocks[block]);
        o->sizes[block] = bytes + bytes / 2;
        o->blocks[block] = must_have(malloc(o->sizes[block]));
    }
    return memset(o->blocks[block], 0, bytes);
}
