/* work_tables.h - tables come and go while clients work on them; checks what answers may say then.
 *
 * Table 0 is `sim`: the first client makes it, and it stays. A client of its own makes, changes
 * and deletes the other tables while faults are injected. Afterwards this client makes all of them
 * exist.
 *
 * In the history a deletion is a write of 0 to every key of the table. The deletion lasts from the
 * first DeleteTable until DescribeTable finds no table. A DeleteTable whose outcome is unknown may
 * happen once, at any later time.
 *
 * Invariants
 *   TABLES-1  Once a table is known to be gone, a write or strong read that begins before the next
 *             CreateTable is not answered 200. An eventual read may see a replica that does not
 *             know of the deletion. */
#pragma once

#include "sim/plan/sim_client.h"
#include "sim/world/http_client.h"
#include "sim/world/recording.h"

enum {
    TABLE_PARTITIONS_MAX = 4 /* a table gets at most as many times the workload's units */
};

struct work_tables_options {
    struct http_client_options http;
    struct recording *history;       /* borrows */
    const struct workload *workload; /* borrows */
    uint64_t seed;
    /* TABLES-1 is broken. `why` lends for the call. */
    void (*failed)(void *context, struct slice why);
    void *context;
};

struct work_tables;

struct work_tables *work_tables_create(const struct work_tables_options *options);
void work_tables_destroy(struct work_tables *t);

void work_tables_begin(struct work_tables *t);
/* Ends the changes. Every table is made to exist. */
void work_tables_end(struct work_tables *t);
/* Afterwards: the first global index is dropped and made anew, if the plan has that. */
void work_tables_renew_index(struct work_tables *t);
bool work_tables_are_settled(const struct work_tables *t);
/* CreateTables that were sent: so many tables have been new, at most. */
uint32_t work_tables_made(const struct work_tables *t);
void work_tables_describe(const struct work_tables *t, struct buffer *out);

const char *work_tables_name(uint32_t table);
/* For work_tables_answered: call it when a request begins. 0: the table may exist. */
uint64_t work_tables_mark(const struct work_tables *t, uint32_t table);
/* A request was answered 200. Checks TABLES-1. */
void work_tables_answered(struct work_tables *t, uint32_t table, uint64_t mark);
