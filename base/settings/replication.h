/* replication.h - settings: heartbeats, elections, appends and snapshots (replication/,
 * engine/node/).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_REPLICATION(X)                                                                    \
    X(replicas, 3, 1, 7,                                                                           \
      "A new partition and the catalog have this many replicas, each on another node.")            \
    X(heartbeat_ms, 100, 1, 60000,                                                                 \
      "A node sends heartbeats to each other node at this interval. A router pings a node with "   \
      "unanswered requests at this interval.")                                                     \
    X(support_ms, 600, 10, 600000,                                                                 \
      "Other nodes follow a node's leaders for this time after the node's last heartbeat. A "      \
      "router gives up writes that an unresponsive node has not answered for this time.")          \
    X(unresponsive_heartbeats, 2, 1, 1000,                                                         \
      "A router sends requests to other nodes once a node has left a ping unanswered for this "    \
      "many times heartbeat_ms.")                                                                  \
    X(election_ms, 300, 5, 600000,                                                                 \
      "A replica without a leader waits at most twice this time before it starts an election.")    \
    X(append_retry_ms, 200, 1, 60000,                                                              \
      "A leader sends an unanswered append again after this time.")                                \
    X(commit_notify_ms, 5, 0, 60000,                                                               \
      "A leader notifies its followers of a commit after this time, unless a later write "         \
      "notifies them before.")                                                                     \
    X(clock_drift_ppm, 1000, 0, 100000,                                                            \
      "The rates of two nodes' clocks differ by at most this many millionths.")                    \
    X(follower_max_bytes, 8 * MIB, 64 * KIB, GIB,                                                  \
      "A leader has at most this many bytes in flight to one follower of a partition.")            \
    X(group_max_bytes, 32 * MIB, 64 * KIB, GIB,                                                    \
      "A partition has at most this many bytes of uncommitted writes.")                            \
    X(entries_max_bytes, 4 * MIB, 64 * KIB, GIB,                                                   \
      "A leader keeps at most this many bytes of a partition's log in memory for slow followers.") \
    X(snapshot_bytes_s, 64 * MIB, 64 * KIB, 64 * GIB,                                              \
      "An idle node sends at most this many bytes of snapshots per second.")                       \
    X(snapshot_busy_bytes_s, 2 * MIB, 64 * KIB, 64 * GIB,                                          \
      "A node that serves requests sends at most this many bytes of snapshots per second.")        \
    X(snapshot_step_bytes, 256 * KIB, 64 * KIB, GIB,                                               \
      "A node starts a checkpoint after it has received this many bytes of snapshots.")
/* clang-format on */

CONFIG_AREA(replication, REPLICATION)
