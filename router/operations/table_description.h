/* table_description.h - a table as the service describes it, and the answer of those operations
 * that end with it. */
#ifndef WEIR_ROUTER_OPERATIONS_TABLE_DESCRIPTION_H
#define WEIR_ROUTER_OPERATIONS_TABLE_DESCRIPTION_H

#include "router/operations/operation.h"

/* `brief`: as DeleteTable has it, without keys and CreationDateTime. */
void table_description_write(struct buffer *out, const struct router *r, const struct table *t,
                             bool brief);

/* The table in a catalog's reply. */
bool table_take_reply(struct call *c, const struct subrequest *s, const struct reply *r,
                      struct table *out);

/* {"member": description} from a catalog reply that holds a table. The cached route is dropped: the
 * table is not what it was. An answer that tells of a change (CREATING, UPDATING, DELETING) is held
 * until the change has happened, for TABLE_CHANGE_WAIT_MS at most: whoever asks next finds the
 * table ready or gone. Not so with table_change_delay_ms set. */
bool table_description_answer(struct call *c, struct subrequest *s, const struct reply *r,
                              const char *member);
enum {
    TABLE_CHANGE_WAIT_MS = 5000
};

/* Whether the reply is to such a wait, which then goes on or ends: nothing is left to be done. */
bool table_change_took(struct call *c, struct subrequest *s, const struct reply *r);

/* The same under "TableDescription", waits included: a `reply` for struct operation. */
bool table_description_reply(struct call *c, struct subrequest *s, const struct reply *r);

/* Settings beside throughput. weir has two of them in one state only, deletion protection off and
 * streams off, and refuses the other. Class and encryption go into the spec, which gets copies in
 * the call's arena. */
struct table_settings {
    const struct json_value *protection;
    const struct json_value *stream;
    const struct json_value *encryption;
    const struct json_value *table_class;
};
bool table_settings_read(struct call *c, const struct table_settings *s, struct table_spec *spec);

#endif
