/* temporary.h - a directory of its own for each test, removed afterwards. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline int temporary_setup(void **state)
{
    const char *base = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/weir-test-XXXXXX", base != NULL ? base : "/tmp");
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
