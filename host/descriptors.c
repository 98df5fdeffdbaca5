/* descriptors.c - raises the soft limit of open files to the hard limit. */
#include "host/descriptors.h"

#include <sys/resource.h>

#include "base/must.h"

int64_t descriptors_raise(void)
{
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    rlim_t had = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        limit.rlim_cur = had;
    return limit.rlim_cur < INT64_MAX ? (int64_t)limit.rlim_cur : INT64_MAX;
}
