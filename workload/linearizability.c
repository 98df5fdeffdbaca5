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
 * A write that knows what it replaced directly follows that value. So writes form chains:
 *   LINEAR-7  A value that some write replaced keeps the register until that write. What takes
 *             effect in a chain takes effect in the chain's order, and nothing else in between. A
 *             blip is a whole chain.
 *   LINEAR-8  A chain that begins with a write to an absent register needs a moment of absence. It
 *             has it for itself. Of the chains that could be blips there, the one that must return
 *             first comes first. That is never worse than to wait.
 * A delete that knows what it replaced is taken for a read of that value and a delete: this may
 * miss an error, but never finds a false one.
 *
 * Invariants:
 *   LINEAR-5  a configuration is not added if one with the same value and bits is at least as good
 *             in the rest (config_set.c).
 *   LINEAR-6  a slot belongs to an invoked write that has not returned. */
#include "workload/linearizability.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/slice.h"
#include "workload/config_set.h"

#define ABSENT  UINT32_MAX       /* the register holds nothing */
#define UNKNOWN (UINT32_MAX - 1) /* a value that no operation wrote */
#define NO_SLOT UINT32_MAX
#define NONE    (UINT32_MAX - 2) /* no cluster */

/* A value other than 0, its write and its reads. */
struct cluster {
    uint64_t value;
    uint32_t write;      /* operation */
    uint32_t slot;       /* NO_SLOT: not invoked, or in effect everywhere */
    int64_t reads_ahead; /* reads of it not invoked yet */
    uint32_t after; /* the cluster that its write replaced, ABSENT, UNKNOWN, or NONE: not known */
    uint32_t next;  /* the cluster whose write replaced it; NONE: not known */
    uint32_t root;  /* its chain's first cluster; NONE: it fits in no chain */
    int64_t deadline_ns; /* the first return of its write and its reads */
    bool invoked;
    bool read; /* some operation read it, or replaced it */
};

struct event {
    int64_t at_ns;
    uint32_t op;
    bool is_return;
};

struct check {
    struct history_op *ops; /* owns */
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
    uint32_t *chains; /* owns; for one return: chains that could be blips in an absent register */
    uint32_t chain_count;
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

static void collect_writes(struct check *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct history_op *op = &c->ops[i];
        if (linear_counts(op) && op->kind == HISTORY_WRITE && op->value != 0)
            c->clusters[c->cluster_count++] = (struct cluster){.value = op->value,
                                                               .write = (uint32_t)i,
                                                               .slot = NO_SLOT,
                                                               .after = NONE,
                                                               .next = NONE,
                                                               .root = NONE,
                                                               .deadline_ns = op->returned_ns};
    }
    qsort(c->clusters, c->cluster_count, sizeof c->clusters[0], compare_clusters);
    for (uint32_t i = 1; i < c->cluster_count; i++)
        must(c->clusters[i - 1].value != c->clusters[i].value);
}

static uint32_t cluster_of_value(const struct check *c, uint64_t value)
{
    return value == 0 ? ABSENT : find_cluster(c, value);
}

static void collect_reads(struct check *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct history_op *op = &c->ops[i];
        const uint32_t at = cluster_of_value(c, op->value);
        c->cluster_of[i] = at;
        if (op->kind != HISTORY_READ || !linear_counts(op) || at >= c->cluster_count)
            continue;
        c->clusters[at].reads_ahead++;
        c->clusters[at].read = true;
        if (op->returned_ns < c->clusters[at].deadline_ns)
            c->clusters[at].deadline_ns = op->returned_ns;
    }
}

/* Links the chains (LINEAR-7). A write without a known outcome that nobody saw links nothing. */
static void collect_chains(struct check *c)
{
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        struct cluster *w = &c->clusters[i];
        const struct history_op *op = &c->ops[w->write];
        if (op->after_known)
            w->after = cluster_of_value(c, op->after);
    }
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        uint32_t at = i;
        if (c->ops[c->clusters[i].write].outcome != HISTORY_OK && !c->clusters[i].read)
            continue;
        for (uint32_t to; (to = c->clusters[at].after) < c->cluster_count; at = to) {
            if (c->clusters[to].next != NONE)
                break; /* linked before; or a second write that replaced it: it will not fit */
            c->clusters[to].next = at;
            c->clusters[to].read = true;
        }
    }
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        if (c->clusters[i].after < c->cluster_count)
            continue;
        for (uint32_t at = i; at != NONE; at = c->clusters[at].next)
            c->clusters[at].root = i;
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
            continue; /* nobody saw the write: it may as well never have happened */
        c->events[c->event_count++] = (struct event){op->invoked_ns, (uint32_t)i, false};
        if (known)
            c->events[c->event_count++] = (struct event){op->returned_ns, (uint32_t)i, true};
    }
    qsort(c->events, c->event_count, sizeof c->events[0], compare_events);
}

/* ---- configurations ---- */

static size_t words_used(const struct check *c)
{
    return (c->slots_used + 63) / 64;
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
    k.absent_until = k.value == ABSENT ? INT64_MAX : linear_normalised(c, k.absent_until);
    if (!config_set_add(&c->next, &k, words_used(c)))
        c->exhausted = true;
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

/* Whether each slot belongs to a write that knows the slot, and is not the one that returned last:
 * `returned`, UINT32_MAX if that was an invocation. */
static bool slots_are_valid(const struct check *c, uint32_t returned)
{
    for (uint32_t slot = 0; slot < c->slots_used; slot++) {
        const uint32_t op = c->slot_op[slot];
        if (op == UINT32_MAX)
            continue;
        const uint32_t cluster = c->cluster_of[op];
        const uint32_t known = cluster == ABSENT ? c->slot_of[op] : c->clusters[cluster].slot;
        if (c->ops[op].kind != HISTORY_WRITE || known != slot || op == returned)
            return false;
    }
    return true;
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
        /* LINEAR-1: a read needs only that the write is in effect. */
        return of->invoked && (of->slot == NO_SLOT || has_bit(k, of->slot));
    }
    /* A delete in an absent register still has to take effect, for LINEAR-3. */
    return c->ops[op].kind == HISTORY_READ ? c->invoked_at[op] <= k->absent_until
                                           : has_bit(k, c->slot_of[op]);
}

static bool is_in_effect(const struct check *c, const struct config *k, uint32_t cluster)
{
    const struct cluster *of = &c->clusters[cluster];
    return of->invoked && (of->slot == NO_SLOT || has_bit(k, of->slot));
}

/* Whether the rest of a chain, from its cluster `at` on, may take effect and be overwritten now. */
static bool chain_is_ready(const struct check *c, uint32_t at)
{
    for (; at != NONE; at = c->clusters[at].next) {
        const struct cluster *of = &c->clusters[at];
        if (!of->invoked || of->slot == NO_SLOT || of->reads_ahead > 0)
            return false;
    }
    return true;
}

/* The chain takes effect, up to the cluster `last`; NONE: to its end. */
static void chain_set(const struct check *c, struct config *k, uint32_t at, uint32_t last)
{
    for (; at != NONE; at = c->clusters[at].next) {
        set_bit(k, c->clusters[at].slot);
        if (at == last)
            return;
    }
}

static int64_t chain_deadline(const struct check *c, uint32_t at)
{
    int64_t min = INT64_MAX;
    for (; at != NONE; at = c->clusters[at].next)
        min = c->clusters[at].deadline_ns < min ? c->clusters[at].deadline_ns : min;
    return min;
}

static void chains_add(struct check *c, uint32_t root)
{
    uint32_t at = c->chain_count++;
    const int64_t deadline = chain_deadline(c, root);
    for (; at > 0 && chain_deadline(c, c->chains[at - 1]) > deadline; at--)
        c->chains[at] = c->chains[at - 1];
    c->chains[at] = root;
}

/* LINEAR-3, 7: the pending writes that may take effect as blips, and c->chains (LINEAR-8). The
 * chain of `but` is left out. */
static void find_blips(struct check *c, uint32_t but, struct config *out)
{
    memset(out->bits, 0, sizeof out->bits);
    c->chain_count = 0;
    for (uint32_t slot = 0; slot < c->slots_used; slot++) {
        uint32_t op = c->slot_op[slot];
        if (op == UINT32_MAX || c->cluster_of[op] == ABSENT)
            continue;
        const uint32_t at = c->cluster_of[op];
        const uint32_t after = c->clusters[at].after;
        if ((after != NONE && after != ABSENT) || at == but || !chain_is_ready(c, at))
            continue;
        if (after == NONE)
            chain_set(c, out, at, NONE);
        else
            chains_add(c, at);
    }
}

/* The register leaves its value: the rest of the value's chain takes effect. False: it may not. */
static bool linear_leave(const struct check *c, struct config *k)
{
    if (k->value == ABSENT)
        return true;
    const struct cluster *of = &c->clusters[k->value];
    if (of->reads_ahead > 0 || !chain_is_ready(c, of->next)) /* LINEAR-2, LINEAR-7 */
        return false;
    chain_set(c, k, of->next, NONE);
    return true;
}

static void linear_blip(const struct check *c, struct config *k, const struct config *blips)
{
    for (size_t w = 0; w < words_used(c); w++)
        k->bits[w] |= blips->bits[w];
}

/* LINEAR-8: so many chains take effect, each in a moment of absence. */
static void linear_host(const struct check *c, struct config *k, uint32_t moments)
{
    for (uint32_t i = 0; i < c->chain_count && moments > 0; i++) {
        if (is_in_effect(c, k, c->chains[i]))
            continue;
        chain_set(c, k, c->chains[i], NONE);
        moments--;
    }
}

/* How many moments of absence help before the register takes a value. */
static uint32_t linear_moments_needed(const struct check *c, const struct config *k, bool to_absent,
                                      const struct config *blips)
{
    uint32_t hosts = 0, blip = 0;
    for (uint32_t i = 0; i < c->chain_count; i++)
        hosts += !is_in_effect(c, k, c->chains[i]);
    for (size_t w = 0; w < words_used(c); w++)
        blip |= (blips->bits[w] & ~k->bits[w]) != 0;
    if (to_absent) /* a blip needs another moment after it, which a chain may need anyway */
        return 1 + (hosts > blip ? hosts : blip);
    return hosts > 0 || c->absent_count == 0 ? hosts : 1;
}

/* The register becomes absent: by `op` if it is a delete, otherwise by LINEAR-4. */
static void become_absent(struct check *c, struct config k, uint32_t op)
{
    uint32_t i = 0;
    if (c->ops[op].kind == HISTORY_WRITE) {
        if (k.value == ABSENT)
            linear_host(c, &k, 1);
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

/* After the present value, a number of deletes: the register takes the value `cluster`, which its
 * chain from `first` on leads to. `moments`: of absence since the present value. */
static void become_value_after(struct check *c, struct config k, uint32_t first, uint32_t cluster,
                               uint32_t moments, const struct config *blips, int64_t now)
{
    const bool to_absent = c->clusters[first].after == ABSENT;
    const uint32_t needed = linear_moments_needed(c, &k, to_absent, blips);
    const uint32_t left = c->unknown_deletes - k.unknown_deletes;
    for (uint32_t unknown = 0; unknown <= left; unknown++) {
        struct config to = k;
        const uint32_t have = moments + unknown;
        if (unknown > 0 && have > needed)
            return;
        if (to_absent && have == 0)
            continue;
        to.unknown_deletes += unknown;
        if (have > 0)
            to.absent_until = now;
        if (!to_absent || k.value != ABSENT || have > 1) /* a blip ends the absence */
            linear_blip(c, &to, blips);
        linear_host(c, &to, have - to_absent);
        chain_set(c, &to, first, cluster);
        to.value = cluster;
        add_config(c, &to);
    }
}

/* The register takes a cluster's value, after any number of the pending deletes. */
static void become_value(struct check *c, struct config k, uint32_t first, uint32_t cluster,
                         const struct config *blips, int64_t now)
{
    uint32_t moments = k.value == ABSENT;
    become_value_after(c, k, first, cluster, moments, blips, now);
    for (uint32_t i = 0; i < c->delete_count; i++) {
        if (has_bit(&k, c->deletes[i]))
            continue;
        set_bit(&k, c->deletes[i]);
        become_value_after(c, k, first, cluster, ++moments, blips, now);
    }
}

/* The first cluster of the chain of `cluster` that is not in effect. NONE: the chain cannot lead to
 * the cluster now. */
static uint32_t chain_first(const struct check *c, const struct config *k, uint32_t cluster)
{
    uint32_t first = cluster;
    if (c->clusters[cluster].root == NONE)
        return NONE;
    for (uint32_t to; (to = c->clusters[first].after) < c->cluster_count; first = to) {
        if (c->clusters[to].next != first || !c->clusters[to].invoked ||
            c->clusters[to].reads_ahead > 0)
            return NONE;
        if (is_in_effect(c, k, to))
            return k->value == to ? first : NONE;
    }
    return c->clusters[first].after == UNKNOWN ? NONE : first;
}

static void force_value(struct check *c, struct config k, const struct config *blips,
                        uint32_t cluster, int64_t now)
{
    const uint32_t first = chain_first(c, &k, cluster);
    if (first == NONE)
        return;
    if (c->clusters[first].after < c->cluster_count) { /* that is the present value */
        chain_set(c, &k, first, cluster);
        k.value = cluster;
        add_config(c, &k);
        return;
    }
    if (linear_leave(c, &k))
        become_value(c, k, first, cluster, blips, now);
}

static void force_absent(struct check *c, struct config k, const struct config *blips, uint32_t op)
{
    if (!linear_leave(c, &k))
        return;
    linear_blip(c, &k, blips);
    become_absent(c, k, op);
}

static void linear_force(struct check *c, uint32_t op, int64_t now)
{
    struct config blips;
    const uint32_t cluster = c->cluster_of[op];
    find_blips(c, cluster < c->cluster_count ? c->clusters[cluster].root : NONE, &blips);
    config_set_clear(&c->next);
    for (size_t i = 0; i < c->now.count && !c->exhausted; i++) {
        const struct config *k = &c->now.items[i];
        if (is_satisfied(c, k, op))
            add_config(c, k);
        else if (cluster == ABSENT)
            force_absent(c, *k, &blips, op);
        else if (cluster != UNKNOWN && c->clusters[cluster].invoked)
            force_value(c, *k, &blips, cluster, now);
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

static void remove_absent_read(struct check *c, int64_t invoked_at)
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
        remove_absent_read(c, c->invoked_at[op]);
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
    config_set_clear(&c->now);
    must(config_set_add(&c->now, &start, 0));
    for (size_t i = 0; i < c->event_count; i++) {
        const struct event *e = &c->events[i];
        bool alive = true;
        if (e->is_return)
            alive = take_return(c, e->op, (int64_t)i);
        else
            take_invocation(c, e->op, (int64_t)i);
        if (!alive || c->exhausted)
            return i;
        must_in_tests(slots_are_valid(c, e->is_return ? e->op : UINT32_MAX)); /* LINEAR-6 */
    }
    return c->event_count;
}

/* Takes a delete that knows what it replaced apart. */
static void linear_copy(struct check *c, const struct history_op *op)
{
    struct history_op delete = *op;
    if (op->kind != HISTORY_WRITE || op->value != 0 || !op->after_known) {
        c->ops[c->count++] = *op;
        return;
    }
    struct history_op read = *op;
    read.kind = HISTORY_READ;
    read.value = op->after;
    read.after_known = delete.after_known = false;
    if (op->outcome == HISTORY_OK)
        c->ops[c->count++] = read;
    if (op->outcome != HISTORY_OK || op->after != 0)
        c->ops[c->count++] = delete;
}

static struct check *linear_prepare(const struct history_op *ops, size_t count)
{
    struct check *c = must_calloc(1, sizeof *c);
    c->ops = must_calloc(2 * count + 1, sizeof c->ops[0]);
    for (size_t i = 0; i < count; i++)
        linear_copy(c, &ops[i]);
    count = c->count;
    c->clusters = must_calloc(count + 1, sizeof c->clusters[0]);
    c->cluster_of = must_calloc(count + 1, sizeof c->cluster_of[0]);
    c->events = must_calloc(2 * count + 1, sizeof c->events[0]);
    c->slot_of = must_calloc(count + 1, sizeof c->slot_of[0]);
    c->absent_reads = must_calloc(count + 1, sizeof c->absent_reads[0]);
    c->invoked_at = must_calloc(count + 1, sizeof c->invoked_at[0]);
    c->chains = must_calloc(SLOTS_MAX, sizeof c->chains[0]);
    memset(c->slot_op, 0xff, sizeof c->slot_op);
    collect_writes(c);
    collect_reads(c);
    collect_chains(c);
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
    free(c->chains);
    free(c->ops);
    config_set_deinit(&c->now);
    config_set_deinit(&c->next);
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
    LOWER_BOUND(low, high, middle, !prefix_fails(c, middle, scratch));
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
        out->culprit = c->ops[c->events[end].op].id;
    linear_destroy(c);
}
