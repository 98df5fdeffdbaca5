/* request_id.c - writes and reads x-amzn-RequestId. */
#include "router/core/request_id.h"

#include "base/must.h"

enum {
    HALF_DIGITS = 13, /* 65 bits */
    DIGIT_BITS = 5,
    COUNT_BITS = 9,
    MS_BITS = 42,
    ROUTER_BITS = 12,
    VERSION_BITS = 2,
};

_Static_assert(COUNT_BITS + MS_BITS + ROUTER_BITS + VERSION_BITS == HALF_DIGITS * DIGIT_BITS,
               "the parts fill 13 digits");

#define MS_OF_2020 INT64_C(1577836800000)

/* 65 bits: of 13 digits. */
typedef unsigned __int128 half_bits;

static const char DIGITS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
static const char END[] = "VV4KQNSO5AEMVJF66Q9ASUAAJG";

_Static_assert(HALF_DIGITS * 2 + sizeof END - 1 == HTTP_REQUEST_ID_SIZE, "the size of an id");

static half_bits request_id_mask(half_bits random)
{
    struct prng mix = prng_seeded((uint64_t)random ^ (uint64_t)(random >> 64));
    return (half_bits)prng_next(&mix) << 1 | (random & 1);
}

static void request_id_put(char *out, half_bits bits)
{
    for (int i = 0; i < HALF_DIGITS; i++, bits >>= DIGIT_BITS)
        out[i] = DIGITS[(unsigned)bits & 31];
}

static bool request_id_get(const uint8_t *at, half_bits *out)
{
    *out = 0;
    for (int i = HALF_DIGITS - 1; i >= 0; i--) {
        const bool number = at[i] >= '0' && at[i] <= '9';
        if (!number && (at[i] < 'A' || at[i] > 'V'))
            return false;
        *out = *out << DIGIT_BITS | (unsigned)(number ? at[i] - '0' : at[i] - 'A' + 10);
    }
    return true;
}

uint64_t request_id_write(struct prng *prng, const struct request_id_parts *parts,
                          char out[HTTP_REQUEST_ID_SIZE])
{
    const half_bits random = (half_bits)prng_next(prng) | (half_bits)(prng_next(prng) & 1) << 64;
    const uint64_t ms = (uint64_t)(parts->wall_ms - MS_OF_2020) & ((UINT64_C(1) << MS_BITS) - 1);
    half_bits bits = REQUEST_ID_VERSION;
    bits = bits << ROUTER_BITS | (parts->router & ((1U << ROUTER_BITS) - 1));
    bits = bits << MS_BITS | ms;
    bits = bits << COUNT_BITS | (parts->count & ((1U << COUNT_BITS) - 1));
    request_id_put(out, random);
    request_id_put(out + HALF_DIGITS, bits ^ request_id_mask(random));
    memcpy(out + HALF_DIGITS * 2, END, sizeof END - 1);
    return (uint64_t)random;
}

bool request_id_read(struct slice text, struct request_id_parts *out)
{
    half_bits random, bits;
    if (text.size != HTTP_REQUEST_ID_SIZE ||
        memcmp(text.data + HALF_DIGITS * 2, END, sizeof END - 1) != 0 ||
        !request_id_get(text.data, &random) || !request_id_get(text.data + HALF_DIGITS, &bits))
        return false;
    bits ^= request_id_mask(random);
    out->count = (uint32_t)bits & ((1U << COUNT_BITS) - 1);
    bits >>= COUNT_BITS;
    out->wall_ms = MS_OF_2020 + (int64_t)((uint64_t)bits & ((UINT64_C(1) << MS_BITS) - 1));
    bits >>= MS_BITS;
    out->router = (uint32_t)bits & ((1U << ROUTER_BITS) - 1);
    out->version = (uint32_t)(bits >> ROUTER_BITS);
    return true;
}

static bool request_id_digit(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'V');
}

/* An id is a whole run of digits. */
struct slice request_id_find(struct slice text)
{
    for (size_t begin = 0, end; begin < text.size; begin = end + 1) {
        for (end = begin; end < text.size && request_id_digit(text.data[end]); end++)
            ;
        const struct slice run = slice_make(text.data + begin, end - begin);
        struct request_id_parts parts;
        if (request_id_read(run, &parts))
            return run;
    }
    return slice_make(NULL, 0);
}

uint64_t request_id_number(struct slice id)
{
    half_bits random;
    must(id.size == HTTP_REQUEST_ID_SIZE);
    must(request_id_get(id.data, &random));
    return (uint64_t)random;
}
