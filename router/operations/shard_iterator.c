/* shard_iterator.c - shard iterators as texts. */
#include "router/operations/shard_iterator.h"

#include <xxhash.h>

#include "base/codec.h"
#include "router/json/base64.h"

enum {
    BODY_SIZE = 40,
    CHECKED_SIZE = BODY_SIZE - 8,
    TEXT_SIZE = (BODY_SIZE + 2) / 3 * 4
};

static const char middle[] = "|1|";

static void iterator_walk(struct codec *c, struct shard_iterator *i)
{
    codec_u32(c, &i->partition);
    codec_u64(c, &i->epoch);
    codec_u64(c, &i->index);
    codec_u32(c, &i->place);
    codec_i64(c, &i->made_ms, 0, INT64_MAX);
}

static uint64_t iterator_checksum(struct slice arn, const uint8_t body[CHECKED_SIZE])
{
    return XXH3_64bits_withSeed(body, CHECKED_SIZE, XXH3_64bits(arn.data, arn.size));
}

void shard_iterator_append(struct buffer *out, const struct shard_iterator *i)
{
    struct buffer body = {0};
    struct shard_iterator copy = *i;
    iterator_walk(&(struct codec){.out = &body}, &copy);
    must(body.size == CHECKED_SIZE);
    buffer_append_u64(&body, iterator_checksum(i->arn, body.data));
    buffer_append_slice(out, i->arn);
    buffer_append_text(out, middle);
    base64_append(out, buffer_slice(&body));
    buffer_deinit(&body);
}

bool shard_iterator_read(struct slice text, struct shard_iterator *out)
{
    uint8_t body[TEXT_SIZE];
    const size_t tail = TEXT_SIZE + sizeof middle - 1;
    if (text.size <= tail || text.size > SHARD_ITERATOR_SIZE_MAX)
        return false;
    const struct slice arn = slice_make(text.data, text.size - tail);
    const struct slice coded = slice_make(text.data + text.size - TEXT_SIZE, TEXT_SIZE);
    if (memcmp(arn.data + arn.size, middle, sizeof middle - 1) != 0 ||
        base64_check(coded) != BASE64_OK || base64_decode(coded, body) != BODY_SIZE)
        return false;
    struct reader r = {slice_make(body, BODY_SIZE), false};
    *out = (struct shard_iterator){0};
    iterator_walk(&(struct codec){.in = &r}, out);
    out->arn = arn;
    return reader_u64(&r) == iterator_checksum(arn, body) && !r.failed;
}
