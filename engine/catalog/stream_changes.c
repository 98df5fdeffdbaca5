/* stream_changes.c - what commands do to the streams of a table: enabled, disabled, split with
 * their partitions, forgotten.
 *
 * Invariants
 *   STREAMS-1  The open shards of an enabled stream are the table's partitions, at their epochs.
 *              All shards of a disabled one are closed.
 *   STREAMS-2  No two partitions of a table are merged until stream_retention_ms after it had a
 *              stream last: a shard has one parent, and the records of a partition are where its
 *              keys begin. */

#include "engine/catalog/catalog_internal.h"

/* A copy that may be changed. Its shards come from the arena, with room for `more` in the last
 * stream. */
static void streams_copy(const struct table *t, uint32_t more, struct arena *arena,
                         struct table_streams *out)
{
    *out = t->stream_set != NULL ? *t->stream_set : (struct table_streams){0};
    for (uint32_t i = 0; i < out->count; i++) {
        struct table_stream *s = &out->at[i];
        const struct table_shard *shards = s->shards;
        s->shards = arena_alloc(arena, (s->shard_count + more + 1) * sizeof *shards);
        memcpy(s->shards, shards, s->shard_count * sizeof *shards);
    }
}

static void streams_set(struct table *t, const struct table_streams *s, struct arena *arena)
{
    struct buffer bytes = {0};
    table_streams_encode(&bytes, s);
    t->streams = arena_copy(arena, buffer_slice(&bytes));
    must(table_streams_decode(t->streams, arena, &t->stream_set) == STATUS_OK);
    for (uint32_t i = 0; i < t->partition_count; i++)
        t->partitions[i].stream = table_streams_latest(t->stream_set);
    buffer_deinit(&bytes);
}

/* Forgets streams and shards whose time is over. */
static void streams_prune(const struct catalog_command *command, struct table_streams *s)
{
    const int64_t retention = command->stream_retention_ms;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct table_stream *stream = &s->at[i];
        uint32_t shards = 0;
        if (table_stream_is_over(stream->disabled_ms, retention, command->agreed_ms))
            continue;
        for (uint32_t j = 0; j < stream->shard_count; j++) {
            if (!table_stream_is_over(stream->shards[j].closed_ms, retention, command->agreed_ms))
                stream->shards[shards++] = stream->shards[j];
        }
        stream->shard_count = shards;
        s->at[kept++] = *stream;
    }
    s->count = kept;
}

static void stream_enable(const struct catalog_command *command, const struct table *t,
                          struct table_streams *s, struct arena *arena)
{
    const int64_t before = s->count > 0 ? s->at[s->count - 1].created_ms : 0;
    must(s->count < TABLE_STREAMS_MAX);
    struct table_stream *stream = &s->at[s->count++];
    *stream = (struct table_stream){.id = ++s->last_id,
                                    .view = (enum stream_view)(command->spec.stream - 1),
                                    .version = t->indexes_version,
                                    .created_ms =
                                        command->wall_ms > before ? command->wall_ms : before + 1,
                                    .shard_count = t->partition_count};
    stream->shards = arena_zalloc(arena, t->partition_count * sizeof stream->shards[0]);
    for (uint32_t i = 0; i < t->partition_count; i++)
        stream->shards[i] =
            (struct table_shard){.partition = t->partitions[i].id, .epoch = t->partitions[i].epoch};
}

static void stream_disable(const struct catalog_command *command, const struct table *t,
                           struct table_stream *stream)
{
    must(stream->disabled_ms == 0);
    stream->disabled_ms = command->wall_ms > 0 ? command->wall_ms : 1;
    stream->version = t->indexes_version;
    for (uint32_t i = 0; i < stream->shard_count; i++) {
        if (stream->shards[i].closed_ms == 0)
            stream->shards[i].closed_ms = stream->disabled_ms;
    }
}

void catalog_begin_stream(const struct catalog_command *command, struct table *t,
                          struct arena *arena)
{
    struct table_streams s = {0};
    if (command->spec.stream <= 1 + STREAM_OFF)
        return;
    stream_enable(command, t, &s, arena);
    streams_set(t, &s, arena);
}

/* NULL: the change is possible. */
static const char *why_not_change(const struct table *t, bool enable,
                                  const struct table_streams *pruned)
{
    const bool enabled = table_streams_enabled(t->stream_set) != NULL;
    if (enable && enabled)
        return "Table already has an enabled stream: TableName: ";
    if (!enable && !enabled)
        return "Table has no stream to disable: TableName: ";
    if (enable && table_counts(t))
        return "The table's tag weir:key-sharding is 'counter': a stream would show the cells of "
               "items: TableName: ";
    return enable && pruned->count == TABLE_STREAMS_MAX
               ? "Earlier streams must first be older than stream_retention_ms: TableName: "
               : NULL;
}

bool catalog_change_stream(struct catalog *c, const struct catalog_command *command,
                           struct table *t, struct arena *arena)
{
    struct table_streams s;
    const bool enable = command->spec.stream > 1 + STREAM_OFF;
    if (command->spec.stream == 0)
        return true;
    streams_copy(t, 0, arena, &s);
    streams_prune(command, &s);
    const char *why = why_not_change(t, enable, &s);
    if (why != NULL) {
        buffer_append_format(&c->text, "%s%.*s", why, TEXT_OF(t->name));
        return false;
    }
    t->indexes_version++;
    t->status = TABLE_UPDATING; /* until its partitions know it */
    if (enable)
        stream_enable(command, t, &s, arena);
    else
        stream_disable(command, t, &s.at[s.count - 1]);
    streams_set(t, &s, arena);
    return true;
}

void catalog_split_shards(const struct catalog_command *command, struct table *t, uint32_t at,
                          uint32_t children, struct arena *arena)
{
    struct table_streams s;
    if (table_streams_enabled(t->stream_set) == NULL)
        return;
    streams_copy(t, children + 1, arena, &s);
    streams_prune(command, &s);
    struct table_stream *stream = &s.at[s.count - 1];
    const struct partition_info *p = &t->partitions[at];
    struct table_shard *parent =
        (struct table_shard *)(uintptr_t)table_stream_shard(stream, p->id, p->epoch - 1);
    must(parent != NULL); /* STREAMS-1 */
    parent->closed_ms = command->wall_ms > 0 ? command->wall_ms : 1;
    for (uint32_t i = 0; i <= children; i++)
        stream->shards[stream->shard_count++] = (struct table_shard){
            .partition = p[i].id,
            .epoch = p[i].epoch,
            .depth = parent->depth < STREAM_DEPTH_MAX ? parent->depth + 1 : STREAM_DEPTH_MAX,
            .parent = parent->partition,
            .parent_epoch = parent->epoch};
    streams_set(t, &s, arena);
}

void catalog_reconciled_shards(const struct catalog_command *command, struct table *t,
                               struct arena *arena)
{
    struct table_streams s;
    bool any = false;
    if (table_streams_enabled(t->stream_set) == NULL)
        return;
    streams_copy(t, 0, arena, &s);
    struct table_stream *stream = &s.at[s.count - 1];
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        const struct table_shard *child =
            p->parent != 0 ? table_stream_shard(stream, p->id, p->epoch) : NULL;
        struct table_shard *parent = child == NULL
                                         ? NULL
                                         : (struct table_shard *)(uintptr_t)table_stream_shard(
                                               stream, child->parent, child->parent_epoch);
        if (parent == NULL || parent->closed_ms >= command->wall_ms)
            continue;
        parent->closed_ms = command->wall_ms;
        any = true;
    }
    if (any)
        streams_set(t, &s, arena);
}

bool catalog_keeps_streams(const struct catalog_command *command, const struct table *t)
{
    const struct table_streams *s = t->stream_set;
    bool keeps = false;
    for (uint32_t i = 0; s != NULL && i < s->count; i++)
        keeps |= !table_stream_is_over(s->at[i].disabled_ms, command->stream_retention_ms,
                                       command->agreed_ms);
    return keeps;
}
