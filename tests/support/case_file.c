/* case_file.c - reads, runs and rewrites case files. */
#include "tests/support/case_file.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>

#include "tests/check.h"

struct case_run {
    const struct case_format *format;
    void *world;
    const char *path;
    int line;              /* that was read last */
    struct slice text;     /* what is left of the file */
    struct buffer command; /* lines, joined */
    struct buffer out;     /* of the commands of this block */
    struct buffer expected;
    struct buffer fresh; /* the file with the outputs that came */
    int blocks;
    int commands; /* of this block */
    int differ;   /* blocks */
};

static void case_load(const char *path, struct buffer *text)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char piece[4096];
    for (size_t size; (size = fread(piece, 1, sizeof piece, file)) > 0;)
        buffer_append(text, piece, size);
    assert_int_equal(fclose(file), 0);
}

static void case_save(const char *path, struct slice text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text.data, 1, text.size, file), text.size);
    assert_int_equal(fclose(file), 0);
}

/* The next line without its end; false at the end of the text. */
static bool case_next_line(struct slice *text, struct slice *line)
{
    if (text->size == 0)
        return false;
    const uint8_t *end = memchr(text->data, '\n', text->size);
    const size_t size = end == NULL ? text->size : (size_t)(end - text->data);
    const size_t used = end == NULL ? size : size + 1;
    *line = slice_make(text->data, size);
    *text = slice_make(text->data + used, text->size - used);
    return true;
}

static void case_print(char sign, struct slice text)
{
    struct slice line;
    while (case_next_line(&text, &line))
        print_error("%c %.*s\n", sign, (int)line.size, (const char *)line.data);
}

static void case_append_line(struct buffer *out, struct slice line)
{
    buffer_append_slice(out, line);
    buffer_append_u8(out, '\n');
}

/* Runs the command whose lines have been joined. */
static void case_run_command(struct case_run *r)
{
    if (r->command.size == 0)
        return;
    r->commands++;
    buffer_append_u8(&r->command, '\0');
    r->command.size--;
    r->format->run(r->world, buffer_slice(&r->command), &r->out);
    buffer_clear(&r->command);
}

static void case_add_line(struct case_run *r, struct slice line)
{
    size_t indent = 0;
    while (indent < line.size && line.data[indent] == ' ')
        indent++;
    if (indent == 0)
        case_run_command(r);
    if (line.size > 0 && line.data[0] != '#')
        buffer_append(&r->command, line.data + indent, line.size - indent);
}

/* Compares the outputs with what follows in the file, up to an empty line. */
static void case_compare(struct case_run *r)
{
    struct slice line;
    const int at = r->line;
    buffer_clear(&r->expected);
    while (case_next_line(&r->text, &line) && ++r->line && line.size > 0)
        case_append_line(&r->expected, line);
    if (r->commands == 0 || r->out.size == 0)
        fail_msg("%s:%d: a block without a command or an output tests nothing", r->path, at);
    r->blocks++;
    r->commands = 0;
    buffer_append_slice(&r->fresh, buffer_slice(&r->out));
    if (r->text.size > 0)
        buffer_append_u8(&r->fresh, '\n');
    if (!slice_equal(buffer_slice(&r->expected), buffer_slice(&r->out))) {
        r->differ++;
        print_error("%s:%d: expected -, came +\n", r->path, at);
        case_print('-', buffer_slice(&r->expected));
        case_print('+', buffer_slice(&r->out));
    }
    buffer_clear(&r->out);
}

static void case_run_text(struct case_run *r)
{
    struct slice line;
    while (case_next_line(&r->text, &line)) {
        r->line++;
        case_append_line(&r->fresh, line);
        if (!slice_is(line, "----")) {
            case_add_line(r, line);
            continue;
        }
        case_run_command(r);
        case_compare(r);
    }
    case_run_command(r);
    if (r->commands > 0)
        fail_msg("%s: commands without ---- at the end", r->path);
    if (r->blocks == 0)
        fail_msg("%s: no block", r->path);
}

/* Whether the file's outputs are those that came, or were written anew. */
static bool case_file_run(const char *path, const struct case_format *format)
{
    struct buffer text = {0};
    case_load(path, &text);
    struct case_run r = {
        .format = format, .world = format->begin(), .path = path, .text = buffer_slice(&text)};
    case_run_text(&r);
    format->end(r.world);
    if (check_rewrites())
        case_save(path, buffer_slice(&r.fresh));
    buffer_deinit(&text);
    buffer_deinit(&r.command);
    buffer_deinit(&r.out);
    buffer_deinit(&r.expected);
    buffer_deinit(&r.fresh);
    return r.differ == 0 || check_rewrites();
}

void case_files_run(const char *pattern, const struct case_format *format)
{
    glob_t files;
    bool same = true;
    char path[256];
    snprintf(path, sizeof path, SOURCE_DIR "/tests/cases/%s", pattern);
    assert_int_equal(glob(path, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        same = case_file_run(files.gl_pathv[i], format) && same;
    globfree(&files);
    assert_true(same);
}

/* The end of the piece of the text that fits a line: behind a comma outside of strings, or all. */
static size_t case_line_end(struct slice text)
{
    size_t end = 0;
    bool within = false; /* a string; no line ends in one */
    for (size_t i = 0; i < text.size && (i < CASE_COLUMNS || end == 0); i++) {
        if (text.data[i] == '\\' && within)
            i++;
        else if (text.data[i] == '"')
            within = !within;
        else if (text.data[i] == ',' && !within && i + 1 < text.size && text.data[i + 1] != ' ')
            end = i + 1;
    }
    return text.size <= CASE_COLUMNS || end == 0 ? text.size : end;
}

void case_append_wrapped(struct buffer *out, struct slice text)
{
    for (bool first = true; text.size > 0; first = false) {
        const size_t size = case_line_end(text);
        if (!first)
            buffer_append(out, "  ", 2);
        case_append_line(out, slice_make(text.data, size));
        text = slice_make(text.data + size, text.size - size);
    }
}

void case_append_text(struct buffer *out, struct slice text, bool indented)
{
    for (; text.size > 0; indented = true) {
        size_t size = text.size;
        if (size > CASE_COLUMNS)
            for (size = CASE_COLUMNS; size > 1 && text.data[size] != ' ';)
                size--;
        if (indented)
            buffer_append(out, "  ", 2);
        case_append_line(out, slice_make(text.data, size));
        while (size < text.size && text.data[size] == ' ')
            size++;
        text = slice_make(text.data + size, text.size - size);
    }
}

/* The byte that an escape stands for; returns what follows. NULL: it is none. */
static const char *case_append_escaped(struct buffer *out, const char *text)
{
    const char *kind = strchr("t\tr\rn\n", *text);
    char digits[3] = {0};
    if (*text == 'x') {
        memcpy(digits, text + 1, 2);
        buffer_append_u8(out, (uint8_t)strtoul(digits, NULL, 16));
        return text + 3;
    }
    if (*text == '\0' || kind == NULL)
        return NULL;
    buffer_append_u8(out, (uint8_t)kind[1]);
    return text + 1;
}

const char *case_append_repeated(struct buffer *out, const char *text)
{
    char *at;
    long first = 0, last = strtol(text, &at, 10) - 1;
    if (*at == '-') {
        first = last + 1;
        last = strtol(at + 1, &at, 10);
    }
    const char *end = strchr(at, '>');
    if (!isdigit((unsigned char)text[0]) || (*at != '*' && *at != ',') || end == NULL)
        return NULL;
    const long step = first <= last ? 1 : -1;
    for (long i = first; i != last + step && last >= 0; i += step) {
        if (i != first && *at == ',')
            buffer_append_u8(out, ',');
        for (const char *c = at + 1; c < end; c++) {
            const char *next = *c == '\\' ? case_append_escaped(out, c + 1) : NULL;
            if (next != NULL)
                c = next - 1;
            else if (*c == '#' && *at == ',')
                buffer_append_format(out, "%ld", i);
            else
                buffer_append_u8(out, (uint8_t)*c);
        }
    }
    return end + 1;
}

void case_append_expanded(struct buffer *out, const char *text)
{
    while (*text != '\0') {
        const char *next = *text == '<'    ? case_append_repeated(out, text + 1)
                           : *text == '\\' ? case_append_escaped(out, text + 1)
                                           : NULL;
        if (next == NULL)
            buffer_append_u8(out, (uint8_t)*text);
        text = next == NULL ? text + 1 : next;
    }
}
