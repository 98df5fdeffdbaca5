/* mutation.c - the mutation that a test has switched on. */
#include "base/mutation.h"

#ifdef WEIR_MUTATIONS
enum mutation mutation_active = MUTATION_NONE;
#endif
