/* ttl.c - whether the items of a table expire, and by which attribute.
 *
 * A change reaches the partitions as one of their indexes does: by an entry of each group's log.
 * The table is UPDATING until then. So once it is DISABLED, no partition lets an item expire.
 *
 * The texts are the service's. */
#include "engine/catalog/catalog_internal.h"

/* Why the change is refused. False: it is not. */
static bool ttl_refuses(struct catalog *c, const struct catalog_command *command,
                        const struct table *t)
{
    const bool on = t->ttl == TTL_ENABLED;
    const int64_t since_ms = command->wall_ms - t->ttl_changed_ms;
    const bool before =
        since_ms < 0; /* the clock of an earlier leader was ahead: no reason to wait */
    if (t->ttl_changed_ms != 0 && !before && since_ms < command->ttl_change_ms)
        buffer_append_text(&c->text,
                           "Time to live has been modified multiple times within a fixed interval");
    else if (on && !slice_equal(command->spec.ttl_attribute, t->ttl_attribute))
        buffer_append_format(&c->text,
                             "TimeToLive is active on a different AttributeName: current "
                             "AttributeName is %.*s",
                             TEXT_OF(t->ttl_attribute));
    else if (on == (command->spec.ttl == TTL_ENABLING))
        buffer_append_format(&c->text, "TimeToLive is already %s", on ? "enabled" : "disabled");
    else if (table_is_merging(t))
        buffer_append_text(&c->text, "Partitions of the table are being merged: try again");
    return c->text.size > 0;
}

bool catalog_change_ttl(struct catalog *c, const struct catalog_command *command, struct table *t)
{
    if (command->spec.ttl == TTL_DISABLED)
        return true;
    if (ttl_refuses(c, command, t))
        return false;
    t->ttl = command->spec.ttl;
    t->ttl_attribute = command->spec.ttl_attribute;
    t->ttl_changed_ms = command->wall_ms;
    t->indexes_version++;
    t->status = TABLE_UPDATING;
    return true;
}

void catalog_reconciled_ttl(struct table *t)
{
    if (t->ttl == TTL_ENABLING)
        t->ttl = TTL_ENABLED;
    if (t->ttl != TTL_DISABLING)
        return;
    t->ttl = TTL_DISABLED;
    t->ttl_attribute = slice_make(NULL, 0);
}
