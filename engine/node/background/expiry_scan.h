/* expiry_scan.h - finds items whose time is over, a slice at a time. engine/node/ttl/expiry.h has
 * them deleted. */
#pragma once

#include "engine/node/core/env.h"
#include "engine/node/core/partition.h"

enum {
    EXPIRY_ITEM_BYTES = 512 /* reading an item costs at least so many bytes of the rate */
};

/* A job of background.h. Takes what it reads off expiry_round.may_read. */
bool expiry_scan_is_needed(const struct partition *p);
struct slice expiry_scan_from(const struct partition *p);
void expiry_scan_slice(struct node_env *env, struct partition *p);
