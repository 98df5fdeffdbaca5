/* operations.h - every operation. */
#pragma once

#include "router/operations/operation.h"

extern const struct operation operation_get_item;
extern const struct operation operation_put_item;
extern const struct operation operation_delete_item;
extern const struct operation operation_query;
extern const struct operation operation_scan;
extern const struct operation operation_batch_get_item;
extern const struct operation operation_batch_write_item;
extern const struct operation operation_create_table;
extern const struct operation operation_describe_table;
extern const struct operation operation_list_tables;
extern const struct operation operation_update_table;
extern const struct operation operation_delete_table;
extern const struct operation operation_tag_resource;
extern const struct operation operation_untag_resource;
extern const struct operation operation_list_tags_of_resource;
extern const struct operation operation_describe_limits;
extern const struct operation operation_describe_endpoints;
