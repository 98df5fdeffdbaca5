/* app_lease.c - leases as texts. */
#include "router/limiter/app_lease.h"

#include <xxhash.h>

enum {
    APP_LEASE_FORMAT = 2,
    /* Bytes of the longest lease: names with their sizes, numbers, and the checksum. */
    APP_LEASE_PART_SIZE_MAX = 1 + 4 + 8 * LIMITER_LIMITS_MAX,
    APP_LEASE_SIZE_MAX = 1 + 16 + 4 + 8 + (4 + LIMITER_NAMESPACE_MAX) + (4 + LIMITER_ENTITY_MAX) +
                         4 + LIMITER_LIMITS_MAX * (4 + LIMITER_NAME_MAX) + 4 +
                         LIMITER_CHAIN_MAX * (4 + LIMITER_ENTITY_MAX) +
                         APP_LEASE_PARTS_MAX * APP_LEASE_PART_SIZE_MAX + 8,
};
_Static_assert((APP_LEASE_SIZE_MAX * 4 + 2) / 3 <= APP_LEASE_TEXT_MAX,
               "each lease is short enough to be read");

_Static_assert(sizeof(XXH128_hash_t) == TRANSACTION_TOKEN_SIZE, "a token is a hash");

/* The entities of the parts so far: a name stands where it is used first. */
struct app_lease_names {
    struct slice at[LIMITER_CHAIN_MAX];
    uint32_t count;
};

/* The place of a name; LIMITER_CHAIN_MAX: there is no room. */
static uint32_t app_lease_place(const struct app_lease_names *names, struct slice name)
{
    uint32_t i = 0;
    while (i < names->count && !slice_equal(names->at[i], name))
        i++;
    return i;
}

static void app_lease_walk_entity(struct codec *c, struct app_lease_names *names,
                                  struct slice *entity)
{
    uint8_t place = codec_reads(c) ? 0 : (uint8_t)app_lease_place(names, *entity);
    codec_u8(c, &place);
    codec_check(c, place <= names->count && place < LIMITER_CHAIN_MAX);
    if (codec_failed(c) || place == LIMITER_CHAIN_MAX)
        return;
    if (place < names->count) {
        *entity = names->at[place];
        return;
    }
    codec_sized(c, entity, LIMITER_ENTITY_MAX);
    codec_check(c, app_lease_place(names, *entity) == names->count);
    must(names->count < LIMITER_CHAIN_MAX);
    names->at[names->count++] = *entity;
}

static void app_lease_walk(struct codec *c, struct app_lease *l, struct arena *arena)
{
    struct app_lease_names names = {.count = 0};
    uint8_t format = APP_LEASE_FORMAT;
    codec_u8(c, &format);
    codec_check(c, format == APP_LEASE_FORMAT);
    for (uint32_t i = 0; i < sizeof l->id; i++)
        codec_u8(c, &l->id[i]);
    codec_u32(c, &l->use_number);
    codec_amount(c, &l->expires_ms);
    codec_sized(c, &l->name_space, LIMITER_NAMESPACE_MAX);
    codec_sized(c, &l->resource, LIMITER_ENTITY_MAX);
    codec_u32(c, &l->limit_count);
    codec_check(c, l->limit_count <= LIMITER_LIMITS_MAX);
    if (codec_failed(c))
        return;
    for (uint32_t i = 0; i < l->limit_count; i++)
        codec_sized(c, &l->limits[i], LIMITER_NAME_MAX);
    codec_u32(c, &l->part_count);
    codec_check(c, l->part_count >= 1 && l->part_count <= APP_LEASE_PARTS_MAX);
    if (codec_failed(c))
        return;
    if (codec_reads(c))
        l->parts = arena_zalloc(arena, l->part_count * sizeof *l->parts);
    for (uint32_t i = 0; i < l->part_count; i++) {
        app_lease_walk_entity(c, &names, &l->parts[i].entity);
        codec_u32(c, &l->parts[i].shard);
        codec_check(c, l->parts[i].shard < LIMITER_SHARDS_MAX);
        for (uint32_t k = 0; k < l->limit_count; k++)
            codec_i64(c, &l->parts[i].amounts[k], -LIMITER_MTOK_MAX, LIMITER_MTOK_MAX);
    }
}

/* ---- base64url, RFC 4648 section 5, without padding ---- */

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
_Static_assert(sizeof DIGITS - 1 == 64, "six bits a digit");

void app_lease_append_base64url(struct buffer *out, struct slice bytes)
{
    uint32_t bits = 0, held = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        bits = bits << 8 | bytes.data[i];
        for (held += 8; held >= 6; held -= 6)
            buffer_append_u8(out, (uint8_t)DIGITS[bits >> (held - 6) & 63]);
    }
    if (held > 0)
        buffer_append_u8(out, (uint8_t)DIGITS[bits << (6 - held) & 63]);
}

static bool base64url_read(struct buffer *out, struct slice text)
{
    uint32_t bits = 0, held = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char *at = text.data[i] == 0 ? NULL : strchr(DIGITS, text.data[i]);
        if (at == NULL)
            return false;
        bits = bits << 6 | (uint32_t)(at - DIGITS);
        held += 6;
        if (held >= 8) {
            held -= 8;
            buffer_append_u8(out, (uint8_t)(bits >> held));
        }
    }
    return held < 6 && (bits & ((1U << held) - 1)) == 0;
}

/* ---- texts ---- */

void app_lease_write(struct buffer *out, const struct app_lease *l)
{
    struct buffer bytes = {0};
    struct app_lease copy = *l;
    must(l->part_count == 0 || l->parts != NULL);
    app_lease_walk(&(struct codec){.out = &bytes}, &copy, NULL);
    buffer_append_u64(&bytes, XXH3_64bits(bytes.data, bytes.size));
    app_lease_append_base64url(out, buffer_slice(&bytes));
    buffer_deinit(&bytes);
}

static bool app_lease_names_fit(const struct app_lease *l)
{
    bool fit = limiter_name_is_plain(l->name_space, LIMITER_NAMESPACE_MAX) &&
               l->resource.size > 0 && l->resource.size <= LIMITER_ENTITY_MAX &&
               slice_is_utf8(l->resource);
    for (uint32_t i = 0; i < l->limit_count; i++)
        fit = fit && limiter_name_is_plain(l->limits[i], LIMITER_NAME_MAX);
    for (uint32_t i = 0; i < l->part_count; i++)
        fit = fit && l->parts[i].entity.size > 0 && l->parts[i].entity.size <= LIMITER_ENTITY_MAX &&
              slice_is_utf8(l->parts[i].entity);
    return fit;
}

bool app_lease_read(struct arena *arena, struct slice text, struct app_lease *out)
{
    struct buffer bytes = {0};
    *out = (struct app_lease){0};
    const bool encoded = text.size <= APP_LEASE_TEXT_MAX && base64url_read(&bytes, text);
    const struct slice all = arena_take(arena, &bytes);
    if (!encoded || all.size < 8)
        return false;
    struct reader sum = {slice_make(all.data + all.size - 8, 8), false};
    struct reader r = {slice_make(all.data, all.size - 8), false};
    if (XXH3_64bits(all.data, all.size - 8) != reader_u64(&sum))
        return false;
    app_lease_walk(&(struct codec){.in = &r}, out, arena);
    return !r.failed && r.left.size == 0 && app_lease_names_fit(out);
}

bool app_lease_fits(struct arena *arena, const struct app_lease *l)
{
    struct buffer text = {0};
    struct app_lease copy;
    app_lease_write(&text, l);
    const bool fits = app_lease_read(arena, buffer_slice(&text), &copy);
    buffer_deinit(&text);
    return fits;
}

uint32_t app_lease_limit(struct app_lease *l, struct slice name)
{
    uint32_t i = 0;
    must(l->limit_count <= LIMITER_LIMITS_MAX);
    while (i < l->limit_count && !slice_equal(l->limits[i], name))
        i++;
    if (i == l->limit_count && i < LIMITER_LIMITS_MAX)
        l->limits[l->limit_count++] = name;
    return i;
}

void app_lease_token(const struct app_lease *l, uint8_t out[TRANSACTION_TOKEN_SIZE])
{
    const XXH128_hash_t hash = XXH3_128bits_withSeed(l->id, sizeof l->id, l->use_number);
    memcpy(out, &hash, TRANSACTION_TOKEN_SIZE);
}
