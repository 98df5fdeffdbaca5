/* temporary.h - files of a test, below TMPDIR: a directory for each test, or a name. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/must.h"

enum {
    TEMPORARY_NAME_MAX = 512
};

static inline const char *temporary_base(void)
{
    const char *base = getenv("TMPDIR");
    return base != NULL ? base : "/tmp";
}

/* The name of a file of this process, which the caller makes and removes. */
static inline void temporary_name(char out[TEMPORARY_NAME_MAX], const char *name)
{
    const int size =
        snprintf(out, TEMPORARY_NAME_MAX, "%s/weir-%s-%d", temporary_base(), name, (int)getpid());
    must(size > 0 && size < TEMPORARY_NAME_MAX);
}

static inline int temporary_setup(void **state)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/weir-test-XXXXXX", temporary_base());
    *state = mkdtemp(path) != NULL ? strdup(path) : NULL;
    return *state == NULL;
}

static inline int temporary_remove(const char *path, const struct stat *info, int type,
                                   struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline int temporary_teardown(void **state)
{
    int result = nftw(*state, temporary_remove, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return result;
}
