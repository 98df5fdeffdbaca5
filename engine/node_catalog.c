/* node_catalog.c - leading group 0: answering for tables, and getting partitions onto their nodes.
 *
 * A table that is not ACTIVE is being settled: every partition is opened (or closed) at its node,
 * again and again until the node has acknowledged; then CATALOG_SETTLE is proposed. All steps may
 * be repeated, so a restart resumes from the table's status alone. */
#include <stdlib.h>

#include "base/must.h"
#include "engine/node_internal.h"

enum {
    SEND_AGAIN_MS = 250
};

/* ---- settling ---- */

static uint64_t settle_request_id(const struct settling *s, uint32_t index)
{
    return (uint64_t)s->table_id << 32 | (uint64_t)s->status << 28 | (index + 1);
}

static struct settling **find_settling(struct node *n, uint32_t table_id)
{
    struct settling **link = &n->settling;
    while (*link != NULL && (*link)->table_id != table_id)
        link = &(*link)->next;
    return link;
}

static void drop_settling(struct settling **link)
{
    struct settling *s = *link;
    *link = s->next;
    free(s);
}

void node_catalog_table_changed(struct node *n, const struct table *t)
{
    struct settling **link = find_settling(n, t->id);
    if (*link != NULL)
        drop_settling(link);
    if (t->status == TABLE_ACTIVE || catalog_find_id(n->catalog, t->id) == NULL)
        return;
    struct settling *s = calloc(1, sizeof *s + t->partition_count);
    must(s != NULL);
    s->table_id = t->id;
    s->status = t->status;
    s->count = t->partition_count;
    s->send_at = n->now;
    s->next = n->settling;
    n->settling = s;
}

static void send_partitions(struct node *n, struct settling *s)
{
    const struct table *t = catalog_find_id(n->catalog, s->table_id);
    must(t != NULL && t->partition_count == s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->done[i])
            continue;
        bool closing = s->status == TABLE_DELETING;
        buffer_clear(&n->scratch);
        partition_info_encode(&n->scratch, &t->partitions[i]);
        struct node_effect *e = node_push(n, NODE_REQUEST);
        e->to = t->partitions[i].node;
        e->request = (struct request){
            .id = settle_request_id(s, i),
            .op = closing ? REQUEST_PARTITION_CLOSE : REQUEST_PARTITION_OPEN,
            .partition = t->partitions[i].id,
            .epoch = t->partitions[i].epoch,
            .body = arena_copy(&n->lent, buffer_slice(&n->scratch)),
        };
    }
    s->send_at = instant_add(n->now, duration_ms(SEND_AGAIN_MS));
}

static void propose_command(struct node *n, const struct operation *o,
                            struct catalog_command *command)
{
    for (size_t i = 0; i < sizeof command->uuid; i++)
        command->uuid[i] = (uint8_t)prng_next(&n->prng);
    buffer_clear(&n->scratch);
    catalog_command_encode(&n->scratch, command);
    struct inflight *e = node_propose(n, LOG_CATALOG, CATALOG_GROUP, ++n->catalog_index,
                                      buffer_slice(&n->scratch), slice_make(NULL, 0));
    e->answer = o->from != FROM_SELF;
    e->from = o->from;
    e->request_id = o->request.id;
}

static void propose_settle(struct node *n, struct settling *s)
{
    struct operation o = {.from = FROM_SELF};
    struct catalog_command command;
    s->send_at = instant_add(n->now, duration_ms(SEND_AGAIN_MS)); /* if it cannot be written now */
    catalog_command_init(&command, CATALOG_SETTLE, n->config, n->options.node_count, 0);
    command.table_id = s->table_id;
    command.spec.name = catalog_find_id(n->catalog, s->table_id)->name;
    if (!node_can_write(n, &o, 1024))
        return;
    s->proposed = true;
    propose_command(n, &o, &command);
}

void node_catalog_tick(struct node *n)
{
    for (struct settling *s = n->settling; s != NULL; s = s->next) {
        if (instant_before(n->now, s->send_at) || s->proposed)
            continue;
        if (s->acknowledged < s->count)
            send_partitions(n, s);
        else
            propose_settle(n, s);
    }
}

struct instant node_catalog_deadline(const struct node *n)
{
    struct instant t = INSTANT_NEVER;
    for (const struct settling *s = n->settling; s != NULL; s = s->next) {
        if (!s->proposed && n->stop_error == 0)
            t = instant_earlier(t, s->send_at);
    }
    return t;
}

void node_catalog_reply(struct node *n, const struct reply *reply)
{
    struct settling *s = *find_settling(n, (uint32_t)(reply->id >> 32));
    uint32_t index = (uint32_t)(reply->id & 0xFFFFFFF) - 1;
    if (reply->id == 0 || s == NULL || index >= s->count || s->done[index] ||
        reply->id != settle_request_id(s, index) || reply->code != REPLY_OK)
        return; /* an answer to what is settled already, or a refusal: it is sent again */
    s->done[index] = 1;
    s->acknowledged++;
    if (s->acknowledged == s->count && !s->proposed)
        propose_settle(n, s);
}

enum status node_check(const struct node *n, struct buffer *error)
{
    struct slice name = {NULL, 0};
    const struct table *t = NULL;
    while (n->catalog != NULL && (t = catalog_after(n->catalog, name)) != NULL) {
        for (uint32_t i = 0; i < t->partition_count; i++) {
            if (t->partitions[i].node <= n->options.node_count)
                continue;
            buffer_append_format(error,
                                 "the table %.*s has a partition on node %u, but there are only %u "
                                 "nodes: start with all the nodes the data was written with",
                                 (int)t->name.size, t->name.data, t->partitions[i].node,
                                 n->options.node_count);
            return STATUS_MALFORMED;
        }
        name = t->name;
    }
    return STATUS_OK;
}

void node_catalog_resume(struct node *n)
{
    struct slice name = {NULL, 0};
    for (const struct table *t; (t = catalog_after(n->catalog, name)) != NULL; name = t->name)
        node_catalog_table_changed(n, t);
}

void node_catalog_deinit(struct node *n)
{
    while (n->settling != NULL)
        drop_settling(&n->settling);
}

/* ---- requests ---- */

static void change_table(struct node *n, const struct operation *o, enum catalog_op op)
{
    const struct request *q = &o->request;
    struct catalog_command command;
    catalog_command_init(&command, op, n->config, n->options.node_count, q->wall_ms);
    command.spec.name = q->key;
    bool valid = op == CATALOG_DELETE || table_spec_decode(q->body, &command.spec) == STATUS_OK;
    valid = valid && command.spec.name.size > 0 && command.spec.name.size <= TABLE_NAME_SIZE_MAX &&
            (op != CATALOG_CREATE || command.spec.partition_key.name.size > 0);
    if (!valid) {
        node_refuse(n, o->from, q->id, REPLY_MALFORMED, "the table's description makes no sense");
        return;
    }
    if (node_can_write(n, o, 2048))
        propose_command(n, o, &command);
}

static void get_table(struct node *n, const struct operation *o)
{
    const struct table *t = catalog_find(n->catalog, o->request.key);
    if (t == NULL) {
        node_push_reply(n, o->from, o->request.id, REPLY_TABLE_NOT_FOUND);
        return;
    }
    buffer_clear(&n->scratch);
    table_encode(&n->scratch, t);
    struct slice body = arena_copy(&n->lent, buffer_slice(&n->scratch));
    node_push_reply(n, o->from, o->request.id, REPLY_OK)->body = body;
}

static void list_tables(struct node *n, const struct operation *o)
{
    struct reply *r = node_push_reply(n, o->from, o->request.id, REPLY_OK);
    buffer_clear(&n->scratch);
    struct slice name = o->request.key;
    for (const struct table *t; (t = catalog_after(n->catalog, name)) != NULL; name = t->name) {
        r->more = o->request.items_max > 0 && r->count == o->request.items_max;
        if (r->more)
            break;
        buffer_append_sized(&n->scratch, t->name);
        r->count++;
    }
    r->body = arena_copy(&n->lent, buffer_slice(&n->scratch));
}

static void take_report(struct node *n, const struct operation *o)
{
    struct reader r = {o->request.body, false};
    while (r.left.size > 0 && !r.failed) {
        uint32_t table = reader_u32(&r), partition = reader_u32(&r);
        int64_t items = (int64_t)reader_u64(&r), bytes = (int64_t)reader_u64(&r);
        if (!r.failed && items >= 0 && bytes >= 0)
            catalog_report(n->catalog, table, partition, items, bytes);
    }
    node_push_reply(n, o->from, o->request.id, r.failed ? REPLY_MALFORMED : REPLY_OK);
}

void node_catalog_request(struct node *n, struct operation *o)
{
    if (n->catalog == NULL) {
        node_refuse(n, o->from, o->request.id, REPLY_NOT_LEADER,
                    "node %u does not lead the catalog, node %u does", n->options.id,
                    n->options.catalog_node);
        return;
    }
    switch (o->request.op) {
    case REQUEST_TABLE_CREATE:
        change_table(n, o, CATALOG_CREATE);
        break;
    case REQUEST_TABLE_UPDATE:
        change_table(n, o, CATALOG_UPDATE);
        break;
    case REQUEST_TABLE_DELETE:
        change_table(n, o, CATALOG_DELETE);
        break;
    case REQUEST_TABLE_LIST:
        list_tables(n, o);
        break;
    case REQUEST_TABLE_REPORT:
        take_report(n, o);
        break;
    default:
        get_table(n, o);
    }
}
