/* linearizability.c - just-in-time linearization of a register whose written values are unique.
 *
 * The check processes the events (invocations, returns) in order of time. It keeps the set of all
 * possible configurations: the register's value, and the pending writes that have taken effect. An
 * operation that returns must have taken effect. In a configuration where it has not, it takes
 * effect now, after some of the pending operations. If that is impossible, the configuration is
 * dropped.
 *
 * Generic search is exponential in the number of pending operations. A register allows shortcuts:
 *   LINEAR-1  A read takes effect as soon as the register has its value: it changes nothing.
 *   LINEAR-2  A value is written once, so the register must keep it until all reads of it are
 *             invoked.
 *   LINEAR-3  A pending write whose reads have all been invoked may take effect, with them, just
 *             before any other write. That is never worse than to wait. Such a write is called a
 *             blip.
 *   LINEAR-4  Pending deletes differ only in their returns: the delete that returns first is used
 *             first.
 * So without deletes there is one configuration at any time, and the check is exact and linear. The
 * only choice left is how many pending deletes take effect just before a write.
 *
 * Invariants:
 *   LINEAR-5  of configurations with the same value and bits, none is at least as good as another
 *             in the rest.
 *   LINEAR-6  a slot belongs to an invoked write that may not be in effect in every configuration. */
#include "workload/linearizability.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"

enum {
    CONFIGS_MAX = 1 << 16,
    SLOTS_MAX = 1024, /* writes pending at once */
    SLOT_WORDS = SLOTS_MAX / 64,
    INDEX_SIZE_MIN = 64,
};

#define ABSENT  UINT32_MAX       /* the register holds nothing */
#define UNKNOWN (UINT32_MAX - 1) /* a value that no operation wrote */
#define NO_SLOT UINT32_MAX

/* A value other than 0, its write and its reads. */
struct cluster {
    uint64_t value;
    uint32_t write;      /* operation */
    uint32_t slot;       /* NO_SLOT: not invoked, or in effect everywhere */
    int64_t reads_ahead; /* reads of it not invoked yet */
    bool invoked;
    bool read; /* some operation read it */
};

struct event {
    int64_t at_ns;
    uint32_t op;
    bool is_return;
};

struct config {
    uint32_t value;           /* a cluster, or ABSENT */
    uint32_t unknown_deletes; /* how many deletes without a known outcome have taken effect */
    int64_t absent_until;     /* reads of absent invoked up to this event are satisfied */
    uint64_t bits[SLOT_WORDS];
};

struct config_set {
    struct config *items; /* owns */
    size_t count, capacity;
    uint32_t *index; /* owns: item + 1, open addressing by value and bits */
    size_t index_size;
};

struct check {
    const struct history_op *ops; /* borrows */
    size_t count;
    struct cluster *clusters; /* owns; ascending by value */
    uint32_t cluster_count;
    uint32_t *cluster_of; /* owns; per operation: cluster, ABSENT or UNKNOWN */
    struct event *events; /* owns */
    size_t event_count;
    struct config_set now, next;
    uint32_t slot_op[SLOTS_MAX]; /* the slot's operation; UINT32_MAX: free */
    uint32_t slots_used;         /* slots from here on were never used */
    uint32_t deletes[SLOTS_MAX]; /* slots of pending deletes, by return */
    uint32_t delete_count;
    uint32_t unknown_deletes;
    uint32_t *slot_of;     /* owns; per operation: of a delete */
    int64_t *absent_reads; /* owns; events that invoked reads of absent which have not returned */
    size_t absent_count;
    int64_t *invoked_at; /* owns; per operation: the event */
    bool exhausted;
};

/* ---- preparation ---- */

static int compare_clusters(const void *a, const void *b)
{
    uint64_t x = ((const struct cluster *)a)->value, y = ((const struct cluster *)b)->value;
    return x < y ? -1 : x > y;
}

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->is_return != y->is_return)
        return x->is_return ? 1 : -1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static uint32_t find_cluster(const struct check *c, uint64_t value)
{
    const struct cluster key = {.value = value};
    const struct cluster *found =
        bsearch(&key, c->clusters, c->cluster_count, sizeof key, compare_clusters);
    return found != NULL ? (uint32_t)(found - c->clusters) : UNKNOWN;
}

/* Whether the operation matters: failed operations do not, nor reads without an answer. */
static bool linear_counts(const struct history_op *op)
{
    return op->outcome == HISTORY_OK || (op->outcome == HISTORY_INFO && op->kind == HISTORY_WRITE);
}

static void collect_clusters(struct check *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct history_op *op = &c->ops[i];
        if (linear_counts(op) && op->kind == HISTORY_WRITE && op->value != 0)
            c->clusters[c->cluster_count++] =
                (struct cluster){.value = op->value, .write = (uint32_t)i, .slot = NO_SLOT};
    }
    qsort(c->clusters, c->cluster_count, sizeof c->clusters[0], compare_clusters);
    for (uint32_t i = 1; i < c->cluster_count; i++)
        must(c->clusters[i - 1].value != c->clusters[i].value);
    for (size_t i = 0; i < c->count; i++) {
        const struct history_op *op = &c->ops[i];
        uint32_t cluster = op->value == 0 ? ABSENT : find_cluster(c, op->value);
        c->cluster_of[i] = cluster;
        if (op->kind == HISTORY_READ && linear_counts(op) && cluster < c->cluster_count) {
            c->clusters[cluster].reads_ahead++;
            c->clusters[cluster].read = true;
        }
    }
}

static void collect_events(struct check *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct history_op *op = &c->ops[i];
        if (!linear_counts(op))
            continue;
        bool known = op->outcome == HISTORY_OK;
        must(!known || op->returned_ns >= op->invoked_ns);
        uint32_t cluster = c->cluster_of[i];
        if (!known && cluster != ABSENT && !c->clusters[cluster].read)
            continue; /* no read saw the write: it may as well never have happened */
        c->events[c->event_count++] = (struct event){op->invoked_ns, (uint32_t)i, false};
        if (known)
            c->events[c->event_count++] = (struct event){op->returned_ns, (uint32_t)i, true};
    }
    qsort(c->events, c->event_count, sizeof c->events[0], compare_events);
}

/* ---- sets of configurations ---- */

static bool has_bit(const struct config *k, uint32_t slot)
{
    return k->bits[slot / 64] >> (slot % 64) & 1;
}

static void set_bit(struct config *k, uint32_t slot)
{
    k->bits[slot / 64] |= UINT64_C(1) << (slot % 64);
}

static size_t words_used(const struct check *c)
{
    return (c->slots_used + 63) / 64;
}

static size_t hash_config(const struct config *k, size_t words)
{
    uint64_t h = k->value + UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < words; i++) {
        h = (h ^ k->bits[i]) * UINT64_C(0xBF58476D1CE4E5B9);
        h ^= h >> 29;
    }
    return (size_t)h;
}

static bool same_place(const struct config *a, const struct config *b, size_t words)
{
    return a->value == b->value && memcmp(a->bits, b->bits, words * sizeof a->bits[0]) == 0;
}

/* Every future of b is possible for a, too. */
static bool at_least_as_good(const struct config *a, const struct config *b)
{
    return a->absent_until >= b->absent_until && a->unknown_deletes <= b->unknown_deletes;
}

static void index_item(struct config_set *s, size_t item, size_t words)
{
    size_t at = hash_config(&s->items[item], words);
    while (s->index[at & (s->index_size - 1)] != 0)
        at++;
    s->index[at & (s->index_size - 1)] = (uint32_t)item + 1;
}

static void index_resize(struct config_set *s, size_t size, size_t words)
{
    if (size > s->index_size || s->index == NULL) {
        free(s->index);
        s->index = must_calloc(size, sizeof s->index[0]);
    }
    s->index_size = size;
    memset(s->index, 0, size * sizeof s->index[0]);
    for (size_t i = 0; i < s->count; i++)
        index_item(s, i, words);
}

static void set_append(struct config_set *s, const struct config *k, size_t words)
{
    s->items = must_grow(s->items, s->count, &s->capacity, sizeof s->items[0]);
    s->items[s->count++] = *k;
    if (s->count * 2 > s->index_size)
        index_resize(s, s->index_size * 2, words);
    else
        index_item(s, s->count - 1, words);
}

/* Reduces `absent_until` to the last pending read that it covers. */
static int64_t linear_normalised(const struct check *c, int64_t absent_until)
{
    size_t i = c->absent_count;
    while (i > 0 && c->absent_reads[i - 1] > absent_until)
        i--;
    return i > 0 ? c->absent_reads[i - 1] : -1;
}

static void add_config(struct check *c, const struct config *added)
{
    struct config k = *added;
    struct config_set *s = &c->next;
    size_t words = words_used(c);
    k.absent_until = k.value == ABSENT ? INT64_MAX : linear_normalised(c, k.absent_until);
    size_t at = hash_config(&k, words);
    uint32_t found;
    while ((found = s->index[at++ & (s->index_size - 1)]) != 0) {
        struct config *other = &s->items[found - 1];
        if (!same_place(other, &k, words))
            continue;
        if (at_least_as_good(other, &k))
            return;
        if (at_least_as_good(&k, other)) {
            *other = k;
            return;
        }
    }
    if (s->count == CONFIGS_MAX)
        c->exhausted = true;
    else
        set_append(s, &k, words);
}

/* ---- slots ---- */

static void free_slot(struct check *c, uint32_t slot)
{
    c->slot_op[slot] = UINT32_MAX;
    for (size_t i = 0; i < c->now.count; i++)
        c->now.items[i].bits[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
}

/* Frees the slots of writes without a return once they are in effect in every configuration. */
static void free_settled_slots(struct check *c)
{
    for (uint32_t slot = 0; slot < c->slots_used; slot++) {
        uint32_t op = c->slot_op[slot];
        if (op == UINT32_MAX || c->ops[op].outcome != HISTORY_INFO)
            continue;
        size_t i = 0;
        while (i < c->now.count && has_bit(&c->now.items[i], slot))
            i++;
        if (i < c->now.count)
            continue;
        c->clusters[c->cluster_of[op]].slot = NO_SLOT;
        free_slot(c, slot);
    }
}

static uint32_t linear_take_slot(struct check *c, uint32_t op)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        for (uint32_t slot = 0; slot < c->slots_used; slot++) {
            if (c->slot_op[slot] == UINT32_MAX) {
                c->slot_op[slot] = op;
                return slot;
            }
        }
        if (c->slots_used < SLOTS_MAX) {
            c->slot_op[c->slots_used] = op;
            return c->slots_used++;
        }
        free_settled_slots(c);
    }
    c->exhausted = true;
    return NO_SLOT;
}

static void add_delete(struct check *c, uint32_t op)
{
    uint32_t slot = linear_take_slot(c, op), at = c->delete_count;
    if (slot == NO_SLOT)
        return;
    c->slot_of[op] = slot;
    while (at > 0 && c->ops[c->slot_op[c->deletes[at - 1]]].returned_ns > c->ops[op].returned_ns) {
        c->deletes[at] = c->deletes[at - 1];
        at--;
    }
    c->deletes[at] = slot;
    c->delete_count++;
}

static void remove_delete(struct check *c, uint32_t slot)
{
    uint32_t at = 0;
    while (c->deletes[at] != slot)
        at++;
    c->delete_count--;
    memmove(c->deletes + at, c->deletes + at + 1, (c->delete_count - at) * sizeof c->deletes[0]);
}

/* ---- what a return forces ---- */

static bool is_satisfied(const struct check *c, const struct config *k, uint32_t op)
{
    uint32_t cluster = c->cluster_of[op];
    if (cluster == UNKNOWN)
        return false;
    if (cluster != ABSENT) {
        const struct cluster *of = &c->clusters[cluster];
        return of->invoked && (of->slot == NO_SLOT || has_bit(k, of->slot));
    }
    /* A delete in an absent register still has to take effect, for LINEAR-3. */
    return c->ops[op].kind == HISTORY_READ ? c->invoked_at[op] <= k->absent_until
                                           : has_bit(k, c->slot_of[op]);
}

/* LINEAR-3: the pending writes that may take effect as blips. */
static void find_blips(const struct check *c, struct config *out)
{
    memset(out->bits, 0, sizeof out->bits);
    for (uint32_t slot = 0; slot < c->slots_used; slot++) {
        uint32_t op = c->slot_op[slot];
        if (op == UINT32_MAX || c->cluster_of[op] == ABSENT)
            continue;
        if (c->clusters[c->cluster_of[op]].reads_ahead == 0)
            set_bit(out, slot);
    }
}

/* The register becomes absent: by `op` if it is a delete, otherwise by LINEAR-4. */
static void become_absent(struct check *c, struct config k, uint32_t op)
{
    uint32_t i = 0;
    if (c->ops[op].kind == HISTORY_WRITE) {
        set_bit(&k, c->slot_of[op]);
    } else {
        while (i < c->delete_count && has_bit(&k, c->deletes[i]))
            i++;
        if (i < c->delete_count)
            set_bit(&k, c->deletes[i]);
        else if (k.unknown_deletes < c->unknown_deletes)
            k.unknown_deletes++;
        else
            return;
    }
    k.value = ABSENT;
    add_config(c, &k);
}

/* The register takes a cluster's value, after any number of the pending deletes. */
static void become_value(struct check *c, struct config k, uint32_t cluster, int64_t now)
{
    bool was_absent = k.value == ABSENT, used_any = false;
    if (was_absent)
        k.absent_until = now;
    set_bit(&k, c->clusters[cluster].slot);
    k.value = cluster;
    add_config(c, &k);
    for (uint32_t i = 0; i < c->delete_count; i++) {
        if (has_bit(&k, c->deletes[i]))
            continue;
        set_bit(&k, c->deletes[i]);
        k.absent_until = now;
        used_any = true;
        add_config(c, &k);
    }
    bool wanted = c->absent_count > 0 && !used_any && !was_absent;
    if (wanted && k.unknown_deletes < c->unknown_deletes) {
        k.unknown_deletes++;
        k.absent_until = now;
        add_config(c, &k);
    }
}

static void linear_force(struct check *c, uint32_t op, int64_t now)
{
    struct config blips;
    size_t words = words_used(c);
    find_blips(c, &blips);
    c->next.count = 0;
    index_resize(&c->next, INDEX_SIZE_MIN, words);
    for (size_t i = 0; i < c->now.count && !c->exhausted; i++) {
        struct config k = c->now.items[i];
        uint32_t cluster = c->cluster_of[op];
        if (is_satisfied(c, &k, op)) {
            add_config(c, &k);
            continue;
        }
        bool stuck = k.value != ABSENT && c->clusters[k.value].reads_ahead > 0; /* LINEAR-2 */
        bool unwritten = cluster == UNKNOWN || (cluster != ABSENT && !c->clusters[cluster].invoked);
        if (stuck || unwritten)
            continue;
        for (size_t w = 0; w < words; w++)
            k.bits[w] |= blips.bits[w];
        if (cluster == ABSENT)
            become_absent(c, k, op);
        else
            become_value(c, k, cluster, now);
    }
    struct config_set emptied = c->now;
    c->now = c->next;
    c->next = emptied;
}

/* ---- events ---- */

static void take_invocation(struct check *c, uint32_t op, int64_t now)
{
    const struct history_op *o = &c->ops[op];
    uint32_t cluster = c->cluster_of[op];
    c->invoked_at[op] = now;
    if (cluster == UNKNOWN)
        return;
    if (o->kind == HISTORY_READ && cluster == ABSENT) {
        c->absent_reads[c->absent_count++] = now;
    } else if (o->kind == HISTORY_READ) {
        c->clusters[cluster].reads_ahead--;
    } else if (cluster != ABSENT) {
        c->clusters[cluster].invoked = true;
        c->clusters[cluster].slot = linear_take_slot(c, op);
    } else if (o->outcome == HISTORY_INFO) {
        c->unknown_deletes++;
    } else {
        add_delete(c, op);
    }
}

static void forget_absent_read(struct check *c, int64_t invoked_at)
{
    size_t at = 0;
    while (c->absent_reads[at] != invoked_at)
        at++;
    c->absent_count--;
    memmove(c->absent_reads + at, c->absent_reads + at + 1,
            (c->absent_count - at) * sizeof c->absent_reads[0]);
}

/* False: no configuration is left. */
static bool take_return(struct check *c, uint32_t op, int64_t now)
{
    const struct history_op *o = &c->ops[op];
    uint32_t cluster = c->cluster_of[op];
    size_t i = 0;
    while (i < c->now.count && is_satisfied(c, &c->now.items[i], op))
        i++;
    if (i < c->now.count)
        linear_force(c, op, now);
    if (c->exhausted || c->now.count == 0)
        return false;
    if (cluster == ABSENT && o->kind == HISTORY_READ) {
        forget_absent_read(c, c->invoked_at[op]);
    } else if (cluster == ABSENT) {
        remove_delete(c, c->slot_of[op]);
        free_slot(c, c->slot_of[op]);
    } else if (o->kind == HISTORY_WRITE && c->clusters[cluster].slot != NO_SLOT) {
        free_slot(c, c->clusters[cluster].slot);
        c->clusters[cluster].slot = NO_SLOT;
    }
    return true;
}

/* The event at which no configuration is left or the search is exhausted; event_count if none. */
static size_t linear_run(struct check *c)
{
    struct config start = {.value = ABSENT, .absent_until = INT64_MAX};
    index_resize(&c->now, INDEX_SIZE_MIN, 0);
    set_append(&c->now, &start, 0);
    for (size_t i = 0; i < c->event_count; i++) {
        const struct event *e = &c->events[i];
        bool alive = true;
        if (e->is_return)
            alive = take_return(c, e->op, (int64_t)i);
        else
            take_invocation(c, e->op, (int64_t)i);
        if (!alive || c->exhausted)
            return i;
    }
    return c->event_count;
}

static struct check *linear_prepare(const struct history_op *ops, size_t count)
{
    struct check *c = must_calloc(1, sizeof *c);
    c->ops = ops;
    c->count = count;
    c->clusters = must_calloc(count + 1, sizeof c->clusters[0]);
    c->cluster_of = must_calloc(count + 1, sizeof c->cluster_of[0]);
    c->events = must_calloc(2 * count + 1, sizeof c->events[0]);
    c->slot_of = must_calloc(count + 1, sizeof c->slot_of[0]);
    c->absent_reads = must_calloc(count + 1, sizeof c->absent_reads[0]);
    c->invoked_at = must_calloc(count + 1, sizeof c->invoked_at[0]);
    memset(c->slot_op, 0xff, sizeof c->slot_op);
    collect_clusters(c);
    collect_events(c);
    return c;
}

static void linear_destroy(struct check *c)
{
    free(c->clusters);
    free(c->cluster_of);
    free(c->events);
    free(c->slot_of);
    free(c->absent_reads);
    free(c->invoked_at);
    free(c->now.items);
    free(c->now.index);
    free(c->next.items);
    free(c->next.index);
    free(c);
}

/* ---- the culprit ---- */

/* Whether the history up to the given event has no order. Operations without a return by then may
 * take effect or not. If a prefix has no order, no longer prefix has one. */
static bool prefix_fails(const struct check *whole, size_t last, struct history_op *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i <= last; i++) {
        const struct event *e = &whole->events[i];
        if (!e->is_return) {
            scratch[count] = whole->ops[e->op];
            scratch[count].outcome = HISTORY_INFO;
            scratch[count].returned_ns = INT64_MAX;
            whole->slot_of[e->op] = (uint32_t)count++;
        } else {
            scratch[whole->slot_of[e->op]] = whole->ops[e->op];
        }
    }
    struct check *c = linear_prepare(scratch, count);
    bool fails = linear_run(c) < c->event_count && !c->exhausted;
    linear_destroy(c);
    return fails;
}

/* LINEAR-2 may notice a stale read too early, when its value is overwritten. The culprit is the
 * operation at whose return no order is left. */
static size_t find_culprit(const struct check *c, size_t noticed)
{
    struct history_op *scratch = must_calloc(c->count + 1, sizeof scratch[0]);
    size_t low = noticed, width = 64; /* `low` is no later than the culprit */
    while (low + width < c->event_count && !prefix_fails(c, low + width, scratch)) {
        low += width;
        width *= 2;
    }
    size_t high = low + width < c->event_count ? low + width : c->event_count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (prefix_fails(c, middle, scratch))
            high = middle;
        else
            low = middle + 1;
    }
    free(scratch);
    return low;
}

void history_check(const struct history_op *ops, size_t count, struct history_verdict *out)
{
    must(count < (size_t)INT32_MAX);
    must(out != NULL);
    struct check *c = linear_prepare(ops, count);
    size_t end = linear_run(c);
    *out =
        (struct history_verdict){.linearizable = end == c->event_count, .exhausted = c->exhausted};
    if (!out->linearizable && !c->exhausted)
        end = find_culprit(c, end);
    if (!out->linearizable)
        out->culprit = ops[c->events[end].op].id;
    linear_destroy(c);
}
