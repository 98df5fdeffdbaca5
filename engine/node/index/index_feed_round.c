/* index_feed_round.c - brings the rows of an item up to date, in one round of requests. */
#include <stdlib.h>

#include "engine/index/row.h"
#include "engine/message/index_messages.h"
#include "engine/node/core/owned_keys.h"
#include "engine/node/index/index_feed_internal.h"

enum {
    REQUEST_SHIFT = 16,
    SLOT_SHIFT = 24, /* a call's token: the item's slot | the request | the number of the target */
    SESSION_MS = 2000, /* how long a session is asked for */
    WAIT_MS_MIN = 1,   /* after a throttled row */
    WAIT_MS_MAX = 1000,
};

_Static_assert(INDEX_FEED_CALLS_MAX <= 256 && INDEX_FEED_REQUESTS_MAX <= 256, "both fit a token");

/* A row to be written. */
struct row_write {
    struct index_feed_target *target;
    const struct partition_info *info;
    struct slice key;
    struct slice row; /* data NULL: the row goes */
    uint32_t number;  /* of the request in the round */
};

struct round {
    struct index_feeds *feeds;
    struct index_feed *feed;
    struct partition *p;
    struct index_feed_item *item;
    struct slice key;   /* the item's storage key */
    struct slice value; /* the item; empty: none */
    struct row_write *writes;
    uint32_t count;
};

/* ---- targets ---- */

void index_feed_targets_free(struct index_feed *f)
{
    while (!LIST_EMPTY(&f->targets)) {
        struct index_feed_target *t = LIST_FIRST(&f->targets);
        LIST_REMOVE(t, place);
        free(t);
    }
}

static struct index_feed_target *target_find(const struct index_feed *f, uint32_t partition)
{
    struct index_feed_target *t;
    LIST_FOREACH (t, &f->targets, place) {
        if (t->partition == partition)
            return t;
    }
    return NULL;
}

bool index_feed_has_session(const struct index_feed *f, uint32_t partition)
{
    const struct index_feed_target *t = target_find(f, partition);
    return t != NULL && t->state == TARGET_READY;
}

static struct index_feed_target *target_numbered(const struct index_feed *f, uint32_t number)
{
    struct index_feed_target *t;
    LIST_FOREACH (t, &f->targets, place) {
        if (t->number == number)
            return t;
    }
    return NULL;
}

static struct index_feed_target *target_of(struct index_feed *f, uint32_t table_id,
                                           uint32_t partition)
{
    struct index_feed_target *t = target_find(f, partition);
    if (t != NULL)
        return t;
    t = must_calloc(1, sizeof *t);
    t->table_id = table_id;
    t->partition = partition;
    t->number = f->target_count++;
    t->out_max = INDEX_FEED_CALLS_MAX;
    TAILQ_INIT(&t->waiting);
    LIST_INSERT_HEAD(&f->targets, t, place);
    return t;
}

/* The session is of no use any more. */
static void target_lose(struct index_feeds *feeds, struct index_feed_target *t)
{
    t->state = TARGET_NONE;
    t->out_max = INDEX_FEED_CALLS_MAX;
    t->until = instant_add_ms(feeds->env->now, INDEX_FEED_RETRY_MS);
    index_maps_refresh(feeds->maps, t->table_id);
}

static void target_request_session(struct index_feeds *feeds, const struct index_feed *f,
                                   const struct partition *p, struct index_feed_target *t,
                                   const struct partition_info *info)
{
    struct internal_call_options options = {.kind = INTERNAL_CALL_INDEX_SESSION,
                                            .subject = f->partition,
                                            .token = t->partition,
                                            .timeout = duration_ms(SESSION_MS)};
    internal_calls_to_leader(&options, info);
    struct request request = {
        .op = REQUEST_INDEX_SESSION, .partition = info->id, .epoch = info->epoch};
    *request_edit_session(&request) = (struct request_session){p->info.lo, p->info.hi};
    t->state = TARGET_REQUESTED;
    internal_calls_begin(feeds->calls, &options, &request);
}

void index_feed_confirm(struct index_feed *f, const struct partition *p)
{
    struct index_feed_target *t;
    LIST_FOREACH (t, &f->targets, place) {
        if (t->state == TARGET_CONFIRMING && raft_reads_confirmed(p->raft) >= t->round)
            t->state = TARGET_READY;
    }
}

uint32_t index_feed_target_room(const struct index_feed_target *t)
{
    const bool opens = t->state == TARGET_REQUESTED || t->state == TARGET_CONFIRMING;
    return opens || t->out >= t->out_max ? 0 : t->out_max - t->out;
}

void index_feed_session_answered(struct index_feeds *feeds, struct index_feed *f,
                                 struct partition *p, const struct internal_call_answer *answer)
{
    struct index_feed_target *t = target_find(f, answer->token);
    const struct reply *r = answer->reply;
    if (t == NULL || t->state != TARGET_REQUESTED)
        return;
    if (r->code != REPLY_OK || r->kind != ANSWER_SESSION) {
        target_lose(feeds, t);
        return;
    }
    t->node = answer->node;
    t->session = reply_session(r)->id;
    t->state = TARGET_CONFIRMING;
    const enum raft_outcome outcome = raft_read(p->raft, feeds->env->now, &t->round);
    raft_driver_stepped(feeds->driver, p);
    if (outcome == RAFT_OK)
        t->round = 0; /* confirmed already */
    else if (outcome != RAFT_PENDING)
        target_lose(feeds, t);
}

/* ---- what to write ---- */

/* Whether the item must wait in the target's queue. Items that come now wait behind older ones. */
static bool target_is_shut(const struct round *round, const struct index_feed_target *t)
{
    return instant_before(round->feeds->env->now, t->until) || index_feed_target_room(t) == 0 ||
           (!round->item->woken && !TAILQ_EMPTY(&t->waiting));
}

static bool item_has_written(const struct index_feed_item *item, uint32_t number)
{
    return (item->written[number / 64] >> number % 64 & 1) != 0;
}

/* False: the round must wait, for round->item->target or until round->item->at. */
static bool round_add(struct round *round, uint32_t table_id, struct slice key, struct slice row,
                      uint32_t number)
{
    struct index_feeds *feeds = round->feeds;
    struct index_feed_item *item = round->item;
    round->feed->turn_bytes += key.size + row.size;
    const struct table *map = index_maps_find(feeds->maps, table_id);
    item->at = instant_add_ms(feeds->env->now, INDEX_FEED_RETRY_MS);
    if (map == NULL)
        return false;
    const struct partition_info *info = table_partition_of(map, key);
    struct index_feed_target *t = target_of(round->feed, table_id, info->id);
    const bool shut = target_is_shut(round, t);
    if (!shut && t->state == TARGET_NONE)
        target_request_session(feeds, round->feed, round->p, t, info);
    if (shut || t->state != TARGET_READY) {
        item->target = t;
        return false;
    }
    round->writes[round->count++] = (struct row_write){t, info, key, row, number};
    return true;
}

/* Whether a note before `place` names the same row. */
static bool round_was_named(const struct round *round, uint32_t place, uint32_t table_id,
                            struct slice key)
{
    struct index_feed_part part;
    for (uint32_t i = 0; i < place; i++) {
        for (struct slice parts = round->item->notes[i].parts;
             index_feed_change_next(&parts, &part);)
            if (part.table_id == table_id && slice_equal(part.old_row, key))
                return true;
    }
    return false;
}

/* Adds what the covered notes and the item's present state ask of the index with this place. */
static bool round_add_index(struct round *round, uint32_t place)
{
    const struct index *x = index_set_global_at(round->p->indexes, place);
    const uint32_t first = place * (INDEX_FEED_COVERED_MAX + 1),
                   put = first + INDEX_FEED_COVERED_MAX;
    struct arena *arena = &round->feeds->env->lent;
    const struct index_set *set = round->p->indexes;
    struct buffer key = {0}, row = {0};
    struct index_feed_part part;
    const bool has = index_global_append_key(&key, x, round->key, round->value);
    struct slice present = arena_copy(arena, buffer_slice(&key)), shown = {NULL, 0};
    bool named = false, added = true;
    if (has && !item_has_written(round->item, put)) {
        index_row_append(&row, set, x, round->value);
        shown = arena_copy(arena, buffer_slice(&row));
    }
    for (uint32_t i = 0; i < round->item->covered; i++) {
        for (struct slice parts = round->item->notes[i].parts;
             index_feed_change_next(&parts, &part);) {
            if (part.table_id != x->table_id)
                continue;
            named = true;
            if (part.old_row.size > 0 && !MUTATED(MUTATION_KEEP_OLD_GLOBAL) &&
                !(has && slice_equal(part.old_row, present)) &&
                !round_was_named(round, i, x->table_id, part.old_row) &&
                !item_has_written(round->item, first + i))
                added = added &&
                        round_add(round, x->table_id, part.old_row, slice_make(NULL, 0), first + i);
        }
    }
    if (named && shown.data != NULL && !MUTATED(MUTATION_SKIP_CHANGE))
        added = added && round_add(round, x->table_id, present, shown, put);
    buffer_deinit(&key);
    buffer_deinit(&row);
    return added;
}

/* ---- sending ---- */

static uint32_t index_feed_free_slot(const struct index_feed *f)
{
    uint32_t slot = 0;
    while (slot < INDEX_FEED_CALLS_MAX && f->slots[slot] != NULL)
        slot++;
    return slot;
}

static void round_send(const struct round *round, const struct row_write *w)
{
    const struct internal_call_options options = {.kind = INTERNAL_CALL_INDEX_ROW,
                                                  .subject = round->feed->partition,
                                                  .token = round->item->slot << SLOT_SHIFT |
                                                           w->number << REQUEST_SHIFT |
                                                           (w->target->number & UINT16_MAX),
                                                  .candidate_count = 1,
                                                  .candidates = {w->target->node},
                                                  .once = true,
                                                  .timeout = duration_ms(INDEX_FEED_TIMEOUT_MS)};
    const struct request request = {
        .op = w->row.data != NULL ? REQUEST_PUT : REQUEST_DELETE,
        .partition = w->info->id,
        .epoch = w->info->epoch,
        .write = {
            .key = w->key, .item = w->row, .origin = WRITE_BY_FEED, .session = w->target->session}};
    w->target->out++;
    internal_calls_begin(round->feeds->calls, &options, &request);
}

static void round_begin(struct index_feed_item *item)
{
    item->covered = MIN(item->note_count, INDEX_FEED_COVERED_MAX);
    item->part = 0;
    if (item->tried_notes != item->note_count)
        memset(item->written, 0, sizeof item->written);
    item->tried_notes = item->note_count;
}

bool index_feed_part_is_last(const struct partition *p, struct index_feed_item *item)
{
    item->part = item->part_end;
    return item->part == index_set_global(p->indexes);
}

/* Newer notes join a round of which no part is done. */
void index_feed_part_failed(struct index_feed_item *item)
{
    if (item->part == 0)
        item->covered = 0;
}

bool index_feed_send(struct index_feeds *feeds, struct index_feed *f, struct partition *p,
                     struct index_feed_item *item)
{
    struct arena *arena = &feeds->env->lent;
    struct round round = {feeds, f, p, item, .count = 0};
    const uint32_t slot = index_feed_free_slot(f);
    item->at = instant_add_ms(feeds->env->now, INDEX_FEED_RETRY_MS);
    item->target = NULL;
    round.key = key_in_space(buffer_slice(&item->key), 0, arena);
    const enum status status = store_get(feeds->env->store, round.key, true, &round.value);
    if (slot == INDEX_FEED_CALLS_MAX || (status != STATUS_OK && status != STATUS_NOT_FOUND) ||
        (status == STATUS_OK && item_check(round.value) != STATUS_OK))
        return false;
    if (status == STATUS_NOT_FOUND)
        round.value = slice_make(NULL, 0);
    if (item->covered == 0)
        round_begin(item);
    round.writes = arena_alloc(arena, INDEX_FEED_REQUESTS_MAX * sizeof *round.writes);
    item->part_end = item->part;
    while (item->part_end < index_set_global(p->indexes) &&
           (item->part_end == item->part || f->turn_bytes < INDEX_FEED_TURN_BYTES)) {
        if (!round_add_index(&round, item->part_end++)) {
            index_feed_part_failed(item);
            return false;
        }
    }
    item->slot = slot;
    item->failed = false;
    item->awaited = round.count;
    for (uint32_t i = 0; i < round.count; i++)
        round_send(&round, &round.writes[i]);
    if (round.count > 0)
        f->slots[slot] = item;
    f->calls += round.count;
    return true;
}

/* ---- answers ---- */

/* Feeds of other partitions write to the target too, and a bucket fills in steps. The wait has a
 * random part, so that no feed comes just before each step for ever. */
static void row_refused(const struct index_feeds *feeds, struct index_feed *f,
                        struct index_feed_target *t, const struct reply *r)
{
    int64_t wait_ms = r->verdict.wait.ns / NS_PER_MS + 1; /* it may be INT64_MAX */
    wait_ms = r->code != REPLY_THROTTLED || wait_ms < WAIT_MS_MIN ? WAIT_MS_MIN
                                                                  : MIN(wait_ms, WAIT_MS_MAX);
    if (!instant_before(feeds->env->now, t->until)) /* once for rows that were sent together */
        t->out_max = t->out_max > 1 ? t->out_max / 2 : 1;
    const int64_t wait_ns = wait_ms * NS_PER_MS;
    t->until =
        instant_add(feeds->env->now,
                    (struct duration){wait_ns + (int64_t)prng_below(&feeds->env->prng,
                                                                    (uint64_t)wait_ns / 4 + 1)});
    index_feed_pace_refused(&f->pace, feeds->env->now, t->until);
}

/* The row was not written. */
static void row_failed(struct index_feeds *feeds, struct index_feed *f, struct partition *p,
                       struct index_feed_target *t, struct index_feed_item *item,
                       const struct reply *r)
{
    const bool refused = r->code == REPLY_THROTTLED || r->code == REPLY_OVERLOADED;
    item->failed = true;
    p->index_refusal = (struct index_refusal){
        t->table_id, t->partition, r->code == REPLY_THROTTLED ? r->verdict.reason : ADMIT_OK};
    if (refused)
        row_refused(feeds, f, t, r);
    else
        target_lose(feeds, t);
    item->target = t;
}

/* The row was written. */
static void row_done(struct index_feeds *feeds, struct index_feed *f, struct partition *p,
                     struct index_feed_target *t)
{
    if (t->out_max < INDEX_FEED_CALLS_MAX)
        t->out_max++;
    if (p->index_refusal.index == t->table_id && p->index_refusal.partition == t->partition &&
        !index_feed_pace_holds(&f->pace, feeds->env->now))
        p->index_refusal = (struct index_refusal){0};
}

bool index_feed_row_answered(struct index_feeds *feeds, struct index_feed *f, struct partition *p,
                             const struct internal_call_answer *answer,
                             struct index_feed_item **out)
{
    struct index_feed_item *item = f->slots[answer->token >> SLOT_SHIFT];
    struct index_feed_target *t = target_numbered(f, answer->token & UINT16_MAX);
    const uint32_t number = answer->token >> REQUEST_SHIFT & UINT8_MAX;
    const struct reply *r = answer->reply;
    must(item != NULL && t != NULL && item->awaited > 0);
    f->calls--;
    t->out--;
    item->awaited--;
    if (r->code == REPLY_OK) {
        item->written[number / 64] |= UINT64_C(1) << number % 64;
        row_done(feeds, f, p, t);
    } else {
        row_failed(feeds, f, p, t, item, r);
    }
    if (item->awaited > 0)
        return false;
    f->slots[item->slot] = NULL;
    *out = item;
    return true;
}
