/* limiter_bucket.c - items that a client has written where buckets are: what reads as a bucket is
 * written as an item that reads as the same bucket. The input is an item's attributes. Seeds:
 * tests/fuzz/seeds/limiter_bucket. */
#include "engine/limiter/bucket_internal.h"
#include "tests/support/sealed_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bucket(struct slice item, const struct limiter_bucket *b)
{
    struct buffer first = {0}, second = {0};
    struct limiter_bucket again;
    limiter_bucket_encode(item, b, &first);
    must(item_check(buffer_slice(&first)) == STATUS_OK);
    must(limiter_bucket_decode(buffer_slice(&first), &again));
    must(again.limits.count == b->limits.count);
    must(again.reserved_count == b->reserved_count);
    limiter_bucket_encode(item, &again, &second);
    must(slice_equal(buffer_slice(&first), buffer_slice(&second)));
    buffer_deinit(&first);
    buffer_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer item = {0};
    struct limiter_bucket b;
    if (sealed_item(slice_make(data, size), &item)) {
        must(item_is_readable(buffer_slice(&item)));
        if (item_check(buffer_slice(&item)) == STATUS_OK &&
            limiter_bucket_decode(buffer_slice(&item), &b))
            check_bucket(buffer_slice(&item), &b);
    }
    buffer_deinit(&item);
    return 0;
}
