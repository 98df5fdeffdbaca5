/* operation_support.c - functions that operations share: capacity, keys, refusals, answers. */
#include "engine/expression/program.h"
#include "engine/expression/update_program.h"
#include "engine/message/request_traits.h"
#include "router/core/operation.h"
#include "router/core/throttle.h"
#include "router/json/json_writer.h"

#include <stdio.h>

struct slice call_region(const struct call *c)
{
    const char *given = c->router->options.region;
    if (given != NULL)
        return slice_of(given);
    /* The client's next request is not read before this call has ended. */
    const struct http_head *head = c->client != NULL ? &c->client->http.head : NULL;
    return head != NULL && head->region.size > 0 ? http_text(head, head->region)
                                                 : slice_of("us-east-1");
}

void table_arn_append(struct buffer *out, const struct call *c, struct slice name)
{
    struct slice index = name;
    const struct slice table = slice_cut(&index, '/');
    buffer_append_format(out, "arn:aws:dynamodb:%.*s:%s:table/%.*s", TEXT_OF(call_region(c)),
                         c->router->options.account, TEXT_OF(table));
    if (table.size < name.size)
        buffer_append_format(out, "/index/%.*s", TEXT_OF(index));
}

bool call_table_of_arn(struct call *c, const struct json_value *arn, struct slice *name)
{
    const struct slice text = json_string(arn);
    struct slice left = text;
    if (!slice_starts_with(left, slice_of("arn:")))
        return call_invalid(c, INVALID "ARNs must start with 'arn:': %.*s", SHOWN(text));
    bool good = true;
    for (int field = 0; field < 5 && good; field++) {
        const size_t size = left.size;
        good = slice_cut(&left, ':').size < size &&
               (field != 1 || slice_starts_with(left, slice_of("dynamodb:")));
    }
    if (!good || !slice_starts_with(left, slice_of("table/")))
        return call_invalid(c, INVALID "Provided Arn is not a DynamoDB resource arn: %.*s",
                            SHOWN(text));
    left = slice_make(left.data + 6, left.size - 6);
    if (memmem(left.data, left.size, "/index/", 7) != NULL)
        return call_invalid(c,
                            INVALID "Invalid resource arn provided, only table or stream is "
                                    "accepted. Provided resource arn: %.*s",
                            SHOWN(text));
    if (left.size > TABLE_NAME_SIZE_MAX || !shape_is_table_name(left))
        return call_invalid(c, "Invalid TableArn: Invalid ResourceArn provided as input %.*s",
                            SHOWN(text));
    c->state = arena_alloc(&c->arena, sizeof(struct slice));
    *(struct slice *)c->state = arena_copy(&c->arena, text);
    *name = arena_copy(&c->arena, left);
    return true;
}

/* ---- tables and keys ---- */

struct slice call_table_named(struct call *c, const struct json_value *member)
{
    return call_table_called(c, json_string(member));
}

struct slice call_table_called(struct call *c, struct slice text)
{
    const struct slice name = shape_table_of(text);
    if (name.size == text.size)
        return name;
    c->table_arn = arena_copy(&c->arena, text);
    return shape_table_of(c->table_arn);
}

bool call_table_usable(struct call *c, const struct table *t)
{
    return (t->status != TABLE_CREATING && t->status != TABLE_DELETING) ||
           fault_set(call_fault(c), FAULT_NOT_FOUND, "Requested resource not found");
}

struct slice call_index_table(struct call *c, const struct table *t, const struct index *x)
{
    struct buffer *scratch = &c->router->scratch;
    buffer_clear(scratch);
    table_append_index_name(scratch, t, x);
    return arena_copy(&c->arena, buffer_slice(scratch));
}

struct slice call_storage_key(struct call *c, const struct table *t, const struct key *key)
{
    struct buffer *scratch = &c->router->scratch;
    buffer_clear(scratch);
    key_append_storage(scratch, t, key);
    return arena_copy(&c->arena, buffer_slice(scratch));
}

bool call_find_key(struct call *c, const struct table *t, enum request_op op, struct slice item,
                   struct slice *out)
{
    struct key key;
    struct fault *f = call_fault(c);
    if (!call_table_usable(c, t) ||
        !(op == REQUEST_PUT ? key_of_item(t, item, &key, f) && key_indexes_fit(t, item, f)
                            : key_of_key(t, item, &key, f)))
        return false;
    *out = call_storage_key(c, t, &key);
    return true;
}

/* ---- the catalog ---- */

void call_get_table(struct call *c, struct slice name)
{
    struct subrequest *s = call_request(c, NULL, REQUEST_TABLE_GET);
    s->request.table.name = name;
    subrequest_start(c->router, s);
}

bool call_begin_table(struct call *c, const struct json_value m[])
{
    call_get_table(c, arena_copy(&c->arena, call_table_named(c, &m[0])));
    return true;
}

void call_send_spec(struct call *c, enum request_op op, const struct table_spec *spec)
{
    table_spec_encode(&c->bytes, spec);
    struct subrequest *s = call_request(c, NULL, op);
    s->request.table.name = spec->name;
    s->request.table.spec = buffer_slice(&c->bytes);
    subrequest_start(c->router, s);
}

/* ---- refusals ---- */

bool call_stream_missing(struct call *c)
{
    return fault_set(call_fault(c), FAULT_NOT_FOUND,
                     "Requested resource not found: Stream: %.*s not found", SHOWN(c->table_arn));
}

bool call_refuse_busy(struct call *c, const struct reply *reply, struct slice name)
{
    struct table t;
    struct arena arena = {0};
    const char *doing = "used";
    if (table_decode(reply->table.bytes, &arena, &t) == STATUS_OK)
        doing = t.status == TABLE_CREATING   ? "created"
                : t.status == TABLE_DELETING ? "deleted"
                                             : "updated";
    arena_deinit(&arena);
    return fault_set(call_fault(c), FAULT_IN_USE,
                     "Attempt to change a resource which is still in use: Table is being %s: %.*s",
                     doing, SHOWN(name));
}

/* Sets the fault with our text, then the node's text. */
static bool refuse_explain(struct call *c, enum fault_kind kind, const char *text,
                           const struct reply *reply)
{
    return fault_set(call_fault(c), kind, "%s%s%.*s", text, reply->text.size > 0 ? ": " : "",
                     SHOWN(reply->text));
}

/* Appends the nodes of the members whose bit is set: " 1, 3". */
static void append_nodes(struct buffer *out, const struct partition_info *p, uint32_t members)
{
    const char *comma = "";
    for (uint32_t i = 0; i < p->member_count; i++) {
        if ((members >> i & 1) != 0) {
            buffer_append_format(out, "%s %u", comma, partition_node(p, i));
            comma = ",";
        }
    }
}

/* "No replica of partition 5 (nodes 1, 2, 3) could serve the request: nodes 2, 3 do not answer.
 * Nothing was written: ..." */
static bool refuse_unreachable(struct call *c, const struct subrequest *s, bool write,
                               const struct reply *reply)
{
    struct buffer text = {0};
    const struct partition_info *p = NULL;
    for (uint32_t i = 0; s->route != NULL && i < s->route->table.partition_count; i++) {
        if (s->route->table.partitions[i].id == s->request.partition)
            p = &s->route->table.partitions[i];
    }
    if (p == NULL) {
        buffer_append_text(&text, "The catalog of tables has no leader that could be reached");
    } else {
        buffer_append_format(&text, "No replica of partition %u (nodes", p->id);
        append_nodes(&text, p, UINT32_MAX);
        buffer_append_text(&text, ") could serve the request");
        if (s->unresponsive != 0) {
            bool single = (s->unresponsive & (s->unresponsive - 1)) == 0;
            buffer_append_text(&text, single ? ": node" : ": nodes");
            append_nodes(&text, p, s->unresponsive);
            buffer_append_text(&text, single ? " does not answer" : " do not answer");
        }
    }
    buffer_append_text(&text, p == NULL || !write ? ". Nothing was done" : ". Nothing was written");
    buffer_append_u8(&text, 0);
    refuse_explain(c, FAULT_UNAVAILABLE, (const char *)text.data, reply);
    buffer_deinit(&text);
    return false;
}

/* "It is not known whether the write was done (partition 5, sent to node 2): ..." */
static bool refuse_unknown(struct call *c, const struct subrequest *s, bool write,
                           const struct reply *reply)
{
    char text[120], partition[40] = "";
    if (s->route != NULL)
        snprintf(partition, sizeof partition, "partition %u, ", s->request.partition);
    snprintf(text, sizeof text, "%s (%ssent to node %u)",
             write ? "It is not known whether the write was done"
                   : "The request could not be completed",
             partition, s->node);
    return refuse_explain(c, FAULT_INTERNAL, text, reply);
}

/* The answer has the item that the condition saw, if the request asked for it. */
static bool refuse_condition(struct call *c, const struct subrequest *s, const struct reply *reply)
{
    struct fault *f = call_fault(c);
    fault_set(f, FAULT_CONDITION, "The conditional request failed");
    if (s->request.write.return_failed && reply->item.found) {
        json_write_key(&f->more, "Item");
        value_write_item(&f->more, reply->item.bytes);
    }
    return false;
}

/* A range has no fault but that its filter is too costly. */
static bool refuse_update(struct call *c, const struct subrequest *s, const struct reply *reply)
{
    const uint8_t fault =
        s->request.op == REQUEST_RANGE ? (uint8_t)UPDATE_TOO_COSTLY : reply->item.fault;
    if (s->request.op == REQUEST_PUT && fault == UPDATE_TOO_LARGE)
        return call_invalid(c, "%s", ITEM_TOO_LARGE);
    return fault > UPDATE_OK && fault < UPDATE_FAULTS
               ? call_invalid(c, "%s", update_fault_text(fault))
               : fault_set(call_fault(c), FAULT_INTERNAL, "A node refused the write");
}

bool call_refuse(struct call *c, const struct subrequest *s, const struct reply *reply)
{
    bool write = traits_of(&s->request)->write;
    struct slice name = request_table_name(&s->request);
    switch (reply->code) {
    case REPLY_THROTTLED:
        if (s->route == NULL)
            break; /* the catalog does not throttle */
        return throttle_refuse(c, s, &reply->verdict);
    case REPLY_OVERLOADED:
        if (s->busy != NULL)
            return fault_set(call_fault(c), FAULT_UNAVAILABLE, "Nothing was read: %s", s->busy);
        return refuse_explain(c, FAULT_UNAVAILABLE,
                              s->shed != NULL ? "The router is overloaded and did nothing"
                                              : "The node is overloaded and did nothing",
                              reply);
    case REPLY_FULL:
        return refuse_explain(c, FAULT_UNAVAILABLE,
                              "The node's storage is full: writes are refused, reads go on", reply);
    case REPLY_STOPPED:
        return refuse_explain(
            c, FAULT_INTERNAL,
            "The node's disk has failed: writes are refused until it is restarted", reply);
    case REPLY_CORRUPT:
        return refuse_explain(c, FAULT_INTERNAL, "The stored item is damaged", reply);
    case REPLY_TABLE_EXISTS:
        return fault_set(call_fault(c), FAULT_IN_USE, "Table already exists: %.*s", SHOWN(name));
    case REPLY_TABLE_NOT_FOUND:
        return traits_of(&s->request)->names_table
                   ? fault_set(call_fault(c), FAULT_NOT_FOUND,
                               "Requested resource not found: Table: %.*s not found", SHOWN(name))
                   : fault_set(call_fault(c), FAULT_NOT_FOUND, "Requested resource not found");
    case REPLY_TABLE_BUSY:
        return call_refuse_busy(c, reply, name);
    case REPLY_TABLE_INVALID:
        return call_invalid(c, "%.*s", SHOWN(reply->text));
    case REPLY_LIMIT_EXCEEDED:
        return fault_set(call_fault(c), FAULT_LIMIT, "%.*s", SHOWN(reply->text));
    case REPLY_CONDITION_FAILED:
        return refuse_condition(c, s, reply);
    case REPLY_UPDATE_FAILED: /* of a put: the router did not know an index yet */
        return refuse_update(c, s, reply);
    case REPLY_LOCKED:
        return fault_set(call_fault(c), FAULT_CONFLICT, "Transaction is ongoing for the item");
    case REPLY_COLLECTION_FULL:
        return fault_set(call_fault(c), FAULT_COLLECTION_FULL, "Collection size exceeded.");
    case REPLY_NOT_LEADER:
        return refuse_unreachable(c, s, write, reply);
    case REPLY_UNKNOWN:
        return refuse_unknown(c, s, write, reply);
    default:
        break;
    }
    return refuse_explain(c, FAULT_INTERNAL, "A node refused the request", reply);
}

bool call_filter(struct call *c, struct slice filter, struct slice item, uint64_t *steps,
                 bool *passes)
{
    struct steps taken = steps_begin(c->router->hash_seed);
    *passes = filter.size == 0 || program_holds(filter, item, &taken);
    *steps += taken.taken;
    return !steps_are_spent(&taken) || call_invalid(c, "%s", update_fault_text(UPDATE_TOO_COSTLY));
}

void call_write_item(struct call *c, struct buffer *out, struct slice item,
                     const struct projection *shown)
{
    struct buffer *scratch = &c->router->scratch;
    if (shown == NULL) {
        value_write_item(out, item);
        return;
    }
    buffer_clear(scratch);
    projection_append(scratch, shown, item);
    value_write_item(out, buffer_slice(scratch));
}

bool call_begin_answer(struct call *c, struct subrequest *s, const struct reply *r,
                       const char *member, const struct projection *shown)
{
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    json_write_open(&c->body, '{');
    if (member != NULL && r->item.found) {
        json_write_key(&c->body, member);
        call_write_item(c, &c->body, r->item.bytes, shown);
    }
    const struct capacity capacity = {.table_mcu = r->consumed_mcu};
    capacity_write_member(&c->body, c, &s->route->table, &capacity);
    return true;
}
