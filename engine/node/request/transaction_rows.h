/* transaction_rows.h - the rows of transactions in change sets, and what tokens allow. */
#pragma once

#include "engine/node/request/requests_internal.h"
#include "engine/transaction/transaction.h"

/* A part has a token, unless its item `moves`. */
bool transaction_part_decode(struct slice bytes, bool moves, struct transaction_part *out);

/* Append the change of a row. */
void transaction_rows_append_lock(struct buffer *set, struct slice key,
                                  struct transaction_lock *lock);
/* `value` gets the row's. */
void transaction_rows_append_record(struct buffer *set, struct slice anchor,
                                    struct transaction_id id, struct transaction_record *record,
                                    struct buffer *value);
/* Without a token the row goes. */
void transaction_rows_append_token(struct buffer *set, struct slice anchor, struct slice name,
                                   struct transaction_token *token);
/* The row goes. */
void transaction_rows_end_lock(struct buffer *set, struct slice key);

/* The newest value of a row, after all that was proposed so far. STATUS_PENDING: the operation will
 * run again. */
enum status transaction_row_newest(struct requests *requests, struct operation *o, struct slice key,
                                   struct slice *value, bool *in_flight);
/* The token's row. STATUS_PENDING: the operation was refused, or will run again. */
enum status token_find(struct requests *requests, struct operation *o, struct slice anchor,
                       struct slice name, struct transaction_token *out, bool *in_flight);
/* Whether the update of a counter's cell is to be done. If not, its token is known, and it was
 * answered; or it was refused, or will run again. */
bool token_allows_update(struct requests *requests, struct partition *p, struct operation *o);
/* Whether the client's token allows the transaction to begin. If not, it was refused, or will run
 * again. */
bool token_allows(struct requests *requests, struct partition *p, struct operation *o,
                  const struct transaction_part *part);
