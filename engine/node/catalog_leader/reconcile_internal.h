/* reconcile_internal.h - what the parts of reconcile.h share. */
#pragma once

#include "engine/node/catalog_leader/reconcile.h"

/* The command is proposed if there is room for it; otherwise its caller comes again. */
void reconcile_propose_command(struct reconciler *reconciler, struct catalog_command *command);
/* Tells the catalog of lost disks, and has lost replicas replaced. */
void reconcile_watch_nodes(struct reconciler *reconciler);
