/* ledger.c - reports of holders, grants, and returns to the bank. */
#include "gac/ledger.h"

#include <stdlib.h>

static int64_t ledger_scaled(int64_t amount, int64_t by, int64_t of)
{
    must(of > 0);
    __int128 product = (__int128)amount * by / of;
    const int64_t max = GAC_AMOUNT_MAX; /* a bank's content may be granted at once */
    return product > max ? max : product < -max ? -max : (int64_t)product;
}

/* A router has one holder, and what it reports was in the bounds of a grant request. */
static bool holders_are_valid(const struct ledger *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        const struct weir_holder *h = &l->holders[i];
        bool valid = h->router != 0 && h->pending >= 0 && h->pending <= GAC_AMOUNT_MAX &&
                     h->retry_cost >= 0 && h->answer.granted >= 0;
        for (uint32_t k = 0; k < i; k++)
            valid = valid && l->holders[k].router != h->router;
        if (!valid)
            return false;
    }
    return true;
}

static void ledger_check(const struct ledger *l)
{
    must_in_tests(l->count <= l->capacity);
    must_in_tests(l->rate >= 0 && l->rate <= GAC_AMOUNT_MAX);
    must_in_tests(l->spent >= 0 && l->spent <= GAC_AMOUNT_MAX);
    must_in_tests(l->elsewhere >= 0);
    must_in_tests(l->bank.rate <= l->rate); /* LEDGER-4: a part of the limit */
    must_in_tests(holders_are_valid(l));
}

void ledger_init(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                 const struct gac_request *request)
{
    *l = (struct ledger){
        .key = request->key, .version = request->version, .rate = request->rate, .used_at = now};
    token_bucket_init(&l->bank, 0, 0, INT64_MAX / 4, 0, now);
    ledger_refill(l, now, terms);
    token_bucket_add(&l->bank, ledger_scaled(l->bank.rate, terms->start.ns, NS_PER_S));
    ledger_check(l);
}

void ledger_start_table(struct ledger *l, const struct ledger_terms *terms)
{
    if (l->started)
        return;
    l->started = true;
    int64_t had = ledger_scaled(l->bank.rate, terms->start.ns, NS_PER_S);
    int64_t second = ledger_scaled(l->bank.rate, terms->start_new.ns, NS_PER_S);
    int64_t tokens = ledger_scaled(terms->start_tokens, terms->here, terms->routers);
    tokens = MAX(tokens, second);
    int64_t room = l->bank.capacity - l->bank.balance - l->spent;
    int64_t more = tokens - had < room ? tokens - had : room;
    if (more > 0)
        token_bucket_add(&l->bank, more);
    ledger_check(l);
}

int64_t ledger_grant_threshold(const struct ledger *l, int64_t cost)
{
    must_in_tests(cost >= 0);
    int64_t second = ledger_scaled(l->rate, NS_PER_S, NS_PER_S);
    int64_t max = MIN(second, l->bank.capacity);
    return MIN(cost, max);
}

void ledger_deinit(struct ledger *l)
{
    free(l->holders);
    *l = (struct ledger){0};
}

/* Bounded by the most a bank can ever hold, whatever holders claim. */
static int64_t held_by_all(const struct ledger *l)
{
    const int64_t max = INT64_MAX / 4;
    int64_t held = 0;
    for (uint32_t i = 0; i < l->count && held < max; i++)
        held += MAX(l->holders[i].held, 0) + l->holders[i].pending;
    return MIN(held, max);
}

/* While routers ask elsewhere, tokens saved there are not saved here. While they ask here, the
 * savings elsewhere shrink. */
static void note_elsewhere(struct ledger *l, struct instant now, int64_t max)
{
    int64_t ns = instant_since(now, l->bank.updated_at).ns;
    l->elsewhere += ledger_scaled(l->rate - 2 * l->bank.rate, ns, NS_PER_S);
    l->elsewhere = MAX(l->elsewhere, 0);
    l->elsewhere = MIN(l->elsewhere, max);
}

/* ---- shares: LEDGER-9 ---- */

bool ledger_has_shares(const struct ledger *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->holders[i].shares)
            return true;
    }
    return false;
}

int64_t ledger_share_of(const struct ledger *l, uint64_t router, uint32_t routers)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->holders[i].router == router)
            return l->holders[i].shares ? l->holders[i].share : GAC_WHOLE / routers;
    }
    return GAC_WHOLE / routers;
}

int64_t ledger_share_known(const struct ledger *l, uint64_t router)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->holders[i].router == router)
            return l->holders[i].shares ? l->holders[i].share : 0;
    }
    return 0;
}

/* All routers ask here, and have done so: nobody else has any part. */
static bool has_all_routers(const struct ledger *l, const struct ledger_terms *terms)
{
    return l->count >= terms->routers && terms->here == terms->routers;
}

/* What all holders may have together. */
static int64_t shares_of_all(const struct ledger *l, const struct ledger_terms *terms)
{
    const int64_t known = GAC_WHOLE * MIN(l->count, terms->routers) / terms->routers;
    return has_all_routers(l, terms) ? GAC_WHOLE : MIN(l->shares, known);
}

static void note_share(struct ledger *l, const struct ledger_terms *terms, struct weir_holder *h,
                       bool is_new, int64_t reported)
{
    const int64_t share = reported == 0 ? GAC_WHOLE / terms->routers : reported;
    if (is_new)
        l->shares += share;
    else if (share > h->share)
        l->shares += share - h->share;
    l->shares = MIN(l->shares, GAC_WHOLE);
    h->share = share;
    h->shares = reported > 0;
}

void ledger_set_share(struct ledger *l, const struct ledger_terms *terms, struct weir_holder *h,
                      int64_t share)
{
    enum {
        LEAST_PART = 4 /* of an even part */
    };
    const int64_t even = GAC_WHOLE / terms->routers;
    int64_t left = shares_of_all(l, terms);
    if (has_all_routers(l, terms))
        l->shares = GAC_WHOLE;
    for (uint32_t i = 0; i < l->count; i++)
        left -= &l->holders[i] == h ? 0 : l->holders[i].share;
    share = MIN(share, left);
    h->answer.share = MAX(share, MAX(even / LEAST_PART, 1));
    h->share = MAX(h->share, h->answer.share);
    h->shares = true;
}

/* The part of the rate that refills here. */
static int64_t rate_here(const struct ledger *l, const struct ledger_terms *terms)
{
    if (!ledger_has_shares(l))
        return ledger_scaled(l->rate, terms->here, terms->routers);
    if (terms->here == terms->routers)
        return l->rate;
    const int64_t others = terms->routers - MIN(l->count, terms->routers);
    int64_t all = shares_of_all(l, terms) + GAC_WHOLE * others / terms->routers;
    all = MIN(all, GAC_WHOLE) - terms->shares_elsewhere;
    /* What routers were told they may use without a server. A router that is silent may have had
     * the whole rate before others came: they are not refused for as long as it is remembered. */
    return ledger_scaled(l->rate, MAX(all, MIN(terms->shares_here, GAC_WHOLE)), GAC_WHOLE);
}

void ledger_refill(struct ledger *l, struct instant now, const struct ledger_terms *terms)
{
    must(terms->here <= terms->routers && terms->routers > 0);
    int64_t max = ledger_scaled(l->rate, terms->bank.ns, NS_PER_S);
    note_elsewhere(l, now, max);
    token_bucket_refill(&l->bank, now);
    int64_t rate = rate_here(l, terms);
    /* The refill can be granted even if nothing may be saved: room for a grant in flight and one
     * ahead. */
    int64_t min = ledger_scaled(rate, 2 * terms->grant.ns, NS_PER_S);
    int64_t held = held_by_all(l), capacity = MAX(max, min) - l->elsewhere - held;
    bool others = l->elsewhere > 0 || terms->here < terms->routers;
    bool fell = held > max; /* granted at a higher rate, and may stay unused for long */
    if ((others || fell) && capacity < min)
        capacity = min;
    token_bucket_set_rate(&l->bank, MAX(capacity, 0), rate, INT64_MAX / 4);
}

static struct weir_holder *ledger_find(struct ledger *l, uint64_t router)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->holders[i].router == router)
            return &l->holders[i];
    }
    return NULL;
}

static struct weir_holder *ledger_add(struct ledger *l, uint64_t router)
{
    l->holders = must_grow(l->holders, l->count, &l->capacity, sizeof l->holders[0]);
    struct weir_holder *h = &l->holders[l->count++];
    *h = (struct weir_holder){.router = router};
    return h;
}

static bool has_passed(struct instant now, struct instant at, struct duration more)
{
    return !instant_before(now, instant_add(at, more));
}

/* Drops holders whose tokens are too old, wherever they got them. A retry time that has not come
 * yet, or was not long ago, stays; and so does a part of the rate. */
static void drop_stale(struct ledger *l, struct instant now, const struct ledger_terms *terms)
{
    for (uint32_t i = l->count; i > 0; i--) {
        struct weir_holder *h = &l->holders[i - 1];
        const bool bare = h->shares && h->retry_cost == 0 && h->requested_at.ns == 0;
        if (bare || !has_passed(now, h->requested_at, terms->router_timeout))
            continue;
        const struct weir_holder was = *h;
        *h = (struct weir_holder){.router = was.router, .share = was.share, .shares = was.shares};
        if (was.retry_cost != 0 && !has_passed(now, was.retry_at, terms->router_timeout)) {
            h->retry_cost = was.retry_cost;
            h->retry_at = was.retry_at;
            h->retry_rate = was.retry_rate;
        } else if (!was.shares) {
            *h = l->holders[--l->count];
        }
    }
}

/* In a new epoch a router brings tokens granted elsewhere; its tokens from here count as spent. */
static void ledger_begin_epoch(struct weir_holder *h, const struct gac_request *request)
{
    h->held = request->held;
    h->pending = request->pending;
    h->request = (struct gac_request){.epoch = request->epoch, .spent = request->spent};
}

/* Tokens saved at a higher rate are worth as many seconds of the lower rate. */
static void change_rate(struct ledger *l, const struct gac_request *request)
{
    if (request->rate < l->rate && l->bank.balance > 0)
        token_bucket_debit(&l->bank, l->bank.balance -
                                         ledger_scaled(l->bank.balance, request->rate, l->rate));
    l->version = request->version;
    l->rate = request->rate;
}

/* A negative amount is ignored, whatever routers report. */
static void note_spent(struct ledger *l, int64_t spent)
{
    l->spent += spent;
    l->spent = MAX(l->spent, 0);
    l->spent = MIN(l->spent, GAC_AMOUNT_MAX);
}

struct weir_holder *ledger_take(struct ledger *l, struct instant now,
                                const struct ledger_terms *terms, uint64_t router,
                                const struct gac_request *request, const struct gac_answer **again)
{
    must_in_tests(router != 0 && gac_key_equal(request->key, l->key));
    must_in_tests(!instant_before(now, l->used_at));
    *again = NULL;
    drop_stale(l, now, terms);
    struct weir_holder *h = ledger_find(l, router);
    const bool is_new = h == NULL;
    if (is_new)
        h = ledger_add(l, router);
    if (request->epoch > h->request.epoch)
        ledger_begin_epoch(h, request);
    bool seen = request->epoch == h->request.epoch && request->number == h->request.number;
    if (request->epoch < h->request.epoch || request->number <= h->request.number) {
        *again = seen ? &h->answer : NULL;
        return NULL; /* LEDGER-2 */
    }
    note_share(l, terms, h, is_new, request->share);
    if (request->version >= l->version)
        change_rate(l, request);
    int64_t spent = request->spent - h->request.spent;
    if (!l->started)
        note_spent(l, spent);
    if (h->held >= h->retry_cost && spent + request->pending > h->pending)
        h->retry_cost = 0; /* the tokens were granted, and spent */
    int64_t unspent =
        h->held + h->pending - spent; /* includes a grant that never arrived: LEDGER-3 */
    int64_t back = unspent - request->held - request->pending;
    h->held = request->held;
    h->pending = request->pending;
    ledger_refill(l, now, terms); /* makes room for returned tokens */
    if (back >= 0)
        token_bucket_add(&l->bank, back);
    else
        token_bucket_debit(&l->bank, -back);
    const struct duration wait = instant_since(instant_add(h->requested_at, h->answer.wait), now);
    const struct duration lifetime = h->answer.lifetime;
    h->request = *request;
    h->requested_at = l->used_at = now;
    h->answer = (struct gac_answer){.key = request->key,
                                    .epoch = request->epoch,
                                    .number = request->number,
                                    .version = l->version,
                                    .lifetime = terms->lifetime,
                                    .until = {GAC_UNKNOWN},
                                    .others = GAC_UNKNOWN};
    if (request->reports) {
        h->answer.wait.ns = MAX(wait.ns, 0);
        h->answer.lifetime = lifetime;
    }
    ledger_check(l);
    return h;
}

bool ledger_may_grant(const struct ledger *l, const struct weir_holder *h, int64_t tokens)
{
    int64_t held;
    return tokens <= l->bank.balance ||
           (l->bank.balance >= 0 && !__builtin_add_overflow(h->held, tokens, &held) &&
            held <= h->request.need);
}

void ledger_grant(struct ledger *l, struct weir_holder *h, int64_t tokens)
{
    must(tokens >= 0);
    must(ledger_may_grant(l, h, tokens));
    token_bucket_debit(&l->bank, tokens);
    int64_t room = l->bank.capacity - tokens;
    token_bucket_set_rate(&l->bank, MAX(room, 0), l->bank.rate, l->bank.debt_max);
    h->held += tokens;
    h->answer.granted += tokens;
    ledger_check(l);
}

void ledger_remove_router(struct ledger *l, uint64_t router, bool moved)
{
    struct weir_holder *h = ledger_find(l, router);
    if (h != NULL) {
        l->shares = MAX(l->shares - (moved ? h->share : 0), 0);
        *h = l->holders[--l->count];
    }
    must_in_tests(ledger_find(l, router) == NULL);
}
