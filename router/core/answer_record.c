/* answer_record.c - chooses the part of a request that its record is of, and makes the record. */
#include "router/core/answer_record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/settings/choices.h"
#include "base/settings/explain.h"
#include "engine/admission/capacity.h"
#include "engine/catalog/key_text.h"
#include "engine/message/request_traits.h"
#include "router/core/item_placement.h"
#include "router/core/limit.h"
#include "router/core/operation.h"
#include "router/records/records.h"

_Static_assert((int)RECORD_ID_SIZE == (int)HTTP_REQUEST_ID_SIZE, "the size of an id");

enum {
    KEY_MAX = 64,
    AGENT_MAX = 64,
};

void answer_record_init(struct router *r)
{
    const int64_t bytes = config_explain(r->config)->explain_bytes;
    if (bytes > 0)
        r->records = records_create((size_t)MAX(bytes, RECORD_BYTES_MIN));
}

void answer_record_note_wait(struct subrequest *s)
{
    if (s->call != NULL &&
        s->call->router->now.ns - s->started.ns >= ANSWER_RECORD_WAIT_MS * NS_PER_MS)
        s->call->waited = true;
}

/* ---- which requests ---- */

/* A part has met a transaction. */
static bool answer_record_is_of_conflict(const struct call *c)
{
    for (const struct subrequest *s = c->subrequests; s != NULL; s = s->next_of_call) {
        if (s->end.replied && s->end.code == REPLY_LOCKED)
            return true;
    }
    return false;
}

static bool answer_record_is_of_refusal(const struct call *c, const struct fault *f)
{
    if (c->throttle.by != NULL)
        return true;
    if (f == NULL)
        return false;
    return f->kind == FAULT_THROUGHPUT || f->kind == FAULT_THROTTLING ||
           f->kind == FAULT_UNAVAILABLE || f->kind == FAULT_CONFLICT ||
           (f->kind == FAULT_CANCELED && answer_record_is_of_conflict(c));
}

static bool answer_record_is_slow(const struct call *c)
{
    const struct router *r = c->router;
    return instant_since(r->now, c->begun).ns >=
           config_explain(r->config)->explain_slow_ms * NS_PER_MS;
}

bool answer_record_is_due(const struct call *c, const struct fault *f)
{
    const struct operation *o = c->operation;
    if (c->router->records == NULL || c->own || o->input == NULL || o->fail != NULL)
        return false;
    return (c->number & (ANSWER_RECORD_SAMPLE - 1)) == 0 || c->waited || answer_record_is_slow(c) ||
           answer_record_is_of_refusal(c, f);
}

/* ---- which part ---- */

static bool answer_record_is_part(const struct subrequest *s)
{
    return s->route != NULL && traits_of(&s->request)->data && s->state != SUBREQUEST_IDLE;
}

/* The higher, the more the part says about the answer. */
static int64_t answer_record_weight(const struct subrequest *s)
{
    const int64_t class_ns = INT64_MAX / 8;
    const int64_t wait_ns = MIN(s->end.verdict.wait.ns, class_ns - 1);
    if (!s->end.replied)
        return 0;
    if (s->end.code == REPLY_THROTTLED || s->end.code == REPLY_OVERLOADED)
        return class_ns * 3 + wait_ns;
    if (s->end.code == REPLY_LOCKED)
        return class_ns * 2;
    return s->end.code == REPLY_OK ? 1 : class_ns;
}

/* NULL: no part was started. */
static const struct subrequest *answer_record_choose(const struct call *c,
                                                     struct decision_record *d)
{
    const struct subrequest *chosen = NULL;
    for (const struct subrequest *s = c->subrequests; s != NULL; s = s->next_of_call) {
        if (!answer_record_is_part(s))
            continue;
        d->parts++;
        d->refused += s->end.replied && s->end.code == REPLY_THROTTLED;
        if (chosen == NULL || answer_record_weight(s) > answer_record_weight(chosen) ||
            (answer_record_weight(s) == answer_record_weight(chosen) &&
             s->end.at.ns > chosen->end.at.ns))
            chosen = s;
    }
    return chosen;
}

static enum record_outcome answer_record_outcome(const struct call *c, const struct fault *f,
                                                 const struct subrequest *s)
{
    const enum reply_code code = s != NULL && s->end.replied ? s->end.code : REPLY_OK;
    if (c->throttle.by != NULL)
        return RECORD_REFUSED;
    if (f == NULL)
        return RECORD_DONE;
    if (f->kind == FAULT_UNAVAILABLE && code == REPLY_OVERLOADED)
        return RECORD_OVERLOADED;
    if (f->kind == FAULT_CONFLICT || (f->kind == FAULT_CANCELED && code == REPLY_LOCKED))
        return RECORD_CANCELLED;
    return RECORD_FAILED;
}

/* ---- the record ---- */

static uint32_t answer_record_us(const struct call *c, struct instant at)
{
    if (instant_before(at, c->begun))
        return RECORD_NEVER; /* it did not come */
    return (uint32_t)MIN(instant_since(at, c->begun).ns / 1000, RECORD_NEVER - 1);
}

static void answer_record_set_key(struct decision_record *d, const struct router *r,
                                  const struct subrequest *s)
{
    struct buffer text = {0};
    const struct slice key = request_key(placement_original(s));
    if (key.size == 0)
        return;
    if (config_choices(r->config)->show_keys == SHOW_KEYS_HASH)
        buffer_append_format(
            &text, "hash %016llx",
            (unsigned long long)XXH3_64bits_withSeed(key.data, key.size, r->hash_seed));
    else
        key_text_append(&text, &s->route->table, key);
    record_add_text(d, RECORD_KEY, buffer_slice(&text), KEY_MAX);
    buffer_deinit(&text);
}

static const struct partition_info *answer_record_partition(const struct subrequest *s)
{
    const struct table *t = &s->route->table;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        if (t->partitions[i].id == s->request.partition)
            return &t->partitions[i];
    }
    return NULL;
}

static void answer_record_set_limits(struct decision_record *d, const struct router *r,
                                     const struct subrequest *s)
{
    const struct table *t = &s->route->table;
    const enum admit_kind kind = request_admit_kind(&s->request);
    const struct partition_info *p = answer_record_partition(s);
    struct gac_limit limit;
    struct gac_holding holding = {0};
    if (p != NULL)
        d->rates.allocation_mcu = p->rate_mcu[kind];
    d->rates.maximum_mcu = partition_cap_mcu(
        r->config, kind, t->billing == BILLING_ON_DEMAND ? t->maximum[kind] * MCU_PER_UNIT : 0);
    if (!limit_find(r, t, kind, &limit) || !gac_client_limits(r->gac, &limit))
        return;
    gac_client_holding(r->gac, r->now, limit.key, &holding);
    d->rates.limit_rate_mcu = limit.rate;
    d->rates.limit_level_mcu = d->verdict.reason == ADMIT_REFUSED_TABLE
                                   ? d->verdict.balances.allocation_mcu
                                   : s->limits.level_mcu;
    d->rates.limit_demand_mcu = holding.demand;
    d->rates.limit_server = holding.owner;
}

static void answer_record_set_part(struct decision_record *d, const struct call *c,
                                   const struct subrequest *s)
{
    const struct request *q = &s->request;
    d->table_id = s->route->table.id;
    d->kind = (uint8_t)request_admit_kind(q);
    d->consistent = request_is_consistent(q);
    d->range = q->op == REQUEST_RANGE;
    d->repeated = (uint16_t)MIN(s->attempts, UINT16_MAX);
    d->cost_mcu = limit_cost_before(q);
    d->waited_us = (uint32_t)MIN(s->waited.ns / 1000, UINT32_MAX);
    d->item_bytes = s->end.replied ? s->end.item_bytes : -1;
    d->verdict = s->end.verdict;
    if (d->verdict.reason != ADMIT_REFUSED_TABLE) {
        d->partition = q->partition;
        d->node = s->node;
    }
    record_add_text(d, RECORD_TABLE, s->route->table.name, RECORD_TABLE_MAX);
    answer_record_set_key(d, c->router, s);
    answer_record_set_limits(d, c->router, s);
    d->moments_us[RECORD_STARTED] = answer_record_us(c, s->started);
    d->moments_us[RECORD_TOKENS] = answer_record_us(c, s->admitted_at);
    d->moments_us[RECORD_SENT] = answer_record_us(c, s->sent_at);
    d->moments_us[RECORD_REPLIED] = s->end.replied ? answer_record_us(c, s->end.at) : RECORD_NEVER;
}

/* The first 16 digits of amz-sdk-invocation-id, which is a UUID: hexadecimal digits and dashes. */
static uint64_t answer_record_invocation(struct slice text)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t number = 0;
    for (size_t i = 0, taken = 0; i < text.size && taken < 16; i++) {
        const char *const digit = memchr(digits, text.data[i] | 0x20, sizeof digits - 1);
        if (digit == NULL)
            continue;
        number = number << 4 | (uint64_t)(digit - digits);
        taken++;
    }
    return number;
}

static void answer_record_set_client(struct decision_record *d, const struct call *c)
{
    if (c->client == NULL)
        return;
    const struct http_head *head = &c->client->http.head;
    d->attempt = (uint8_t)MIN(head->attempt, UINT8_MAX);
    d->invocation = answer_record_invocation(http_find(head, "amz-sdk-invocation-id"));
    char agent[AGENT_MAX];
    const struct slice given = http_find(head, "user-agent");
    const size_t size = MIN(given.size, AGENT_MAX);
    for (size_t i = 0; i < size; i++)
        agent[i] = given.data[i] >= ' ' && given.data[i] < 0x7F ? (char)given.data[i] : '.';
    record_add_text(d, RECORD_AGENT, slice_make(agent, size), AGENT_MAX);
}

/* Behind the lines that the answer has already. */
static void answer_record_link(struct call *c)
{
    struct buffer lines = {0};
    buffer_append_slice(&lines, c->lines);
    buffer_append_format(&lines, "\r\nx-weir-explain: /weir/explain/%.*s", HTTP_REQUEST_ID_SIZE,
                         c->request_id);
    c->lines = arena_take(&c->arena, &lines);
}

void answer_record_add(struct call *c, int status, const struct fault *f)
{
    const struct router *r = c->router;
    struct decision_record d = {.number = c->number,
                                .wall_ms = router_wall_ms(r),
                                .operation = c->operation->name,
                                .status = (uint16_t)status,
                                .item_bytes = -1};
    memcpy(d.id, c->request_id, sizeof d.id);
    for (int i = 0; i < RECORD_MOMENTS; i++)
        d.moments_us[i] = RECORD_NEVER;
    const struct subrequest *s = answer_record_choose(c, &d);
    d.outcome = (uint8_t)answer_record_outcome(c, f, s);
    d.causes = (uint8_t)((answer_record_is_of_refusal(c, f) ? RECORD_OF_OUTCOME : 0) |
                         (answer_record_is_slow(c) ? RECORD_OF_SLOW : 0) |
                         (c->waited ? RECORD_OF_WAIT : 0));
    if (d.causes == 0)
        d.causes = RECORD_OF_SAMPLE;
    if (s != NULL)
        answer_record_set_part(&d, c, s);
    d.moments_us[RECORD_ANSWERED] = answer_record_us(c, r->now);
    if (f != NULL)
        record_add_text(&d, RECORD_ERROR, slice_of(fault_type(f->kind)), RECORD_TEXTS_SIZE);
    answer_record_set_client(&d, c);
    records_add(r->records, &d);
    if (d.causes & RECORD_OF_OUTCOME)
        answer_record_link(c);
}
