/* control.h - settings: the controller: what it does, how often, and how many replicas move
 * (control/).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_CONTROL_KEYS(X)                                                                   \
    X(control_key_sharding, 1, 0, 1,                                                               \
      "1: the controller gives hot keys shards, in tables with the tag weir:key-sharding. 0: "     \
      "never.")                                                                                    \
    X(control_advice, 1, 0, 1,                                                                     \
      "1: events report when the design of a table's keys causes hot partitions. 0: never.")
#define SETTINGS_CONTROL_POINTS(X)                                                                 \
    X(control_ms, 500, 10, 60000, "The controller evaluates the cluster at this interval.")        \
    X(control_placement, 1, 0, 1,                                                                  \
      "1: the controller replaces missing replicas, and replicas on unresponsive and drained "     \
      "nodes. 0: never.")                                                                          \
    X(control_adaptive, 1, 0, 1,                                                                   \
      "1: the controller gives throttled partitions unused throughput of their table. 0: never.")  \
    X(control_split, 1, 0, 1, "1: the controller splits partitions that reach a limit. 0: never.") \
    X(control_merge, 0, 0, 1,                                                                      \
      "1: the controller merges neighbouring partitions that have been cold for merge_cold_ms. "   \
      "0: never.")                                                                                 \
    X(control_on_demand, 1, 0, 1,                                                                  \
      "1: the controller prepares on-demand tables for twice their previous peak. 0: never.")      \
    X(control_answer_ms, 10000, 100, 3600000,                                                      \
      "A request of the controller that has no answer after this time counts as lost.")            \
    X(partition_max_bytes, 10 * GIB, MIB, TIB, "A partition with more bytes is split.")
#define SETTINGS_CONTROL_MOVES(X)                                                                  \
    X(control_balance, 1, 0, 1,                                                                    \
      "1: the controller moves replicas off nodes above balance_percent. 0: never.")               \
    X(control_leaders, 1, 0, 1,                                                                    \
      "1: the controller balances the leaders of partitions over the nodes. 0: never.")            \
    X(balance_percent, 80, 1, 100,                                                                 \
      "A node that consumes more than this percentage of its capacity gives replicas away.")       \
    X(node_unresponsive_ms, 300000, 1000, 86400000,                                                \
      "The replicas of a node that is unresponsive for this time are replaced.")                   \
    X(balance_window_ms, 5000, 100, 15000,                                                         \
      "The consumption of a node is its mean over this time.")                                     \
    X(moves_max, 4, 1, 1000, "At most this many replicas move to another node at once.")
#define SETTINGS_CONTROL(X)                                                                        \
    SETTINGS_CONTROL_KEYS(X)                                                                       \
    SETTINGS_CONTROL_POINTS(X)                                                                     \
    SETTINGS_CONTROL_MOVES(X)
/* clang-format on */

CONFIG_AREA(control, CONTROL)
