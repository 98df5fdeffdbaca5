/* junit.c - see junit.h. */
#include "lab/run/junit.h"

static void append_xml(struct buffer *out, struct slice text)
{
    static const char *const escapes[UINT8_MAX + 1] = {
        ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;"};
    for (size_t i = 0; i < text.size; i++) {
        if (escapes[text.data[i]] != NULL)
            buffer_append_text(out, escapes[text.data[i]]);
        else
            buffer_append_u8(out, text.data[i]);
    }
}

void junit_append_case(struct buffer *out, const char *suite, struct slice name,
                       const char *failure, struct slice fault)
{
    buffer_append_text(out, "    <testcase classname=\"");
    append_xml(out, slice_of(suite));
    buffer_append_text(out, "\" name=\"");
    append_xml(out, name);
    if (fault.size == 0) {
        buffer_append_text(out, "\"/>\n");
        return;
    }
    buffer_append_format(out, "\">\n      <failure type=\"%s\" message=\"", failure);
    append_xml(out, fault);
    buffer_append_text(out, "\"/>\n    </testcase>\n");
}

void junit_append_suite(struct buffer *out, const char *name, uint32_t cases, uint32_t failures,
                        struct slice texts)
{
    buffer_append_text(out, "  <testsuite name=\"");
    append_xml(out, slice_of(name));
    buffer_append_format(out, "\" tests=\"%u\" failures=\"%u\">\n", cases, failures);
    buffer_append_slice(out, texts);
    buffer_append_text(out, "  </testsuite>\n");
}
