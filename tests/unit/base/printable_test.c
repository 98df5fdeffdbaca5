/* Texts of outside bytes on a line of a terminal. */
#include "base/printable.h"
#include "tests/check.h"

static void expect_printable(const char *text, const char *shown)
{
    struct buffer out = {0};
    buffer_append_printable(&out, slice_of(text));
    buffer_append_u8(&out, 0);
    assert_string_equal((const char *)out.data, shown);
    buffer_deinit(&out);
}

TEST(what_a_terminal_obeys_is_replaced_and_letters_of_any_script_are_not)
{
    expect_printable("a\nb\033[2Jc\177", "a?b?[2Jc?");
    expect_printable("\u200e\u200f\u061c\u2028\u2029", "?????");
    expect_printable("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", "?????????");
    expect_printable("\xC2\x80\xC2\x9F", "??");
    expect_printable("\u00e9\u05d0\u0639\u4e2d\u200d\u202f\u2070",
                     "\u00e9\u05d0\u0639\u4e2d\u200d\u202f\u2070");
    expect_printable("\xE2\x80", "\xE2\x80"); /* half of a character stays */
}
