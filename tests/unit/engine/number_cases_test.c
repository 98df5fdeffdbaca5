/* number_cases_test.c - which texts are numbers, and what becomes of them: tests/cases/number
 * (tests/support/case_file.h). Commands:
 *
 *   number TEXT       plain digits, how many digits count, how many bytes an item pays for the
 *                     number, and whether an int64_t holds the number; or why the text is none
 *   sum A B           the sum, in either order, and the difference
 *   order A B..       how each compares with the next, by the encodings
 *
 * Each number comes back from its encoding, also with bytes behind it, and from its int64_t. */
#include "engine/item/number.h"
#include "tests/check.h"
#include "tests/support/case_file.h"

static const char *const ERRORS[] = {[NUMBER_NOT_NUMERIC] = "not numeric",
                                     [NUMBER_TOO_MANY_DIGITS] = "too many digits",
                                     [NUMBER_OVERFLOW] = "overflow",
                                     [NUMBER_UNDERFLOW] = "underflow"};

static void check_encoding(const struct number *n)
{
    uint8_t bytes[NUMBER_ENCODED_MAX + 3];
    struct number back;
    const size_t size = number_encode(n, bytes);
    size_t used;
    memcpy(bytes + size, "abc", 3);
    assert_int_equal(number_decode(slice_make(bytes, size + 3), &back, &used), STATUS_OK);
    assert_int_equal(used, size);
    assert_memory_equal(&back, n, sizeof back);
}

static void append_digits(struct buffer *out, const struct number *n)
{
    char text[NUMBER_TEXT_MAX];
    const size_t size = number_format(n, text);
    assert_int_equal(size, strlen(text));
    buffer_append_text(out, text);
}

static void run_number(struct slice text, struct buffer *out)
{
    struct number n;
    const enum number_error error = number_parse(text, &n);
    if (error != NUMBER_OK) {
        buffer_append_format(out, "%s\n", ERRORS[error]);
        return;
    }
    check_encoding(&n);
    append_digits(out, &n);
    int64_t whole;
    const bool fits = number_to_i64(&n, &whole);
    buffer_append_format(out, " (%u digits, %u bytes)%s\n", n.count, number_size(&n),
                         fits ? "" : ", no int64");
    if (!fits)
        return;
    const struct number again = number_from_i64(whole);
    assert_memory_equal(&again, &n, sizeof again);
}

static struct number number_of(const char *text)
{
    struct number n;
    assert_int_equal(number_parse(slice_of(text), &n), NUMBER_OK);
    return n;
}

static void append_result(struct buffer *out, enum number_error error, const struct number *n)
{
    if (error != NUMBER_OK)
        buffer_append_text(out, ERRORS[error]);
    else
        append_digits(out, n);
}

static void run_sum(const char *a, const char *b, struct buffer *out)
{
    const struct number x = number_of(a), y = number_of(b);
    struct number sum, other;
    const enum number_error error = number_add(&x, &y, &sum);
    assert_int_equal(number_add(&y, &x, &other), error);
    if (error == NUMBER_OK)
        assert_memory_equal(&sum, &other, sizeof sum);
    append_result(out, error, &sum);
    buffer_append_text(out, " and ");
    append_result(out, number_subtract(&x, &y, &sum), &sum);
    buffer_append_u8(out, '\n');
}

static void run_order(char *rest, struct buffer *out)
{
    uint8_t before[NUMBER_ENCODED_MAX], bytes[NUMBER_ENCODED_MAX];
    size_t before_size = 0;
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        const struct number n = number_of(word);
        const size_t size = number_encode(&n, bytes);
        const int order = slice_compare(slice_make(before, before_size), slice_make(bytes, size));
        if (before_size > 0)
            buffer_append_text(out, order < 0 ? " < " : order > 0 ? " > " : " = ");
        buffer_append_text(out, word);
        memcpy(before, bytes, size);
        before_size = size;
    }
    buffer_append_u8(out, '\n');
}

static void run(void *world, struct slice command, struct buffer *out)
{
    char *text = (char *)(uintptr_t)command.data, a[64], b[64];
    struct buffer expanded = {0};
    (void)world;
    if (sscanf(text, "sum %63s %63s", a, b) == 2) {
        run_sum(a, b, out);
    } else if (strncmp(text, "order ", 6) == 0) {
        run_order(text + 6, out);
    } else {
        assert_int_equal(strncmp(text, "number", 6), 0);
        case_append_expanded(&expanded, text + (text[6] == ' ' ? 7 : 6));
        run_number(buffer_slice(&expanded), out);
    }
    buffer_deinit(&expanded);
}

static void *begin(void)
{
    return NULL;
}

static void end(void *world)
{
    (void)world;
}

TEST(numbers_are_as_in_the_files)
{
    static const struct case_format FORMAT = {begin, end, run};
    case_files_run("number/*.case", &FORMAT);
}
