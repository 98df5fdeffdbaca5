/* node_space.c - makes one segment at a time. */
#include "server/node_space.h"

#include "base/probe.h"

enum {
    RETRY_SPACE_MS = 500
};

void node_space_init(struct node_space *s, const struct log_port *log, struct node *node,
                     uint64_t segment_bytes, uint64_t first)
{
    *s = (struct node_space){
        .log = log, .node = node, .segment_bytes = segment_bytes, .first = first, .last = first};
}

static void space_make(struct node_space *s, uint64_t segment)
{
    /* Zeros are not worth their cost for a log with few writes, or in urgent need of space. */
    bool written = segment > s->first + 1 && segment > node_log_end(s->node) / s->segment_bytes + 1;
    s->making = true;
    s->log->make(s->log->context, segment, written);
}

void node_space_prepare(struct node_space *s, struct instant now)
{
    uint64_t target = (node_log_end(s->node) + s->segment_bytes / 2) / s->segment_bytes + 1;
    while (s->last < target && s->log->has(s->log->context, s->last + 1))
        s->last++;
    bool waits = s->error != 0 && instant_before(now, s->retry_at);
    if (s->last < target && !s->making && !waits)
        space_make(s, s->last + 1);
    node_log_space(s->node, (s->last + 1) * s->segment_bytes, s->error);
}

void node_space_made(struct node_space *s, struct instant now, int error)
{
    must(s->making); /* PORT-1 */
    s->making = false;
    s->error = error;
    if (error != 0) {
        PROBE("a log segment cannot be made");
        s->retry_at = instant_add_ms(now, RETRY_SPACE_MS);
    }
    node_space_prepare(s, now);
}

struct instant node_space_deadline(const struct node_space *s)
{
    return s->error != 0 && !s->making ? s->retry_at : INSTANT_NEVER;
}
