/* shipped.c - finds a shipped scenario. The build writes the texts (lab/CMakeLists.txt). */
#include "lab/scenario/shipped.h"

#include "base/fields.h"

const struct lab_shipped *lab_shipped_find(const char *name)
{
    const size_t place = NAME_PLACE(name, lab_shipped, lab_shipped_count);
    return place < lab_shipped_count ? &lab_shipped[place] : NULL;
}
