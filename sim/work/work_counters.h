/* work_counters.h - clients that count: additions to counters of a table with the tag
 * weir:key-sharding = counter.
 *
 * Each addition has an invocation id, as SDKs send it, and is sent again with the same id until it
 * is acknowledged, whatever the answers before said. So each counts once:
 *   A strong read finds at least what was acknowledged and what was read before it began, and at
 *   most what was begun before it ended. At last each counter is what was acknowledged. */
#pragma once

#include "sim/work/work_clients.h"

enum {
    WORK_COUNTERS_KEYS = 3 /* counters */
};

struct work_clients *work_counters_create(const struct work_clients_options *options);

/* The table's name, and the partition key of a counter. */
extern const char work_counters_table[];
void work_counters_key(uint32_t key, char out[8]);
