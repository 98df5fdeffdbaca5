/* The checkers against trying every order, on small random histories. */
#include "tests/check.h"
#include "workload/counter_check.h"

enum {
    OPS_MAX = 10,
    MASKS = 1 << OPS_MAX,
    HISTORIES = 4000
};

struct brute {
    const struct history_op *ops;
    int count;
    bool seen[MASKS][OPS_MAX + 1]; /* by what took effect, and which write was last */
};

static bool counted(const struct history_op *o)
{
    return o->outcome == HISTORY_OK || (o->outcome == HISTORY_INFO && o->kind == HISTORY_WRITE);
}

static bool may_be_next(const struct brute *b, unsigned done, int i)
{
    for (int j = 0; j < b->count; j++) {
        const struct history_op *o = &b->ops[j];
        if (!(done >> j & 1) && o->outcome == HISTORY_OK && o->returned_ns < b->ops[i].invoked_ns)
            return false;
    }
    return true;
}

/* `last`: 0, or 1 + the operation that wrote what the register holds. */
static bool search(struct brute *b, unsigned done, int last)
{
    bool all = true;
    uint64_t held = last == 0 ? 0 : b->ops[last - 1].value;
    if (b->seen[done][last])
        return false;
    b->seen[done][last] = true;
    for (int i = 0; i < b->count; i++) {
        const struct history_op *o = &b->ops[i];
        if ((done >> i & 1) || !counted(o))
            continue;
        all = all && o->outcome == HISTORY_INFO;
        bool fits =
            o->kind == HISTORY_READ ? o->value == held : !o->after_known || o->after == held;
        if (fits && may_be_next(b, done, i) &&
            search(b, done | 1u << i, o->kind == HISTORY_WRITE ? i + 1 : last))
            return true;
    }
    return all;
}

static bool brute_force(const struct history_op *ops, int count)
{
    static struct brute b;
    memset(&b, 0, sizeof b);
    b.ops = ops;
    b.count = count;
    return search(&b, 0, 0);
}

/* What a register would have held at some moment of the operation; sometimes anything. */
static uint64_t any_held(struct prng *p, const struct history_op *ops, int count, int i,
                         int64_t length, uint64_t noise)
{
    int64_t at = -1;
    uint64_t held = 0;
    for (int j = 0; j < count; j++) {
        int64_t effect = ops[j].invoked_ns + (int64_t)((uint64_t)j * 7 % (uint64_t)length);
        bool before = effect <= ops[i].invoked_ns + length / 2 && effect > at;
        if (ops[j].kind == HISTORY_WRITE && before && j != i) {
            at = effect;
            held = ops[j].value;
        }
    }
    return prng_below(p, 12) < noise ? prng_below(p, (uint64_t)count + 2) : held;
}

static int any_history(struct prng *p, struct history_op *ops)
{
    int count = (int)prng_between(p, 1, OPS_MAX);
    int64_t length = prng_between(p, 1, 12), span = prng_between(p, 2, 40);
    uint64_t deletes = prng_below(p, 3), unknown = prng_below(p, 3), noise = prng_below(p, 3);
    uint64_t after = prng_below(p, 5);
    for (int i = 0; i < count; i++) {
        struct history_op *o = &ops[i];
        *o = (struct history_op){.id = (uint64_t)i + 1};
        o->invoked_ns = prng_between(p, 0, span);
        o->returned_ns = o->invoked_ns + prng_between(p, 0, length);
        o->kind = prng_below(p, 2) ? HISTORY_WRITE : HISTORY_READ;
        o->value = o->kind == HISTORY_WRITE && prng_below(p, 4) >= deletes ? (uint64_t)i + 1 : 0;
        if (prng_below(p, 5) < unknown) {
            o->outcome = prng_below(p, 4) ? HISTORY_INFO : HISTORY_FAIL;
            o->returned_ns = o->outcome == HISTORY_INFO ? INT64_MAX : o->returned_ns;
        }
    }
    for (int i = 0; i < count; i++) {
        struct history_op *o = &ops[i];
        if (o->kind == HISTORY_READ)
            o->value = any_held(p, ops, count, i, length, noise);
        else if (prng_below(p, 4) < after)
            o->after_known = o->value != 0; /* of deletes the checker knows less: see its header */
        if (o->after_known)
            o->after = any_held(p, ops, count, i, length, noise);
    }
    return count;
}

static int good, bad;

static void compare(struct prng *p)
{
    for (int i = 0; i < HISTORIES; i++) {
        struct history_op ops[OPS_MAX];
        struct history_verdict v;
        int count = any_history(p, ops);
        bool expected = brute_force(ops, count);
        history_check(ops, (size_t)count, &v);
        assert_false(v.exhausted);
        if (v.linearizable != expected) {
            for (int j = 0; j < count; j++)
                printf("%d: %s %llu after %lld [%lld, %lld] outcome %d\n", j + 1,
                       ops[j].kind == HISTORY_READ ? "read" : "write",
                       (unsigned long long)ops[j].value,
                       ops[j].after_known ? (long long)ops[j].after : -1,
                       (long long)ops[j].invoked_ns, (long long)ops[j].returned_ns,
                       (int)ops[j].outcome);
            fail_msg("the checker says %d, all orders say %d", v.linearizable, expected);
        }
        if (!expected)
            assert_in_range(v.culprit, 1, (uintmax_t)count);
        (*(expected ? &good : &bad))++;
    }
}

/* The shortcuts of the checker, LINEAR-1 to LINEAR-4, LINEAR-7 and LINEAR-8, miss no order. */
TEST(the_checker_agrees_with_trying_every_order)
{
    check_seeds(25, compare);
    printf("%d linearizable, %d not\n", good, bad);
    assert_true(good > HISTORIES / 10);
    assert_true(bad > HISTORIES / 10);
}

/* ---- counters ---- */

/* `held`: how many increments took effect. */
static bool search_counter(struct brute *b, unsigned done, int held)
{
    bool all = true;
    if (b->seen[done][held])
        return false;
    b->seen[done][held] = true;
    for (int i = 0; i < b->count; i++) {
        const struct history_op *o = &b->ops[i];
        const bool adds = o->kind == HISTORY_WRITE;
        if ((done >> i & 1) || !counted(o))
            continue;
        all = all && o->outcome == HISTORY_INFO;
        bool fits = o->outcome == HISTORY_INFO || o->value == (uint64_t)(held + adds);
        if (fits && may_be_next(b, done, i) && search_counter(b, done | 1u << i, held + adds))
            return true;
    }
    return all;
}

/* Gives most operations the value that they would have if they took effect when they were invoked,
 * or a little later. */
static int any_counter_history(struct prng *p, struct history_op *ops)
{
    uint64_t noise = prng_below(p, 4), late = prng_below(p, 4) + 1;
    int count = any_history(p, ops), order[OPS_MAX];
    int64_t at[OPS_MAX];
    uint64_t held = 0;
    for (int i = 0; i < count; i++) {
        int place = i;
        at[i] = ops[i].invoked_ns + (int64_t)prng_below(p, late);
        for (; place > 0 && at[order[place - 1]] > at[i]; place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
    for (int i = 0; i < count; i++) {
        struct history_op *o = &ops[order[i]];
        bool does = o->outcome == HISTORY_OK || (o->outcome == HISTORY_INFO && prng_below(p, 2));
        held += o->kind == HISTORY_WRITE && does;
        o->value = prng_below(p, 12) < noise ? prng_below(p, (uint64_t)count + 1) : held;
    }
    return count;
}

static int good_counters, bad_counters;

static void compare_counters(struct prng *p)
{
    for (int i = 0; i < HISTORIES; i++) {
        static struct brute b;
        struct history_op ops[OPS_MAX];
        struct history_verdict v;
        int count = any_counter_history(p, ops);
        memset(&b, 0, sizeof b);
        b.ops = ops;
        b.count = count;
        bool expected = search_counter(&b, 0, 0);
        history_check_counter(ops, (size_t)count, &v);
        if (v.linearizable != expected)
            fail_msg("the checker says %d, all orders say %d", v.linearizable, expected);
        if (!expected)
            assert_in_range(v.culprit, 1, (uintmax_t)count);
        (*(expected ? &good_counters : &bad_counters))++;
    }
}

TEST(the_checker_of_counters_agrees_with_trying_every_order)
{
    check_seeds(25, compare_counters);
    printf("%d counters linearizable, %d not\n", good_counters, bad_counters);
    assert_true(good_counters > HISTORIES / 10);
    assert_true(bad_counters > HISTORIES / 10);
}
