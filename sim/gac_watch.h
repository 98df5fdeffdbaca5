/* gac_watch.h - compares what routers take of a table's limit with an ideal bucket at the same
 * rate. Over-admission is what the ideal bucket would have refused.
 *
 * The part of a cost that was not known at admission is debt, and does not count. */
#pragma once

#include "base/token_bucket.h"
#include "gac/gac_message.h"
#include "sim/router_process.h"

enum {
    GAC_WATCH_ROUTERS_MAX = 16
};

struct gac_watch {
    struct gac_key key;
    struct token_bucket ideal;
    int64_t seen[GAC_WATCH_ROUTERS_MAX]; /* taken by each router in its present life */
    int64_t taken_mcu;                   /* taken by all routers */
    int64_t over_mcu;                    /* the most by which the ideal bucket was overdrawn */
};

/* `rate`: mcu a second. The ideal bucket holds the tokens of `bank`, and starts full. */
void gac_watch_init(struct gac_watch *w, struct instant now, struct gac_key key, int64_t rate,
                    struct duration bank);
/* Call it after every event. */
void gac_watch_look(struct gac_watch *w, struct instant now, struct router_process *const *routers,
                    uint32_t count);
