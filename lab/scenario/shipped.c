/* shipped.c - finds a shipped scenario. The build writes the texts (lab/CMakeLists.txt). */
#include "lab/scenario/shipped.h"

const struct lab_shipped *lab_shipped_find(const char *name)
{
    for (size_t i = 0; i < lab_shipped_count; i++) {
        if (strcmp(lab_shipped[i].name, name) == 0)
            return &lab_shipped[i];
    }
    return NULL;
}
