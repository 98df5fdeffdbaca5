/* bucket_audit.c - what the items of the rate limiter's buckets hold, compared with what clients
 * got.
 *
 * A scan is a Scan of the limiter's table by a client of its own, every SCAN_INTERVAL_MS. Sums are
 * of all buckets of a limit. Requests go on meanwhile: what the items have counted must lie
 * between what was admitted when the Scan began, and what can have been admitted when it ended.
 * Not counted: tokens that a shard has set aside for one that is to be made. */
#include <stdlib.h>

#include "lab/fidelity/full/full_internal.h"
#include "lab/scenario/scenario_limit.h"
#include "sim/check/limiter_page.h"

enum {
    SCAN_INTERVAL_MS = 500,
    SCAN_MS = 5000,
};

/* All buckets of one limit; mtok. */
struct bucket_sums {
    uint32_t buckets, items;
    uint32_t shards; /* of the bucket that has most */
    int64_t taken, tokens;
    int64_t admitted; /* when the Scan began */
};

struct full_bucket_audit {
    struct http_client http;
    uint32_t place; /* of the limiter's table */
    bool scans;     /* a Scan is on its way */
    struct instant begun;
    struct bucket_sums sums[SCENARIO_LIMITS_MAX];
    uint32_t items[SCENARIO_LIMITS_MAX]; /* in the last audit */
    int64_t refill_lag_ns;
    struct buffer body;
};

/* ---- items ---- */

/* SCENARIO_LIMIT_NONE: of no limit of the scenario. */
static uint32_t limit_of(const struct scenario *s, const struct bucket_name *name)
{
    for (uint32_t i = 0; i < s->limit_count; i++) {
        if (slice_is(name->resource, s->limits[i].resource))
            return scenario_limit_of(s, name->entity, s->limits[i].resource);
    }
    return SCENARIO_LIMIT_NONE;
}

static void item_add(void *context, const struct limiter_item *item)
{
    struct full *f = (struct full *)context;
    struct full_bucket_audit *h = f->bucket_audit;
    const uint32_t i = limit_of(f->scenario, &item->name);
    if (i == SCENARIO_LIMIT_NONE)
        return;
    struct bucket_sums *sums = &h->sums[i];
    const struct limiter_item_level level = limiter_item_level(item, SCENARIO_LIMIT_NAME);
    const int64_t wall_ms = SIM_WALL_BASE_MS + f->world.scheduler.now.ns / NS_PER_MS;
    sums->items++;
    sums->taken += level.taken;
    sums->buckets += item->shard == 0;
    sums->shards = item->count > sums->shards ? item->count : sums->shards;
    if (!item->open)
        return;
    const int64_t lag_ns = (wall_ms - level.refilled_ms) * NS_PER_MS;
    sums->tokens += level.tokens;
    if (item->shards > 1 && lag_ns > h->refill_lag_ns)
        h->refill_lag_ns = lag_ns;
}

/* ---- looks ---- */

/* Tokens of all buckets of the limit beyond what they can have had: all full at the start, and
 * refilled since. */
static int64_t minted_mtok(const struct full *f, uint32_t limit)
{
    const struct bucket_sums *sums = &f->bucket_audit->sums[limit];
    const struct scenario_limit *l = &f->scenario->limits[limit];
    const int64_t passed_ns = clients_now_ns(f->clients) + NS_PER_MS;
    const int64_t each =
        l->capacity * 1000 + (int64_t)((__int128)scenario_limit_rate_mcu(l) * passed_ns / NS_PER_S);
    const int64_t beyond = sums->tokens + sums->taken - each * sums->buckets;
    return beyond > 0 ? beyond : 0;
}

/* How far the items' counts are from what clients can have taken. */
static int64_t miscounted_mtok(const struct full *f, uint32_t limit)
{
    const struct bucket_sums *sums = &f->bucket_audit->sums[limit];
    int64_t admitted, unknown;
    clients_acquired(f->clients, limit, &admitted, &unknown);
    return sums->taken < sums->admitted       ? sums->admitted - sums->taken
           : sums->taken > admitted + unknown ? sums->taken - admitted - unknown
                                              : 0;
}

static void scan_report(struct full *f)
{
    struct full_bucket_audit *h = f->bucket_audit;
    struct measure_state state = {.refill_lag_ns = h->refill_lag_ns};
    for (uint32_t i = 0; i < f->scenario->limit_count; i++) {
        const struct bucket_sums *sums = &h->sums[i];
        /* A shard that divides during the Scan is seen with tokens that the new one has, too. */
        state.minted_mtok += sums->items == h->items[i] ? minted_mtok(f, i) : 0;
        state.miscounted_mtok += miscounted_mtok(f, i);
        state.shards = sums->shards > state.shards ? sums->shards : state.shards;
        h->items[i] = sums->items;
    }
    measure_report_state(f->measure, clients_now_ns(f->clients),
                         scaling_number(f->scenario, h->place, 0), &state);
}

static void scan_answered(void *context, int status, struct slice body)
{
    struct full *f = context;
    struct full_bucket_audit *h = f->bucket_audit;
    const bool good = status == 200 && limiter_page_read(body, item_add, f, &h->body);
    if (good && h->body.size > 0) {
        http_client_call(&h->http, "Scan", buffer_slice(&h->body), duration_ms(SCAN_MS),
                         scan_answered, f);
        return;
    }
    h->scans = false;
    if (good)
        scan_report(f);
}

static void scan_begin(struct full *f)
{
    struct full_bucket_audit *h = f->bucket_audit;
    h->scans = true;
    h->begun = f->world.scheduler.now;
    h->refill_lag_ns = 0;
    memset(h->sums, 0, sizeof h->sums);
    for (uint32_t i = 0; i < f->scenario->limit_count; i++) {
        int64_t unknown;
        clients_acquired(f->clients, i, &h->sums[i].admitted, &unknown);
    }
    buffer_clear(&h->body);
    limiter_page_first(&h->body);
    http_client_call(&h->http, "Scan", buffer_slice(&h->body), duration_ms(SCAN_MS), scan_answered,
                     f);
}

void bucket_audit_window(struct full *f)
{
    const struct full_bucket_audit *h = f->bucket_audit;
    if (h != NULL && !h->scans &&
        (h->begun.ns == 0 ||
         instant_since(f->world.scheduler.now, h->begun).ns >= duration_ms(SCAN_INTERVAL_MS).ns))
        scan_begin(f);
}

/* ---- life ---- */

uint32_t bucket_audit_clients(const struct scenario *s)
{
    return s->limit_count > 0;
}

void bucket_audit_init(struct full *f, uint64_t seed)
{
    const struct scenario *s = f->scenario;
    if (s->limit_count == 0)
        return;
    struct full_bucket_audit *h = f->bucket_audit = must_calloc(1, sizeof *h);
    const struct http_client_options http =
        world_http(&f->world, f->world.plan.clients - 1, seed + 1);
    h->place = (uint32_t)NAME_PLACE(LIMITER_TABLE, s->tables, s->table_count);
    must(h->place < s->table_count);
    http_client_init(&h->http, &http);
}

void bucket_audit_deinit(struct full *f)
{
    struct full_bucket_audit *h = f->bucket_audit;
    if (h == NULL)
        return;
    http_client_deinit(&h->http);
    buffer_deinit(&h->body);
    free(h);
}
