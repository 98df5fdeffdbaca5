/* status.c - the texts of the codes. */
#include "base/status.h"

#include <errno.h>

#include "base/must.h"

bool status_is_no_space(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

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
