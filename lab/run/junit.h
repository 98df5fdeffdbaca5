/* junit.h - test suites as JUnit's XML, which build servers read. */
#pragma once

#include "base/buffer.h"

/* Appends a case. `fault`: its failure's message, of the kind `failure`; empty: the case holds. */
void junit_append_case(struct buffer *out, const char *suite, struct slice name,
                       const char *failure, struct slice fault);
/* Appends a suite of these cases. */
void junit_append_suite(struct buffer *out, const char *name, uint32_t cases, uint32_t failures,
                        struct slice texts);
