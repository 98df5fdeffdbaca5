/* split_advice.c - advice as bytes.
 *
 *   u8 verdict | u64 samples
 *   POPULAR_KEY, COLLECTION:  u32 size, key | u32 share
 *   ADVISED:  u32 points | each point: u32 size, bytes | shares of reads, then of writes, u32 each
 *             | u32 size, key that is split out | u32 share
 *             | for reads, then for writes: u64 served before, u64 after, u64 of the key */
#include "base/limits.h"
#include "engine/heat/split_point.h"

static bool names_a_key(enum split_verdict v)
{
    return v == SPLIT_REFUSED_POPULAR_KEY || v == SPLIT_REFUSED_COLLECTION;
}

static bool is_key(struct slice key)
{
    return key.size > 0 && key.size <= STORAGE_KEY_SIZE_MAX;
}

void split_points_walk(struct codec *c, uint32_t count, struct slice points[SPLIT_POINTS_MAX],
                       uint32_t share_ppm[SPLIT_KINDS][SPLIT_POINTS_MAX + 1],
                       uint64_t total_ppm_min)
{
    for (uint32_t i = 0; i < count && !codec_failed(c); i++) {
        codec_sized(c, &points[i], STORAGE_KEY_SIZE_MAX);
        codec_check(c,
                    is_key(points[i]) && (i == 0 || slice_compare(points[i - 1], points[i]) < 0));
    }
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i <= count && !codec_failed(c); i++) {
            codec_u32(c, &share_ppm[kind][i]);
            sum += share_ppm[kind][i];
        }
        codec_check(c, sum >= total_ppm_min && sum <= SPLIT_WHOLE_PPM);
    }
}

static void advice_key_walk(struct codec *c, struct split_advice *a)
{
    codec_sized(c, &a->key, STORAGE_KEY_SIZE_MAX);
    codec_u32(c, &a->key_share_ppm);
    codec_check(c, a->key_share_ppm <= SPLIT_WHOLE_PPM);
}

static void split_advice_walk(struct codec *c, struct split_advice *a)
{
    a->verdict = (enum split_verdict)codec_choice(c, a->verdict, 0, SPLIT_VERDICTS - 1);
    codec_amount(c, &a->samples);
    if (codec_failed(c))
        return;
    if (names_a_key(a->verdict)) {
        advice_key_walk(c, a);
        codec_check(c, is_key(a->key));
    }
    if (a->verdict != SPLIT_ADVISED)
        return;
    codec_u32(c, &a->point_count);
    codec_check(c, a->point_count >= 1 && a->point_count <= SPLIT_POINTS_MAX);
    split_points_walk(c, a->point_count, a->points, a->share_ppm, SPLIT_WHOLE_PPM);
    advice_key_walk(c, a);
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        codec_amount(c, &a->served_before_mcu[kind]);
        codec_amount(c, &a->served_after_mcu[kind]);
        codec_amount(c, &a->key_served_mcu[kind]);
    }
}

CODEC_ENCODE(split_advice)
CODEC_DECODE_ALL(split_advice)
