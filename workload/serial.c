/* serial.c - strict serializability of operations on lists. */
#include "workload/serial.h"

#include <stdlib.h>

void serial_deinit(struct serial_history *h)
{
    for (uint32_t i = 0; i < h->count; i++) {
        for (uint32_t k = 0; k < h->ops[i].key_count; k++)
            free(h->ops[i].keys[k].seen.numbers);
        free(h->ops[i].keys);
    }
    free(h->ops);
    *h = (struct serial_history){0};
}

struct serial_list serial_list_copy(const struct serial_list *list)
{
    struct serial_list copy = {must_calloc(list->count + 1, sizeof(uint32_t)), list->count};
    if (list->count > 0)
        memcpy(copy.numbers, list->numbers, list->count * sizeof(uint32_t));
    return copy;
}

/* ---- recording ---- */

static struct serial_key *add_key(struct serial_history *h, struct serial_op *o, uint32_t key)
{
    o->keys = must_grow(o->keys, o->key_count, &o->key_capacity, sizeof o->keys[0]);
    o->keys[o->key_count] = (struct serial_key){.key = key};
    h->keys = key >= h->keys ? key + 1 : h->keys;
    return &o->keys[o->key_count++];
}

uint32_t serial_begin(struct serial_history *h, struct instant now, uint32_t number,
                      const uint32_t *keys, uint32_t key_count)
{
    must(key_count > 0);
    must(h->count == 0 || !instant_before(now, h->ops[h->count - 1].begun));
    h->ops = must_grow(h->ops, h->count, &h->capacity, sizeof h->ops[0]);
    struct serial_op *o = &h->ops[h->count];
    *o = (struct serial_op){.begun = now, .ended = INSTANT_NEVER, .number = number};
    for (uint32_t i = 0; i < key_count; i++)
        add_key(h, o, keys[i])->writes = number != 0;
    o->write_count = number != 0 ? key_count : 0;
    return h->count++;
}

static struct serial_op *op_at(struct serial_history *h, uint32_t place)
{
    must(place < h->count);
    return &h->ops[place];
}

static struct serial_key *key_at(struct serial_history *h, uint32_t place, uint32_t index)
{
    struct serial_op *o = op_at(h, place);
    must(index < o->key_count);
    return &o->keys[index];
}

void serial_condition(struct serial_history *h, uint32_t place, uint32_t key,
                      struct serial_list list)
{
    struct serial_key *k = add_key(h, op_at(h, place), key);
    k->reads = true;
    k->seen = list;
}

void serial_marks(struct serial_history *h, uint32_t place, uint32_t index, enum serial_mark mark)
{
    must(key_at(h, place, index)->writes);
    key_at(h, place, index)->mark = mark;
}

void serial_rivals(struct serial_history *h, uint32_t place, uint32_t other)
{
    must(other < h->count);
    op_at(h, place)->rival = other + 1;
}

void serial_end(struct serial_history *h, uint32_t place, struct instant now,
                enum serial_outcome outcome)
{
    struct serial_op *o = op_at(h, place);
    o->outcome = outcome;
    if (outcome != SERIAL_UNKNOWN)
        o->ended = now;
}

void serial_saw(struct serial_history *h, uint32_t place, uint32_t index, struct serial_list list)
{
    struct serial_key *k = key_at(h, place, index);
    free(k->seen.numbers);
    k->seen = list;
    k->reads = true;
}

void serial_saw_mark(struct serial_history *h, uint32_t place, uint32_t index, uint32_t number)
{
    struct serial_key *k = key_at(h, place, index);
    must(k->reads);
    k->reads_mark = true;
    k->mark_seen = number;
}

/* ---- the order of writes ---- */

struct checker {
    const struct serial_history *h;
    struct buffer *why;
    struct serial_list *orders; /* by key: the longest list seen; borrows */
    uint32_t *writers;          /* by number: 1 + place of the write; 0: none */
    uint32_t numbers;
    uint32_t *present; /* by place: in how many of its keys' orders a write is */
};

static bool checker_report(struct checker *c, const char *anomaly, const struct serial_op *o,
                           uint32_t key)
{
    buffer_append_format(c->why, "%s: operation %u (number %u), key %u\n", anomaly,
                         (unsigned)(o - c->h->ops), o->number, key);
    return false;
}

/* Whether the list is what the key was at some moment: the operation is done. A condition of an
 * operation whose outcome is unknown names a list that a read which is done has seen before. */
static bool operation_saw(const struct serial_op *o, const struct serial_key *k)
{
    return k->reads && o->outcome == SERIAL_DONE;
}

static void find_orders(struct checker *c)
{
    for (uint32_t i = 0; i < c->h->count; i++) {
        const struct serial_op *o = &c->h->ops[i];
        if (o->number >= c->numbers)
            c->numbers = o->number + 1;
        for (uint32_t k = 0; k < o->key_count; k++) {
            struct serial_list *order = &c->orders[o->keys[k].key];
            if (operation_saw(o, &o->keys[k]) && o->keys[k].seen.count > order->count)
                *order = o->keys[k].seen;
        }
    }
}

/* All lists of a key must be one list, as it grew. */
static bool check_prefixes(struct checker *c)
{
    for (uint32_t i = 0; i < c->h->count; i++) {
        const struct serial_op *o = &c->h->ops[i];
        for (uint32_t k = 0; k < o->key_count; k++) {
            const struct serial_key *at = &o->keys[k];
            const struct serial_list *order = &c->orders[at->key];
            const size_t size = at->seen.count * sizeof(uint32_t);
            if (at->reads && size > 0 &&
                (at->seen.count > order->count ||
                 memcmp(at->seen.numbers, order->numbers, size) != 0))
                return checker_report(c, "incompatible orders", o, at->key);
        }
    }
    return true;
}

/* NULL: the operation does not append to the key. */
static const struct serial_key *written_key(const struct serial_op *o, uint32_t key)
{
    for (uint32_t k = 0; k < o->key_count; k++) {
        if (o->keys[k].key == key && o->keys[k].writes)
            return &o->keys[k];
    }
    return NULL;
}

/* Every number of a list was written to it, once. */
static bool check_numbers(struct checker *c)
{
    uint32_t *last = must_calloc(c->numbers + 1, sizeof *last); /* 1 + key */
    bool good = true;
    for (uint32_t key = 0; key < c->h->keys && good; key++) {
        for (uint32_t i = 0; i < c->orders[key].count && good; i++) {
            const uint32_t number = c->orders[key].numbers[i];
            const uint32_t writer = number < c->numbers ? c->writers[number] : 0;
            if (writer == 0 || written_key(&c->h->ops[writer - 1], key) == NULL) {
                buffer_append_format(c->why, "a number that was never written: %u, key %u\n",
                                     number, key);
                good = false;
            } else if (last[number] == key + 1) {
                good = checker_report(c, "a write was done twice", &c->h->ops[writer - 1], key);
            } else {
                last[number] = key + 1;
                c->present[writer - 1]++;
            }
        }
    }
    free(last);
    return good;
}

/* Done writes are in all their lists, refused ones in none, others in all or none. Of two rivals
 * one is in none. */
static bool check_writes(struct checker *c)
{
    for (uint32_t i = 0; i < c->h->count; i++) {
        const struct serial_op *o = &c->h->ops[i];
        if (o->number == 0)
            continue;
        if (o->outcome == SERIAL_REFUSED && c->present[i] > 0)
            return checker_report(c, "G1a, a refused write was seen", o, o->keys[0].key);
        if (o->outcome == SERIAL_DONE && c->present[i] < o->write_count)
            return checker_report(c,
                                  c->present[i] > 0 ? "a transaction was torn" : "a write was lost",
                                  o, o->keys[0].key);
        if (c->present[i] > 0 && c->present[i] < o->write_count)
            return checker_report(c, "a transaction of unknown outcome was torn", o,
                                  o->keys[0].key);
        if (o->rival != 0 && c->present[i] > 0 && c->present[o->rival - 1] > 0)
            return checker_report(c, "two requests with one token were done", o, o->keys[0].key);
    }
    return true;
}

/* Who has put the mark that the key has while its list is this one. 0: it has none. */
static uint32_t mark_of_list(const struct checker *c, uint32_t key, const struct serial_list *list)
{
    for (uint32_t i = list->count; i > 0; i--) {
        const struct serial_op *o = &c->h->ops[c->writers[list->numbers[i - 1]] - 1];
        const enum serial_mark mark = written_key(o, key)->mark;
        if (mark != SERIAL_MARK_STAYS)
            return mark == SERIAL_MARK_PUT ? o->number : 0;
    }
    return 0;
}

/* A mark and the list of its key change together. */
static bool check_marks(struct checker *c)
{
    for (uint32_t i = 0; i < c->h->count; i++) {
        const struct serial_op *o = &c->h->ops[i];
        for (uint32_t k = 0; k < o->key_count; k++) {
            const struct serial_key *at = &o->keys[k];
            if (operation_saw(o, at) && at->reads_mark &&
                at->mark_seen != mark_of_list(c, at->key, &at->seen))
                return checker_report(c, "a mark does not fit the list of its key", o, at->key);
        }
    }
    return true;
}

/* ---- circles ---- */

enum {
    EDGE_WW = 1,
    EDGE_WR = 2,
    EDGE_RW = 4,
    EDGE_TIME = 8
};

/* Edges of a node. The nodes are the operations, by place, and behind them the times at which they
 * begin: a time comes before its operation and before the next time. */
struct edges {
    struct {
        uint32_t to;
        uint32_t kind;
    } * all; /* owns */
    uint32_t count;
    size_t capacity;
};

static void edge_add(struct edges *e, uint32_t from, uint32_t to, uint32_t kind)
{
    if (from == to)
        return;
    e[from].all = must_grow(e[from].all, e[from].count, &e[from].capacity, sizeof e[from].all[0]);
    e[from].all[e[from].count].to = to;
    e[from].all[e[from].count++].kind = kind;
}

/* Whether the operation has happened: what is unknown and was never seen may not have. */
static bool operation_counts(const struct checker *c, uint32_t place)
{
    const struct serial_op *o = &c->h->ops[place];
    return o->number == 0 ? o->outcome == SERIAL_DONE : c->present[place] > 0;
}

/* The first operation that begins after this; h->count: none does. */
static uint32_t first_after(const struct serial_history *h, struct instant at)
{
    uint32_t low = 0, high = h->count;
    LOWER_BOUND(low, high, middle, !instant_before(at, h->ops[middle].begun));
    return low;
}

static void add_times(const struct checker *c, struct edges *e)
{
    const uint32_t count = c->h->count;
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 < count)
            edge_add(e, count + i, count + i + 1, EDGE_TIME);
        if (!operation_counts(c, i))
            continue;
        const uint32_t after = first_after(c->h, c->h->ops[i].ended);
        edge_add(e, count + i, i, EDGE_TIME);
        if (after < count)
            edge_add(e, i, count + after, EDGE_TIME);
    }
}

static void add_edges(const struct checker *c, struct edges *e)
{
    for (uint32_t key = 0; key < c->h->keys; key++) {
        const struct serial_list *order = &c->orders[key];
        for (uint32_t i = 1; i < order->count; i++)
            edge_add(e, c->writers[order->numbers[i - 1]] - 1, c->writers[order->numbers[i]] - 1,
                     EDGE_WW);
    }
    for (uint32_t i = 0; i < c->h->count; i++) {
        const struct serial_op *o = &c->h->ops[i];
        for (uint32_t k = 0; operation_counts(c, i) && k < o->key_count; k++) {
            const struct serial_list *order = &c->orders[o->keys[k].key];
            const uint32_t seen = o->keys[k].seen.count;
            if (!o->keys[k].reads)
                continue;
            if (seen > 0)
                edge_add(e, c->writers[order->numbers[seen - 1]] - 1, i, EDGE_WR);
            if (seen < order->count)
                edge_add(e, i, c->writers[order->numbers[seen]] - 1, EDGE_RW);
        }
    }
    add_times(c, e);
}

/* A search for a circle of these kinds of edges, depth first. */
struct search {
    const struct edges *edges;
    uint32_t kinds;
    uint8_t *state; /* 0: new; 1: on the way; 2: done */
    uint32_t *way;  /* the nodes on the way */
    uint32_t *at;   /* the next edge of each */
    uint32_t depth;
};

static bool search_from(struct search *s, uint32_t start)
{
    s->depth = 0;
    s->way[s->depth] = start;
    s->at[s->depth++] = 0;
    s->state[start] = 1;
    while (s->depth > 0) {
        const uint32_t from = s->way[s->depth - 1], next = s->at[s->depth - 1]++;
        const struct edges *e = &s->edges[from];
        if (next == e->count) {
            s->state[from] = 2;
            s->depth--;
        } else if ((e->all[next].kind & s->kinds) != 0 && s->state[e->all[next].to] != 2) {
            const uint32_t to = e->all[next].to;
            s->way[s->depth] = to;
            if (s->state[to] == 1)
                return true;
            s->at[s->depth++] = 0;
            s->state[to] = 1;
        }
    }
    return false;
}

/* Tells the circle that ends in the node where the way came back to. */
static void report_cycle(const struct search *s, const char *anomaly, uint32_t places,
                         struct buffer *why)
{
    uint32_t first = 0;
    while (s->way[first] != s->way[s->depth])
        first++;
    buffer_append_format(why, "%s: operations", anomaly);
    for (uint32_t i = first; i <= s->depth; i++) {
        if (s->way[i] < places)
            buffer_append_format(why, " %u", s->way[i]);
    }
    buffer_append_text(why, "\n");
}

static bool check_circles(struct checker *c)
{
    static const struct {
        uint32_t kinds;
        const char *anomaly;
    } SEARCHES[] = {
        {EDGE_WW, "G0, writes in a circle"},
        {EDGE_WW | EDGE_WR, "G1c, writes and reads in a circle"},
        {EDGE_WW | EDGE_WR | EDGE_RW, "G2, not serializable"},
        {EDGE_WW | EDGE_WR | EDGE_RW | EDGE_TIME, "serializable, but against real time"},
    };
    const uint32_t count = c->h->count, nodes = 2 * count;
    struct edges *edges = must_calloc(nodes + 1, sizeof *edges);
    struct search s = {.edges = edges,
                       .state = must_calloc(nodes + 1, 1),
                       .way = must_calloc(nodes + 1, sizeof(uint32_t)),
                       .at = must_calloc(nodes + 1, sizeof(uint32_t))};
    bool good = true;
    add_edges(c, edges);
    for (size_t i = 0; i < COUNT_OF(SEARCHES) && good; i++) {
        memset(s.state, 0, nodes);
        s.kinds = SEARCHES[i].kinds;
        for (uint32_t start = 0; start < count && good; start++)
            good = s.state[start] != 0 || !operation_counts(c, start) || !search_from(&s, start);
        if (!good)
            report_cycle(&s, SEARCHES[i].anomaly, count, c->why);
    }
    for (uint32_t i = 0; i < nodes; i++)
        free(edges[i].all);
    free(edges);
    free(s.state);
    free(s.way);
    free(s.at);
    return good;
}

bool serial_check(const struct serial_history *h, struct buffer *why)
{
    struct checker c = {.h = h, .why = why};
    c.orders = must_calloc(h->keys + 1, sizeof *c.orders);
    c.present = must_calloc(h->count + 1, sizeof *c.present);
    find_orders(&c);
    c.writers = must_calloc(c.numbers + 1, sizeof *c.writers);
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->ops[i].number != 0)
            c.writers[h->ops[i].number] = i + 1;
    }
    const bool good = check_prefixes(&c) && check_numbers(&c) && check_writes(&c) &&
                      check_marks(&c) && check_circles(&c);
    free(c.orders);
    free(c.present);
    free(c.writers);
    return good;
}
