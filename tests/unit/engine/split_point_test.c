/* split_point_test.c - advice as bytes. Where a partition is split: split_point_cases_test.c. */
#include "engine/heat/split_point.h"
#include "tests/check.h"

static struct split_advice advice_of(enum split_verdict verdict)
{
    struct split_advice a = {.verdict = verdict, .samples = 12345};
    if (verdict == SPLIT_REFUSED_POPULAR_KEY || verdict == SPLIT_REFUSED_COLLECTION) {
        a.key = slice_of("key");
        a.key_share_ppm = 700000;
    }
    if (verdict != SPLIT_ADVISED)
        return a;
    a.point_count = 2;
    a.points[0] = slice_of("b");
    a.points[1] = slice_of("bc");
    for (int kind = 0; kind < SPLIT_KINDS; kind++) {
        a.share_ppm[kind][0] = 200000;
        a.share_ppm[kind][1] = 300000;
        a.share_ppm[kind][2] = 500000;
        a.served_before_mcu[kind] = 1000 + kind;
        a.served_after_mcu[kind] = 2000 + kind;
        a.key_served_mcu[kind] = 500 + kind;
    }
    a.key = slice_of("b");
    a.key_share_ppm = 200000;
    return a;
}

TEST(advice_survives_its_bytes_and_no_part_of_them_decodes)
{
    struct buffer bytes = {0}, again = {0};
    for (enum split_verdict v = 0; v < SPLIT_VERDICTS; v++) {
        struct split_advice a = advice_of(v), b;
        buffer_clear(&bytes);
        buffer_clear(&again);
        split_advice_encode(&bytes, &a);
        assert_int_equal(split_advice_decode(buffer_slice(&bytes), &b), STATUS_OK);
        split_advice_encode(&again, &b);
        assert_true(slice_equal(buffer_slice(&bytes), buffer_slice(&again)));
        assert_int_equal(b.samples, 12345);
        assert_int_equal(b.point_count, a.point_count);
        for (size_t size = 0; size < bytes.size; size++)
            assert_int_equal(split_advice_decode(slice_make(bytes.data, size), &b),
                             STATUS_MALFORMED);
        buffer_append_u8(&bytes, 0);
        assert_int_equal(split_advice_decode(buffer_slice(&bytes), &b), STATUS_MALFORMED);
    }
    buffer_deinit(&bytes);
    buffer_deinit(&again);
}

static void assert_malformed(const struct split_advice *a)
{
    struct buffer bytes = {0};
    struct split_advice b;
    split_advice_encode(&bytes, a);
    assert_int_equal(split_advice_decode(buffer_slice(&bytes), &b), STATUS_MALFORMED);
    buffer_deinit(&bytes);
}

TEST(advice_that_makes_no_sense_does_not_decode)
{
    struct split_advice a = advice_of(SPLIT_ADVISED);
    a.points[1] = slice_of("b"); /* not ascending */
    assert_malformed(&a);
    a.points[1] = slice_of("a");
    assert_malformed(&a);
    a = advice_of(SPLIT_ADVISED);
    a.points[0] = slice_of("");
    assert_malformed(&a);
    a = advice_of(SPLIT_ADVISED);
    a.point_count = 0;
    assert_malformed(&a);
    a = advice_of(SPLIT_ADVISED);
    a.share_ppm[ADMIT_WRITE][1]--; /* not whole */
    assert_malformed(&a);
    a.share_ppm[ADMIT_WRITE][0] = UINT32_MAX;
    assert_malformed(&a);
    a = advice_of(SPLIT_ADVISED);
    a.served_after_mcu[ADMIT_WRITE] = -1;
    assert_malformed(&a);
    a = advice_of(SPLIT_REFUSED_POPULAR_KEY);
    a.key_share_ppm = SPLIT_WHOLE_PPM + 1;
    assert_malformed(&a);
    a = advice_of(SPLIT_REFUSED_COLLECTION);
    a.key = slice_of("");
    assert_malformed(&a);
    a = advice_of(SPLIT_REFUSED_NO_BENEFIT);
    a.samples = -1;
    assert_malformed(&a);
    a = advice_of(SPLIT_REFUSED_NO_BENEFIT);
    a.verdict = SPLIT_VERDICTS;
    assert_malformed(&a);
}
