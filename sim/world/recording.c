/* recording.c - records what clients did and saw, key by key, and checks that this is possible. */
#include "sim/world/recording.h"

#include <stdlib.h>

#include "workload/counter_check.h"

void recording_init(struct recording *h, uint32_t key_count)
{
    *h = (struct recording){.key_count = key_count, .next_id = 1, .calm_ns = INT64_MAX};
    h->keys = must_calloc(key_count, sizeof h->keys[0]);
}

void recording_deinit(struct recording *h)
{
    for (uint32_t i = 0; i < h->key_count; i++)
        free(h->keys[i].ops);
    free(h->keys);
}

struct recording_ticket recording_invoke(struct recording *h, struct instant now, uint32_t client,
                                         uint32_t key, enum history_kind kind, bool consistent,
                                         bool deletes)
{
    must(key < h->key_count);
    struct recording_key *k = &h->keys[key];
    uint64_t id = h->next_id++;
    if (h->off)
        return (struct recording_ticket){key, 0, id};
    k->ops = must_grow(k->ops, k->count, &k->capacity, sizeof k->ops[0]);
    struct recorded *r = &k->ops[k->count];
    *r = (struct recorded){.op = {.id = id,
                                  .invoked_ns = now.ns,
                                  .returned_ns = INT64_MAX,
                                  .kind = kind,
                                  .outcome = HISTORY_INFO,
                                  .value = kind == HISTORY_WRITE && !deletes ? id : 0},
                           .client = client,
                           .consistent = consistent};
    return (struct recording_ticket){key, k->count++, id};
}

void recording_count(struct recording *h, uint32_t key)
{
    h->keys[key].counter = true;
}

static struct recorded *recorded_at(struct recording *h, const struct recording_ticket *t)
{
    struct recorded *r = &h->keys[t->key].ops[t->index];
    must(r->op.id == t->id);
    return r;
}

struct recording_ticket recording_clear(struct recording *h, struct instant now, uint32_t key)
{
    struct recording_ticket t =
        recording_invoke(h, now, UINT32_MAX, key, HISTORY_WRITE, true, true);
    if (!h->off)
        recorded_at(h, &t)->clears = true;
    return t;
}

void recording_return(struct recording *h, struct instant now, const struct recording_ticket *t,
                      enum history_outcome outcome, uint64_t value)
{
    if (h->off)
        return;
    struct recorded *r = recorded_at(h, t);
    r->op.outcome = outcome;
    if (outcome != HISTORY_INFO)
        r->op.returned_ns = now.ns;
    if (r->op.kind == HISTORY_READ || h->keys[t->key].counter)
        r->op.value = value;
}

void recording_replaced(struct recording *h, const struct recording_ticket *t, uint64_t old)
{
    if (h->off)
        return;
    struct recorded *r = recorded_at(h, t);
    r->op.after_known = true;
    r->op.after = old;
}

void recording_refused(struct recording *h, struct instant now, const struct recording_ticket *t,
                       uint64_t met)
{
    if (h->off)
        return;
    struct recorded *r = recorded_at(h, t);
    r->op.kind = HISTORY_READ;
    r->op.after_known = false;
    r->op.value = 0;
    recording_return(h, now, t, HISTORY_OK, met);
}

void recording_wrong(struct recording *h, const struct recording_ticket *t, const char *what)
{
    if (!h->off && recorded_at(h, t)->wrong == NULL)
        recorded_at(h, t)->wrong = what;
}

/* ---- checks ---- */

static void describe_op(const struct recorded *r, struct buffer *out)
{
    static const char *const outcomes[] = {"ok", "fail", "info"};
    buffer_append_format(out, "  %12lld .. ", (long long)r->op.invoked_ns);
    if (r->op.returned_ns == INT64_MAX)
        buffer_append_text(out, "           ?");
    else
        buffer_append_format(out, "%12lld", (long long)r->op.returned_ns);
    buffer_append_format(out, "  op %llu client %u %s%s %llu %s", (unsigned long long)r->op.id,
                         r->client,
                         r->clears                    ? "the table's"
                         : r->op.kind == HISTORY_READ ? "read"
                         : r->op.value == 0           ? "delete"
                                                      : "write",
                         r->op.kind == HISTORY_READ && !r->consistent ? " (eventual)" : "",
                         (unsigned long long)r->op.value, outcomes[r->op.outcome]);
    if (r->op.after_known)
        buffer_append_format(out, " replaced %llu", (unsigned long long)r->op.after);
    buffer_append_u8(out, '\n');
}

/* Describes the operations around the culprit. Always false. */
static bool describe_key(const struct recording *h, uint32_t key, uint64_t culprit,
                         struct buffer *out)
{
    enum {
        AROUND = 20
    };
    const struct recording_key *k = &h->keys[key];
    size_t at = 0;
    while (at < k->count && k->ops[at].op.id < culprit)
        at++;
    size_t first = at > AROUND ? at - AROUND : 0;
    buffer_append_format(out, "history of key %u around op %llu (ns of true time):\n", key,
                         (unsigned long long)culprit);
    for (size_t i = first; i < k->count && i < at + AROUND; i++)
        describe_op(&k->ops[i], out);
    return false;
}

static const struct recorded *writer_of(const struct recording_key *k, uint64_t value)
{
    size_t low = 0, high = k->count; /* values are ids, and ids ascend */
    LOWER_BOUND(low, high, middle, k->ops[middle].op.id < value);
    bool found = low < k->count && k->ops[low].op.id == value &&
                 k->ops[low].op.kind == HISTORY_WRITE && k->ops[low].op.value == value;
    return found ? &k->ops[low] : NULL;
}

static uint64_t increments_begun(const struct recording_key *k, int64_t until_ns)
{
    uint64_t begun = 0;
    for (size_t i = 0; i < k->count; i++)
        begun += k->ops[i].op.kind == HISTORY_WRITE && k->ops[i].op.outcome != HISTORY_FAIL &&
                 k->ops[i].op.invoked_ns <= until_ns;
    return begun;
}

/* A write of the value began by `until_ns`, and may have succeeded. */
static bool write_is_possible(const struct recording_key *k, uint64_t value, int64_t until_ns)
{
    if (value == 0)
        return true;
    if (k->counter)
        return value <= increments_begun(k, until_ns);
    const struct recorded *w = writer_of(k, value);
    return w != NULL && w->op.outcome != HISTORY_FAIL && w->op.invoked_ns <= until_ns;
}

/* The write ended before a deletion of its table began. The deletion ended before `since_ns`. */
static bool outlived_its_table(const struct recording_key *k, uint64_t value, int64_t since_ns)
{
    const struct recorded *w = value == 0 ? NULL : writer_of(k, value);
    for (size_t i = 0; w != NULL && w->op.outcome == HISTORY_OK && i < k->count; i++) {
        const struct recorded *c = &k->ops[i];
        if (c->clears && c->op.outcome == HISTORY_OK && w->op.returned_ns < c->op.invoked_ns &&
            c->op.returned_ns < since_ns)
            return true;
    }
    return false;
}

static bool verify_clears(const struct recording *h, uint32_t key, struct buffer *why)
{
    const struct recording_key *k = &h->keys[key];
    bool any = false;
    for (size_t i = 0; i < k->count && !any; i++)
        any = k->ops[i].clears;
    for (size_t i = 0; any && i < k->count; i++) {
        const struct recorded *r = &k->ops[i];
        bool read = r->op.kind == HISTORY_READ && r->op.outcome == HISTORY_OK &&
                    (r->consistent || r->op.invoked_ns >= h->calm_ns);
        bool replaced = r->op.after_known && r->op.outcome == HISTORY_OK;
        uint64_t value = read ? r->op.value : replaced ? r->op.after : 0;
        if (!outlived_its_table(k, value, r->op.invoked_ns))
            continue;
        buffer_append_format(why, "key %u: op %llu saw %llu, of a table that was deleted before\n",
                             key, (unsigned long long)r->op.id, (unsigned long long)value);
        return describe_key(h, key, r->op.id, why);
    }
    return true;
}

static bool verify_values(const struct recording *h, uint32_t key, struct buffer *why)
{
    const struct recording_key *k = &h->keys[key];
    for (size_t i = 0; i < k->count; i++) {
        const struct recorded *r = &k->ops[i];
        if (r->wrong != NULL) {
            buffer_append_format(why, "key %u: the answer to op %llu %s\n", key,
                                 (unsigned long long)r->op.id, r->wrong);
            return describe_key(h, key, r->op.id, why);
        }
        if (r->op.kind == HISTORY_READ && r->op.outcome == HISTORY_OK &&
            !write_is_possible(k, r->op.value, r->op.returned_ns)) {
            buffer_append_format(why, "key %u: op %llu read %llu, which nobody can have written\n",
                                 key, (unsigned long long)r->op.id,
                                 (unsigned long long)r->op.value);
            return describe_key(h, key, r->op.id, why);
        }
        if (r->op.after_known && r->op.outcome == HISTORY_OK &&
            !write_is_possible(k, r->op.after, r->op.returned_ns)) {
            buffer_append_format(
                why, "key %u: op %llu replaced %llu, which nobody can have written\n", key,
                (unsigned long long)r->op.id, (unsigned long long)r->op.after);
            return describe_key(h, key, r->op.id, why);
        }
    }
    return true;
}

static int by_old(const void *a, const void *b)
{
    const struct recorded *x = *(const struct recorded *const *)a;
    const struct recorded *y = *(const struct recorded *const *)b;
    return x->op.after < y->op.after ? -1 : x->op.after > y->op.after;
}

/* A value is replaced once. Two writes that replaced the same value were not serialized. */
static bool verify_replaced(const struct recording *h, uint32_t key, struct buffer *why)
{
    const struct recording_key *k = &h->keys[key];
    const struct recorded **all = must_have(malloc((k->count + 1) * sizeof *all));
    size_t count = 0;
    for (size_t i = 0; i < k->count; i++) {
        const struct history_op *op = &k->ops[i].op;
        if (op->after_known && op->after != 0 && op->outcome == HISTORY_OK)
            all[count++] = &k->ops[i];
    }
    qsort(all, count, sizeof *all, by_old);
    bool good = true;
    for (size_t i = 1; i < count && good; i++) {
        if (all[i]->op.after != all[i - 1]->op.after)
            continue;
        good = false;
        buffer_append_format(why, "key %u: ops %llu and %llu both replaced %llu\n", key,
                             (unsigned long long)all[i - 1]->op.id,
                             (unsigned long long)all[i]->op.id,
                             (unsigned long long)all[i]->op.after);
        describe_key(h, key, all[i]->op.id, why);
    }
    free(all);
    return good;
}

static bool verify_linearizable(struct recording *h, uint32_t key, struct buffer *why)
{
    const struct recording_key *k = &h->keys[key];
    struct history_op *ops = must_have(malloc((k->count + 1) * sizeof *ops));
    size_t count = 0;
    for (size_t i = 0; i < k->count; i++) {
        const struct recorded *r = &k->ops[i];
        bool strong = r->op.kind == HISTORY_WRITE || (r->consistent && r->op.outcome == HISTORY_OK);
        if (strong)
            ops[count++] = r->op;
    }
    struct history_verdict v;
    if (k->counter)
        history_check_counter(ops, count, &v);
    else
        history_check(ops, count, &v);
    free(ops);
    h->undecided |= v.exhausted;
    if (v.linearizable || v.exhausted)
        return true;
    buffer_append_format(why, "key %u: not linearizable: op %llu cannot be placed\n", key,
                         (unsigned long long)v.culprit);
    return describe_key(h, key, v.culprit, why);
}

/* The acknowledged write before the read that began last. NULL: none. */
static const struct recorded *last_write_before(const struct recording_key *k, int64_t ns)
{
    const struct recorded *last = NULL;
    for (size_t i = 0; i < k->count; i++) {
        const struct history_op *op = &k->ops[i].op;
        if (op->kind == HISTORY_WRITE && op->outcome == HISTORY_OK && op->returned_ns < ns &&
            (last == NULL || op->invoked_ns > last->op.invoked_ns))
            last = &k->ops[i];
    }
    return last;
}

/* Whether a write of the value may have been done after `ns`; 0: a deletion. */
static bool may_follow(const struct recording_key *k, uint64_t value, int64_t ns)
{
    for (size_t i = 0; i < k->count; i++) {
        const struct history_op *op = &k->ops[i].op;
        if (op->kind == HISTORY_WRITE && op->value == value && op->outcome != HISTORY_FAIL &&
            (op->outcome == HISTORY_INFO || op->returned_ns >= ns))
            return true;
    }
    return false;
}

/* An eventual read may show less than a consistent one, but nothing that was replaced by a write
 * that was acknowledged before the read. */
static bool verify_own(const struct recording *h, uint32_t key, struct buffer *why)
{
    const struct recording_key *k = &h->keys[key];
    for (size_t i = 0; h->own && !k->counter && i < k->count; i++) {
        const struct recorded *r = &k->ops[i];
        if (r->op.kind != HISTORY_READ || r->op.outcome != HISTORY_OK)
            continue;
        const struct recorded *w = last_write_before(k, r->op.invoked_ns);
        if (w == NULL || may_follow(k, r->op.value, w->op.invoked_ns))
            continue;
        buffer_append_format(why, "key %u: op %llu read %llu, after op %llu was acknowledged\n",
                             key, (unsigned long long)r->op.id, (unsigned long long)r->op.value,
                             (unsigned long long)w->op.id);
        return describe_key(h, key, r->op.id, why);
    }
    return true;
}

bool recording_verify(struct recording *h, struct buffer *why)
{
    for (uint32_t key = 0; key < h->key_count; key++) {
        if (!verify_values(h, key, why) || !verify_clears(h, key, why) ||
            !verify_replaced(h, key, why) || !verify_own(h, key, why) ||
            !verify_linearizable(h, key, why))
            return false;
    }
    return true;
}
