#include "gac/vend.h"

enum {
    ONE_UNIT = 1000, /* mcu */
    BANK_PARTS = 4   /* a router is granted at most this part of its even part of the bank */
};

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static uint64_t square_root(unsigned __int128 value)
{
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 63; bit != 0; bit >>= 1) {
        uint64_t more = root | bit;
        if ((unsigned __int128)more * more <= value)
            root = more;
    }
    return root;
}

static int64_t in_span(int64_t rate, struct duration span)
{
    __int128 tokens = (__int128)rate * span.ns / NS_PER_S;
    return tokens < INT64_MAX / 16 ? (int64_t)tokens : INT64_MAX / 16;
}

/* What this holder would be left with, were there enough for all. */
static int64_t wanted(const struct ledger *l, const struct ledger_terms *terms,
                      const struct holder *h)
{
    if (h->ask.demand == 0)
        return 0;
    int64_t even = l->rate / terms->routers;
    int64_t rate = (int64_t)square_root((unsigned __int128)h->ask.demand * (uint64_t)even);
    int64_t tokens = most_of(in_span(rate, terms->grant), ONE_UNIT);
    if (l->bank.balance > 0)
        tokens = most_of(tokens, l->bank.balance / terms->routers / BANK_PARTS);
    tokens = least_of(tokens, most_of(in_span(h->ask.demand, terms->lifetime), ONE_UNIT));
    return most_of(tokens, h->ask.need);
}

static int64_t wanted_by_all(const struct ledger *l, struct instant now,
                             const struct ledger_terms *terms)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (holder_is_live(&l->holders[i], now))
            sum += wanted(l, terms, &l->holders[i]);
    }
    return sum;
}

/* The part of the rate that is this holder's: what it wants up to the level, and of what nobody
 * wants an even part. */
static int64_t share_of(const struct ledger *l, struct instant now, const struct holder *h)
{
    int64_t level = vend_level(l, now, l->bank.rate);
    if (level != INT64_MAX)
        return least_of(h->ask.demand, level);
    int64_t left = l->bank.rate, live = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (!holder_is_live(&l->holders[i], now) || l->holders[i].ask.demand == 0)
            continue;
        left -= l->holders[i].ask.demand;
        live++;
    }
    return h->ask.demand + (live > 0 ? left / live : 0);
}

static struct duration time_for(int64_t tokens, int64_t rate, struct duration most)
{
    if (rate <= 0)
        return most;
    __int128 ns = ((__int128)tokens * NS_PER_S + rate - 1) / rate;
    return ns < most.ns ? (struct duration){(int64_t)ns} : most;
}

/* What came in for it since the last time, as far as it wants that. */
static void add_credit(struct instant now, struct holder *h, int64_t share, int64_t most)
{
    int64_t came = in_span(share, instant_since(now, h->credited_at));
    h->credit = least_of(h->credit + came, most);
    h->credited_at = now;
}

/* Below this a grant is not worth its messages. */
static int64_t worth_granting(const struct ledger *l, const struct holder *h, int64_t want)
{
    int64_t least = least_of(want, most_of(ONE_UNIT, want / 2));
    int64_t need = least_of(h->ask.need, l->bank.capacity) - h->held;
    return most_of(least, need);
}

/* Until it can be granted as much. */
static struct duration time_until(const struct ledger *l, const struct ledger_terms *terms,
                                  const struct holder *h, int64_t tokens, int64_t share)
{
    struct duration credit = time_for(tokens - h->credit, share, terms->lifetime);
    struct duration bank = time_for(tokens - l->bank.balance, l->bank.rate, terms->lifetime);
    return credit.ns > bank.ns ? credit : bank;
}

static void vend(struct ledger *l, struct instant now, const struct ledger_terms *terms,
                 struct holder *h)
{
    if (h->ask.demand == 0)
        return;
    int64_t want = wanted(l, terms, h) - h->held, share = share_of(l, now, h);
    add_credit(now, h, share, most_of(want, 0));
    if (want <= 0)
        return;
    bool enough = l->bank.balance >= wanted_by_all(l, now, terms);
    int64_t tokens = least_of(enough ? want : least_of(want, h->credit), l->bank.balance);
    int64_t least = worth_granting(l, h, want);
    if (tokens >= least) {
        ledger_grant(l, h, tokens);
        h->credit = most_of(h->credit - tokens, 0);
    }
    if (!enough)
        h->answer.wait = time_until(l, terms, h, least, share);
}

const struct vend_policy vend_lease = {vend};
