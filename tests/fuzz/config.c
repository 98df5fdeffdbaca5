/* Settings from a file: refused with one line that says where, or taken within their limits. */
#include "base/config.h"
#include "base/must.h"
#include "base/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_limits(const struct config *c)
{
#define X(name, initial, least, most, help) \
    must(config_all(c)->name >= (least) && config_all(c)->name <= (most));
    SETTINGS_LIST(X)
#undef X
    must((unsigned)c->profile <= PROFILE_RESEARCH);
    must(memchr(c->partition_policy, '\0', sizeof c->partition_policy) != NULL);
    must(c->partition_policy[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config c;
    struct buffer error = {0};
    config_init(&c, PROFILE_AWS);
    enum status status = config_parse(&c, slice_make(data, size), &error);
    check_limits(&c);
    if (status == STATUS_OK)
        must(error.size == 0);
    else
        must(slice_starts_with(buffer_slice(&error), slice_of("line ")));
    for (size_t i = 0; i < error.size; i++)
        must(error.data[i] >= 0x20);
    buffer_deinit(&error);
    return 0;
}
