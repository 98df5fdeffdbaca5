/* stream_reads.c - REQUEST_RECORDS: the records of a shard, in their order.
 *
 * Only applied entries have records, and only the leader answers, as it answers a strong read. So a
 * record that was shown once stays, until it is trimmed. */
#include "engine/message/message.h"
#include "engine/message/stream_messages.h"
#include "engine/node/core/node_operation.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/core/stream_rows.h"
#include "engine/node/request/item_requests.h"

/* What the partition knows of the shard. */
struct shard_state {
    bool begun;
    bool closed; /* all its records are there */
};

static struct shard_state shard_state_of(const struct partition *p, const struct request *q)
{
    const struct stream_latest *word = &p->info.stream;
    const bool begun =
        word->id >= request_records(q)->stream && p->info.epoch >= request_records(q)->epoch;
    const bool open = word->id == request_records(q)->stream && word->view != STREAM_OFF &&
                      p->info.epoch == request_records(q)->epoch;
    return (struct shard_state){.begun = begun, .closed = begun && !open};
}

static bool record_is_readable(struct slice value)
{
    struct stream_record r;
    return stream_record_decode(value, &r) == STATUS_OK &&
           (r.old.size == 0 || item_checksum_holds(r.old)) &&
           (r.now.size == 0 || item_checksum_holds(r.now));
}

/* Collects records until a limit or the end of the shard. */
static enum status records_collect(struct requests *requests, const struct partition *p,
                                   const struct request *q, struct slice from, struct reply *r,
                                   bool *more)
{
    const struct stream_position end = {request_records(q)->stream, request_records(q)->epoch + 1,
                                        0, 0};
    struct buffer hi = {0}, *out = &requests->env->range_out;
    struct store_cursor c;
    struct slice key, value;
    struct stream_position at;
    uint32_t count = 0, partition;
    enum status status;
    buffer_clear(out);
    stream_key_append(&hi, p->info.lo, p->info.id, &end);
    store_seek(requests->env->store, from, buffer_slice(&hi), false, &c);
    while ((status = store_next(&c, &key, &value)) == STATUS_OK) {
        *more =
            count == request_records(q)->items_max || out->size >= request_records(q)->bytes_max;
        if (*more)
            break;
        if (!stream_key_split(key, &partition, &at) || !record_is_readable(value)) {
            status = STATUS_CORRUPT;
            break;
        }
        buffer_append_u32(out, (uint32_t)(sizeof at.index + sizeof(uint32_t) + value.size));
        buffer_append_u64(out, at.index);
        buffer_append_u32(out, at.place);
        buffer_append_slice(out, value);
        reply_edit_records(r)->index = at.index;
        reply_edit_records(r)->place = at.place + 1U;
        count++;
    }
    buffer_deinit(&hi);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static void records_read(struct requests *requests, struct partition *p, struct operation *o,
                         const struct stream_position *from, struct reply *answer)
{
    const struct request *q = &o->request;
    struct buffer lo = {0};
    bool more = false;
    stream_key_append(&lo, p->info.lo, p->info.id, from);
    if (store_needs_touch(requests->env->store) && o->steps == 0) {
        o->steps = 1;
        pending_touch_row(requests->pending, o, buffer_slice(&lo), request_records(q)->bytes_max);
        buffer_deinit(&lo);
        return;
    }
    const enum status status = records_collect(requests, p, q, buffer_slice(&lo), answer, &more);
    buffer_deinit(&lo);
    if (status != STATUS_OK) {
        items_refuse_corrupt(requests, o, status);
        return;
    }
    reply_edit_records(answer)->closed = reply_records(answer)->closed && !more;
    reply_edit_records(answer)->records =
        arena_copy(&requests->env->lent, buffer_slice(&requests->env->range_out));
    *env_reply(requests->env, o, REPLY_OK) = *answer;
}

void requests_records(struct requests *requests, struct operation *o)
{
    struct request *q = &o->request;
    struct partition *p = items_route(requests, o);
    if (p == NULL || !items_holds_key(requests, p, o) || !requests_leads_read(requests, p, o))
        return;
    const struct stream_position from = {request_records(q)->stream, request_records(q)->epoch,
                                         request_records(q)->index,
                                         (uint16_t)request_records(q)->place};
    const struct shard_state state = shard_state_of(p, q);
    struct reply answer = {.id = q->id, .code = REPLY_OK, .kind = ANSWER_RECORDS};
    reply_edit_records(&answer)->closed = state.closed;
    reply_edit_records(&answer)->index = request_records(q)->index;
    reply_edit_records(&answer)->place = request_records(q)->place;
    if (request_records(q)->place > UINT16_MAX) {
        env_refuse(requests->env, o, REPLY_MALFORMED, "more records than a log entry may have");
        return;
    }
    /* From index 0 the oldest records are wanted that are there. */
    reply_edit_records(&answer)->trimmed =
        from.index != 0 && stream_position_compare(&from, &p->stream.trimmed) <= 0;
    if (request_records(q)->latest)
        reply_edit_records(&answer)->index = raft_applied(p->raft) + 1;
    if (request_records(q)->latest)
        reply_edit_records(&answer)->place = 0;
    if (!state.begun || reply_records(&answer)->trimmed || request_records(q)->latest) {
        *env_reply(requests->env, o, REPLY_OK) = answer;
        return;
    }
    if (request_records(q)->bytes_max > PAGE_SIZE_MAX)
        request_edit_records(q)->bytes_max = PAGE_SIZE_MAX;
    records_read(requests, p, o, &from, &answer);
}
