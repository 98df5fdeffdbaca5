/* split.c - the requests of a split as bytes, and shares of a load. */
#include "engine/catalog/split.h"

_Static_assert((int)SPLIT_KINDS == (int)ADMIT_KINDS, "a share for each kind");

static void table_split_walk(struct codec *c, struct table_split *s)
{
    codec_u32(c, &s->table_id);
    codec_u32(c, &s->partition);
    codec_u64(c, &s->epoch);
    codec_count(c, &s->point_count, 1, SPLIT_POINTS_MAX);
    split_points_walk(c, s->point_count, s->points, s->share_ppm, 0);
}

CODEC_ENCODE(table_split)
CODEC_DECODE_ALL(table_split)

void table_split_share_equally(struct table_split *s)
{
    for (uint32_t kind = 0; kind < SPLIT_KINDS; kind++) {
        for (uint32_t i = 0; i <= s->point_count; i++)
            s->share_ppm[kind][i] = SPLIT_WHOLE_PPM / (s->point_count + 1);
    }
}

/* The children follow the parent in key order, without a gap. */
static void children_walk(struct codec *c, struct partition_split *s)
{
    struct slice at = s->parent.hi;
    uint64_t shares[SPLIT_KINDS] = {0};
    for (uint32_t i = 0; i < s->child_count && !codec_failed(c); i++) {
        struct partition_info *child = &s->children[i];
        partition_info_walk(c, child);
        codec_check(c, at.size > 0 && slice_equal(child->lo, at) && child->parent == s->parent.id &&
                           child->id > s->parent.id);
        at = child->hi;
        for (uint32_t kind = 0; kind < SPLIT_KINDS; kind++) {
            shares[kind] += child->share_ppm[kind];
            codec_check(c, shares[kind] <= SPLIT_WHOLE_PPM);
        }
    }
}

static void partition_split_walk(struct codec *c, struct partition_split *s)
{
    partition_info_walk(c, &s->parent);
    must(codec_reads(c) || (s->child_count > 0 && s->child_count <= SPLIT_POINTS_MAX));
    codec_count(c, &s->child_count, 1, SPLIT_POINTS_MAX);
    children_walk(c, s);
}

CODEC_ENCODE(partition_split)
CODEC_DECODE_ALL(partition_split)

void partition_split_shares(const struct partition_split *s, uint32_t kind,
                            uint32_t share_ppm[SPLIT_POINTS_MAX + 1])
{
    share_ppm[0] = SPLIT_WHOLE_PPM;
    for (uint32_t i = 0; i < s->child_count; i++) {
        share_ppm[i + 1] = s->children[i].share_ppm[kind];
        share_ppm[0] -= share_ppm[i + 1];
    }
}
