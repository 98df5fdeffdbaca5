/* limit_text.c - see limit_text.h. */
#include "cmd/limit_text.h"

#include "engine/limiter/bucket.h"
#include "router/limiter/limiter_request.h"

enum {
    THOUSAND = 1000
};

bool limit_text_thousandths(struct slice text, int64_t *out)
{
    struct slice decimals = text;
    const struct slice whole = slice_cut(&decimals, '.');
    const bool pointed = decimals.data != NULL;
    const int64_t before = slice_number(whole);
    int64_t after = 0;
    if (before < 0 || before > INT64_MAX / THOUSAND - 1)
        return false;
    if (pointed && (decimals.size == 0 || decimals.size > LIMIT_TEXT_DECIMALS))
        return false;
    if (pointed)
        after = slice_number(decimals);
    if (after < 0)
        return false;
    for (size_t i = decimals.size; i < LIMIT_TEXT_DECIMALS; i++)
        after *= 10;
    *out = before * THOUSAND + after;
    return true;
}

void limit_text_write(struct buffer *out, int64_t thousandths)
{
    const uint64_t size =
        thousandths < 0 ? -(uint64_t)thousandths : (uint64_t)thousandths; /* of INT64_MIN, too */
    uint64_t after = size % THOUSAND;
    if (thousandths < 0)
        buffer_append_u8(out, '-');
    buffer_append_decimal(out, size / THOUSAND);
    if (after == 0)
        return;
    buffer_append_u8(out, '.');
    for (uint64_t place = THOUSAND / 10; after > 0; place /= 10) {
        buffer_append_u8(out, (uint8_t)('0' + after / place));
        after %= place;
    }
}

static bool limit_text_period(struct slice text, int64_t *out_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1},
                 {"s", THOUSAND},
                 {"m", 60 * THOUSAND},
                 {"h", 3600 * THOUSAND},
                 {"d", 24 * 3600 * THOUSAND}};
    size_t digits = 0;
    while (digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    const int64_t number = slice_number(slice_make(text.data, digits));
    const struct slice unit = slice_make(text.data + digits, text.size - digits);
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (!slice_is(unit, units[i].unit) || number < 0 || number > INT64_MAX / units[i].ms)
            continue;
        *out_ms = number * units[i].ms;
        return true;
    }
    return false;
}

bool limit_text_read(const char *text, struct limit_text *out)
{
    struct slice rest = slice_of(text);
    out->name = slice_cut(&rest, '=');
    const struct slice capacity = slice_cut(&rest, '/');
    const struct slice period = slice_cut(&rest, ':');
    if (out->name.size == 0 || !limit_text_thousandths(capacity, &out->capacity) ||
        !limit_text_period(period, &out->period_ms))
        return false;
    out->refill = out->capacity;
    return rest.data == NULL || limit_text_thousandths(rest, &out->refill);
}

_Static_assert(LIMITER_TOKENS_MAX == INT64_C(1000000000000), "as the texts below say");
_Static_assert(LIMITER_PERIOD_MAX == INT64_C(366) * 24 * 3600 * THOUSAND, "the same");
_Static_assert(LIMITER_NAME_MAX == 64, "the same");

static bool limit_text_is_amount(int64_t thousandths)
{
    return thousandths >= THOUSAND && thousandths <= LIMITER_MTOK_MAX;
}

const char *limit_text_check(const struct limit_text *limit)
{
    if (!limiter_name_is_plain(limit->name, LIMITER_NAME_MAX))
        return "a NAME of 1 to 64 letters, digits, _, . and -";
    if (!limit_text_is_amount(limit->capacity))
        return "a CAPACITY from 1 to 1000000000000 tokens";
    if (!limit_text_is_amount(limit->refill))
        return "a REFILL from 1 to 1000000000000 tokens";
    if (limit->period_ms < 1 || limit->period_ms > LIMITER_PERIOD_MAX)
        return "a PERIOD from 1ms to 366d";
    return NULL;
}
