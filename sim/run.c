/* run.c - what the parts of one simulated run share: its plan, its world and its first violation. */
#include "sim/run.h"

#include <stdarg.h>
#include <stdio.h>

#include "engine/catalog/catalog.h"
#include "engine/node/control_port.h"

const struct table *run_find_table(const struct run *r, const char *name)
{
    for (uint32_t id = 1; id <= r->world.plan.nodes; id++) {
        const struct node *n = node_process_node(r->world.nodes[id]);
        if (n != NULL && node_control_term(n) != 0)
            return catalog_find(node_catalog(n), slice_of(name));
    }
    return NULL;
}

void run_violate(struct run *r, const char *format, ...)
{
    char text[512];
    if (r->violation.size > 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buffer_append_text(&r->violation, text);
}
