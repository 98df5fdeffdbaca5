/* limiter_ledger_check.c - sums of what was taken, over all times between which something was. */
#include "sim/check/limiter_ledger_check.h"

#include <stdlib.h>

enum {
    LATE_MS = 13000, /* so long after a change a request may still go by the limits before */
    STARTS_MAX = 400 /* of the stretches of time that are looked at */
};

#define NEVER ((struct instant){INT64_MAX})

void limiter_ledger_deinit(struct limiter_ledger *b)
{
    free(b->changes);
    free(b->entries);
}

/* ---- entries ---- */

void limiter_ledger_change(struct limiter_ledger *b, struct instant now,
                           const struct limiter_ledger_rule *rules)
{
    b->changes = must_grow(b->changes, b->change_count, &b->change_capacity, sizeof b->changes[0]);
    struct limiter_ledger_change *c = &b->changes[b->change_count++];
    *c = (struct limiter_ledger_change){.begun = now, .known = NEVER};
    memcpy(c->rules, rules, sizeof c->rules);
}

void limiter_ledger_changed(struct limiter_ledger *b, struct instant now)
{
    must(b->change_count > 0);
    b->changes[b->change_count - 1].known = now;
}

size_t limiter_ledger_begin(struct limiter_ledger *b, struct instant now, const int64_t *amounts,
                            bool allows_debt)
{
    b->entries = must_grow(b->entries, b->entry_count, &b->entry_capacity, sizeof b->entries[0]);
    struct limiter_ledger_entry *e = &b->entries[b->entry_count];
    *e = (struct limiter_ledger_entry){.begun = now, .ended = NEVER, .allows_debt = allows_debt};
    memcpy(e->amounts, amounts, sizeof e->amounts);
    return b->entry_count++;
}

void limiter_ledger_end(struct limiter_ledger *b, size_t entry, struct instant now,
                        enum limiter_ledger_outcome outcome)
{
    struct limiter_ledger_entry *e = &b->entries[entry];
    must(entry < b->entry_count);
    must(e->outcome == LIMITER_LEDGER_OPEN);
    e->outcome = outcome;
    if (outcome == LIMITER_LEDGER_DONE)
        e->ended = now;
}

/* ---- sums ---- */

static int64_t limiter_ledger_sum(const struct limiter_ledger *b, uint32_t limit, int sign)
{
    int64_t sum = 0;
    for (size_t i = 0; i < b->entry_count; i++) {
        const struct limiter_ledger_entry *e = &b->entries[i];
        const int64_t amount = e->amounts[limit];
        const bool may = e->outcome != LIMITER_LEDGER_NOT_DONE && sign * amount > 0;
        sum += e->outcome == LIMITER_LEDGER_DONE || may ? amount : 0;
    }
    return sum;
}

int64_t limiter_ledger_min(const struct limiter_ledger *b, uint32_t limit)
{
    return limiter_ledger_sum(b, limit, -1);
}

int64_t limiter_ledger_max(const struct limiter_ledger *b, uint32_t limit)
{
    return limiter_ledger_sum(b, limit, 1);
}

/* ---- what may be taken ---- */

/* Whether the limits of the change may have been in force between these times. */
static bool change_counts(const struct limiter_ledger *b, size_t i, struct instant from,
                          struct instant to)
{
    const struct instant over = i + 1 < b->change_count ? b->changes[i + 1].known : NEVER;
    return !instant_before(to, b->changes[i].begun) &&
           (over.ns == INT64_MAX || !instant_before(instant_add_ms(over, LATE_MS), from));
}

/* What is refilled between these times at most, by the limits of any change that counts. */
static int64_t refilled_max(const struct limiter_ledger *b, uint32_t limit, struct instant from,
                            struct instant to)
{
    int64_t max = 0;
    const int64_t ms = instant_since(to, from).ns / NS_PER_MS + 1 + b->spread_ms;
    for (size_t i = 0; i < b->change_count; i++) {
        const struct limiter_ledger_rule *r = &b->changes[i].rules[limit];
        const int64_t amount = (int64_t)((__int128)r->amount * ms / r->period_ms) + 1;
        if (change_counts(b, i, from, to) && amount > max)
            max = amount;
    }
    return max;
}

static int64_t capacity_max(const struct limiter_ledger *b, uint32_t limit, struct instant from,
                            struct instant to)
{
    int64_t max = 0;
    for (size_t i = 0; i < b->change_count; i++) {
        const int64_t capacity = b->changes[i].rules[limit].capacity;
        if (change_counts(b, i, from, to) && capacity > max)
            max = capacity;
    }
    return max;
}

/* When the bucket surely was there: the first request that was done has made it. */
static struct instant made_by(const struct limiter_ledger *b, struct instant now)
{
    for (size_t i = 0; i < b->entry_count; i++)
        now = instant_earlier(now, b->entries[i].ended);
    return now;
}

/* More capacity is no tokens: only the limits of the time when the bucket is made fill it. */
int64_t limiter_ledger_had_max(const struct limiter_ledger *b, uint32_t limit, struct instant now)
{
    must(b->change_count > 0);
    const struct instant first = b->changes[0].begun;
    return capacity_max(b, limit, first, made_by(b, now)) + refilled_max(b, limit, first, now);
}

/* ---- stretches of time ---- */

/* Something that was surely taken (`sign` 1), or may have been given back (-1). */
struct limiter_ledger_part {
    int64_t begun_ns;
    int64_t ended_ns;
    int64_t amount;
};

static int by_end(const void *a, const void *b)
{
    const struct limiter_ledger_part *x = a, *y = b;
    return (x->ended_ns > y->ended_ns) - (x->ended_ns < y->ended_ns);
}

static int by_begin(const void *a, const void *b)
{
    const struct limiter_ledger_part *x = a, *y = b;
    return (x->begun_ns > y->begun_ns) - (x->begun_ns < y->begun_ns);
}

static size_t limiter_ledger_parts(const struct limiter_ledger *b, uint32_t limit, int sign,
                                   struct limiter_ledger_part *out)
{
    size_t count = 0;
    for (size_t i = 0; i < b->entry_count; i++) {
        const struct limiter_ledger_entry *e = &b->entries[i];
        const int64_t amount = sign * e->amounts[limit];
        const bool taken = e->outcome == LIMITER_LEDGER_DONE && !e->allows_debt;
        if (amount > 0 && (sign > 0 ? taken : e->outcome != LIMITER_LEDGER_NOT_DONE))
            out[count++] = (struct limiter_ledger_part){e->begun.ns, e->ended.ns, amount};
    }
    qsort(out, count, sizeof out[0], sign > 0 ? by_end : by_begin);
    return count;
}

/* Looks at all stretches from `from` on. */
static bool check_from(const struct limiter_ledger *b, uint32_t limit, struct instant from,
                       const struct limiter_ledger_part *taken, size_t taken_count,
                       const struct limiter_ledger_part *back, size_t back_count, const char *name,
                       struct buffer *why)
{
    int64_t sum = 0, given = 0;
    size_t next = 0;
    for (size_t i = 0; i < taken_count; i++) {
        const struct instant to = {taken[i].ended_ns};
        if (taken[i].begun_ns < from.ns)
            continue;
        sum += taken[i].amount;
        for (; next < back_count && back[next].begun_ns <= to.ns; next++)
            given += back[next].ended_ns >= from.ns ? back[next].amount : 0;
        const int64_t max =
            capacity_max(b, limit, from, to) + refilled_max(b, limit, from, to) + given;
        if (sum <= max)
            continue;
        buffer_append_format(why,
                             "bucket %s, limit %u: %lld mtok were taken from %lld ns to %lld ns, "
                             "and there were at most %lld\n",
                             name, limit, (long long)sum, (long long)from.ns, (long long)to.ns,
                             (long long)max);
        return false;
    }
    return true;
}

bool limiter_ledger_check_times(const struct limiter_ledger *b, const char *name,
                                struct buffer *why)
{
    struct limiter_ledger_part *taken = must_calloc(b->entry_count + 1, sizeof *taken);
    struct limiter_ledger_part *back = must_calloc(b->entry_count + 1, sizeof *back);
    bool good = true;
    for (uint32_t limit = 0; limit < LIMITER_LEDGER_LIMITS; limit++) {
        const size_t taken_count = limiter_ledger_parts(b, limit, 1, taken);
        const size_t back_count = limiter_ledger_parts(b, limit, -1, back);
        const size_t step = 1 + taken_count / STARTS_MAX;
        for (size_t i = 0; i < taken_count && good; i += step)
            good = check_from(b, limit, (struct instant){taken[i].begun_ns}, taken, taken_count,
                              back, back_count, name, why);
    }
    free(taken);
    free(back);
    return good;
}
