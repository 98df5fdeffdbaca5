/* The checker against trying every order, on small random histories. */
#include "tests/check.h"
#include "workload/linearizability.h"

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
        bool fits = o->kind == HISTORY_WRITE || o->value == held;
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

/* Most reads yield what a register would have held at some moment; some anything. */
static int any_history(struct prng *p, struct history_op *ops)
{
    int count = (int)prng_between(p, 1, OPS_MAX);
    int64_t length = prng_between(p, 1, 12), span = prng_between(p, 2, 40);
    uint64_t deletes = prng_below(p, 3), unknown = prng_below(p, 3), noise = prng_below(p, 3);
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
        if (ops[i].kind == HISTORY_WRITE)
            continue;
        int64_t at = -1;
        for (int j = 0; j < count; j++) {
            int64_t effect = ops[j].invoked_ns + (int64_t)((uint64_t)j * 7 % (uint64_t)length);
            bool before = effect <= ops[i].invoked_ns + length / 2 && effect > at;
            if (ops[j].kind == HISTORY_WRITE && before) {
                at = effect;
                ops[i].value = ops[j].value;
            }
        }
        if (prng_below(p, 12) < noise)
            ops[i].value = prng_below(p, (uint64_t)count + 2);
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
                printf("%d: %s %llu [%lld, %lld] outcome %d\n", j + 1,
                       ops[j].kind == HISTORY_READ ? "read" : "write",
                       (unsigned long long)ops[j].value, (long long)ops[j].invoked_ns,
                       (long long)ops[j].returned_ns, (int)ops[j].outcome);
            fail_msg("the checker says %d, all orders say %d", v.linearizable, expected);
        }
        if (!expected)
            assert_in_range(v.culprit, 1, (uintmax_t)count);
        (*(expected ? &good : &bad))++;
    }
}

static void the_checker_agrees_with_trying_every_order(void **state)
{
    (void)state;
    check_seeds(25, compare);
    printf("%d linearizable, %d not\n", good, bad);
    assert_true(good > HISTORIES / 10);
    assert_true(bad > HISTORIES / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checker_agrees_with_trying_every_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
