/* partition_stats.h - what a node counts for each of its partitions: records of a STATS reply
 * (message.h), and parts of a node's report (engine/catalog/report.h). */
#pragma once

#include "base/buffer.h"
#include "base/status.h"
#include "engine/admission/verdict.h"

struct codec;
struct reader;

/* What a partition did since the node started. */
struct load_total {
    int64_t consumed_mcu;
    int64_t refused_mcu;            /* total cost of refused requests, as far as it is known */
    int64_t refused[ADMIT_REASONS]; /* requests, by reason; ADMIT_OK: 0 */
};

/* The last time that a global index did not take a row, until it takes rows again. */
struct index_refusal {
    uint32_t index;     /* number of its table; 0: none */
    uint32_t partition; /* of the index */
    uint64_t reason; /* enum admit_reason; ADMIT_OK: not one of admission. So wide that the struct
                           has no padding: reports are hashed */
};

struct partition_counts {
    struct load_total load;
    int64_t admitted; /* requests */
    int64_t burst;    /* admitted requests that were a burst */
};

/* One record of a REQUEST_STATS reply. */
struct partition_stats {
    uint32_t partition;
    uint32_t node;
    uint32_t table_id;
    bool leads;
    uint8_t voters;    /* of the group; 0: this replica does not lead */
    uint8_t caught_up; /* voters that have all committed entries and need no snapshot */
    int64_t bytes;     /* of its items; -1: they are being counted again */
    struct {
        bool feeds; /* it leads, and has global indexes */
        int64_t lag_ms;
        int64_t items;                /* with changes that an index lacks */
        int64_t bytes;                /* of these changes */
        struct index_refusal refusal; /* index 0 also without changes */
    } indexes;
    struct {
        bool on;        /* it leads, and its items expire */
        int64_t lag_ms; /* since the last round that has ended began: what was over then is gone */
        int64_t items;  /* expired, since the node started */
    } expiry;
    struct {
        int64_t locks;     /* items that transactions have; 0: this replica does not lead */
        int64_t oldest_ms; /* since the oldest of them was locked, or this replica leads */
        int64_t reserved_log_bytes;   /* kept for the ends of the locks, as the next one */
        int64_t reserved_index_bytes; /* of the backlog of global indexes */
    } transactions;
    struct {
        bool any; /* it leads, and has records or makes some */
        int64_t records;
        int64_t bytes;
        int64_t written; /* since the node started, as the next one */
        int64_t trimmed;
        int64_t lag_ms; /* of trimming */
    } streams;
    struct {
        int64_t allocated_mcu; /* per second */
        struct partition_counts counts;
        struct admit_balances balances;
    } kinds[ADMIT_KINDS];
};

void index_refusal_walk(struct codec *c, struct index_refusal *r);
void partition_stats_encode(struct buffer *out, const struct partition_stats *s);
enum status partition_stats_decode(struct reader *r, struct partition_stats *out);
