/* get_records.c - GetRecords: the next records of a shard, and an iterator behind them. */
#include <xxhash.h>

#include "engine/message/stream_messages.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/json/value.h"
#include "router/operations/operations.h"
#include "router/operations/shard_iterator.h"
#include "router/operations/streams.h"

enum {
    RECORDS_MAX = 1000
};

struct get_records {
    struct shard_read read;
    struct shard_iterator iterator;
    uint32_t limit;
    /* of the node's answer */
    struct reader rows;         /* not written yet; in the call's arena */
    struct shard_iterator next; /* behind them */
    bool closed;                /* nothing follows them */
};

static bool records_begin(struct call *c, const struct json_value m[])
{
    struct get_records *g = arena_zalloc(&c->arena, sizeof *g);
    const struct slice text = arena_copy(&c->arena, json_string(&m[GET_RECORDS_SHARD_ITERATOR]));
    const int64_t limit = shape_integer(&m[GET_RECORDS_LIMIT], RECORDS_MAX);
    c->state = g;
    if (!shard_iterator_read(text, &g->iterator) ||
        !stream_arn_read(g->iterator.arn, &g->read.name, &g->read.label))
        return call_invalid(c, "Invalid ShardIterator");
    c->table_arn = g->iterator.arn;
    if (router_wall_ms(c->router) - g->iterator.made_ms > SHARD_ITERATOR_MS)
        return fault_set(call_fault(c), FAULT_EXPIRED_ITERATOR,
                         "Iterator expired. The iterator was created more than 15 minutes ago.");
    if (limit > RECORDS_MAX)
        return call_invalid(c, "Limit %lld is more than the %d records that GetRecords may return",
                            (long long)limit, RECORDS_MAX);
    g->limit = (uint32_t)limit;
    call_require_table(c, g->read.name, &g->read.route);
    return true;
}

static bool records_ready(struct call *c)
{
    struct get_records *g = c->state;
    if (!shard_read_find_stream(c, &g->read))
        return false;
    if (g->read.stream != NULL)
        g->read.shard =
            table_stream_shard(g->read.stream, g->iterator.partition, g->iterator.epoch);
    if (!shard_read_is_known(c, &g->read) || c->routes_pending > 0)
        return c->routes_pending > 0;
    struct subrequest *s = shard_read_request(c, &g->read);
    request_edit_records(&s->request)->index = g->iterator.index;
    request_edit_records(&s->request)->place = g->iterator.place;
    request_edit_records(&s->request)->items_max = g->limit;
    request_edit_records(&s->request)->bytes_max = PAGE_SIZE_MAX;
    subrequest_start(c->router, s);
    return true;
}

/* ---- the answer ---- */

/* The same for the same record, whoever asks. */
static void write_event_id(struct buffer *out, const struct get_records *g, uint64_t index,
                           uint32_t place)
{
    struct {
        uint8_t uuid[16];
        uint64_t epoch;
        uint64_t index;
        uint32_t stream;
        uint32_t partition;
        uint64_t place;
    } name = {.epoch = g->read.shard->epoch,
              .index = index,
              .stream = g->read.stream->id,
              .partition = g->read.shard->partition,
              .place = place};
    struct buffer text = {0};
    memcpy(name.uuid, g->read.route->table.uuid, sizeof name.uuid);
    const XXH128_hash_t hash = XXH3_128bits(&name, sizeof name);
    buffer_append_format(&text, "%016llx%016llx", (unsigned long long)hash.high64,
                         (unsigned long long)hash.low64);
    json_member_string(out, "eventID", buffer_slice(&text));
    buffer_deinit(&text);
}

static void write_image(struct buffer *out, const char *member, struct slice item)
{
    if (item.size == 0)
        return;
    json_write_key(out, member);
    value_write_item(out, item);
}

/* Writes the keys. Returns their size as that of an item. */
static int64_t write_keys(struct call *c, const struct table *t, struct slice storage_key)
{
    struct key key;
    struct buffer item = {0};
    if (!key_of_storage(t, NULL, storage_key, &c->arena, &key))
        return -1;
    key_append_item(&item, t, &key);
    const int64_t size = item_size(buffer_slice(&item));
    buffer_deinit(&item);
    json_write_key(&c->body, "Keys");
    key_write(&c->body, t, NULL, &key);
    return size;
}

static int64_t image_size(struct slice item)
{
    return item.size > 0 ? (int64_t)item_size(item) : 0;
}

/* False: the record makes no sense. */
static bool write_data(struct call *c, const struct get_records *g,
                       const struct stream_record *record, uint64_t index, uint32_t place)
{
    struct buffer *out = &c->body, number = {0};
    json_member_open(out, "dynamodb", '{');
    json_member_integer(out, "ApproximateCreationDateTime", record->wall_ms / 1000);
    const int64_t keys = write_keys(c, &g->read.route->table, record->key);
    write_image(out, "NewImage", record->now);
    write_image(out, "OldImage", record->old);
    table_sequence_append(&number, g->read.shard, index, place);
    json_member_string(out, "SequenceNumber", buffer_slice(&number));
    json_member_integer(out, "SizeBytes", keys + image_size(record->now) + image_size(record->old));
    json_member_text(out, "StreamViewType", stream_view_name(g->read.stream->view));
    json_write_close(out, '}');
    buffer_deinit(&number);
    return keys >= 0;
}

static bool write_record(struct call *c, const struct get_records *g, struct slice row)
{
    static const char *const EVENTS[] = {
        [STREAM_INSERT] = "INSERT", [STREAM_MODIFY] = "MODIFY", [STREAM_REMOVE] = "REMOVE"};
    struct buffer *out = &c->body;
    struct reader r = {row, false};
    const uint64_t index = reader_u64(&r);
    const uint32_t place = reader_u32(&r);
    struct stream_record record;
    if (r.failed || stream_record_decode(r.left, &record) != STATUS_OK)
        return false;
    json_write_open(out, '{');
    write_event_id(out, g, index, place);
    json_member_text(out, "eventName", EVENTS[record.event]);
    json_member_text(out, "eventVersion", "1.1");
    json_member_text(out, "eventSource", "aws:dynamodb");
    json_member_string(out, "awsRegion", call_region(c));
    const bool good = write_data(c, g, &record, index, place);
    if (record.by_service) {
        json_member_open(out, "userIdentity", '{');
        json_member_text(out, "PrincipalId", "dynamodb.amazonaws.com");
        json_member_text(out, "Type", "Service");
        json_write_close(out, '}');
    }
    json_write_close(out, '}');
    return good;
}

static bool records_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct get_records *g = c->state;
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    const struct reply_records *records = reply_records(r);
    if (records->trimmed)
        return call_records_trimmed(c);
    g->rows = (struct reader){arena_copy(&c->arena, records->records), false};
    g->closed = records->closed;
    g->next = g->iterator;
    g->next.index = records->index;
    g->next.place = records->place;
    json_write_open_with(&c->body, "Records", '[');
    return true;
}

static void write_next_iterator(struct call *c, struct shard_iterator *next)
{
    struct buffer text = {0};
    next->made_ms = router_wall_ms(c->router);
    shard_iterator_append(&text, next);
    json_member_string(&c->body, "NextShardIterator", buffer_slice(&text));
    buffer_deinit(&text);
}

static bool records_finish(struct call *c)
{
    struct get_records *g = c->state;
    const size_t begin = c->body.size;
    while (g->rows.left.size > 0) {
        if (call_ends_turn(c, begin))
            return true;
        if (!write_record(c, g, reader_sized(&g->rows)))
            return fault_set(call_fault(c), FAULT_INTERNAL, "The node's answer is invalid");
    }
    json_write_close(&c->body, ']');
    if (!g->closed)
        write_next_iterator(c, &g->next);
    json_write_close(&c->body, '}');
    return true;
}

OPERATION(get_records, "GetRecords", .of_streams = true, .begin = records_begin,
          .ready = records_ready, .reply = records_reply, .finish = records_finish);
