/* probe.h - marks on rare paths: a simulation lists the marks that it never reached.
 *
 * PROBE("a torn tail was cut off") is a statement. Without WEIR_PROBES the statement is empty. With
 * WEIR_PROBES every mark has a counter in a section of its own, and `weir sim --probes` lists them.
 * Only builds for tests define WEIR_PROBES. */
#pragma once

#include <stdint.h>

struct probe {
    const char *name;
    const char *file;
    uint64_t hits;
    uint64_t line;
} __attribute__((aligned(32)));

#ifdef WEIR_PROBES

#define PROBE(text)                                                                        \
    do {                                                                                   \
        static struct probe probe_here                                                     \
            __attribute__((section("weir_probes"), used)) = {text, __FILE__, 0, __LINE__}; \
        probe_here.hits++;                                                                 \
    } while (0)

#else

#define PROBE(text) \
    do {            \
    } while (0)

#endif
