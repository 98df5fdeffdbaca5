/* limits.h - the table of settings (`--set`, `--config help`), and bounds fixed at compile time.
 *
 * LIMITS_LIST has the settings of a configuration: name, default, least, most, and a help text of
 * full sentences. The unit is the end of the name. config.c has the relations between settings, and
 * the settings that are a choice or a text. Below the list are the bounds fixed at compile time.
 * Source of the defaults: the DynamoDB developer guide ("Quotas") where a service limit exists. */
#pragma once

#include <stdint.h>

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

/* clang-format off */
#define LIMITS_LIST(X)                                                                             \
    /* throughput */                                                                               \
    X(partition_max_wcu, 1000, 1, 1000000,                                                         \
      "A partition serves at most this many write units per second.")                              \
    X(partition_max_rcu, 3000, 1, 1000000,                                                         \
      "A partition serves at most this many read units per second.")                               \
    X(burst_max_s, 300, 0, 86400,                                                                  \
      "A partition saves up at most this many seconds of unused allocation as burst.")             \
    X(debt_max_s, 300, 1, 86400,                                                                   \
      "A bucket may go negative by at most this many seconds of its rate.")                        \
    X(cap_depth_ms, 1000, 1, 3600000,                                                              \
      "A partition holds at most this time of its maximum throughput unused.")                     \
    X(allocation_depth_ms, 1000, 1, 3600000,                                                       \
      "A partition holds at most this time of its allocation, before it saves up burst.")          \
    X(node_depth_ms, 200, 1, 60000,                                                                \
      "A node holds at most this time of its throughput unused. Bursts share it in rounds as long.") \
    X(overload_target_ms, 200, 1, 60000,                                                            \
      "A node or router is overloaded while requests wait longer than this for its processor. Then "\
      "it refuses those that no limit has admitted.")                                              \
    X(overload_interval_ms, 200, 1, 600000,                                                        \
      "Overload begins when for this time every request has waited longer than the target. It ends "\
      "when for this time no request has.")                                                        \
    X(overload_limit_ms, 1000, 1, 600000,                                                          \
      "During overload, requests within a limit are refused too if they have waited longer than "  \
      "this.")                                                                                     \
    X(node_wcu, 40000, 1, 100000000, "A node serves at most this many write units per second.")    \
    X(node_rcu, 120000, 1, 100000000, "A node serves at most this many read units per second.")    \
    X(table_max_wcu, 40000, 1, 100000000,                                                          \
      "A table may be given at most this many write units per second.")                            \
    X(table_max_rcu, 40000, 1, 100000000,                                                          \
      "A table may be given at most this many read units per second.")                             \
    X(on_demand_wcu, 4000, 1, 100000000,                                                           \
      "A new on-demand table serves this many write units per second.")                            \
    X(on_demand_rcu, 12000, 1, 100000000,                                                          \
      "A new on-demand table serves this many read units per second.")                             \
    X(on_demand_promise_percent, 1, 0, 100,                                                        \
      "Nodes reserve this percentage of an on-demand table's initial throughput for the table.")   \
    X(on_demand_peak_ms, 10000, 1000, 15000,                                                       \
      "An on-demand table's peak is its highest average consumption over this time.")              \
    X(on_demand_switches_max, 4, 1, 8,                                                             \
      "A table may be switched to on-demand this many times within 24 hours.")                     \
    X(decreases_max, 4, 1, 1000,                                                                   \
      "A provisioned table's throughput may be lowered this many times within a UTC day, and "     \
      "then once every decrease_wait_s.")                                                          \
    X(decrease_wait_s, 3600, 1, 86400,                                                             \
      "After decreases_max decreases within a UTC day, the next one must wait for this time.")     \
    X(ttl_window_ms, 3600000, 1000, 604800000,                                                     \
      "An item is deleted within this time after its time to live, as long as the rates below "    \
      "suffice. Half of this time lies between two looks at an item.")                             \
    X(expiry_items_s, 4000, 1, 1000000,                                                            \
      "A node deletes at most this many items per second because their time to live is over.")     \
    X(expiry_bytes_s, 32 * MIB, 64 * KIB, 64 * GIB,                                                \
      "A node reads at most this many bytes of items per second to find those whose time to live " \
      "is over. A smaller item counts as 512 bytes.")                                              \
    X(expiry_busy_percent, 25, 1, 100,                                                             \
      "While a node serves requests, it does this percentage of expiry_items_s and "               \
      "expiry_bytes_s.")                                                                           \
    X(ttl_change_ms, 0, 0, 86400000,                                                               \
      "After a change of a table's time to live, the next one must wait for this time.")           \
    X(control_salting, 1, 0, 1,                                                                    \
      "1: the controller gives hot keys shards, in tables with the tag weir:salting. 0: never.")   \
    X(control_advice, 1, 0, 1,                                                                     \
      "1: events tell when the design of a table's keys makes heat. 0: never.")                    \
    X(salting_shard_units, 800, 1, 1000000,                                                        \
      "A hot key of a table with the tag weir:salting gets a shard for each this many write units "\
      "per second.")                                                                               \
    X(salting_counter_shards, 10, 2, 128,                                                          \
      "A hot counter gets this many shards at first.")                                             \
    X(counter_total_ms, 0, 0, 3600000,                                                             \
      "An eventual GetItem of a sharded counter may be answered by a sum that is so old, and then " \
      "costs one item. 0: it adds up the cells.")                                                 \
    X(salting_keep_ms, 600000, 600000, 86400000,                                                   \
      "For this time after the shards of a key have changed, a request that is sent again is "     \
      "recognized where it was done.")                                                                            \
    X(salting_moves_s, 2000, 1, 1000000,                                                           \
      "While keys grow or shrink, the cluster moves at most this many items per second to their "  \
      "new shards.")                                                                               \
    X(salted_keys_max, 100000, 0, 1000000, "A cluster has at most this many salted keys.")         \
    X(tables_max, 2500, 1, 100000, "A cluster has at most this many tables.")                      \
    X(table_partitions_max, 1000, 1, 100000, "A table has at most this many partitions.")          \
    /* replication */                                                                              \
    X(replicas, 3, 1, 7,                                                                           \
      "A new partition and the catalog have this many replicas, each on another node.")            \
    X(heartbeat_ms, 100, 1, 60000,                                                                 \
      "A node sends a heartbeat to each other node at this interval. A router pings a node that "  \
      "owes it an answer at this interval.")                                                       \
    X(support_ms, 600, 10, 600000,                                                                 \
      "A node's leaders are followed for this time after the node's last heartbeat. A router "     \
      "gives up writes that a silent node has not answered for this time.")                        \
    X(silent_heartbeats, 2, 1, 1000,                                                               \
      "A router asks other nodes once a node has left a ping unanswered for this many times "      \
      "heartbeat_ms.")                                                                             \
    X(election_ms, 300, 5, 600000,                                                                 \
      "A replica without a leader waits for at most twice this time before it starts an "          \
      "election.")                                                                                 \
    X(append_retry_ms, 200, 1, 60000,                                                              \
      "A leader sends an unanswered append again after this time.")                                \
    X(commit_tell_ms, 5, 0, 60000,                                                                 \
      "A leader tells its followers of a commit after this time, unless a later write "            \
      "tells them before.")                                                                        \
    X(clock_drift_ppm, 1000, 0, 100000,                                                            \
      "The rates of two nodes' clocks differ by at most this many millionths.")                    \
    X(follower_max_bytes, 8 * MIB, 64 * KIB, GIB,                                                  \
      "A leader has at most this many bytes on their way to one follower of a partition.")         \
    X(group_max_bytes, 32 * MIB, 64 * KIB, GIB,                                                    \
      "A partition has at most this many bytes of uncommitted writes.")                            \
    X(entries_max_bytes, 4 * MIB, 64 * KIB, GIB,                                                   \
      "A leader keeps at most this many bytes of a partition's log in memory for slow followers.") \
    X(snapshot_bytes_s, 64 * MIB, 64 * KIB, 64 * GIB,                                              \
      "An idle node sends at most this many bytes of snapshots per second.")                       \
    X(snapshot_busy_bytes_s, 2 * MIB, 64 * KIB, 64 * GIB,                                          \
      "A node that serves requests sends at most this many bytes of snapshots per second.")        \
    X(snapshot_step_bytes, 256 * KIB, 64 * KIB, GIB,                                               \
      "A node starts a checkpoint after it has received this many bytes of snapshots.")            \
    X(report_ms, 100, 1, 60000,                                                                    \
      "A node reports its headroom to each other node at this interval.")                          \
    X(report_quick_ms, 2, 0, 60000,                                                                \
      "While a partition's reads use up its tokens, its replicas tell each other at this interval.") \
    X(report_deadline_ms, 1000, 1, 600000,                                                         \
      "A node that has not reported for this time is a dead member (see dead_member).")            \
    X(member_lease_ms, 200, 1, 60000, "A lease of another node's tokens lasts for this time.")     \
    X(load_report_ms, 500, 10, 60000, "A node reports its load to the catalog at this interval.")  \
    /* the controller, beside the catalog's leader */                                              \
    X(control_ms, 500, 10, 60000, "The controller looks at the cluster at this interval.")         \
    X(control_placement, 1, 0, 1,                                                                  \
      "1: the controller replaces missing replicas, and replicas on silent and drained "           \
      "nodes. 0: never.")                                                                          \
    X(control_adaptive, 1, 0, 1,                                                                   \
      "1: the controller gives throttled partitions what the rest of their table leaves "          \
      "unused. 0: never.")                                                                         \
    X(control_split, 1, 0, 1, "1: the controller splits partitions that reach a limit. 0: never.") \
    X(control_merge, 0, 0, 1,                                                                      \
      "1: the controller merges neighbouring partitions that have been cold for long. 0: never.")  \
    X(control_on_demand, 1, 0, 1,                                                                  \
      "1: the controller prepares on-demand tables for twice their previous peak. 0: never.")      \
    X(control_answer_ms, 10000, 100, 3600000,                                                      \
      "A request of the controller that is not answered within this time counts as lost.")         \
    X(partition_max_bytes, 10 * GIB, MIB, TIB, "A partition that holds more bytes is split.")      \
    X(collection_max_bytes, 10 * GIB, KIB, TIB,                                                    \
      "An item collection of a table that keeps collections whole holds at most this many bytes.") \
    X(index_backlog_bytes, MIB, 64 * KIB, GIB,                                                     \
      "A partition keeps at most this many bytes of changes that global indexes lack. Then its "   \
      "writes are refused until the indexes have taken some.")                                     \
    X(index_backlog_ms, 5000, 10, 3600000,                                                         \
      "A partition's writes are refused while a global index lacks a change that is older than "   \
      "this.")                                                                                     \
    X(transaction_decide_ms, 5000, 10, 60000,                                                      \
      "A transaction that nobody has decided after this time is aborted, so that its items are "   \
      "free again.")                                                                               \
    X(stream_retention_ms, 86400000, 1000, 604800000,                                              \
      "Records of streams are kept for this time. Then they are trimmed.")                         \
    X(stream_max_bytes, 10 * GIB, 64 * KIB, TIB,                                                   \
      "A partition keeps at most about this many bytes of records of streams. The oldest are "     \
      "trimmed first.")                                                                            \
    X(limiter_buckets_max, 100000, 1, 10000000,                                                    \
      "A router remembers at most this many buckets of the rate limiter.")                         \
    X(limiter_limits_ms, 5000, 1, 3600000,                                                         \
      "A router asks for the limits of a bucket again after this time.")                           \
    X(limiter_deadline_ms, 3000, 10, 60000,                                                        \
      "A request to the rate limiter that has no answer of the store after this time is answered "  \
      "as unavailable.")                                                                           \
    X(limiter_aggregator, 1, 0, 1,                                                                 \
      "1: the router tells shards of the rate limiter's buckets what they lag behind, and merges "  \
      "idle ones.")                                                                                \
    X(limiter_look_ms, 2000, 10, 3600000,                                                          \
      "The aggregator looks at buckets with several shards in rounds of this time.")               \
    X(limiter_merge_ms, 900000, 1000, 86400000,                                                    \
      "A bucket whose number of shards has not changed for this time, and which needs fewer, gets "\
      "half as many.")                                                                             \
    X(control_balance, 1, 0, 1,                                                                    \
      "1: the controller moves replicas off nodes above balance_percent. 0: never.")               \
    X(control_leaders, 1, 0, 1,                                                                    \
      "1: the controller spreads the leaders of partitions over the nodes. 0: never.")             \
    X(balance_percent, 80, 1, 100,                                                                 \
      "A node that consumes more than this percentage of its capacity gives replicas away.")       \
    X(node_silent_ms, 300000, 1000, 86400000,                                                      \
      "The replicas of a node that is silent for this time are replaced.")                         \
    X(balance_window_ms, 5000, 100, 15000,                                                         \
      "What a node consumes is its mean over this time.")                                          \
    X(moves_max, 4, 1, 1000,                                                                       \
      "At most this many replicas are on their way to another node at once.")                      \
    /* splits for throughput, and the heat that decides them */                                    \
    X(split_percent, 80, 2, 100,                                                                   \
      "A partition above this percentage of its maximum throughput for split_window_ms is split.") \
    X(split_fill_percent, 77, 1, 99,                                                               \
      "A split makes as few pieces as keep each one at this percentage of its maximum or below.")  \
    X(split_judge, 1, 0, 1,                                                                        \
      "1: a partition that reaches a limit is cut where its load divides, if a cut helps. 0: it "  \
      "is always cut in the middle of its range of hashes. Then popular keys and sequential "      \
      "loads cause endless splits, which is what this setting shows.")                             \
    X(split_window_ms, 10000, 100, 15000,                                                          \
      "The consumption that split_percent is compared with is the mean over this time.")           \
    X(split_hold_ms, 2500, 10, 3600000,                                                            \
      "A load above a partition's maximum is a reason for a split once it has lasted this time.")  \
    X(split_delay_ms, 0, 0, 86400000,                                                              \
      "A split for a load waits until the load has been a reason for it for this time.")           \
    X(split_lull_ms, 100, 1, 60000,                                                                \
      "A load above a partition's maximum has ended after about this time below the maximum.")     \
    X(split_gap_ms, 1000, 0, 60000,                                                                \
      "A gap of this time does not end a load above the maximum if the load makes up for it.")     \
    X(split_gain_percent, 5, 1, 100,                                                               \
      "A split for a load above the maximum must let this percentage of the maximum more be "      \
      "served.")                                                                                   \
    X(split_largest_percent, 80, 1, 100,                                                           \
      "A split for a load below the maximum must leave no piece with more than this percentage "   \
      "of the load.")                                                                              \
    X(split_samples_min, 256, 1, 1000000,                                                          \
      "A partition is split for its throughput after this many observed requests.")                \
    X(split_backoff_ms, 60000, 0, 86400000,                                                        \
      "A partition that should not be split is examined again after this time.")                   \
    X(split_retry_ms, 1000, 10, 3600000,                                                           \
      "A partition that could not be examined or split is tried again after this time.")           \
    X(heat_half_life_ms, 10000, 1000, 3600000,                                                     \
      "A request counts half as much for the heat of its key after this time.")                    \
    X(heat_start_percent, 1, 0, 100,                                                               \
      "The keys of a partition are watched once it was asked for more than this percentage of its " \
      "maximum within a second.")                                                                  \
    X(heat_recent_ms, 1000, 10, 3600000,                                                           \
      "What a partition is asked for now is the mean over one to two times this time.")            \
    /* merges of cold partitions */                                                                \
    X(merge_cold_ms, 3600000, 1000, 604800000,                                                     \
      "Two neighbouring partitions are merged once both have been cold for this time.")            \
    X(merge_fill_percent, 20, 1, 98,                                                               \
      "Two partitions are cold while both together are asked for at most this percentage of a "    \
      "partition's maximum.")                                                                      \
    X(merge_backoff_ms, 60000, 0, 86400000,                                                        \
      "Two partitions that could not be merged are left alone for this time.")                     \
    X(merge_freeze_ms, 1000, 10, 60000,                                                            \
      "A merge of two partitions is given up if the upper partition's replicas do not all stop "   \
      "in this time.")                                                                             \
    /* adaptive capacity */                                                                        \
    X(adaptive_after_ms, 1000, 0, 3600000,                                                         \
      "A partition that is throttled for this time is allocated more.")                            \
    X(adaptive_every_ms, 1000, 10, 3600000,                                                        \
      "Allocations are changed at most once in this time.")                                        \
    X(adaptive_window_ms, 5000, 100, 15000,                                                        \
      "What a partition is asked for is the mean over this time.")                                 \
    X(adaptive_calm_ms, 2000, 10, 15000,                                                           \
      "A partition that is not refused anything for this time is not throttled any more.")         \
    X(adaptive_step_percent, 110, 1, 200,                                                          \
      "A throttled partition is given this percentage of what it lacks each time.")                \
    X(adaptive_margin_percent, 1, 0, 50,                                                           \
      "Allocations stay as they are while the table is within this percentage of its limit.")      \
    X(adaptive_decay_percent, 20, 1, 100,                                                          \
      "A partition loses this percentage of a boost that it does not use, each time.")             \
    X(adaptive_decay_ms, 10000, 100, 3600000,                                                      \
      "A boost that is not used is lowered once in this time.")                                    \
    X(adaptive_used_percent, 80, 0, 100,                                                           \
      "A boost is used while the partition consumes this percentage of its allocation.")           \
    /* global admission control */                                                                 \
    X(gac_bank_ms, 300000, 1000, 86400000,                                                         \
      "A table saves up at most this time of its rate as unused tokens at its GAC server.")        \
    X(gac_start_units, 800, 0, 1000000,                                                            \
      "A new table may use this many units at once, but no more than gac_bank_ms of its "          \
      "rate. It may always use a second of its rate.")                                             \
    X(gac_lifetime_ms, 1000, 100, 60000,                                                           \
      "A router or GAC server that is silent for this time counts as gone. Tokens live as long.")  \
    X(gac_lifetime_max_ms, 60000, 100, 3600000,                                                    \
      "Tokens live for at most this time. A router gets such tokens if they last it for a while.") \
    X(gac_period_ms, 1000, 10, 60000,                                                              \
      "Policy periodic: a router asks for tokens at this interval.")                               \
    X(gac_grant_ms, 100, 1, 60000,                                                                 \
      "Policy lease: a grant is this time of the router's even share of the rate.")                \
    X(gac_grant_requests, 200, 1, 1000000,                                                         \
      "Policy lease: a grant covers this many average requests if enough tokens are saved up.")    \
    X(gac_forget_ms, 60000, 100, 86400000,                                                         \
      "A router that is silent for this time loses its share of every rate.")                      \
    X(gac_timeout_ms, 50, 1, 60000,                                                                \
      "A router asks again if a GAC server does not answer within this time.")                     \
    X(gac_wait_ms, 50, 0, 60000,                                                                   \
      "A request without tokens waits for a GAC server's answer for at most this time.")           \
    X(gac_ledgers_max, 100000, 1, 10000000,                                                        \
      "A GAC server keeps at most this many ledgers. It drops the ledger that was unused "         \
      "for longest.")                                                                              \
    X(gac_routers_max, 1000, 1, 100000, "A GAC server knows at most this many routers.")           \
    /* storage */                                                                                  \
    X(log_segment_bytes, 16 * MIB, 8 * MIB, GIB, "A log segment has this size.")                   \
    X(log_writes, 2, 1, 4,                                                                         \
      "At most this many writes of the log are on their way to the disk at once.")                 \
    X(log_max_bytes, 512 * MIB, 16 * MIB, TIB,                                                     \
      "Writes wait for a checkpoint when the log holds this many bytes.")                          \
    X(memtable_max_bytes, 64 * MIB, 64 * KIB, 16 * GIB,                                            \
      "A memtable of this size starts a checkpoint.")                                              \
    X(checkpoint_ms, 10000, 10, 3600000,                                                           \
      "A checkpoint starts at least this often while writes come in.")                             \
    X(erase_bytes_s, 8 * MIB, 64 * KIB, 64 * GIB,                                                  \
      "A node erases at most this many bytes of moved partitions per second.")                     \
    X(map_initial_bytes, 256 * MIB, MIB, 64 * TIB,                                                 \
      "The LMDB map has this size at the first start. It doubles when it is full.")                \
    X(map_max_bytes, 16 * TIB, MIB, 64 * TIB, "The LMDB map never grows beyond this size.")        \
    X(resident_max_bytes, 4 * GIB, 0, 64 * TIB,                                                    \
      "A node with at most this many bytes of data reads on the loop thread.")                     \
    X(bucket_save_ms, 1000, 10, 3600000,                                                           \
      "A node saves the state of the buckets that have changed at this interval.")                 \
    X(inflight_max_bytes, 256 * MIB, MIB, 64 * GIB,                                                \
      "A node has at most this many bytes of writes on their way to the log.")                     \
    /* the wire */                                                                                 \
    X(connections_max, 8192, 1, 1000000, "A router has at most this many client connections.")     \
    X(http_header_max_bytes, 16 * KIB, KIB, MIB,                                                   \
      "The head of a request has at most this many bytes.")                                        \
    X(http_body_max_bytes, 16 * MIB, KIB, 256 * MIB,                                               \
      "The body of a request has at most this many bytes, before and after it is unpacked.")       \
    X(http_memory_max_bytes, GIB, MIB, 64 * GIB,                                                   \
      "A router holds at most this many bytes of requests and answers at once.")                   \
    X(http_idle_ms, 300000, 100, 86400000,                                                         \
      "A client connection that is silent for this time is closed.")                               \
    X(http_unread_ms, 30000, 100, 86400000,                                                        \
      "A client that takes neither all nor 64 KiB of its answers within this is closed.")          \
    X(http_request_ms, 30000, 100, 86400000,                                                       \
      "A request must have arrived whole within this time.")                                       \
    X(key_range_as_throttling_exception, 0, 0, 1,                                                  \
      "1: a refusal by the partition maximum of a provisioned table is a "                         \
      "ThrottlingException. 0: it is a ProvisionedThroughputExceededException.")                   \
    X(request_deadline_ms, 5000, 10, 600000, "A node must answer a router within this time.")      \
    X(table_change_delay_ms, 0, 0, 600000,                                                         \
      "A table stays CREATING, UPDATING or DELETING for this time. 0: the request waits for the "  \
      "change instead.")                                                                           \
    X(node_queue_max, 16384, 16, 1000000, "A node works on at most this many requests at once.")
/* clang-format on */

enum {
    ITEM_SIZE_MAX = 409600,        /* bytes, names included */
    PARTITION_KEY_SIZE_MAX = 2048, /* bytes */
    SORT_KEY_SIZE_MAX = 1024,      /* bytes */
    NESTING_MAX = 31,              /* lists and maps around a value */
    PAGE_SIZE_MAX = 1048576,       /* bytes of items a Query or Scan page may read */
    BATCH_GET_MAX = 100,           /* keys */
    BATCH_WRITE_MAX = 25,          /* puts and deletes */
    TABLE_NAME_SIZE_MIN = 3,
    TABLE_NAME_SIZE_MAX = 255,
    ATTRIBUTE_NAME_SIZE_MAX = 65535,
    KEY_NAME_SIZE_MAX = 255,
    EXPRESSION_SIZE_MAX = 4096,
    SCAN_SEGMENTS_MAX = 1000000,
    /* An item's storage key: escaping at most doubles a key; 12 bytes of table and hash, 2 of
     * terminator each. */
    ITEM_KEY_SIZE_MAX = 12 + 2 * PARTITION_KEY_SIZE_MAX + 2 + 2 * SORT_KEY_SIZE_MAX + 2,
    /* The key of an index row: an item's key, and both keys of the index, of several attributes. A
     * partition key of several attributes is escaped twice. */
    STORAGE_KEY_SIZE_MAX = ITEM_KEY_SIZE_MAX + 4 * PARTITION_KEY_SIZE_MAX + 2 * SORT_KEY_SIZE_MAX +
                           (2 + 2 * 4) * 2 + 2,
    LOCAL_INDEXES_MAX = 5,    /* of a table */
    GLOBAL_INDEXES_MAX = 20,  /* of a table */
    INDEX_KEYS_MAX = 4,       /* attributes of each of an index's two keys */
    PROJECTED_NAMES_MAX = 20, /* attributes that an index names in its projection */
    PROJECTED_ALL_MAX = 100,  /* of all indexes of a table together */
    INDEX_NAME_SIZE_MIN = 3,
    INDEX_NAME_SIZE_MAX = 255,
    /* An encoded item is no longer than its header, its DynamoDB size, and this many bytes for each
     * attribute, element and container. */
    ITEM_VALUE_OVERHEAD_MAX = 7,
    NODES_LIMIT = 64,                  /* nodes of a cluster; GAC servers, too */
    FRAME_SIZE_MAX = 24 * 1024 * 1024, /* bytes of one message between processes */
};
