/* split.h - a partition cut into several: what is asked of the catalog, and what the catalog then
 * asks of the partition's group; as bytes. */
#ifndef WEIR_ENGINE_CATALOG_SPLIT_H
#define WEIR_ENGINE_CATALOG_SPLIT_H

#include "engine/catalog/table.h"
#include "engine/heat/split_point.h"

/* What is asked of the catalog: REQUEST_TABLE_SPLIT, CATALOG_SPLIT. */
struct table_split {
    uint32_t table_id;
    uint32_t partition;
    uint64_t epoch;                    /* of the partition, as whoever asks knows it */
    uint32_t cut_count;                /* 1 .. SPLIT_CUTS_MAX */
    struct slice cuts[SPLIT_CUTS_MAX]; /* storage keys, ascending: each begins a child */
    /* Of the partition's load, what goes to each piece; what they lack of the whole, the first
     * has. */
    uint32_t share_ppm[SPLIT_KINDS][SPLIT_CUTS_MAX + 1];
};

void table_split_encode(struct buffer *out, const struct table_split *s);
/* Borrows from the bytes. STATUS_MALFORMED: cuts out of order or shares beyond the whole, too. */
enum status table_split_decode(struct slice bytes, struct table_split *out);
/* Shares as if every piece carried the same load. */
void table_split_share_equally(struct table_split *s);

/* What is asked of the group: REQUEST_PARTITION_SPLIT, LOG_SPLIT. */
struct partition_split {
    struct partition_info parent; /* as it is afterwards */
    uint32_t child_count;
    struct partition_info children[SPLIT_CUTS_MAX]; /* in key order, from the parent's end on */
};

void partition_split_encode(struct buffer *out, const struct partition_split *s);
/* Borrows from the bytes. STATUS_MALFORMED: ranges that do not adjoin, too. */
enum status partition_split_decode(struct slice bytes, struct partition_split *out);

/* What is left of a load of this kind for each piece, the parent's first. */
void partition_split_shares(const struct partition_split *s, uint32_t kind,
                            uint32_t share_ppm[SPLIT_CUTS_MAX + 1]);

#endif
