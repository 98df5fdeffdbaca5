/* region.c - any text as an Authorization header: the region found is valid and borrowed from it.
 * */
#include "router/http/region.h"
#include "base/buffer.h"
#include "base/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char SCOPE_END[] = "/dynamodb/aws4_request";

static bool inside(struct slice part, struct slice whole)
{
    return part.data > whole.data && part.data + part.size <= whole.data + whole.size;
}

/* The header with another region has that one. */
static void check_replaced(struct slice text, struct slice region, const char *other)
{
    struct buffer b = {0};
    const size_t at = (size_t)(region.data - text.data);
    buffer_append(&b, text.data, at);
    buffer_append_text(&b, other);
    buffer_append(&b, region.data + region.size, text.size - at - region.size);
    const struct slice found = region_of_authorization(buffer_slice(&b));
    must(region_is_valid(slice_of(other)) ? slice_is(found, other) : found.size == 0);
    buffer_deinit(&b);
}

/* Elements behind the credential change nothing. */
static void check_longer(struct slice text, struct slice region)
{
    struct buffer b = {0};
    buffer_append_slice(&b, text);
    buffer_append_text(&b, ",Credential=K/1/x/dynamodb/aws4_request");
    must(slice_equal(region_of_authorization(buffer_slice(&b)), region));
    buffer_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct slice text = slice_make(data, size);
    const struct slice region = region_of_authorization(text);
    if (region.size == 0)
        return 0;
    must(inside(region, text));
    must(region_is_valid(region));
    must(region.data[-1] == '/');
    const size_t at = (size_t)(region.data - data);
    must(slice_starts_with(slice_make(region.data + region.size, size - at - region.size),
                           slice_of(SCOPE_END)));
    check_replaced(text, region, "eu-central-1");
    check_replaced(text, region, "Eu");
    check_replaced(text, region, "");
    check_longer(text, region);
    return 0;
}
