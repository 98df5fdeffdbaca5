/* report.c - what a node tells the catalog's leader about itself, as bytes. */
#include "engine/catalog/report.h"

#include "engine/catalog/table.h"

/* Sums of many never overflow: a petabyte, or what the largest cluster consumes in a century. */
static const int64_t stored_max = INT64_C(1) << 50;
static const int64_t total_max = INT64_C(1) << 60;

/* Anything outside is damage. */
static int64_t report_amount(struct reader *r, int64_t least, int64_t most)
{
    int64_t value = (int64_t)reader_u64(r);
    if (value < least || value > most)
        r->failed = true;
    return value;
}

void node_report_encode(struct buffer *out, const struct node_report *r)
{
    buffer_append_u32(out, r->node);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        buffer_append_u64(out, (uint64_t)r->capacity_mcu[kind]);
        buffer_append_u64(out, (uint64_t)r->consumed_mcu[kind]);
    }
}

enum status node_report_decode(struct reader *r, struct node_report *out)
{
    out->node = reader_u32(r);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        out->capacity_mcu[kind] = report_amount(r, 0, total_max);
        out->consumed_mcu[kind] = report_amount(r, 0, total_max);
    }
    if (out->node == 0 || out->node > NODES_MAX)
        r->failed = true;
    return r->failed ? STATUS_MALFORMED : STATUS_OK;
}

void partition_report_encode(struct buffer *out, const struct partition_report *r)
{
    buffer_append_u32(out, r->table_id);
    buffer_append_u32(out, r->partition);
    buffer_append_u64(out, r->member);
    buffer_append_u64(out, r->epoch);
    buffer_append_u64(out, (uint64_t)r->items);
    buffer_append_u64(out, (uint64_t)r->bytes);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        const struct load_total *t = &r->totals[kind];
        buffer_append_u64(out, (uint64_t)t->consumed_mcu);
        buffer_append_u64(out, (uint64_t)t->refused_mcu);
        for (int reason = ADMIT_OK + 1; reason < ADMIT_REASONS; reason++)
            buffer_append_u64(out, (uint64_t)t->refused[reason]);
        buffer_append_u64(out, (uint64_t)r->excess_ms[kind]);
    }
}

enum status partition_report_decode(struct reader *r, struct partition_report *out)
{
    *out = (struct partition_report){0};
    out->table_id = reader_u32(r);
    out->partition = reader_u32(r);
    out->member = reader_u64(r);
    out->epoch = reader_u64(r);
    out->items = report_amount(r, -1, stored_max);
    out->bytes = report_amount(r, -1, stored_max);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        struct load_total *t = &out->totals[kind];
        t->consumed_mcu = report_amount(r, 0, total_max);
        t->refused_mcu = report_amount(r, 0, total_max);
        for (int reason = ADMIT_OK + 1; reason < ADMIT_REASONS; reason++)
            t->refused[reason] = report_amount(r, 0, total_max);
        out->excess_ms[kind] = report_amount(r, 0, total_max);
    }
    if ((out->items < 0) != (out->bytes < 0) || raft_member_node(out->member) == 0)
        r->failed = true;
    return r->failed ? STATUS_MALFORMED : STATUS_OK;
}
