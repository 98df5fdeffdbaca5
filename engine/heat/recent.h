/* recent.h - which partition keys were asked for most in a short time, by the rule of Misra and Gries.
 *
 * Partition keys are told apart by their hashes in storage keys.
 *
 * Promises
 *   RECENT-1  What is counted of a key was asked for it. At most `lost_mcu` is missing.
 *   RECENT-2  lost_mcu is at most a part in RECENT_KEYS + 1 of everything; beside one key that has
 *             nearly everything it is at most a part in RECENT_KEYS of the rest.
 *   RECENT-3  O(RECENT_KEYS), no allocation, no clock, no randomness.
 *
 * Source: J. Misra and D. Gries, "Finding repeated elements", 1982. */
#pragma once

#include <stdint.h>

enum {
    RECENT_KEYS = 8
};

struct recent_key {
    uint64_t hash;
    int64_t mcu; /* 0: the place is free */
};

struct recent_keys {
    struct recent_key keys[RECENT_KEYS];
    int64_t lost_mcu;
};

/* Cost > 0. */
void recent_add(struct recent_keys *r, uint64_t hash, int64_t mcu);
/* What is counted of a key. */
int64_t recent_mcu(const struct recent_keys *r, uint64_t hash);
