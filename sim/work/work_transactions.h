/* work_transactions.h - clients whose transactions append numbers to lists, and read them.
 *
 * The lists are items of two tables of their own, which stay (sim/check/list_append.h); the second
 * may have indexes. A transaction appends its number to some lists, or reads some. It may also
 * replace a list by a put, put or delete marks, and have checks: that a list is as the client has
 * read it, or one that never holds. Single operations append to one list or read one. Scans and
 * queries read many lists, each for itself. Clients send a transaction of another client too, at
 * the same time with the same token, or another one with that token. Transactions may begin with a
 * part in a third table, which is deleted during the run: what was committed must be done in the
 * other tables. Afterwards all lists are read, and the whole must be strictly serializable
 * (workload/serial.h). */
#pragma once

#include "sim/check/list_append.h"
#include "sim/work/work_clients.h"

/* At last all lists are read. */
struct work_clients *work_transactions_create(const struct work_clients_options *options);

/* From now on no fault is injected: a strong read that fails is sent again, and must be answered
 * within seconds. */
void work_transactions_expect_answers(struct work_clients *all);
