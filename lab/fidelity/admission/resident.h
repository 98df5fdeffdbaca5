/* resident.h - which items a node has in its memory: those that were used last.
 *
 * Page caches keep pages, and evict them by approximations of this order. Here items are kept one
 * by one. Two items with the same hash of 64 bits count as one.
 * Promises: no clock, no randomness; resident_use is O(1). */
#pragma once

#include <sys/queue.h>

#include "base/id_map.h"

enum {
    RESIDENT_ITEMS_MAX = 10000000 /* of a node */
};

struct resident_item {
    TAILQ_ENTRY(resident_item) entry;
    uint64_t id;
};

struct resident {
    size_t max;          /* 0: every item is in memory */
    struct id_map items; /* owns struct resident_item, by the hash of table and key */
    TAILQ_HEAD(resident_items, resident_item) order; /* the latest first */
};

void resident_init(struct resident *r, size_t max);
void resident_deinit(struct resident *r);
/* The item is used. Returns whether it was in memory. Afterwards it is. */
bool resident_use(struct resident *r, uint32_t table, uint64_t key);
bool resident_has(const struct resident *r, uint32_t table, uint64_t key);
/* Nothing is in memory: the node has started. */
void resident_clear(struct resident *r);
