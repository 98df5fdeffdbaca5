/* own_writes.h - what a router has acknowledged, so that its later eventual reads show it
 * (setting read_your_writes, docs/decisions/0045).
 *
 *   write acknowledged at entry 17 of partition 5 -> eventual read of partition 5 carries after =
 *   17 a replica that has applied 17 answers; another one sends the read to the leader
 *
 * For each partition the router remembers the last entry that it acknowledged. Parts of
 * transactions are done after the answer: for LATE_MS such a partition is read as AFTER_ALL, so its
 * leader waits for the decided transactions that lock the items. Rows of global indexes follow
 * their items: for LATE_MS after a write a reader of an index first asks the written partitions
 * whether the index has their changes (REQUEST_INDEX_SHOWS), then the leaders of the index.
 *
 * Promises
 *   OWN-1  A read waits for its own writes for read_your_writes_wait_ms at most. Then it is
 *          answered as if the setting were off: it never fails for them.
 *   OWN-2  Bounded memory: the partitions and tables that were written last are remembered.
 * Cost: a read of a partition that is not remembered looks up one number.
 * Not here: writes by other routers, and streams. */
#pragma once

#include "base/id_map.h"
#include "base/instant.h"
#include "router/core/timer.h"

struct call;
struct reply;
struct request;
struct route;
struct router;
struct subrequest;

TAILQ_HEAD(own_entries, own_entry);

struct own_writes {
    struct id_map partitions;          /* owns; by id */
    struct id_map tables;              /* owns; by id: tables with global indexes */
    struct own_entries old_partitions; /* the one that was written last is the last */
    struct own_entries old_tables;
    struct timer_queue waits; /* of subrequests */
};

void own_writes_init(struct router *r);
void own_writes_deinit(struct router *r);
/* A node has answered: remembers a write that was done. */
void own_writes_note(struct router *r, const struct subrequest *s, const struct reply *reply);
/* A transaction with a part in the partition is decided: what readers learned of the partition
 * since the part was prepared does not count. */
void own_writes_note_decided(struct router *r, const struct route *table, uint32_t partition);
/* What an eventual read of the partition must show: request.get.after. */
uint64_t own_writes_after(const struct router *r, uint32_t partition);
/* The member `after` of the request. NULL: it has none, or is a consistent read. */
uint64_t *own_writes_member(struct request *q);
/* A global index of the table is to be read. Sends REQUEST_INDEX_SHOWS to each partition whose
 * changes the index may lack; the count is returned. `surely`: the rows must be read as AFTER_ALL.
 * */
uint32_t own_writes_query_indexes(struct call *c, struct route *table, bool *surely);
/* The answer to such a request. Whether the index has the changes. */
bool own_writes_indexes_show(struct router *r, const struct subrequest *s,
                             const struct reply *reply);
