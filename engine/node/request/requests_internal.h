/* requests_internal.h - what the files behind requests.h share: a function per kind of request. */
#pragma once

#include "engine/node/request/requests.h"

/* ---- item_requests.c, item_writes.c: items ---- */
/* GET and RANGE. */
void requests_read(struct requests *requests, struct operation *o);
/* REQUEST_INDEX_SESSION: a leader of a base table wants to write rows of an index. */
void requests_open_session(struct requests *requests, struct operation *o);
/* REQUEST_INDEX_FILL. */
void requests_index_shows(struct requests *requests, struct operation *o);
void requests_fill_index(struct requests *requests, struct operation *o);
void requests_unchanged(struct requests *requests, struct operation *o);
void requests_write(struct requests *requests, struct operation *o);
/* ---- transaction_writes.c: what ends the parts of transactions ---- */
void requests_admit_parts(struct requests *requests, struct operation *o);
void requests_decide_transaction(struct requests *requests, struct operation *o);
void requests_resolve(struct requests *requests, struct operation *o);
void requests_query_transaction(struct requests *requests, struct operation *o);
/* ---- transact.c: all of a transaction in one partition ---- */
void requests_transact(struct requests *requests, struct operation *o);
/* Whether a strong read may be answered now, from the applied state. If not, the read was refused,
 * or will run again. */
bool requests_leads_read(struct requests *requests, struct partition *p, struct operation *o);

/* ---- key_shard_requests.c ---- */
void requests_move_shard(struct requests *requests, struct operation *o);

/* ---- stream_reads.c ---- */
void requests_records(struct requests *requests, struct operation *o);

/* ---- advice.c: what partitions did, and where to split them ---- */
void requests_advise(struct requests *requests, struct operation *o);
void requests_stats(struct requests *requests, struct operation *o);

/* ---- replicas.c: replicas opened and closed, members changed ---- */
void requests_open(struct requests *requests, struct operation *o);
void requests_close(struct requests *requests, struct operation *o);
void requests_members(struct requests *requests, struct operation *o);

/* ---- tables.c: where the catalog is led ---- */
void requests_change_table(struct requests *requests, struct operation *o);
void requests_split_table(struct requests *requests, struct operation *o);
void requests_decide(struct requests *requests, struct operation *o);
void requests_get_table(struct requests *requests, struct operation *o);
void requests_list_tables(struct requests *requests, struct operation *o);
void requests_list_events(struct requests *requests, struct operation *o);
void requests_take_report(struct requests *requests, struct operation *o);
