/* split_advice.c - advice as bytes.
 *
 * u8 verdict, u64 samples; ADVISED: u32 cuts, each u32 size + bytes, then the shares of reads and
 * those of writes, u32 each, u32 size + key that is cut out, u32 share, and for reads and writes
 * u64 each: what is served before, afterwards, and of the key; POPULAR_KEY and COLLECTION: u32 size
 * + key, u32 share. */
#include "base/limits.h"
#include "base/must.h"
#include "engine/heat/split_point.h"

const char *split_verdict_name(enum split_verdict v)
{
    static const char *const names[SPLIT_VERDICTS] = {
        [SPLIT_ADVISED] = "advised",
        [SPLIT_REFUSED_FEW_SAMPLES] = "few-samples",
        [SPLIT_REFUSED_POPULAR_KEY] = "popular-key",
        [SPLIT_REFUSED_SEQUENTIAL] = "sequential",
        [SPLIT_REFUSED_COLLECTION] = "item-collection",
        [SPLIT_REFUSED_NO_BENEFIT] = "no-benefit",
    };
    must(v < SPLIT_VERDICTS);
    return names[v];
}

static bool names_a_key(enum split_verdict v)
{
    return v == SPLIT_REFUSED_POPULAR_KEY || v == SPLIT_REFUSED_COLLECTION;
}

void split_advice_encode(struct buffer *out, const struct split_advice *a)
{
    buffer_append_u8(out, (uint8_t)a->verdict);
    buffer_append_u64(out, (uint64_t)a->samples);
    if (names_a_key(a->verdict)) {
        buffer_append_sized(out, a->key);
        buffer_append_u32(out, a->key_share_ppm);
    }
    if (a->verdict != SPLIT_ADVISED)
        return;
    buffer_append_u32(out, a->cut_count);
    for (uint32_t i = 0; i < a->cut_count; i++)
        buffer_append_sized(out, a->cuts[i]);
    for (int kind = 0; kind < SPLIT_KINDS; kind++)
        for (uint32_t i = 0; i <= a->cut_count; i++)
            buffer_append_u32(out, a->share_ppm[kind][i]);
    buffer_append_sized(out, a->key);
    buffer_append_u32(out, a->key_share_ppm);
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        buffer_append_u64(out, (uint64_t)a->served_before_mcu[kind]);
        buffer_append_u64(out, (uint64_t)a->served_after_mcu[kind]);
        buffer_append_u64(out, (uint64_t)a->key_served_mcu[kind]);
    }
}

static bool is_key(struct slice key)
{
    return key.size > 0 && key.size <= STORAGE_KEY_SIZE_MAX;
}

static bool split_advice_decode_cuts(struct reader *r, struct split_advice *out)
{
    out->cut_count = reader_u32(r);
    if (out->cut_count == 0 || out->cut_count > SPLIT_CUTS_MAX)
        return false;
    for (uint32_t i = 0; i < out->cut_count; i++) {
        out->cuts[i] = reader_sized(r);
        if (!is_key(out->cuts[i]) || (i > 0 && slice_compare(out->cuts[i - 1], out->cuts[i]) >= 0))
            return false;
    }
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i <= out->cut_count; i++)
            sum += out->share_ppm[kind][i] = reader_u32(r);
        if (sum != SPLIT_WHOLE_PPM)
            return false;
    }
    return true;
}

static bool decode_gain(struct reader *r, struct split_advice *out)
{
    bool valid = true;
    out->key = reader_sized(r);
    out->key_share_ppm = reader_u32(r);
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        out->served_before_mcu[kind] = (int64_t)reader_u64(r);
        out->served_after_mcu[kind] = (int64_t)reader_u64(r);
        out->key_served_mcu[kind] = (int64_t)reader_u64(r);
        valid = valid && out->served_before_mcu[kind] >= 0 && out->served_after_mcu[kind] >= 0 &&
                out->key_served_mcu[kind] >= 0;
    }
    return valid && (out->key.size == 0 || is_key(out->key)) &&
           out->key_share_ppm <= SPLIT_WHOLE_PPM;
}

enum status split_advice_decode(struct slice bytes, struct split_advice *out)
{
    struct reader r = {bytes, false};
    *out = (struct split_advice){0};
    uint8_t verdict = reader_u8(&r);
    out->samples = (int64_t)reader_u64(&r);
    if (r.failed || verdict >= SPLIT_VERDICTS || out->samples < 0)
        return STATUS_MALFORMED;
    out->verdict = (enum split_verdict)verdict;
    if (names_a_key(out->verdict)) {
        out->key = reader_sized(&r);
        out->key_share_ppm = reader_u32(&r);
        if (!is_key(out->key) || out->key_share_ppm > SPLIT_WHOLE_PPM)
            return STATUS_MALFORMED;
    }
    if (out->verdict == SPLIT_ADVISED &&
        (!split_advice_decode_cuts(&r, out) || !decode_gain(&r, out)))
        return STATUS_MALFORMED;
    return r.failed || r.left.size > 0 ? STATUS_MALFORMED : STATUS_OK;
}
