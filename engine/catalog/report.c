/* report.c - what a node tells the catalog's leader about itself, as bytes. */
#include "engine/catalog/report.h"

#include "engine/catalog/table.h"

/* Limits under which sums never overflow: a petabyte, and a century of the largest cluster. */
static const int64_t stored_max = INT64_C(1) << 50;
static const int64_t total_max = INT64_C(1) << 60;

static void node_report_walk(struct codec *c, struct node_report *r)
{
    codec_u32(c, &r->node);
    codec_check(c, r->node >= 1 && r->node <= NODES_MAX);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        codec_i64(c, &r->capacity_mcu[kind], 0, total_max);
        codec_i64(c, &r->consumed_mcu[kind], 0, total_max);
    }
}

void node_report_encode(struct buffer *out, const struct node_report *r)
{
    struct node_report copy = *r;
    node_report_walk(&(struct codec){.out = out}, &copy);
}

enum status node_report_decode(struct reader *r, struct node_report *out)
{
    struct codec c = {.in = r};
    node_report_walk(&c, out);
    return codec_status(&c);
}

static void partition_report_walk(struct codec *c, struct partition_report *r)
{
    codec_u32(c, &r->table_id);
    codec_u32(c, &r->partition);
    codec_u64(c, &r->member);
    codec_u64(c, &r->epoch);
    codec_i64(c, &r->items, -1, stored_max);
    codec_i64(c, &r->bytes, -1, stored_max);
    codec_check(c, (r->items < 0) == (r->bytes < 0) && raft_member_node(r->member) != 0);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        struct load_total *t = &r->totals[kind];
        codec_i64(c, &t->consumed_mcu, 0, total_max);
        codec_i64(c, &t->refused_mcu, 0, total_max);
        for (int reason = ADMIT_OK + 1; reason < ADMIT_REASONS; reason++)
            codec_i64(c, &t->refused[reason], 0, total_max);
        codec_i64(c, &r->excess_ms[kind], 0, total_max);
    }
}

void partition_report_encode(struct buffer *out, const struct partition_report *r)
{
    struct partition_report copy = *r;
    partition_report_walk(&(struct codec){.out = out}, &copy);
}

enum status partition_report_decode(struct reader *r, struct partition_report *out)
{
    struct codec c = {.in = r};
    *out = (struct partition_report){0};
    partition_report_walk(&c, out);
    return codec_status(&c);
}
