/* Any text as a host: read within its bounds, whatever its case; a public name never passes. */
#include <ctype.h>

#include "base/buffer.h"
#include "base/must.h"
#include "router/http/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[HTTP_HOST_MAX], other[HTTP_HOST_MAX], again[HTTP_HOST_MAX];
    struct buffer upper = {0}, public = {0};
    const struct slice text = slice_make(data, size);
    const enum host_kind kind = host_read(text, name);
    must(memchr(name, '\0', sizeof name) != NULL);
    must((kind == HOST_MALFORMED) == (name[0] == '\0'));
    must(kind == HOST_IPV6 || strpbrk(name, ":[]") == NULL);
    for (size_t i = 0; i < size; i++)
        buffer_append_u8(&upper, (uint8_t)toupper(data[i]));
    must(host_read(buffer_slice(&upper), other) == kind);
    must(strcmp(name, other) == 0);
    must(host_passes(buffer_slice(&upper), "") == host_passes(text, ""));
    if (kind == HOST_NAME)
        must(host_read(slice_of(name), again) != HOST_MALFORMED || name[strlen(name) - 1] == '.');
    buffer_append_slice(&public, slice_of(name));
    buffer_append_text(&public, ".evil.example");
    must(!host_passes(buffer_slice(&public), ""));
    must(host_passes(text, "*") == (size == 0 || kind != HOST_MALFORMED));
    buffer_deinit(&upper);
    buffer_deinit(&public);
    return 0;
}
