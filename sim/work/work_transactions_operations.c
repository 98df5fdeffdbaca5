/* work_transactions_operations.c - which operations clients of transactions choose, and how the
 * history begins them. */

#include "base/probe.h"
#include "sim/work/work_streams.h"
#include "sim/work/work_transactions_internal.h"

enum {
    PARTS_FEW = 4, /* of most transactions */
    PAGE_MAX = 4   /* items, if a page has a limit */
};

/* ---- what to read ---- */

static bool has_key(const struct transaction_client *c, uint32_t key)
{
    for (uint32_t i = 0; i < c->part_count; i++) {
        if (c->parts[i].key == key)
            return true;
    }
    return false;
}

/* Different keys, in c->parts. Few, now and then many. */
static void choose_keys(struct transaction_client *c, uint32_t max)
{
    const uint32_t keys = MIN(transactions_of(c)->plan->work_lists, max);
    const uint32_t few = MIN(keys, PARTS_FEW);
    uint32_t count = 1 + transaction_below(c, few);
    if (transaction_often(c, 10))
        count = 1 + transaction_below(c, keys);
    if (c->single)
        count = 1;
    c->part_count = 0;
    while (c->part_count < count) {
        const uint32_t key = transaction_below(c, transactions_of(c)->plan->work_lists);
        if (!has_key(c, key))
            c->parts[c->part_count++] = (struct list_part){.key = key};
    }
}

static uint32_t part_keys(const struct transaction_client *c,
                          uint32_t keys[WORK_TRANSACTION_PARTS_MAX])
{
    for (uint32_t i = 0; i < c->part_count; i++)
        keys[i] = c->parts[i].key;
    return c->part_count;
}

void transaction_begin_read(struct transaction_client *c)
{
    struct work_transactions *t = transactions_of(c);
    uint32_t keys[WORK_TRANSACTION_PARTS_MAX];
    if (!c->insists) {
        c->single = transaction_often(c, 40);
        c->marks = !c->single && transaction_often(c, 30);
        choose_keys(c, c->marks ? WORK_TRANSACTION_PARTS_MAX / 2 : WORK_TRANSACTION_PARTS_MAX);
    }
    const uint32_t count = part_keys(c, keys);
    c->place = serial_begin(&t->history, transactions_now(t), 0, keys, count);
}

static void choose_many(struct transaction_client *c)
{
    const struct plan *p = transactions_of(c)->plan;
    c->read = (struct list_read){
        .limit = transaction_often(c, 40) ? 1 + transaction_below(c, PAGE_MAX) : 0};
    if (transaction_often(c, 40)) {
        c->read.first = transaction_below(c, WORK_TRANSACTION_TABLES);
        return;
    }
    const uint32_t sorted = p->work_lists / WORK_TRANSACTION_TABLES;
    c->read.range = p->workload.indexed ? LIST_QUERY + transaction_below(c, 3) : LIST_QUERY;
    c->read.first = WORK_TRANSACTION_TABLES * transaction_below(c, sorted) + 1;
    if (list_is_by_index(&c->read))
        c->read.limit = 0;
}

/* Each list is an operation of the history. */
void transaction_begin_read_many(struct transaction_client *c)
{
    struct work_transactions *t = transactions_of(c);
    if (!c->insists)
        choose_many(c);
    buffer_clear(&c->after);
    c->place = t->history.count;
    for (uint32_t key = 0; key < t->plan->work_lists; key++) {
        c->known[key].named = false;
        if (list_is_in(&c->read, key))
            serial_begin(&t->history, transactions_now(t), 0, &key, 1);
    }
}

/* ---- what to write ---- */

/* Checks and puts that replace a list are about lists that were read. Those that were read last are
 * likely to be still so. */
static void choose_act(struct transaction_client *c, struct list_part *part, bool fresh)
{
    const struct known_list *k = &c->known[part->key];
    const uint32_t appends = fresh ? 25 : 60, replaces = fresh ? 40 : 75;
    const uint32_t draw = transaction_below(c, 100);
    part->act = !k->known || draw < appends ? LIST_APPEND
                : draw < replaces           ? LIST_REPLACE
                                            : LIST_CHECK;
    part->seen = part->act == LIST_APPEND ? (struct serial_list){0} : k->list;
}

static bool part_writes(const struct list_part *part)
{
    return part->act == LIST_APPEND || part->act == LIST_REPLACE;
}

/* Marks of lists that the transaction appends to. */
static void choose_marks(struct transaction_client *c)
{
    const uint32_t lists = c->part_count;
    for (uint32_t i = 0; i < lists && c->part_count < WORK_TRANSACTION_PARTS_MAX; i++) {
        if (!part_writes(&c->parts[i]) || !transaction_often(c, 20))
            continue;
        c->parts[c->part_count++] =
            (struct list_part){.act = transaction_often(c, 60) ? LIST_PUT_MARK : LIST_DELETE_MARK,
                               .key = c->parts[i].key};
    }
}

/* The first part decides where the transaction is decided, and is of any kind. */
static void shuffle_parts(struct transaction_client *c)
{
    for (uint32_t i = c->part_count; i > 1; i--) {
        const uint32_t other = transaction_below(c, i);
        const struct list_part part = c->parts[other];
        c->parts[other] = c->parts[i - 1];
        c->parts[i - 1] = part;
    }
}

/* The transaction is decided at this part's partition, if it is the first part. */
static void add_anchor(struct transaction_client *c)
{
    if (!transactions_of(c)->anchors || c->part_count == WORK_TRANSACTION_PARTS_MAX ||
        !transaction_often(c, 80))
        return;
    memmove(&c->parts[1], &c->parts[0], c->part_count * sizeof c->parts[0]);
    c->parts[0] = (struct list_part){.act = LIST_ANCHOR, .key = transactions_of(c)->numbers};
    c->part_count++;
}

static void choose_parts(struct transaction_client *c)
{
    const bool fresh = c->fresh && transaction_often(c, 75);
    c->fails = c->fresh = false;
    if (!fresh) {
        c->single = transaction_often(c, 20);
        choose_keys(c, WORK_TRANSACTION_PARTS_MAX);
    }
    if (c->single)
        return;
    for (uint32_t i = 0; i < c->part_count; i++)
        choose_act(c, &c->parts[i], fresh);
    const uint32_t last = c->part_count - 1;
    c->fails = last > 0 && transaction_often(c, 5);
    if (c->fails)
        c->parts[last].act = LIST_FAIL;
    c->parts[0].act = part_writes(&c->parts[0]) ? c->parts[0].act : LIST_APPEND;
    choose_marks(c);
    shuffle_parts(c);
    add_anchor(c);
}

static void note_marks(struct transaction_client *c, uint32_t key, uint32_t index)
{
    for (uint32_t i = 0; i < c->part_count; i++) {
        const enum list_act act = c->parts[i].act;
        if (c->parts[i].key == key && (act == LIST_PUT_MARK || act == LIST_DELETE_MARK))
            serial_marks(&transactions_of(c)->history, c->place, index,
                         act == LIST_PUT_MARK ? SERIAL_MARK_PUT : SERIAL_MARK_DELETED);
    }
}

/* Bytes in each of the items besides. */
static uint32_t choose_pad(struct transaction_client *c)
{
    const struct plan *p = transactions_of(c)->plan;
    const uint32_t max = work_streams_has_lists(p) ? 0 : p->work_list_pad;
    return max == 0 || !transaction_often(c, 15)
               ? 0
               : 1 + transaction_below(c, transaction_often(c, 50) ? max : max / 16 + 1);
}

/* The operation of c->parts, in the history. */
static void record_write(struct transaction_client *c)
{
    struct work_transactions *t = transactions_of(c);
    uint32_t keys[WORK_TRANSACTION_PARTS_MAX], count = 0;
    for (uint32_t i = 0; i < c->part_count; i++) {
        if (part_writes(&c->parts[i]))
            keys[count++] = c->parts[i].key;
    }
    c->op_number = c->token = ++t->numbers;
    c->place = serial_begin(&t->history, transactions_now(t), c->op_number, keys, count);
    c->unknown = c->done = false;
    c->pad = choose_pad(c);
    for (uint32_t i = 0; i < c->part_count; i++) {
        const struct list_part *part = &c->parts[i];
        if (part->act == LIST_REPLACE || part->act == LIST_CHECK)
            serial_condition(&t->history, c->place, part->key, serial_list_copy(&part->seen));
    }
    for (uint32_t i = 0; i < count; i++)
        note_marks(c, keys[i], i);
}

void transaction_begin_write(struct transaction_client *c)
{
    choose_parts(c);
    record_write(c);
}

/* ---- two requests with one token ---- */

struct transaction_client *transaction_find(struct transaction_client *c)
{
    struct work_transactions *t = transactions_of(c);
    const uint32_t count = t->clients.options.count;
    const uint32_t first = transaction_below(c, count);
    for (uint32_t i = 0; i < count; i++) {
        struct transaction_client *other = work_clients_at(&t->clients, (first + i) % count);
        if (other != c && other->client.step == TRANSACTION_APPEND && !other->single &&
            other->calls == 1)
            return other;
    }
    return NULL;
}

static bool may_have_rival(const struct transaction_client *c)
{
    const enum list_act act = c->parts[0].act;
    return act != LIST_PUT_MARK && act != LIST_DELETE_MARK && act != LIST_ANCHOR &&
           c->token == c->op_number;
}

/* Its first item is the same one: a token belongs to it (docs/decisions/0034). */
bool transaction_begin_rival(struct transaction_client *c, const struct transaction_client *other)
{
    if (!may_have_rival(other))
        return false;
    PROBE("a client uses the token of another client's transaction");
    c->single = c->fails = false;
    c->part_count = 1;
    c->parts[0] = (struct list_part){.act = LIST_APPEND, .key = other->parts[0].key};
    const uint32_t more = transaction_below(c, transactions_of(c)->plan->work_lists);
    if (more != c->parts[0].key)
        c->parts[c->part_count++] = (struct list_part){.act = LIST_APPEND, .key = more};
    record_write(c);
    c->token = other->token;
    serial_rivals(&transactions_of(c)->history, c->place, other->place);
    return true;
}
