/* streams.h - the names of streams: ARNs and views; what operations on streams share. */
#pragma once

#include "router/core/operation.h"

/* KEYS_ONLY, .. STREAM_OFF has no name. */
const char *stream_view_name(enum stream_view view);
/* STREAM_OFF: it is no name. */
enum stream_view stream_view_of(struct slice name);

/* Appends arn:aws:dynamodb:region:account:table/NAME/stream/LABEL. */
void stream_arn_append(struct buffer *out, const struct call *c, struct slice table,
                       const struct table_stream *s);
/* Takes the names out of such an ARN, of any region and account. They lend from the text. False: it
 * is none. */
bool stream_arn_read(struct slice arn, struct slice *table, struct slice *label);

/* Whether clients may still see it: disabled streams and closed shards go after
 * stream_retention_ms. */
bool stream_is_shown(const struct router *r, const struct table_stream *s);
bool stream_shard_is_shown(const struct router *r, const struct table_shard *shard);

/* Reads a StreamArn. The texts are copied to the call's arena, the ARN to call->table_arn. False:
 * the fault is set. */
bool call_stream_named(struct call *c, const struct json_value *arn, struct slice *table,
                       struct slice *label);
/* The stream with the label, if it is shown. NULL: the fault is set. */
const struct table_stream *call_find_stream(struct call *c, const struct table *t,
                                            struct slice label);

/* A shard that a call reads. */
struct shard_read {
    struct slice name; /* of the table */
    struct slice label;
    struct route *route;
    const struct table_stream *stream;
    const struct table_shard *shard;
    bool retried; /* the catalog, for a map that has the shard */
};

/* The steps of `ready`, in their order. The caller sets `shard` between them.
 * Sets `stream`; NULL: the map does not have it. False: the fault is set. */
bool shard_read_find_stream(struct call *c, struct shard_read *r);
/* Whether the map has the shard. If not, a fresh map may be on its way (call->routes_pending): then
 * `ready` is called again. Otherwise the fault is set. */
bool shard_read_is_known(struct call *c, struct shard_read *r);
/* A request for records of the shard. */
struct subrequest *shard_read_request(struct call *c, const struct shard_read *r);

/* Set the fault. Always false. */
bool call_shard_missing(struct call *c);
bool call_records_trimmed(struct call *c);
