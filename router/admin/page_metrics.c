/* page_metrics.c - takes names and units from the registry, values from the caller. */
#include "router/admin/page_metrics.h"

#include "router/json/json_writer.h"

static void page_write_value(struct buffer *out, const char *name, enum metric_unit unit,
                             int64_t value)
{
    if (unit == METRIC_MCU || unit == METRIC_MCU_PER_S)
        json_member_thousandths(out, name, value);
    else
        json_member_integer(out, name, value);
}

void page_write_metrics(struct buffer *out, enum metric_group_id group, const void *values)
{
    const struct metric_group *g = &metric_groups[group];
    for (size_t i = 0; i < g->count; i++) {
        int64_t value;
        memcpy(&value, (const char *)values + i * sizeof value, sizeof value);
        page_write_value(out, g->metrics[i].name, g->metrics[i].unit, value);
    }
}

void page_write_labelled(struct buffer *out, enum metric_by_label which, const char *const labels[],
                         const int64_t values[], size_t count)
{
    const struct metric *metric = &metric_groups[METRICS_OF_PARTITION_BY].metrics[which];
    json_member_open(out, metric->name, '{');
    for (size_t i = 0; i < count; i++)
        if (labels[i] != NULL)
            page_write_value(out, labels[i], metric->unit, values[i]);
    json_write_close(out, '}');
}
