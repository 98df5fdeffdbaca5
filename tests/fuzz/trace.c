/* Any bytes as a trace, weir's own or Twitter's: each line is taken or refused with its number,
 * times do not go back, and what was taken can be written and read again. */
#include "base/limits.h"
#include "base/must.h"
#include "workload/trace_reader.h"
#include "workload/trace_recorder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_record(const struct trace_record *r, bool twitter)
{
    must(r->size_bytes >= 0 && r->size_bytes <= ITEM_SIZE_MAX);
    must(r->scan_length >= 1);
    must(r->kind < TRAFFIC_KINDS);
    must(r->outcome < TRACE_OUTCOMES);
    must(r->consistent || !traffic_kind_writes(r->kind));
    if (twitter)
        return;
    struct buffer line = {0}, error = {0};
    struct trace_reader again = {.format = TRACE_WEIR};
    struct trace_record read;
    enum trace_line what;
    trace_append_line(&line, 0, r, slice_of("key-0000000001"), NULL);
    struct slice text = slice_make(line.data, line.size - 1);
    must(trace_reader_line(&again, text, &what, &read, &error) == STATUS_OK);
    must(what == TRACE_LINE_RECORD && read.kind == r->kind && read.key == 1);
    must(read.table == r->table && read.tenant == r->tenant && read.outcome == r->outcome);
    buffer_deinit(&line);
    buffer_deinit(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace_reader r = {0};
    struct slice rest = slice_make(data, size);
    struct buffer error = {0};
    int64_t last_ns = 0;
    while (rest.size > 0) {
        struct trace_record record;
        enum trace_line what;
        struct slice line = slice_cut(&rest, '\n');
        if (trace_reader_line(&r, line, &what, &record, &error) != STATUS_OK) {
            must(slice_starts_with(buffer_slice(&error), slice_of("line ")));
            break;
        }
        must(error.size == 0);
        if (what != TRACE_LINE_RECORD)
            continue;
        must(record.at_ns >= last_ns);
        last_ns = record.at_ns;
        check_record(&record, r.format == TRACE_TWITTER);
    }
    buffer_deinit(&error);
    return 0;
}
