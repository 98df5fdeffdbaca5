/* settling_internal.h - what the parts of settling.h share. */
#pragma once

#include "engine/node/settling.h"

/* The command is proposed if there is room for it; otherwise its caller comes again. */
void settling_propose_command(struct settling *settling, struct catalog_command *command);
/* Tells the catalog of lost disks, and has lost replicas replaced. */
void settling_watch_nodes(struct settling *settling);
