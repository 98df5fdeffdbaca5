/* decision.c - what the controller has the catalog do, and tell: the payload of CATALOG_MOVE,
 * CATALOG_RATES, CATALOG_PEAK, CATALOG_DRAIN, CATALOG_LEAD, CATALOG_MERGE, CATALOG_LET_GO,
 * CATALOG_LEFT and CATALOG_EVENT. */
#include "engine/catalog/decision.h"

#include "engine/admission/admission.h"

enum {
    DECISION_DRAIN = 1,
    DECISION_EVENT = 2,
    DECISION_FLAGS = 3
};

void decision_encode(struct buffer *out, const struct decision *d)
{
    buffer_append_u8(
        out, (uint8_t)((d->drain ? DECISION_DRAIN : 0) | (d->has_event ? DECISION_EVENT : 0)));
    buffer_append_u32(out, d->table_id);
    buffer_append_u32(out, d->partition);
    buffer_append_u64(out, d->epoch);
    buffer_append_u32(out, d->from_node);
    buffer_append_u32(out, d->to_node);
    buffer_append_u32(out, d->rate_count);
    for (uint32_t i = 0; i < d->rate_count; i++) {
        buffer_append_u32(out, d->rates[i].partition);
        buffer_append_u64(out, d->rates[i].epoch);
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            buffer_append_u64(out, (uint64_t)d->rates[i].rate_mcu[kind]);
    }
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        buffer_append_u64(out, (uint64_t)d->peak[kind]);
    buffer_append_u8(out, (uint8_t)d->merge);
    if (d->merge == MERGE_BEGIN) {
        buffer_append_u32(out, d->merge_with);
        buffer_append_u64(out, d->merge_with_epoch);
    } else if (d->merge == MERGE_ABSORB_IT) {
        buffer_append_u64(out, d->frozen_index);
        buffer_append_u64(out, d->frozen_term);
    }
    if (d->has_event)
        event_encode(out, &d->event);
}

static void decision_merge_decode(struct reader *r, struct decision *out)
{
    uint8_t word = reader_u8(r);
    if (word > MERGE_DONE)
        r->failed = true;
    out->merge = (enum merge_word)word;
    if (word == MERGE_BEGIN) {
        out->merge_with = reader_u32(r);
        out->merge_with_epoch = reader_u64(r);
    } else if (word == MERGE_ABSORB_IT) {
        out->frozen_index = reader_u64(r);
        out->frozen_term = reader_u64(r);
    }
}

enum status decision_decode(struct slice bytes, struct decision *out)
{
    struct reader r = {bytes, false};
    *out = (struct decision){0};
    uint8_t flags = reader_u8(&r);
    out->table_id = reader_u32(&r);
    out->partition = reader_u32(&r);
    out->epoch = reader_u64(&r);
    out->from_node = reader_u32(&r);
    out->to_node = reader_u32(&r);
    out->rate_count = reader_u32(&r);
    if (r.failed || (flags & ~DECISION_FLAGS) != 0 || out->from_node > NODES_MAX ||
        out->to_node > NODES_MAX || out->rate_count > DECISION_RATES_MAX)
        return STATUS_MALFORMED;
    out->drain = flags & DECISION_DRAIN;
    out->has_event = flags & DECISION_EVENT;
    for (uint32_t i = 0; i < out->rate_count; i++) {
        struct decision_rate *rate = &out->rates[i];
        rate->partition = reader_u32(&r);
        rate->epoch = reader_u64(&r);
        for (int kind = 0; kind < ADMIT_KINDS; kind++) {
            rate->rate_mcu[kind] = (int64_t)reader_u64(&r);
            if (rate->rate_mcu[kind] < 0)
                r.failed = true;
        }
    }
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        out->peak[kind] = (int64_t)reader_u64(&r);
        if (out->peak[kind] < 0 || out->peak[kind] > TABLE_UNITS_MAX)
            r.failed = true;
    }
    decision_merge_decode(&r, out);
    if (out->has_event && event_decode(&r, &out->event) != STATUS_OK)
        return STATUS_MALFORMED;
    return r.failed || r.left.size > 0 ? STATUS_MALFORMED : STATUS_OK;
}
