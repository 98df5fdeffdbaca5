/* tables.h - settings: what tables may be given, and how often they may change (engine/catalog/).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_TABLES_THROUGHPUT(X)                                                              \
    X(table_max_wcu, 40000, 1, 100000000,                                                          \
      "The throughput of a table is at most this many write units per second.")                    \
    X(table_max_rcu, 40000, 1, 100000000,                                                          \
      "The throughput of a table is at most this many read units per second.")                     \
    X(on_demand_wcu, 4000, 1, 100000000,                                                           \
      "A new on-demand table serves this many write units per second.")                            \
    X(on_demand_rcu, 12000, 1, 100000000,                                                          \
      "A new on-demand table serves this many read units per second.")                             \
    X(on_demand_reserved_percent, 1, 0, 100,                                                       \
      "Nodes reserve this percentage of an on-demand table's initial throughput for the table.")   \
    X(on_demand_peak_ms, 10000, 1000, 15000,                                                       \
      "An on-demand table's peak is its highest average consumption over this time.")              \
    X(on_demand_switches_max, 4, 1, 8,                                                             \
      "A table may be switched to on-demand this many times within 24 hours.")                     \
    X(decreases_max, 4, 1, 1000,                                                                   \
      "A provisioned table's throughput may be lowered this many times within a UTC day, then "    \
      "once every decrease_wait_s.")                                                               \
    X(decrease_wait_s, 3600, 1, 86400,                                                             \
      "After decreases_max decreases within a UTC day, the next one must wait for this time.")
#define SETTINGS_TABLES_TTL(X)                                                                     \
    X(ttl_change_ms, 0, 0, 86400000,                                                               \
      "After a change of a table's time to live, the next one must wait for this time.")
#define SETTINGS_TABLES_NUMBER(X)                                                                  \
    X(tables_max, 2500, 1, 100000, "A cluster has at most this many tables.")                      \
    X(table_partitions_max, 1000, 1, 100000, "A table has at most this many partitions.")
#define SETTINGS_TABLES(X)                                                                         \
    SETTINGS_TABLES_THROUGHPUT(X)                                                                  \
    SETTINGS_TABLES_TTL(X)                                                                         \
    SETTINGS_TABLES_NUMBER(X)
/* clang-format on */

CONFIG_AREA(tables, TABLES)
