/* input_file.h - files that a user names, whole or line by line, within bounds.
 *
 *   struct input_lines lines;
 *   input_lines_open(&lines, path, false, TRACE_LINE_SIZE_MAX, &error);
 *   while (input_lines_next(&lines, &line, &error) == INPUT_LINE)
 *       use(line);
 *   input_lines_close(&lines);
 *
 * Promises: a file without an end, such as /dev/zero, needs bounded memory and time until it is
 * refused. A read error is never taken for the end of the file. Each error names the file and, if
 * it is too large, the limit.
 * Not here: secrets (host/secret.h) and tokens (server/host/admin.h), which have bounds of their
 * own. */
#pragma once

#include "base/buffer.h"

enum {
    INPUT_FILE_SIZE_MAX = 64 << 20, /* of a file that is read whole */
    INPUT_PADDING = 64              /* readable bytes after a line's end */
};

/* Appends the whole file. STATUS_IO: it cannot be read; STATUS_TOO_LARGE: it has more than
 * INPUT_FILE_SIZE_MAX bytes. `error` gets one line. */
enum status input_file_read(const char *path, struct buffer *out, struct buffer *error);

enum input_line {
    INPUT_LINE,
    INPUT_LINE_LAST, /* the bytes behind the last line end: at least one */
    INPUT_OVER,      /* the end of the file */
    INPUT_FAILED
};

struct input_lines {
    const char *path; /* borrows */
    int fd;           /* owns; 0: none, or standard input; -1: a text */
    size_t line_size_max;
    int64_t line; /* number of the last line */
    struct buffer text;
    size_t next; /* place of the next line in `text` */
    bool ended;  /* no byte follows those in `text` */
};

/* The path - is standard input, if `standard_input`. STATUS_IO: `error` gets one line. */
enum status input_lines_open(struct input_lines *l, const char *path, bool standard_input,
                             size_t line_size_max, struct buffer *error);
/* The lines of a text instead of a file's. Copies it. */
void input_lines_open_text(struct input_lines *l, const char *path, struct slice text,
                           size_t line_size_max);
void input_lines_close(struct input_lines *l);

/* `line` has no line end, lends until the next call, and has INPUT_PADDING readable bytes behind
 * it. INPUT_FAILED: a read error, or a longer line than allowed; `error` gets one line. */
enum input_line input_lines_next(struct input_lines *l, struct slice *line, struct buffer *error);
