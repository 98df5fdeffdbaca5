/* body.c - sizes of packed bodies; unpacks and parses large ones. */
#include "router/core/body.h"

#include "base/settings/http.h"

enum {
    UNPACKED_FREE = 1 << 20, /* any body may unpack to so many bytes: enough for the largest item */
    UNPACKED_RATIO_MAX = 64, /* a larger body to so many times its size; JSON reaches about 10 */
};

size_t body_unpacked_max(const struct config *config, size_t packed)
{
    size_t by_ratio = packed * UNPACKED_RATIO_MAX;
    size_t most = MAX(by_ratio, UNPACKED_FREE);
    size_t body_max = (size_t)config_http(config)->http_body_max_bytes;
    return MIN(most, body_max);
}

bool body_refuse(struct fault *f, const struct config *config, enum content_coding coding,
                 size_t unpacked_max, enum status refused)
{
    if (refused == STATUS_TOO_LARGE)
        return fault_set(f, FAULT_TOO_LARGE, "%s",
                         unpacked_max < (size_t)config_http(config)->http_body_max_bytes
                             ? "The body decompresses to more than 1 MiB and 64 times its size"
                             : "The body decompresses to more than http_body_max_bytes");
    return fault_set(f, FAULT_SERIALIZATION, "%s",
                     coding == CODING_GZIP ? "The body is not gzip"
                                           : "The body is not deflate (zlib)");
}

/* ---- beside the loop ---- */

static bool body_parse(struct body *b)
{
    b->json = json_parser_create();
    if (json_parse(b->json, buffer_slice(&b->text), &b->root) == STATUS_OK) {
        json_parser_trim(b->json);
        return true;
    }
    json_parser_destroy(b->json);
    b->json = NULL;
    return false;
}

void body_run(void *body)
{
    struct body *b = body;
    if (b->coding != CODING_IDENTITY) {
        b->unpacked = coding_unpack(&b->text, b->coding, buffer_slice(&b->packed), b->unpacked_max);
        buffer_deinit(&b->packed);
        body_pad(&b->text);
    }
    if (b->unpacked != STATUS_OK || !body_parse(b))
        buffer_deinit(&b->text);
}

size_t body_held(const struct body *b)
{
    return b->packed.capacity + b->text.capacity +
           (b->json != NULL ? json_parser_held(b->json) : 0);
}

void body_deinit(struct body *b)
{
    json_parser_destroy(b->json);
    buffer_deinit(&b->packed);
    buffer_deinit(&b->text);
    *b = (struct body){0};
}
