/* loads.h - what the catalog's leader has heard of the load on partitions and nodes.
 *
 * Totals since it began to listen: a partition's go on over a change of its leader, whose own
 * totals are taken as a new start. Not part of the replicated state: whoever leads next begins
 * anew. */
#ifndef WEIR_ENGINE_NODE_LOADS_H
#define WEIR_ENGINE_NODE_LOADS_H

#include "base/id_map.h"
#include "base/instant.h"
#include "engine/catalog/report.h"
#include "engine/catalog/table.h"

/* What a partition counted, of each kind. */
struct load_counts {
    struct load_total totals[ADMIT_KINDS];   /* since it is listened to */
    struct load_total reported[ADMIT_KINDS]; /* the member's own, as of its last report */
};

struct partition_load {
    uint32_t partition;
    uint32_t table_id;
    uint64_t member; /* that led it and said so */
    uint64_t epoch;  /* of the last report: it was a wider range before */
    struct instant heard_at;
    int64_t items;
    int64_t bytes;
    int64_t excess_ms[ADMIT_KINDS]; /* when it was heard */
    struct load_counts *counts;     /* owns; NULL: nothing yet, see loads_totals */
};

struct node_load {
    bool heard;
    struct instant heard_at;
    int64_t capacity_mcu[ADMIT_KINDS];
    int64_t totals_mcu[ADMIT_KINDS];
    int64_t reported_mcu[ADMIT_KINDS];
};

struct loads {
    struct node_load nodes[NODES_MAX + 1];
    struct id_map partitions; /* owns struct partition_load, by partition + 1: the catalog is 0 */
};

struct loads *loads_create(void);
void loads_destroy(struct loads *l); /* NULL: nothing */

void loads_take_node(struct loads *l, struct instant now, const struct node_report *r);
/* `r` has items >= 0: its sender leads the partition. */
void loads_take_partition(struct loads *l, struct instant now, const struct partition_report *r);
/* NULL: nothing was heard of it. */
const struct partition_load *loads_of(const struct loads *l, uint32_t partition);
/* By kind, since it is listened to. */
const struct load_total *loads_totals(const struct partition_load *p);

#endif
