/* cluster_loads.h - the load on partitions and nodes, as reported to the catalog's leader.
 *
 * Totals count from the time this node became the catalog's leader. A partition's totals continue
 * when its leader changes, although the new leader counts from its own start. Loads are not part of
 * the replicated state: the next leader of the catalog starts without them. */
#pragma once

#include "base/id_map.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/report.h"
#include "engine/catalog/table.h"

/* The totals of a partition, by kind. */
struct load_counts {
    struct load_total totals[ADMIT_KINDS];   /* since the first report */
    struct load_total reported[ADMIT_KINDS]; /* the member's own totals in its last report */
};

struct partition_load {
    uint32_t partition;
    uint32_t table_id;
    uint64_t member; /* the leader that sent the last report */
    uint64_t epoch;  /* of the last report; an older epoch may be a wider range */
    struct instant reported_at;
    bool kept; /* for cluster_loads_keep */
    int64_t items;
    int64_t bytes;
    int64_t excess_ms[ADMIT_KINDS]; /* at reported_at */
    struct index_refusal index_refusal;
    int64_t trimmed_early;   /* as in the report */
    uint8_t write_direction; /* the same */
    uint32_t heavy_count;
    struct heavy_key heavy[HEAVY_KEYS_MAX];
    struct buffer heavy_bytes;  /* owns; lent by `heavy` */
    struct load_counts *counts; /* owns; NULL: no totals yet, see cluster_loads_totals */
};

struct node_load {
    bool has_report;
    struct instant reported_at;
    int64_t capacity_mcu[ADMIT_KINDS];
    int64_t totals_mcu[ADMIT_KINDS];
    int64_t reported_mcu[ADMIT_KINDS];
};

struct cluster_loads {
    struct node_load nodes[NODES_MAX + 1];
    struct id_map
        partitions; /* owns struct partition_load; key: partition + 1, because no key may be 0 */
};

struct cluster_loads *cluster_loads_create(void);
void cluster_loads_destroy(struct cluster_loads *l); /* NULL: nothing */

void cluster_loads_take_node(struct cluster_loads *l, struct instant now,
                             const struct node_report *r);
/* `r` must have items >= 0, which says that its sender leads the partition. */
void cluster_loads_take_partition(struct cluster_loads *l, struct instant now,
                                  const struct partition_report *r);
/* Forgets partitions that the catalog has no more, once there are more than it has. */
void cluster_loads_keep(struct cluster_loads *l, const struct catalog *catalog);
/* The partitions that the catalog has, its own included. */
size_t cluster_loads_expected(const struct catalog *catalog);
/* NULL: no report on the partition has come. */
const struct partition_load *cluster_loads_of(const struct cluster_loads *l, uint32_t partition);
/* The totals by kind, since the first report. */
const struct load_total *cluster_loads_totals(const struct partition_load *p);
