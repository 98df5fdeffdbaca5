/* node_events.c - the texts of a node's events. */
#include "engine/node/node.h"

#include "base/status.h"
#include "engine/message/reply_code_name.h"

/* What follows an event's text. */
enum node_subject {
    NODE_SUBJECT_NONE,
    NODE_SUBJECT_NUMBER,
    NODE_SUBJECT_REPLY,  /* enum reply_code */
    NODE_SUBJECT_STATUS, /* enum status */
};

void node_trace_event_describe(const struct trace_event *e, struct buffer *out)
{
    static const struct {
        const char *text;
        enum node_subject subject;
        const char *value;
    } kinds[] = {
#define X(code, text, subject, value) [code] = {text, NODE_SUBJECT_##subject, value},
        NODE_TRACE_LIST(X)
#undef X
    };
    buffer_append_text(out, kinds[e->kind].text);
    switch (kinds[e->kind].subject) {
    case NODE_SUBJECT_NONE:
        break;
    case NODE_SUBJECT_NUMBER:
        buffer_append_format(out, " %u", e->subject);
        break;
    case NODE_SUBJECT_REPLY:
        buffer_append_format(out, " %s", reply_code_name((enum reply_code)e->subject));
        break;
    case NODE_SUBJECT_STATUS:
        buffer_append_format(out, " %s", status_text((enum status)e->subject));
        break;
    }
    buffer_append_format(out, ", %s %lld", kinds[e->kind].value, (long long)e->value);
}
