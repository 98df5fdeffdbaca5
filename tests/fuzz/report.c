/* report.c - what nodes report and what the controller decides, from another process: records that
 * decode must encode to the same bytes. */
#include "engine/catalog/report.h"
#include "base/must.h"
#include "engine/catalog/decision.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(const struct buffer *encoded, const uint8_t *data)
{
    must(encoded->size == 0 || memcmp(encoded->data, data, encoded->size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = slice_make(data, size);
    struct reader reader = {bytes, false};
    struct buffer out = {0};
    struct node_report node;
    struct partition_report partition;
    struct decision decision;
    struct event event;
    if (node_report_decode(&reader, &node) == STATUS_OK) {
        node_report_encode(&out, &node);
        while (reader.left.size > 0 && partition_report_decode(&reader, &partition) == STATUS_OK)
            partition_report_encode(&out, &partition);
    }
    check_same(&out, data);
    buffer_clear(&out);
    if (decision_decode(bytes, &decision) == STATUS_OK) {
        decision_encode(&out, &decision);
        must(out.size == size);
    }
    check_same(&out, data);
    buffer_clear(&out);
    reader = (struct reader){bytes, false};
    if (event_decode(&reader, &event) == STATUS_OK)
        event_encode(&out, &event);
    check_same(&out, data);
    buffer_deinit(&out);
    return 0;
}
