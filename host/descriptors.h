/* descriptors.h - how many files and sockets this process may have open. */
#ifndef WEIR_HOST_DESCRIPTORS_H
#define WEIR_HOST_DESCRIPTORS_H

#include <stdint.h>

/* Raises the soft limit to the hard limit, and returns the limit. */
int64_t descriptors_raise(void);

#endif
