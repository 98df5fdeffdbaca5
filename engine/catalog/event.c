/* event.c - names of events, and events as bytes. */
#include "engine/catalog/event.h"

#include "base/limits.h"

/* NULL: the number is not in use. */
static const char *const event_names[EVENT_KINDS] = {
#define X(code, number, name) [code] = name,
    EVENT_LIST(X)
#undef X
};

const char *event_kind_name(enum event_kind kind)
{
    return event_names[kind];
}

void event_walk(struct codec *c, struct event *e)
{
    codec_u64(c, &e->number);
    codec_i64(c, &e->wall_ms, INT64_MIN, INT64_MAX);
    e->kind = (enum event_kind)codec_choice(c, e->kind, 1, EVENT_KINDS - 1);
    codec_check(c, e->kind < EVENT_KINDS && event_names[e->kind] != NULL);
    codec_u32(c, &e->table_id);
    codec_u32(c, &e->partition);
    codec_sized(c, &e->table, TABLE_NAME_SIZE_MAX);
    codec_sized(c, &e->reason, EVENT_TEXT_SIZE_MAX);
    codec_sized(c, &e->figure, EVENT_TEXT_SIZE_MAX);
    codec_i64(c, &e->before, INT64_MIN, INT64_MAX);
    codec_i64(c, &e->after, INT64_MIN, INT64_MAX);
}

CODEC_ENCODE(event)
CODEC_DECODE(event)
