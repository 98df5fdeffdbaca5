/* serial.c - strict serializability of operations on lists. */
#include "workload/serial.h"

#include <stdlib.h>

void serial_deinit(struct serial_history *h)
{
    for (uint32_t i = 0; i < h->count; i++) {
        for (uint32_t k = 0; k < h->ops[i].key_count; k++)
            free(h->ops[i].seen[k].numbers);
    }
    free(h->ops);
    *h = (struct serial_history){0};
}

/* ---- recording ---- */

uint32_t serial_begin(struct serial_history *h, struct instant now, uint32_t number,
                      const uint32_t *keys, uint32_t key_count)
{
    must(key_count > 0 && key_count <= SERIAL_KEYS_MAX);
    h->ops = must_grow(h->ops, h->count, &h->capacity, sizeof h->ops[0]);
    struct serial_op *o = &h->ops[h->count];
    *o = (struct serial_op){
        .begun = now, .ended = INSTANT_NEVER, .number = number, .key_count = key_count};
    memcpy(o->keys, keys, key_count * sizeof keys[0]);
    for (uint32_t i = 0; i < key_count; i++)
        h->keys = keys[i] >= h->keys ? keys[i] + 1 : h->keys;
    return h->count++;
}

void serial_end(struct serial_history *h, uint32_t place, struct instant now,
                enum serial_outcome outcome)
{
    must(place < h->count);
    h->ops[place].outcome = outcome;
    if (outcome != SERIAL_UNKNOWN)
        h->ops[place].ended = now;
}

void serial_saw(struct serial_history *h, uint32_t place, uint32_t index, struct serial_list list)
{
    must(place < h->count && index < h->ops[place].key_count);
    free(h->ops[place].seen[index].numbers);
    h->ops[place].seen[index] = list;
}

/* ---- the order of writes ---- */

struct checker {
    const struct serial_history *h;
    struct buffer *why;
    struct serial_list *orders; /* by key: the longest list seen; borrows */
    uint32_t *writers;          /* by number: 1 + place of the write; 0: none */
    uint32_t numbers;
    uint8_t *present; /* by place: in how many of its keys' orders a write is */
};

static bool complain(struct checker *c, const char *anomaly, const struct serial_op *o,
                     uint32_t key)
{
    buffer_append_format(c->why, "%s: operation %u (number %u), key %u\n", anomaly,
                         (unsigned)(o - c->h->ops), o->number, key);
    return false;
}

static bool is_read(const struct serial_op *o)
{
    return o->number == 0 && o->outcome == SERIAL_DONE;
}

static void find_orders(struct checker *c)
{
    for (uint32_t i = 0; i < c->h->count; i++) {
        const struct serial_op *o = &c->h->ops[i];
        if (o->number >= c->numbers)
            c->numbers = o->number + 1;
        for (uint32_t k = 0; is_read(o) && k < o->key_count; k++) {
            if (o->seen[k].count > c->orders[o->keys[k]].count)
                c->orders[o->keys[k]] = o->seen[k];
        }
    }
}

/* All lists of a key must be one list, as it grew. */
static bool check_prefixes(struct checker *c)
{
    for (uint32_t i = 0; i < c->h->count; i++) {
        const struct serial_op *o = &c->h->ops[i];
        for (uint32_t k = 0; is_read(o) && k < o->key_count; k++) {
            const size_t size = o->seen[k].count * sizeof(uint32_t);
            if (size > 0 && memcmp(o->seen[k].numbers, c->orders[o->keys[k]].numbers, size) != 0)
                return complain(c, "incompatible orders", o, o->keys[k]);
        }
    }
    return true;
}

static bool writes_key(const struct serial_op *o, uint32_t key)
{
    for (uint32_t k = 0; k < o->key_count; k++) {
        if (o->keys[k] == key)
            return true;
    }
    return false;
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
            if (writer == 0 || !writes_key(&c->h->ops[writer - 1], key)) {
                buffer_append_format(c->why, "a number that nobody wrote: %u, key %u\n", number,
                                     key);
                good = false;
            } else if (last[number] == key + 1) {
                good = complain(c, "a write was done twice", &c->h->ops[writer - 1], key);
            } else {
                last[number] = key + 1;
                c->present[writer - 1]++;
            }
        }
    }
    free(last);
    return good;
}

/* Done writes are in all their lists, refused ones in none, others in all or none. */
static bool check_writes(struct checker *c)
{
    for (uint32_t i = 0; i < c->h->count; i++) {
        const struct serial_op *o = &c->h->ops[i];
        if (o->number == 0)
            continue;
        if (o->outcome == SERIAL_REFUSED && c->present[i] > 0)
            return complain(c, "G1a, a refused write was seen", o, o->keys[0]);
        if (o->outcome == SERIAL_DONE && c->present[i] < o->key_count)
            return complain(c, c->present[i] > 0 ? "a transaction was torn" : "a write was lost", o,
                            o->keys[0]);
        if (c->present[i] > 0 && c->present[i] < o->key_count)
            return complain(c, "a transaction of unknown outcome was torn", o, o->keys[0]);
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

/* Edges of a node, as places. Real time is not among them: it follows from begun and ended. */
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
        for (uint32_t k = 0; is_read(o) && k < o->key_count; k++) {
            const struct serial_list *order = &c->orders[o->keys[k]];
            const uint32_t seen = o->seen[k].count;
            if (seen > 0)
                edge_add(e, c->writers[order->numbers[seen - 1]] - 1, i, EDGE_WR);
            if (seen < order->count)
                edge_add(e, i, c->writers[order->numbers[seen]] - 1, EDGE_RW);
        }
    }
}

/* Whether the operation has happened: what is unknown and was never seen may not have. */
static bool counts(const struct checker *c, uint32_t place)
{
    const struct serial_op *o = &c->h->ops[place];
    return o->number == 0 ? is_read(o) : c->present[place] > 0;
}

/* A search for a circle of these kinds of edges, depth first. */
struct search {
    const struct checker *c;
    const struct edges *edges;
    uint32_t kinds;
    uint8_t *state; /* 0: new; 1: on the way; 2: done */
    uint32_t *way;  /* the places on the way */
    uint32_t *at;   /* the next edge of each */
    uint32_t depth;
};

static uint32_t search_edges(const struct search *s, uint32_t from)
{
    return s->edges[from].count + ((s->kinds & EDGE_TIME) != 0 ? s->c->h->count : 0);
}

/* The end of edge number `i`. False: it is none of the kinds. */
static bool search_edge(const struct search *s, uint32_t from, uint32_t i, uint32_t *to)
{
    const struct edges *e = &s->edges[from];
    if (i < e->count) {
        *to = e->all[i].to;
        return (e->all[i].kind & s->kinds) != 0;
    }
    *to = i - e->count;
    return counts(s->c, *to) && instant_before(s->c->h->ops[from].ended, s->c->h->ops[*to].begun);
}

static bool search_from(struct search *s, uint32_t start)
{
    s->depth = 0;
    s->way[s->depth] = start;
    s->at[s->depth++] = 0;
    s->state[start] = 1;
    while (s->depth > 0) {
        const uint32_t from = s->way[s->depth - 1];
        uint32_t to;
        if (s->at[s->depth - 1] == search_edges(s, from)) {
            s->state[from] = 2;
            s->depth--;
        } else if (search_edge(s, from, s->at[s->depth - 1]++, &to) && s->state[to] != 2) {
            s->way[s->depth] = to;
            if (s->state[to] == 1)
                return true;
            s->at[s->depth++] = 0;
            s->state[to] = 1;
        }
    }
    return false;
}

/* Tells the circle that ends in the place where the way came back to. */
static void tell_circle(const struct search *s, const char *anomaly, struct buffer *why)
{
    uint32_t first = 0;
    while (s->way[first] != s->way[s->depth])
        first++;
    buffer_append_format(why, "%s: operations", anomaly);
    for (uint32_t i = first; i <= s->depth; i++)
        buffer_append_format(why, " %u", s->way[i]);
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
    const uint32_t count = c->h->count;
    struct edges *edges = must_calloc(count + 1, sizeof *edges);
    struct search s = {.c = c,
                       .edges = edges,
                       .state = must_calloc(count + 1, 1),
                       .way = must_calloc(count + 1, sizeof(uint32_t)),
                       .at = must_calloc(count + 1, sizeof(uint32_t))};
    bool good = true;
    add_edges(c, edges);
    for (size_t i = 0; i < COUNT_OF(SEARCHES) && good; i++) {
        memset(s.state, 0, count);
        s.kinds = SEARCHES[i].kinds;
        for (uint32_t start = 0; start < count && good; start++)
            good = s.state[start] != 0 || !counts(c, start) || !search_from(&s, start);
        if (!good)
            tell_circle(&s, SEARCHES[i].anomaly, c->why);
    }
    for (uint32_t i = 0; i < count; i++)
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
    c.present = must_calloc(h->count + 1, 1);
    find_orders(&c);
    c.writers = must_calloc(c.numbers + 1, sizeof *c.writers);
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->ops[i].number != 0)
            c.writers[h->ops[i].number] = i + 1;
    }
    const bool good =
        check_prefixes(&c) && check_numbers(&c) && check_writes(&c) && check_circles(&c);
    free(c.orders);
    free(c.present);
    free(c.writers);
    return good;
}
