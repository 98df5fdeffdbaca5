/* request_traits.c - the table. A request without a row is refused wherever it comes from. */
#include "engine/message/request_traits.h"

enum {
    NODE = 1 << PEER_NODE,
    ROUTER = 1 << PEER_ROUTER,
    TOOL = 1 << PEER_TOOL
};

/* Fields of a request: they go into its frame in this order. */
#define SLICE(member)                                 \
    {                                                 \
        FIELD_SLICE, offsetof(struct request, member) \
    }
#define BOOL(member)                                 \
    {                                                \
        FIELD_BOOL, offsetof(struct request, member) \
    }
#define U8(member)                                 \
    {                                              \
        FIELD_U8, offsetof(struct request, member) \
    }
#define U32(member)                                 \
    {                                               \
        FIELD_U32, offsetof(struct request, member) \
    }
#define U64(member)                                 \
    {                                               \
        FIELD_U64, offsetof(struct request, member) \
    }

const struct request_traits request_traits[REQUEST_OPS] = {
    /* items */
    [REQUEST_GET] = {ROUTER,
                     ANSWER_ITEM,
                     {SLICE(get.key), BOOL(get.consistent)},
                     .data = true,
                     .any_replica = true},
    [REQUEST_RANGE] = {ROUTER,
                       ANSWER_RANGE,
                       {SLICE(range.lo), SLICE(range.hi), BOOL(range.consistent),
                        BOOL(range.reverse), U32(range.items_max), U32(range.bytes_max)},
                       .data = true,
                       .any_replica = true},
    [REQUEST_PUT] = {ROUTER,
                     ANSWER_ITEM,
                     {SLICE(write.key), BOOL(write.want_old), SLICE(write.item)},
                     .data = true,
                     .write = true,
                     .once = true,
                     .changes = true},
    [REQUEST_DELETE] = {ROUTER,
                        ANSWER_ITEM,
                        {SLICE(write.key), BOOL(write.want_old)},
                        .data = true,
                        .write = true,
                        .once = true,
                        .changes = true},
    /* a node itself */
    [REQUEST_STATS] = {ROUTER | TOOL, ANSWER_STATS, .of_node = true, .once = true},
    [REQUEST_PING] = {ROUTER},
    /* a partition's replicas */
    [REQUEST_PARTITION_OPEN] = {NODE, ANSWER_NONE, {U64(replica.as_of), SLICE(replica.info)}},
    [REQUEST_PARTITION_CLOSE] =
        {NODE, ANSWER_NONE, {U64(replica.as_of), SLICE(replica.info), BOOL(replica.table_deleted)}},
    [REQUEST_PARTITION_MEMBERS] = {NODE, ANSWER_MEMBERS, {SLICE(group.info)}},
    [REQUEST_PARTITION_SPLIT] = {NODE, ANSWER_NONE, {SLICE(split.bytes)}},
    [REQUEST_PARTITION_MERGE] = {NODE, ANSWER_FROZEN, {SLICE(group.info)}},
    [REQUEST_PARTITION_HEAT] = {NODE, ANSWER_ADVICE, {U32(heat.children)}},
    [REQUEST_PARTITION_MIDDLE] = {NODE, ANSWER_ADVICE},
    /* the catalog */
    [REQUEST_TABLE_CREATE] = {ROUTER,
                              ANSWER_TABLE,
                              {SLICE(table.name), SLICE(table.spec)},
                              .once = true,
                              .changes = true,
                              .names_table = true},
    [REQUEST_TABLE_UPDATE] =
        {ROUTER,
         ANSWER_TABLE,
         {SLICE(table.name), SLICE(table.spec)},
         .once = true,
         .changes = true,
         .names_table = true},
    [REQUEST_TABLE_DELETE] =
        {ROUTER,
         ANSWER_TABLE,
         {SLICE(table.name)},
         .once = true,
         .changes = true,
         .names_table = true},
    [REQUEST_TABLE_GET] = {ROUTER | TOOL, ANSWER_TABLE, {SLICE(table.name)}},
    [REQUEST_TABLE_LIST] = {ROUTER | TOOL, ANSWER_PAGE, {SLICE(list.after), U32(list.names_max)}},
    [REQUEST_TABLE_SPLIT] =
        {ROUTER, ANSWER_TABLE, {SLICE(cut.name), SLICE(cut.split)}, .once = true, .changes = true},
    [REQUEST_TABLE_REPORT] = {NODE, ANSWER_GONE, {SLICE(report.records)}},
    [REQUEST_EVENTS] = {ROUTER | TOOL, ANSWER_PAGE, {U64(events.after), U32(events.events_max)}},
    /* a drain alone; it may be repeated */
    [REQUEST_DECIDE] = {ROUTER,
                        ANSWER_TABLE,
                        {U8(decide.op), SLICE(decide.decision)},
                        .changes = true},
};

/* The same for the answer of a reply. */
#undef SLICE
#undef BOOL
#undef U32
#undef U64
#define SLICE(member)                               \
    {                                               \
        FIELD_SLICE, offsetof(struct reply, member) \
    }
#define BOOL(member)                               \
    {                                              \
        FIELD_BOOL, offsetof(struct reply, member) \
    }
#define U32(member)                               \
    {                                             \
        FIELD_U32, offsetof(struct reply, member) \
    }
#define U64(member)                               \
    {                                             \
        FIELD_U64, offsetof(struct reply, member) \
    }

const struct message_field answer_fields[ANSWER_KINDS][MESSAGE_FIELDS_MAX + 1] = {
    [ANSWER_ITEM] = {SLICE(item.bytes), BOOL(item.found), U64(item.collection_bytes)},
    [ANSWER_RANGE] = {SLICE(range.items), U32(range.count), U64(range.read_bytes),
                      BOOL(range.more)},
    [ANSWER_TABLE] = {SLICE(table.bytes)},
    [ANSWER_PAGE] = {SLICE(page.records), U32(page.count), BOOL(page.more)},
    [ANSWER_STATS] = {SLICE(stats.records)},
    [ANSWER_MEMBERS] = {BOOL(members.too_many_voters)},
    [ANSWER_FROZEN] = {U64(frozen.index), U64(frozen.term)},
    [ANSWER_ADVICE] = {SLICE(advice.bytes)},
    [ANSWER_GONE] = {U64(gone.as_of), SLICE(gone.replicas)},
};
