/* http.h - settings: connections of clients, and the size of their requests (router/http/).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_HTTP(X)                                                                           \
    X(connections_max, 8192, 1, 1000000,                                                           \
      "A router has at most this many client connections. For a new one it closes the connection " \
      "that has been idle longest, for at least a second.")                                        \
    X(http_header_max_bytes, 16 * KIB, KIB, MIB,                                                   \
      "The head of a request has at most this many bytes.")                                        \
    X(http_body_max_bytes, 16 * MIB, KIB, 256 * MIB,                                               \
      "The body of a request has at most this many bytes, compressed and decompressed.")           \
    X(http_memory_max_bytes, GIB, MIB, 64 * GIB,                                                   \
      "A router holds at most this many bytes of requests and answers at once.")                   \
    X(http_idle_ms, 300000, 100, 86400000,                                                         \
      "A client connection that is idle for this time is closed.")                                 \
    X(http_unread_ms, 30000, 100, 86400000,                                                        \
      "A client that reads neither all nor 64 KiB of its answers within this time is closed.")     \
    X(http_request_ms, 30000, 100, 86400000,                                                       \
      "A request must arrive completely within this time. The first byte on a new connection "     \
      "must arrive within the same time.")
/* clang-format on */

CONFIG_AREA(http, HTTP)
