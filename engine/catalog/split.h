/* split.h - a partition is divided: the request to the catalog, and the request of the
 * catalog to the partition's group, as bytes. */
#pragma once

#include "engine/catalog/table.h"
#include "engine/heat/split_point.h"

/* The request to the catalog: REQUEST_TABLE_SPLIT, CATALOG_SPLIT. */
struct table_split {
    uint32_t table_id;
    uint32_t partition;
    uint64_t epoch;                        /* of the partition, as the requester knows it */
    uint32_t point_count;                  /* 1 .. SPLIT_POINTS_MAX */
    struct slice points[SPLIT_POINTS_MAX]; /* storage keys, ascending; each begins a child */
    /* Each piece's share of the partition's load, the lowest piece first. The first piece also has
     * what the shares lack of the whole. */
    uint32_t share_ppm[SPLIT_KINDS][SPLIT_POINTS_MAX + 1];
};

void table_split_encode(struct buffer *out, const struct table_split *s);
/* Borrows from the bytes. STATUS_MALFORMED: also points out of order, and shares above the
 * whole. */
enum status table_split_decode(struct slice bytes, struct table_split *out);
/* Shares as if every piece carried the same load. */
void table_split_share_equally(struct table_split *s);

/* The request to the group: REQUEST_PARTITION_SPLIT, LOG_SPLIT. */
struct partition_split {
    struct partition_info parent; /* as it is after the split */
    uint32_t child_count;
    struct partition_info children[SPLIT_POINTS_MAX]; /* in key order, from the parent's end on */
};

void partition_split_encode(struct buffer *out, const struct partition_split *s);
/* Borrows from the bytes. STATUS_MALFORMED: also ranges that do not adjoin. */
enum status partition_split_decode(struct slice bytes, struct partition_split *out);

/* Each piece's share of a load of this kind, the parent's first. */
void partition_split_shares(const struct partition_split *s, uint32_t kind,
                            uint32_t share_ppm[SPLIT_POINTS_MAX + 1]);
