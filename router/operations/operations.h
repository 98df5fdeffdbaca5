/* operations.h - every operation. */
#pragma once

#include "router/core/operation.h"

/* clang-format off */
#define OPERATION_LIST(X)                                                                          \
    X(get_item) X(put_item) X(delete_item) X(update_item) X(query) X(scan)                         \
    X(batch_get_item) X(batch_write_item) X(transact_get_items) X(transact_write_items)            \
    X(execute_statement) X(batch_execute_statement) X(execute_transaction)                         \
    X(create_table) X(describe_table) X(list_tables) X(update_table) X(delete_table)               \
    X(tag_resource) X(untag_resource) X(list_tags_of_resource) X(describe_limits)                  \
    X(describe_endpoints)                                                                          \
    X(describe_time_to_live) X(update_time_to_live) X(describe_continuous_backups)                 \
    X(update_continuous_backups) X(describe_contributor_insights) X(list_contributor_insights)     \
    X(describe_kinesis_streaming_destination) X(describe_table_replica_auto_scaling)               \
    X(get_resource_policy) X(list_backups) X(list_exports) X(list_imports) X(list_global_tables)   \
    X(describe_global_table) X(describe_global_table_settings)                                     \
    X(list_streams) X(describe_stream) X(get_shard_iterator) X(get_records)
/* clang-format on */

/* Defines an operation, whose input is the shape of that name. */
#define OPERATION(id, api_name, ...) \
    const struct operation operation_##id = {.name = api_name, .input = &shape_##id, __VA_ARGS__}

#define X(name) extern const struct operation operation_##name;
OPERATION_LIST(X)
#undef X
