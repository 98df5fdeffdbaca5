/* metrics.h - the registry of metrics: counters and gauges of the pages, each with name, unit and
 * help text. Members of a page that describe (role, voters, bytes, ..) are written by the page.
 *
 * A list X(name, kind, unit, help) is one group: figures with the same labels. The list makes the
 * members of the group's struct, and the table from which pages are written
 * (router/admin/page_metrics.h). To add a figure: add a row here, and the line that counts.
 * Invariants, which unit.metrics_test checks:
 *   METRIC-1  A name occurs once in its group; it consists of small letters, digits and _.
 *   METRIC-2  A help text is one or more whole sentences. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum metric_kind {
    METRIC_COUNTER, /* never falls while the process runs */
    METRIC_GAUGE,
    METRIC_HISTOGRAM, /* of families only */
};

enum metric_unit {
    METRIC_NUMBER,
    METRIC_BYTES,
    METRIC_MCU,       /* thousandths of a capacity unit: pages show units */
    METRIC_MCU_PER_S, /* the same, per second */
};

/* clang-format off */

/* The work of a router since its start. No labels. */
#define METRICS_ROUTER(X)                                                                          \
    X(requests, COUNTER, NUMBER, "HTTP requests that named an operation.")                         \
    X(client_retries, COUNTER, NUMBER,                                                             \
      "Requests that are retries by their header amz-sdk-request: its attempt is above 1.")        \
    X(throttled, COUNTER, NUMBER, "Requests that were answered with a throttling error.")          \
    X(refused_memory, COUNTER, NUMBER,                                                             \
      "Requests that were answered 503 because http_memory_max_bytes was used up.")                \
    X(unread_closed, COUNTER, NUMBER,                                                              \
      "Client connections that were closed because the client did not read its answers.")          \
    X(evicted, COUNTER, NUMBER,                                                                    \
      "Client connections that were closed to make room for others, and unfinished requests "      \
      "whose bodies were dropped to free memory.")                                                 \
    X(internal_retries, COUNTER, NUMBER, "Requests to nodes that the router sent again.")          \
    X(deadlines, COUNTER, NUMBER,                                                                  \
      "Requests to nodes that had no answer within request_deadline_ms.")                          \
    X(heartbeat_timeouts, COUNTER, NUMBER,                                                         \
      "Times that a node left a ping unanswered for unresponsive_heartbeats times heartbeat_ms.")  \
    X(limit_delayed, COUNTER, NUMBER,                                                              \
      "Requests that waited for tokens of the limit of their table.")                              \
    X(limit_refused, COUNTER, NUMBER, "Requests that were refused by the limit of their table.")   \
    X(own_writes_required, COUNTER, NUMBER,                                                        \
      "Eventual reads that had to return the router's latest writes (read_your_writes).")          \
    X(own_writes_late, COUNTER, NUMBER,                                                            \
      "Such reads whose answer may lack these writes, because read_your_writes_wait_ms was over.") \
    X(transactions_committed, COUNTER, NUMBER,                                                     \
      "Transactions that were committed, reads included.")                                         \
    X(transactions_cancelled, COUNTER, NUMBER, "Transactions that were cancelled.")                \
    X(transactions_conflicts, COUNTER, NUMBER,                                                     \
      "Cancelled transactions that met another transaction or a write.")                           \
    X(shed, COUNTER, NUMBER,                                                                       \
      "Requests that the router refused because it or a node is overloaded.")                      \
    X(connections, GAUGE, NUMBER, "Client connections that are open.")                             \
    X(held_bytes, GAUGE, BYTES, "Bytes of requests and answers that the router holds.")

/* The space of a node's store (engine/store/space.h), and what was refused for want of it since the
 * node's start. Labels: node. */
#define METRICS_STORE(X)                                                                           \
    X(used_bytes, GAUGE, BYTES, "Bytes of the store that hold data, as of the last checkpoint.")   \
    X(total_bytes, GAUGE, BYTES,                                                                   \
      "Bytes that the store can get on its disk and within map_max_bytes.")                        \
    X(growth_left_bytes, GAUGE, BYTES,                                                             \
      "Bytes that writes may still add before writes that add data are refused.")                  \
    X(refused_full, COUNTER, NUMBER, "Requests that were refused because the storage is full.")    \
    X(refused_waiting, COUNTER, NUMBER,                                                            \
      "Requests that were refused until a checkpoint shows whether there is space.")

/* The work of a replica since its node's start. Labels: table, partition, node, kind. */
#define METRICS_PARTITION(X)                                                                       \
    X(allocated, GAUGE, MCU_PER_S, "The allocation of the partition.")                             \
    X(consumed, COUNTER, MCU, "Capacity units that were consumed.")                                \
    X(admitted, COUNTER, NUMBER, "Requests that were admitted.")                                   \
    X(burst, COUNTER, NUMBER, "Admitted requests that went beyond the allocation.")

/* How far the global indexes are behind the items of a partition, at its leader. Labels: table,
 * partition, node. */
#define METRICS_INDEXES(X)                                                                         \
    X(lag_ms, GAUGE, NUMBER,                                                                       \
      "Milliseconds since the oldest change that an index lacks, by the change's own time.")       \
    X(backlog_items, GAUGE, NUMBER, "Items with changes that an index lacks.")                     \
    X(backlog_bytes, GAUGE, BYTES, "Bytes of the changes that indexes lack.")

/* Items of a partition that are deleted because their time to live is over, at its leader. Labels:
 * table, partition, node. */
#define METRICS_EXPIRY(X)                                                                          \
    X(expired_items, COUNTER, NUMBER,                                                              \
      "Items that were deleted because their time to live was over.")                              \
    X(lag_ms, GAUGE, NUMBER,                                                                       \
      "Milliseconds since the start of the last complete round over the items. All items that "    \
      "had expired by then are deleted. Above ttl_window_ms: the rates of expiry are too low.")

/* Items of a partition that transactions have locked, at its leader. Labels: table, partition,
 * node. */
#define METRICS_TRANSACTIONS(X)                                                                    \
    X(locked_items, GAUGE, NUMBER, "Items that transactions have locked.")                         \
    X(oldest_ms, GAUGE, NUMBER, "Milliseconds since the oldest of these items was locked.")        \
    X(reserved_log_bytes, GAUGE, BYTES,                                                            \
      "Bytes of the log that are reserved for the ends of these transactions.")                    \
    X(reserved_index_bytes, GAUGE, BYTES,                                                          \
      "Bytes of the indexes' backlog that are reserved for the ends of these transactions.")

/* The records of streams that a partition has, at its leader. Labels: table, partition, node. */
#define METRICS_STREAMS(X)                                                                         \
    X(records, GAUGE, NUMBER, "Records that can be read.")                                         \
    X(record_bytes, GAUGE, BYTES, "Bytes of these records, as they are stored.")                   \
    X(written, COUNTER, NUMBER, "Records that the replica has written since its node's start.")    \
    X(trimmed, COUNTER, NUMBER, "Records that the replica has trimmed since its node's start.")    \
    X(trim_lag_ms, GAUGE, NUMBER,                                                                  \
      "Milliseconds by which the oldest record is older than stream_retention_ms.")

/* Labels: those of METRICS_PARTITION, and the reason or the bucket. */
#define METRICS_PARTITION_BY(X)                                                                    \
    X(throttled, COUNTER, NUMBER, "Requests that were refused, by reason.")                        \
    X(balances, GAUGE, MCU, "The balances of the buckets, by bucket. Below zero is debt.")

/* A router's share of a table's limit. Labels: table, kind. */
#define METRICS_LIMIT(X)                                                                           \
    X(rate, GAUGE, MCU_PER_S, "The limit of the whole table.")                                     \
    X(tokens, GAUGE, MCU,                                                                          \
      "Units that the router may spend without a grant request. Below zero is debt.")              \
    X(demand, GAUGE, MCU_PER_S, "The demand of the router's clients.")                             \
    X(grant_requests, COUNTER, NUMBER, "Messages to GAC servers about the limit.")                 \
    X(waiting, GAUGE, NUMBER, "Requests that wait for tokens.")                                    \
    X(refused, COUNTER, NUMBER, "Requests that the router refused for the limit.")

/* The rate limiter at a router, since its start. Labels: namespace. */
#define METRICS_LIMITER(X)                                                                         \
    X(admitted, COUNTER, NUMBER, "Requests that took tokens.")                                     \
    X(refused, COUNTER, NUMBER, "Requests that a shard of their bucket refused.")                  \
    X(refused_by_cache, COUNTER, NUMBER,                                                           \
      "Requests that the router refused because the bucket could not have been refilled.")         \
    X(unavailable, COUNTER, NUMBER, "Requests for which the store could not be reached.")          \
    X(allowed, COUNTER, NUMBER, "Such requests that were allowed.")                                \
    X(splits, COUNTER, NUMBER, "Times that a bucket doubled its shards.")                          \
    X(merges, COUNTER, NUMBER, "Times that a bucket halved its shards.")

/* Faults of a policy from a file, in the router's process. Labels: point, policy, file. */
#define METRICS_POLICY(X)                                                                          \
    X(invalid_results, COUNTER, NUMBER,                                                            \
      "Decisions of the policy with an invalid result, which were taken as refusals.")             \
    X(timed, COUNTER, NUMBER, "Decisions of the policy that were timed: a sample.")                \
    X(slow, COUNTER, NUMBER, "Decisions of the sample that took longer than 10 microseconds.")

/* The families of GET /metrics whose samples no page has: X(id, type, name, help). The name of a
 * counter's samples ends in _total. The groups of routers and of the rate limiter are families,
 * too: weir_router_NAME and weir_limiter_NAME. */
#define METRIC_FAMILIES(X)                                                                         \
    X(BUILD_INFO, GAUGE, "weir_build_info",                                                        \
      "Always 1. The labels are the version, the commit, the role and the profile.")               \
    X(REQUESTS, COUNTER, "weir_requests",                                                          \
      "Answers to operations of the API, by their outcome. A batch that was throttled in part is " \
      "ok.")                                                                                       \
    X(REQUEST_DURATION, HISTOGRAM, "weir_request_duration_seconds",                                \
      "Time from the end of a request to its answer, whatever the outcome.")                       \
    X(REQUEST_WAITS, COUNTER, "weir_request_waits_seconds",                                        \
      "Time that parts of requests have waited, by what they waited for.")                         \
    X(TABLE_CONSUMED, COUNTER, "weir_table_consumed_units",                                        \
      "Capacity units that requests by this router have consumed.")                                \
    X(TABLE_REFUSED, COUNTER, "weir_table_refused",                                                \
      "Requests to nodes that admission has refused, by reason. A batch has several.")             \
    X(TABLE_REFUSED_UNITS, COUNTER, "weir_table_refused_units",                                    \
      "Capacity units that refused requests would have cost at least.")                            \
    X(TABLE_LIMIT, GAUGE, "weir_table_limit_units",                                                \
      "Capacity units a second that the whole table may use, if routers keep its limit.")          \
    X(TABLE_DEMAND, GAUGE, "weir_table_demand_units",                                              \
      "Capacity units a second that the clients of this router ask for.")                          \
    X(LIMIT_TOKENS, GAUGE, "weir_limit_tokens_units",                                              \
      "Capacity units that the router may spend without a message. Below zero is debt.")           \
    X(LIMIT_REQUESTS, COUNTER, "weir_limit_grant_requests",                                        \
      "Messages to servers of global admission control about the limit.")                          \
    X(LIMIT_WAITING, GAUGE, "weir_limit_waiting", "Requests that wait for tokens of the limit.")   \
    X(EXPLAIN_RECORDS, COUNTER, "weir_explain_records", "Decision records, by their form.")        \
    X(EXPLAIN_OLDEST, GAUGE, "weir_explain_oldest_seconds", "Age of the oldest decision record.")  \
    X(SERIES_DROPPED, GAUGE, "weir_metrics_series_dropped",                                        \
      "Tables that have no counts of their own: table=\"\" has their sum.")

/* clang-format on */

/* X(group, list, page): struct metrics_GROUP of METRICS_LIST, and the name of the group's table. */
#define METRICS_ALL(X)                            \
    X(router, ROUTER, "router")                   \
    X(store, STORE, "store")                      \
    X(partition, PARTITION, "partition")          \
    X(partition_by, PARTITION_BY, "partition")    \
    X(indexes, INDEXES, "indexes")                \
    X(expiry, EXPIRY, "expiry")                   \
    X(transactions, TRANSACTIONS, "transactions") \
    X(streams, STREAMS, "streams")                \
    X(limit, LIMIT, "limit")                      \
    X(limiter, LIMITER, "limiter")                \
    X(policy, POLICY, "policy")

#define METRIC_MEMBER(name, kind, unit, help) int64_t name;
#define METRIC_STRUCT(group, list, name) \
    struct metrics_##group {             \
        METRICS_##list(METRIC_MEMBER)    \
    };

METRICS_ALL(METRIC_STRUCT)

struct metric {
    const char *name;
    enum metric_kind kind;
    enum metric_unit unit;
    const char *help;
};

struct metric_group {
    const char *name;
    const struct metric *metrics; /* in the order of the members of the group's struct */
    size_t count;
};

#define METRIC_GROUP_ID(group, list, name) METRICS_OF_##list,

enum metric_group_id {
    METRICS_ALL(METRIC_GROUP_ID) METRIC_GROUPS
};

enum metric_by_label {
    METRIC_THROTTLED, /* in the order of METRICS_PARTITION_BY */
    METRIC_BALANCES,
};

extern const struct metric_group metric_groups[METRIC_GROUPS];

#define METRIC_FAMILY_ID(id, type, name, help) FAMILY_##id,

enum metric_family_id {
    METRIC_FAMILIES(METRIC_FAMILY_ID) METRIC_FAMILY_COUNT
};

struct metric_family {
    const char *name;
    enum metric_kind kind;
    const char *help;
};

extern const struct metric_family metric_families[METRIC_FAMILY_COUNT];
