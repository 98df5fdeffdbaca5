/* tables.h - a scenario's tables as requests of the API: bodies in DynamoDB's JSON.
 *
 * Tables have the partition key `pk`. Some have the sort key `sk` (demand_has_sort_key). The rate
 * limiter's table has its own keys. */
#pragma once

#include "lab/scenario/scaling.h"

/* CreateTable. `partitions` are asked for by WarmThroughput. */
void tables_write_create(struct buffer *out, const struct scenario *s, uint32_t place,
                         uint32_t copy);
/* DescribeTable. */
void tables_write_name(struct buffer *out, const struct scenario *s, uint32_t place, uint32_t copy);
/* PUT /limiter/v1/limits. */
void tables_write_limit(struct buffer *out, const struct scenario_limit *l);
/* UpdateTable. */
void tables_write_update(struct buffer *out, const struct scenario *s,
                         const struct scaling_update *u);

/* Whether DescribeTable's answer says that the table can be used. */
/* UpdateTimeToLive. */
void tables_write_expiry(struct buffer *out, const struct scenario *s, uint32_t place,
                         uint32_t copy);
/* The attribute of an item that has the time, in seconds since 1970. */
#define TABLES_EXPIRY_NAME "expires"
bool tables_is_active(struct slice answer);
