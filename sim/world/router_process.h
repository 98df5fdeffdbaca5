/* router_process.h - a request router in the simulated world.
 *
 * Links of clients carry HTTP bytes. Links to nodes and to GAC servers carry frames. The router
 * keeps up a link to each node and to each GAC server. A request for a node whose link is down
 * counts as lost at once. */
#pragma once

#include "gac/client.h"
#include "router/core/router.h"
#include "sim/world/process.h"

enum router_process_trace {
    ROUTER_PROCESS_TRACE_STARTED = 32, /* process, - */
    ROUTER_PROCESS_TRACE_CRASHED,
};

struct router_process_options {
    const struct surroundings *around; /* borrows */
    const struct config *config;       /* borrows */
    uint32_t process;
    uint32_t number; /* from 1 on */
    uint32_t node_count;
    uint32_t gac_first; /* first process of the GAC servers */
    uint32_t gac_servers;
    uint64_t seed;
};

struct router_process;

struct router_process *router_process_create(const struct router_process_options *options);
void router_process_destroy(struct router_process *p);

void router_process_start(struct router_process *p);
void router_process_crash(struct router_process *p);
bool router_process_is_up(const struct router_process *p);
struct process *router_process_base(struct router_process *p);
/* How many reads it has answered without its own writes (metric own_writes_late). */
uint64_t router_process_late_reads(const struct router_process *p);
/* The tokens that the router holds and has taken. The router must be up. False: the router has
 * taken no tokens within ten minutes. */
bool router_process_holding(const struct router_process *p, struct gac_key key,
                            struct gac_holding *out);
