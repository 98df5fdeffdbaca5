/* raft_message.c - messages as bytes, and the outbox.
 *
 * Layout: u8 kind | u8 flags | u32 group | u64 from, to, term, index, log_term, commit, round,
 * support | u32 entries | each: u64 term | u8 kind | u32 size | payload. An entry's index follows
 * from the message's. The decoder checks the rules of every append: terms never fall along the log
 * and never exceed the message's term. */
#include <stdlib.h>

#include "replication/raft_internal.h"

enum {
    FLAG_REJECTED = 1,
    FLAG_TRANSFER = 2,
    FLAG_NO_STATE = 4,
    FLAGS = 7,
    ENTRY_HEAD_SIZE = 13,
    MESSAGE_HEAD_SIZE = 74
};

void raft_message_encode(struct buffer *out, const struct raft_message *m)
{
    must(m->kind >= RAFT_APPEND && m->kind < RAFT_MESSAGE_KINDS);
    must(m->entry_count == 0 || m->kind == RAFT_APPEND);
    uint8_t *at = buffer_reserve(out, MESSAGE_HEAD_SIZE);
    at = put_u8(at, (uint8_t)m->kind);
    at =
        put_u8(at, (uint8_t)((m->rejected ? FLAG_REJECTED : 0) | (m->transfer ? FLAG_TRANSFER : 0) |
                             (m->no_state ? FLAG_NO_STATE : 0)));
    at = put_u32(at, m->group);
    at = put_u64(at, m->from);
    at = put_u64(at, m->to);
    at = put_u64(at, m->term);
    at = put_u64(at, m->index);
    at = put_u64(at, m->log_term);
    at = put_u64(at, m->commit);
    at = put_u64(at, m->round);
    at = put_u64(at, m->support);
    buffer_end(out, put_u32(at, m->entry_count));
    for (uint32_t i = 0; i < m->entry_count; i++) {
        const struct raft_entry *e = m->entries[i];
        must(e->index == m->index + 1 + i);
        at = buffer_reserve(out, ENTRY_HEAD_SIZE + e->payload.size);
        at = put_u8(put_u64(at, e->term), (uint8_t)e->kind);
        buffer_end(out, put_sized(at, e->payload));
    }
}

/* Whether the kind can be an entry of a group's log, and its payload is valid. */
static bool is_entry(uint8_t kind, struct slice payload)
{
    struct raft_members members;
    struct reader r = {payload, false};
    if (kind == LOG_MEMBERS)
        return raft_members_decode(&r, &members) == STATUS_OK;
    return kind > LOG_END && kind < LOG_KINDS && kind != LOG_HARD_STATE;
}

static enum status decode_entries(struct reader *r, struct arena *arena, struct raft_message *m)
{
    if (m->entry_count > r->left.size / ENTRY_HEAD_SIZE)
        return STATUS_MALFORMED;
    struct raft_entry *entries = arena_alloc(arena, m->entry_count * sizeof *entries);
    const struct raft_entry **all = arena_alloc(arena, m->entry_count * sizeof *all);
    uint64_t term = m->log_term;
    for (uint32_t i = 0; i < m->entry_count; i++) {
        struct raft_entry *e = &entries[i];
        *e = (struct raft_entry){.index = m->index + 1 + i, .term = reader_u64(r)};
        uint8_t kind = reader_u8(r);
        e->payload = reader_sized(r);
        if (r->failed || !is_entry(kind, e->payload) || e->payload.size > LOG_PAYLOAD_SIZE_MAX ||
            e->term < term || e->term > m->term)
            return STATUS_MALFORMED;
        e->kind = (enum log_kind)kind;
        term = e->term;
        all[i] = e;
    }
    m->entries = all;
    return STATUS_OK;
}

enum status raft_message_decode(struct reader *r, struct arena *arena, struct raft_message *out)
{
    const uint8_t *at = reader_take(r, MESSAGE_HEAD_SIZE).data;
    if (at == NULL)
        return STATUS_MALFORMED;
    uint8_t kind = get_u8(&at), flags = get_u8(&at);
    *out = (struct raft_message){
        .rejected = flags & FLAG_REJECTED,
        .transfer = flags & FLAG_TRANSFER,
        .no_state = flags & FLAG_NO_STATE,
        .group = get_u32(&at),
    };
    out->from = get_u64(&at);
    out->to = get_u64(&at);
    out->term = get_u64(&at);
    out->index = get_u64(&at);
    out->log_term = get_u64(&at);
    out->commit = get_u64(&at);
    out->round = get_u64(&at);
    out->support = get_u64(&at);
    out->entry_count = get_u32(&at);
    if (kind < RAFT_APPEND || kind >= RAFT_MESSAGE_KINDS || (flags & ~FLAGS) != 0 ||
        out->from == 0 || out->to == 0 || out->log_term > out->term || out->term > RAFT_TERM_MAX ||
        out->index > RAFT_INDEX_MAX || out->commit > RAFT_INDEX_MAX)
        return STATUS_MALFORMED;
    out->kind = (enum raft_message_kind)kind;
    if (out->entry_count == 0)
        return STATUS_OK;
    return out->kind == RAFT_APPEND ? decode_entries(r, arena, out) : STATUS_MALFORMED;
}

/* ---- the outbox ---- */

struct raft_message *raft_push(struct raft *r, enum raft_message_kind kind, uint64_t to)
{
    struct raft_outbox *o = r->shared->outbox;
    o->messages = must_grow(o->messages, o->count, &o->capacity, sizeof *o->messages);
    struct raft_message *m = &o->messages[o->count++];
    *m = (struct raft_message){.kind = kind, .group = r->group, .from = r->self, .to = to};
    return m;
}

void raft_outbox_deinit(struct raft_outbox *o)
{
    free(o->messages);
    *o = (struct raft_outbox){0};
}
