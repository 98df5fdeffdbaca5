/* request_traits.c - the table. Requests between nodes have no row: no router sends them. */
#include "router/request_traits.h"

const struct request_traits request_traits[REQUEST_OPS] = {
    [REQUEST_GET] = {.data = true, .any_replica = true},
    [REQUEST_RANGE] = {.data = true, .any_replica = true},
    [REQUEST_PUT] = {.data = true, .write = true, .once = true, .changes = true},
    [REQUEST_DELETE] = {.data = true, .write = true, .once = true, .changes = true},
    [REQUEST_STATS] = {.of_node = true, .once = true},
    [REQUEST_TABLE_CREATE] = {.once = true, .changes = true, .names_table = true},
    [REQUEST_TABLE_UPDATE] = {.once = true, .changes = true, .names_table = true},
    [REQUEST_TABLE_DELETE] = {.once = true, .changes = true, .names_table = true},
    [REQUEST_TABLE_LIST] = {.names_table = true},
    [REQUEST_TABLE_SPLIT] = {.once = true, .changes = true},
    [REQUEST_DECIDE] = {.changes = true}, /* a decision that was made is not made again */
};
