/* stream_reads.c - REQUEST_RECORDS: the records of a shard, in their order.
 *
 * Only applied entries have records, and only the leader answers, as it answers a strong read. So a
 * record that was shown once stays, until it is trimmed. */
#include "engine/message/message.h"
#include "engine/node/item_requests.h"
#include "engine/node/operation.h"
#include "engine/node/owned_keys.h"
#include "engine/node/stream_rows.h"

/* What the partition knows of the shard. */
struct shard_state {
    bool begun;
    bool closed; /* all its records are there */
};

static struct shard_state shard_state_of(const struct partition *p, const struct request *q)
{
    const struct stream_word *word = &p->info.stream;
    const bool begun = word->id >= q->records.stream && p->info.epoch >= q->records.epoch;
    const bool open = word->id == q->records.stream && word->view != STREAM_OFF &&
                      p->info.epoch == q->records.epoch;
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
    const struct stream_position end = {q->records.stream, q->records.epoch + 1, 0, 0};
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
        *more = count == q->records.items_max || out->size >= q->records.bytes_max;
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
        r->records.index = at.index;
        r->records.place = at.place + 1U;
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
        waiters_touch_row(requests->waiters, o, buffer_slice(&lo), q->records.bytes_max);
        buffer_deinit(&lo);
        return;
    }
    const enum status status = records_collect(requests, p, q, buffer_slice(&lo), answer, &more);
    buffer_deinit(&lo);
    if (status != STATUS_OK) {
        items_refuse_corrupt(requests, o, status);
        return;
    }
    answer->records.closed = answer->records.closed && !more;
    answer->records.records =
        arena_copy(&requests->env->lent, buffer_slice(&requests->env->range_out));
    *env_reply(requests->env, o, REPLY_OK) = *answer;
}

void requests_records(struct requests *requests, struct operation *o)
{
    struct request *q = &o->request;
    struct partition *p = items_route(requests, o);
    if (p == NULL || !items_holds_key(requests, p, o) || !requests_leads_read(requests, p, o))
        return;
    const struct stream_position from = {q->records.stream, q->records.epoch, q->records.index,
                                         (uint16_t)q->records.place};
    const struct shard_state state = shard_state_of(p, q);
    struct reply answer = {.id = q->id, .code = REPLY_OK, .kind = ANSWER_RECORDS};
    answer.records.closed = state.closed;
    answer.records.index = q->records.index;
    answer.records.place = q->records.place;
    if (q->records.place > UINT16_MAX) {
        env_refuse(requests->env, o, REPLY_MALFORMED, "no entry has so many records");
        return;
    }
    /* From index 0 the oldest records are wanted that are there. */
    answer.records.trimmed =
        from.index != 0 && stream_position_compare(&from, &p->stream.trimmed) <= 0;
    if (q->records.latest)
        answer.records.index = raft_applied(p->raft) + 1;
    if (q->records.latest)
        answer.records.place = 0;
    if (!state.begun || answer.records.trimmed || q->records.latest) {
        *env_reply(requests->env, o, REPLY_OK) = answer;
        return;
    }
    if (q->records.bytes_max > PAGE_SIZE_MAX)
        q->records.bytes_max = PAGE_SIZE_MAX;
    records_read(requests, p, o, &from, &answer);
}
