/* gac_process.h - a server of global admission control in the simulated world.
 *
 * Routers make the links. The server answers each frame over the link of the frame. A crash loses
 * everything that the server knew. */
#pragma once

#include "base/config.h"
#include "gac/server.h"
#include "sim/world/process.h"

enum gac_process_trace {
    GAC_PROCESS_TRACE_STARTED = 40, /* process, - */
    GAC_PROCESS_TRACE_CRASHED,
};

struct gac_process_options {
    const struct surroundings *around; /* borrows */
    const struct config *config;       /* borrows */
    uint32_t process;
    uint32_t number; /* number of this server, 1 .. servers */
    uint32_t servers;
    uint64_t seed;
};

struct gac_process;

struct gac_process *gac_process_create(const struct gac_process_options *options);
void gac_process_destroy(struct gac_process *p);

void gac_process_start(struct gac_process *p);
void gac_process_crash(struct gac_process *p);
struct process *gac_process_base(struct gac_process *p);
/* The ledger of a limit (gac/server.h). False: the server has none, or is down. */
bool gac_process_inspect(const struct gac_process *p, struct gac_key key, struct gac_bank *out);
