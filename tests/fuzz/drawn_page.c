/* A page as a browser printed it: names of files stay in their directory, and the list ends. */
#include "base/must.h"
#include "lab/report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer page = {0}, bytes = {0};
    struct slice name, files;
    buffer_append_text(&page, "<pre id=\"svg-files\">");
    buffer_append(&page, data, size);
    buffer_append_text(&page, "</pre>");
    files = lab_report_files(buffer_slice(&page));
    while (lab_report_next_file(&files, &name, &bytes) == STATUS_OK) {
        must(name.size > 0 && name.data[0] != '.');
        must(memchr(name.data, '/', name.size) == NULL && memchr(name.data, 0, name.size) == NULL);
    }
    buffer_deinit(&page);
    buffer_deinit(&bytes);
    return 0;
}
