/* labels.c - what a table only stores and returns: its tags, its class, the key that it names for
 * encryption. Nothing in weir acts on them, except on the tag KEY_SHARDING_TAG. Whether it may be
 * deleted stands here too. */
#include "engine/catalog/catalog_internal.h"

/* Whether the tag asks for what the table's keys cannot have. */
static bool labels_cannot_shard(struct catalog *c, const struct table *t)
{
    uint32_t fixed;
    const enum key_sharding_mode mode = table_key_sharding_mode(t, &fixed);
    if (t->sort_key.name.size > 0 || (mode != KEY_SHARDING_AUTO && mode != KEY_SHARDING_FIXED))
        return false;
    buffer_append_text(&c->text, "The tag " KEY_SHARDING_TAG " is ");
    if (mode == KEY_SHARDING_AUTO)
        buffer_append_text(&c->text, "'auto'");
    else
        buffer_append_format(&c->text, "'%u'", fixed);
    buffer_append_text(&c->text, ", which spreads the items of a partition key by their sort keys, "
                                 "and the table has no sort key. For counters, use 'counter'");
    return true;
}

/* Whether an index or a stream would show the cells of counters. */
static bool labels_show_cells(struct catalog *c, const struct catalog_command *command,
                              const struct table *t)
{
    const bool streams =
        table_streams_enabled(t->stream_set) != NULL || command->spec.stream > 1 + STREAM_OFF;
    if (!table_counts(t) || (t->indexes.size == 0 && command->spec.indexes.size == 0 && !streams))
        return false;
    buffer_append_format(&c->text,
                         "The tag " KEY_SHARDING_TAG
                         " is 'counter', and the table has %s: %s would show the cells of items",
                         streams ? "a stream" : "secondary indexes", streams ? "it" : "they");
    return true;
}

static bool labels_tag(struct catalog *c, const struct catalog_command *command, struct table *t,
                       struct arena *arena)
{
    struct buffer merged = {0};
    uint32_t count = tags_merge(&merged, t->tags, command->spec.tags);
    t->tags = arena_take(arena, &merged);
    if (count > TAGS_MAX) /* the service's words */
        buffer_append_text(&c->text, "Number of Tags exceed the current limit for the provided "
                                     "ResourceArn");
    return count <= TAGS_MAX && !labels_cannot_shard(c, t) && !labels_show_cells(c, command, t);
}

bool catalog_change_labels(struct catalog *c, const struct catalog_command *command,
                           struct table *t, struct arena *arena)
{
    const struct table_spec *spec = &command->spec;
    if (spec->protection != PROTECTION_UNSPECIFIED)
        t->protected = spec->protection == PROTECTION_ON;
    if (spec->class != TABLE_CLASS_UNSPECIFIED)
        t->class = spec->class;
    if (spec->encryption != ENCRYPTION_UNSPECIFIED) {
        t->encryption = spec->encryption;
        t->encryption_key = spec->encryption_key;
    }
    return spec->tags.size == 0 || labels_tag(c, command, t, arena);
}
