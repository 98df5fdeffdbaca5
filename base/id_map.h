/* id_map.h - the hash map: from a number that is never 0 to a pointer, by open addressing, at most
 * 3/4 full. A key that is not a number is entered by its hash; the caller distinguishes equal
 * hashes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_map_slot {
    uint64_t id; /* 0: free */
    void *value; /* borrows */
};

/* Zeroed = empty. */
struct id_map {
    struct id_map_slot *slots; /* owns */
    size_t size;               /* a power of two, or 0 */
    size_t count;
};

void id_map_deinit(struct id_map *m);
void *id_map_find(const struct id_map *m, uint64_t id);
/* `id` must not be in the map. */
void id_map_add(struct id_map *m, uint64_t id, void *value);
void id_map_remove(struct id_map *m, uint64_t id);
/* Any value; NULL if the map is empty. For emptying the map. */
void *id_map_any(const struct id_map *m);
/* The values in no order: `*at` starts at 0. NULL: the end. The map must not change meanwhile. */
void *id_map_next(const struct id_map *m, size_t *at);
/* Removes each value for which `gone` is true. */
void id_map_remove_if(struct id_map *m, bool (*gone)(void *context, void *value), void *context);
