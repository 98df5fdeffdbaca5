/* requests.h - settings: deadlines, queues and answers of requests (engine/node/,
 * router/operations/).
 *
 * A row: name, default, least, most, and a help text of full sentences. The unit is the end of
 * the name. base/settings.h puts the lists in order. */
#pragma once

#include "base/config.h"

/* clang-format off */
#define SETTINGS_REQUESTS(X)                                                                       \
    X(key_range_as_throttling_exception, 0, 0, 1,                                                  \
      "1: a refusal by the partition maximum of a provisioned table is a "                         \
      "ThrottlingException. 0: it is a ProvisionedThroughputExceededException.")                   \
    X(request_deadline_ms, 5000, 10, 600000, "A node must answer a router within this time.")      \
    X(read_your_writes, 0, 0, 1,                                                                   \
      "1: eventual reads, also by global indexes, return all writes that the same router has "     \
      "acknowledged. Other routers' writes may be missing. weir local has 1.")                     \
    X(read_your_writes_wait_ms, 50, 1, 10000,                                                      \
      "An eventual read waits for the router's own writes at most this time, and at most half of " \
      "request_deadline_ms.")                                                                      \
    X(table_change_delay_ms, 0, 0, 600000,                                                         \
      "A table stays CREATING, UPDATING or DELETING for this time. 0: the request waits for the "  \
      "change instead.")                                                                           \
    X(node_queue_max, 16384, 16, 1000000, "A node processes at most this many requests at once.")
/* clang-format on */

CONFIG_AREA(requests, REQUESTS)
