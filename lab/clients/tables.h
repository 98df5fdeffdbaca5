/* tables.h - a scenario's tables as requests of the API: bodies in DynamoDB's JSON.
 *
 * Tables have the partition key `pk`. Some have the sort key `sk` (demand_has_sort_key). */
#pragma once

#include "lab/demand.h"

/* CreateTable. `partitions` are asked for by WarmThroughput. */
void tables_write_create(struct buffer *out, const struct scenario *s, uint32_t place,
                         uint32_t copy);
/* DescribeTable. */
void tables_write_name(struct buffer *out, const struct scenario *s, uint32_t place, uint32_t copy);
/* UpdateTable, with the throughput of a fault of the kind `update`. */
void tables_write_update(struct buffer *out, const struct scenario *s, uint32_t place,
                         uint32_t copy, const struct scenario_fault *f);

/* Whether DescribeTable's answer says that the table can be used. */
bool tables_is_active(struct slice answer);
