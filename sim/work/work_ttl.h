/* work_ttl.h - clients whose items have a time to live, and who look which of them are there.
 *
 * The items are those of a table of their own, which stays. Each client writes keys that no other
 * one writes, one call after the other. So it knows for each key which items may be there, and
 * checks each item that it reads:
 *   An item is there, or its time was over by the clocks of most nodes. What is gone stays gone.
 *   While time to live is surely off (sim/work/work_switches.h), no item goes.
 *   Afterwards, with all nodes well, what is over is gone within the window that the configuration
 *   promises. */
#pragma once

#include "sim/work/work_switches.h"
#include "sim/world/world.h"

enum {
    WORK_TTL_KEYS = 4 /* of each client */
};

struct work_ttl_options {
    struct scheduler *scheduler; /* borrows */
    /* `http` of client i is that of the simulated client `first` + i. */
    struct http_client_options (*http)(void *context, uint32_t client);
    void *context;
    uint32_t clients;
    uint32_t units;            /* of the table; 0: on demand */
    const struct world *world; /* borrows; its nodes' wall clocks */
    int64_t window_ms;         /* ttl_window_ms */
    bool mixed; /* the table has global indexes, and some items are put by transactions */
    const struct work_clients *work_switches; /* borrows */
    int64_t think_ns;
    uint64_t seed;
};

struct work_ttl;

struct work_ttl *work_ttl_create(const struct work_ttl_options *options);
void work_ttl_destroy(struct work_ttl *e);

/* The table's name. */
extern const char work_ttl_table[];

/* Makes the table, and then works until work_ttl_end. */
void work_ttl_begin(struct work_ttl *e);
/* Ends the work: at last some items expire, and the rest stays. */
void work_ttl_end(struct work_ttl *e);
/* The table is there, and no request of these clients changes it any more. */
bool work_ttl_are_made(const struct work_ttl *e);
bool work_ttl_are_done(const struct work_ttl *e);
void work_ttl_describe(const struct work_ttl *e, struct buffer *out);
/* False: `why` tells what was wrong. */
bool work_ttl_check(const struct work_ttl *e, struct buffer *why);
