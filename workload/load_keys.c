/* load_keys.c - see load_keys.h.
 *
 * Zipf by rejection-inversion: constant time and memory for any number of keys and any theta > 0.
 * Source: Hoermann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
 * distributions", 1996. */
#include "workload/load_keys.h"

#include <math.h>
#include <stdlib.h>

#include "base/must.h"

/* (exp(x) - 1) / x and log(1 + x) / x, defined at 0 too. */
static double expm1_over(double x)
{
    return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

static double log1p_over(double x)
{
    return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2;
}

/* The integral of x^-theta from 1, and its inverse. */
static double zipf_area(double theta, double x)
{
    double log_x = log(x);
    return expm1_over((1 - theta) * log_x) * log_x;
}

static double zipf_area_inverse(double theta, double area)
{
    double t = area * (1 - theta);
    return exp(log1p_over(t < -1 ? -1 : t) * area);
}

static double zipf_density(double theta, double x)
{
    return exp(-theta * log(x));
}

static void start_zipf(struct load_keys *k)
{
    k->zipf_low = zipf_area(k->theta, 1.5) - 1;
    k->zipf_high = zipf_area(k->theta, (double)k->count + 0.5);
    k->zipf_shortcut =
        2 - zipf_area_inverse(k->theta, zipf_area(k->theta, 2.5) - zipf_density(k->theta, 2));
}

static uint64_t next_zipf(const struct load_keys *k, struct prng *random)
{
    for (;;) {
        double u = k->zipf_high + prng_unit(random) * (k->zipf_low - k->zipf_high);
        double x = zipf_area_inverse(k->theta, u);
        double rank = floor(x + 0.5);
        if (rank < 1)
            rank = 1;
        if (rank > (double)k->count)
            rank = (double)k->count;
        if (rank - x <= k->zipf_shortcut ||
            u >= zipf_area(k->theta, rank + 0.5) - zipf_density(k->theta, rank))
            return (uint64_t)rank - 1;
    }
}

static const char *parse_zipf(struct load_keys *k, const char *text)
{
    char *end;
    k->kind = LOAD_KEYS_ZIPF;
    k->theta = strtod(text, &end);
    if (end == text || *end != 0 || !(k->theta > 0) || k->theta > 10)
        return "zipf:THETA with a number above 0 and up to 10, such as zipf:0.99";
    return NULL;
}

static const char *parse_hotspot(struct load_keys *k, const char *text)
{
    char *end;
    k->kind = LOAD_KEYS_HOTSPOT;
    k->hot_fraction = strtod(text, &end);
    if (end == text || *end != ':' || !(k->hot_fraction >= 0) || k->hot_fraction > 1)
        return "hotspot:FRACTION:KEYS with a fraction from 0 to 1, such as hotspot:0.9:10";
    const char *count = end + 1;
    k->hot_count = strtoull(count, &end, 10);
    if (end == count || *end != 0 || *count == '-' || k->hot_count == 0)
        return "hotspot:FRACTION:KEYS with a number of keys above 0, such as hotspot:0.9:10";
    return NULL;
}

/* single:KEY, collection:KEY, append:KEY */
static const char *parse_key(struct load_keys *k, enum load_keys_kind kind, const char *text)
{
    k->kind = kind;
    size_t size = strlen(text);
    if (size == 0 || size >= sizeof k->single)
        return "single:, collection: or append: with a key of 1 to 255 bytes";
    for (size_t i = 0; i < size; i++)
        if (text[i] < ' ' || text[i] == '"' || text[i] == '\\' || text[i] == 127)
            return "a key without quotes, backslashes and control characters";
    memcpy(k->single, text, size + 1);
    return NULL;
}

const char *load_keys_parse(struct load_keys *k, const char *text)
{
    if (strcmp(text, "uniform") == 0) {
        k->kind = LOAD_KEYS_UNIFORM;
        return NULL;
    }
    if (strcmp(text, "sequential") == 0) {
        k->kind = LOAD_KEYS_SEQUENTIAL;
        return NULL;
    }
    if (strncmp(text, "zipf:", 5) == 0)
        return parse_zipf(k, text + 5);
    if (strncmp(text, "hotspot:", 8) == 0)
        return parse_hotspot(k, text + 8);
    if (strncmp(text, "single:", 7) == 0)
        return parse_key(k, LOAD_KEYS_SINGLE, text + 7);
    if (strncmp(text, "collection:", 11) == 0)
        return parse_key(k, LOAD_KEYS_COLLECTION, text + 11);
    if (strncmp(text, "append:", 7) == 0)
        return parse_key(k, LOAD_KEYS_APPEND, text + 7);
    return "one of uniform, zipf:THETA, hotspot:FRACTION:KEYS, sequential, single:KEY, "
           "collection:KEY, append:KEY";
}

const char *load_keys_start(struct load_keys *k)
{
    must(k->count > 0);
    if (k->kind == LOAD_KEYS_HOTSPOT && k->hot_count > k->count)
        return "hotspot has more hot keys than there are keys";
    if (k->kind == LOAD_KEYS_ZIPF)
        start_zipf(k);
    return NULL;
}

static uint64_t next_hotspot(const struct load_keys *k, struct prng *random)
{
    bool hot = prng_unit(random) < k->hot_fraction || k->hot_count == k->count;
    return hot ? prng_below(random, k->hot_count)
               : k->hot_count + prng_below(random, k->count - k->hot_count);
}

uint64_t load_keys_next(struct load_keys *k, struct prng *random)
{
    switch (k->kind) {
    case LOAD_KEYS_UNIFORM:
    case LOAD_KEYS_COLLECTION:
        return prng_below(random, k->count);
    case LOAD_KEYS_ZIPF:
        return next_zipf(k, random);
    case LOAD_KEYS_HOTSPOT:
        return next_hotspot(k, random);
    case LOAD_KEYS_SEQUENTIAL:
    case LOAD_KEYS_APPEND:
        return k->next++ % k->count;
    case LOAD_KEYS_SINGLE:
        break;
    }
    return 0;
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
