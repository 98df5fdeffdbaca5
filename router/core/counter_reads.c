/* counter_reads.c - reads the cells of a counter. */
#include "router/core/counter_reads.h"

#include "base/mutation.h"
#include "router/core/counter_totals.h"
#include "router/core/counters.h"
#include "router/core/item_placement.h"
#include "router/core/operation.h"

enum {
    TURNS_MAX = 8 /* a key grows at most so often while it is read, or the read fails */
};

enum counter_step {
    COUNTER_CELLS,
    COUNTER_TOTAL, /* the kept total is asked for */
    COUNTER_KEEP   /* the sum is being kept */
};

/* In the call's arena. */
struct counter_read {
    enum counter_step step;
    bool keeps;              /* the kept total is too old, or missing */
    struct request original; /* as the operation made it */
    uint32_t index;          /* the operation's own */
    uint64_t version;        /* of the sharded key; 0: it is not sharded any more */
    uint32_t left;           /* cells without a reply */
    uint32_t turns;
    bool stale; /* the cells are not those any more */
    bool refused;
    struct reply refusal; /* of the first cell that was refused */
    int64_t consumed_mcu;
    uint32_t found;
    struct slice cells[KEY_SHARDS_MAX]; /* those that are there */
    struct reply sum;                   /* while it is being kept */
};

static const struct sharded_key *counter_key(const struct subrequest *s, struct slice key)
{
    return key_sharding_find(s->route->table.sharded_keys, key);
}

/* Starts the reads of all cells. `first`: the subrequest for the first one. */
static void counter_read_start(struct counter_read *read, struct subrequest *first)
{
    struct call *c = first->call;
    struct route *route = first->route;
    const struct sharded_key *k = counter_key(first, read->original.get.key);
    read->step = COUNTER_CELLS;
    read->version = k != NULL ? k->version : 0;
    read->left = k != NULL ? sharded_key_extent(k) : 1;
    read->stale = false;
    read->found = 0;
    read->turns++;
    const uint32_t count = read->left;
    for (uint32_t i = 0; i < count; i++) {
        struct subrequest *s = i == 0 ? first : call_request(c, route, REQUEST_GET);
        s->counter = read;
        s->index = read->index;
        s->request.get = read->original.get;
        if (k != NULL)
            s->request.get.key = sharded_key_in(&c->arena, k, read->original.get.key, i);
        subrequest_start(c->router, s);
    }
}

bool counter_read_begins(struct subrequest *s)
{
    if (s->counter != NULL || s->request.op != REQUEST_GET || s->request.get.transacts ||
        s->route->table.sharded_keys == NULL)
        return false;
    const struct sharded_key *k = counter_key(s, s->request.get.key);
    if (k == NULL || !sharded_key_has_cells(k) || sharded_key_shrinks(k))
        return false;
    struct counter_read *read = arena_zalloc(&s->call->arena, sizeof *read);
    read->original = s->request;
    read->index = s->index;
    if (!counter_total_serves(s->call->router, &s->request)) {
        counter_read_start(read, s);
        return true;
    }
    read->step = COUNTER_TOTAL;
    read->version = k->version;
    read->left = 1;
    s->counter = read;
    counter_total_request(s, k, read->original.get.key);
    subrequest_start(s->call->router, s);
    return true;
}

void counter_read_place(struct subrequest *s)
{
    const struct sharded_key *k = counter_key(s, s->counter->original.get.key);
    const uint64_t version = k != NULL ? k->version : 0;
    const bool eventual = s->request.op == REQUEST_GET && !s->request.get.consistent;
    s->request.sharded_key_version = k != NULL ? sharded_key_min_version(k, eventual) : 0;
    s->counter->stale |= version != s->counter->version;
}

static void counter_read_keep(struct counter_read *read, struct call *c, const struct reply *reply)
{
    read->consumed_mcu += reply->consumed_mcu;
    if (reply->code == REPLY_OK && reply->kind == ANSWER_ITEM && reply->item.found)
        read->cells[read->found++] = arena_copy(&c->arena, reply->item.bytes);
    if (reply->code == REPLY_OK || read->refused)
        return;
    read->refused = true;
    read->refusal = *reply;
    read->refusal.kind = ANSWER_NONE;
    read->refusal.text = arena_copy(&c->arena, reply->text);
}

static struct reply counter_read_sum(struct counter_read *read, const struct subrequest *s)
{
    struct reply sum = {.code = REPLY_OK, .consumed_mcu = read->consumed_mcu, .kind = ANSWER_ITEM};
    struct call *c = s->call;
    struct buffer item = {0};
    read->found -= MUTATED(MUTATION_READ_FEWER_CELLS) && read->found > 1;
    if (read->refused)
        return read->refusal;
    if (read->stale)
        return (struct reply){.code = REPLY_OVERLOADED,
                              .text = slice_of("the counter's cells have changed repeatedly")};
    if (read->found > 0 &&
        counter_sum(&item, &s->route->table, read->cells, read->found) == NUMBER_OK) {
        sum.item.found = true;
        sum.item.bytes = arena_copy(&c->arena, buffer_slice(&item));
    } else if (read->found > 0) {
        sum = (struct reply){
            .code = REPLY_TABLE_INVALID,
            .text = slice_of("The sum of the counter's cells is outside the range of numbers")};
    }
    buffer_deinit(&item);
    return sum;
}

/* The kept total, if it is fresh. Otherwise the cells are read. */
static bool counter_read_takes_total(struct counter_read *read, struct subrequest *s,
                                     const struct reply *reply, struct reply *sum)
{
    struct call *c = s->call;
    const struct slice item = counter_total_take(c, reply);
    read->consumed_mcu += reply->consumed_mcu;
    if (item.size == 0) {
        read->keeps = true;
        counter_read_start(read, call_request(c, s->route, REQUEST_GET));
        return false;
    }
    *sum =
        (struct reply){.code = REPLY_OK, .consumed_mcu = read->consumed_mcu, .kind = ANSWER_ITEM};
    sum->item.found = true;
    sum->item.bytes = item;
    return true;
}

/* Has the sum kept. False: there is none, or nothing to keep it for. */
static bool counter_read_keeps(struct counter_read *read, struct subrequest *s,
                               const struct reply *sum)
{
    struct call *c = s->call;
    const struct sharded_key *k = counter_key(s, read->original.get.key);
    if (!read->keeps || sum->code != REPLY_OK || !sum->item.found || k == NULL)
        return false;
    struct subrequest *put = call_request(c, s->route, REQUEST_PUT);
    read->step = COUNTER_KEEP;
    read->sum = *sum;
    put->counter = read;
    put->index = read->index;
    counter_total_keep(put, k, read->original.get.key, sum->item.bytes);
    subrequest_start(c->router, put);
    return true;
}

static bool counter_read_ends(struct subrequest *s, const struct reply *reply, struct reply *sum)
{
    struct counter_read *read = s->counter;
    struct call *c = s->call;
    if (read->step == COUNTER_TOTAL)
        return counter_read_takes_total(read, s, reply, sum);
    if (read->step == COUNTER_KEEP) { /* whether it was kept or not */
        *sum = read->sum;
        return true;
    }
    counter_read_keep(read, c, reply);
    if (--read->left > 0)
        return false;
    const struct sharded_key *k = counter_key(s, read->original.get.key);
    if (!read->refused && read->stale && k != NULL && sharded_key_shrinks(k)) {
        route_renew(c->router, s->route);
        s->busy = counter_shrinks;
    } else if (!read->refused && read->stale && read->turns < TURNS_MAX) {
        struct subrequest *first = call_request(c, s->route, REQUEST_GET);
        counter_read_start(read, first);
        return false;
    }
    *sum = counter_read_sum(read, s);
    return !counter_read_keeps(read, s, sum);
}

bool counter_read_takes(struct subrequest *s, const struct reply *reply, struct reply *sum)
{
    if (!counter_read_ends(s, reply, sum))
        return false;
    s->request = s->counter->original; /* as the operation made it */
    return true;
}
