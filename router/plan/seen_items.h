/* seen_items.h - the items that a page has, by their keys: a set that only grows, in an arena. */
#pragma once

#include "base/arena.h"

struct seen_items {
    uint64_t seed;       /* of hashes: clients choose keys; set before the first key */
    struct slice *slots; /* by the hash of the key; data NULL: free */
    uint32_t capacity;   /* a power of two; 0: none */
    uint32_t count;
};

/* Adds the key, which must stay as it is. False: it was there. */
bool seen_items_add(struct seen_items *seen, struct arena *arena, struct slice key);
