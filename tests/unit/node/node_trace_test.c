/* node_trace_test.c - the texts of a node's events. */
#include "engine/node/node.h"

#include "base/status.h"
#include "engine/message/reply_code_name.h"
#include "tests/check.h"

static void expect_text(struct trace_event event, const char *text)
{
    struct buffer out = {0};
    node_trace_event_describe(&event, &out);
    assert_slice_is(buffer_slice(&out), text);
    buffer_deinit(&out);
}

TEST(events_name_their_codes)
{
    expect_text(
        (struct trace_event){.kind = NODE_TRACE_REFUSED, .subject = REPLY_NOT_LEADER, .value = 7},
        "refused a request: not leader, its number 7");
    expect_text(
        (struct trace_event){.kind = NODE_TRACE_CATALOG, .subject = REPLY_TABLE_BUSY, .value = 8},
        "applied a catalog command: table busy, log index 8");
    expect_text((struct trace_event){.kind = NODE_TRACE_CHECKPOINT_ENDED,
                                     .subject = STATUS_FULL,
                                     .value = 9},
                "checkpoint ended: disk or map is full, lsn 9");
    expect_text((struct trace_event){.kind = NODE_TRACE_LEADS, .subject = 4, .value = 2},
                "leads partition 4, term 2");
    expect_text((struct trace_event){.kind = NODE_TRACE_CHECKPOINT_BEGUN, .value = 3},
                "checkpoint begun, lsn 3");
}

TEST(every_code_has_a_name_of_its_own)
{
    for (enum reply_code a = 0; a < REPLY_CODES; a++) {
        for (enum reply_code b = 0; b < a; b++)
            assert_string_not_equal(reply_code_name(a), reply_code_name(b));
    }
}
