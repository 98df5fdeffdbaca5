/* event.c - decisions about the cluster, told to people: what, about which partition, why, and the
 * figures before and after. */
#include "engine/catalog/event.h"

#include "base/limits.h"

const char *event_kind_name(enum event_kind kind)
{
    static const char *const names[EVENT_KINDS] = {
#define X(code, number, name) [code] = name,
        EVENT_LIST(X)
#undef X
    };
    return kind < EVENT_KINDS && names[kind] != NULL ? names[kind] : "unknown";
}

void event_encode(struct buffer *out, const struct event *e)
{
    buffer_append_u64(out, e->number);
    buffer_append_u64(out, (uint64_t)e->wall_ms);
    buffer_append_u8(out, (uint8_t)e->kind);
    buffer_append_u32(out, e->table_id);
    buffer_append_u32(out, e->partition);
    buffer_append_sized(out, e->table);
    buffer_append_sized(out, e->reason);
    buffer_append_sized(out, e->figure);
    buffer_append_u64(out, (uint64_t)e->before);
    buffer_append_u64(out, (uint64_t)e->after);
}

enum status event_decode(struct reader *r, struct event *out)
{
    out->number = reader_u64(r);
    out->wall_ms = (int64_t)reader_u64(r);
    uint8_t kind = reader_u8(r);
    out->table_id = reader_u32(r);
    out->partition = reader_u32(r);
    out->table = reader_sized(r);
    out->reason = reader_sized(r);
    out->figure = reader_sized(r);
    out->before = (int64_t)reader_u64(r);
    out->after = (int64_t)reader_u64(r);
    if (kind == 0 || kind >= EVENT_KINDS || out->table.size > TABLE_NAME_SIZE_MAX ||
        out->reason.size > EVENT_TEXT_SIZE_MAX || out->figure.size > EVENT_TEXT_SIZE_MAX)
        r->failed = true;
    out->kind = (enum event_kind)kind;
    return r->failed ? STATUS_MALFORMED : STATUS_OK;
}
