/* Advice from another node: what decodes makes sense, and encodes to the same bytes. */
#include "base/must.h"
#include "engine/heat/split_point.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct split_advice a;
    struct buffer out = {0};
    if (split_advice_decode(slice_make(data, size), &a) != STATUS_OK)
        return 0;
    must(a.verdict < SPLIT_VERDICTS);
    must((a.point_count > 0) == (a.verdict == SPLIT_ADVISED));
    for (uint32_t i = 1; i < a.point_count; i++)
        must(slice_compare(a.points[i - 1], a.points[i]) < 0);
    split_advice_encode(&out, &a);
    must(slice_equal(buffer_slice(&out), slice_make(data, size)));
    buffer_deinit(&out);
    return 0;
}
