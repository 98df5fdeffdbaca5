/* status.c - the texts of the codes. */
#include "base/status.h"

#include "base/must.h"

const char *status_text(enum status status)
{
    static const char *const texts[] = {
#define X(code, text) [code] = text,
        STATUS_LIST(X)
#undef X
    };
    must((unsigned)status < sizeof texts / sizeof texts[0]);
    return texts[status];
}
