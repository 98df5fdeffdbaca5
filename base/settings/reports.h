/* reports.h - settings: what nodes tell each other and the catalog about their load
 * (engine/node/replica/load_reports.h, bucket_mirrors.h).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_REPORTS(X)                                                                        \
    X(report_ms, 100, 1, 60000,                                                                    \
      "A node reports its headroom to each other node at this interval.")                          \
    X(report_quick_ms, 2, 0, 60000,                                                                \
      "While a partition's reads use up its tokens, its replicas report to each other at this "    \
      "interval.")                                                                                 \
    X(report_deadline_ms, 1000, 1, 600000,                                                         \
      "A node without a report for this time is a dead member (see dead_member).")                 \
    X(member_lease_ms, 200, 1, 60000, "A lease of another node's tokens lasts for this time.")     \
    X(load_report_ms, 500, 10, 60000, "A node reports its load to the catalog at this interval.")
/* clang-format on */

CONFIG_AREA(reports, REPORTS)
