/* own_writes.c - the partitions and tables that the router has written lately. */
#include "router/core/own_writes.h"

#include <stdlib.h>

#include "base/mutation.h"
#include "base/settings/requests.h"
#include "engine/message/index_messages.h"
#include "router/core/operation.h"

enum {
    OWN_PARTITIONS_MAX = 4096, /* OWN-2 */
    OWN_TABLES_MAX = 256,      /* OWN-2 */
    LATE_MS = 10000,  /* parts of transactions and rows of indexes take less without a fault */
    REQUESTS_MAX = 64 /* partitions that one read of an index asks */
};

/* A partition, or a table with global indexes. */
struct own_entry {
    TAILQ_ENTRY(own_entry) place;
    uint32_t id;
    uint32_t changes;     /* so many writes were noted */
    uint64_t index;       /* of a partition: the last entry of its log that was acknowledged */
    uint64_t rows;        /* of a partition: up to here indexes may lack changes; 0: they do not */
    struct instant until; /* of a partition: parts of transactions are being done; of a table:
                             rows are */
    uint32_t partition_count; /* of a table, at the last write */
    bool was_split;           /* of a table: it had other partitions at an earlier write */
};

void own_writes_init(struct router *r)
{
    TAILQ_INIT(&r->own.old_partitions);
    TAILQ_INIT(&r->own.old_tables);
    const int64_t most_ms = config_requests(r->config)->request_deadline_ms / 2,
                  wait_ms = config_requests(r->config)->read_your_writes_wait_ms;
    timer_queue_init(&r->own.waits, duration_ms(wait_ms < most_ms ? wait_ms : most_ms));
}

static void own_evict_first(struct id_map *map, struct own_entries *old)
{
    struct own_entry *first = TAILQ_FIRST(old);
    TAILQ_REMOVE(old, first, place);
    id_map_remove(map, first->id);
    free(first);
}

void own_writes_deinit(struct router *r)
{
    while (!TAILQ_EMPTY(&r->own.old_partitions))
        own_evict_first(&r->own.partitions, &r->own.old_partitions);
    while (!TAILQ_EMPTY(&r->own.old_tables))
        own_evict_first(&r->own.tables, &r->own.old_tables);
    id_map_deinit(&r->own.partitions);
    id_map_deinit(&r->own.tables);
}

/* ---- writes ---- */

/* The entry, which is the newest now. A new one forgets the oldest if there are too many. */
static struct own_entry *own_entry_of(struct id_map *map, struct own_entries *old, uint32_t id,
                                      size_t most)
{
    struct own_entry *e = id_map_find(map, id);
    if (e != NULL) {
        TAILQ_REMOVE(old, e, place);
    } else {
        if (map->count == most)
            own_evict_first(map, old);
        e = must_calloc(1, sizeof *e);
        e->id = id;
        id_map_add(map, id, e);
    }
    TAILQ_INSERT_TAIL(old, e, place);
    e->changes++;
    return e;
}

static bool own_request_writes(const struct request *q)
{
    return q->op == REQUEST_PUT || q->op == REQUEST_DELETE || q->op == REQUEST_UPDATE ||
           q->op == REQUEST_TRANSACT || q->op == REQUEST_TRANSACT_DECIDE;
}

/* Whether the write is done later, or it is not known at which entry it was done. */
static bool own_is_late(const struct request *q, const struct reply *reply)
{
    const bool part = q->op != REQUEST_TRANSACT && q->op != REQUEST_TRANSACT_DECIDE &&
                      q->write.transaction.size > 0;
    return part || reply->applied == 0;
}

static void own_note_rows(struct router *r, const struct table *t, struct own_entry *partition,
                          uint64_t index)
{
    struct own_entry *table =
        own_entry_of(&r->own.tables, &r->own.old_tables, t->id, OWN_TABLES_MAX);
    const bool lately = instant_before(r->now, table->until);
    table->was_split = lately && (table->was_split || table->partition_count != t->partition_count);
    table->partition_count = t->partition_count;
    table->until = instant_add_ms(r->now, LATE_MS);
    partition->rows = MAX(index, partition->rows);
}

void own_writes_note(struct router *r, const struct subrequest *s, const struct reply *reply)
{
    if (reply->code != REPLY_OK || config_requests(r->config)->read_your_writes == 0 ||
        !own_request_writes(&s->request) || MUTATED(MUTATION_LOSE_OWN_WRITES))
        return;
    struct own_entry *e = own_entry_of(&r->own.partitions, &r->own.old_partitions,
                                       s->request.partition, OWN_PARTITIONS_MAX);
    const bool late = own_is_late(&s->request, reply);
    e->index = MAX(e->index, reply->applied);
    if (late)
        e->until = instant_add_ms(r->now, LATE_MS);
    if (index_set_global(s->route->table.index_set) > 0)
        own_note_rows(r, &s->route->table, e, late ? AFTER_ALL : reply->applied);
}

void own_writes_note_decided(struct router *r, const struct route *table, uint32_t partition)
{
    if (config_requests(r->config)->read_your_writes == 0 || MUTATED(MUTATION_LOSE_OWN_WRITES))
        return;
    struct own_entry *e =
        own_entry_of(&r->own.partitions, &r->own.old_partitions, partition, OWN_PARTITIONS_MAX);
    e->until = instant_add_ms(r->now, LATE_MS);
    if (index_set_global(table->table.index_set) > 0)
        own_note_rows(r, &table->table, e, AFTER_ALL);
}

/* ---- reads ---- */

uint64_t own_writes_after(const struct router *r, uint32_t partition)
{
    const struct own_entry *e = id_map_find(&r->own.partitions, partition);
    if (e == NULL)
        return 0;
    return instant_before(r->now, e->until) ? AFTER_ALL : e->index;
}

uint64_t *own_writes_member(struct request *q)
{
    if (q->op == REQUEST_GET)
        return q->get.consistent ? NULL : &q->get.after;
    if (q->op == REQUEST_RANGE)
        return q->range.consistent ? NULL : &q->range.after;
    return NULL;
}

static void own_request(struct call *c, struct route *table, const struct partition_info *p,
                        uint64_t after, uint32_t changes)
{
    struct subrequest *s = call_request(c, table, REQUEST_INDEX_SHOWS);
    s->index = changes;
    request_edit_shows(&s->request)->key = p->lo;
    request_edit_shows(&s->request)->after = after;
    subrequest_start(c->router, s);
}

uint32_t own_writes_query_indexes(struct call *c, struct route *table, bool *surely)
{
    const struct router *r = c->router;
    const struct table *t = &table->table;
    const struct own_entry *written = id_map_find(&r->own.tables, t->id);
    uint32_t requests = 0;
    *surely = written != NULL && instant_before(r->now, written->until);
    if (!*surely)
        return 0;
    /* Changes go with their items: after a split any partition may have them. */
    const bool all = written->was_split || written->partition_count != t->partition_count;
    for (uint32_t i = 0; i < t->partition_count && requests < REQUESTS_MAX; i++) {
        const struct own_entry *e = id_map_find(&r->own.partitions, t->partitions[i].id);
        if (!all && (e == NULL || e->rows == 0))
            continue;
        own_request(c, table, &t->partitions[i], all ? AFTER_ALL : e->rows,
                    e != NULL ? e->changes : 0);
        requests++;
    }
    return requests;
}

bool own_writes_indexes_show(struct router *r, const struct subrequest *s,
                             const struct reply *reply)
{
    struct own_entry *e = id_map_find(&r->own.partitions, s->request.partition);
    if (reply->code != REPLY_OK)
        return false;
    if (e != NULL && e->changes == s->index)
        e->rows = 0;
    return true;
}
