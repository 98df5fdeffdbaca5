/* work_ttl.h - clients whose items have a time to live, and who look which of them are there.
 *
 * The items are those of a table of their own, which stays. Each client writes keys that no other
 * one writes, one call after the other. So it knows for each key which items may be there, and
 * checks each item that it reads:
 *   An item is there, or its time was over by the clocks of most nodes. What is gone stays gone.
 *   While time to live is surely off (sim/work/work_switches.h), no item goes.
 *   Afterwards, with all nodes well, what is over is gone within the window that the configuration
 *   guarantees. */
#pragma once

#include "sim/work/work_switches.h"

enum {
    WORK_TTL_KEYS = 4 /* of each client */
};

struct work_clients *work_ttl_create(const struct work_clients_options *options);

/* The table's name. */
extern const char work_ttl_table[];

/* The table is there, and no request of these clients changes it any more. */
bool work_ttl_are_made(const struct work_clients *all);
