/* split.c - a partition cut into several: what is asked of the catalog, and what the catalog then
 * asks of the partition's group; as bytes. */
#include "engine/catalog/split.h"

#include "base/must.h"
#include "engine/admission/admission.h"

_Static_assert((int)SPLIT_KINDS == (int)ADMIT_KINDS, "a share for each kind");

void table_split_encode(struct buffer *out, const struct table_split *s)
{
    buffer_append_u32(out, s->table_id);
    buffer_append_u32(out, s->partition);
    buffer_append_u64(out, s->epoch);
    buffer_append_u8(out, (uint8_t)s->cut_count);
    for (uint32_t i = 0; i < s->cut_count; i++)
        buffer_append_sized(out, s->cuts[i]);
    for (uint32_t kind = 0; kind < SPLIT_KINDS; kind++) {
        for (uint32_t i = 0; i <= s->cut_count; i++)
            buffer_append_u32(out, s->share_ppm[kind][i]);
    }
}

static void split_decode_cuts(struct reader *r, struct table_split *out)
{
    for (uint32_t i = 0; i < out->cut_count && !r->failed; i++) {
        out->cuts[i] = reader_sized(r);
        if (out->cuts[i].size == 0 || out->cuts[i].size > STORAGE_KEY_SIZE_MAX ||
            (i > 0 && slice_compare(out->cuts[i - 1], out->cuts[i]) >= 0))
            r->failed = true;
    }
}

enum status table_split_decode(struct slice bytes, struct table_split *out)
{
    struct reader r = {bytes, false};
    *out = (struct table_split){0};
    out->table_id = reader_u32(&r);
    out->partition = reader_u32(&r);
    out->epoch = reader_u64(&r);
    out->cut_count = reader_u8(&r);
    if (r.failed || out->cut_count == 0 || out->cut_count > SPLIT_CUTS_MAX)
        return STATUS_MALFORMED;
    split_decode_cuts(&r, out);
    for (uint32_t kind = 0; kind < SPLIT_KINDS; kind++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i <= out->cut_count; i++)
            sum += out->share_ppm[kind][i] = reader_u32(&r);
        if (sum > SPLIT_WHOLE_PPM)
            r.failed = true;
    }
    return r.failed || r.left.size > 0 ? STATUS_MALFORMED : STATUS_OK;
}

void table_split_share_equally(struct table_split *s)
{
    for (uint32_t kind = 0; kind < SPLIT_KINDS; kind++) {
        for (uint32_t i = 0; i <= s->cut_count; i++)
            s->share_ppm[kind][i] = SPLIT_WHOLE_PPM / (s->cut_count + 1);
    }
}

void partition_split_encode(struct buffer *out, const struct partition_split *s)
{
    must(s->child_count > 0 && s->child_count <= SPLIT_CUTS_MAX);
    partition_info_encode(out, &s->parent);
    buffer_append_u8(out, (uint8_t)s->child_count);
    for (uint32_t i = 0; i < s->child_count; i++)
        partition_info_encode(out, &s->children[i]);
}

enum status partition_split_decode(struct slice bytes, struct partition_split *out)
{
    struct reader r = {bytes, false};
    if (partition_info_decode(&r, &out->parent) != STATUS_OK)
        return STATUS_MALFORMED;
    out->child_count = reader_u8(&r);
    if (r.failed || out->child_count == 0 || out->child_count > SPLIT_CUTS_MAX)
        return STATUS_MALFORMED;
    struct slice at = out->parent.hi;
    uint64_t shares[SPLIT_KINDS] = {0};
    for (uint32_t i = 0; i < out->child_count; i++) {
        struct partition_info *child = &out->children[i];
        bool valid = partition_info_decode(&r, child) == STATUS_OK && at.size > 0 &&
                     slice_equal(child->lo, at) && child->parent == out->parent.id &&
                     child->id > out->parent.id;
        if (!valid)
            return STATUS_MALFORMED;
        at = child->hi;
        for (uint32_t kind = 0; kind < SPLIT_KINDS; kind++) {
            shares[kind] += child->share_ppm[kind];
            if (shares[kind] > SPLIT_WHOLE_PPM)
                return STATUS_MALFORMED;
        }
    }
    return r.failed || r.left.size > 0 ? STATUS_MALFORMED : STATUS_OK;
}

void partition_split_shares(const struct partition_split *s, uint32_t kind,
                            uint32_t share_ppm[SPLIT_CUTS_MAX + 1])
{
    share_ppm[0] = SPLIT_WHOLE_PPM;
    for (uint32_t i = 0; i < s->child_count; i++) {
        share_ppm[i + 1] = s->children[i].share_ppm[kind];
        share_ppm[0] -= share_ppm[i + 1];
    }
}
