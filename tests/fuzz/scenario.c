/* Scenario files: refused with one line that names the file, or read; and paths that set values. */
#include <stdlib.h>

#include "lab/scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scenario *s = must_calloc(1, sizeof *s);
    struct document d;
    struct buffer error = {0};
    enum status status = document_parse(&d, "f", slice_make(data, size), &error);
    if (status == STATUS_OK)
        status = scenario_read(&d, NULL, s, &error);
    for (uint32_t i = 0; status == STATUS_OK && i < s->policy_count; i++) {
        const struct scenario_policy p = s->policies[i];
        if (scenario_choose(&p, &d, &error) == STATUS_OK)
            (void)scenario_read(&d, NULL, s, &error);
        buffer_clear(&error);
    }
    if (status != STATUS_OK)
        must(slice_starts_with(buffer_slice(&error), slice_of("f:")));
    document_deinit(&d);
    buffer_deinit(&error);
    free(s);
    return 0;
}
