/* change_set.c - a write's log entry, from another node: a set that can be read is written again as
 * the same bytes. */
#include "engine/store/change_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct change_set set;
    struct change c;
    struct buffer out = {0};
    if (!change_set_open(slice_make(data, size), &set))
        return 0;
    change_set_begin(&out, set.cost_mcu, set.burst);
    while (change_set_next(&set, &c))
        change_set_append(&out, &c);
    must(out.size == size && memcmp(out.data, data, size) == 0);
    buffer_deinit(&out);
    return 0;
}
