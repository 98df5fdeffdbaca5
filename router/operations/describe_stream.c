/* describe_stream.c - DescribeStream: a stream and a page of its shards, parents before children.
 * */
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/streams.h"
#include "router/operations/table_description.h"
#include "router/operations/table_throughput.h"

enum {
    PAGE_SHARDS_MAX = 100
};

struct describe_stream {
    struct slice name;
    struct slice label;
    struct slice after; /* the id of a shard; empty: from the first */
    bool filters;
    struct slice parent; /* only the children of this shard */
    uint32_t left;
};

static bool describe_read_filter(struct call *c, const struct json_value *filter,
                                 struct describe_stream *d)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    if (filter->type == JSON_ABSENT)
        return true;
    shape_bind(&shape_shard_filter, filter, m);
    d->filters = m[SHARD_FILTER_TYPE].type == JSON_STRING;
    if (d->filters != (m[SHARD_FILTER_SHARD_ID].type == JSON_STRING))
        return call_invalid(c, INVALID "ShardFilter must have both Type and ShardId");
    if (d->filters)
        d->parent = arena_copy(&c->arena, json_string(&m[SHARD_FILTER_SHARD_ID]));
    return true;
}

static bool describe_stream_begin(struct call *c, const struct json_value m[])
{
    struct describe_stream *d = arena_zalloc(&c->arena, sizeof *d);
    c->state = d;
    d->left = (uint32_t)shape_integer(&m[DESCRIBE_STREAM_LIMIT], PAGE_SHARDS_MAX);
    if (m[DESCRIBE_STREAM_EXCLUSIVE_START_SHARD_ID].type == JSON_STRING)
        d->after = arena_copy(&c->arena, json_string(&m[DESCRIBE_STREAM_EXCLUSIVE_START_SHARD_ID]));
    if (!call_stream_named(c, &m[DESCRIBE_STREAM_STREAM_ARN], &d->name, &d->label) ||
        !describe_read_filter(c, &m[DESCRIBE_STREAM_SHARD_FILTER], d))
        return false;
    call_get_table(c, d->name);
    return true;
}

static void write_sequence(struct buffer *out, const char *member, const struct table_shard *shard,
                           bool last)
{
    struct buffer text = {0};
    if (last)
        table_sequence_append_last(&text, shard);
    else
        table_sequence_append(&text, shard, 0, 0);
    json_member_string(out, member, buffer_slice(&text));
    buffer_deinit(&text);
}

static void write_shard(struct buffer *out, const struct table_stream *s,
                        const struct table_shard *shard)
{
    struct buffer id = {0};
    json_write_open(out, '{');
    table_shard_append_id(&id, s, shard);
    json_member_string(out, "ShardId", buffer_slice(&id));
    json_member_open(out, "SequenceNumberRange", '{');
    write_sequence(out, "StartingSequenceNumber", shard, false);
    if (shard->closed_ms != 0)
        write_sequence(out, "EndingSequenceNumber", shard, true);
    json_write_close(out, '}');
    if (shard->parent != 0) {
        const struct table_shard parent = {.partition = shard->parent,
                                           .epoch = shard->parent_epoch};
        buffer_clear(&id);
        table_shard_append_id(&id, s, &parent);
        json_member_string(out, "ParentShardId", buffer_slice(&id));
    }
    json_write_close(out, '}');
    buffer_deinit(&id);
}

static bool is_child_of(const struct table_shard *shard, const struct table_shard *parent)
{
    return shard->parent == parent->partition && shard->parent_epoch == parent->epoch;
}

/* Writes the shards of the page. The last one, if there are more; NULL: there are not. */
static const struct table_shard *write_shards(struct call *c, struct describe_stream *d,
                                              const struct table_stream *s,
                                              const struct table_shard *parent)
{
    const struct table_shard *after = d->after.size > 0 ? table_shard_find(s, d->after) : NULL;
    const struct table_shard *last = NULL;
    uint32_t i = after != NULL ? (uint32_t)(after - s->shards) + 1 : 0;
    for (; i < s->shard_count; i++) {
        const struct table_shard *shard = &s->shards[i];
        if (!stream_shard_is_shown(c->router, shard) ||
            (parent != NULL && !is_child_of(shard, parent)))
            continue;
        if (d->left == 0)
            return last;
        d->left--;
        last = shard;
        write_shard(&c->body, s, shard);
    }
    return NULL;
}

static const char *status_name(const struct table *t, const struct table_stream *s)
{
    const bool changing = t->status == TABLE_CREATING ||
                          (t->status == TABLE_UPDATING && s->version == t->indexes_version);
    if (s->disabled_ms != 0)
        return changing ? "DISABLING" : "DISABLED";
    return changing ? "ENABLING" : "ENABLED";
}

static void write_head(struct call *c, const struct table *t, const struct table_stream *s)
{
    struct buffer text = {0}, *out = &c->body;
    const struct key_attr keys[2] = {t->partition_key, t->sort_key};
    stream_arn_append(&text, c, t->name, s);
    json_member_string(out, "StreamArn", buffer_slice(&text));
    buffer_clear(&text);
    table_stream_append_label(&text, s);
    json_member_string(out, "StreamLabel", buffer_slice(&text));
    json_member_text(out, "StreamStatus", status_name(t, s));
    json_member_text(out, "StreamViewType", stream_view_name(s->view));
    table_date_write(out, "CreationRequestDateTime", s->created_ms);
    json_member_string(out, "TableName", t->name);
    table_key_schema_write(out, keys, 1, table_has_sort_key(t) ? 2 : 1);
    buffer_deinit(&text);
}

static bool describe_stream_reply(struct call *c, struct subrequest *request, const struct reply *r)
{
    struct describe_stream *d = c->state;
    struct table t;
    const struct table_shard *parent = NULL;
    if (r->code == REPLY_TABLE_NOT_FOUND)
        return call_stream_missing(c);
    if (!table_take_reply(c, request, r, &t))
        return false;
    const struct table_stream *s = call_find_stream(c, &t, d->label);
    if (s == NULL)
        return false;
    if (d->filters && (parent = table_shard_find(s, d->parent)) == NULL)
        return call_shard_missing(c);
    const bool lost =
        d->after.size > 0 && table_shard_find(s, d->after) == NULL; /* trimmed since */
    json_write_open_with(&c->body, "StreamDescription", '{');
    write_head(c, &t, s);
    json_member_open(&c->body, "Shards", '[');
    const struct table_shard *last = lost ? NULL : write_shards(c, d, s, parent);
    json_write_close(&c->body, ']');
    if (last != NULL) {
        struct buffer id = {0};
        table_shard_append_id(&id, s, last);
        json_member_string(&c->body, "LastEvaluatedShardId", buffer_slice(&id));
        buffer_deinit(&id);
    }
    json_write_closes(&c->body, "}}");
    return true;
}

OPERATION(describe_stream, "DescribeStream", .of_streams = true, .begin = describe_stream_begin,
          .reply = describe_stream_reply);
