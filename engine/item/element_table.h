/* element_table.h - the elements of a set, or of a map by their names, in a hash table.
 *
 * Why hashes: sorting 60,000 elements takes 100 ms, hashing them 2 ms. The hash is seeded.
 * Nothing is allocated for up to ELEMENTS_FEW elements. */
#pragma once

#include "engine/item/item.h"
#include "engine/item/step_budget.h"

enum {
    ELEMENTS_FEW = 16
};

struct element {
    struct slice key; /* an element's bytes in a set, its name in a map */
    struct attr value;
    bool seen; /* the caller's */
};

struct element_slot {
    uint32_t hash;
    uint32_t number; /* of the element, from 1; 0: free */
};

struct element_table {
    uint64_t seed;
    uint32_t mask;
    uint32_t count;
    struct element *elements;   /* owns, unless they are `few_elements` */
    struct element_slot *slots; /* owns, unless they are `few_slots` */
    struct element few_elements[ELEMENTS_FEW];
    struct element_slot few_slots[2 * ELEMENTS_FEW];
};

/* The number of elements of a set, list or map. */
uint32_t attr_count(const struct attr *container, struct steps *steps);

/* Lends from the set or map, whose keys are distinct. */
void element_table_init(struct element_table *t, const struct attr *container, struct steps *steps);
void element_table_deinit(struct element_table *t);
/* NULL: there is none. */
struct element *element_table_find(const struct element_table *t, struct slice key,
                                   struct steps *steps);

/* The next element of a set or map as the table has it. */
bool element_next(struct attr_cursor *c, struct element *out);
