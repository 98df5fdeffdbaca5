/* report.h - what a node tells the catalog's leader about itself, as bytes.
 *
 * A report is a head, then records of replicas. A replica that leads has a record if its figures
 * have changed since the last report. A replica that knows no leader has a record, which asks
 * whether its group still exists. Consumption and refusals are totals since the node started, in
 * mcu. The receiver computes rates, so a lost report does no harm. */
#pragma once

#include "engine/heat/heavy.h"
#include "engine/index/index.h"
#include "engine/message/partition_stats.h"

struct node_report {
    uint32_t node;
    int64_t capacity_mcu[ADMIT_KINDS]; /* per second */
    int64_t consumed_mcu[ADMIT_KINDS]; /* total, with the writes done as a follower */
};

struct partition_report {
    uint32_t table_id;
    uint32_t partition;
    uint64_t member;                      /* the reporting replica */
    uint64_t epoch;                       /* of the partition's range to which the figures belong */
    int64_t items;                        /* -1: this replica does not lead, and knows no leader */
    int64_t bytes;                        /* item sizes; -1 as for items */
    struct tally rows[LOCAL_INDEXES_MAX]; /* of local indexes, by place */
    struct load_total totals[ADMIT_KINDS];
    struct index_refusal index_refusal;
    int64_t trimmed_early; /* records of streams, for their bytes, since the node started */
    int64_t excess_ms[ADMIT_KINDS]; /* how long more was asked for than the maximum: excess.h */
    uint8_t write_direction;        /* enum sketch_direction; SKETCH_UNKNOWN without heavy keys */
    uint32_t heavy_count;
    struct heavy_key heavy[HEAVY_KEYS_MAX]; /* by writes, offered; lends as long as the report */
};

void node_report_encode(struct buffer *out, const struct node_report *r);
/* STATUS_MALFORMED: also an impossible node number, and negative amounts. */
enum status node_report_decode(struct reader *r, struct node_report *out);
void partition_report_encode(struct buffer *out, const struct partition_report *r);
enum status partition_report_decode(struct reader *r, struct partition_report *out);
