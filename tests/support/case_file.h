/* case_file.h - tests that are texts: commands, a line "----", the output that they must give, an
 * empty line.
 *
 *     # A full bucket admits its cost.
 *     try a write 1000
 *     ----
 *     ok
 *
 * A line that begins with spaces goes on with the line before it. A line that begins with `#` is a
 * comment. `--rewrite` writes the outputs that come into the files: read the diff before you commit
 * it. */
#pragma once

#include "base/buffer.h"

struct case_format {
    /* What one file's commands work on; `end` frees it. */
    void *(*begin)(void);
    void (*end)(void *world);
    /* Appends lines to `out`. The command is not empty; a zero byte stands behind its size. */
    void (*run)(void *world, struct slice command, struct buffer *out);
};

/* Runs tests/cases/PATTERN; fails if an output is not that of its file. */
void case_files_run(const char *pattern, const struct case_format *format);

/* Appends the text as lines of at most CASE_COLUMNS, cut after commas outside of strings; each line
 * but the first begins with two spaces. Such lines of a command become its text again. */
enum {
    CASE_COLUMNS = 110
};
void case_append_wrapped(struct buffer *out, struct slice text);
/* Appends a text for people, cut at spaces; each line, or each but the first, begins with two
 * spaces. */
void case_append_text(struct buffer *out, struct slice text, bool indented);

/* Appends what `N*TEXT>` stands for, so many times TEXT; `N,TEXT>`: a list of them, in which `#` is
 * the number of each, from 0; `A-B,TEXT>`: from A to B, or
 * down to B. Returns what follows; NULL: it is none. */
const char *case_append_repeated(struct buffer *out, const char *text);
/* Appends the text with what each `<` before such a repetition stands for, and with the bytes that
 * \t, \r, \n and \xNN stand for. */
void case_append_expanded(struct buffer *out, const char *text);
