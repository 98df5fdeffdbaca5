/* long_key.c - keys that are too long for LMDB: reads and rewrites buckets. */
#include "engine/store/long_key.h"

#include "engine/store/backing.h"

bool bucket_at(struct slice bucket, size_t at, struct bucket_entry *out)
{
    if (at >= bucket.size)
        return false;
    struct reader r = {slice_make(bucket.data + at, bucket.size - at), false};
    out->key = reader_sized(&r);
    out->value = reader_sized(&r);
    out->start = at;
    out->end = bucket.size - r.left.size;
    return !r.failed;
}

bool bucket_seek(struct slice bucket, struct slice key, struct bucket_entry *out)
{
    for (size_t at = 0; bucket_at(bucket, at, out); at = out->end) {
        if (slice_compare(out->key, key) >= 0)
            return true;
    }
    return false;
}

bool bucket_seek_before(struct slice bucket, struct slice key, struct bucket_entry *out)
{
    bool found = false;
    struct bucket_entry e;
    for (size_t at = 0; bucket_at(bucket, at, &e); at = e.end) {
        if (key.size > 0 && slice_compare(e.key, key) >= 0)
            break;
        *out = e;
        found = true;
    }
    return found;
}

void bucket_change(struct slice bucket, size_t *from, struct slice key, struct slice value,
                   struct buffer *out)
{
    struct bucket_entry e;
    size_t at = *from;
    must(at <= bucket.size);
    while (bucket_at(bucket, at, &e) && slice_compare(e.key, key) < 0)
        at = e.end;
    buffer_append(out, bucket.data + *from, at - *from);
    *from = bucket_at(bucket, at, &e) && slice_equal(e.key, key) ? e.end : at;
    if (value.data != NULL) {
        buffer_append_sized(out, key);
        buffer_append_sized(out, value);
    }
}

void bucket_append_rest(struct slice bucket, size_t from, struct buffer *out)
{
    must(from <= bucket.size);
    buffer_append(out, bucket.data + from, bucket.size - from);
}

uint32_t bucket_erase(struct slice bucket, struct slice lo, struct slice hi, struct buffer *out,
                      uint64_t *cost)
{
    uint32_t erased = 0;
    struct bucket_entry e;
    for (size_t at = 0; bucket_at(bucket, at, &e); at = e.end) {
        bool inside =
            slice_compare(e.key, lo) >= 0 && (hi.size == 0 || slice_compare(e.key, hi) < 0);
        if (inside) {
            erased++;
            *cost += erase_cost(e.key.size, e.value.size);
        } else {
            buffer_append(out, bucket.data + e.start, e.end - e.start);
        }
    }
    return erased;
}
