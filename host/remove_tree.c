/* remove_tree.c - removes files before their directories. */
#include "host/remove_tree.h"

#include <ftw.h>
#include <stdio.h>

enum {
    DEPTH_MAX = 16 /* directories open at once */
};

static int tree_remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

bool remove_tree(const char *path)
{
    return nftw(path, tree_remove_one, DEPTH_MAX, FTW_DEPTH | FTW_PHYS) == 0;
}
