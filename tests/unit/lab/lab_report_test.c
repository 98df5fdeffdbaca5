/* The page of results as text, and the figures that a browser made of it. The page itself is tested
 * in a browser: tests/lab/report_test.py. */
#include "lab/report/report.h"

#include "tests/check.h"

TEST(data_cannot_end_the_script_that_holds_it)
{
    struct lab_report r;
    struct buffer page = {0};
    lab_report_begin(&r, &page, "1.2.3");
    for (int i = 0; i < 2; i++) {
        lab_report_begin_scenario(&r, slice_of("{\"about\":\"</script><b>\"}"));
        lab_report_run(&r, slice_of("{\"seed\":1}"));
        lab_report_run(&r, slice_of("{\"seed\":2}\n"));
        lab_report_leave_out(&r);
        lab_report_end_scenario(&r);
    }
    size_t before = page.size;
    const char one[] =
        "{\"result\":{\"about\":\"\\u003c/script>\\u003cb>\"},\"runs\":[{\"seed\":1},"
        "{\"seed\":2}\n],\"left_out\":1}";
    assert_non_null(memmem(page.data, before, one, sizeof one - 1));
    assert_null(memmem(page.data, before, "</script><b>", 12));
    assert_non_null(memmem(page.data, before, "1},{\"result\"", 12));
    lab_report_end(&r);
    assert_true(page.size > before);
    buffer_deinit(&page);
}

TEST(files_of_a_drawn_page_are_read_one_by_one)
{
    struct slice files = lab_report_files(
        slice_of("<html><pre id=\"svg-files\">a-1.svg PHN2Zy8+\nb_2.svg \n</pre></html>"));
    struct slice name;
    struct buffer bytes = {0};
    assert_int_equal(lab_report_next_file(&files, &name, &bytes), STATUS_OK);
    assert_slice_is(name, "a-1.svg");
    assert_slice_is(buffer_slice(&bytes), "<svg/>");
    assert_int_equal(lab_report_next_file(&files, &name, &bytes), STATUS_OK);
    assert_slice_is(name, "b_2.svg");
    assert_int_equal(bytes.size, 0);
    assert_int_equal(lab_report_next_file(&files, &name, &bytes), STATUS_NOT_FOUND);
    buffer_deinit(&bytes);
}

/* Clang's UBSan saw an offset of a null pointer here. */
TEST(a_file_without_bytes_may_come_first)
{
    struct slice files = slice_of("2 \na.svg PHN2Zy8+\n");
    struct slice name;
    struct buffer bytes = {0};
    assert_int_equal(lab_report_next_file(&files, &name, &bytes), STATUS_OK);
    assert_slice_is(name, "2");
    assert_true(bytes.size == 0 && bytes.data == NULL);
    assert_int_equal(lab_report_next_file(&files, &name, &bytes), STATUS_OK);
    assert_slice_is(buffer_slice(&bytes), "<svg/>");
    assert_int_equal(lab_report_next_file(&files, &name, &bytes), STATUS_NOT_FOUND);
    buffer_deinit(&bytes);
}

TEST(what_is_no_list_of_files_writes_no_file)
{
    static const char *const bad[] = {
        "../a.svg PHN2Zy8+\n", "/etc/a PHN2Zy8+\n", ".svg PHN2Zy8+\n", " PHN2Zy8+\n",
        "a.svg PHN2Zy8\n",     "a.svg PHN2Zy8+",    "a.svg\n",         "A.svg PHN2Zy8+\n",
    };
    struct slice name;
    struct buffer bytes = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct slice files = slice_of(bad[i]);
        assert_int_equal(lab_report_next_file(&files, &name, &bytes), STATUS_MALFORMED);
    }
    assert_int_equal(lab_report_files(slice_of("<html><pre id=\"svg-files\">a")).size, 0);
    assert_int_equal(lab_report_files(slice_of("<html></html>")).size, 0);
    buffer_deinit(&bytes);
}
