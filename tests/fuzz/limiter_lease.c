/* limiter_lease.c - texts as leases of the rate limiter. What is read is written as the same text.
 * The text is also taken as the bytes of a lease, so that the checksum keeps nothing out. */
#include "base/must.h"
#include "router/limiter/app_lease.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_and_write(struct slice text)
{
    struct arena arena = {0};
    struct app_lease lease;
    struct buffer again = {0};
    if (app_lease_read(&arena, text, &lease)) {
        app_lease_write(&again, &lease);
        must(slice_equal(buffer_slice(&again), text));
    }
    buffer_deinit(&again);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer bytes = {0}, text = {0};
    read_and_write(slice_make(data, size));
    buffer_append(&bytes, data, size);
    buffer_append_u64(&bytes, XXH3_64bits(data, size));
    app_lease_append_base64url(&text, buffer_slice(&bytes));
    read_and_write(buffer_slice(&text));
    buffer_deinit(&bytes);
    buffer_deinit(&text);
    return 0;
}
