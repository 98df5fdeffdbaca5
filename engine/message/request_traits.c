/* request_traits.c - the table. A request without a row is refused from every sender. */
#include "engine/message/request_traits.h"

#include "engine/message/index_messages.h"
#include "engine/message/move_messages.h"
#include "engine/message/stream_messages.h"
#include "engine/message/transaction_messages.h"

enum {
    NODE = 1 << PEER_NODE,
    ROUTER = 1 << PEER_ROUTER,
    TOOL = 1 << PEER_TOOL
};

_Static_assert(sizeof(struct request) <= 256 && sizeof(struct reply) <= 256,
               "an offset is one byte");

#define FIELD(type, member) (uint16_t)((type) << 8 | offsetof(MESSAGE, member))
#define SLICE(member)       FIELD(FIELD_SLICE, member)
#define BOOL(member)        FIELD(FIELD_BOOL, member)
#define U8(member)          FIELD(FIELD_U8, member)
#define U32(member)         FIELD(FIELD_U32, member)
#define U64(member)         FIELD(FIELD_U64, member)
/* The same for a member of a family's struct. */
#define IN_ROOM(type, family, member) \
    (uint16_t)(FIELD_##type << 8 | (offsetof(MESSAGE, room) + offsetof(struct family, member)))

/* The traits of requests that write items, and of requests that change tables. */
#define WRITES .data = true, .write = true, .once = true, .changes = true
/* Of requests that end what a write has begun. They may be repeated, and cost nothing. */
#define FOLLOWS       .data = true, .write = true, .free = true, .changes = true, .mandatory = true
#define CHANGES_TABLE .once = true, .changes = true, .names_table = true

#define MESSAGE struct request

const struct request_traits request_traits[REQUEST_OPS] = {
    /* items */
    [REQUEST_GET] = {ROUTER, ANSWER_ITEM,
                     .fields = {SLICE(get.key), BOOL(get.consistent), BOOL(get.transacts),
                                U64(get.after)},
                     .data = true, .any_replica = true},
    [REQUEST_RANGE] = {ROUTER, ANSWER_RANGE,
                       .fields = {SLICE(range.lo), SLICE(range.hi), BOOL(range.consistent),
                                  BOOL(range.reverse), U32(range.items_max), U32(range.bytes_max),
                                  SLICE(range.filter), BOOL(range.count_only), U8(range.index),
                                  U32(range.shard), U64(range.after)},
                       .data = true, .any_replica = true},
    [REQUEST_PUT] = {NODE | ROUTER, ANSWER_ITEM,
                     .fields = {SLICE(write.key), U8(write.return_values), SLICE(write.item),
                                SLICE(write.condition), BOOL(write.return_failed),
                                U64(write.session), SLICE(write.transaction), U8(write.admitted),
                                U8(write.origin)},
                     WRITES},
    [REQUEST_DELETE] = {NODE | ROUTER, ANSWER_ITEM,
                        .fields = {SLICE(write.key), U8(write.return_values),
                                   SLICE(write.condition), BOOL(write.return_failed),
                                   U64(write.session), SLICE(write.transaction), U8(write.admitted),
                                   U8(write.origin)},
                        WRITES},
    [REQUEST_UPDATE] = {NODE | ROUTER, ANSWER_ITEM,
                        .fields = {SLICE(write.key), U8(write.return_values), SLICE(write.item),
                                   SLICE(write.condition), BOOL(write.return_failed),
                                   SLICE(write.update), SLICE(write.transaction),
                                   U8(write.admitted), SLICE(write.token.id),
                                   BOOL(write.token.only), U8(write.origin), SLICE(write.limiter),
                                   U64(write.token.digest)},
                        WRITES},
    [REQUEST_UNCHANGED] = {ROUTER, ANSWER_NONE,
                           .fields = {SLICE(unchanged.key), U32(unchanged.since.partition),
                                      U64(unchanged.since.epoch), U64(unchanged.since.index)},
                           .data = true, .free = true},
    [REQUEST_CHECK] = {ROUTER, ANSWER_ITEM,
                       .fields = {SLICE(write.key), SLICE(write.condition),
                                  BOOL(write.return_failed), SLICE(write.transaction),
                                  U8(write.admitted), BOOL(write.token.only)},
                       WRITES},
    [REQUEST_TRANSACT] = {ROUTER, ANSWER_PARTS,
                          .fields = {IN_ROOM(SLICE, request_transact, key),
                                     IN_ROOM(SLICE, request_transact, parts),
                                     IN_ROOM(SLICE, request_transact, transaction),
                                     IN_ROOM(U64, request_transact, mcu_min)},
                          WRITES},
    [REQUEST_TRANSACT_ADMIT] = {ROUTER, ANSWER_PARTS,
                                .fields = {IN_ROOM(SLICE, request_admit, key),
                                           IN_ROOM(SLICE, request_admit, keys),
                                           IN_ROOM(U64, request_admit, mcu),
                                           IN_ROOM(U8, request_admit, back)},
                                .data = true, .write = true, .once = true},
    [REQUEST_TRANSACT_DECIDE] = {ROUTER, ANSWER_NONE,
                                 .fields = {IN_ROOM(SLICE, request_transaction, key),
                                            IN_ROOM(U64, request_transaction, id_high),
                                            IN_ROOM(U64, request_transaction, id_low),
                                            IN_ROOM(SLICE, request_transaction, token)},
                                 FOLLOWS},
    [REQUEST_TRANSACT_RESOLVE] = {NODE | ROUTER, ANSWER_NONE,
                                  .fields = {IN_ROOM(SLICE, request_transaction, key),
                                             IN_ROOM(U64, request_transaction, id_high),
                                             IN_ROOM(U64, request_transaction, id_low),
                                             IN_ROOM(BOOL, request_transaction, commits)},
                                  FOLLOWS},
    [REQUEST_TRANSACT_QUERY] = {NODE, ANSWER_STATE,
                                .fields = {IN_ROOM(SLICE, request_transaction, key),
                                           IN_ROOM(U64, request_transaction, id_high),
                                           IN_ROOM(U64, request_transaction, id_low),
                                           IN_ROOM(BOOL, request_transaction, aborts)},
                                FOLLOWS},
    [REQUEST_RECORDS] =
        {ROUTER, ANSWER_RECORDS,
         .fields = {IN_ROOM(SLICE, request_records, key), IN_ROOM(U32, request_records, stream),
                    IN_ROOM(U64, request_records, epoch), IN_ROOM(U64, request_records, index),
                    IN_ROOM(U32, request_records, place), IN_ROOM(U32, request_records, items_max),
                    IN_ROOM(U32, request_records, bytes_max),
                    IN_ROOM(BOOL, request_records, latest)},
         .data = true, .free = true},
    [REQUEST_KEY_SHARD_MOVE] = {NODE | ROUTER, ANSWER_RANGE,
                                .fields = {IN_ROOM(SLICE, request_move, key),
                                           IN_ROOM(SLICE, request_move, hi),
                                           IN_ROOM(U32, request_move, shards),
                                           IN_ROOM(U32, request_move, items_max),
                                           IN_ROOM(BOOL, request_move, merge_cells)},
                                .data = true, .free = true, .changes = true},
    [REQUEST_INDEX_SHOWS] = {ROUTER, ANSWER_NONE,
                             .fields = {IN_ROOM(SLICE, request_shows, key),
                                        IN_ROOM(U64, request_shows, after)},
                             .data = true, .free = true},
    /* a node itself */
    [REQUEST_STATS] = {ROUTER | TOOL, ANSWER_STATS, .of_node = true, .once = true},
    [REQUEST_PING] = {.senders = ROUTER},
    /* a partition's replicas */
    [REQUEST_PARTITION_OPEN] = {NODE, ANSWER_NONE,
                                .fields = {U64(replica.as_of), SLICE(replica.info)},
                                .mandatory = true},
    [REQUEST_PARTITION_CLOSE] = {NODE, ANSWER_NONE,
                                 .fields = {U64(replica.as_of), SLICE(replica.info),
                                            BOOL(replica.table_deleted),
                                            BOOL(replica.queries_leader)},
                                 .mandatory = true},
    [REQUEST_PARTITION_MEMBERS] = {NODE, ANSWER_MEMBERS, .fields = {SLICE(group.info)},
                                   .mandatory = true},
    [REQUEST_PARTITION_SPLIT] = {NODE, ANSWER_NONE, .fields = {SLICE(split.bytes)},
                                 .mandatory = true},
    [REQUEST_PARTITION_MERGE] = {NODE, ANSWER_FROZEN, .fields = {SLICE(group.info)},
                                 .mandatory = true},
    [REQUEST_PARTITION_HEAT] = {NODE, ANSWER_ADVICE, .fields = {U32(heat.children)}},
    [REQUEST_INDEX_SESSION] = {NODE, ANSWER_SESSION,
                               .fields = {IN_ROOM(SLICE, request_session, lo),
                                          IN_ROOM(SLICE, request_session, hi)}},
    [REQUEST_INDEX_FILL] = {NODE, ANSWER_RANGE,
                            .fields = {IN_ROOM(SLICE, request_fill, from),
                                       IN_ROOM(U32, request_fill, index)}},
    [REQUEST_PARTITION_MIDDLE] = {NODE, .answer = ANSWER_ADVICE},
    /* the catalog */
    [REQUEST_TABLE_CREATE] = {ROUTER, ANSWER_TABLE,
                              .fields = {SLICE(table.name), SLICE(table.spec)}, CHANGES_TABLE},
    [REQUEST_TABLE_UPDATE] = {ROUTER, ANSWER_TABLE,
                              .fields = {SLICE(table.name), SLICE(table.spec)}, CHANGES_TABLE},
    [REQUEST_TABLE_DELETE] = {ROUTER, ANSWER_TABLE, .fields = {SLICE(table.name)}, CHANGES_TABLE},
    [REQUEST_TABLE_GET] = {NODE | ROUTER | TOOL, ANSWER_TABLE,
                           .fields = {SLICE(table.name), U32(table.id)}},
    [REQUEST_TABLE_LIST] = {ROUTER | TOOL, ANSWER_PAGE,
                            .fields = {SLICE(list.after), U32(list.names_max)}},
    [REQUEST_TABLE_SPLIT] = {ROUTER, ANSWER_TABLE,
                             .fields = {SLICE(table_split.name), SLICE(table_split.split)},
                             .once = true, .changes = true},
    [REQUEST_TABLE_REPORT] = {NODE, ANSWER_GONE, .fields = {SLICE(report.records)}},
    [REQUEST_EVENTS] = {ROUTER | TOOL, ANSWER_PAGE,
                        .fields = {U64(events.after), U32(events.events_max)}},
    /* from a router only a drain (server/link_rights.c), which may be repeated */
    [REQUEST_DECIDE] = {ROUTER, ANSWER_TABLE, .fields = {U8(decide.op), SLICE(decide.decision)},
                        .changes = true},
};

#undef MESSAGE
#define MESSAGE struct reply

const uint16_t answer_fields[ANSWER_KINDS][MESSAGE_FIELDS_MAX + 1] = {
    [ANSWER_ITEM] = {SLICE(item.bytes), BOOL(item.found), U64(item.collection_bytes),
                     U8(item.fault), SLICE(item.index_costs), U32(item.stamp.partition),
                     U64(item.stamp.epoch), U64(item.stamp.index), U64(item.wall_ms)},
    [ANSWER_RANGE] = {SLICE(range.items), U32(range.count), U32(range.scanned),
                      U64(range.read_bytes), BOOL(range.more), SLICE(range.last)},
    [ANSWER_TABLE] = {SLICE(table.bytes), SLICE(table.indexes), U64(table.agreed_ms)},
    [ANSWER_PAGE] = {SLICE(page.records), U32(page.count), BOOL(page.more)},
    [ANSWER_STATS] = {SLICE(stats.records), U64(stats.used_bytes), U64(stats.total_bytes),
                      U64(stats.growth_left_bytes), U64(stats.refused_full),
                      U64(stats.refused_waiting)},
    [ANSWER_MEMBERS] = {BOOL(members.too_many_voters)},
    [ANSWER_FROZEN] = {U64(frozen.index), U64(frozen.term)},
    [ANSWER_ADVICE] = {SLICE(advice.bytes)},
    [ANSWER_SESSION] = {IN_ROOM(U64, reply_session, id)},
    [ANSWER_PARTS] = {IN_ROOM(SLICE, reply_parts, replies),
                      IN_ROOM(SLICE, reply_parts, index_costs),
                      IN_ROOM(SLICE, reply_parts, collections)},
    [ANSWER_STATE] = {IN_ROOM(U8, reply_state, decided)},
    [ANSWER_RECORDS] = {IN_ROOM(SLICE, reply_records, records), IN_ROOM(U64, reply_records, index),
                        IN_ROOM(U32, reply_records, place), IN_ROOM(BOOL, reply_records, closed),
                        IN_ROOM(BOOL, reply_records, trimmed)},
    [ANSWER_GONE] = {U64(gone.as_of), U64(gone.term), SLICE(gone.replicas)},
};

static bool slice_lies_in(struct slice s, const struct buffer *b)
{
    const uintptr_t from = (uintptr_t)b->data, at = (uintptr_t)s.data;
    return s.size > 0 && at >= from && at < from + b->capacity;
}

void message_copy_slices(const uint16_t *fields, void *message, struct buffer *bytes)
{
    struct slice *s;
    size_t from = bytes->size;
    for (uint32_t at = 0; (s = message_next_slice(fields, message, &at)) != NULL;) {
        must_in_tests(!slice_lies_in(*s, bytes)); /* appending may move it */
        buffer_append_slice(bytes, *s);
    }
    for (uint32_t at = 0; (s = message_next_slice(fields, message, &at)) != NULL; from += s->size)
        *s = slice_make(bytes->data + from, s->size);
    must(from == bytes->size);
}

struct slice request_key(const struct request *q)
{
    switch (q->op) {
    case REQUEST_GET:
        return q->get.key;
    case REQUEST_RANGE:
        return q->range.lo;
    case REQUEST_UNCHANGED:
        return q->unchanged.key;
    case REQUEST_TRANSACT:
        return request_transact(q)->key;
    case REQUEST_TRANSACT_ADMIT:
        return request_admit(q)->key;
    case REQUEST_TRANSACT_DECIDE:
    case REQUEST_TRANSACT_RESOLVE:
    case REQUEST_TRANSACT_QUERY:
        return request_transaction(q)->key;
    case REQUEST_INDEX_FILL:
        return request_fill(q)->from;
    case REQUEST_INDEX_SHOWS:
        return request_shows(q)->key;
    case REQUEST_RECORDS:
        return request_records(q)->key;
    case REQUEST_KEY_SHARD_MOVE:
        return request_move(q)->key;
    default:
        must(traits_of(q)->write); /* PUT, DELETE, UPDATE, CHECK */
        return q->write.key;
    }
}
