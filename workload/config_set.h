/* config_set.h - the configurations of a linearizability check: what a register may hold, and which
 * pending writes have taken effect. For linearizability.c and its test only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SLOTS_MAX = 1024, /* writes pending at once */
    SLOT_WORDS = SLOTS_MAX / 64,
    INDEX_SIZE_MIN = 64,
    CONFIGS_MAX = 1 << 16,
};

struct config {
    uint32_t value;           /* a cluster, or ABSENT */
    uint32_t unknown_deletes; /* how many deletes without a known outcome have taken effect */
    int64_t absent_until;     /* reads of absent invoked up to this event are satisfied */
    uint64_t bits[SLOT_WORDS];
};

struct config_set {
    struct config *items; /* owns */
    size_t count, capacity;
    uint32_t *index; /* owns: item + 1, open addressing by value and bits */
    size_t index_size;
};

static inline bool has_bit(const struct config *k, uint32_t slot)
{
    return k->bits[slot / 64] >> (slot % 64) & 1;
}

static inline void set_bit(struct config *k, uint32_t slot)
{
    k->bits[slot / 64] |= UINT64_C(1) << (slot % 64);
}

/* A set is zeroed first, then cleared before anything is added. */
void config_set_clear(struct config_set *s);
void config_set_deinit(struct config_set *s);
/* Adds a configuration with bits in the first `words` words, unless one in the set is at least as
 * good. It replaces one that is not better. False: the set is full. */
bool config_set_add(struct config_set *s, const struct config *k, size_t words);
