/* table_routes.c - the route cache: a hash table of entries. Each entry has the waiters for its
 * fetch. */
#include "router/core/table_routes.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/settings/tables.h"
#include "router/core/router_internal.h"

struct route_entry {
    LIST_ENTRY(route_entry) entry; /* of its bucket */
    struct route *route;           /* holds one use; NULL: not known */
    bool stale;                    /* a node refused a request because of the route */
    bool fetching;
    struct subrequest fetch;
    TAILQ_HEAD(, route_waiter) waiters;
    size_t name_size;
    uint8_t name[];
};

/* Seeded: clients choose the names. */
static uint32_t route_bucket_of(const struct router *r, struct slice name)
{
    return (uint32_t)XXH3_64bits_withSeed(name.data, name.size, r->hash_seed) & (ROUTE_BUCKETS - 1);
}

static struct route_entry *route_entry_find(struct router *r, struct slice name)
{
    struct route_entry *e;
    LIST_FOREACH (e, &r->routes[route_bucket_of(r, name)], entry) {
        if (slice_equal(slice_make(e->name, e->name_size), name))
            return e;
    }
    return NULL;
}

static struct route_entry *route_entry_add(struct router *r, struct slice name)
{
    struct route_entry *e = must_calloc(1, sizeof *e + name.size);
    TAILQ_INIT(&e->waiters);
    e->name_size = name.size;
    memcpy(e->name, name.data, name.size);
    LIST_INSERT_HEAD(&r->routes[route_bucket_of(r, name)], e, entry);
    r->route_count++;
    return e;
}

static void route_entry_set(struct route_entry *e, struct route *route)
{
    if (e->route != NULL)
        route_release(e->route);
    e->route = route;
    e->stale = false;
}

static void route_entry_remove(struct router *r, struct route_entry *e)
{
    LIST_REMOVE(e, entry);
    r->route_count--;
    route_entry_set(e, NULL);
    free(e);
}

/* Removes an entry that has no route and no fetch. */
static void route_entry_tidy(struct router *r, struct route_entry *e)
{
    if (e->route == NULL && !e->fetching)
        route_entry_remove(r, e);
}

/* Forgets tables while there are more than tables_max. */
static void route_evict(struct router *r)
{
    while ((int64_t)r->route_count > config_tables(r->config)->tables_max) {
        uint32_t tried = 0;
        struct route_entry *e = NULL;
        while (e == NULL && tried++ < ROUTE_BUCKETS) {
            e = LIST_FIRST(&r->routes[r->route_evict++ & (ROUTE_BUCKETS - 1)]);
            while (e != NULL && e->fetching)
                e = LIST_NEXT(e, entry);
        }
        if (e == NULL)
            return;
        route_entry_remove(r, e);
    }
}

void route_release(struct route *route)
{
    must(route->uses > 0);
    if (--route->uses > 0)
        return;
    arena_deinit(&route->arena);
    buffer_deinit(&route->bytes);
    free(route);
}

static void route_fetch(struct router *r, struct route_entry *e)
{
    e->fetching = true;
    e->fetch = (struct subrequest){.fetch = e, .node = r->catalog_node};
    e->fetch.request =
        (struct request){.op = REQUEST_TABLE_GET, .table.name = slice_make(e->name, e->name_size)};
    subrequest_start(r, &e->fetch);
}

struct route *route_acquire(struct router *r, struct slice name, bool fresh, struct route_waiter *w)
{
    struct route_entry *e = route_entry_find(r, name);
    if (e != NULL && e->route != NULL && !(fresh && e->stale)) {
        if (e->stale && !e->fetching)
            route_fetch(r, e);
        e->route->uses++;
        return e->route;
    }
    if (e == NULL)
        e = route_entry_add(r, name);
    w->entry = e;
    w->late = e->fetching;
    w->due = false;
    TAILQ_INSERT_TAIL(&e->waiters, w, same);
    if (!e->fetching)
        route_fetch(r, e);
    return NULL;
}

void route_cancel(struct route_waiter *w)
{
    struct route_entry *e = w->entry;
    if (e == NULL)
        return;
    TAILQ_REMOVE(&e->waiters, w, same);
    w->entry = NULL;
}

void route_drop(struct router *r, const struct route *route)
{
    struct route_entry *e = route_entry_find(r, route->table.name);
    if (e != NULL && e->route == route)
        e->stale = true;
}

void route_renew(struct router *r, const struct route *route)
{
    struct route_entry *e = route_entry_find(r, route->table.name);
    route_drop(r, route);
    if (e != NULL && e->stale && !e->fetching)
        route_fetch(r, e);
}

void route_invalidate(struct router *r, struct slice name)
{
    struct route_entry *e = route_entry_find(r, name);
    if (e == NULL)
        return;
    route_entry_set(e, NULL);
    route_entry_tidy(r, e);
}

void route_each(const struct router *r, void *context,
                void (*visit)(void *context, const struct table *t))
{
    for (uint32_t i = 0; i < ROUTE_BUCKETS; i++) {
        const struct route_entry *e;
        LIST_FOREACH (e, &r->routes[i], entry) {
            if (e->route != NULL)
                visit(context, &e->route->table);
        }
    }
}

/* NULL: the reply holds no table with partitions. */
static struct route *route_create(const struct reply *reply)
{
    struct route *route = must_calloc(1, sizeof *route);
    route->uses = 1;
    const struct slice indexes = arena_copy(&route->arena, reply->table.indexes);
    buffer_append_slice(&route->bytes, reply->table.bytes);
    if (table_decode(buffer_slice(&route->bytes), &route->arena, &route->table) == STATUS_OK &&
        table_decode_indexes(indexes, &route->arena, &route->table, &route->indexes) == STATUS_OK &&
        route->table.partition_count > 0) {
        route->leaders =
            arena_zalloc(&route->arena, route->table.partition_count * sizeof route->leaders[0]);
        return route;
    }
    route_release(route);
    return NULL;
}

/* The first guess for a partition's leader: the leader of the partition that had its first key. */
static void route_keep_leaders(struct route *route, const struct route *before)
{
    if (before == NULL || before->table.id != route->table.id)
        return;
    for (uint32_t i = 0; i < route->table.partition_count; i++) {
        const struct partition_info *was =
            table_partition_of(&before->table, route->table.partitions[i].lo);
        route->leaders[i] = before->leaders[was - before->table.partitions];
    }
}

/* Gives the table to a waiter. `route` NULL: gives the refusal. */
static void route_notify(struct router *r, struct route_waiter *w, struct route *route,
                         const struct reply *refusal)
{
    route_cancel(w);
    if (w->subrequest != NULL) {
        subrequest_routed(r, w->subrequest, route, refusal);
        return;
    }
    struct call *c = w->call;
    c->routes_pending--;
    if (route == NULL && (w->absent == NULL || refusal->code != REPLY_TABLE_NOT_FOUND)) {
        call_route_refused(c, refusal);
        return;
    }
    if (route == NULL)
        *w->absent = true;
    else
        *w->out = call_hold_route(c, route);
    call_advance(c);
}

/* Fast: waiters that are due stand before waiters that came later. */
static struct route_waiter *route_first_due(const struct route_entry *e)
{
    struct route_waiter *w;
    TAILQ_FOREACH (w, &e->waiters, same)
        if (w->due)
            return w;
    return NULL;
}

/* Whether it knows fewer sharded keys than another route of the table: an old leader of the catalog
 * has told it. */
static bool route_is_older(const struct route *route, const struct route *known)
{
    return route != NULL && known != NULL && route->table.id == known->table.id &&
           table_key_sharding_version(&route->table) < table_key_sharding_version(&known->table);
}

void route_fetched(struct router *r, struct route_entry *e, const struct reply *reply)
{
    static const struct reply NO_TABLE = {.code = REPLY_MALFORMED};
    static const struct reply OLD = {.code = REPLY_NOT_LEADER};
    struct route *route = reply->code == REPLY_OK ? route_create(reply) : NULL;
    const struct reply *refusal = reply->code == REPLY_OK ? &NO_TABLE : reply;
    if (route_is_older(route, e->route)) {
        route_release(route);
        route = NULL;
        refusal = &OLD;
    }
    bool usable = route != NULL && route->table.status != TABLE_CREATING &&
                  route->table.status != TABLE_DELETING;
    /* A waiter that came during the fetch may know that the table exists now: if the fetch found no
     * usable table, another fetch follows. A waiter that is told may want the table again: it is
     * appended. */
    struct route_waiter *w;
    TAILQ_FOREACH (w, &e->waiters, same) {
        w->due = usable || !w->late;
        w->late = false;
    }
    if (usable) {
        route->uses++;
        route_keep_leaders(route, e->route);
        route_entry_set(e, route);
    } else if (route != NULL || reply->code == REPLY_TABLE_NOT_FOUND) {
        route_entry_set(e, NULL);
    }
    while ((w = route_first_due(e)) != NULL) {
        w->due = false;
        route_notify(r, w, route, refusal);
    }
    e->fetching = false;
    if (route != NULL)
        route_release(route);
    if (!TAILQ_EMPTY(&e->waiters) && (e->route == NULL || e->stale))
        route_fetch(r, e);
    route_entry_tidy(r, e);
    route_evict(r);
}

void route_cache_deinit(struct router *r)
{
    for (uint32_t i = 0; i < ROUTE_BUCKETS; i++) {
        struct route_entry *e;
        while ((e = LIST_FIRST(&r->routes[i])) != NULL) {
            subrequest_cancel(r, &e->fetch);
            route_entry_remove(r, e);
        }
    }
}
