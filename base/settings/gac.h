/* gac.h - settings: global admission control (gac/).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_GAC(X)                                                                            \
    X(gac_bank_ms, 300000, 1000, 86400000,                                                         \
      "A table saves at most this time of its rate as unused tokens at its GAC server.")           \
    X(gac_start_units, 800, 0, 1000000,                                                            \
      "A new table may use this many units at once, but at most gac_bank_ms of its rate. It may "  \
      "always use a second of its rate.")                                                          \
    X(gac_lifetime_ms, 1000, 100, 60000,                                                           \
      "A router or GAC server that sends nothing for this time counts as down. Tokens live for "   \
      "the same time.")                                                                            \
    X(gac_lifetime_max_ms, 60000, 100, 3600000,                                                    \
      "Tokens live for at most this time. A router with little demand gets such tokens.")          \
    X(gac_period_ms, 1000, 10, 60000,                                                              \
      "Policy periodic: a router requests tokens at this interval.")                               \
    X(gac_grant_ms, 100, 1, 60000,                                                                 \
      "Policy lease: a grant is this time of the router's equal share of the rate.")               \
    X(gac_grant_requests, 200, 1, 1000000,                                                         \
      "Policy lease: with enough saved tokens, a grant covers this many average requests.")        \
    X(gac_router_timeout_ms, 60000, 100, 86400000,                                                 \
      "A router that sends nothing for this time loses its share of every rate.")                  \
    X(gac_timeout_ms, 50, 1, 60000,                                                                \
      "A router repeats a request that a GAC server has not answered within this time.")           \
    X(gac_wait_ms, 50, 0, 60000,                                                                   \
      "A request without tokens waits at most this time for a GAC server's answer.")               \
    X(gac_ledgers_max, 100000, 1, 10000000,                                                        \
      "A GAC server keeps at most this many ledgers. It drops the least recently used one.")       \
    X(gac_routers_max, 1000, 1, 100000, "A GAC server knows at most this many routers.")
/* clang-format on */

CONFIG_AREA(gac, GAC)
