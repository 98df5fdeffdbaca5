/* Admission against a model written from its rules: every verdict, level and wait the same over
 * random schedules of several partitions on a node; and what becomes of balances and debts where a
 * partition is split, or two become one.
 *
 * The model shares no code with the engine: it counts tokens from the beginning of time, keeps a
 * list of who burst in which round, and finds a wait by bisection. */
#include "base/settings/admission.h"
#include "engine/admission/admission_internal.h"
#include "engine/admission/policy_choice.h"
#include "include/weir/policy_partition.h"
#include "tests/check.h"

enum {
    PARTITIONS = 4,
    STEPS = 600
};

/* ---- the model ---- */

struct tokens {
    __int128 minted; /* in 1e-9 tokens, since the beginning */
    __int128 handed; /* whole tokens of them already given out */
    int64_t rate;
    int64_t level;
    int64_t capacity;
    int64_t debt_max;
};

struct model {
    int64_t now;
    struct tokens node;
    struct model_partition {
        struct tokens cap, allocation, burst;
        int64_t attempt_round[2]; /* the last two rounds in which it tried to burst */
        int64_t taken[2];         /* by its bursts in them */
    } partitions[PARTITIONS];
};

static int64_t tokens_due(struct tokens *t, int64_t elapsed)
{
    t->minted += (__int128)t->rate * elapsed;
    int64_t due = (int64_t)(t->minted / NS_PER_S - t->handed);
    t->handed += due;
    return due;
}

static int64_t tokens_put(struct tokens *t, int64_t count)
{
    int64_t over = t->level + count - t->capacity;
    t->level = over > 0 ? t->capacity : t->level + count;
    return over > 0 ? over : 0;
}

static bool tokens_have(const struct tokens *t, int64_t cost)
{
    if (t->capacity == 0)
        return cost == 0 && t->level >= 0;
    return t->level >= cost || t->level == t->capacity; /* RESIDUAL-3 */
}

static void tokens_take(struct tokens *t, int64_t cost)
{
    t->level = t->level - cost < -t->debt_max ? -t->debt_max : t->level - cost;
}

static void model_move(struct model *m, int64_t now)
{
    int64_t elapsed = now - m->now;
    m->now = now;
    tokens_put(&m->node, tokens_due(&m->node, elapsed));
    for (int i = 0; i < PARTITIONS; i++) {
        struct model_partition *p = &m->partitions[i];
        tokens_put(&p->cap, tokens_due(&p->cap, elapsed));
        tokens_put(&p->burst, tokens_put(&p->allocation, tokens_due(&p->allocation, elapsed)));
    }
}

/* More than one partition tried to burst in this round, or in the one before. */
static bool model_contended(const struct model *m, int64_t round)
{
    int now = 0, before = 0;
    for (int i = 0; i < PARTITIONS; i++) {
        const int64_t *rounds = m->partitions[i].attempt_round;
        now += rounds[0] == round;
        before += rounds[0] == round - 1 || rounds[1] == round - 1;
    }
    return now >= 2 || before >= 2;
}

static int64_t model_taken(const struct model_partition *p, int64_t now)
{
    int64_t round = now / NS_PER_S, left_us = (NS_PER_S - now % NS_PER_S) / 1000;
    int64_t before = p->attempt_round[1] == round - 1 ? p->taken[1] : 0;
    return p->taken[0] + (int64_t)((__int128)before * left_us / 1000000);
}

static struct admit_verdict model_decide(struct model *m, int index, int64_t cost)
{
    struct model_partition *p = &m->partitions[index];
    struct admit_verdict v = {
        .balances = {p->cap.level, p->allocation.level, p->burst.level, m->node.level}};
    struct tokens *from = &p->allocation;
    if (!tokens_have(&p->cap, cost)) {
        v.reason = ADMIT_REFUSED_KEY_RANGE;
        return v;
    }
    if (!tokens_have(&p->allocation, cost)) {
        int64_t round = m->now / NS_PER_S;
        if (!tokens_have(&p->burst, cost)) {
            v.reason = ADMIT_REFUSED_ALLOCATION;
            return v;
        }
        if (p->attempt_round[0] != round) {
            p->attempt_round[1] = p->attempt_round[0];
            p->taken[1] = p->taken[0];
            p->attempt_round[0] = round;
            p->taken[0] = 0;
        }
        /* RESIDUAL-1, RESIDUAL-2 */
        int64_t reserve = model_contended(m, round) ? model_taken(p, m->now) : 0;
        if (!tokens_have(&m->node, cost + reserve)) {
            v.reason = ADMIT_REFUSED_NODE;
            return v;
        }
        from = &p->burst;
        p->taken[0] += cost;
    }
    v.burst = from == &p->burst;
    tokens_take(from, cost);
    tokens_take(&p->cap, cost);
    tokens_take(&m->node, cost);
    return v;
}

static bool model_passes_in(const struct model *m, int index, int64_t cost, int64_t wait)
{
    struct model copy = *m;
    model_move(&copy, m->now + wait);
    return model_decide(&copy, index, cost).reason == ADMIT_OK;
}

static int64_t model_wait(const struct model *m, int index, int64_t cost)
{
    int64_t low = 0, high = INT64_C(1) << 60; /* refused at low, passes at high */
    if (!model_passes_in(m, index, cost, high))
        return INT64_MAX;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (model_passes_in(m, index, cost, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* ---- both worlds ---- */

struct admitted {
    int64_t at;
    int64_t cost;
    int partition;
    bool burst;
};

struct fixture {
    struct config config;
    struct node_admission node;
    struct admission partitions[PARTITIONS];
    struct model model;
    struct admitted log[STEPS * 8];
    int logged;
    int64_t cost_max;
    int reasons[ADMIT_REASONS];
};

static struct fixture w;

static struct tokens tokens_like(const struct token_bucket *b)
{
    return (struct tokens){
        .rate = b->rate, .level = b->balance, .capacity = b->capacity, .debt_max = b->debt_max};
}

/* Rates from a few mcu to more than the partition maximum; a node that is often too small. */
static int64_t any_rate(struct prng *p)
{
    static const int64_t most[] = {0, 20, 1000, 30000, 300000, 1500000};
    return prng_between(p, 0, most[prng_below(p, 6)]);
}

static void fixture_start(struct prng *p)
{
    w.logged = 0;
    w.cost_max = 0;
    config_init(&w.config, PROFILE_RESEARCH);
    config_edit_admission(&w.config)->node_depth_ms = 1000; /* the model's rounds are seconds */
    config_edit_admission(&w.config)->node_wcu = prng_between(p, 1, prng_below(p, 2) ? 50 : 3000);
    if (prng_below(p, 2))
        config_edit_admission(&w.config)->partition_max_wcu = prng_between(p, 5, 500);
    config_edit_admission(&w.config)->burst_max_s =
        prng_below(p, 5) == 0 ? 0 : prng_between(p, 1, 300);
    w.model = (struct model){.now = prng_between(p, 0, NS_PER_S * 10)};
    struct instant now = {w.model.now};
    node_admission_init(&w.node, &w.config, now);
    w.model.node = tokens_like(&w.node.buckets[ADMIT_WRITE]);
    for (int i = 0; i < PARTITIONS; i++) {
        struct admission_rates rates = {.rate_mcu = {0, any_rate(p)}};
        admission_init(&w.partitions[i],
                       admission_policies_same(admission_policy_find(slice_of("burst"))), &w.config,
                       &rates, now);
        const struct admission_meter *m = &w.partitions[i].meters[ADMIT_WRITE];
        w.model.partitions[i] = (struct model_partition){.cap = tokens_like(&m->cap),
                                                         .allocation = tokens_like(&m->allocation),
                                                         .burst = tokens_like(&m->burst),
                                                         .attempt_round = {-9, -9}};
    }
}

static struct admit_verdict try_both(int index, int64_t cost)
{
    struct instant now = {w.model.now};
    struct model before = w.model;
    struct admit_verdict v =
        admission_try(&w.partitions[index], &w.node, ADMIT_WRITE, now, cost, NULL);
    struct admit_verdict expected = model_decide(&w.model, index, cost);
    assert_int_equal(v.reason, expected.reason);
    assert_int_equal(v.burst, expected.burst);
    assert_memory_equal(&v.balances, &expected.balances, sizeof v.balances);
    w.reasons[v.reason]++;
    w.cost_max = cost > w.cost_max ? cost : w.cost_max;
    if (v.reason == ADMIT_OK) {
        assert_true(w.logged < (int)(sizeof w.log / sizeof w.log[0]));
        w.log[w.logged++] = (struct admitted){now.ns, cost, index, v.burst};
    } else {
        int64_t wait = model_wait(&before, index, cost);
        assert_true(v.wait.ns >= wait);
        if (v.wait.ns != wait) /* then the wait is at most two rounds too long */
            assert_true(model_contended(&w.model, now.ns / NS_PER_S) &&
                        v.wait.ns <= wait + 2 * NS_PER_S);
    }
    return v;
}

static void move_both(int64_t elapsed)
{
    model_move(&w.model, w.model.now + elapsed);
}

static int64_t any_cost(struct prng *p)
{
    int64_t units = prng_below(p, 10) == 0 ? prng_between(p, 1, 400) : prng_between(p, 1, 4);
    return units * MCU_PER_UNIT;
}

static int64_t any_pause(struct prng *p)
{
    static const int64_t most[] = {0, 1000, NS_PER_MS, 50 * NS_PER_MS, NS_PER_S, 30 * NS_PER_S};
    return prng_between(p, 0, most[prng_below(p, 6)]);
}

static void settle_both(struct prng *p, int index, const struct admit_verdict *v)
{
    struct instant now = {w.model.now};
    struct model_partition *m = &w.model.partitions[index];
    int64_t extra = any_cost(p);
    admission_settle(&w.partitions[index], &w.node, ADMIT_WRITE, now, v, extra, NULL);
    tokens_take(v->burst ? &m->burst : &m->allocation, extra);
    tokens_take(&m->cap, extra);
    tokens_take(&w.model.node, extra);
    if (v->burst && m->attempt_round[0] == now.ns / NS_PER_S)
        m->taken[0] += extra;
}

static void schedule(struct prng *p, bool settling)
{
    fixture_start(p);
    for (int i = 0; i < STEPS; i++) {
        int index = (int)prng_below(p, PARTITIONS), times = (int)prng_between(p, 1, 6);
        int64_t cost = any_cost(p);
        move_both(any_pause(p));
        for (int t = 0; t < times; t++) {
            struct admit_verdict v = try_both(index, cost);
            if (v.reason == ADMIT_OK && settling && prng_below(p, 4) == 0) {
                move_both(any_pause(p));
                settle_both(p, index, &v);
            }
            if (v.reason == ADMIT_OK || v.wait.ns > NS_PER_S * 100000)
                continue;
            if (prng_below(p, 4) == 0) { /* nothing else comes */
                move_both(v.wait.ns);
                assert_true(try_both(index, cost).reason == ADMIT_OK);
            }
        }
    }
}

static void reconcile_schedule(struct prng *p)
{
    schedule(p, true);
}

TEST(every_verdict_is_the_models) /* ADMIT-1, ADMIT-3 */
{
    memset(w.reasons, 0, sizeof w.reasons);
    check_seeds(60, reconcile_schedule);
    if (getenv("SEED") == NULL &&
        getenv("SEEDS") == NULL) { /* else the property would not have looked at every branch */
        for (enum admit_reason reason = 0; reason < ADMIT_REFUSED_MEMBER; reason++) {
            print_message("%s: %d\n", admit_reason_name(reason), w.reasons[reason]);
            assert_true(w.reasons[reason] > 1000);
        }
    }
}

/* ---- what was told ---- */

/* A higher allocation and partition maximum, and perhaps another burst. */
static void raise_rates(struct prng *p, struct admission *a, struct admission_rates *rates,
                        struct instant now)
{
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        rates->rate_mcu[kind] += any_rate(p);
        rates->maximum_mcu[kind] += any_rate(p);
    }
    admission_change(a, admission_policies_of(a), &w.config, rates, now);
}

static void raised(struct prng *p)
{
    static const char *const names[] = {"allocation", "burst", "always-burst"};
    const struct weir_partition_policy *policy =
        admission_policy_find(slice_of(names[prng_below(p, COUNT_OF(names))]));
    fixture_start(p);
    struct admission_rates rates = {.rate_mcu = {0, any_rate(p) + 1}, .maximum_mcu = {1, 1}};
    rates.maximum_mcu[ADMIT_WRITE] = any_rate(p) + 1;
    struct admission a;
    struct instant now = {w.model.now};
    admission_init(&a, admission_policies_same(policy), &w.config, &rates, now);
    for (int i = 0; i < 100; i++) {
        const int64_t cost = any_cost(p);
        now.ns += any_pause(p);
        struct admit_verdict v = admission_try(&a, &w.node, ADMIT_WRITE, now, cost, NULL);
        if (v.reason == ADMIT_OK || v.wait.ns > NS_PER_S * 100000)
            continue;
        const struct instant admitted_at = instant_add(now, v.wait);
        for (uint64_t changes = prng_below(p, 4); changes > 0; changes--) {
            now.ns = prng_between(p, now.ns, admitted_at.ns);
            raise_rates(p, &a, &rates, now);
        }
        now = admitted_at;
        v = admission_try(&a, &w.node, ADMIT_WRITE, now, cost, NULL);
        assert_int_equal(v.reason, ADMIT_OK);
    }
}

TEST(a_retry_time_holds_although_rates_rise_meanwhile) /* ADMIT-4 */
{
    check_seeds(300, raised);
}

/* ---- what may be admitted over a window ---- */

/* The bound on any window that starts at an admission: what the buckets held, what fell since, and
 * what one request larger than a bucket may owe. */
static void check_windows(int index, bool burst_only, int64_t bank, int64_t rate)
{
    for (int i = 0; i < w.logged; i++) {
        __int128 sum = 0;
        for (int j = i; j < w.logged; j++) {
            if ((index >= 0 && w.log[j].partition != index) || (burst_only && !w.log[j].burst))
                continue;
            sum += w.log[j].cost;
            __int128 minted = (__int128)rate * (w.log[j].at - w.log[i].at);
            __int128 whole = (minted + NS_PER_S - 1) / NS_PER_S;
            assert_true(sum <= bank + whole);
        }
    }
}

static int64_t debt_max(int64_t capacity)
{
    return capacity == 0 || w.cost_max <= capacity ? 0 : w.cost_max - capacity;
}

static void windows(struct prng *p)
{
    schedule(p, false);
    for (int i = 0; i < PARTITIONS; i++) {
        const struct admission_meter *m = &w.partitions[i].meters[ADMIT_WRITE];
        int64_t bank = m->allocation.capacity + m->burst.capacity;
        bank += debt_max(m->allocation.capacity) + debt_max(m->burst.capacity);
        check_windows(i, false, bank, m->allocation.rate);
        check_windows(i, false, m->cap.capacity + debt_max(m->cap.capacity), m->cap.rate);
    }
    const struct token_bucket *node = &w.node.buckets[ADMIT_WRITE];
    check_windows(-1, true, node->capacity + debt_max(node->capacity), node->rate);
}

TEST(no_window_admits_more_than_rate_times_window_and_bank)
{
    check_seeds(30, windows);
}

/* ---- isolation and fairness ---- */

/* A partition that keeps to its allocation beside others that burst without pause. */
static void isolation(struct prng *p)
{
    fixture_start(p);
    int64_t units = prng_between(
        p, 5, config_admission(&w.config)->partition_max_wcu); /* the largest cost is 5 */
    struct admission_rates rates = {.rate_mcu = {0, units * MCU_PER_UNIT}};
    struct admission quiet;
    struct instant now = {w.model.now};
    admission_init(&quiet, admission_policies_same(admission_policy_find(slice_of("burst"))),
                   &w.config, &rates, now);
    for (int i = 0; i < 5000; i++) {
        int64_t cost = prng_between(p, 1, 5) * MCU_PER_UNIT;
        /* The pause in which the allocation earns the cost, rounded up. */
        now.ns += cost * NS_PER_S / rates.rate_mcu[ADMIT_WRITE] + 1;
        for (int loud = 0; loud < PARTITIONS; loud++)
            admission_try(&w.partitions[loud], &w.node, ADMIT_WRITE, now, any_cost(p), NULL);
        struct admit_verdict v = admission_try(&quiet, &w.node, ADMIT_WRITE, now, cost, NULL);
        assert_int_equal(v.reason, ADMIT_OK);
        assert_false(v.burst);
    }
}

TEST(within_its_allocation_a_partition_is_never_refused)
{
    check_seeds(50, isolation);
}

enum {
    HOGS = PARTITIONS - 1
};

/* Three that want more than the node has, one of them asking far more often, another for larger
 * items; and one that wants a tenth of a fair share. */
static void sharing(struct prng *p)
{
    struct config config;
    config_init(&config, PROFILE_AWS);
    config_edit_admission(&config)->node_depth_ms = 1000;
    config_edit_admission(&config)->node_wcu = prng_between(p, 400, 4000);
    config_edit_admission(&config)->partition_max_wcu = 10000;
    struct node_admission node;
    struct admission partitions[PARTITIONS];
    struct instant now = {prng_between(p, 0, NS_PER_S)};
    struct admission_rates rates = {.rate_mcu = {0, 50 * MCU_PER_UNIT}};
    node_admission_init(&node, &config, now);
    for (int i = 0; i < PARTITIONS; i++)
        admission_init(&partitions[i],
                       admission_policies_same(admission_policy_find(slice_of("burst"))), &config,
                       &rates, now);
    int64_t node_rate = config_admission(&config)->node_wcu * MCU_PER_UNIT, seconds = 12;
    int64_t light_every =
        10000 / (50 + config_admission(&config)->node_wcu / 30); /* ticks of 0.1 ms */
    now.ns += 2000 * NS_PER_S;                                   /* banks of 15,000 units */
    int64_t started = now.ns, bursts[PARTITIONS] = {0}, allocated = 0, light_refused = 0;
    for (int64_t tick = 0; now.ns < started + seconds * NS_PER_S; tick++, now.ns += 100000) {
        for (int turn = 0; turn < PARTITIONS; turn++) {
            int64_t cost = MCU_PER_UNIT * (turn == 1 ? prng_between(p, 1, 10) : 1);
            bool requests = turn == 0 || (turn < HOGS && tick % 2 == turn % 2) ||
                            (turn == HOGS && tick % light_every == 0);
            if (!requests)
                continue;
            struct admit_verdict v =
                admission_try(&partitions[turn], &node, ADMIT_WRITE, now, cost, NULL);
            light_refused += turn == HOGS && v.reason != ADMIT_OK;
            if (now.ns < started + 2 * NS_PER_S) /* the node's full bucket is spent first */
                continue;
            bursts[turn] += v.burst ? cost : 0;
            allocated += v.reason == ADMIT_OK && !v.burst ? cost : 0;
        }
    }
    assert_int_equal(light_refused, 0);
    assert_true(bursts[HOGS] > 0);
    int64_t residual = node_rate * (seconds - 2) - allocated - bursts[HOGS];
    int64_t fair = residual / HOGS;
    /* A tenth, and in every round one item of the largest. */
    int64_t tolerance = fair / 10 + (seconds - 2) * 10 * MCU_PER_UNIT;
    for (int i = 0; i < HOGS; i++) {
        if (bursts[i] < fair - tolerance || bursts[i] > fair + tolerance)
            fail_msg("burster %d got %lld of a fair %lld", i, (long long)bursts[i],
                     (long long)fair);
    }
}

TEST(bursters_share_what_is_left_and_first_come_does_not_take_all)
{
    check_seeds(30, sharing);
}

/* ---- a partition is split ---- */

static const struct token_bucket *bucket_of(const struct admission *a, enum admit_kind kind,
                                            int bucket)
{
    const struct admission_meter *m = &a->meters[kind];
    const struct token_bucket *all[] = {&m->cap, &m->allocation, &m->burst};
    return all[bucket];
}

static void shares_at_random(struct prng *p, uint32_t count, uint32_t *out)
{
    uint32_t left = 1000000;
    for (uint32_t i = 0; i + 1 < count; i++) {
        out[i] = (uint32_t)prng_below(p, left + 1);
        left -= out[i];
    }
    out[count - 1] = left;
}

/* Some history, and often debt. */
static void live(struct prng *p, struct admission *a, struct node_admission *node,
                 const struct admission_rates *rates, struct instant *now)
{
    int64_t pause_ns = prng_below(p, 2) == 0 ? 20 * NS_PER_S : NS_PER_S;
    for (int i = 0; i < 20; i++) {
        enum admit_kind kind = (enum admit_kind)prng_below(p, ADMIT_KINDS);
        now->ns += prng_between(p, 0, pause_ns);
        int64_t cost = prng_between(p, 0, 2 * rates->rate_mcu[kind] + 400000);
        admission_follow(a, node, kind, *now, cost, prng_below(p, 2) == 0 ? FOLLOW_BURST : 0);
    }
}

static struct admission_rates rates_at_random(struct prng *p)
{
    return (struct admission_rates){.rate_mcu = {prng_between(p, 0, 3000) * MCU_PER_UNIT,
                                                 prng_between(p, 0, 1000) * MCU_PER_UNIT}};
}

/* Rates as the catalog sets them: of the pieces, together no less than there was. */
static void splitting(struct prng *p)
{
    enum {
        PIECES_MAX = 16
    };
    struct config config;
    config_init(&config, PROFILE_AWS);
    struct instant now = {prng_between(p, 0, NS_PER_S)};
    struct node_admission node;
    struct admission pieces[PIECES_MAX], others[PIECES_MAX];
    struct admission *lent[PIECES_MAX], *lent_others[PIECES_MAX];
    struct admission_rates rates[PIECES_MAX];
    uint32_t shares[ADMIT_KINDS][PIECES_MAX], count = 2 + (uint32_t)prng_below(p, PIECES_MAX - 1);
    struct admission_rates whole = rates_at_random(p);
    node_admission_init(&node, &config, now);
    admission_init(&pieces[0], admission_policies_same(admission_policy_find(slice_of("burst"))),
                   &config, &whole, now);
    live(p, &pieces[0], &node, &whole, &now);
    now.ns += prng_between(p, 0, NS_PER_S);
    struct admit_balances before[ADMIT_KINDS];
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        before[kind] = admission_balances_with_node(&pieces[0], &node, (enum admit_kind)kind, now);
        shares_at_random(p, count, shares[kind]);
    }
    others[0] = pieces[0];
    for (uint32_t i = 0; i < count; i++) {
        lent[i] = &pieces[i];
        lent_others[i] = &others[i];
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            rates[i].rate_mcu[kind] = whole.rate_mcu[kind] / count + 1;
    }
    const uint32_t *const by_kind[] = {shares[ADMIT_READ], shares[ADMIT_WRITE]};
    admission_split(lent, count, &config, rates, by_kind, now);
    admission_split(lent_others, count, &config, rates, by_kind, now);
    assert_memory_equal(pieces, others, count * sizeof pieces[0]); /* DIVIDE-2 */
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        const int64_t were[] = {before[kind].cap_mcu, before[kind].allocation_mcu,
                                before[kind].burst_mcu};
        for (int bucket = 0; bucket < 3; bucket++) {
            int64_t sum = 0;
            for (uint32_t i = 0; i < count; i++) {
                int64_t balance = bucket_of(&pieces[i], kind, bucket)->balance;
                sum += balance;
                assert_true(were[bucket] < 0 ? balance <= 0 : balance >= 0);
            }
            assert_int_equal(sum, were[bucket]); /* DIVIDE-1 */
        }
    }
}

TEST(a_split_neither_mints_nor_forgives_anything)
{
    check_seeds(500, splitting);
}

/* ---- two partitions become one ---- */

/* Over all seeds: sums of both, and what became of them. */
static struct {
    int debts;
    int paid; /* a debt of one, by what the other had */
    int whole;
    int cut;
} absorbed;

/* `one` is what a partition of its rates is, but for its balances. */
static void expect_sum(const struct token_bucket *one, const struct token_bucket *fresh, int64_t a,
                       int64_t b)
{
    int64_t sum = a + b;
    assert_int_equal(one->capacity, fresh->capacity);
    assert_int_equal(one->rate, fresh->rate);
    assert_true(one->debt_max >= fresh->debt_max && one->debt_max >= -sum);
    assert_int_equal(one->balance, sum < one->capacity ? sum : one->capacity); /* SUM-1 */
    absorbed.debts += sum < 0;
    absorbed.paid += sum >= 0 && (a < 0 || b < 0);
    absorbed.whole += sum > 0 && sum <= one->capacity;
    absorbed.cut += sum > one->capacity;
}

static int64_t taken_lately(struct admission *a, struct node_admission *node, enum admit_kind kind,
                            struct instant at)
{
    struct weir_case c = {.meter = &a->meters[kind], .node = node, .kind = kind, .now = at};
    return node->sharing->taken(&c);
}

/* Rates as the catalog sets them: of the one, together no more than there was. */
static void absorbing(struct prng *p)
{
    static const char *const policies[] = {"burst", "always-burst", "allocation"};
    const struct weir_partition_policy *policy =
        admission_policy_find(slice_of(policies[prng_below(p, 3)]));
    struct config config;
    config_init(&config, PROFILE_AWS);
    struct instant now = {prng_between(p, 0, NS_PER_S)};
    struct node_admission node;
    struct admission two[2], were[2], other, fresh;
    struct admission_rates merged;
    node_admission_init(&node, &config, now);
    for (int i = 0; i < 2; i++) {
        struct admission_rates rates = rates_at_random(p);
        admission_init(&two[i], admission_policies_same(policy), &config, &rates, now);
        live(p, &two[i], &node, &rates, &now);
        for (int kind = 0; kind < ADMIT_KINDS; kind++)
            merged.rate_mcu[kind] =
                i == 0 ? rates.rate_mcu[kind]
                       : prng_between(p, 0, merged.rate_mcu[kind] + rates.rate_mcu[kind]);
        merged.maximum_mcu[ADMIT_READ] = merged.maximum_mcu[ADMIT_WRITE] = 0;
    }
    now.ns += prng_between(p, 0, NS_PER_S);
    memcpy(were, two, sizeof were);
    admission_init(&fresh, admission_policies_same(policy), &config, &merged, now);
    admission_merge(&two[0], &two[1], &config, &merged, now);
    assert_memory_equal(&two[1], &were[1], sizeof were[1]);
    other = were[0];
    admission_merge(&other, &were[1], &config, &merged, now);
    assert_memory_equal(&two[0], &other, sizeof other); /* SUM-2 */
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_balances a = admission_balances(&were[0], kind, now);
        struct admission_balances b = admission_balances(&were[1], kind, now);
        expect_sum(bucket_of(&two[0], kind, 0), bucket_of(&fresh, kind, 0), a.cap_mcu, b.cap_mcu);
        expect_sum(bucket_of(&two[0], kind, 1), bucket_of(&fresh, kind, 1), a.allocation_mcu,
                   b.allocation_mcu);
        expect_sum(bucket_of(&two[0], kind, 2), bucket_of(&fresh, kind, 2), a.burst_mcu,
                   b.burst_mcu);
        for (int64_t ms = 0; ms <= 2000; ms += 250) { /* in this round, and in those that follow */
            struct instant at = instant_add(now, duration_ms(ms));
            int64_t both =
                taken_lately(&were[0], &node, kind, at) + taken_lately(&were[1], &node, kind, at);
            int64_t one = taken_lately(&two[0], &node, kind, at);
            assert_true(one >= both && one <= both + 1); /* parts of a mcu */
        }
    }
}

TEST(a_merge_neither_mints_nor_forgives_anything)
{
    check_seeds(1000, absorbing);
    if (getenv("SEED") == NULL && getenv("SEEDS") == NULL) {
        print_message("debts: %d, paid: %d, whole: %d, cut: %d\n", absorbed.debts, absorbed.paid,
                      absorbed.whole, absorbed.cut);
        assert_true(absorbed.debts > 300 && absorbed.paid > 300);
        assert_true(absorbed.whole > 300 && absorbed.cut > 300);
    }
}

static void undoing(struct prng *p)
{
    struct config config;
    config_init(&config, PROFILE_AWS);
    struct instant now = {prng_between(p, 0, NS_PER_S)};
    struct node_admission node;
    struct admission_rates whole = rates_at_random(p), halves[2];
    struct admission one, lower, upper, *pieces[] = {&lower, &upper};
    uint32_t shares[ADMIT_KINDS][2];
    node_admission_init(&node, &config, now);
    admission_init(&one, admission_policies_same(admission_policy_find(slice_of("burst"))), &config,
                   &whole, now);
    live(p, &one, &node, &whole, &now);
    lower = one;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        shares_at_random(p, 2, shares[kind]);
        for (int i = 0; i < 2; i++)
            halves[i].rate_mcu[kind] = whole.rate_mcu[kind] / 2 + 1;
        halves[0].maximum_mcu[kind] = halves[1].maximum_mcu[kind] = 0;
    }
    const uint32_t *const by_kind[] = {shares[ADMIT_READ], shares[ADMIT_WRITE]};
    admission_split(pieces, 2, &config, halves, by_kind, now);
    admission_merge(&lower, &upper, &config, &whole, now);
    for (enum admit_kind kind = 0; kind < ADMIT_KINDS; kind++) {
        struct admission_balances before = admission_balances(&one, kind, now);
        struct admission_balances after = admission_balances(&lower, kind, now);
        assert_memory_equal(&before, &after, sizeof before);
        assert_int_equal(taken_lately(&lower, &node, kind, now),
                         taken_lately(&one, &node, kind, now));
    }
}

TEST(a_split_that_a_merge_undoes_leaves_what_there_was)
{
    check_seeds(500, undoing);
}
