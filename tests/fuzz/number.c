/* Numbers from outside, as text and as bytes: what is accepted comes back the same. */
#include "engine/item/number.h"
#include "base/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool number_equal(const struct number *a, const struct number *b)
{
    return a->negative == b->negative && a->exponent == b->exponent && a->count == b->count &&
           memcmp(a->digits, b->digits, a->count) == 0;
}

static void check_text(struct slice text)
{
    struct number n, back;
    if (number_parse(text, &n) != NUMBER_OK)
        return;
    char out[NUMBER_TEXT_MAX];
    size_t size = number_format(&n, out);
    must(number_parse(slice_make(out, size), &back) == NUMBER_OK);
    must(number_equal(&n, &back));
    uint8_t bytes[NUMBER_ENCODED_MAX];
    size_t used;
    size = number_encode(&n, bytes);
    must(number_decode(slice_make(bytes, size), &back, &used) == STATUS_OK);
    must(used == size);
    must(number_equal(&n, &back));
    must(number_size(&n) <= 22);
}

static void check_bytes(struct slice bytes)
{
    struct number n;
    size_t used;
    if (number_decode(bytes, &n, &used) != STATUS_OK)
        return;
    uint8_t again[NUMBER_ENCODED_MAX];
    must(used <= bytes.size);
    must(number_encode(&n, again) == used);
    must(memcmp(again, bytes.data, used) == 0);
}

/* Two inputs in one: the order of the encodings does not depend on what follows them. */
static void check_order(struct slice bytes)
{
    struct number a, b;
    size_t used_a, used_b;
    if (number_decode(bytes, &a, &used_a) != STATUS_OK)
        return;
    struct slice rest = slice_make(bytes.data + used_a, bytes.size - used_a);
    if (number_decode(rest, &b, &used_b) != STATUS_OK)
        return;
    struct slice first = slice_make(bytes.data, used_a), second = slice_make(rest.data, used_b);
    must(slice_equal(first, second) ||
         (!slice_starts_with(first, second) && !slice_starts_with(second, first)));
}

/* Two inputs in one: a sum is a number, and what was added can be taken away again. */
static void check_sum(struct slice bytes)
{
    struct number a, b, sum, back;
    uint8_t x[NUMBER_ENCODED_MAX];
    size_t used;
    if (number_decode(bytes, &a, &used) != STATUS_OK ||
        number_decode(slice_make(bytes.data + used, bytes.size - used), &b, &used) != STATUS_OK ||
        number_add(&a, &b, &sum) != NUMBER_OK)
        return;
    must(number_decode(slice_make(x, number_encode(&sum, x)), &back, &used) == STATUS_OK);
    must(number_equal(&sum, &back));
    must(number_subtract(&sum, &b, &back) == NUMBER_OK);
    must(number_equal(&a, &back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_text(slice_make(data, size));
    check_bytes(slice_make(data, size));
    check_order(slice_make(data, size));
    check_sum(slice_make(data, size));
    return 0;
}
