/* descriptors.h - how many files and sockets this process may have open. */
#pragma once

#include <stdint.h>

/* Raises the soft limit to the hard limit, and returns the limit. */
int64_t descriptors_raise(void);
