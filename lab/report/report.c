#include "lab/report/report.h"

#include "lab/report/texts.h"
#include "router/json/base64.h"
#include "router/json/json_writer.h"

bool lab_report_can_draw(void)
{
    return report_texts[REPORT_D3].size > 0 && report_texts[REPORT_PLOT].size > 0;
}

/* ---- the page ---- */

/* JSON inside of a script element: `<` occurs in strings only, and there it can be escaped. */
static void append_json(struct buffer *out, struct slice json)
{
    while (json.size > 0) {
        const uint8_t *less = memchr(json.data, '<', json.size);
        size_t before = less == NULL ? json.size : (size_t)(less - json.data);
        buffer_append(out, json.data, before);
        if (less != NULL)
            buffer_append_text(out, "\\u003c");
        json.data += before + (less != NULL);
        json.size -= before + (less != NULL);
    }
}

static void append_script(struct buffer *out, enum report_text which)
{
    buffer_append_text(out, "<script>");
    buffer_append_slice(out, report_texts[which]);
    buffer_append_text(out, "</script>\n");
}

void lab_report_begin(struct lab_report *r, struct buffer *out, const char *version)
{
    struct buffer licences = {0};
    *r = (struct lab_report){.out = out};
    buffer_append_text(out,
                       "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width\">\n"
                       "<title>weir lab</title>\n<style>");
    buffer_append_slice(out, report_texts[REPORT_CSS]);
    buffer_append_text(out,
                       "</style>\n</head>\n<body>\n<noscript>This page draws its figures with "
                       "JavaScript.</noscript>\n<script type=\"application/json\" id=\"data\">");
    buffer_append_u8(out, '{');
    json_member_text(out, "version", version);
    json_write_string(&licences, report_texts[REPORT_LICENCES]);
    json_write_key(out, "licences");
    append_json(out, buffer_slice(&licences));
    json_member_open(out, "scenarios", '[');
    buffer_deinit(&licences);
}

void lab_report_begin_scenario(struct lab_report *r, struct slice result)
{
    buffer_append_text(r->out, r->another_scenario ? ",{\"result\":" : "{\"result\":");
    r->another_scenario = true;
    r->another_run = false;
    r->left_out = 0;
    append_json(r->out, result);
    buffer_append_text(r->out, ",\"runs\":[");
}

void lab_report_run(struct lab_report *r, struct slice run)
{
    if (r->another_run)
        buffer_append_u8(r->out, ',');
    r->another_run = true;
    append_json(r->out, run);
}

void lab_report_leave_out(struct lab_report *r)
{
    r->left_out++;
}

void lab_report_end_scenario(struct lab_report *r)
{
    buffer_append_format(r->out, "],\"left_out\":%llu}", (unsigned long long)r->left_out);
}

void lab_report_end(struct lab_report *r)
{
    static const enum report_text scripts[] = {REPORT_D3,    REPORT_PLOT,    REPORT_DATA,
                                               REPORT_CHART, REPORT_FIGURES, REPORT_PAGE};
    buffer_append_text(r->out, "]}</script>\n");
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        append_script(r->out, scripts[i]);
    buffer_append_text(r->out, "</body>\n</html>\n");
}

/* ---- figures as files ---- */

struct slice lab_report_files(struct slice page)
{
    static const char begin[] = "<pre id=\"svg-files\">", end[] = "</pre>";
    const uint8_t *at = memmem(page.data, page.size, begin, sizeof begin - 1);
    if (at == NULL)
        return slice_make(NULL, 0);
    at += sizeof begin - 1;
    size_t left = page.size - (size_t)(at - page.data);
    const uint8_t *over = memmem(at, left, end, sizeof end - 1);
    return over == NULL ? slice_make(NULL, 0) : slice_make(at, (size_t)(over - at));
}

static bool is_file_name(struct slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                    (c == '.' && i > 0);
        if (!good)
            return false;
    }
    return name.size > 0 && name.size < 250;
}

/* A line: NAME, a space, base64. */
enum status lab_report_next_file(struct slice *files, struct slice *name, struct buffer *bytes)
{
    const uint8_t *end = files->size == 0 ? NULL : memchr(files->data, '\n', files->size);
    if (files->size == 0)
        return STATUS_NOT_FOUND;
    const uint8_t *space =
        end == NULL ? NULL : memchr(files->data, ' ', (size_t)(end - files->data));
    if (space == NULL)
        return STATUS_MALFORMED;
    struct slice text = slice_make(space + 1, (size_t)(end - space - 1));
    *name = slice_make(files->data, (size_t)(space - files->data));
    if (!is_file_name(*name) || base64_check(text) != BASE64_OK)
        return STATUS_MALFORMED;
    buffer_clear(bytes);
    if (text.size > 0) /* an empty buffer has no place to add to */
        bytes->size += base64_decode(text, buffer_reserve(bytes, text.size));
    files->size -= (size_t)(end + 1 - files->data);
    files->data = end + 1;
    return STATUS_OK;
}
