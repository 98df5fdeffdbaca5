/* region.c - finds the region in a credential scope, from its end: a key id may have slashes. */
#include "router/http/region.h"

static const struct slice REGION_NONE = {NULL, 0};

bool region_is_valid(struct slice region)
{
    bool valid = region.size > 0 && region.size <= REGION_SIZE_MAX;
    for (size_t i = 0; i < region.size && valid; i++) {
        const uint8_t at = region.data[i];
        valid = (at >= 'a' && at <= 'z') || (at >= '0' && at <= '9') || at == '-';
    }
    return valid;
}

/* Takes the part behind the last slash off `rest`, and the slash. False: there is no slash. */
static bool region_cut_last(struct slice *rest, struct slice *part)
{
    const uint8_t *slash = rest->size == 0 ? NULL : memrchr(rest->data, '/', rest->size);
    if (slash == NULL)
        return false;
    const size_t before = (size_t)(slash - rest->data);
    *part = slice_make(slash + 1, rest->size - before - 1);
    rest->size = before;
    return true;
}

/* `rest`: KEY/DATE/REGION/dynamodb/aws4_request. */
static struct slice region_of_credential(struct slice rest)
{
    struct slice end, service, region, date;
    const bool whole = region_cut_last(&rest, &end) && region_cut_last(&rest, &service) &&
                       region_cut_last(&rest, &region) && region_cut_last(&rest, &date);
    return whole && slice_is(end, "aws4_request") && slice_is(service, "dynamodb") &&
                   region_is_valid(region)
               ? region
               : REGION_NONE;
}

struct slice region_of_authorization(struct slice value)
{
    static const struct slice NAME = {(const uint8_t *)"Credential=", 11};
    const struct slice scheme = slice_cut(&value, ' ');
    if (!slice_is(scheme, "AWS4-HMAC-SHA256"))
        return REGION_NONE;
    while (value.size > 0) {
        const struct slice element = slice_trimmed(slice_cut(&value, ','));
        if (slice_starts_with(element, NAME))
            return region_of_credential(
                slice_make(element.data + NAME.size, element.size - NAME.size));
    }
    return REGION_NONE;
}
