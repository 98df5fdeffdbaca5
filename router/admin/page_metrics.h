/* page_metrics.h - writes metrics of the registry (base/metrics.h) as members of a JSON page. */
#pragma once

#include "base/buffer.h"
#include "base/metrics.h"

/* Writes every metric of the group. `values` is the group's struct. */
void page_write_metrics(struct buffer *out, enum metric_group_id group, const void *values);

/* Writes one metric as an object, with a member for each value of its last label. A label of NULL
 * is left out. */
void page_write_labelled(struct buffer *out, enum metric_by_label which, const char *const labels[],
                         const int64_t values[], size_t count);
