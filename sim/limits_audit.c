/* limits_audit.c - the first client's last look, when nobody takes tokens any more. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/dynamo.h"
#include "sim/limit_page.h"
#include "sim/limits_internal.h"

enum {
    STEP_S = 60,       /* for what needs no merging */
    HALVINGS_MOST = 5, /* from the most shards that these limits allow to one */
    HALVING_S = 10,
};

/* How long the present step may take. By clocks that differ tokens come that much later. */
static struct duration audit_time(const struct limits *l, enum limit_audit audit)
{
    const int64_t halving_ms = HALVING_S * 1000 + l->options.merge_ms;
    const int64_t ms = l->options.spread_ms + STEP_S * 1000 +
                       (audit == AUDIT_SHAPE ? HALVINGS_MOST * halving_ms : 0);
    return duration_ms(ms);
}

struct duration limits_time(const struct limits *l)
{
    const int64_t steps_ns = audit_time(l, AUDIT_SHAPE).ns + 4 * audit_time(l, AUDIT_FULL).ns;
    return (struct duration){LIMIT_BUCKETS * steps_ns};
}

void audit_step(struct limit_client *c, enum limit_audit audit, uint32_t looked)
{
    struct limits *l = c->all;
    c->audit = audit;
    l->looked = looked;
    l->pause_ns = 0;
    l->tries = 0;
    l->tried = 0;
    l->fair = true;
    l->fair_rounds = 0;
    l->until = instant_add(limits_now(l), audit_time(l, audit));
    l->unanswered = 0;
    c->work = LIMIT_IDLE;
}

void audit_late(struct limit_client *c, const char *what, struct slice body)
{
    struct limits *l = c->all;
    l->pause_ns = limits_pause(&l->tries);
    if (!instant_before(limits_now(l), l->until))
        limits_wrong(l, what, body);
}

void audit_unanswered(struct limit_client *c, const char *what, struct slice body)
{
    struct limits *l = c->all;
    if (l->unanswered++ == 0)
        l->answer_until = instant_add(limits_now(l), audit_time(l, c->audit));
    l->pause_ns = limits_pause(&l->tries);
    if (!instant_before(limits_now(l), l->answer_until))
        limits_wrong(l, what, body);
}

/* ---- numbers in answers ---- */

/* A number with at most three decimals that follows the text, in thousandths. False: there is none. */
static bool mtok_after(struct slice *rest, const char *text, int64_t *out)
{
    const uint8_t *at = memmem(rest->data, rest->size, text, strlen(text));
    const uint8_t *end = rest->data + rest->size;
    if (at == NULL)
        return false;
    at += strlen(text);
    const bool negative = at < end && *at == '-';
    int64_t value = 0, decimals = -1;
    for (at += negative; at < end && ((*at >= '0' && *at <= '9') || *at == '.'); at++) {
        decimals += decimals >= 0 || *at == '.';
        if (*at != '.')
            value = value * 10 + (*at - '0');
    }
    for (decimals = decimals < 0 ? 0 : decimals; decimals < 3; decimals++)
        value *= 10;
    *out = negative ? -value : value;
    *rest = slice_make(at, (size_t)(end - at));
    return true;
}

/* ---- one shard ---- */

static void shape_answered(struct limit_client *c, int status, struct slice body)
{
    struct limits *l = c->all;
    const bool single = status == 200 && dynamo_says(body, "\"shards\":1,") &&
                        dynamo_says(body, "\"merging\":false");
    const bool none = status == 404; /* nobody took anything */
    if (single || none)
        audit_step(c, AUDIT_SHAPE, l->looked + 1);
    else
        audit_late(c, "a bucket that nobody uses has more than one shard", body);
}

/* ---- counting ---- */

/* The counts fit what the clients know (BOOKS-2), and there is not more than there was (BOOKS-3). */
static void count_check(struct limit_client *c, uint32_t bucket, uint32_t limit)
{
    struct limits *l = c->all;
    const struct limit_books *b = &l->books[bucket];
    const struct limit_items *i = &l->items[bucket];
    const int64_t least = books_least(b, limit), most = books_most(b, limit);
    const int64_t had = books_had_most(b, limit, limits_now(l));
    struct buffer text = {0};
    if (i->taken[limit] < least || i->taken[limit] > most)
        buffer_append_format(&text,
                             "bucket %s has counted %lld mtok of limit %u, and must have counted "
                             "%lld to %lld",
                             limits_entities[bucket], (long long)i->taken[limit], limit,
                             (long long)least, (long long)most);
    else if (c->audit == AUDIT_COUNT && i->tokens[limit] + i->taken[limit] > had)
        buffer_append_format(&text,
                             "bucket %s has %lld mtok of limit %u after %lld were taken, and had "
                             "at most %lld",
                             limits_entities[bucket], (long long)i->tokens[limit], limit,
                             (long long)i->taken[limit], (long long)had);
    if (text.size > 0)
        limits_wrong(l, "tokens", buffer_slice(&text));
    buffer_deinit(&text);
}

static void counts_check(struct limit_client *c)
{
    struct limits *l = c->all;
    struct buffer text = {0};
    for (uint32_t limit = 0; limit < BOOKS_LIMITS; limit++) {
        const struct limit_items *i = l->items;
        const int64_t kids = i[1].taken[limit] + i[2].taken[limit];
        for (uint32_t k = 0; k < LIMIT_BUCKETS; k++)
            count_check(c, k, limit);
        if (kids != i[LIMIT_TOP].taken[limit])
            buffer_append_format(&text,
                                 "limit %u of a parent counts %lld mtok, and %lld of its entities",
                                 limit, (long long)i[LIMIT_TOP].taken[limit], (long long)kids);
    }
    for (uint32_t k = 0; k < LIMIT_BUCKETS && c->audit == AUDIT_COUNT; k++) {
        const struct limit_items *i = &l->items[k];
        if (i->items > 0 && (i->count != 1 || i->open != 1 || i->merging))
            buffer_append_format(&text, "bucket %s has %u items, %u of them open, and %u shards%s",
                                 limits_entities[k], i->items, i->open, i->count,
                                 i->merging ? " that are being merged" : "");
    }
    if (text.size > 0)
        limits_wrong(l, "items", buffer_slice(&text));
    buffer_deinit(&text);
}

static void item_add(void *context, const struct limit_item *item)
{
    static const char *const names[BOOKS_LIMITS] = {"fast", "slow"};
    struct limits *l = (struct limits *)context;
    uint32_t bucket = 0;
    while (bucket < LIMIT_BUCKETS && !slice_is(item->name.entity, limits_entities[bucket]))
        bucket++;
    if (bucket == LIMIT_BUCKETS)
        return;
    struct limit_items *out = &l->items[bucket];
    out->items++;
    out->open += item->open;
    out->refused += item->refused;
    if (item->shard == 0) {
        out->epoch = item->epoch;
        out->count = item->count;
        out->merging = item->merging;
    }
    for (uint32_t i = 0; i < BOOKS_LIMITS; i++) {
        const struct limit_item_level level = limit_item_level(item, names[i]);
        out->taken[i] += level.taken;
        out->where[i] += level.taken * item->shard;
        out->tokens[i] += item->open ? level.tokens : 0;
        if (item->open && (out->open == 1 || level.capacity < out->capacity[0][i]))
            out->capacity[0][i] = level.capacity;
        if (item->open && level.capacity > out->capacity[1][i])
            out->capacity[1][i] = level.capacity;
    }
}

bool audit_counted(struct limit_client *c, int status, struct slice body)
{
    struct limits *l = c->all;
    if (status != 200) {
        audit_unanswered(c, "the items cannot be read", body);
        return false;
    }
    l->unanswered = 0;
    if (!limit_page_read(body, item_add, l, &l->next)) {
        limits_wrong(l, "the answer to a Scan cannot be read", body);
        return false;
    }
    return l->next.size == 0;
}

static void count_answered(struct limit_client *c, int status, struct slice body)
{
    struct limits *l = c->all;
    if (!audit_counted(c, status, body))
        return;
    counts_check(c);
    for (uint32_t i = 0; i < LIMIT_BUCKETS; i++)
        memcpy(l->counted[i], l->items[i].taken, sizeof l->counted[i]);
    l->refused = l->items[0].refused;
    if (c->audit == AUDIT_COUNT)
        audit_step(c, AUDIT_FLOOD, 0);
    else
        c->work = LIMIT_DONE;
}

void audit_write_count(struct limit_client *c)
{
    struct limits *l = c->all;
    c->work = LIMIT_SCAN;
    c->operation = "Scan";
    if (l->next.size == 0) {
        memset(l->items, 0, sizeof l->items);
        limit_page_first(&l->next);
    }
    buffer_append_slice(&c->body, buffer_slice(&l->next));
}

/* ---- full, and empty at once ---- */

static void full_answered(struct limit_client *c, int status, struct slice body)
{
    struct limits *l = c->all;
    struct books_rule rules[BOOKS_LIMITS];
    struct slice rest = body;
    bool full = status == 200;
    limits_rules(l, l->looked, LIMITS_LAST, rules);
    for (uint32_t i = 0; i < BOOKS_LIMITS && full; i++) {
        int64_t capacity, available;
        full = mtok_after(&rest, "\"capacity\":", &capacity) &&
               mtok_after(&rest, "\"available\":", &available);
        full = full && capacity == rules[i].capacity; /* the router knows the last limits */
        if (full && available > capacity)
            limits_wrong(l, "a bucket has more than its capacity", body);
        full = full && available == capacity;
    }
    if (full)
        audit_step(c, AUDIT_TAKE, l->looked);
    else
        audit_late(c, "a bucket that nobody uses does not get full", body);
}

static void take_all_write(struct limit_client *c)
{
    const struct limits *l = c->all;
    struct books_rule rules[BOOKS_LIMITS], top[BOOKS_LIMITS];
    c->bucket = l->looked;
    limits_rules(l, c->bucket, LIMITS_LAST, rules);
    limits_rules(l, LIMIT_TOP, LIMITS_LAST, top);
    for (uint32_t i = 0; i < BOOKS_LIMITS; i++) {
        const bool less = limits_group(c->bucket) == 1 && top[i].capacity < rules[i].capacity;
        c->amounts[i] = less ? top[i].capacity : rules[i].capacity;
    }
    limits_write_acquire(c, true, 0);
}

static void all_answered(struct limit_client *c, int status, struct slice body)
{
    if (status == 200 && c->work != LIMIT_TAKE) /* otherwise it is sent again */
        audit_step(c, AUDIT_FULL, c->all->looked + 1);
    else
        audit_late(c, "a bucket that is full cannot be emptied at once", body);
}

/* ---- steps ---- */

void audit_answered(struct limit_client *c, int status, struct slice body)
{
    if (c->all->wrong.size > 0 || c->audit == AUDIT_WAIT)
        return;
    switch (c->audit) {
    case AUDIT_SHAPE:
        shape_answered(c, status, body);
        break;
    case AUDIT_COUNT:
    case AUDIT_RECOUNT:
        c->work = LIMIT_IDLE;
        count_answered(c, status, body);
        return;
    case AUDIT_SET:
        if (c->work == LIMIT_IDLE)
            audit_step(c, c->all->looked == 0 ? AUDIT_TOLD : AUDIT_SET, c->all->looked + 1);
        else
            audit_late(c, "limits cannot be set", body);
        return;
    case AUDIT_FULL:
        full_answered(c, status, body);
        break;
    case AUDIT_TAKE:
        all_answered(c, status, body);
        return;
    case AUDIT_FLOOD:
    case AUDIT_GROW:
    case AUDIT_OPEN:
    case AUDIT_LEASE:
    case AUDIT_TOLD:
        trial_answered(c, status, body);
        return;
    case AUDIT_WAIT:
    case AUDIT_NONE:
        break;
    }
    c->work = LIMIT_IDLE;
}

/* Whether the step is over. */
static bool audit_goes_on(const struct limits *l, uint32_t count)
{
    return l->looked == count;
}

static void audit_begin(struct limit_client *c)
{
    struct limits *l = c->all;
    for (uint32_t i = 1; i < l->options.clients; i++) {
        if (l->clients[i].work != LIMIT_DONE)
            return;
    }
    audit_step(c, AUDIT_WAIT, 0);
    l->until = instant_add_ms(limits_now(l), LIMITS_QUIET_MS);
}

void audit_choose(struct limit_client *c)
{
    struct limits *l = c->all;
    if (c->audit == AUDIT_NONE)
        audit_begin(c);
    if (c->audit == AUDIT_WAIT && !instant_before(limits_now(l), l->until))
        audit_step(c, AUDIT_SHAPE, 0);
    if (c->audit == AUDIT_SHAPE && audit_goes_on(l, LIMIT_BUCKETS))
        audit_step(c, AUDIT_COUNT, 0);
    if (c->audit == AUDIT_SET && audit_goes_on(l, LIMIT_GROUPS))
        audit_step(c, AUDIT_FULL, 0);
    if (c->audit == AUDIT_FULL && audit_goes_on(l, LIMIT_TOP))
        audit_step(c, AUDIT_RECOUNT, 0);
    switch (c->audit) {
    case AUDIT_SHAPE:
        limits_write_look(c, "status", l->looked);
        break;
    case AUDIT_COUNT:
    case AUDIT_RECOUNT:
        audit_write_count(c);
        break;
    case AUDIT_SET:
        c->sets = l->looked;
        limits_write_set(c, l->looked, LIMITS_LAST);
        break;
    case AUDIT_FULL:
        limits_write_look(c, "available", l->looked);
        break;
    case AUDIT_TAKE:
        take_all_write(c);
        break;
    case AUDIT_FLOOD:
    case AUDIT_GROW:
    case AUDIT_OPEN:
    case AUDIT_LEASE:
    case AUDIT_TOLD:
        trial_choose(c);
        break;
    case AUDIT_NONE:
    case AUDIT_WAIT:
        break;
    }
}
