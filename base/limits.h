/* limits.h - every bound of the program in one table, and the relations between them.
 *
 * LIMITS_LIST holds what a configuration may change: name, default, least, most, what it means.
 * The unit is the end of the name. Below it stand the bounds fixed at compile time.
 * Source of the defaults: the DynamoDB developer guide ("Quotas") where a service limit exists. */
#ifndef WEIR_BASE_LIMITS_H
#define WEIR_BASE_LIMITS_H

#include <stdint.h>

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

/* clang-format off */
#define LIMITS_LIST(X)                                                                             \
    /* throughput */                                                                               \
    X(partition_max_wcu, 1000, 1, 1000000, "most a partition serves: write units per second")      \
    X(partition_max_rcu, 3000, 1, 1000000, "most a partition serves: read units per second")       \
    X(burst_max_s, 300, 0, 86400, "seconds of unused allocation a partition may save up")          \
    X(debt_max_s, 300, 1, 86400, "seconds of allocation a bucket may owe after settling")          \
    X(node_wcu, 40000, 1, 100000000, "capacity of a node: write units per second")                 \
    X(node_rcu, 120000, 1, 100000000, "capacity of a node: read units per second")                 \
    X(table_max_wcu, 40000, 1, 100000000, "most write units a table may be given")                 \
    X(table_max_rcu, 40000, 1, 100000000, "most read units a table may be given")                  \
    X(on_demand_wcu, 4000, 1, 100000000, "write units a new on-demand table starts with")          \
    X(on_demand_rcu, 12000, 1, 100000000, "read units a new on-demand table starts with")          \
    X(on_demand_promise_percent, 1, 0, 100, "of what an on-demand table may ask for, promised it")  \
    X(on_demand_peak_ms, 10000, 1000, 15000, "what is consumed on average for so long can be a peak")\
    X(on_demand_switches_max, 4, 1, 8, "switches of a table to on demand within 24 hours")         \
    X(tables_max, 2500, 1, 100000, "tables in the cluster")                                        \
    X(table_partitions_max, 1000, 1, 100000, "partitions of a table")                              \
    /* replication */                                                                              \
    X(replicas, 3, 1, 7, "replicas of a new partition, and of the catalog, on as many nodes")      \
    X(heartbeat_ms, 100, 1, 60000, "between heartbeats of a pair of nodes")                        \
    X(support_ms, 600, 10, 600000, "a node is followed for this long after its last heartbeat")    \
    X(election_ms, 300, 5, 600000, "a replica without leader waits up to twice this, then runs")   \
    X(append_retry_ms, 200, 1, 60000, "an unanswered append is sent again after this")             \
    X(commit_tell_ms, 5, 0, 60000, "followers hear of a commit after this if no later write tells it") \
    X(clock_drift_ppm, 1000, 0, 100000, "clocks' rates differ by at most this, in millionths")     \
    X(follower_max_bytes, 8 * MIB, 64 * KIB, GIB, "on their way to one follower of a group")       \
    X(group_max_bytes, 32 * MIB, 64 * KIB, GIB, "uncommitted writes of a group")                   \
    X(entries_max_bytes, 4 * MIB, 64 * KIB, GIB, "kept in memory for slow followers of a group")   \
    X(snapshot_bytes_s, 64 * MIB, 64 * KIB, 64 * GIB, "what a node sends in snapshots per second") \
    X(snapshot_busy_bytes_s, 2 * MIB, 64 * KIB, 64 * GIB, "the same while it serves requests")     \
    X(snapshot_step_bytes, 256 * KIB, 64 * KIB, GIB, "received of snapshots, start a checkpoint")  \
    X(report_ms, 100, 1, 60000, "between reports of a node's headroom to its peers")               \
    X(report_deadline_ms, 1000, 1, 600000, "a member silent for longer has no headroom")           \
    X(member_lease_ms, 200, 1, 60000, "a lease of a member's tokens lasts this long")              \
    X(load_report_ms, 500, 10, 60000, "between reports of a node's load to the catalog")           \
    /* the controller, beside the catalog's leader */                                              \
    X(control_ms, 500, 10, 60000, "between two looks of the controller")                           \
    X(control_placement, 1, 0, 1, "1: missing, silent and drained replicas get other nodes")       \
    X(control_adaptive, 1, 0, 1, "1: allocations follow demand within a table (adaptive capacity)")\
    X(control_split, 1, 0, 1, "1: partitions at their limits are cut in two or more")              \
    X(control_on_demand, 1, 0, 1, "1: on-demand tables are made ready for twice their peaks")      \
    X(split_percent, 80, 1, 100, "of a partition maximum: above it for 10 s, it is cut")           \
    X(split_sequential, 0, 0, 2,                                                                   \
      "access that only moves forward is: 0 not cut, 1 cut above its newest key, 2 cut all the same")\
    X(split_backoff_ms, 60000, 0, 86400000, "a partition that should not be cut is asked about again")\
    X(partition_max_bytes, 10 * GIB, MIB, TIB, "a partition that holds more is cut")               \
    X(collection_max_bytes, 10 * GIB, KIB, TIB, "an item collection that must stay whole holds no more") \
    X(control_balance, 1, 0, 1, "1: replicas leave nodes that are used up")                        \
    X(control_leaders, 1, 0, 1, "1: leadership of partitions is spread over the nodes")            \
    X(balance_percent, 80, 1, 100, "of its capacity: a node that consumes more gives replicas away")\
    X(node_silent_ms, 300000, 1000, 86400000, "a node silent for longer has its replicas replaced")\
    X(adaptive_after_ms, 5000, 0, 3600000, "throttled for longer, a partition is allocated more")  \
    X(adaptive_step_percent, 50, 1, 100, "of what a throttled partition lacks, given a second")    \
    X(adaptive_decay_percent, 20, 1, 100, "of what an idle one was given, taken back each 10 s")   \
    X(moves_max, 4, 1, 1000, "replicas on their way to another node at once")                      \
    /* global admission control */                                                                 \
    X(gac_bank_ms, 300000, 1000, 86400000, "of its rate, what a table may save up at its GAC server") \
    X(gac_start_units, 800, 0, 1000000, "A new table may use this many units at once, but no more than gac_bank_ms of its rate. It may always use a second of its rate.") \
    X(gac_lifetime_ms, 1000, 100, 60000, "silence of a router or a server for longer is an outage; tokens live as long, and ..") \
    X(gac_lifetime_max_ms, 60000, 100, 3600000, ".. at most this, where a router holds enough for a while") \
    X(gac_period_ms, 1000, 10, 60000, "policy periodic: between two asks of a router")             \
    X(gac_grant_ms, 100, 1, 60000, "policy lease: of a router's even part of the rate, a grant, ..") \
    X(gac_grant_requests, 200, 1, 1000000, ".. or where enough is saved up, so many requests' worth on average") \
    X(gac_forget_ms, 60000, 100, 86400000, "a router silent for longer has no part of any rate")   \
    X(gac_timeout_ms, 50, 1, 60000, "an ask of a router's without an answer is asked anew")        \
    X(gac_wait_ms, 50, 0, 60000, "a request without tokens waits for an answer for this long")     \
    X(gac_ledgers_max, 100000, 1, 10000000, "of a GAC server; the one unused longest goes")        \
    X(gac_routers_max, 1000, 1, 100000, "that a GAC server knows")                                 \
    /* storage */                                                                                  \
    X(log_segment_bytes, 16 * MIB, 8 * MIB, GIB, "size of a log segment")                          \
    X(log_writes, 2, 1, 4, "writes of the log on their way to the disk at once")                   \
    X(log_max_bytes, 512 * MIB, 16 * MIB, TIB, "log kept before writes wait for a checkpoint")     \
    X(memtable_max_bytes, 64 * MIB, 64 * KIB, 16 * GIB, "memtable size that starts a checkpoint")  \
    X(checkpoint_ms, 10000, 10, 3600000, "longest time between checkpoints while writes come in")  \
    X(erase_bytes_s, 8 * MIB, 64 * KIB, 64 * GIB, "of what was moved away, erased per second")     \
    X(map_initial_bytes, 256 * MIB, MIB, 64 * TIB, "LMDB map at the first start; it doubles")      \
    X(map_max_bytes, 16 * TIB, MIB, 64 * TIB, "LMDB map never grows past this")                    \
    X(resident_max_bytes, 4 * GIB, 0, 64 * TIB, "data up to this size is read on the loop thread") \
    X(inflight_max_bytes, 256 * MIB, MIB, 64 * GIB, "writes on their way to the log")              \
    /* the wire */                                                                                 \
    X(connections_max, 8192, 1, 1000000, "client connections of a router")                         \
    X(http_header_max_bytes, 16 * KIB, KIB, MIB, "Bytes that the head of a request may have.")      \
    X(http_body_max_bytes, 16 * MIB, KIB, 256 * MIB, "body of a request, before and after gzip")   \
    X(http_memory_max_bytes, GIB, MIB, 64 * GIB, "requests and answers a router holds at once")    \
    X(http_idle_ms, 300000, 100, 86400000, "a silent connection is closed after this")             \
    X(http_unread_ms, 30000, 100, 86400000,                                                        \
      "A client that takes neither all nor 64 KiB of its answers within this is closed.")          \
    X(http_request_ms, 30000, 100, 86400000, "a request must have arrived whole within this")      \
    X(key_range_as_throttling_exception, 0, 0, 1,                                                  \
      "1: a partition maximum of a provisioned table is a ThrottlingException too")                \
    X(request_deadline_ms, 5000, 10, 600000, "a node must have answered a router within this")     \
    X(table_change_delay_ms, 0, 0, 600000,                                                         \
      "A table stays CREATING, UPDATING or DELETING for so long; 0: the answer waits instead.")    \
    X(node_queue_max, 16384, 16, 1000000, "requests a node works on at once")
/* clang-format on */

enum {
    ITEM_SIZE_MAX = 409600,        /* bytes, names included */
    PARTITION_KEY_SIZE_MAX = 2048, /* bytes */
    SORT_KEY_SIZE_MAX = 1024,      /* bytes */
    NESTING_MAX = 32,              /* levels of lists and maps */
    PAGE_SIZE_MAX = 1048576,       /* bytes of items a Query or Scan page may read */
    BATCH_GET_MAX = 100,           /* keys */
    BATCH_WRITE_MAX = 25,          /* puts and deletes */
    TABLE_NAME_SIZE_MIN = 3,
    TABLE_NAME_SIZE_MAX = 255,
    ATTRIBUTE_NAME_SIZE_MAX = 65535,
    KEY_NAME_SIZE_MAX = 255,
    EXPRESSION_SIZE_MAX = 4096,
    SCAN_SEGMENTS_MAX = 1000000,
    /* Escaping at most doubles a key; 12 bytes of table and hash, 2 of terminator each. */
    STORAGE_KEY_SIZE_MAX = 12 + 2 * PARTITION_KEY_SIZE_MAX + 2 + 2 * SORT_KEY_SIZE_MAX + 2,
    /* An encoded item is no longer than its header, its DynamoDB size, and this many bytes for each
     * attribute, element and container. */
    ITEM_VALUE_OVERHEAD_MAX = 7,
    FRAME_SIZE_MAX = 24 * 1024 * 1024, /* bytes of one message between processes */
};

#endif
