/* request_traits.c - the table. A request without a row is refused from every sender. */
#include "engine/message/request_traits.h"

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

/* The traits of requests that write items, and of requests that change tables. */
#define WRITES .data = true, .write = true, .once = true, .changes = true
/* Of requests that end what a write has begun. They may be repeated, and cost nothing. */
#define FOLLOWS       .data = true, .write = true, .free = true, .changes = true
#define CHANGES_TABLE .once = true, .changes = true, .names_table = true

#define MESSAGE struct request

const struct request_traits request_traits[REQUEST_OPS] = {
    /* items */
    [REQUEST_GET] = {ROUTER, ANSWER_ITEM,
                     .fields = {SLICE(get.key), BOOL(get.consistent), BOOL(get.transacts)},
                     .data = true, .any_replica = true},
    [REQUEST_RANGE] = {ROUTER, ANSWER_RANGE,
                       .fields = {SLICE(range.lo), SLICE(range.hi), BOOL(range.consistent),
                                  BOOL(range.reverse), U32(range.items_max), U32(range.bytes_max),
                                  SLICE(range.filter), BOOL(range.count_only), U8(range.index),
                                  U32(range.shard)},
                       .data = true, .any_replica = true},
    [REQUEST_PUT] = {NODE | ROUTER, ANSWER_ITEM,
                     .fields = {SLICE(write.key), U8(write.want), SLICE(write.item),
                                SLICE(write.condition), BOOL(write.want_failed), U64(write.session),
                                SLICE(write.transaction), U8(write.admitted), BOOL(write.moves)},
                     WRITES},
    [REQUEST_DELETE] = {NODE | ROUTER, ANSWER_ITEM,
                        .fields = {SLICE(write.key), U8(write.want), SLICE(write.condition),
                                   BOOL(write.want_failed), U64(write.session),
                                   SLICE(write.transaction), U8(write.admitted), BOOL(write.expiry),
                                   BOOL(write.moves)},
                        WRITES},
    [REQUEST_UPDATE] = {NODE | ROUTER, ANSWER_ITEM,
                        .fields = {SLICE(write.key), U8(write.want), SLICE(write.item),
                                   SLICE(write.condition), BOOL(write.want_failed),
                                   SLICE(write.update), SLICE(write.transaction),
                                   U8(write.admitted), SLICE(write.token), BOOL(write.token_only),
                                   BOOL(write.moves), SLICE(write.limiter), U64(write.digest)},
                        WRITES},
    [REQUEST_UNCHANGED] = {ROUTER, ANSWER_NONE,
                           .fields = {SLICE(unchanged.key), U32(unchanged.since.partition),
                                      U64(unchanged.since.epoch), U64(unchanged.since.index)},
                           .data = true, .free = true},
    [REQUEST_CHECK] = {ROUTER, ANSWER_ITEM,
                       .fields = {SLICE(write.key), SLICE(write.condition), BOOL(write.want_failed),
                                  SLICE(write.transaction), U8(write.admitted),
                                  BOOL(write.token_only)},
                       WRITES},
    [REQUEST_TRANSACT] = {ROUTER, ANSWER_PARTS,
                          .fields = {SLICE(transact.key), SLICE(transact.parts),
                                     SLICE(transact.transaction), U64(transact.least_mcu)},
                          WRITES},
    [REQUEST_TRANSACT_ADMIT] = {ROUTER, ANSWER_PARTS,
                                .fields = {SLICE(admit.key), SLICE(admit.keys), U64(admit.mcu),
                                           U8(admit.back)},
                                .data = true, .write = true, .once = true},
    [REQUEST_TRANSACT_DECIDE] = {ROUTER, ANSWER_NONE,
                                 .fields = {SLICE(transaction.key), U64(transaction.id_high),
                                            U64(transaction.id_low), SLICE(transaction.token)},
                                 FOLLOWS},
    [REQUEST_TRANSACT_RESOLVE] = {NODE | ROUTER, ANSWER_NONE,
                                  .fields = {SLICE(transaction.key), U64(transaction.id_high),
                                             U64(transaction.id_low), BOOL(transaction.commits)},
                                  FOLLOWS},
    [REQUEST_TRANSACT_ASK] = {NODE, ANSWER_STATE,
                              .fields = {SLICE(transaction.key), U64(transaction.id_high),
                                         U64(transaction.id_low), BOOL(transaction.aborts)},
                              FOLLOWS},
    [REQUEST_RECORDS] = {ROUTER, ANSWER_RECORDS,
                         .fields = {SLICE(records.key), U32(records.stream), U64(records.epoch),
                                    U64(records.index), U32(records.place), U32(records.items_max),
                                    U32(records.bytes_max), BOOL(records.latest)},
                         .data = true, .free = true},
    [REQUEST_SHARD_MOVE] = {NODE | ROUTER, ANSWER_RANGE,
                            .fields = {SLICE(move.key), SLICE(move.hi), U32(move.shards),
                                       U32(move.items_max), BOOL(move.fold)},
                            .data = true, .free = true, .changes = true},
    /* a node itself */
    [REQUEST_STATS] = {ROUTER | TOOL, ANSWER_STATS, .of_node = true, .once = true},
    [REQUEST_PING] = {.senders = ROUTER},
    /* a partition's replicas */
    [REQUEST_PARTITION_OPEN] = {NODE, ANSWER_NONE,
                                .fields = {U64(replica.as_of), SLICE(replica.info)}},
    [REQUEST_PARTITION_CLOSE] = {NODE, ANSWER_NONE,
                                 .fields = {U64(replica.as_of), SLICE(replica.info),
                                            BOOL(replica.table_deleted)}},
    [REQUEST_PARTITION_MEMBERS] = {NODE, ANSWER_MEMBERS, .fields = {SLICE(group.info)}},
    [REQUEST_PARTITION_SPLIT] = {NODE, ANSWER_NONE, .fields = {SLICE(split.bytes)}},
    [REQUEST_PARTITION_MERGE] = {NODE, ANSWER_FROZEN, .fields = {SLICE(group.info)}},
    [REQUEST_PARTITION_HEAT] = {NODE, ANSWER_ADVICE, .fields = {U32(heat.children)}},
    [REQUEST_INDEX_SESSION] = {NODE, ANSWER_SESSION,
                               .fields = {SLICE(session.lo), SLICE(session.hi)}},
    [REQUEST_INDEX_FILL] = {NODE, ANSWER_RANGE, .fields = {SLICE(fill.from), U32(fill.index)}},
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
    [REQUEST_TABLE_SPLIT] = {ROUTER, ANSWER_TABLE, .fields = {SLICE(cut.name), SLICE(cut.split)},
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
    [ANSWER_TABLE] = {SLICE(table.bytes), SLICE(table.indexes)},
    [ANSWER_PAGE] = {SLICE(page.records), U32(page.count), BOOL(page.more)},
    [ANSWER_STATS] = {SLICE(stats.records)},
    [ANSWER_MEMBERS] = {BOOL(members.too_many_voters)},
    [ANSWER_FROZEN] = {U64(frozen.index), U64(frozen.term)},
    [ANSWER_ADVICE] = {SLICE(advice.bytes)},
    [ANSWER_SESSION] = {U64(session.id)},
    [ANSWER_PARTS] = {SLICE(parts.replies), SLICE(parts.index_costs), SLICE(parts.collections)},
    [ANSWER_STATE] = {U8(state.decided)},
    [ANSWER_RECORDS] = {SLICE(records.records), U64(records.index), U32(records.place),
                        BOOL(records.closed), BOOL(records.trimmed)},
    [ANSWER_GONE] = {U64(gone.as_of), U64(gone.term), SLICE(gone.replicas)},
};

void message_copy_slices(const uint16_t *fields, void *message, struct buffer *bytes)
{
    struct slice *s;
    size_t from = bytes->size;
    for (uint32_t at = 0; (s = message_next_slice(fields, message, &at)) != NULL;)
        buffer_append_slice(bytes, *s);
    for (uint32_t at = 0; (s = message_next_slice(fields, message, &at)) != NULL; from += s->size)
        *s = slice_make(bytes->data + from, s->size);
}
