/* remove_tree.h - removes a directory with all that is in it. Symbolic links are not followed. */
#pragma once

#include <stdbool.h>

/* False: something is left; errno tells why. */
bool remove_tree(const char *path);
