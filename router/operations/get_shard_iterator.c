/* get_shard_iterator.c - GetShardIterator: where to read a shard. The leader of its partition says
 * which record is the latest, and whether a record is gone. */
#include "engine/message/stream_messages.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/shard_iterator.h"
#include "router/operations/streams.h"

enum iterator_type {
    FROM_OLDEST,
    FROM_LATEST,
    FROM_NUMBER,
    BEHIND_NUMBER
};

struct get_iterator {
    struct shard_read read;
    struct slice shard;
    enum iterator_type type;
    struct slice number; /* FROM_NUMBER, BEHIND_NUMBER */
};

static enum iterator_type iterator_type_of(struct slice name)
{
    return slice_is(name, "TRIM_HORIZON")         ? FROM_OLDEST
           : slice_is(name, "LATEST")             ? FROM_LATEST
           : slice_is(name, "AT_SEQUENCE_NUMBER") ? FROM_NUMBER
                                                  : BEHIND_NUMBER;
}

static bool iterator_begin(struct call *c, const struct json_value m[])
{
    struct get_iterator *g = arena_zalloc(&c->arena, sizeof *g);
    const struct json_value *number = &m[GET_SHARD_ITERATOR_SEQUENCE_NUMBER];
    c->state = g;
    g->type = iterator_type_of(json_string(&m[GET_SHARD_ITERATOR_SHARD_ITERATOR_TYPE]));
    g->shard = arena_copy(&c->arena, json_string(&m[GET_SHARD_ITERATOR_SHARD_ID]));
    g->number = arena_copy(&c->arena, json_text(number));
    if (!call_stream_named(c, &m[GET_SHARD_ITERATOR_STREAM_ARN], &g->read.name, &g->read.label))
        return false;
    if ((number->type == JSON_STRING) != (g->type >= FROM_NUMBER))
        return call_invalid(c, INVALID "%s",
                            g->type >= FROM_NUMBER
                                ? "SequenceNumber must be specified for ShardIteratorType "
                                  "AT_SEQUENCE_NUMBER and AFTER_SEQUENCE_NUMBER"
                                : "SequenceNumber must not be specified for ShardIteratorType "
                                  "TRIM_HORIZON and LATEST");
    call_require_table(c, g->read.name, &g->read.route);
    return true;
}

static bool iterator_write(struct call *c, const struct get_iterator *g, uint64_t index,
                           uint32_t place)
{
    struct buffer text = {0};
    const struct shard_iterator iterator = {.arn = c->table_arn,
                                            .partition = g->read.shard->partition,
                                            .epoch = g->read.shard->epoch,
                                            .index = index,
                                            .place = place,
                                            .made_ms = router_wall_ms(c->router)};
    shard_iterator_append(&text, &iterator);
    json_write_open(&c->body, '{');
    json_member_string(&c->body, "ShardIterator", buffer_slice(&text));
    json_write_close(&c->body, '}');
    buffer_deinit(&text);
    return true;
}

static bool iterator_ready(struct call *c)
{
    struct get_iterator *g = c->state;
    uint64_t index = 0;
    uint32_t place = 0;
    if (!shard_read_find_stream(c, &g->read))
        return false;
    if (g->read.stream != NULL)
        g->read.shard = table_shard_find(g->read.stream, g->shard);
    if (!shard_read_is_known(c, &g->read) || c->routes_pending > 0)
        return c->routes_pending > 0;
    if (g->type == FROM_OLDEST)
        return iterator_write(c, g, 0, 0);
    if (g->type >= FROM_NUMBER && !table_sequence_read(g->read.shard, g->number, &index, &place))
        return call_invalid(c, INVALID "Invalid SequenceNumber: %.*s", SHOWN(g->number));
    struct subrequest *s = shard_read_request(c, &g->read);
    request_edit_records(&s->request)->index = index;
    request_edit_records(&s->request)->place = place + (g->type == BEHIND_NUMBER);
    request_edit_records(&s->request)->items_max = 1;
    request_edit_records(&s->request)->bytes_max = 1;
    request_edit_records(&s->request)->latest = g->type == FROM_LATEST;
    subrequest_start(c->router, s);
    return true;
}

static bool iterator_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    const struct get_iterator *g = c->state;
    const struct request *q = &s->request;
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    if (reply_records(r)->trimmed)
        return call_records_trimmed(c);
    return g->type == FROM_LATEST
               ? iterator_write(c, g, reply_records(r)->index, reply_records(r)->place)
               : iterator_write(c, g, request_records(q)->index, request_records(q)->place);
}

OPERATION(get_shard_iterator, "GetShardIterator", .of_streams = true, .begin = iterator_begin,
          .ready = iterator_ready, .reply = iterator_reply);
