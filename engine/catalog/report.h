/* report.h - what a node tells the catalog's leader about itself, as bytes.
 *
 * A report is a head, then a record for each replica that has something to say: those led here
 * whose figures have changed since the last one, and those that know no leader, which ask by it
 * whether their group still exists. Consumption and refusals are totals since the node started, in
 * mcu: rates are the receiver's to compute, and a report that is lost costs nothing. */
#ifndef WEIR_ENGINE_CATALOG_REPORT_H
#define WEIR_ENGINE_CATALOG_REPORT_H

#include "base/buffer.h"
#include "engine/message/message.h"

struct node_report {
    uint32_t node;
    int64_t capacity_mcu[ADMIT_KINDS]; /* per second */
    int64_t consumed_mcu[ADMIT_KINDS]; /* total, writes done as a follower included */
};

struct partition_report {
    uint32_t table_id;
    uint32_t partition;
    uint64_t member; /* who says so */
    uint64_t epoch;  /* the figures are of that range */
    int64_t items;   /* -1: not led here, and no leader known */
    int64_t bytes;   /* item sizes; -1 the same */
    struct load_total totals[ADMIT_KINDS];
    int64_t excess_ms[ADMIT_KINDS]; /* for how long more is asked for than the maximum; excess.h */
};

void node_report_encode(struct buffer *out, const struct node_report *r);
/* STATUS_MALFORMED: also for a node that cannot be, and for negative amounts. */
enum status node_report_decode(struct reader *r, struct node_report *out);
void partition_report_encode(struct buffer *out, const struct partition_report *r);
enum status partition_report_decode(struct reader *r, struct partition_report *out);

#endif
