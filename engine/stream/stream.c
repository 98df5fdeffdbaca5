/* stream.c - the records of a table's stream: their keys and values. */
#include "engine/stream/stream.h"

#include "base/big_endian.h"
#include "engine/item/storage_key.h"

/* ---- words and positions ---- */

void stream_latest_walk(struct codec *c, struct stream_latest *w)
{
    codec_u32(c, &w->id);
    w->view = codec_choice(c, w->view, STREAM_OFF, STREAM_BOTH_IMAGES);
    codec_check(c, w->id != 0 || w->view == STREAM_OFF);
}

void stream_position_walk(struct codec *c, struct stream_position *p)
{
    uint32_t place = p->place;
    codec_u32(c, &p->stream);
    codec_u64(c, &p->epoch);
    codec_u64(c, &p->index);
    codec_u32(c, &place);
    codec_check(c, place <= UINT16_MAX);
    p->place = (uint16_t)place;
}

static int number_compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int stream_position_compare(const struct stream_position *a, const struct stream_position *b)
{
    int order = number_compare(a->stream, b->stream);
    order = order != 0 ? order : number_compare(a->epoch, b->epoch);
    order = order != 0 ? order : number_compare(a->index, b->index);
    return order != 0 ? order : number_compare(a->place, b->place);
}

/* ---- values ---- */

static void event_walk(struct codec *c, enum stream_event *event, bool *by_service,
                       int64_t *wall_ms)
{
    *event = (enum stream_event)codec_choice(c, *event, STREAM_INSERT, STREAM_REMOVE);
    codec_bool(c, by_service);
    codec_i64(c, wall_ms, INT64_MIN, INT64_MAX);
}

static void change_walk(struct codec *c, struct stream_change *change)
{
    codec_u32(c, &change->stream);
    codec_u64(c, &change->epoch);
    change->view = codec_choice(c, change->view, STREAM_KEYS_ONLY, STREAM_BOTH_IMAGES);
    event_walk(c, &change->event, &change->by_service, &change->wall_ms);
    codec_sized(c, &change->old, UINT32_MAX);
    codec_check(c, change->stream != 0);
}

static void record_walk(struct codec *c, struct stream_record *record)
{
    event_walk(c, &record->event, &record->by_service, &record->wall_ms);
    codec_sized(c, &record->key, STORAGE_KEY_SIZE_MAX);
    codec_sized(c, &record->old, UINT32_MAX);
    codec_sized(c, &record->now, UINT32_MAX);
}

static bool image_is_valid(struct slice item)
{
    return item.size == 0 || (item_check(item) == STATUS_OK && item_size(item) <= ITEM_SIZE_MAX);
}

void stream_change_encode(struct buffer *out, const struct stream_change *change)
{
    struct stream_change copy = *change;
    change_walk(&(struct codec){.out = out}, &copy);
}

enum status stream_change_decode(struct slice bytes, struct stream_change *out)
{
    struct codec c = {.in = &(struct reader){bytes, false}};
    *out = (struct stream_change){0};
    change_walk(&c, out);
    codec_check(&c, image_is_valid(out->old));
    return codec_end(&c);
}

void stream_record_encode(struct buffer *out, const struct stream_record *record)
{
    struct stream_record copy = *record;
    record_walk(&(struct codec){.out = out}, &copy);
}

enum status stream_record_decode(struct slice bytes, struct stream_record *out)
{
    struct codec c = {.in = &(struct reader){bytes, false}};
    *out = (struct stream_record){0};
    record_walk(&c, out);
    return codec_end(&c);
}

bool stream_record_is_valid(struct slice bytes)
{
    struct stream_record record;
    return stream_record_decode(bytes, &record) == STATUS_OK &&
           storage_key_is_complete(record.key) && image_is_valid(record.old) &&
           image_is_valid(record.now);
}

/* ---- keys ---- */

/* The least key of a partition, with zeros for what its hash lacks. */
static void append_min(struct buffer *out, struct slice lo)
{
    buffer_append_slice(out, lo);
    for (size_t size = lo.size; size < STORAGE_KEY_BOUND_SIZE; size++)
        buffer_append_u8(out, 0);
}

void stream_key_append(struct buffer *out, struct slice lo, uint32_t partition,
                       const struct stream_position *at)
{
    const size_t start = out->size;
    append_min(out, lo);
    must(out->size - start >= STORAGE_KEY_BOUND_SIZE);
    out->data[start] = SPACE_STREAM_KEYS;
    buffer_append_u8(out, 0);
    buffer_append_u8(out, 0);
    buffer_append_be32(out, at->stream);
    buffer_append_be32(out, partition);
    buffer_append_be64(out, at->epoch);
    buffer_append_be64(out, at->index);
    buffer_append_u8(out, (uint8_t)(at->place >> 8));
    buffer_append_u8(out, (uint8_t)at->place);
}

bool stream_key_split(struct slice row_key, uint32_t *partition, struct stream_position *out)
{
    if (row_key.size < STORAGE_KEY_BOUND_SIZE + STREAM_SUFFIX_SIZE ||
        row_key.size > STORAGE_KEY_SIZE_MAX + STREAM_SUFFIX_SIZE ||
        row_key.data[0] != SPACE_STREAM_KEYS)
        return false;
    const uint8_t *at = row_key.data + row_key.size - STREAM_SUFFIX_SIZE;
    if (at[0] != 0 || at[1] != 0)
        return false;
    out->stream = be32_get(at + 2);
    *partition = be32_get(at + 6);
    out->epoch = be64_get(at + 10);
    out->index = be64_get(at + 18);
    out->place = (uint16_t)(at[26] << 8 | at[27]);
    return true;
}

bool stream_may_split(struct slice lo, struct slice point)
{
    struct buffer bound = {0};
    append_min(&bound, lo);
    buffer_append_u8(&bound, 0);
    buffer_append_u8(&bound, 1);
    const bool may = slice_compare(buffer_slice(&bound), point) <= 0;
    buffer_deinit(&bound);
    return may;
}
