/* server.c - the routers and ledgers of a server of global admission control. */
#include "gac/server.h"

#include <stdlib.h>

#include "base/settings/gac.h"
#include "gac/ring.h"
#include "include/weir/policy_table.h"

enum {
    ONE_UNIT = 1000 /* mcu */
};

struct known_router {
    uint64_t id;
    uint64_t link;
    uint64_t view;
    uint32_t number; /* 0: not known */
    uint64_t former; /* the router that had the number before; 0: none is known */
    struct instant received_at;
    bool timed_out; /* has sent nothing for longer than tokens live */
};

struct gac_server {
    struct gac_server_options options;
    struct ring ring;
    uint32_t router_count;
    struct known_router *routers; /* owns */
    uint32_t ledger_count;
    size_t ledger_capacity;  /* grows up to gac_ledgers_max */
    struct ledger **ledgers; /* owns; ascending by key */
};

struct gac_server *gac_server_create(const struct gac_server_options *options)
{
    must(options->number >= 1 && options->number <= options->servers);
    must(options->incarnation != 0);
    const struct config *config = options->config;
    struct gac_server *s = must_calloc(1, sizeof *s);
    s->options = *options;
    ring_init(&s->ring, options->servers);
    s->routers = must_calloc((size_t)config_gac(config)->gac_routers_max, sizeof s->routers[0]);
    return s;
}

static void drop_ledger(struct gac_server *s, uint32_t at)
{
    must(at < s->ledger_count);
    ledger_deinit(s->ledgers[at]);
    free(s->ledgers[at]);
    s->ledger_count--;
    memmove(&s->ledgers[at], &s->ledgers[at + 1], (s->ledger_count - at) * sizeof s->ledgers[0]);
}

void gac_server_destroy(struct gac_server *s)
{
    while (s->ledger_count > 0)
        drop_ledger(s, s->ledger_count - 1);
    free(s->ledgers);
    free(s->routers);
    free(s);
}

/* ---- routers ---- */

static void drop_router(struct gac_server *s, uint32_t at)
{
    must(at < s->router_count);
    const uint64_t view = s->routers[at].view;
    for (uint32_t i = 0; i < s->ledger_count; i++) {
        struct ledger *l = s->ledgers[i];
        const bool moved = ring_owner(&s->ring, l->key, view) != s->options.number;
        ledger_remove_router(l, s->routers[at].id, moved);
    }
    s->routers[at] = s->routers[--s->router_count];
}

/* Counts the routers that ask here about this key: not timed out, and their view has this server as
 * the owner. Sums up the parts of the rate of the others. `l`: NULL: there is no ledger yet. */
static void note_routers(const struct gac_server *s, struct gac_key key, const struct ledger *l,
                         struct ledger_terms *terms)
{
    uint32_t owner = 0;
    uint64_t view = 0;
    const bool shares = l != NULL && ledger_has_shares(l);
    terms->routers = s->router_count;
    terms->here = 0;
    terms->shares_elsewhere = terms->shares_here = 0;
    for (uint32_t i = 0; i < s->router_count; i++) {
        const struct known_router *r = &s->routers[i];
        if (i == 0 || r->view != view)
            owner = ring_owner(&s->ring, key, view = r->view);
        const bool here = owner == s->options.number && !r->timed_out;
        terms->here += here;
        if (shares && here)
            terms->shares_here += ledger_share_known(l, r->id);
        else if (shares)
            terms->shares_elsewhere += ledger_share_of(l, r->id, s->router_count);
    }
    must(terms->here <= s->router_count);
}

/* The routers that ask here have changed: the refill so far is by the old shares. */
static void divide_anew(struct gac_server *s, struct instant at)
{
    struct ledger_terms terms = {.bank = duration_ms(config_gac(s->options.config)->gac_bank_ms),
                                 .routers = s->router_count};
    for (uint32_t i = 0; i < s->ledger_count; i++) {
        note_routers(s, s->ledgers[i]->key, s->ledgers[i], &terms);
        ledger_refill(s->ledgers[i], at, &terms);
    }
}

/* Routers timed out one after the other: each one's part of the rate ends at its time. */
static void check_timeouts(struct gac_server *s, struct instant now)
{
    const struct duration lifetime = duration_ms(config_gac(s->options.config)->gac_lifetime_ms);
    for (;;) {
        struct known_router *first = NULL;
        for (uint32_t i = 0; i < s->router_count; i++) {
            struct known_router *r = &s->routers[i];
            if (!r->timed_out &&
                (first == NULL || instant_before(r->received_at, first->received_at)))
                first = r;
        }
        if (first == NULL || instant_before(now, instant_add(first->received_at, lifetime)))
            return;
        first->timed_out = true;
        divide_anew(s, instant_add(first->received_at, lifetime));
    }
}

static void drop_timed_out(struct gac_server *s, struct instant now)
{
    const struct duration timeout =
        duration_ms(config_gac(s->options.config)->gac_router_timeout_ms);
    for (uint32_t i = s->router_count; i > 0; i--) {
        if (instant_before(instant_add(s->routers[i - 1].received_at, timeout), now))
            drop_router(s, i - 1);
    }
}

/* The router that has this number. NULL: none, or it is not known. */
static struct known_router *router_numbered(const struct gac_server *s, uint32_t number)
{
    for (uint32_t i = 0; number != 0 && i < s->router_count; i++) {
        if (s->routers[i].number == number)
            return &s->routers[i];
    }
    return NULL;
}

static bool has_ended(const struct gac_server *s, uint32_t number, uint64_t router)
{
    const struct known_router *r = router_numbered(s, number);
    return r != NULL && r->former == router;
}

/* The router that had the number before, which is dropped. 0: there is none. */
static uint64_t drop_former(struct gac_server *s, uint32_t number, uint64_t router)
{
    const struct known_router *r = router_numbered(s, number);
    if (r == NULL)
        return 0;
    if (r->id == router)
        return r->former;
    const uint64_t former = r->id;
    drop_router(s, (uint32_t)(r - s->routers));
    return former;
}

/* NULL: too many routers. */
static struct known_router *gac_server_note_router(struct gac_server *s, struct instant now,
                                                   struct gac_origin from,
                                                   const struct gac_requests *requests)
{
    const uint64_t former = drop_former(s, from.number, requests->router);
    uint32_t i = 0;
    while (i < s->router_count && s->routers[i].id != requests->router)
        i++;
    if (i == s->router_count) {
        if (s->router_count == (uint32_t)config_gac(s->options.config)->gac_routers_max)
            return NULL;
        s->routers[s->router_count++] = (struct known_router){0};
    }
    struct known_router *r = &s->routers[i];
    bool changed = r->timed_out || r->view != requests->view;
    *r = (struct known_router){.id = requests->router,
                               .link = from.link,
                               .view = requests->view,
                               .number = from.number,
                               .former = former,
                               .received_at = now};
    if (changed)
        divide_anew(s, now);
    return r;
}

void gac_server_link_closed(struct gac_server *s, uint64_t link)
{
    for (uint32_t i = s->router_count; i > 0; i--) {
        if (s->routers[i - 1].link == link)
            drop_router(s, i - 1);
    }
}

/* ---- ledgers ---- */

static int compare_keys(struct gac_key a, struct gac_key b)
{
    if (a.table != b.table)
        return a.table < b.table ? -1 : 1;
    if (a.index != b.index)
        return a.index < b.index ? -1 : 1;
    return (int)a.kind - (int)b.kind;
}

/* The index of the first ledger not before `key`. */
static uint32_t gac_server_place_of(const struct gac_server *s, struct gac_key key)
{
    uint32_t low = 0, high = s->ledger_count;
    LOWER_BOUND(low, high, middle, compare_keys(s->ledgers[middle]->key, key) < 0);
    return low;
}

/* NULL: there is none. */
static struct ledger *gac_server_find(const struct gac_server *s, struct gac_key key)
{
    const uint32_t at = gac_server_place_of(s, key);
    return at < s->ledger_count && gac_key_equal(s->ledgers[at]->key, key) ? s->ledgers[at] : NULL;
}

static void drop_least_used(struct gac_server *s)
{
    must(s->ledger_count > 0);
    uint32_t at = 0;
    for (uint32_t i = 1; i < s->ledger_count; i++) {
        if (instant_before(s->ledgers[i]->used_at, s->ledgers[at]->used_at))
            at = i;
    }
    drop_ledger(s, at);
}

static struct ledger *ledger_of(struct gac_server *s, struct instant now,
                                const struct ledger_terms *terms, const struct gac_request *request)
{
    struct gac_key key = request->key;
    struct ledger *l = gac_server_find(s, key);
    if (l != NULL)
        return l;
    uint32_t at = gac_server_place_of(s, key);
    if (s->ledger_count == (uint32_t)config_gac(s->options.config)->gac_ledgers_max) {
        drop_least_used(s);
        at = gac_server_place_of(s, key);
    }
    l = must_calloc(1, sizeof *l);
    ledger_init(l, now, terms, request);
    s->ledgers = must_grow(s->ledgers, s->ledger_count, &s->ledger_capacity, sizeof s->ledgers[0]);
    memmove(&s->ledgers[at + 1], &s->ledgers[at], (s->ledger_count - at) * sizeof s->ledgers[0]);
    s->ledgers[at] = l;
    s->ledger_count++;
    must_in_tests(at == 0 || compare_keys(s->ledgers[at - 1]->key, key) < 0);
    must(at + 1 == s->ledger_count || compare_keys(key, s->ledgers[at + 1]->key) < 0);
    return l;
}

/* At most the time for which a router that sends nothing and its tokens are remembered. */
static struct duration lifetime_max_of(const struct config *config)
{
    int64_t ms = config_gac(config)->gac_lifetime_max_ms;
    ms = MIN(ms, config_gac(config)->gac_router_timeout_ms);
    return duration_ms(MAX(ms, config_gac(config)->gac_lifetime_ms));
}

/* At least as long as tokens can be spent, whatever is set. */
static struct duration router_timeout_of(const struct config *config)
{
    int64_t ms = config_gac(config)->gac_router_timeout_ms;
    ms = MAX(ms, config_gac(config)->gac_lifetime_ms);
    return duration_ms(ms > config_gac(config)->gac_period_ms ? ms
                                                              : config_gac(config)->gac_period_ms);
}

static void gac_server_answer(struct gac_server *s, struct instant now, uint64_t router,
                              const struct gac_request *request, struct buffer *out,
                              uint32_t *count)
{
    const struct config *config = s->options.config;
    const struct duration grant = duration_ms(config_gac(config)->gac_grant_ms);
    const struct duration period = duration_ms(config_gac(config)->gac_period_ms);
    const struct weir_table_policy *policy = table_policy_of(config, request->policy);
    bool periodic = policy->flags & WEIR_TABLE_PERIODS;
    struct ledger_terms terms = {
        .bank = duration_ms(config_gac(config)->gac_bank_ms),
        .lifetime = periodic ? period : duration_ms(config_gac(config)->gac_lifetime_ms),
        .lifetime_max = lifetime_max_of(config),
        .router_timeout = router_timeout_of(config),
        .grant = grant,
        .requests = config_gac(config)->gac_grant_requests,
        .start = periodic ? period : grant,
        /* A second's worth, as allocations begin with, and room for two of the largest items. */
        .start_new = {NS_PER_S},
        .start_tokens = config_gac(config)->gac_start_units * ONE_UNIT,
    };
    note_routers(s, request->key, gac_server_find(s, request->key), &terms);
    struct ledger *l = ledger_of(s, now, &terms, request);
    ledger_refill(l, now, &terms);
    if (request->created && !periodic)
        ledger_start_table(l, &terms);
    const struct gac_answer *again;
    struct weir_holder *h = ledger_take(l, now, &terms, router, request, &again);
    if (h != NULL) {
        ledger_grant_by_policy(l, now, &terms, config->policies, policy, h);
        again = &h->answer;
    }
    if (again != NULL) {
        gac_answer_encode(out, again);
        (*count)++;
    }
}

/* ---- frames ---- */

static enum status gac_server_refuse(struct buffer *error, const char *why)
{
    buffer_append_text(error, why);
    return STATUS_MALFORMED;
}

enum status gac_server_receive(struct gac_server *s, struct instant now, struct gac_origin from,
                               struct slice frame, struct buffer *out, struct buffer *error)
{
    struct gac_requests requests;
    struct gac_request request;
    struct reader all = {frame, false}, one;
    if (gac_requests_decode(&all, &requests) != STATUS_OK)
        return gac_server_refuse(error, "not a frame of grant requests");
    one = all;
    for (uint32_t i = 0; i < requests.count; i++) {
        if (gac_request_decode(&one, &request) != STATUS_OK)
            return gac_server_refuse(error, "a grant request with a value out of range");
    }
    check_timeouts(s, now);
    drop_timed_out(s, now);
    if (has_ended(s, from.number, requests.router))
        return STATUS_OK; /* nobody waits for an answer */
    if (gac_server_note_router(s, now, from, &requests) == NULL)
        return gac_server_refuse(error, "more routers than gac_routers_max");
    struct buffer answers = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < requests.count; i++) {
        must(gac_request_decode(&all, &request) == STATUS_OK);
        gac_server_answer(s, now, requests.router, &request, &answers, &count);
    }
    gac_answers_encode(out, &(struct gac_answers){.server = s->options.incarnation,
                                                  .routers = s->router_count,
                                                  .count = count});
    buffer_append_slice(out, buffer_slice(&answers));
    buffer_deinit(&answers);
    return STATUS_OK;
}

bool gac_server_inspect(const struct gac_server *s, struct instant now, struct gac_key key,
                        struct gac_bank *out)
{
    const struct ledger *l = gac_server_find(s, key);
    if (l == NULL)
        return false;
    struct token_bucket bank = l->bank;
    if (instant_before(bank.updated_at, now))
        token_bucket_refill(&bank, now);
    *out = (struct gac_bank){.rate = l->rate, .bank = bank.balance};
    for (uint32_t h = 0; h < l->count; h++)
        out->held += holder_is_live(&l->holders[h], now) ? l->holders[h].held : 0;
    return true;
}
