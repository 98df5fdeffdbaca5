/* expiries.h - clients whose items have a time to live, and who look which of them are there.
 *
 * The items are those of a table of their own, which stays. Each client writes keys that no other one
 * writes, one call after the other. So it knows for each key which items may be there, and checks
 * each item that it reads:
 *   An item is there, or its time was over by the clocks of most nodes. What is gone stays gone.
 *   While time to live is surely off (sim/switches.h), no item goes.
 *   Afterwards, with all nodes well, what is over is gone within the window that the configuration
 *   promises. */
#pragma once

#include "sim/switches.h"
#include "sim/world.h"

enum {
    EXPIRIES_KEYS = 4 /* of each client */
};

struct expiries_options {
    struct scheduler *scheduler; /* borrows */
    /* `http` of client i is that of the simulated client `first` + i. */
    struct http_client_options (*http)(void *context, uint32_t client);
    void *context;
    uint32_t clients;
    uint32_t units;            /* of the table; 0: on demand */
    const struct world *world; /* borrows; its nodes' wall clocks */
    int64_t window_ms;         /* ttl_window_ms */
    bool mixed; /* the table has global indexes, and some items are put by transactions */
    const struct switches *switches; /* borrows */
    int64_t think_ns;
    uint64_t seed;
};

struct expiries;

struct expiries *expiries_create(const struct expiries_options *options);
void expiries_destroy(struct expiries *e);

/* The table's name. */
extern const char expiries_table[];

/* Makes the table, and then works until expiries_end. */
void expiries_begin(struct expiries *e);
/* Ends the work: at last some items expire, and the rest stays. */
void expiries_end(struct expiries *e);
/* The table is there, and no request of these clients changes it any more. */
bool expiries_are_made(const struct expiries *e);
bool expiries_are_done(const struct expiries *e);
void expiries_describe(const struct expiries *e, struct buffer *out);
/* False: `why` tells what was wrong. */
bool expiries_check(const struct expiries *e, struct buffer *why);
