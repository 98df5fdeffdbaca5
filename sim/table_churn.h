/* table_churn.h - tables that come and go while clients work on them, and what that means for answers.
 *
 * Table 0 is `sim`: the first client makes it, and it stays. The others are made, changed and
 * deleted by one client of their own, for as long as faults strike. Afterwards all of them are made
 * to be there.
 *
 * In the history a deletion is a write of nothing to every key of the table, from the first
 * DeleteTable to the moment DescribeTable finds no table. A DeleteTable whose outcome nobody knows
 * may happen at any later time, once.
 *
 * Invariants
 *   TABLES-1  Once a table is known to be gone, no write and no strong read that begins later is
 *             answered 200, until the next CreateTable begins. An eventual read may see a replica
 *             that cannot hear of it. */
#ifndef WEIR_SIM_TABLES_H
#define WEIR_SIM_TABLES_H

#include "sim/http_client.h"
#include "sim/recording.h"
#include "sim/sim_client.h"

struct tables_options {
    struct http_client_options http;
    struct recording *history;       /* borrows */
    const struct workload *workload; /* borrows */
    uint64_t seed;
    /* TABLES-1 is broken. `why` lends for the call. */
    void (*failed)(void *context, struct slice why);
    void *context;
};

struct tables;

struct tables *tables_create(const struct tables_options *options);
void tables_destroy(struct tables *t);

void tables_begin(struct tables *t);
/* No more changes: every table is made to be there. */
void tables_end(struct tables *t);
bool tables_are_settled(const struct tables *t);
void tables_describe(const struct tables *t, struct buffer *out);

const char *tables_name(uint32_t table);
/* What a request remembers of its table when it begins; 0: the table may be there. */
uint64_t tables_mark(const struct tables *t, uint32_t table);
/* The request was answered 200. */
void tables_answered(struct tables *t, uint32_t table, uint64_t mark);

#endif
