/* streams.c - the names of streams: ARNs and views. */
#include "router/operations/streams.h"

#include "base/settings/streams.h"
#include "engine/message/stream_messages.h"

static const char *const VIEWS[] = {[STREAM_KEYS_ONLY] = "KEYS_ONLY",
                                    [STREAM_NEW_IMAGE] = "NEW_IMAGE",
                                    [STREAM_OLD_IMAGE] = "OLD_IMAGE",
                                    [STREAM_BOTH_IMAGES] = "NEW_AND_OLD_IMAGES"};

const char *stream_view_name(enum stream_view view)
{
    return VIEWS[view];
}

enum stream_view stream_view_of(struct slice name)
{
    for (enum stream_view view = STREAM_KEYS_ONLY; view <= STREAM_BOTH_IMAGES; view++) {
        if (slice_is(name, VIEWS[view]))
            return view;
    }
    return STREAM_OFF;
}

void stream_arn_append(struct buffer *out, const struct call *c, struct slice table,
                       const struct table_stream *s)
{
    table_arn_append(out, c, table);
    buffer_append_text(out, "/stream/");
    table_stream_append_label(out, s);
}

bool stream_is_shown(const struct router *r, const struct table_stream *s)
{
    return !table_stream_is_over(s->disabled_ms, config_streams(r->config)->stream_retention_ms,
                                 router_agreed_ms(r));
}

bool stream_shard_is_shown(const struct router *r, const struct table_shard *shard)
{
    return !table_stream_is_over(shard->closed_ms, config_streams(r->config)->stream_retention_ms,
                                 router_agreed_ms(r));
}

bool stream_arn_read(struct slice arn, struct slice *table, struct slice *label)
{
    struct slice left = arn;
    bool good = slice_starts_with(arn, slice_of("arn:"));
    for (int field = 0; field < 5 && good; field++) {
        const size_t size = left.size;
        const struct slice part = slice_cut(&left, ':');
        good = part.size < size && (field != 2 || slice_is(part, "dynamodb"));
    }
    good = good && slice_starts_with(left, slice_of("table/"));
    if (!good)
        return false;
    left = slice_make(left.data + 6, left.size - 6);
    *table = slice_cut(&left, '/');
    if (!slice_starts_with(left, slice_of("stream/")))
        return false;
    *label = slice_make(left.data + 7, left.size - 7);
    return label->size > 0 && table->size <= TABLE_NAME_SIZE_MAX && shape_is_table_name(*table);
}

bool call_stream_named(struct call *c, const struct json_value *arn, struct slice *table,
                       struct slice *label)
{
    c->table_arn = arena_copy(&c->arena, json_string(arn));
    return stream_arn_read(c->table_arn, table, label) ||
           call_invalid(c, "Invalid StreamArn: %.*s", SHOWN(c->table_arn));
}

const struct table_stream *call_find_stream(struct call *c, const struct table *t,
                                            struct slice label)
{
    const struct table_stream *s = table_streams_find_label(t->stream_set, label);
    if (s != NULL && stream_is_shown(c->router, s))
        return s;
    call_stream_missing(c);
    return NULL;
}

/* ---- reading a shard ---- */

bool call_shard_missing(struct call *c)
{
    return fault_set(call_fault(c), FAULT_NOT_FOUND,
                     "Requested resource not found: Shard does not exist in stream %.*s",
                     SHOWN(c->table_arn));
}

bool call_records_trimmed(struct call *c)
{
    return fault_set(call_fault(c), FAULT_TRIMMED,
                     "The operation attempted to read past the oldest stream record in a shard. "
                     "The data you are trying to access has been trimmed.");
}

bool shard_read_find_stream(struct call *c, struct shard_read *r)
{
    const struct table *t = &r->route->table;
    r->stream = table_streams_find_label(t->stream_set, r->label);
    r->shard = NULL;
    return r->stream == NULL || stream_is_shown(c->router, r->stream) || call_stream_missing(c);
}

bool shard_read_is_known(struct call *c, struct shard_read *r)
{
    const bool known =
        r->shard != NULL && table_find_partition(&r->route->table, r->shard->partition) != NULL;
    if (known) /* its leader says what is trimmed: by the router's clock it may not be yet */
        return true;
    if (r->retried)
        return r->stream == NULL ? call_stream_missing(c) : call_shard_missing(c);
    r->retried = true;
    route_invalidate(c->router, r->route->table.name);
    call_require_table(c, r->name, &r->route);
    return false;
}

struct subrequest *shard_read_request(struct call *c, const struct shard_read *r)
{
    struct subrequest *s = call_request(c, r->route, REQUEST_RECORDS);
    request_edit_records(&s->request)->key =
        table_find_partition(&r->route->table, r->shard->partition)->lo;
    request_edit_records(&s->request)->stream = r->stream->id;
    request_edit_records(&s->request)->epoch = r->shard->epoch;
    return s;
}
