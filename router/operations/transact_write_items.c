/* transact_write_items.c - TransactWriteItems: many writes and checks, all or none.
 *
 * Items of sharded keys first leave their previous owners (router/plan/transact_owners.h).
 * If one partition has all items, it does all at once. Otherwise each item's partition is asked for
 * the units of its part. If one refuses, the others get theirs back. Then each prepares its part.
 * Once all have, the partition of the first item, the anchor, decides. It sees to it that the
 * others do their parts (engine/node/transaction/transactions.h). If a part cannot be prepared, all
 * are dropped. */
#include <xxhash.h>

#include "engine/expression/digest.h"
#include "engine/item/equal.h"
#include "engine/item/storage_key.h"
#include "engine/message/frames.h"
#include "engine/message/transaction_messages.h"
#include "router/core/input_parse.h"
#include "router/core/limit.h"
#include "router/expression/expressions.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/transact.h"
#include "router/operations/write.h"
#include "router/plan/transact_owners.h"

enum {
    ATTEMPTS_MAX = 5 /* to find the owner shards of items whose keys get more shards */
};

/* ---- the request alone ---- */

/* A kind of part, and where its shape has the members. */
struct part_kind {
    int member; /* of TransactWriteItem */
    const struct shape *shape;
    enum request_op op;
    int table_name;
    int item_or_key;
    int return_failed;
    struct expression_members expressions;
};

static const struct part_kind PART_KINDS[] = {
    {TRANSACT_WRITE_ITEM_CONDITION_CHECK,
     &shape_condition_check,
     REQUEST_CHECK,
     CONDITION_CHECK_TABLE_NAME,
     CONDITION_CHECK_KEY,
     CONDITION_CHECK_RETURN_VALUES_ON_CONDITION_CHECK_FAILURE,
     {.idle = true,
      .names = CONDITION_CHECK_EXPRESSION_ATTRIBUTE_NAMES,
      .values = CONDITION_CHECK_EXPRESSION_ATTRIBUTE_VALUES,
      .expressions = {[PARAMETER_CONDITION] = CONDITION_CHECK_CONDITION_EXPRESSION}}},
    {TRANSACT_WRITE_ITEM_PUT,
     &shape_put,
     REQUEST_PUT,
     PUT_TABLE_NAME,
     PUT_ITEM,
     PUT_RETURN_VALUES_ON_CONDITION_CHECK_FAILURE,
     {.idle = true,
      .names = PUT_EXPRESSION_ATTRIBUTE_NAMES,
      .values = PUT_EXPRESSION_ATTRIBUTE_VALUES,
      .expressions = {[PARAMETER_CONDITION] = PUT_CONDITION_EXPRESSION}}},
    {TRANSACT_WRITE_ITEM_DELETE,
     &shape_delete,
     REQUEST_DELETE,
     DELETE_TABLE_NAME,
     DELETE_KEY,
     DELETE_RETURN_VALUES_ON_CONDITION_CHECK_FAILURE,
     {.idle = true,
      .names = DELETE_EXPRESSION_ATTRIBUTE_NAMES,
      .values = DELETE_EXPRESSION_ATTRIBUTE_VALUES,
      .expressions = {[PARAMETER_CONDITION] = DELETE_CONDITION_EXPRESSION}}},
    {TRANSACT_WRITE_ITEM_UPDATE,
     &shape_update,
     REQUEST_UPDATE,
     UPDATE_TABLE_NAME,
     UPDATE_KEY,
     UPDATE_RETURN_VALUES_ON_CONDITION_CHECK_FAILURE,
     {.idle = true,
      .names = UPDATE_EXPRESSION_ATTRIBUTE_NAMES,
      .values = UPDATE_EXPRESSION_ATTRIBUTE_VALUES,
      .expressions = {[PARAMETER_CONDITION] = UPDATE_CONDITION_EXPRESSION,
                      [PARAMETER_UPDATE] = UPDATE_UPDATE_EXPRESSION}}},
};

/* NULL: none or several; the fault is set. */
static const struct part_kind *part_kind_of(struct call *c, const struct json_value outer[])
{
    const struct part_kind *kind = NULL;
    int given = 0;
    for (size_t i = 0; i < COUNT_OF(PART_KINDS); i++) {
        if (outer[PART_KINDS[i].member].type == JSON_ABSENT)
            continue;
        kind = &PART_KINDS[i];
        given++;
    }
    if (given == 1)
        return kind;
    call_invalid(c, "TransactItems can only contain one of Check, Put, Update or Delete");
    return NULL;
}

static bool part_read(struct call *c, struct item_plan *plan, const struct json_value *value)
{
    struct json_value outer[SHAPE_MEMBERS_MAX], m[SHAPE_MEMBERS_MAX];
    struct item_request *q = &plan->items[plan->count];
    struct fault *f = call_fault(c);
    struct expressions e = {0};
    shape_bind(&shape_transact_write_item, value, outer);
    const struct part_kind *kind = part_kind_of(c, outer);
    if (kind == NULL)
        return false;
    shape_bind(kind->shape, &outer[kind->member], m);
    q->op = kind->op;
    q->table = transact_table(c, plan, call_table_named(c, &m[kind->table_name]));
    q->return_failed = json_is_text(&m[kind->return_failed], "ALL_OLD");
    if (!expressions_check(&kind->expressions, m, &e, f) ||
        !value_read_item(&c->bytes, &c->arena, &m[kind->item_or_key], &q->item, f) ||
        (q->op == REQUEST_PUT && !write_item_fits(span_in(&c->bytes, q->item), f)) ||
        !expressions_read(&kind->expressions, m, &c->arena, &e, f) ||
        !expressions_encode(&c->bytes, e.condition, &q->condition, f) ||
        !expressions_encode_update(&c->bytes, e.update, &q->update, f))
        return false;
    q->condition_tree = e.condition;
    q->updated = e.update;
    plan->count++;
    return true;
}

/* Of the meaning of what the client asks for, so that a token that is used for something else is
 * known. Many clients write maps in another order when they repeat a request. False: the rest is
 * for later turns. */
static bool parts_digest(const struct call *c, struct transact_write *t)
{
    const struct item_plan *plan = c->plan;
    size_t bytes = 0;
    for (; t->digested < plan->count; t->digested++) {
        const struct item_request *q = &plan->items[t->digested];
        const struct slice table = plan->tables[q->table].name;
        if (bytes >= INPUT_PARSE_TURN_BYTES)
            return false;
        const uint64_t parts[] = {(uint64_t)q->op, item_digest(span_in(&c->bytes, q->item)),
                                  condition_digest(q->condition_tree), update_digest(q->updated)};
        t->digest = XXH3_64bits_withSeed(table.data, table.size, t->digest);
        t->digest = XXH3_64bits_withSeed(parts, sizeof parts, t->digest);
        bytes += q->item.size + q->condition.size + q->update.size;
    }
    return true;
}

void transact_writes_init(struct call *c, struct transact_write *t, uint32_t count,
                          struct slice token)
{
    t->ends = arena_zalloc(&c->arena, count * sizeof *t->ends);
    t->id = (struct transaction_id){prng_next(&c->router->prng), prng_next(&c->router->prng)};
    const XXH128_hash_t name = token.size > 0
                                   ? XXH3_128bits(token.data, token.size)
                                   : (XXH128_hash_t){prng_next(&c->router->prng), t->id.high};
    memcpy(t->token, &name, sizeof name);
    t->named = token.size > 0;
}

bool transact_writes_fit(struct call *c, const struct item_plan *plan)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < plan->count; i++)
        bytes += plan->items[i].item.size;
    return transact_bytes_fit(c, bytes);
}

static void transact_write_create(struct call *c, const struct json_value m[])
{
    const struct json_value *list = &m[TRANSACT_WRITE_ITEMS_TRANSACT_ITEMS];
    const uint32_t count = (uint32_t)json_count(list);
    struct transact_write *t = arena_zalloc(&c->arena, sizeof *t);
    c->state = t;
    t->plan = item_plan_create(c, count, count);
    t->plan->count = t->plan->table_count = 0; /* reading counts them up */
    t->left = json_elements(list);
    call_take_consumed(c, &m[TRANSACT_WRITE_ITEMS_RETURN_CONSUMED_CAPACITY]);
    t->return_collections =
        write_returns_collection(&m[TRANSACT_WRITE_ITEMS_RETURN_ITEM_COLLECTION_METRICS]);
}

static bool transact_write_begin(struct call *c, const struct json_value m[])
{
    if (c->state == NULL)
        transact_write_create(c, m);
    struct transact_write *t = c->state;
    struct json_value value;
    while (json_next_element(&t->left, &value)) {
        if (!part_read(c, t->plan, &value))
            return false;
        if (input_parse_ends_turn(c))
            return true;
    }
    if (!transact_writes_fit(c, t->plan))
        return false;
    transact_writes_init(c, t, t->plan->count,
                         json_text(&m[TRANSACT_WRITE_ITEMS_CLIENT_REQUEST_TOKEN]));
    items_begin(c, t->plan);
    return true;
}

/* ---- requests to nodes ---- */

static void part_fill(struct call *c, const struct item_request *q, struct request *r)
{
    r->write.key = q->owner_key;
    r->write.condition = span_in(&c->bytes, q->condition);
    r->write.return_failed = q->return_failed;
    if (q->op == REQUEST_PUT || q->op == REQUEST_UPDATE)
        r->write.item = span_in(&c->bytes, q->item);
    if (q->op == REQUEST_UPDATE)
        r->write.update = span_in(&c->bytes, q->update);
    if (q->limiter.size > 0) {
        r->write.item = q->limited;
        r->write.limiter = q->limiter;
        r->write.return_values = RETURN_NEW;
    }
}

static void parts_describe(struct call *c, struct transact_write *t)
{
    struct buffer keys = {0}, bytes = {0};
    struct transaction_part part = {.id = t->id,
                                    .anchor = c->plan->items[0].owner_key,
                                    .token = slice_make(t->token, sizeof t->token),
                                    .digest = t->digest};
    struct codec codec = {.out = &bytes};
    transaction_part_walk(&codec, &part);
    t->other = arena_copy(&c->arena, buffer_slice(&bytes));
    for (uint32_t i = 1; i < c->plan->count; i++)
        buffer_append_sized(&keys, c->plan->items[i].owner_key);
    part.keys = buffer_slice(&keys);
    buffer_clear(&bytes);
    transaction_part_walk(&codec, &part);
    t->first = arena_copy(&c->arena, buffer_slice(&bytes));
    buffer_deinit(&keys);
    buffer_deinit(&bytes);
}

/* Whether one partition has all items. */
static bool parts_are_together(const struct call *c)
{
    const struct item_plan *plan = c->plan;
    const struct partition_info *first = NULL;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct item_request *q = &plan->items[i];
        const struct partition_info *p =
            table_partition_of(&plan->tables[q->table].route->table, q->owner_key);
        if (first != NULL && p->id != first->id)
            return false;
        first = p;
    }
    return true;
}

static int64_t part_least_mcu(const struct request *r)
{
    return TRANSACTION_FACTOR *
           write_cost_mcu(r->write.item.size > 0 ? item_size(r->write.item) : 0);
}

/* A request about several items: their partition must have been told of all their keys. */
static void request_know_sharded(const struct call *c, const struct item_request *q,
                                 struct request *r)
{
    const uint64_t sharded_key_version = transact_sharded_key_version(c, q);
    r->sharded_key_version = MAX(r->sharded_key_version, sharded_key_version);
}

static void whole_send(struct call *c, struct transact_write *t)
{
    const struct item_plan *plan = c->plan;
    struct buffer frames = {0};
    struct subrequest *s = call_request(c, plan->tables[0].route, REQUEST_TRANSACT);
    t->step = STEP_WHOLE;
    for (uint32_t i = 0; i < plan->count; i++) {
        struct request r = {.op = plan->items[i].op};
        part_fill(c, &plan->items[i], &r);
        request_encode(&frames, &r);
        request_edit_transact(&s->request)->mcu_min += part_least_mcu(&r);
        request_know_sharded(c, &plan->items[i], &s->request);
    }
    request_edit_transact(&s->request)->key = plan->items[0].owner_key;
    request_edit_transact(&s->request)->parts = arena_copy(&c->arena, buffer_slice(&frames));
    request_edit_transact(&s->request)->transaction = t->other;
    buffer_deinit(&frames);
    subrequest_start(c->router, s);
}

/* Which parts each partition has, as far as the router knows. */
static void parts_group(const struct call *c, struct transact_write *t)
{
    const struct item_plan *plan = c->plan;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct item_request *q = &plan->items[i];
        uint32_t first = 0;
        t->ends[i].partition =
            table_partition_of(&plan->tables[q->table].route->table, q->owner_key)->id;
        while (t->ends[first].partition != t->ends[i].partition)
            first++;
        t->ends[i].first = first;
    }
}

/* Asks for the units of the parts of one partition, or gives them back. */
static void admit_send(struct call *c, const struct transact_write *t, uint32_t first)
{
    const struct item_plan *plan = c->plan;
    struct subrequest *s =
        call_request(c, plan->tables[plan->items[first].table].route, REQUEST_TRANSACT_ADMIT);
    struct buffer keys = {0};
    for (uint32_t i = first; i < plan->count; i++) {
        struct request r = {.op = plan->items[i].op};
        if (t->ends[i].first != first)
            continue;
        part_fill(c, &plan->items[i], &r);
        request_edit_admit(&s->request)->mcu += part_least_mcu(&r);
        request_know_sharded(c, &plan->items[i], &s->request);
        buffer_append_sized(&keys, plan->items[i].owner_key);
    }
    s->index = first;
    request_edit_admit(&s->request)->key = plan->items[first].owner_key;
    request_edit_admit(&s->request)->keys = arena_copy(&c->arena, buffer_slice(&keys));
    request_edit_admit(&s->request)->back = t->ends[first].admitted;
    buffer_deinit(&keys);
    subrequest_start(c->router, s);
}

static void admit_send_all(struct call *c, struct transact_write *t)
{
    t->step = STEP_ADMIT;
    parts_group(c, t);
    for (uint32_t i = 0; i < c->plan->count; i++) {
        if (t->ends[i].first == i)
            admit_send(c, t, i);
    }
}

/* False: there is nothing to give back. */
static bool give_back_send(struct call *c, struct transact_write *t)
{
    bool any = false;
    t->step = STEP_GIVE_BACK;
    for (uint32_t i = 0; i < c->plan->count; i++) {
        if (t->ends[i].first != i || t->ends[i].admitted == WRITE_NOT_ADMITTED)
            continue;
        limit_correct(c->router, &c->plan->tables[c->plan->items[i].table].route->table,
                      ADMIT_WRITE, -t->ends[i].consumed.table_mcu);
        admit_send(c, t, i);
        any = true;
    }
    return any;
}

static void prepare_send(struct call *c, struct transact_write *t)
{
    t->step = STEP_PREPARE;
    for (uint32_t i = 0; i < c->plan->count; i++) {
        const struct item_request *q = &c->plan->items[i];
        struct subrequest *s = call_request(c, c->plan->tables[q->table].route, q->op);
        s->index = i;
        part_fill(c, q, &s->request);
        s->request.write.transaction = i == 0 ? t->first : t->other;
        s->request.write.admitted = t->ends[i].admitted;
        subrequest_start(c->router, s);
    }
}

static struct subrequest *transact_write_request(struct call *c, const struct transact_write *t,
                                                 uint32_t index, enum request_op op)
{
    const struct item_request *q = &c->plan->items[index];
    struct subrequest *s = call_request(c, c->plan->tables[q->table].route, op);
    s->index = index;
    request_edit_transaction(&s->request)->key = q->owner_key;
    request_edit_transaction(&s->request)->id_high = t->id.high;
    request_edit_transaction(&s->request)->id_low = t->id.low;
    request_edit_transaction(&s->request)->token = slice_make(t->token, sizeof t->token);
    return s;
}

static void decide_send(struct call *c, struct transact_write *t)
{
    t->step = STEP_DECIDE;
    subrequest_start(c->router, transact_write_request(c, t, 0, REQUEST_TRANSACT_DECIDE));
}

/* False: there is nothing to drop. */
static bool drop_send(struct call *c, struct transact_write *t)
{
    bool any = false;
    t->step = STEP_DROP;
    for (uint32_t i = 0; i < c->plan->count; i++) {
        if (t->ends[i].code != REPLY_OK && t->ends[i].code != REPLY_UNKNOWN)
            continue; /* nothing was done */
        subrequest_start(c->router, transact_write_request(c, t, i, REQUEST_TRANSACT_RESOLVE));
        any = true;
    }
    return any;
}

/* Once all items have left their previous owners. */
static void writes_go_on(struct call *c, struct transact_write *t)
{
    if (parts_are_together(c))
        whole_send(c, t);
    else
        admit_send_all(c, t);
}

static bool writes_begin(struct call *c, struct transact_write *t)
{
    t->step = STEP_MOVE;
    t->stale = false;
    for (uint32_t i = 0; i < c->plan->count; i++)
        t->ends[i] = (struct part_end){.refused = t->ends[i].refused, .why = t->ends[i].why};
    if (!transact_find_owners(c)) {
        t->stale = true; /* perhaps it was ordinary before: the next attempt is told */
        return false;
    }
    parts_describe(c, t);
    const bool leave = transact_leave_previous(c),
               queries = t->named && transact_query_tokens(c, t->token, t->digest);
    if (!leave && !queries)
        writes_go_on(c, t);
    return true;
}

/* Whether nothing was prepared, and only other owner shards stand in the way. Then all begins
 * anew. */
static bool writes_begin_again(struct call *c, struct transact_write *t)
{
    bool again = t->stale && t->failed == NULL && t->step != STEP_DROP;
    for (uint32_t i = 0; i < c->plan->count; i++)
        again = again && (t->ends[i].code == REPLY_OK || t->ends[i].code == REPLY_STALE_MAP);
    if (!again || ++t->attempts == ATTEMPTS_MAX)
        return false;
    return writes_begin(c, t);
}

bool transact_writes_send(struct call *c)
{
    struct transact_write *t = c->state;
    if (t->digested == 0) {
        if (!transact_keys_differ(c, c->plan))
            return false;
        t->digest = c->plan->count;
    }
    if (!parts_digest(c, t)) {
        call_rest(c);
        return true;
    }
    return transact_writes_start(c);
}

bool transact_writes_start(struct call *c)
{
    return writes_begin(c, c->state);
}

static bool transact_write_ready(struct call *c)
{
    const struct transact_write *t = c->state;
    return (t->digested > 0 || transact_find_keys(c, t->ends, NULL)) && transact_writes_send(c);
}

/* ---- replies ---- */

static void write_keep_failure(struct call *c, struct transact_write *t, struct subrequest *s,
                               const struct reply *r)
{
    if (t->failed != NULL)
        return;
    t->failed = s;
    t->failure = *r;
    t->failure.kind = ANSWER_NONE;
    t->failure.text = arena_copy(&c->arena, r->text);
}

/* One partition has done all parts: the sizes of their item collections. */
static void whole_take_collections(struct call *c, struct transact_write *t, struct slice sizes)
{
    struct reader r = {sizes, false};
    for (uint32_t i = 0; i < c->plan->count; i++) {
        const bool has = c->plan->items[i].op != REQUEST_CHECK && r.left.size > 0;
        t->ends[i].collection_bytes = has ? (int64_t)reader_u64(&r) : -1;
    }
}

/* What a reply tells of each part of one partition, those with this `first`. */
static void parts_take(struct call *c, struct transact_write *t, struct subrequest *s,
                       const struct reply *r, uint32_t first)
{
    struct reader frames = {r->kind == ANSWER_PARTS ? reply_parts(r)->replies : slice_make(NULL, 0),
                            false};
    struct reply part;
    for (uint32_t i = first; i < c->plan->count && frames.left.size > 0; i++) {
        if (t->ends[i].first != first)
            continue;
        if (reply_decode(reader_sized(&frames), &part) != STATUS_OK)
            break;
        part_take(c, &t->ends[i], s, &part);
        t->ends[i].consumed = (struct capacity){0};
    }
}

/* The same for a reply that tells the same of all of them. What they cost is told of the first. */
static void parts_take_alike(struct call *c, struct transact_write *t, const struct subrequest *s,
                             const struct reply *r, uint32_t first)
{
    part_take(c, &t->ends[first], s, r);
    for (uint32_t i = first + 1; i < c->plan->count; i++) {
        if (t->ends[i].first != first)
            continue;
        t->ends[i].replied = true;
        t->ends[i].code = r->code;
        t->ends[i].on_demand = t->ends[first].on_demand;
    }
}

static void whole_take(struct call *c, struct transact_write *t, struct subrequest *s,
                       const struct reply *r)
{
    const bool evaluated = r->kind == ANSWER_PARTS;
    parts_take(c, t, s, r, 0);
    if (evaluated && r->code == REPLY_OK)
        whole_take_collections(c, t, reply_parts(r)->collections);
    if (evaluated)
        capacity_add_write(&t->ends[0].consumed, &s->route->table, r);
    else if (r->code == REPLY_THROTTLED || r->code == REPLY_STALE_MAP)
        parts_take_alike(c, t, s, r, 0);
    else if (r->code != REPLY_OK)
        write_keep_failure(c, t, s, r);
}

/* Whether the reply to one part tells of more than a reason to cancel. */
static bool part_fails_all(enum reply_code code)
{
    return code != REPLY_OK && code != REPLY_STALE_MAP && !part_cancels(code);
}

/* The units of the parts of one partition were taken, or not. */
static void admit_take(struct call *c, struct transact_write *t, struct subrequest *s,
                       const struct reply *r)
{
    const uint32_t first = s->index;
    if (r->kind == ANSWER_PARTS)
        parts_take(c, t, s, r, first);
    else
        parts_take_alike(c, t, s, r, first);
    if (part_fails_all(r->code))
        write_keep_failure(c, t, s, r);
    for (uint32_t i = first; i < c->plan->count && r->code == REPLY_OK; i++) {
        if (t->ends[i].first == first)
            t->ends[i].admitted = r->verdict.burst ? WRITE_ADMITTED_AS_BURST : WRITE_ADMITTED;
    }
}

/* The parts are done after the answer. */
static void decided_note(const struct call *c)
{
    const struct item_plan *plan = c->plan;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct item_request *q = &plan->items[i];
        const struct route *table = plan->tables[q->table].route;
        if (q->op != REQUEST_CHECK)
            own_writes_note_decided(c->router, table,
                                    table_partition_of(&table->table, q->owner_key)->id);
    }
}

bool transact_write_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct transact_write *t = c->state;
    if (r->code == REPLY_STALE_MAP) {
        t->stale = true;
        transact_take_route(c, s);
    }
    switch (t->step) {
    case STEP_MOVE:
        t->stale |= transact_take_route(c, s);
        if (s->request.op == REQUEST_CHECK) { /* of the token: ABORTED is the good answer */
            if (r->code != REPLY_ABORTED && r->code != REPLY_STALE_MAP)
                write_keep_failure(c, t, s, r);
            break;
        }
        t->ends[s->index].code = r->code;
        if (part_fails_all(r->code))
            write_keep_failure(c, t, s, r);
        break;
    case STEP_WHOLE:
        whole_take(c, t, s, r);
        break;
    case STEP_ADMIT:
        admit_take(c, t, s, r);
        break;
    case STEP_PREPARE:
        part_take(c, &t->ends[s->index], s, r);
        limit_correct(c->router, &s->route->table, ADMIT_WRITE, r->consumed_mcu);
        if (part_fails_all(r->code))
            write_keep_failure(c, t, s, r);
        break;
    case STEP_DECIDE:
        if (r->code == REPLY_OK) {
            decided_note(c);
            break;
        }
        write_keep_failure(c, t, s, r);
        if (r->code != REPLY_ABORTED)
            t->failure.code = REPLY_UNKNOWN; /* an earlier attempt may have decided */
        break;
    case STEP_GIVE_BACK:
        break;
    case STEP_DROP:
        break; /* what is not dropped now is dropped by the anchor, or after a while */
    }
    return true;
}

/* ---- the answer ---- */

/* Whether the part tells of an item collection that no later part changes, too. */
static bool reports_collection(const struct call *c, const struct transact_write *t, uint32_t index)
{
    const struct item_plan *plan = c->plan;
    const struct slice key = plan->items[index].key;
    const struct slice shared = slice_make(key.data, storage_key_collection_size(key));
    bool reports = plan->items[index].op != REQUEST_CHECK && t->ends[index].collection_bytes >= 0;
    for (uint32_t i = index + 1; i < plan->count && reports; i++)
        reports =
            plan->items[i].op == REQUEST_CHECK || !slice_starts_with(plan->items[i].key, shared);
    return reports;
}

static void write_collections_of(struct call *c, const struct transact_write *t, uint32_t table)
{
    const struct table *of = &c->plan->tables[table].route->table;
    if (!of->whole_collections)
        return;
    json_write_name(&c->body, of->name);
    json_write_open(&c->body, '[');
    for (uint32_t i = 0; i < c->plan->count; i++) {
        const struct item_request *q = &c->plan->items[i];
        if (q->table == table && reports_collection(c, t, i))
            write_collection(&c->body, of, span_in(&c->bytes, q->item),
                             t->ends[i].collection_bytes);
    }
    json_write_close(&c->body, ']');
}

static bool write_succeed(struct call *c, const struct transact_write *t)
{
    c->router->counters.transactions_committed++;
    json_write_open(&c->body, '{');
    transact_write_capacity(c, t->ends);
    if (t->return_collections) {
        json_member_open(&c->body, "ItemCollectionMetrics", '{');
        for (uint32_t i = 0; i < c->plan->table_count; i++)
            write_collections_of(c, t, i);
        json_write_close(&c->body, '}');
    }
    if (t->statements) {
        json_member_open(&c->body, "Responses", '[');
        json_write_close(&c->body, ']');
    }
    json_write_close(&c->body, '}');
    return true;
}

static bool write_end(struct call *c, const struct transact_write *t)
{
    struct fault *f = call_fault(c);
    switch (t->failure.code) {
    case REPLY_OK:
        break;
    case REPLY_TOKEN_DONE:
        return write_succeed(c, t);
    case REPLY_TOKEN_RUNS:
        return fault_set(f, FAULT_IN_PROGRESS,
                         "The transaction with the given request token is already in progress.");
    case REPLY_TOKEN_MISMATCH:
        return fault_set(f, FAULT_TOKEN_MISMATCH,
                         "A transaction with the same token and other parameters was executed "
                         "before.");
    case REPLY_ABORTED:
        return fault_set(f, FAULT_INTERNAL,
                         "The transaction was given up: it was not decided in time");
    default:
        return call_refuse(c, t->failed, &t->failure);
    }
    for (uint32_t i = 0; i < c->plan->count; i++) {
        if (t->ends[i].code != REPLY_OK && t->ends[i].code != REPLY_STALE_MAP)
            return transact_cancel(c, t->ends, c->plan->count);
    }
    if (t->stale)
        return fault_set(f, FAULT_UNAVAILABLE,
                         "A key has more shards meanwhile: nothing was done, try again");
    must(t->step == STEP_WHOLE || t->step == STEP_DECIDE);
    return write_succeed(c, t);
}

static bool writes_are_prepared(const struct call *c, const struct transact_write *t)
{
    bool prepared = true;
    for (uint32_t i = 0; i < c->plan->count; i++)
        prepared &= t->ends[i].code == REPLY_OK;
    return prepared;
}

bool transact_write_finish(struct call *c)
{
    struct transact_write *t = c->state;
    bool fails = t->failed != NULL;
    if (t->step == STEP_WHOLE && t->failure.code == REPLY_SPREAD) {
        t->failed = NULL; /* the partition was split meanwhile */
        t->failure.code = REPLY_OK;
        admit_send_all(c, t);
        return true;
    }
    if (t->step == STEP_MOVE && !t->stale && !fails && writes_are_prepared(c, t)) {
        writes_go_on(c, t);
        return true;
    }
    if (t->step != STEP_ADMIT && t->step != STEP_PREPARE)
        return writes_begin_again(c, t) || write_end(c, t);
    for (uint32_t i = 0; i < c->plan->count; i++)
        fails |= t->ends[i].code != REPLY_OK;
    const bool admits = t->step == STEP_ADMIT;
    if (fails)
        return (admits ? give_back_send(c, t) || writes_begin_again(c, t) : drop_send(c, t)) ||
               write_end(c, t);
    if (admits)
        prepare_send(c, t);
    else
        decide_send(c, t);
    return true;
}

OPERATION(transact_write_items, "TransactWriteItems", .begin = transact_write_begin,
          .ready = transact_write_ready, .reply = transact_write_reply,
          .finish = transact_write_finish);
