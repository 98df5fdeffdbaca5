/* client.c - leases of a router: taking, asking, answers, and which servers are alive. */
#include "gac/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/gac_policy.h"
#include "base/id_map.h"
#include "base/policies.h"
#include "base/settings/choices.h"
#include "base/settings/gac.h"
#include "gac/grant_policy.h"
#include "gac/lease.h"
#include "gac/ring.h"
#include "include/weir/policy_table.h"

enum {
    LEASES_MIN = 64,
    SIGNS_OF_LIFE = 4, /* in the lifetime of tokens */
    REACH_MS = 1000,   /* longest time to reach a running server */
    LEASE_IDLE_S = 600 /* unused leases may be forgotten, as of deleted tables */
};

enum server_state {
    SERVER_UNKNOWN,      /* not reached yet: may grant to others */
    SERVER_GONE,         /* grants nothing to anyone */
    SERVER_UNRESPONSIVE, /* may grant to others */
    SERVER_UP
};

struct server {
    enum server_state state;
    bool linked;
    bool keepalive_due; /* a sign of life */
    uint32_t routers;   /* as the server last reported */
    struct instant received_at;
    struct instant sent_at;
    struct instant unresponsive_at;
};

struct gac_client {
    struct gac_client_options options;
    const struct weir_table_policy *policies[GAC_POLICIES];
    struct ring ring;
    struct server *servers;  /* owns; 1 .. servers */
    uint64_t alive;          /* bit server - 1 */
    struct instant begun_at; /* 0: no time is known yet */
    uint64_t changes;
    uint64_t epochs; /* of all leases: a forgotten lease never repeats an epoch */
    uint32_t routers;
    bool knows_routers;   /* `routers` is from a server */
    uint32_t requesting;  /* leases with a grant request to send */
    struct id_map leases; /* owns them; by gac_key_number */
    size_t lease_capacity;
    struct lease **active; /* owns; leases that hold, wait or will ask; room for lease_capacity */
    uint32_t active_count;
    struct instant check_at;
    struct instant fills_at; /* the first reserve that a request waits for has filled */
    struct buffer frame;
};

static struct duration gac_client_lifetime(const struct gac_client *c)
{
    return duration_ms(config_gac(c->options.config)->gac_lifetime_ms);
}

struct gac_client *gac_client_create(const struct gac_client_options *options)
{
    must(options->servers <= GAC_SERVERS_MAX && options->router != 0);
    struct gac_client *c = must_calloc(1, sizeof *c);
    c->options = *options;
    c->routers = 1;
    c->fills_at = INSTANT_NEVER;
    for (int i = 0; i < GAC_POLICIES; i++)
        c->policies[i] = table_policy_of(options->config, (enum gac_policy)i);
    ring_init(&c->ring, options->servers);
    for (uint32_t s = 1; s <= options->servers; s++)
        c->alive |= UINT64_C(1) << (s - 1);
    c->servers = must_calloc(options->servers + 1, sizeof c->servers[0]);
    c->lease_capacity = LEASES_MIN;
    c->active = must_calloc(c->lease_capacity, sizeof c->active[0]);
    return c;
}

static void gac_client_free(struct lease *l)
{
    free(l->waiting_line);
    free(l);
}

void gac_client_destroy(struct gac_client *c)
{
    struct lease *l;
    for (size_t at = 0; (l = id_map_next(&c->leases, &at)) != NULL;)
        gac_client_free(l);
    id_map_deinit(&c->leases);
    free(c->active);
    free(c->servers);
    buffer_deinit(&c->frame);
    free(c);
}

/* ---- leases ---- */

static struct lease *find_lease(const struct gac_client *c, struct gac_key key)
{
    return id_map_find(&c->leases, gac_key_number(key));
}

static bool lease_is_evictable(const struct lease *l, struct instant now)
{
    struct instant until = instant_add(l->taken_at, (struct duration){LEASE_IDLE_S * NS_PER_S});
    return !l->active && l->pending == 0 && l->tokens >= 0 && !instant_before(now, until);
}

static bool evict_lease(void *context, void *value)
{
    const struct instant *now = context;
    if (!lease_is_evictable(value, *now))
        return false;
    gac_client_free(value);
    return true;
}

/* Makes room for one more lease at least; if few can be forgotten, for twice as many. */
static void gac_client_make_room(struct gac_client *c, struct instant now)
{
    id_map_remove_if(&c->leases, evict_lease, &now);
    if (c->leases.count < c->lease_capacity / 2)
        return;
    c->lease_capacity *= 2;
    c->active = must_have(realloc(c->active, c->lease_capacity * sizeof c->active[0]));
}

static bool policy_has(const struct gac_client *c, const struct gac_limit *limit,
                       enum weir_table_flag flag)
{
    return (c->policies[limit->policy]->flags & flag) != 0;
}

/* Whether the router needs tokens of a server for each request. */
static bool spends_tokens(const struct gac_client *c, const struct gac_limit *limit)
{
    return policy_has(c, limit, WEIR_TABLE_REQUESTS_GRANTS) &&
           c->policies[limit->policy]->share == NULL;
}

/* A router that comes takes its even part from all. When one goes, its part is the server's to
 * give. */
static int64_t lease_share(const struct gac_client *c, struct lease *l)
{
    if (l->share > 0 && c->routers > l->share_routers) {
        l->share = MAX(l->share * l->share_routers / c->routers, 1);
        l->share_routers = c->routers;
    }
    return l->share;
}

/* The router's own part of the rate. */
static int64_t reserve_rate(const struct gac_client *c, struct instant now, struct lease *l)
{
    const struct weir_table_policy *policy = c->policies[l->limit.policy];
    int64_t rate = l->limit.rate, own = 0;
    if (policy->share != NULL)
        own = policy->share(rate, c->routers, lease_demand(l, now), l->others);
    else if (policy->reserve != NULL)
        own = policy->reserve(rate, c->routers);
    else if (lease_share(c, l) > 0)
        return (int64_t)((__int128)rate * l->share / GAC_WHOLE);
    else
        return rate / c->routers;
    if (own >= 0)
        return MIN(own, rate);
    policies_report_invalid(c->options.config->policies, policy, "reserves less than zero");
    return rate / c->routers;
}

/* What may be saved up at this rate. */
static int64_t bank_of(const struct gac_client *c, int64_t rate)
{
    __int128 max = (__int128)rate * config_gac(c->options.config)->gac_bank_ms / 1000;
    return max < INT64_MAX / 16 ? (int64_t)max : INT64_MAX / 16;
}

static void refill_reserve(const struct gac_client *c, struct instant now, struct lease *l)
{
    int64_t rate = reserve_rate(c, now, l);
    token_bucket_refill(&l->reserve, now);
    bool saves = c->policies[l->limit.policy]->share != NULL;
    token_bucket_set_rate(&l->reserve, saves ? bank_of(c, rate) : rate, rate, INT64_MAX / 4);
}

static void gac_client_activate(struct gac_client *c, struct lease *l)
{
    if (l->active)
        return;
    l->active = true;
    must(c->active_count < c->lease_capacity);
    c->active[c->active_count++] = l;
}

/* From now on another server, or a restarted one, is asked. It starts from the tokens held. A
 * server that remembers an old holding, or does not know the router's part of the rate, is told,
 * even if nothing is wanted from it. Without a server, the router gets its part of the refill from
 * now on, not of the past. */
static void gac_client_begin_epoch(struct gac_client *c, struct instant now, struct lease *l,
                                   uint32_t owner)
{
    if (owner == 0 && spends_tokens(c, &l->limit)) {
        token_bucket_init(&l->reserve, 0, 0, INT64_MAX / 4, 0, now);
        l->unfilled = true;
    }
    if (owner == 0)
        refill_reserve(c, now, l);
    l->owner = owner;
    l->epoch = ++c->epochs;
    l->number = 0;
    l->spent = l->counted = 0;
    if (owner != 0 && ((l->notified & UINT64_C(1) << (owner - 1)) != 0 || l->share > 0)) {
        l->counted = INT64_MAX;
        gac_client_activate(c, l);
    }
    l->awaiting = false;
    l->unanswered = 0;
    l->created = false;
    l->request_at = (struct instant){0};
    l->retry_cost = 0;
}

static struct lease *lease_of(struct gac_client *c, struct instant now,
                              const struct gac_limit *limit)
{
    struct lease *l = find_lease(c, limit->key);
    if (l != NULL)
        return l;
    if (c->leases.count == c->lease_capacity)
        gac_client_make_room(c, now);
    must(c->leases.count < c->lease_capacity); /* each may become active */
    l = must_calloc(1, sizeof *l);
    l->limit = *limit;
    l->slot_at = l->taken_at = now;
    l->lifetime = gac_client_lifetime(c);
    l->round_trip = duration_ms(1);
    l->others = GAC_UNKNOWN;
    token_bucket_init(&l->reserve, 0, 0, INT64_MAX / 4, 0, now);
    gac_client_begin_epoch(c, now, l, ring_owner(&c->ring, limit->key, c->alive));
    id_map_add(&c->leases, gac_key_number(limit->key), l);
    return l;
}

/* ---- taking ---- */

/* No tokens were taken for half of their lifetime. */
static bool is_idle(const struct lease *l, struct instant now)
{
    return !instant_before(now, instant_add(l->taken_at, (struct duration){l->lifetime.ns / 2}));
}

static void request_now(struct gac_client *c, struct lease *l, bool reports)
{
    if (l->awaiting || l->owner == 0)
        return;
    l->reports = reports && (l->reports || !l->requesting);
    if (l->requesting)
        return;
    l->requesting = true;
    c->requesting++;
    gac_client_activate(c, l);
}

static void request_soon(struct gac_client *c, struct instant now, struct lease *l)
{
    if (!instant_before(now, l->request_at))
        request_now(c, l, false);
}

/* Takes from the router's own even part of the rate. */
static enum gac_verdict take_reserve(struct gac_client *c, struct instant now, struct lease *l,
                                     int64_t cost, struct duration *wait)
{
    token_bucket_refill(&l->reserve, now);
    const bool kept = token_bucket_has(&l->reserve, cost); /* by the part that a wait was told by */
    refill_reserve(c, now, l);
    if (!kept && !token_bucket_has(&l->reserve, cost)) {
        l->refused++;
        *wait = token_bucket_wait(&l->reserve, cost);
        return GAC_REFUSED;
    }
    token_bucket_debit(&l->reserve, cost);
    l->pending += cost;
    l->taken += cost;
    return GAC_TAKEN;
}

/* Without a server. The router's part begins with no tokens: the first requests wait for them. */
static enum gac_verdict take_alone(struct gac_client *c, struct instant now, struct lease *l,
                                   int64_t cost, struct duration *wait)
{
    const int64_t ns_max = config_gac(c->options.config)->gac_wait_ms * NS_PER_MS;
    const enum gac_verdict verdict = take_reserve(c, now, l, cost, wait);
    l->unfilled &= verdict != GAC_TAKEN;
    if (!l->unfilled || wait->ns > ns_max)
        return verdict;
    l->refused--;
    c->fills_at = instant_earlier(c->fills_at, instant_add(now, *wait));
    return GAC_WAIT;
}

/* When the request is let in at the latest, if no other comes. What it costs above `retry_cost`
 * comes at the rate of the limit. */
static struct instant retry_at(const struct lease *l, int64_t cost)
{
    return instant_add(l->retry_at, gac_refill_time(cost - l->retry_cost, l->limit.rate));
}

/* Too few tokens are in hand. A refusal tells a time that a server has told since tokens were spent
 * last, if the router has not been idle since. Otherwise the router reports what it has spent, and
 * asks for such a time. */
static enum gac_verdict take_short(struct gac_client *c, struct instant now, struct lease *l,
                                   int64_t cost, bool was_idle, struct duration *wait)
{
    if (l->owner == 0)
        return take_alone(c, now, l, cost, wait);
    const bool early = instant_before(now, l->request_at);
    const bool due = l->retry_cost > 0 && !instant_before(now, retry_at(l, cost));
    const bool less = early && (cost < l->denied || due);
    if (cost > l->need || less)
        l->need = cost;
    if (early && !less && !was_idle && l->retry_cost > 0 && l->tokens == l->left) {
        l->refused++;
        *wait = instant_since(retry_at(l, cost), now);
        return GAC_REFUSED;
    }
    if (less)
        l->request_at = now;
    request_now(c, l, early && !less);
    return GAC_WAIT;
}

bool gac_client_limits(const struct gac_client *c, const struct gac_limit *limit)
{
    return policy_has(c, limit, WEIR_TABLE_LIMITS) &&
           (c->options.servers > 0 || !policy_has(c, limit, WEIR_TABLE_REQUESTS_GRANTS));
}

bool gac_client_exempts(const struct gac_client *c, const struct gac_limit *limit)
{
    const struct gac_limit usual = {.policy = config_choices(c->options.config)->gac};
    return !policy_has(c, limit, WEIR_TABLE_LIMITS) && gac_client_limits(c, &usual);
}

enum gac_verdict gac_client_take(struct gac_client *c, struct instant now, struct gac_limit *limit,
                                 int64_t cost, struct duration *wait)
{
    must(cost >= 0);
    limit->outdated = false;
    limit->level = 0;
    bool by_grants = policy_has(c, limit, WEIR_TABLE_REQUESTS_GRANTS);
    if (!gac_client_limits(c, limit))
        return GAC_TAKEN;
    struct lease *l = lease_of(c, now, limit);
    if (limit->version >= l->limit.version)
        l->limit = *limit;
    limit->outdated = l->doubtful || limit->version < l->newest;
    l->doubtful = false;
    limit->level = l->tokens;
    lease_add_demand(l, now, cost);
    const bool was_idle = is_idle(l, now);
    l->taken_at = now;
    if (!spends_tokens(c, &l->limit)) {
        if (by_grants)
            request_soon(c, now, l); /* to hear of other routers */
        return take_reserve(c, now, l, cost, wait);
    }
    bool lives = instant_before(now, l->expires_at);
    /* Where the whole cost is needed, the server grants what the costliest request needs, and owes
     * the rest. */
    int64_t enough = cost;
    int64_t max = bank_of(c, l->limit.rate); /* the most tokens that can ever be held */
    if (!policy_has(c, &l->limit, WEIR_TABLE_WHOLE_COST) && cost > l->tokens && cost > max)
        enough = max;
    if (!lives || l->tokens < enough || l->tokens <= 0)
        return take_short(c, now, l, cost, was_idle, wait);
    must_in_tests(l->tokens > 0);
    l->tokens -= cost;
    l->pending += cost;
    l->taken += cost;
    if (l->tokens < l->watermark && l->tokens <= l->left / 2)
        request_soon(c, now, l);
    return GAC_TAKEN;
}

/* What the clients of this router get of the limit, measured over a second or more. */
static int64_t gac_client_gets(const struct gac_client *c, struct instant now, struct lease *l)
{
    const int64_t ns = instant_since(now, l->measured_at).ns, min = l->limit.rate / c->routers;
    if (ns >= NS_PER_S) {
        const __int128 rate = (__int128)(l->taken - l->measured) * NS_PER_S / ns;
        l->gets = rate < l->limit.rate ? (int64_t)rate : l->limit.rate;
        l->measured = l->taken;
        l->measured_at = now;
    }
    return MAX(l->gets, min);
}

struct duration gac_client_place(struct gac_client *c, struct instant now, struct gac_key key,
                                 int64_t cost, uint64_t request, struct duration wait)
{
    struct lease *l = find_lease(c, key);
    if (l == NULL)
        return wait;
    if (l->waiting_line == NULL)
        l->waiting_line = must_calloc(1, sizeof *l->waiting_line);
    return waiting_line_wait(l->waiting_line, now, request, wait,
                             gac_refill_time(cost, gac_client_gets(c, now, l)));
}

void gac_client_notify(struct gac_client *c, struct instant now, const struct gac_limit *limit,
                       bool created)
{
    if (!policy_has(c, limit, WEIR_TABLE_REQUESTS_GRANTS) || c->options.servers == 0)
        return;
    struct lease *l = lease_of(c, now, limit);
    if (limit->version >= l->limit.version)
        l->limit = *limit;
    l->created = created;
    l->unsent = true;
    gac_client_activate(c, l);
    request_soon(c, now, l);
}

void gac_client_settle(struct gac_client *c, struct gac_key key, int64_t taken, int64_t used)
{
    struct lease *l = find_lease(c, key);
    if (l == NULL)
        return;
    int64_t more = used - taken;
    must_in_tests(taken >= 0 &&
                  taken <= l->pending); /* a lease with pending tokens is not forgotten */
    l->pending -= taken;
    l->spent += used;
    if (more == 0)
        return;
    if (more < 0) {
        l->taken += more;
        c->changes++;
    }
    if (!spends_tokens(c, &l->limit) || l->owner == 0) {
        if (more < 0)
            token_bucket_add(&l->reserve, -more);
        else
            token_bucket_debit(&l->reserve, more);
        return;
    }
    l->tokens -= more;
    l->slot_sum += more;
}

uint64_t gac_client_changes(const struct gac_client *c)
{
    return c->changes;
}

/* ---- servers ---- */

/* Whether the server can be asked. An unresponsive server counts while it may count this router. A
 * server never reached counts for as long as reaching it may take. */
static bool gac_client_counts(const struct gac_client *c, struct instant now,
                              const struct server *v)
{
    if (v->state == SERVER_UNKNOWN)
        return instant_before(now, instant_add_ms(c->begun_at, REACH_MS));
    if (v->state == SERVER_UNRESPONSIVE)
        return instant_before(now, instant_add(v->unresponsive_at, gac_client_lifetime(c)));
    return v->state == SERVER_UP;
}

/* Updates which servers count as alive, and the owners of all leases. */
static void client_check_servers(struct gac_client *c, struct instant now)
{
    uint64_t alive = 0;
    uint32_t routers = 0;
    if (c->begun_at.ns == 0)
        c->begun_at = now;
    for (uint32_t s = 1; s <= c->options.servers; s++) {
        const struct server *v = &c->servers[s];
        if (gac_client_counts(c, now, v))
            alive |= UINT64_C(1) << (s - 1);
        if (v->state != SERVER_GONE && v->routers > routers)
            routers = v->routers;
    }
    if (routers > 0) {
        c->routers = routers;
        c->knows_routers = true;
    }
    must_in_tests(c->routers > 0); /* a part of a rate is the rate by this */
    if (alive == c->alive)
        return;
    c->alive = alive;
    c->changes++;
    struct lease *l;
    for (size_t at = 0; (l = id_map_next(&c->leases, &at)) != NULL;) {
        uint32_t owner = ring_owner(&c->ring, l->limit.key, alive);
        if (owner == l->owner)
            continue;
        gac_client_begin_epoch(c, now, l, owner);
        l->doubtful = true;
    }
}

void gac_client_up(struct gac_client *c, UNUSED struct instant now, uint32_t server)
{
    must(server >= 1 && server <= c->options.servers);
    c->servers[server].linked = true;
    c->servers[server].keepalive_due = true; /* the server is up once it has answered */
}

static void become_unresponsive(struct server *v, struct instant now)
{
    if (v->state != SERVER_UP)
        return;
    v->state = SERVER_UNRESPONSIVE;
    v->unresponsive_at = now;
}

void gac_client_down(struct gac_client *c, struct instant now, uint32_t server, bool gone)
{
    must(server >= 1 && server <= c->options.servers);
    struct server *v = &c->servers[server];
    v->linked = v->keepalive_due = false;
    if (gone)
        v->state = SERVER_GONE;
    else
        become_unresponsive(v, now);
    client_check_servers(c, now);
}

static void gac_client_take_times(struct lease *l, struct instant now, const struct gac_answer *a)
{
    l->lifetime = a->lifetime;
    l->expires_at = instant_add(l->sent_at, a->lifetime);
    l->request_at = instant_add(now, a->wait);
    if (l->requested_need == 0)
        return;
    l->retry_cost = l->tokens < l->requested_need ? l->requested_need : 0;
    l->retry_at = instant_add(now, a->until);
}

/* Others get what the router gives up once the server knows that it has heard of it. A router that
 * is idle says so at once, others with the next request. */
static void take_share(struct gac_client *c, struct instant now, struct lease *l, int64_t share)
{
    if (share == 0)
        return;
    const bool gives = c->routers > 1 && (l->share == 0 || share < l->share);
    l->share = share;
    l->share_routers = c->routers;
    if (gives && is_idle(l, now))
        request_now(c, l, true);
}

static void gac_client_take_answer(struct gac_client *c, struct instant now,
                                   const struct gac_answer *a)
{
    struct lease *l = find_lease(c, a->key);
    if (l == NULL || !l->awaiting || a->epoch != l->epoch || a->number != l->number)
        return;
    l->awaiting = false;
    l->created = false;
    l->unsent &= a->version < l->limit.version;
    l->newest = MAX(l->newest, a->version);
    l->unanswered = 0;
    l->round_trip.ns += (instant_since(now, l->sent_at).ns - l->round_trip.ns) / 8;
    l->tokens += a->granted;
    l->left = l->tokens;
    l->counted += a->granted;
    gac_client_take_times(l, now, a);
    l->denied = a->granted == 0 ? l->requested_need : 0;
    if (a->others != GAC_UNKNOWN)
        l->others = a->others;
    take_share(c, now, l, a->share);
    must_in_tests(l->round_trip.ns >= 0 && a->granted >= 0);
    c->changes++;
}

enum status gac_client_receive(struct gac_client *c, struct instant now, uint32_t server,
                               struct slice frame)
{
    must(server >= 1 && server <= c->options.servers);
    struct gac_answers answers;
    struct gac_answer answer;
    struct reader all = {frame, false}, one;
    if (gac_answers_decode(&all, &answers) != STATUS_OK)
        return STATUS_MALFORMED;
    one = all;
    for (uint32_t i = 0; i < answers.count; i++) {
        if (gac_answer_decode(&one, &answer) != STATUS_OK)
            return STATUS_MALFORMED;
    }
    struct server *v = &c->servers[server];
    v->state = SERVER_UP;
    v->received_at = now;
    v->routers = answers.routers;
    client_check_servers(c, now);
    for (uint32_t i = 0; i < answers.count; i++) {
        must(gac_answer_decode(&all, &answer) == STATUS_OK);
        gac_client_take_answer(c, now, &answer);
    }
    return STATUS_OK;
}

/* ---- time ---- */

static void server_check(struct gac_client *c, struct instant now, struct server *v)
{
    const struct duration half = {gac_client_lifetime(c).ns / 2};
    const struct duration sign = {gac_client_lifetime(c).ns / SIGNS_OF_LIFE};
    if (!instant_before(now, instant_add(v->received_at, half)))
        become_unresponsive(v, now);
    if (v->linked && !instant_before(now, instant_add(v->sent_at, sign)))
        v->keepalive_due = true;
}

/* Each unanswered grant request doubles the wait: a slow server is heard in the end. */
static struct duration gac_client_answer_timeout(const struct gac_client *c, const struct lease *l)
{
    const struct duration half = {gac_client_lifetime(c).ns / 2};
    int64_t ns = config_gac(c->options.config)->gac_timeout_ms * NS_PER_MS;
    for (uint32_t i = 0; i < l->unanswered && ns < half.ns; i++)
        ns *= 2;
    return ns < half.ns ? (struct duration){ns} : half;
}

/* Returns unwanted tokens at once, and drops expired ones. */
static void lease_check(struct gac_client *c, struct instant now, struct lease *l)
{
    if (l->awaiting &&
        !instant_before(now, instant_add(l->sent_at, gac_client_answer_timeout(c, l)))) {
        l->awaiting = false;
        l->unanswered++;
        request_now(c, l, l->reports);
    }
    if (l->unsent)
        request_soon(c, now, l);
    bool expired = !instant_before(now, l->expires_at);
    if (!expired && !is_idle(l, now))
        return;
    bool holds = l->tokens > 0;
    l->tokens = holds ? 0 : l->tokens;
    if (holds || l->counted > l->pending)
        request_now(c, l, instant_before(now, l->request_at));
}

/* The leases with a grant request to send are active ones. */
static bool requests_are_counted(const struct gac_client *c)
{
    uint32_t requesting = 0;
    for (uint32_t i = 0; i < c->active_count; i++)
        requesting += c->active[i]->requesting;
    return requesting == c->requesting;
}

void gac_client_tick(struct gac_client *c, struct instant now)
{
    if (!instant_before(now, c->fills_at)) {
        c->fills_at = INSTANT_NEVER;
        c->changes++;
    }
    if (c->options.servers == 0 || instant_before(now, c->check_at))
        return;
    for (uint32_t s = 1; s <= c->options.servers; s++)
        server_check(c, now, &c->servers[s]);
    client_check_servers(c, now);
    for (uint32_t i = c->active_count; i > 0; i--) {
        struct lease *l = c->active[i - 1];
        lease_check(c, now, l);
        if (l->tokens > 0 || l->counted > 0 || l->requesting || l->awaiting || l->unsent)
            continue;
        l->active = false;
        c->active[i - 1] = c->active[--c->active_count];
    }
    int64_t span = c->active_count > 0
                       ? config_gac(c->options.config)->gac_timeout_ms * NS_PER_MS / 2
                       : gac_client_lifetime(c).ns / SIGNS_OF_LIFE;
    must_in_tests(requests_are_counted(c));
    c->check_at = instant_add(now, (struct duration){span});
}

struct instant gac_client_deadline(const struct gac_client *c)
{
    return c->options.servers == 0 ? INSTANT_NEVER : instant_earlier(c->check_at, c->fills_at);
}

/* ---- asking ---- */

static void append_request(struct gac_client *c, struct instant now, struct lease *l)
{
    must_in_tests(l->active && l->requesting && !l->awaiting && l->owner != 0);
    l->number++;
    l->grant_requests++;
    l->notified |= UINT64_C(1) << (l->owner - 1);
    l->requesting = false;
    l->awaiting = true;
    l->sent_at = now;
    struct gac_request request = {.key = l->limit.key,
                                  .policy = l->limit.policy,
                                  .created = l->created,
                                  .reports = l->reports,
                                  .epoch = l->epoch,
                                  .number = l->number,
                                  .version = l->limit.version,
                                  .rate = l->limit.rate,
                                  .spent = l->spent,
                                  .pending = l->pending,
                                  .held = l->tokens,
                                  .demand = is_idle(l, now) ? 0 : lease_demand(l, now),
                                  .need = is_idle(l, now) ? 0 : l->need,
                                  .cost = l->cost,
                                  .share = lease_share(c, l)};
    l->requested_need = request.need;
    l->counted = l->tokens + l->pending;
    l->need = 0;
    gac_request_encode(&c->frame, &request);
}

static bool encode_requests(struct gac_client *c, struct instant now, uint32_t server)
{
    struct server *v = &c->servers[server];
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->active_count && c->requesting > 0; i++)
        count += c->active[i]->requesting && c->active[i]->owner == server;
    if (!v->linked || (count == 0 && !v->keepalive_due))
        return false;
    count = MIN(count, GAC_BATCH_MAX);
    buffer_clear(&c->frame);
    gac_requests_encode(&c->frame, &(struct gac_requests){c->options.router, c->alive, count});
    for (uint32_t i = 0; count > 0; i++) {
        must(i < c->active_count);
        struct lease *l = c->active[i];
        if (!l->requesting || l->owner != server)
            continue;
        append_request(c, now, l);
        c->requesting--;
        count--;
    }
    v->keepalive_due = false;
    v->sent_at = now;
    return true;
}

bool gac_client_next_frame(struct gac_client *c, struct instant now, uint32_t *server,
                           struct slice *frame)
{
    for (uint32_t s = 1; s <= c->options.servers; s++) {
        if (!encode_requests(c, now, s))
            continue;
        *server = s;
        *frame = buffer_slice(&c->frame);
        return true;
    }
    return false;
}

bool gac_client_holding(const struct gac_client *c, struct instant now, struct gac_key key,
                        struct gac_holding *out)
{
    struct lease *l = find_lease(c, key);
    if (l == NULL)
        return false;
    bool lives = instant_before(now, l->expires_at) || l->tokens < 0;
    *out = (struct gac_holding){.key = key,
                                .tokens = lives ? l->tokens : 0,
                                .demand = lease_demand(l, now),
                                .owner = l->owner,
                                .knows_routers = c->knows_routers,
                                .grant_requests = l->grant_requests,
                                .refused = l->refused,
                                .taken = l->taken};
    return true;
}
