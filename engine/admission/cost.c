/* cost.c - the cost of a request, by the bytes that it reads or writes. */
#include "base/buffer.h"
#include "engine/admission/admission.h"

enum {
    READ_STEP = 4096,
    WRITE_STEP = 1024
};

static int64_t cost_units_of(int64_t size_bytes, int64_t step)
{
    must(size_bytes >= 0);
    int64_t units = size_bytes / step + (size_bytes % step != 0);
    return units == 0 ? 1 : units;
}

int64_t read_cost_mcu(int64_t size_bytes, bool consistent)
{
    return cost_units_of(size_bytes, READ_STEP) * (consistent ? MCU_PER_UNIT : MCU_PER_UNIT / 2);
}

int64_t write_cost_mcu(int64_t size_bytes)
{
    return cost_units_of(size_bytes, WRITE_STEP) * MCU_PER_UNIT;
}
