/* load_keys.c - see load_keys.h. */
#include "workload/load_keys.h"

#include <math.h>

#include "base/must.h"
#include "workload/text_fields.h"

enum {
    SHIFT_RANGES = 64,
    SHIFT_RANGES_MAX = 1000000
};

/* ---- the texts ---- */

static const char *parse_zipf(struct load_keys *k, enum load_keys_kind kind, const char *text)
{
    k->kind = kind;
    if (text_numbers(text, &k->theta, 1) != 1 || !(k->theta > 0) || k->theta > 10)
        return "zipf:THETA, scrambled-zipf:THETA or latest:THETA with a number above 0 and up to "
               "10, such as zipf:0.99";
    return NULL;
}

static const char *parse_hotspot(struct load_keys *k, const char *text)
{
    double n[2];
    k->kind = LOAD_KEYS_HOTSPOT;
    if (text_numbers(text, n, 2) != 2 || !(n[0] >= 0) || n[0] > 1)
        return "hotspot:FRACTION:KEYS with a fraction from 0 to 1, such as hotspot:0.9:10";
    if (!(n[1] >= 1) || n[1] > 1e12 || n[1] != floor(n[1]))
        return "hotspot:FRACTION:KEYS with a number of keys above 0, such as hotspot:0.9:10";
    k->hot_fraction = n[0];
    k->hot_count = (uint64_t)n[1];
    return NULL;
}

static const char *parse_shifting(struct load_keys *k, const char *text)
{
    double n[3] = {0, 0, SHIFT_RANGES};
    k->kind = LOAD_KEYS_SHIFTING;
    if (text_numbers(text, n, 3) < 2 || !(n[0] >= 0) || n[0] > 1 ||
        !text_seconds(n[1], &k->shift_every_ns) || !(n[2] >= 1) || n[2] > SHIFT_RANGES_MAX ||
        n[2] != floor(n[2]))
        return "shifting:FRACTION:EVERY_S[:RANGES] with a fraction from 0 to 1, seconds above 0 "
               "and "
               "a number of ranges up to 1000000 (default 64), such as shifting:0.6:10";
    k->hot_fraction = n[0];
    k->shift_ranges = (uint64_t)n[2];
    return NULL;
}

/* single:KEY, collection:KEY, append:KEY */
static const char *parse_key(struct load_keys *k, enum load_keys_kind kind, const char *text)
{
    k->kind = kind;
    size_t size = text != NULL ? strlen(text) : 0;
    if (size == 0 || size >= sizeof k->single)
        return "single:, collection: or append: with a key of 1 to 255 bytes";
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == '"' || text[i] == '\\' || text[i] == 127)
            return "a key without quotes, backslashes and control characters";
    if (!slice_is_utf8(slice_make(text, size)))
        return "single:, collection: or append: with a key of UTF-8";
    memcpy(k->single, text, size + 1);
    return NULL;
}

const char *load_keys_parse(void *member, const char *text)
{
    struct load_keys *k = member;
    static const struct {
        const char *name;
        enum load_keys_kind kind;
    } zipfs[] = {{"zipf", LOAD_KEYS_ZIPF},
                 {"scrambled-zipf", LOAD_KEYS_SCRAMBLED_ZIPF},
                 {"latest", LOAD_KEYS_LATEST}},
      keys[] = {{"single", LOAD_KEYS_SINGLE},
                {"collection", LOAD_KEYS_COLLECTION},
                {"append", LOAD_KEYS_APPEND}},
      plain[] = {{"uniform", LOAD_KEYS_UNIFORM}, {"sequential", LOAD_KEYS_SEQUENTIAL}};
    const char *rest;
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        if (strcmp(text, plain[i].name) == 0) {
            k->kind = plain[i].kind;
            return NULL;
        }
    for (size_t i = 0; i < COUNT_OF(zipfs); i++)
        if (text_begins(text, zipfs[i].name, &rest))
            return parse_zipf(k, zipfs[i].kind, rest);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (text_begins(text, keys[i].name, &rest))
            return parse_key(k, keys[i].kind, rest);
    if (text_begins(text, "hotspot", &rest))
        return parse_hotspot(k, rest);
    if (text_begins(text, "shifting", &rest))
        return parse_shifting(k, rest);
    return "one of uniform, zipf:THETA, scrambled-zipf:THETA, latest:THETA, hotspot:FRACTION:KEYS, "
           "shifting:FRACTION:EVERY_S[:RANGES], sequential, single:KEY, collection:KEY, append:KEY";
}

/* ---- life ---- */

static bool uses_zipf(const struct load_keys *k)
{
    return k->kind == LOAD_KEYS_ZIPF || k->kind == LOAD_KEYS_SCRAMBLED_ZIPF ||
           k->kind == LOAD_KEYS_LATEST;
}

const char *load_keys_check(const struct load_keys *k)
{
    must(k->count > 0);
    if (k->kind == LOAD_KEYS_HOTSPOT && k->hot_count > k->count)
        return "hotspot has more hot keys than there are keys";
    if (k->kind == LOAD_KEYS_SHIFTING && k->shift_ranges > k->count)
        return "shifting has more ranges than there are keys";
    return NULL;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void load_keys_start(struct load_keys *k)
{
    must(load_keys_check(k) == NULL);
    k->next = k->inserted = 0;
    if (uses_zipf(k))
        zipf_init(&k->zipf, k->theta, k->count);
    for (k->bits = 1; (UINT64_C(1) << k->bits) < k->count;)
        k->bits++;
    /* About the golden section of the ranges: each shift goes far, and every range gets its
     * turn. */
    k->stride = k->shift_ranges * 618 / 1000 + 1;
    while (k->shift_ranges > 1 && common_divisor(k->stride, k->shift_ranges) != 1)
        k->stride++;
}

void load_keys_stop(struct load_keys *k)
{
    zipf_deinit(&k->zipf);
}

/* ---- choosing ---- */

static uint64_t next_hotspot(const struct load_keys *k, struct prng *random)
{
    bool hot = prng_unit(random) < k->hot_fraction || k->hot_count == k->count;
    return hot ? prng_below(random, k->hot_count)
               : k->hot_count + prng_below(random, k->count - k->hot_count);
}

void load_keys_hot_range(const struct load_keys *k, int64_t now_ns, uint64_t *first, uint64_t *end)
{
    unsigned __int128 turn = (uint64_t)(now_ns / k->shift_every_ns);
    unsigned __int128 range = turn * k->stride % k->shift_ranges;
    *first = (uint64_t)(range * k->count / k->shift_ranges);
    *end = (uint64_t)((range + 1) * k->count / k->shift_ranges);
}

static uint64_t next_shifting(const struct load_keys *k, struct prng *random, int64_t now_ns)
{
    uint64_t first, end;
    if (prng_unit(random) >= k->hot_fraction)
        return prng_below(random, k->count);
    load_keys_hot_range(k, now_ns, &first, &end);
    return first + prng_below(random, end - first);
}

/* A permutation of the numbers below 2^bits, repeated until the number is a key: a permutation of
 * the keys. Each step (times an odd number, xor with a shift to the right) can be undone. */
static uint64_t rank_scramble(const struct load_keys *k, uint64_t rank)
{
    uint64_t mask = (UINT64_C(1) << k->bits) - 1;
    int shift = (k->bits + 1) / 2;
    do {
        rank = (rank + 1) * UINT64_C(0x9E3779B97F4A7C15) & mask;
        rank ^= rank >> shift;
        rank = rank * UINT64_C(0xBF58476D1CE4E5B9) & mask;
        rank ^= rank >> shift;
    } while (rank >= k->count);
    return rank;
}

uint64_t load_keys_next(struct load_keys *k, struct prng *random, int64_t now_ns)
{
    switch (k->kind) {
    case LOAD_KEYS_UNIFORM:
    case LOAD_KEYS_COLLECTION:
        return prng_below(random, k->count);
    case LOAD_KEYS_ZIPF:
        return zipf_next(&k->zipf, random);
    case LOAD_KEYS_SCRAMBLED_ZIPF:
        return rank_scramble(k, zipf_next(&k->zipf, random));
    case LOAD_KEYS_LATEST:
        return k->count + k->inserted - 1 - zipf_next(&k->zipf, random);
    case LOAD_KEYS_HOTSPOT:
        return next_hotspot(k, random);
    case LOAD_KEYS_SHIFTING:
        return next_shifting(k, random, now_ns);
    case LOAD_KEYS_SEQUENTIAL:
    case LOAD_KEYS_APPEND:
        return k->next++ % k->count;
    case LOAD_KEYS_SINGLE:
        break;
    }
    return 0;
}

uint64_t load_keys_insert(struct load_keys *k)
{
    return k->kind == LOAD_KEYS_SINGLE ? 0 : k->count + k->inserted++;
}

size_t load_keys_text(const struct load_keys *k, uint64_t number, char out[LOAD_KEY_SIZE_MAX])
{
    if (k->kind == LOAD_KEYS_SINGLE) {
        size_t size = strlen(k->single);
        memcpy(out, k->single, size);
        return size;
    }
    /* By hand: this runs for every request. */
    enum {
        DIGITS = 10,
        PREFIX = 4
    };
    memcpy(out, "key-", PREFIX);
    for (int i = DIGITS - 1; i >= 0; i--) {
        out[PREFIX + i] = (char)('0' + number % 10);
        number /= 10;
    }
    return PREFIX + DIGITS;
}
