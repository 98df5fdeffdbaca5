/* page_metrics.h - metrics of the registry (base/metrics.h) as members of a JSON page. */
#ifndef WEIR_ROUTER_ADMIN_PAGE_METRICS_H
#define WEIR_ROUTER_ADMIN_PAGE_METRICS_H

#include "base/buffer.h"
#include "base/metrics.h"

/* Every metric of the group; `values` is the group's struct. */
void page_write_metrics(struct buffer *out, enum metric_group_id group, const void *values);

/* One metric by the values of its last label, as an object; a label of NULL is left out. */
void page_write_labelled(struct buffer *out, enum metrics_partition_by which,
                         const char *const labels[], const int64_t values[], size_t count);

#endif
