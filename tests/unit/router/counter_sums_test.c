/* counter_sums_test.c - what a counter's cells are together. */
#include "engine/item/item.h"
#include "engine/item/number.h"
#include "router/core/counters.h"
#include "tests/check.h"

static const struct table TABLE = {.partition_key = {{(const uint8_t *)"k", 1}, ATTR_STRING},
                                   .sort_key = {{(const uint8_t *)"s", 1}, ATTR_STRING}};

static struct slice sum_item(struct buffer *out, const char *const numbers[], size_t count)
{
    struct item_writer w;
    char name[2] = "a";
    buffer_clear(out);
    item_begin(&w, out);
    item_name(&w, slice_of("k"));
    item_string(&w, slice_of("hot"));
    for (size_t i = 0; i < count; i++) {
        struct number n;
        name[0] = (char)('a' + i);
        if (numbers[i] == NULL)
            continue;
        item_name(&w, slice_of(name));
        if (number_parse(slice_of(numbers[i]), &n) == NUMBER_OK)
            item_number(&w, &n);
        else
            item_string(&w, slice_of(numbers[i]));
    }
    item_end(&w);
    return buffer_slice(out);
}

TEST(sums_are_exact_or_refused)
{
#define NINES "99999999999999999999999999999999999999"
    static const struct {
        const char *cells[3]; /* NULL: the cell has no such number */
        const char *sum;
        enum number_error error;
    } CASES[] = {
        {{"1", "2", "3"}, "6", NUMBER_OK},
        {{NULL, "2", NULL}, "2", NUMBER_OK},
        {{"1", "-1", NULL}, "0", NUMBER_OK},
        {{NINES, "1", NULL}, "100000000000000000000000000000000000000", NUMBER_OK},
        {{NINES, "2", NULL}, NULL, NUMBER_TOO_MANY_DIGITS},
        {{NINES, "0.1", NULL}, NULL, NUMBER_TOO_MANY_DIGITS},
        {{"1E-40", "1", NULL}, NULL, NUMBER_TOO_MANY_DIGITS},
        {{"9E+125", "9E+125", NULL}, NULL, NUMBER_OVERFLOW},
        {{"9E+125", "1", "-9E+125"}, NULL, NUMBER_TOO_MANY_DIGITS},
        {{"-9E+125", "-9E+125", NULL}, NULL, NUMBER_OVERFLOW},
        {{"text", "1", "2"}, "text", NUMBER_OK}, /* the first cell that has the attribute */
        {{NULL, "text", "2"}, "text", NUMBER_OK},
        {{"1", "text", "2"}, "3", NUMBER_OK},
    };
    (void)state;
    struct buffer cells[3] = {0}, expected = {0}, out = {0};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct slice items[3];
        for (size_t k = 0; k < 3; k++)
            items[k] = sum_item(&cells[k], &CASES[i].cells[k], 1);
        buffer_clear(&out);
        buffer_append_text(&out, "before");
        assert_int_equal(counter_sum(&out, &TABLE, items, 3), CASES[i].error);
        const struct slice sum = slice_make(out.data + 6, out.size - 6);
        if (CASES[i].error != NUMBER_OK)
            assert_int_equal(sum.size, 0);
        else
            assert_true(slice_equal(sum, sum_item(&expected, &CASES[i].sum, 1)));
    }
    for (size_t k = 0; k < 3; k++)
        buffer_deinit(&cells[k]);
    buffer_deinit(&expected);
    buffer_deinit(&out);
}

/* Attributes that only some cells have, each in the order in which it is met. */
TEST(each_attribute_is_in_the_sum_once)
{
    static const char *const CELL[3][3] = {{"1", NULL, NULL}, {"2", "5", NULL}, {NULL, "6", "z"}};
    static const char *const SUM[3] = {"3", "11", "z"};
    (void)state;
    struct buffer cells[3] = {0}, expected = {0}, out = {0};
    struct slice items[3];
    for (size_t k = 0; k < 3; k++)
        items[k] = sum_item(&cells[k], CELL[k], 3);
    assert_int_equal(counter_sum(&out, &TABLE, items, 3), NUMBER_OK);
    assert_true(slice_equal(buffer_slice(&out), sum_item(&expected, SUM, 3)));
    for (size_t k = 0; k < 3; k++)
        buffer_deinit(&cells[k]);
    buffer_deinit(&expected);
    buffer_deinit(&out);
}
