/* execute.h - ExecuteStatement, BatchExecuteStatement and ExecuteTransaction: what they share.
 *
 * A statement about one item becomes the request that GetItem, PutItem, UpdateItem, DeleteItem or
 * ConditionCheck would make. The other SELECTs become pages of Query or Scan (execute_select.h). */
#pragma once

#include "router/operations/transact.h"
#include "router/partiql/where.h"

enum execute_place {
    EXECUTE_ALONE,
    EXECUTE_IN_BATCH,
    EXECUTE_IN_TRANSACTION,
};

/* Reads a statement and its parameters into the call's arena. `*digest` is of both; it may be NULL.
 * */
bool execute_parse(struct call *c, const struct json_value *text,
                   const struct json_value *parameters, struct statement *out, uint64_t *digest);

/* The name of the statement's table. Empty: it can be none. */
struct slice execute_table(struct call *c, const struct statement *s);

/* Refuses a read by an index whose partition key or sort key has several attributes. */
bool execute_index_is_read(struct call *c, const struct statement *s, const struct table *t);

/* Refuses a read, or an EXISTS, that names no single item as it must in this place. */
bool execute_names_item(struct call *c, const struct statement *s, const struct table *t,
                        enum execute_place place);

/* Makes the request of a statement about one item, without its storage key. */
bool execute_lower(struct call *c, const struct statement *s, const struct table *t,
                   enum execute_place place, struct item_request *q);

/* The item of a reply, if the statement shows it; otherwise empty. */
struct slice execute_shown(const struct statement *s, const struct reply *r);
/* Appends such an item to the answer. False: nothing of it is shown. */
bool execute_write_shown(struct call *c, const struct statement *s, struct slice item);

/* Sets the fault for a reply that is not REPLY_OK. Always false. */
bool execute_refuse(struct call *c, const struct statement *s, const struct subrequest *sub,
                    const struct reply *r);
