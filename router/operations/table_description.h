/* table_description.h - a table as the service describes it, and the answer of the operations that
 * answer with a description. */
#pragma once

#include "router/core/operation.h"
#include "router/operations/table_indexes.h"

const char *table_status_name(enum table_status status);

/* Takes the table out of a catalog's reply, into the call's arena. False: the fault is set. */
bool table_take_reply(struct call *c, const struct subrequest *s, const struct reply *r,
                      struct table *out);

/* The same with the table's global indexes. */
bool table_take_record(struct call *c, const struct subrequest *s, const struct reply *r,
                       struct table_record *out);

/* Writes {"member": description} from a catalog's reply that holds a table. After a change the
 * cached route is forgotten. The answer about a change (CREATING, UPDATING, DELETING) is held until
 * the change has happened, at most TABLE_CHANGE_WAIT_MS: the next request then finds the table
 * ready or gone. With table_change_delay_ms above 0 the answer is not held. `former` is the table
 * before an UpdateTable, whose throughput the service still shows; NULL: none. */
bool table_description_answer(struct call *c, struct subrequest *s, const struct reply *r,
                              const char *member, const struct table_record *former);
enum {
    TABLE_CHANGE_WAIT_MS = 5000
};

/* Holds the call's answer as table_description_answer does. */
void table_change_follow(struct call *c, const struct table_record *record);
/* True: the reply belongs to such a wait, and is done with. The wait goes on or ends. */
bool table_change_took(struct call *c, struct subrequest *s, const struct reply *r);

/* table_change_took, or table_description_answer with "TableDescription". */
bool table_description_reply(struct call *c, struct subrequest *s, const struct reply *r);

/* Settings other than throughput. They go into the spec; their texts are copied to the call's
 * arena. */
struct table_settings {
    bool is_new; /* CreateTable */
    const struct json_value *protection;
    const struct json_value *stream;
    const struct json_value *encryption;
    const struct json_value *table_class;
};
bool table_settings_read(struct call *c, const struct table_settings *s, struct table_spec *spec);
