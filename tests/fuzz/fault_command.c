/* Any line to the admin port: taken within its limits, or refused in printable words. */
#include "base/must.h"
#include "server/host/faults.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fault_command c;
    struct buffer error = {0};
    if (fault_command_parse(slice_make(data, size), &c, &error) == STATUS_OK) {
        must(c.verb <= FAULT_HELP);
        must(c.cut <= (LINK_CUT_IN | LINK_CUT_OUT));
        must(c.number >= -FAULTS_SKEW_MS_MAX);
        must(c.number <= FAULTS_SKEW_MS_MAX);
        must(size <= FAULTS_LINE_SIZE_MAX);
    } else {
        must(error.size > 0);
    }
    for (size_t i = 0; i < error.size; i++)
        must(error.data[i] >= 0x20);
    buffer_deinit(&error);
    return 0;
}
