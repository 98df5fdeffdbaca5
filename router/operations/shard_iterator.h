/* shard_iterator.h - shard iterators: texts that say where to read a shard on.
 *
 *   ARN of the stream|1|base64 of: u32 partition | u64 epoch | u64 index | u32 place | i64 ms since
 *   1970 when it was made | u64 XXH3 of the ARN and of these bytes
 *
 * The checksum finds texts that were cut or changed. It keeps no secret: whoever may read the
 * stream may read all of it. An iterator names no node, so it survives moves, splits and restarts.
 * */
#pragma once

#include "base/buffer.h"

enum {
    SHARD_ITERATOR_SIZE_MAX = 2048,
    SHARD_ITERATOR_MS = 15 * 60000 /* then it has expired */
};

struct shard_iterator {
    struct slice arn; /* of the stream; lends from the text */
    uint32_t partition;
    uint64_t epoch;
    uint64_t index; /* as in REQUEST_RECORDS */
    uint32_t place;
    int64_t made_ms;
};

void shard_iterator_append(struct buffer *out, const struct shard_iterator *i);
/* False: the text is no iterator. */
bool shard_iterator_read(struct slice text, struct shard_iterator *out);
