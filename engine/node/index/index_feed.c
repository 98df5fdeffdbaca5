/* index_feed.c - the changes that a partition's global indexes lack. */
#include <stdlib.h>

#include "base/probe.h"
#include "base/settings/indexes.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/index/index_feed_internal.h"
#include "engine/node/transaction/transactions.h"

enum {
    BACKLOG_PARTS = 5,         /* of index_backlog_ms; a new change may wait for so many of them, */
    WAIT_PARTS = 3,            /* lest it be too old if its index is away for a moment */
    PACE_PARTS = 4,            /* of index_backlog_ms; a window of index_feed_pace.h is one, */
    PACE_MS_MAX = 1250,        /* but not more */
    ACK_BYTES_MAX = 16 * 1024, /* of a log entry that deletes changes, but for the last one */
    AGE_MS_MAX =
        7 * 24 * 3600 * 1000 /* what is older counts as that old: wall clocks may be wrong */
};

_Static_assert(ACK_BYTES_MAX / CHANGE_HEAD_SIZE <= CHANGES_MAX, "an entry may have so many");

static struct index_feed *index_feed_of(const struct index_feeds *feeds, uint32_t partition)
{
    struct index_feed *f;
    LIST_FOREACH (f, &feeds->all, place) {
        if (f->partition == partition)
            return f;
    }
    return NULL;
}

struct index_feed *index_feed_live(const struct index_feeds *feeds, const struct partition *p)
{
    struct index_feed *f = index_feed_of(feeds, p->info.id);
    return f != NULL && p->led != 0 && f->term == p->led ? f : NULL;
}

/* ---- items ---- */

static void note_free(struct index_feed *f, const struct index_feed_note *n)
{
    if (!n->fills)
        TAILQ_REMOVE(&f->order, n->order, place);
    free(n->order);
}

static void item_free(struct index_feed *f, struct index_feed_item *item)
{
    struct index_feed_item *first = id_map_find(&f->by_hash, item->hash);
    if (first == item) {
        id_map_remove(&f->by_hash, item->hash);
        if (item->same_hash != NULL)
            id_map_add(&f->by_hash, item->hash, item->same_hash);
    } else {
        while (first->same_hash != item)
            first = first->same_hash;
        first->same_hash = item->same_hash;
    }
    TAILQ_REMOVE(&f->by_age, item, age);
    for (uint32_t i = 0; i < item->note_count; i++)
        note_free(f, &item->notes[i]);
    free(item->notes);
    buffer_deinit(&item->key);
    free(item);
    must(f->item_count > 0);
    f->item_count--;
}

static void items_free(struct index_feed *f, struct index_feed_items *items)
{
    while (!TAILQ_EMPTY(items)) {
        struct index_feed_item *item = TAILQ_FIRST(items);
        TAILQ_REMOVE(items, item, place);
        item_free(f, item);
    }
}

/* NULL: none. */
static struct index_feed_item *index_feed_item_find(const struct index_feed *f, uint64_t hash,
                                                    struct slice key)
{
    struct index_feed_item *item = id_map_find(&f->by_hash, hash);
    while (item != NULL && !slice_equal(buffer_slice(&item->key), key))
        item = item->same_hash;
    return item;
}

static struct index_feed_item *item_of(struct index_feed *f, struct slice key)
{
    const uint64_t hash = memtable_hash(f->seed, key) | 1; /* never 0 */
    struct index_feed_item *first = id_map_find(&f->by_hash, hash),
                           *item = index_feed_item_find(f, hash, key);
    if (item != NULL)
        return item;
    item = must_calloc(1, sizeof *item);
    item->hash = hash;
    buffer_set(&item->key, key);
    item->same_hash = first;
    if (first != NULL)
        id_map_remove(&f->by_hash, hash);
    id_map_add(&f->by_hash, hash, item);
    TAILQ_INSERT_TAIL(&f->ready, item, place);
    f->item_count++;
    return item;
}

/* Among the others, by the age of its oldest note. It is one of the youngest, unless the feed is
 * being loaded. */
static void item_place_by_age(struct index_feed *f, struct index_feed_item *item)
{
    struct index_feed_item *before = TAILQ_LAST(&f->by_age, index_feed_items);
    while (before != NULL && instant_before(item->notes[0].since, before->notes[0].since))
        before = TAILQ_PREV(before, index_feed_items, age);
    if (before == NULL)
        TAILQ_INSERT_HEAD(&f->by_age, item, age);
    else
        TAILQ_INSERT_AFTER(&f->by_age, before, item, age);
}

/* Changes are applied in the order of the log. Of those that are loaded the order is not known. */
static void note_put_in_order(struct index_feed *f, struct index_feed_note *n)
{
    if (f->loading) {
        TAILQ_INSERT_HEAD(&f->order, n->order, place);
        return;
    }
    n->order->index = index_feed_suffix_index(n->suffix);
    const struct index_feed_order *newest = TAILQ_LAST(&f->order, index_feed_orders);
    must(newest == NULL || newest->index <= n->order->index);
    TAILQ_INSERT_TAIL(&f->order, n->order, place);
}

struct index_feed_note *index_feed_note(struct index_feed *f, struct instant since,
                                        struct slice key, struct slice suffix, struct slice value,
                                        bool fills)
{
    struct index_feed_item *item = item_of(f, key);
    item->notes =
        must_grow(item->notes, item->note_count, &item->note_capacity, sizeof item->notes[0]);
    struct index_feed_note *n = &item->notes[item->note_count++];
    *n = (struct index_feed_note){.fills = fills, .since = since};
    if (item->note_count == 1 && !f->loading)
        item_place_by_age(f, item);
    n->order = must_calloc(1, sizeof *n->order + suffix.size + value.size);
    uint8_t *bytes = (uint8_t *)(n->order + 1);
    memcpy(bytes, suffix.data, suffix.size);
    memcpy(bytes + suffix.size, value.data, value.size);
    n->suffix = slice_make(bytes, suffix.size);
    n->parts = slice_make(bytes + suffix.size, value.size);
    if (!fills)
        note_put_in_order(f, n);
    index_feed_change_open(&n->parts);
    n->row_bytes = fills ? 0 : key.size + suffix.size + value.size;
    f->bytes += n->row_bytes;
    return n;
}

/* A change is as old as it says, whoever led then (FEED-4). A time in the future is now. */
static struct instant index_feed_since(const struct index_feeds *feeds, struct slice value)
{
    const int64_t age_ms = env_stamp_ms(feeds->env) - index_feed_change_open(&value);
    return age_ms <= 0 ? feeds->env->now
                       : (struct instant){feeds->env->now.ns - MIN(age_ms, AGE_MS_MAX) * NS_PER_MS};
}

static void index_feed_take(struct index_feeds *feeds, struct index_feed *f, struct slice row_key,
                            struct slice value)
{
    struct slice key;
    if (index_feed_key_split(row_key, &key) && index_feed_change_is_valid(value))
        index_feed_note(f, index_feed_since(feeds, value), key,
                        slice_make(key.data + key.size, INDEX_FEED_SUFFIX_SIZE), value, false);
}

static int index_feed_compare_ages(const void *a, const void *b)
{
    const struct index_feed_item *const *left = a, *const *right = b;
    const int64_t l = (*left)->notes[0].since.ns, r = (*right)->notes[0].since.ns;
    return (l > r) - (l < r);
}

/* Items that were loaded come in the order of their keys. The oldest is to be done first. */
static void index_feed_sort_by_age(struct index_feed *f)
{
    if (f->item_count == 0)
        return;
    struct index_feed_item **items = must_calloc(f->item_count, sizeof items[0]), *item;
    uint32_t count = 0;
    TAILQ_FOREACH (item, &f->ready, place)
        items[count++] = item;
    must(count == f->item_count);
    qsort(items, count, sizeof items[0], index_feed_compare_ages);
    for (uint32_t i = 0; i < count; i++) {
        TAILQ_REMOVE(&f->ready, items[i], place);
        TAILQ_INSERT_TAIL(&f->ready, items[i], place);
        TAILQ_INSERT_TAIL(&f->by_age, items[i], age);
    }
    free(items);
}

/* ---- life ---- */

static void index_feed_free(struct index_feeds *feeds, struct index_feed *f)
{
    struct index_feed_target *t;
    LIST_REMOVE(f, place);
    if (f->fill.on)
        env_reply_to(feeds->env, f->fill.from, f->fill.id, REPLY_OVERLOADED);
    internal_calls_end(feeds->calls, INTERNAL_CALL_INDEX_ROW, f->partition);
    internal_calls_end(feeds->calls, INTERNAL_CALL_INDEX_SESSION, f->partition);
    items_free(f, &f->ready);
    items_free(f, &f->waiting);
    items_free(f, &f->sent);
    items_free(f, &f->done);
    LIST_FOREACH (t, &f->targets, place)
        items_free(f, &t->waiting);
    index_feed_targets_free(f);
    id_map_deinit(&f->by_hash);
    buffer_deinit(&f->scratch);
    buffer_deinit(&f->fill.key);
    buffer_deinit(&f->fill.next);
    buffer_deinit(&f->acks);
    free(f->slots);
    free(f);
}

void index_feeds_deinit(struct index_feeds *feeds)
{
    while (!LIST_EMPTY(&feeds->all)) {
        LIST_FIRST(&feeds->all)->fill.on = false;
        index_feed_free(feeds, LIST_FIRST(&feeds->all));
    }
}

static void index_feed_lose(struct index_feed *f, const struct partition *p)
{
    f->lost = true;
    f->lost_at = raft_last(p->raft);
}

/* Whether a lost feed may begin anew. */
static bool index_feed_may_start(const struct index_feeds *feeds, const struct index_feed *f,
                                 const struct partition *p)
{
    return raft_applied(p->raft) >= f->lost_at && !instant_before(feeds->env->now, f->again_at);
}

/* An index that has not taken a change for a whole window holds the feed up. */
static void index_feed_begin_pace(const struct index_feeds *feeds, struct index_feed *f)
{
    const struct instant now = feeds->env->now;
    const int64_t ms = config_indexes(feeds->env->config)->index_backlog_ms;
    const int64_t part_ms = ms / PACE_PARTS < PACE_MS_MAX ? ms / PACE_PARTS : PACE_MS_MAX;
    const struct duration window = duration_ms(part_ms);
    const struct duration wait = {ms * NS_PER_MS / BACKLOG_PARTS * WAIT_PARTS};
    const struct index_feed_item *oldest = TAILQ_FIRST(&f->by_age);
    const bool held = oldest != NULL && instant_since(now, oldest->notes[0].since).ns > window.ns;
    index_feed_pace_begin(&f->pace, now, window, wait, held, f->item_count);
}

/* Reads the changes that earlier leaders have left. There are few: FEED-2. */
static void index_feed_load(struct index_feeds *feeds, struct index_feed *f,
                            const struct partition *p)
{
    struct store_cursor c;
    struct slice key, value;
    enum status status = STATUS_NOT_FOUND;
    store_seek(feeds->env->store,
               key_in_space(p->info.lo, SPACE_INDEX_FEED_KEYS, &feeds->env->lent),
               key_in_space(p->info.hi, SPACE_INDEX_FEED_KEYS, &feeds->env->lent), false, &c);
    f->loading = true;
    while (!MUTATED(MUTATION_LOSE_INDEX_CHANGES) &&
           (status = store_next(&c, &key, &value)) == STATUS_OK)
        index_feed_take(feeds, f, key, value);
    f->loading = false;
    index_feed_sort_by_age(f);
    index_feed_begin_pace(feeds, f);
    if (status == STATUS_NOT_FOUND)
        return;
    PROBE("a feed cannot read its changes");
    index_feed_lose(f, p);
    f->unread = true;
    f->again_at = instant_add_ms(feeds->env->now, INDEX_FEED_RETRY_MS);
}

static void index_feed_start(struct index_feeds *feeds, struct partition *p)
{
    struct index_feed *f = index_feed_of(feeds, p->info.id);
    if (f != NULL)
        index_feed_free(feeds, f);
    if (p->led == 0 || index_set_global(p->indexes) == 0)
        return;
    f = must_calloc(1, sizeof *f);
    f->seed = store_hash_seed(feeds->env->store);
    f->partition = p->info.id;
    f->term = p->led;
    p->index_refusal = (struct index_refusal){0};
    f->slots = must_calloc(INDEX_FEED_CALLS_MAX, sizeof f->slots[0]);
    TAILQ_INIT(&f->ready);
    TAILQ_INIT(&f->waiting);
    TAILQ_INIT(&f->sent);
    TAILQ_INIT(&f->done);
    TAILQ_INIT(&f->by_age);
    TAILQ_INIT(&f->order);
    LIST_INSERT_HEAD(&feeds->all, f, place);
    index_feed_load(feeds, f, p);
}

void index_feeds_begin(struct index_feeds *feeds, struct partition *p)
{
    struct index_feed *f = index_feed_live(feeds, p);
    if (f != NULL)
        index_feed_lose(f, p);
    else
        index_feed_start(feeds, p);
}

/* ---- changes ---- */

struct index_feed_lag index_feeds_lag(const struct index_feeds *feeds, const struct partition *p)
{
    const struct index_feed *f = index_feed_live(feeds, p);
    struct index_feed_lag lag = {.since = feeds->env->now};
    if (f == NULL)
        return lag;
    const struct index_feed_item *oldest = TAILQ_FIRST(&f->by_age);
    while (oldest != NULL && oldest->notes[0].fills) /* no write waits for them */
        oldest = TAILQ_NEXT(oldest, age);
    lag.items = f->item_count;
    lag.bytes = f->bytes + p->proposed_index_feed_bytes + transactions_index_feed_bytes(p);
    lag.since = oldest != NULL ? oldest->notes[0].since : feeds->env->now;
    return lag;
}

bool index_feeds_have_done(const struct index_feeds *feeds, const struct partition *p,
                           uint64_t index)
{
    const struct index_feed *f = index_feed_live(feeds, p);
    if (f == NULL)
        return index_set_global(p->indexes) == 0;
    const struct index_feed_order *oldest = TAILQ_FIRST(&f->order);
    return !f->lost && (oldest == NULL || oldest->index > index);
}

size_t index_feeds_bytes_max(const struct index_feeds *feeds)
{
    size_t max = 0;
    const struct index_feed *f;
    LIST_FOREACH (f, &feeds->all, place) {
        const struct partition *p = partitions_find(feeds->partitions, f->partition);
        const size_t bytes = p == NULL ? 0 : index_feeds_lag(feeds, p).bytes;
        max = MAX(bytes, max);
    }
    return max;
}

/* The index that refused a row last, or else one that lacks the oldest change; 0: all are on their
 * way through the log. */
static uint32_t index_feed_index_behind(const struct index_feeds *feeds, const struct partition *p)
{
    const struct index_feed *f = index_feed_live(feeds, p);
    const struct index_feed_item *oldest = f != NULL ? TAILQ_FIRST(&f->by_age) : NULL;
    struct index_feed_part part = {0};
    if (p->index_refusal.index != 0 || oldest == NULL)
        return p->index_refusal.index;
    struct slice parts = oldest->notes[0].parts;
    return index_feed_change_next(&parts, &part) ? part.table_id : 0;
}

bool index_feed_has(struct index_feeds *feeds, const struct index_feed *f, struct slice key)
{
    const struct slice twin = key_in_space(key, SPACE_INDEX_FEED_KEYS, &feeds->env->lent);
    return index_feed_item_find(f, memtable_hash(f->seed, twin) | 1, twin) != NULL;
}

/* Whether one more change would wait too long. No write waits for what fills an index. */
static bool index_feed_is_slow(const struct index_feeds *feeds, struct index_feed *f)
{
    if (f == NULL)
        return false;
    const uint32_t filling = f->fill.on ? f->fill.left : 0;
    const uint32_t waiting = f->item_count > filling ? f->item_count - filling : 0;
    return waiting >= index_feed_pace_room(&f->pace, feeds->env->now);
}

bool index_feeds_may_add(struct index_feeds *feeds, struct partition *p, size_t bytes,
                         struct admit_verdict *verdict)
{
    const struct config *config = feeds->env->config;
    const struct index_feed_lag lag = index_feeds_lag(feeds, p);
    struct index_feed *f = index_feed_live(feeds, p);
    const int64_t age_ns = instant_since(feeds->env->now, lag.since).ns;
    const bool late = index_feed_is_slow(feeds, f) ||
                      age_ns > config_indexes(config)->index_backlog_ms * NS_PER_MS;
    const bool known = f == NULL || !f->unread;
    if ((known && !late &&
         (int64_t)(lag.bytes + bytes) <= config_indexes(config)->index_backlog_bytes) ||
        MUTATED(MUTATION_NO_BACKLOG_BOUND))
        return true;
    /* When the index will have taken enough rows depends on the index's partitions: no time is
     * told. */
    *verdict = (struct admit_verdict){.reason = ADMIT_REFUSED_INDEX,
                                      .index = index_feed_index_behind(feeds, p),
                                      .member = p->index_refusal.partition,
                                      .cause = (enum admit_reason)p->index_refusal.reason};
    return false;
}

void index_feeds_added(struct index_feeds *feeds, const struct partition *p, struct slice row_key,
                       struct slice value)
{
    struct index_feed *f = index_feed_live(feeds, p);
    if (f == NULL)
        return;
    index_feed_take(feeds, f, row_key, value);
}

void index_feeds_removed(struct index_feeds *feeds, const struct partition *p, struct slice row_key,
                         size_t value_size)
{
    struct index_feed *f = index_feed_live(feeds, p);
    const size_t bytes = row_key.size + value_size;
    if (f != NULL)
        f->bytes -= MIN(bytes, f->bytes);
}

/* ---- what is done ---- */

/* Appends rows of covered notes as deletions, and forgets the notes, until the entry is large
 * enough. */
static void item_append_acks(struct index_feeds *feeds, struct index_feed *f,
                             struct index_feed_item *item, struct buffer *out)
{
    uint32_t count = 0;
    must(item->covered >= 1 && item->covered <= item->note_count);
    for (; count < item->covered && out->size < ACK_BYTES_MAX; count++) {
        struct index_feed_note *n = &item->notes[count];
        if (n->fills) {
            note_free(f, n);
            if (n->of_piece)
                index_feed_filled(feeds, f);
            continue;
        }
        buffer_set(&f->scratch, buffer_slice(&item->key));
        buffer_append_slice(&f->scratch, n->suffix);
        const struct change c = {.space = SPACE_INDEX_FEED,
                                 .key = buffer_slice(&f->scratch),
                                 .old_size = (int64_t)(n->row_bytes - f->scratch.size)};
        change_set_append(out, &c);
        note_free(f, n);
    }
    item->note_count -= count;
    item->covered -= count;
    item->tried_notes = 0;
    memmove(item->notes, item->notes + count, item->note_count * sizeof item->notes[0]);
}

/* All covered notes of the item are done. */
static void item_rest(struct index_feed *f, struct index_feed_item *item)
{
    must(item->covered == 0 && item->awaited == 0);
    TAILQ_REMOVE(&f->done, item, place);
    if (item->note_count == 0) {
        item_free(f, item);
        return;
    }
    TAILQ_INSERT_TAIL(&f->ready, item, place);
    TAILQ_REMOVE(&f->by_age, item, age); /* its oldest note is a younger one now */
    item_place_by_age(f, item);
}

/* Proposes to delete changes that the indexes have. False: not now. */
static bool index_feed_propose_done(struct index_feeds *feeds, struct index_feed *f,
                                    struct partition *p)
{
    const struct operation o = {.from = FROM_SELF};
    const size_t max = ACK_BYTES_MAX + STORAGE_KEY_SIZE_MAX + CHANGE_HEAD_SIZE;
    struct buffer *out = &f->acks;
    if (!proposals_may_write(feeds->proposals, &o, max) ||
        !raft_driver_may_propose(feeds->driver, p, &o, max))
        return false;
    buffer_clear(out);
    change_set_begin(out, 0, 0);
    while (!TAILQ_EMPTY(&f->done) && out->size < ACK_BYTES_MAX) {
        struct index_feed_item *item = TAILQ_FIRST(&f->done);
        item_append_acks(feeds, f, item, out);
        if (item->covered == 0)
            item_rest(f, item);
    }
    if (out->size > CHANGE_SET_HEAD_SIZE &&
        raft_driver_propose(feeds->driver, p, &o, LOG_WRITE, buffer_slice(out),
                            slice_make(NULL, 0)) == NULL)
        index_feed_lose(f, p); /* it finds the changes in the store */
    return !f->lost;
}

/* ---- turns ---- */

/* As many items as the target has room for, in their order. */
static void target_wake(const struct index_feeds *feeds, struct index_feed *f,
                        struct index_feed_target *t)
{
    struct index_feed_item *item;
    if (instant_before(feeds->env->now, t->until))
        return;
    for (uint32_t room = index_feed_target_room(t);
         room > 0 && (item = TAILQ_FIRST(&t->waiting)) != NULL; room--) {
        TAILQ_REMOVE(&t->waiting, item, place);
        TAILQ_INSERT_TAIL(&f->ready, item, place);
        item->woken = true;
    }
}

static void index_feed_wake(struct index_feeds *feeds, struct index_feed *f)
{
    struct index_feed_item *item = TAILQ_FIRST(&f->waiting), *next;
    struct index_feed_target *t;
    LIST_FOREACH (t, &f->targets, place)
        target_wake(feeds, f, t);
    for (; item != NULL; item = next) {
        next = TAILQ_NEXT(item, place);
        if (instant_before(feeds->env->now, item->at))
            continue;
        TAILQ_REMOVE(&f->waiting, item, place);
        TAILQ_INSERT_TAIL(&f->ready, item, place);
    }
}

/* An item that has waited before goes to the front of the queue, behind those of its kind that are
 * older: at most INDEX_FEED_CALLS_MAX. */
static void item_wait_again(struct index_feed_items *queue, struct index_feed_item *item)
{
    struct index_feed_item *next = TAILQ_FIRST(queue);
    while (next != NULL && instant_before(next->notes[0].since, item->notes[0].since))
        next = TAILQ_NEXT(next, place);
    if (next != NULL)
        TAILQ_INSERT_BEFORE(next, item, place);
    else
        TAILQ_INSERT_TAIL(queue, item, place);
}

/* An item whose round did not begin, or failed. */
static void item_wait(struct index_feed *f, struct index_feed_item *item, bool again)
{
    if (item->target == NULL)
        TAILQ_INSERT_TAIL(&f->waiting, item, place);
    else if (again)
        item_wait_again(&item->target->waiting, item);
    else
        TAILQ_INSERT_TAIL(&item->target->waiting, item, place);
}

/* A part of an item's round is over, and all of it is written. True: the round is. */
static bool item_go_on(struct index_feed *f, const struct partition *p,
                       struct index_feed_item *item)
{
    const bool over = index_feed_part_is_last(p, item);
    if (over)
        TAILQ_INSERT_TAIL(&f->done, item, place);
    else
        TAILQ_INSERT_HEAD(&f->ready, item, place);
    return over;
}

static void index_feed_run(struct index_feeds *feeds, struct index_feed *f, struct partition *p)
{
    index_feed_confirm(f, p);
    index_feed_wake(feeds, f);
    f->turn_bytes = 0;
    while (!TAILQ_EMPTY(&f->ready) && f->calls < INDEX_FEED_CALLS_MAX &&
           f->turn_bytes < INDEX_FEED_TURN_BYTES) {
        struct index_feed_item *item = TAILQ_FIRST(&f->ready);
        TAILQ_REMOVE(&f->ready, item, place);
        const bool sent = index_feed_send(feeds, f, p, item);
        if (sent && item->awaited > 0)
            TAILQ_INSERT_TAIL(&f->sent, item, place);
        else if (sent)
            item_go_on(f, p, item);
        else
            item_wait(f, item, item->woken);
        item->woken = false;
    }
    while (!TAILQ_EMPTY(&f->done) && index_feed_propose_done(feeds, f, p))
        ;
    if (f->item_count == 0)
        p->index_refusal = (struct index_refusal){0};
}

void index_feeds_end_turn(struct index_feeds *feeds)
{
    struct index_feed *f = LIST_FIRST(&feeds->all), *next;
    for (; f != NULL; f = next) {
        next = LIST_NEXT(f, place);
        struct partition *p = partitions_find(feeds->partitions, f->partition);
        if (p == NULL || p->led == 0 || p->closing || p->ended)
            index_feed_free(feeds, f);
        else if (p->led != f->term || (f->lost && index_feed_may_start(feeds, f, p)))
            index_feed_start(feeds, p);
        else if (p->frozen.index == 0 && !f->lost)
            index_feed_run(feeds, f, p);
    }
}

struct instant index_feeds_deadline(const struct index_feeds *feeds)
{
    struct instant at = INSTANT_NEVER;
    const struct index_feed *f;
    const struct index_feed_item *item;
    const struct index_feed_target *t;
    LIST_FOREACH (f, &feeds->all, place) {
        if (f->lost) { /* entries that are applied come by themselves */
            if (instant_before(feeds->env->now, f->again_at))
                at = instant_earlier(at, f->again_at);
            continue;
        }
        const struct partition *p = partitions_find(feeds->partitions, f->partition);
        if (p != NULL && p->frozen.index != 0) /* the thaw begins it anew */
            continue;
        LIST_FOREACH (t, &f->targets, place) {
            if (!TAILQ_EMPTY(&t->waiting) && index_feed_target_room(t) > 0 &&
                f->calls < INDEX_FEED_CALLS_MAX)
                at = instant_earlier(at, t->until);
        }
        if (!TAILQ_EMPTY(&f->ready) && f->calls < INDEX_FEED_CALLS_MAX)
            at = instant_earlier(at, feeds->env->now);
        TAILQ_FOREACH (item, &f->waiting, place)
            at = instant_earlier(at, item->at);
        if (!TAILQ_EMPTY(&f->done))
            at = instant_earlier(at, instant_add_ms(feeds->env->now, INDEX_FEED_RETRY_MS));
    }
    return at;
}

void index_feeds_answered(struct index_feeds *feeds, const struct internal_call_answer *answer)
{
    struct index_feed *f = index_feed_of(feeds, answer->subject);
    struct partition *p = partitions_find(feeds->partitions, answer->subject);
    struct index_feed_item *item;
    if (f == NULL || p == NULL || p->led != f->term)
        return; /* the next turn ends the feed */
    if (answer->kind == INTERNAL_CALL_INDEX_SESSION) {
        index_feed_session_answered(feeds, f, p, answer);
    } else if (index_feed_row_answered(feeds, f, p, answer, &item)) {
        TAILQ_REMOVE(&f->sent, item, place);
        if (item->failed) {
            index_feed_part_failed(item);
            item_wait(f, item, true);
        } else if (item_go_on(f, p, item)) {
            index_feed_pace_done(&f->pace, feeds->env->now);
        }
    }
}
