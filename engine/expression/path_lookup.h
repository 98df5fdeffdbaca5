/* path_lookup.h - where many paths lead in an item.
 *
 * Promise: one walk over the item finds all of them, so that many paths on an item of many
 * attributes are not quadratic. */
#pragma once

#include "engine/expression/program_part.h"

enum {
    LOOKUP_FEW = 16 /* paths without an allocation */
};

struct found_path {
    struct reader bytes;   /* of the path as in program_part.h, at its first step; borrows */
    uint32_t length;       /* steps */
    bool open;             /* the item, a list or a map is there that has the last step, or could */
    struct attr found;     /* type 0: nothing is there */
    struct path_part step; /* a walk's: the one at its depth */
    void *context;         /* the caller's */
};

/* Stays where it is: it points into itself. */
struct path_lookup {
    struct found_path *all; /* owns, unless they are `few`: in the order in which they were added */
    struct found_path **sorted;
    uint32_t count;
    uint32_t room;
    struct found_path few[LOOKUP_FEW];
    struct found_path *few_sorted[LOOKUP_FEW];
};

/* Has room for so many paths. */
void path_lookup_init(struct path_lookup *l, uint32_t paths);
void path_lookup_deinit(struct path_lookup *l);
/* Adds the path that `r` is at, and moves `r` behind it. */
void path_lookup_add(struct path_lookup *l, struct reader *r);
/* Sorts the paths, and finds what they lead to. */
void path_lookup_find(struct path_lookup *l, struct slice item, struct steps *steps);

/* Compares whole paths; a path that another one begins with comes first. */
int found_path_compare(const struct found_path *a, const struct found_path *b);

/* ---- for other walks along sorted paths ---- */

/* Sets `step` of the paths [from, to), all of which have more than `depth` steps. */
void path_lookup_enter(struct found_path *const *sorted, uint32_t depth, uint32_t from,
                       uint32_t to);
/* Finds among the sorted paths [*from, *to), which are entered, those whose step is `key`. */
void path_lookup_match(struct found_path *const *sorted, const struct path_part *key,
                       uint32_t *from, uint32_t *to, struct steps *steps);
