/* input_file.c - see input_file.h. */
#include "workload/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    CHUNK_SIZE = 64 * 1024
};

static enum status input_explain(const char *path, struct buffer *error)
{
    return buffer_explain(error, STATUS_IO, "cannot read %s: %s", path, strerror(errno));
}

static int input_open(const char *path)
{
    return (int)TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC));
}

/* A part of the file. Returns the number of bytes, 0 at its end, and -1 for a read error. */
static ssize_t input_read(int fd, struct buffer *out)
{
    uint8_t *at = buffer_reserve(out, CHUNK_SIZE + INPUT_PADDING);
    const ssize_t size = TEMP_FAILURE_RETRY(read(fd, at, CHUNK_SIZE));
    if (size > 0)
        out->size += (size_t)size;
    return size;
}

enum status input_file_read(const char *path, struct buffer *out, struct buffer *error)
{
    const size_t begin = out->size;
    const int fd = input_open(path);
    if (fd < 0)
        return input_explain(path, error);
    ssize_t size;
    do
        size = input_read(fd, out);
    while (size > 0 && out->size - begin <= INPUT_FILE_SIZE_MAX);
    enum status status = size < 0 ? input_explain(path, error) : STATUS_OK;
    if (size > 0)
        status = buffer_explain(error, STATUS_TOO_LARGE,
                                "cannot read %s: it has more than %d MiB, the limit of such a file",
                                path, INPUT_FILE_SIZE_MAX >> 20);
    close(fd);
    return status;
}

/* ---- lines ---- */

enum status input_lines_open(struct input_lines *l, const char *path, bool standard_input,
                             size_t line_size_max, struct buffer *error)
{
    const bool standard = standard_input && strcmp(path, "-") == 0;
    *l = (struct input_lines){.path = path,
                              .fd = standard ? STDIN_FILENO : input_open(path),
                              .line_size_max = line_size_max};
    return l->fd >= 0 ? STATUS_OK : input_explain(path, error);
}

void input_lines_open_text(struct input_lines *l, const char *path, struct slice text,
                           size_t line_size_max)
{
    *l =
        (struct input_lines){.path = path, .fd = -1, .line_size_max = line_size_max, .ended = true};
    buffer_append_slice(&l->text, text);
    buffer_reserve(&l->text, INPUT_PADDING);
}

void input_lines_close(struct input_lines *l)
{
    if (l->fd > STDIN_FILENO)
        close(l->fd);
    buffer_deinit(&l->text);
    *l = (struct input_lines){0};
}

/* Reads on behind the bytes without a line end, which move to the front. */
static bool input_lines_fill(struct input_lines *l, struct buffer *error)
{
    l->text.size -= l->next;
    if (l->text.size > 0)
        memmove(l->text.data, l->text.data + l->next, l->text.size);
    l->next = 0;
    const ssize_t size = input_read(l->fd, &l->text);
    if (size < 0)
        input_explain(l->path, error);
    l->ended = size == 0;
    return size >= 0;
}

static enum input_line input_lines_take(struct input_lines *l, size_t size, struct slice *line)
{
    *line = slice_make(l->text.data + l->next, size);
    l->next += size;
    l->line++;
    return INPUT_LINE;
}

enum input_line input_lines_next(struct input_lines *l, struct slice *line, struct buffer *error)
{
    size_t searched = 0;
    for (;;) {
        const size_t left = l->text.size - l->next;
        const uint8_t *from = l->text.data + l->next;
        const uint8_t *end =
            left > searched ? memchr(from + searched, '\n', left - searched) : NULL;
        const size_t size = end != NULL ? (size_t)(end - from) : left;
        if (size > l->line_size_max) {
            buffer_append_format(error, "%s: line %lld: longer than %zu bytes", l->path,
                                 (long long)l->line + 1, l->line_size_max);
            return INPUT_FAILED;
        }
        if (end != NULL) {
            input_lines_take(l, size, line);
            l->next++; /* the line end */
            return INPUT_LINE;
        }
        if (l->ended && size == 0)
            return INPUT_OVER;
        if (l->ended) {
            input_lines_take(l, size, line);
            return INPUT_LINE_LAST;
        }
        searched = left;
        if (!input_lines_fill(l, error))
            return INPUT_FAILED;
    }
}
