/* runner.c - the events of a catalog as text. */
#include "lab/fidelity/runner.h"

#include "engine/catalog/catalog.h"

void lab_catalog_events(const struct catalog *c, struct buffer *out)
{
    for (uint64_t n = 1; n <= catalog_last_event(c); n++) {
        struct slice bytes = catalog_event(c, n);
        struct reader r = {bytes, false};
        struct event e;
        if (bytes.size == 0 || event_decode(&r, &e) != STATUS_OK)
            continue;
        buffer_append_format(out, "%lld.%03lld s %s %.*s/%u: %.*s\n", (long long)e.wall_ms / 1000,
                             (long long)e.wall_ms % 1000, event_kind_name(e.kind),
                             (int)e.table.size, (const char *)e.table.data, e.partition,
                             (int)e.reason.size, (const char *)e.reason.data);
    }
}
