/* streams.c - the streams of a table: their bytes, and the names of their parts. */
#include "engine/catalog/streams.h"

#include <time.h>

enum {
    INDEX_DIGITS = 20,
    PLACE_DIGITS = 4,
    DEPTH_DIGITS = STREAM_SEQUENCE_SIZE - INDEX_DIGITS - PLACE_DIGITS,
    SHARD_BYTES = 36, /* encoded */
    DEPTH_FIRST = 10000000
};

/* As in commands (command.c). */
static const int64_t STREAM_WALL_MS_MAX = INT64_C(1) << 52;

/* ---- bytes ---- */

static void shard_walk(struct codec *c, struct table_shard *s)
{
    codec_u32(c, &s->partition);
    codec_u64(c, &s->epoch);
    codec_u32(c, &s->depth);
    codec_u32(c, &s->parent);
    codec_u64(c, &s->parent_epoch);
    codec_amount(c, &s->closed_ms);
    codec_check(c, s->depth <= STREAM_DEPTH_MAX);
}

static void stream_walk(struct codec *c, struct table_stream *s)
{
    codec_u32(c, &s->id);
    s->view = (enum stream_view)codec_choice(c, s->view, STREAM_KEYS_ONLY, STREAM_BOTH_IMAGES);
    codec_u32(c, &s->version);
    codec_i64(c, &s->created_ms, 0, STREAM_WALL_MS_MAX);
    codec_i64(c, &s->disabled_ms, 0, STREAM_WALL_MS_MAX);
    codec_u32(c, &s->shard_count);
}

void table_streams_encode(struct buffer *out, const struct table_streams *s)
{
    struct codec c = {.out = out};
    uint32_t last_id = s->last_id, count = s->count;
    codec_u32(&c, &last_id);
    codec_count(&c, &count, 0, TABLE_STREAMS_MAX);
    for (uint32_t i = 0; i < s->count; i++) {
        struct table_stream copy = s->at[i];
        stream_walk(&c, &copy);
        for (uint32_t j = 0; j < copy.shard_count; j++) {
            struct table_shard shard = copy.shards[j];
            shard_walk(&c, &shard);
        }
    }
}

enum status table_streams_decode(struct slice bytes, struct arena *arena,
                                 const struct table_streams **out)
{
    struct codec c = {.in = &(struct reader){bytes, false}};
    *out = NULL;
    if (bytes.size == 0)
        return STATUS_OK;
    struct table_streams *s = arena_zalloc(arena, sizeof *s);
    codec_u32(&c, &s->last_id);
    codec_count(&c, &s->count, 0, TABLE_STREAMS_MAX);
    for (uint32_t i = 0; i < s->count && !codec_failed(&c); i++) {
        struct table_stream *stream = &s->at[i];
        stream_walk(&c, stream);
        codec_check(&c, stream->shard_count <= c.in->left.size / SHARD_BYTES && stream->id != 0 &&
                            stream->id <= s->last_id);
        if (codec_failed(&c))
            break;
        stream->shards = arena_zalloc(arena, (stream->shard_count + 1) * sizeof stream->shards[0]);
        for (uint32_t j = 0; j < stream->shard_count; j++)
            shard_walk(&c, &stream->shards[j]);
    }
    *out = s;
    return codec_end(&c);
}

/* ---- looking ---- */

struct stream_latest table_streams_latest(const struct table_streams *s)
{
    const struct table_stream *enabled = table_streams_enabled(s);
    return (struct stream_latest){.id = s != NULL ? s->last_id : 0,
                                  .view = (uint8_t)(enabled != NULL ? enabled->view : STREAM_OFF)};
}

const struct table_stream *table_streams_enabled(const struct table_streams *s)
{
    const struct table_stream *last = s != NULL && s->count > 0 ? &s->at[s->count - 1] : NULL;
    return last != NULL && last->disabled_ms == 0 ? last : NULL;
}

const struct table_shard *table_stream_shard(const struct table_stream *s, uint32_t partition,
                                             uint64_t epoch)
{
    for (uint32_t i = 0; i < s->shard_count; i++) {
        if (s->shards[i].partition == partition && s->shards[i].epoch == epoch)
            return &s->shards[i];
    }
    return NULL;
}

bool table_stream_is_over(int64_t ended_ms, int64_t retention_ms, int64_t wall_ms)
{
    return ended_ms != 0 && wall_ms - ended_ms >= retention_ms;
}

/* ---- names ---- */

void table_shard_append_id(struct buffer *out, const struct table_stream *s,
                           const struct table_shard *shard)
{
    buffer_append_format(out, "shardId-%08u%012llu-%08x", shard->partition,
                         (unsigned long long)shard->epoch, s->id);
}

const struct table_shard *table_shard_find(const struct table_stream *s, struct slice id)
{
    const struct table_shard *found = NULL;
    struct buffer name = {0};
    for (uint32_t i = 0; i < s->shard_count && found == NULL; i++) {
        buffer_clear(&name);
        table_shard_append_id(&name, s, &s->shards[i]);
        if (slice_equal(buffer_slice(&name), id))
            found = &s->shards[i];
    }
    buffer_deinit(&name);
    return found;
}

void table_sequence_append(struct buffer *out, const struct table_shard *shard, uint64_t index,
                           uint32_t place)
{
    buffer_append_format(out, "%08u%020llu%04u", DEPTH_FIRST + shard->depth,
                         (unsigned long long)index, place);
}

/* Takes a decimal number of so many digits off the text. False: there is none, or it is too large.
 * */
static bool digits_take(struct slice *text, uint32_t digits, uint64_t *out)
{
    *out = 0;
    if (text->size < digits)
        return false;
    for (uint32_t i = 0; i < digits; i++) {
        const uint8_t c = text->data[i];
        if (c < '0' || c > '9' || *out > (UINT64_MAX - (uint64_t)(c - '0')) / 10)
            return false;
        *out = *out * 10 + (uint64_t)(c - '0');
    }
    *text = slice_make(text->data + digits, text->size - digits);
    return true;
}

bool table_sequence_read(const struct table_shard *shard, struct slice text, uint64_t *index,
                         uint32_t *place)
{
    uint64_t depth, at;
    if (!digits_take(&text, DEPTH_DIGITS, &depth) || !digits_take(&text, INDEX_DIGITS, index) ||
        !digits_take(&text, PLACE_DIGITS, &at) || text.size > 0)
        return false;
    *place = (uint32_t)at;
    return depth == DEPTH_FIRST + shard->depth;
}

void table_sequence_append_last(struct buffer *out, const struct table_shard *shard)
{
    table_sequence_append(out, shard, UINT64_MAX / 10 * 10, 9999);
}

void table_stream_append_label(struct buffer *out, const struct table_stream *s)
{
    struct tm tm;
    const time_t seconds = (time_t)(s->created_ms / 1000);
    must(gmtime_r(&seconds, &tm) != NULL);
    buffer_append_format(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03d", tm.tm_year + 1900,
                         tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                         (int)(s->created_ms % 1000));
}

const struct table_stream *table_streams_find_label(const struct table_streams *s,
                                                    struct slice label)
{
    const struct table_stream *found = NULL;
    struct buffer text = {0};
    for (uint32_t i = 0; s != NULL && i < s->count && found == NULL; i++) {
        buffer_clear(&text);
        table_stream_append_label(&text, &s->at[i]);
        if (slice_equal(buffer_slice(&text), label))
            found = &s->at[i];
    }
    buffer_deinit(&text);
    return found;
}
