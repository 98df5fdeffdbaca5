/* change.h - the payload of a LOG_WRITE entry: a head, the key, the item (none: it is deleted). */
#ifndef WEIR_ENGINE_NODE_CHANGE_H
#define WEIR_ENGINE_NODE_CHANGE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct write_head {
    int64_t old_size;         /* item_size of what was there; -1: nothing */
    int64_t cost_mcu;         /* what the leader charged */
    int64_t collection_bytes; /* in the item's collection after it; or COLLECTION_NOT_COUNTED */
    uint32_t key_size;
    uint32_t burst; /* 1: from the burst bucket; 2: with tokens the members had set aside */
};
_Static_assert(sizeof(struct write_head) == 32, "the head is written as it is");

/* Slices point into the payload; item.data is NULL for a deletion. False: it is too short. */
bool write_decode(struct slice payload, struct write_head *head, struct slice *key,
                  struct slice *item);
/* Whether an entry that another node sent can be applied; items are checked where they are read. */
bool write_is_sound(struct slice payload);

#endif
