/* unshard.c - POST /weir/unshard: gives a sharded key fewer shards by hand.
 *
 *   {"TableName": name, "Key": {partition key}, "Shards": number}
 *
 * Without Shards the key gets one: it is not sharded any more once its items are in their owner
 * shards. The answer comes when the catalog has decided, and shows the key as /weir/partitions
 * does. The items move afterwards. */
#include <stdio.h>

#include "router/admin/pages.h"
#include "router/admin/sharded_keys.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/table_description.h"

enum {
    UNSHARD_TABLE_NAME,
    UNSHARD_KEY,
    UNSHARD_SHARDS,
    UNSHARD_MEMBERS
};

static const struct shape UNSHARD_NUMBER = {
    .kind = SHAPE_INTEGER, .min = 1, .max = KEY_SHARDS_MAX, .min_set = true};

static const struct shape UNSHARD_INPUT = {
    .kind = SHAPE_STRUCTURE,
    .java = "UnshardInput",
    .members = (const struct shape_member[]){
        [UNSHARD_TABLE_NAME] = {"TableName", &shape_table_name, MEMBER_REQUIRED, 0},
        [UNSHARD_KEY] = {"Key", &shape_key, MEMBER_REQUIRED, 1},
        [UNSHARD_SHARDS] = {"Shards", &UNSHARD_NUMBER, MEMBER_OPTIONAL, 2},
        [UNSHARD_MEMBERS] = {0},
    }};

struct unshard {
    struct slice name;
    struct span item; /* in call->bytes: the partition key, encoded as an item */
    struct slice key; /* what the storage keys of shard 0 begin with */
    uint32_t shards;
};

static bool unshard_begin(struct call *c, const struct json_value m[])
{
    struct unshard *u = arena_zalloc(&c->arena, sizeof *u);
    c->state = u;
    u->name = arena_copy(&c->arena, json_string(&m[UNSHARD_TABLE_NAME]));
    u->shards = (uint32_t)shape_integer(&m[UNSHARD_SHARDS], 1);
    if (!value_read_item(&c->bytes, &c->arena, &m[UNSHARD_KEY], &u->item, call_fault(c)))
        return false;
    call_get_table(c, u->name);
    return true;
}

static bool unshard_find_key(struct call *c, struct unshard *u, const struct table *t)
{
    const struct slice item = span_in(&c->bytes, u->item);
    struct buffer *scratch = &c->router->scratch;
    struct attr value;
    if (item_count(item) != 1 || !item_find(item, t->partition_key.name, &value) ||
        value.type != t->partition_key.type)
        return call_invalid(c, "Key: the partition key of the table alone is expected");
    if (!key_attr_fits(&t->partition_key, true, &value, call_fault(c)))
        return false;
    buffer_clear(scratch);
    storage_key_append_collection(scratch, t->id, &value);
    u->key = arena_copy(&c->arena, buffer_slice(scratch));
    return true;
}

static bool unshard_decide(struct call *c, const struct subrequest *sent, const struct reply *r)
{
    struct unshard *u = c->state;
    struct table t;
    char reason[120];
    if (!table_take_reply(c, sent, r, &t) || !unshard_find_key(c, u, &t))
        return false;
    const struct sharded_key *k = key_sharding_find(t.sharded_keys, u->key);
    if (k == NULL || (k->shards == 1 && !sharded_key_moves(k))) /* or not any more */
        return call_invalid(c, "The key is not sharded");
    snprintf(reason, sizeof reason, "on request, a key with %u shards gets %u", k->shards,
             u->shards);
    const struct decision d = {.table_id = t.id,
                               .key_shards = {.change = KEY_SHARDS_SHRINK,
                                              .key = u->key,
                                              .version = k->version,
                                              .shards = u->shards},
                               .has_event = true,
                               .event = {.kind = EVENT_KEY_SHRINKS,
                                         .table = u->name,
                                         .reason = slice_of(reason),
                                         .figure = slice_of("shards"),
                                         .before = k->shards,
                                         .after = u->shards}};
    page_send_decision(c, CATALOG_KEY_SHARDS, &d);
    return true;
}

static bool unshard_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct unshard *u = c->state;
    struct table t;
    if (s->request.op == REQUEST_DECIDE) {
        if (r->code == REPLY_TABLE_BUSY)
            return fault_set(call_fault(c), FAULT_IN_USE, "%.*s", SHOWN(r->text));
        if (r->code != REPLY_OK)
            return call_refuse(c, s, r);
        route_invalidate(c->router, u->name);
        call_get_table(c, u->name); /* what the key is like now */
        return true;
    }
    if (u->key.size == 0)
        return unshard_decide(c, s, r);
    if (!table_take_reply(c, s, r, &t))
        return false;
    const struct sharded_key *k = key_sharding_find(t.sharded_keys, u->key);
    json_write_open(&c->body, '{');
    if (k != NULL)
        sharded_key_write(&c->body, &t, k); /* NULL: it had no items to move */
    json_write_close(&c->body, '}');
    return true;
}

const struct operation operation_unshard = {
    .name = "Unshard", .input = &UNSHARD_INPUT, .begin = unshard_begin, .reply = unshard_reply};
