/* input_file_test.c - files of users: lines as they were written, bounds, read errors. */
#include "workload/input_file.h"

#include "tests/check.h"
#include "tests/temporary.h"

static char path[TEMPORARY_NAME_MAX];

static void write_bytes(struct slice bytes)
{
    temporary_name(path, "input");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
    fclose(f);
}

static void expect_text(const struct buffer *b, const char *text)
{
    if (memmem(b->data, b->size, text, strlen(text)) == NULL)
        fail_msg("`%s` is not in `%.*s`", text, TEXT_OF(*b));
}

/* Lines of many sizes, over several parts of the file: with and without an end of the last one. */
TEST(lines_are_returned_as_they_were_written)
{
    enum {
        LINES = 300,
        SIZE_MAX_BYTES = 1000
    };
    for (int ends = 0; ends < 2; ends++) {
        struct buffer all = {0}, error = {0};
        struct input_lines l;
        struct slice line;
        size_t begins[LINES], sizes[LINES];
        for (int i = 0; i < LINES; i++) {
            begins[i] = all.size;
            sizes[i] = (size_t)(i * 37) % (SIZE_MAX_BYTES + 1);
            if (i + 1 == LINES)
                sizes[i] = SIZE_MAX_BYTES;
            for (size_t n = 0; n < sizes[i]; n++)
                buffer_append_u8(&all, (uint8_t)('a' + (n + (size_t)i) % 26));
            if (i + 1 < LINES || ends == 1)
                buffer_append_u8(&all, '\n');
        }
        write_bytes(buffer_slice(&all));
        assert_int_equal(input_lines_open(&l, path, false, SIZE_MAX_BYTES, &error), STATUS_OK);
        for (int i = 0; i < LINES; i++) {
            const bool last = i + 1 == LINES && ends == 0;
            assert_int_equal(input_lines_next(&l, &line, &error),
                             last ? INPUT_LINE_LAST : INPUT_LINE);
            assert_int_equal(l.line, i + 1);
            assert_true(slice_equal(line, slice_make(all.data + begins[i], sizes[i])));
        }
        assert_int_equal(input_lines_next(&l, &line, &error), INPUT_OVER);
        assert_int_equal(input_lines_next(&l, &line, &error), INPUT_OVER);
        assert_int_equal(error.size, 0);
        input_lines_close(&l);
        buffer_deinit(&all);
    }
    unlink(path);
}

TEST(a_line_above_the_limit_is_refused_with_its_number)
{
    struct buffer error = {0};
    struct input_lines l;
    struct slice line;
    write_bytes(slice_of("\n12345\n123456\n"));
    assert_int_equal(input_lines_open(&l, path, false, 5, &error), STATUS_OK);
    assert_int_equal(input_lines_next(&l, &line, &error), INPUT_LINE);
    assert_int_equal(input_lines_next(&l, &line, &error), INPUT_LINE);
    assert_int_equal(input_lines_next(&l, &line, &error), INPUT_FAILED);
    expect_text(&error, ": line 3: longer than 5 bytes");
    input_lines_close(&l);
    buffer_clear(&error);
    assert_int_equal(input_lines_open(&l, "/dev/zero", false, 65536, &error), STATUS_OK);
    assert_int_equal(input_lines_next(&l, &line, &error), INPUT_FAILED);
    expect_text(&error, "/dev/zero: line 1: longer than 65536 bytes");
    input_lines_close(&l);
    buffer_deinit(&error);
    unlink(path);
}

TEST(a_file_is_read_whole_up_to_the_limit)
{
    struct buffer out = {0}, error = {0};
    write_bytes(slice_of("one\ntwo"));
    buffer_append_text(&out, "zero ");
    assert_int_equal(input_file_read(path, &out, &error), STATUS_OK);
    assert_true(slice_is(buffer_slice(&out), "zero one\ntwo"));
    assert_int_equal(truncate(path, INPUT_FILE_SIZE_MAX), 0);
    buffer_clear(&out);
    assert_int_equal(input_file_read(path, &out, &error), STATUS_OK);
    assert_int_equal(out.size, INPUT_FILE_SIZE_MAX);
    assert_int_equal(truncate(path, INPUT_FILE_SIZE_MAX + 1), 0);
    buffer_clear(&out);
    assert_int_equal(input_file_read(path, &out, &error), STATUS_TOO_LARGE);
    expect_text(&error, ": it has more than 64 MiB");
    buffer_clear(&out);
    assert_int_equal(input_file_read("/dev/zero", &out, &error), STATUS_TOO_LARGE);
    buffer_deinit(&out);
    buffer_deinit(&error);
    unlink(path);
}

TEST(a_read_error_is_not_the_end_of_a_file)
{
    struct buffer out = {0}, error = {0};
    struct input_lines l;
    struct slice line;
    assert_int_equal(input_file_read("/", &out, &error), STATUS_IO);
    expect_text(&error, "cannot read /: Is a directory");
    assert_int_equal(input_lines_open(&l, "/", false, 10, &error), STATUS_OK);
    buffer_clear(&error);
    assert_int_equal(input_lines_next(&l, &line, &error), INPUT_FAILED);
    expect_text(&error, "cannot read /: Is a directory");
    input_lines_close(&l);
    buffer_clear(&error);
    assert_int_equal(input_lines_open(&l, "/nope", false, 10, &error), STATUS_IO);
    expect_text(&error, "cannot read /nope: No such file or directory");
    buffer_deinit(&out);
    buffer_deinit(&error);
}
