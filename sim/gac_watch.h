/* gac_watch.h - what routers take of a table's limit, beside an ideal bucket at its rate: what that
 * could not have let in is over-admission.
 *
 * What a request costs more than was known when it was let in is debt, and does not count. */
#ifndef WEIR_SIM_GAC_WATCH_H
#define WEIR_SIM_GAC_WATCH_H

#include "base/token_bucket.h"
#include "gac/gac_message.h"
#include "sim/router_process.h"

enum {
    GAC_WATCH_ROUTERS_MAX = 16
};

struct gac_watch {
    struct gac_key key;
    struct token_bucket ideal;
    int64_t seen[GAC_WATCH_ROUTERS_MAX]; /* taken by this life of each router */
    int64_t taken_mcu;                   /* by all */
    int64_t over_mcu;                    /* the most by which the ideal bucket was overdrawn */
};

/* `rate`: mcu a second. The ideal bucket holds `bank` of it, and is full. */
void gac_watch_init(struct gac_watch *w, struct instant now, struct gac_key key, int64_t rate,
                    struct duration bank);
/* After every event. */
void gac_watch_look(struct gac_watch *w, struct instant now, struct router_process *const *routers,
                    uint32_t count);

#endif
