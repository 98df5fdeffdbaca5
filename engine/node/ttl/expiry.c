/* expiry.c - rounds over partitions, and their deletions. */
#include "engine/node/ttl/expiry.h"

#include "base/probe.h"
#include "base/settings/expiry.h"
#include "engine/message/message.h"
#include "engine/node/background/expiry_scan.h"

enum {
    CHECK_MS = 10,        /* between two checks of partitions with a round under way */
    RATE_MS = 40,         /* the buckets hold what may be done in this time */
    RETRY_MS = 100,       /* after a deletion was refused */
    TIMEOUT_MS = 5000,    /* a deletion without an answer is tried again */
    TAKEN_MAX = 16 * 1024 /* bytes of keys that were taken and are not dropped yet */
};

void expiry_start(struct expiry *expiry)
{
    const struct config *c = expiry->env->config;
    const struct instant start = expiry->env->now;
    const int64_t items = 1 + config_expiry(c)->expiry_items_s * RATE_MS / 1000;
    const int64_t bytes = EXPIRY_ITEM_BYTES + config_expiry(c)->expiry_bytes_s * RATE_MS / 1000;
    token_bucket_init(&expiry->items, items, config_expiry(c)->expiry_items_s, 100 * items, items,
                      start);
    token_bucket_init(&expiry->bytes, bytes, config_expiry(c)->expiry_bytes_s, INT64_C(1) << 40,
                      bytes, start);
}

void expiry_deinit(struct expiry *expiry)
{
    for (int i = 0; i < EXPIRY_CALLS_MAX; i++)
        buffer_deinit(&expiry->calls_out[i].key);
}

/* ---- rounds ---- */

static bool round_is_due(const struct partition *p)
{
    return p->info.ttl.size > 0 && p->led != 0 && !p->no_state && !p->ended && !p->closing &&
           p->frozen.index == 0;
}

static bool round_is_current(const struct partition *p)
{
    const struct expiry_round *r = p->expiry;
    return r != NULL && r->term == p->led && r->epoch == p->info.epoch &&
           slice_equal(buffer_slice(&r->ttl), p->info.ttl);
}

static void round_begin(struct expiry *expiry, struct partition *p)
{
    struct expiry_round *r = p->expiry;
    r->on = r->scanning = true;
    r->failed = false;
    r->began = expiry->env->now;
    buffer_set(&r->at, p->info.lo);
}

static void round_own(struct expiry *expiry, struct partition *p)
{
    struct expiry_round *r = must_calloc(1, sizeof *r);
    expiry_round_destroy(p->expiry);
    p->expiry = r;
    r->number = ++expiry->numbers;
    r->term = p->led;
    r->epoch = p->info.epoch;
    buffer_set(&r->ttl, p->info.ttl);
    r->done_until = expiry->env->now;
    round_begin(expiry, p);
}

static void round_end(struct expiry *expiry, struct expiry_round *r)
{
    const int64_t window_ms = config_expiry(expiry->env->config)->ttl_window_ms;
    r->on = false;
    r->next_at = instant_add_ms(r->failed ? expiry->env->now : r->began,
                                r->failed ? RETRY_MS : window_ms / 2);
    if (!r->failed)
        r->done_until = r->began;
}

/* ---- deletions ---- */

static int32_t call_free_slot(const struct expiry *expiry)
{
    int32_t slot = 0;
    while (slot < EXPIRY_CALLS_MAX && expiry->calls_out[slot].number != 0)
        slot++;
    return slot < EXPIRY_CALLS_MAX ? slot : -1;
}

/* The next key that was found. Lends until the round's keys change. */
static struct slice round_take_key(struct expiry_round *r)
{
    struct reader left = {slice_make(r->found.data + r->taken, r->found.size - r->taken), false};
    const struct slice key = reader_sized(&left);
    must(!left.failed && key.size > 0);
    r->taken = r->found.size - left.left.size;
    return key;
}

/* Drops the keys that were taken, now and then. */
static void round_drop_taken(struct expiry_round *r)
{
    if (r->taken == 0 || (r->taken < r->found.size && r->taken < TAKEN_MAX))
        return;
    must(r->taken <= r->found.size);
    memmove(r->found.data, r->found.data + r->taken, r->found.size - r->taken);
    r->found.size -= r->taken;
    r->taken = 0;
}

static void round_delete(struct expiry *expiry, struct partition *p, uint32_t slot, int64_t cost)
{
    struct expiry_round *r = p->expiry;
    must(slot < EXPIRY_CALLS_MAX && expiry->calls_out[slot].number == 0);
    must(r->on && r->term == p->led && r->epoch == p->info.epoch);
    struct buffer *key = &expiry->calls_out[slot].key;
    buffer_set(key, round_take_key(r));
    expiry->calls_out[slot].number = r->number;
    r->calls++;
    token_bucket_debit(&expiry->items, cost);
    const struct internal_call_options options = {.kind = INTERNAL_CALL_EXPIRY,
                                                  .subject = p->info.id,
                                                  .token = slot,
                                                  .candidate_count = 1,
                                                  .candidates = {expiry->env->id},
                                                  .once = true,
                                                  .timeout = duration_ms(TIMEOUT_MS)};
    const struct request request = {.op = REQUEST_DELETE,
                                    .partition = p->info.id,
                                    .epoch = p->info.epoch,
                                    .write = {.key = buffer_slice(key), .origin = WRITE_BY_EXPIRY}};
    internal_calls_begin(expiry->calls, &options, &request);
}

void expiry_answered(struct expiry *expiry, const struct internal_call_answer *answer)
{
    struct partition *p = partitions_find(expiry->partitions, answer->subject);
    struct expiry_round *r = p != NULL ? p->expiry : NULL;
    const uint32_t number = expiry->calls_out[answer->token].number;
    expiry->calls_out[answer->token].number = 0;
    if (p != NULL && answer->reply->code == REPLY_OK)
        p->expired_items++;
    if (r == NULL || r->number != number)
        return;
    must(r->calls > 0);
    r->calls--;
    switch (answer->reply->code) {
    case REPLY_OK:
    case REPLY_CONDITION_FAILED: /* written meanwhile */
    case REPLY_LOCKED:
    case REPLY_WRONG_PARTITION:
    case REPLY_STALE_MAP:
    case REPLY_CORRUPT:
        break;
    default:
        PROBE("an expiry is tried again");
        buffer_append_sized(&r->found, buffer_slice(&expiry->calls_out[answer->token].key));
        r->next_at = instant_add_ms(expiry->env->now, RETRY_MS);
    }
}

/* ---- time ---- */

void expiry_see(struct expiry *expiry, const struct partition *p)
{
    if (round_is_due(p) ? !round_is_current(p) : p->expiry != NULL)
        expiry->at = instant_earlier(expiry->at, expiry->env->now);
}

/* By this factor work costs more of the rates: requests come first. */
static int64_t expiry_factor(struct expiry *expiry)
{
    const int64_t served_mcu = expiry->throughput->consumed_mcu[ADMIT_READ] +
                               expiry->throughput->consumed_mcu[ADMIT_WRITE];
    const bool busy = served_mcu != expiry->served_mcu;
    expiry->served_mcu = served_mcu;
    return busy ? (100 + config_expiry(expiry->env->config)->expiry_busy_percent - 1) /
                      config_expiry(expiry->env->config)->expiry_busy_percent
                : 1;
}

/* Lets the scanner of the partition read what the rate allows. What it was allowed before and has
 * not read goes back. */
static void round_let_read(struct expiry *expiry, struct expiry_round *r, int64_t factor)
{
    if (r->may_read >= 0)
        token_bucket_add(&expiry->bytes, r->may_read * factor);
    else
        token_bucket_debit(&expiry->bytes, -r->may_read * factor);
    r->may_read = 0;
    if (!r->scanning || expiry->bytes.balance < factor)
        return;
    r->may_read = expiry->bytes.balance / factor;
    token_bucket_debit(&expiry->bytes, r->may_read * factor);
    background_wake(expiry->background, BACKGROUND_EXPIRY);
}

static void round_turn(struct expiry *expiry, struct partition *p, int64_t factor)
{
    struct expiry_round *r = p->expiry;
    const struct instant now = expiry->env->now;
    int32_t slot;
    if (r->on && !r->scanning && r->found.size == r->taken && r->calls == 0)
        round_end(expiry, r);
    if (!r->on && !instant_before(now, r->next_at))
        round_begin(expiry, p);
    if (!r->on) {
        expiry->at = instant_earlier(expiry->at, r->next_at);
        return;
    }
    while (r->taken < r->found.size && !instant_before(now, r->next_at) &&
           expiry->items.balance > 0 && (slot = call_free_slot(expiry)) >= 0)
        round_delete(expiry, p, (uint32_t)slot, factor);
    round_drop_taken(r);
    round_let_read(expiry, r, factor);
    expiry->at = instant_earlier(expiry->at, instant_add_ms(now, CHECK_MS));
}

/* Looks at each partition, beginning with another one each time: so none takes all of the rates. */
void expiry_tick(struct expiry *expiry)
{
    if (instant_before(expiry->env->now, expiry->at))
        return;
    const int64_t factor = expiry_factor(expiry);
    expiry->at = INSTANT_NEVER;
    token_bucket_refill(&expiry->items, expiry->env->now);
    token_bucket_refill(&expiry->bytes, expiry->env->now);
    uint32_t id = expiry->last, first = 0;
    for (uint32_t i = 0; i < expiry->partitions->count; i++) {
        struct partition *p = partitions_after(expiry->partitions, id);
        id = p->info.id;
        if (!round_is_due(p)) {
            expiry_round_destroy(p->expiry);
            p->expiry = NULL;
            continue;
        }
        first = first == 0 ? id : first;
        if (!round_is_current(p))
            round_own(expiry, p);
        round_turn(expiry, p, factor);
    }
    expiry->last = first;
}

struct instant expiry_deadline(const struct expiry *expiry)
{
    return expiry->at;
}

int64_t expiry_lag_ms(const struct node_env *env, const struct partition *p)
{
    return p->expiry == NULL ? 0 : instant_since(env->now, p->expiry->done_until).ns / NS_PER_MS;
}
