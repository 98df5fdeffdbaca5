/* gac_watch.h - compares what routers take of a table's limit with an ideal bucket at the same
 * rate. Over-admission is what the ideal bucket would have refused.
 *
 * The part of a cost that was not known at admission is debt, and does not count. Nor does what a
 * router takes that has found no server since its start: it knows no other router, and takes all
 * of the rate (docs/throughput.md). */
#pragma once

#include "base/token_bucket.h"
#include "gac/gac_message.h"
#include "sim/plan/plan.h"
#include "sim/world/router_process.h"

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
void gac_watch_sample(struct gac_watch *w, struct instant now,
                      struct router_process *const *routers, uint32_t count);

/* Whether tokens come once a period, and expire with it. */
bool gac_has_periods(const struct config *c);
/* Routers must not take more than the table may use. A fault may add what a new ledger begins with,
 * and tokens that no ledger hears of: each about a grant to every router. With policy periodic
 * every ledger, also the first, begins with the tokens of a period. */
bool gac_watch_check(const struct gac_watch *w, const struct plan *plan, uint64_t injected,
                     struct buffer *why);
/* Whether routers spend the tokens of servers alone. Shares of their own may exceed the limit. */
bool gac_watch_applies(const struct plan *p);
