/* request_traits.c - the table. A request without a row is refused wherever it comes from. */
#include "engine/message/request_traits.h"

enum {
    NODE = 1 << PEER_NODE,
    ROUTER = 1 << PEER_ROUTER,
    TOOL = 1 << PEER_TOOL
};

const struct request_traits request_traits[REQUEST_OPS] = {
    /* items */
    [REQUEST_GET] = {ROUTER, .data = true, .any_replica = true},
    [REQUEST_RANGE] = {ROUTER, .data = true, .any_replica = true},
    [REQUEST_PUT] = {ROUTER, .data = true, .write = true, .once = true, .changes = true},
    [REQUEST_DELETE] = {ROUTER, .data = true, .write = true, .once = true, .changes = true},
    /* a node itself */
    [REQUEST_STATS] = {ROUTER | TOOL, .of_node = true, .once = true},
    [REQUEST_PING] = {ROUTER},
    /* a partition's replicas */
    [REQUEST_PARTITION_OPEN] = {NODE},
    [REQUEST_PARTITION_CLOSE] = {NODE},
    [REQUEST_PARTITION_MEMBERS] = {NODE},
    [REQUEST_PARTITION_SPLIT] = {NODE},
    [REQUEST_PARTITION_MERGE] = {NODE},
    [REQUEST_PARTITION_HEAT] = {NODE},
    [REQUEST_PARTITION_MIDDLE] = {NODE},
    /* the catalog */
    [REQUEST_TABLE_CREATE] = {ROUTER, .once = true, .changes = true, .names_table = true},
    [REQUEST_TABLE_UPDATE] = {ROUTER, .once = true, .changes = true, .names_table = true},
    [REQUEST_TABLE_DELETE] = {ROUTER, .once = true, .changes = true, .names_table = true},
    [REQUEST_TABLE_GET] = {ROUTER | TOOL},
    [REQUEST_TABLE_LIST] = {ROUTER | TOOL, .names_table = true},
    [REQUEST_TABLE_SPLIT] = {ROUTER, .once = true, .changes = true},
    [REQUEST_TABLE_REPORT] = {NODE},
    [REQUEST_EVENTS] = {ROUTER | TOOL},
    [REQUEST_DECIDE] = {ROUTER, .changes = true}, /* a drain alone; it may be repeated */
};
