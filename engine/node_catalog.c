/* node_catalog.c - leading group 0: answering for tables, and hearing from the nodes. */
#include "base/must.h"
#include "engine/node_internal.h"

enum {
    REPORT_MS = 2000,
    REPORT_SOON_MS = 100
};

bool node_leads_catalog(const struct node *n)
{
    const struct partition *p = node_partition(n, CATALOG_GROUP);
    return p != NULL && p->led != 0;
}

bool node_knows_enough_nodes(const struct node *n)
{
    uint32_t known = 0;
    for (uint32_t node = 1; node <= n->options.node_count; node++)
        known += catalog_generation(n->catalog, node) != 0;
    return known == n->options.node_count || known >= n->config->replicas;
}

void node_catalog_propose(struct node *n, const struct operation *o,
                          struct catalog_command *command)
{
    for (size_t i = 0; i < sizeof command->uuid; i++)
        command->uuid[i] = (uint8_t)prng_next(&n->prng);
    buffer_clear(&n->scratch);
    catalog_command_encode(&n->scratch, command);
    node_propose(n, node_partition(n, CATALOG_GROUP), o, LOG_CATALOG, buffer_slice(&n->scratch),
                 slice_make(NULL, 0));
}

enum status node_check(const struct node *n, struct buffer *error)
{
    struct slice name = {NULL, 0};
    const struct table *t = NULL;
    while (n->catalog != NULL && (t = catalog_after(n->catalog, name)) != NULL) {
        for (uint32_t i = 0; i < t->partition_count; i++) {
            uint32_t node = 0;
            for (uint32_t m = 0; m < t->partitions[i].member_count; m++) {
                if (partition_node(&t->partitions[i], m) > n->options.node_count)
                    node = partition_node(&t->partitions[i], m);
            }
            if (node == 0)
                continue;
            buffer_append_format(error,
                                 "the table %.*s has a partition on node %u, but there are only %u "
                                 "nodes: start with all the nodes the data was written with",
                                 (int)t->name.size, t->name.data, node, n->options.node_count);
            return STATUS_MALFORMED;
        }
        name = t->name;
    }
    return STATUS_OK;
}

/* ---- reports ---- */

static void append_report(struct buffer *b, const struct partition *p, int64_t items, int64_t bytes)
{
    buffer_append_u32(b, p->info.table_id);
    buffer_append_u32(b, p->info.id);
    buffer_append_u64(b, raft_self(p->raft));
    buffer_append_u64(b, (uint64_t)items);
    buffer_append_u64(b, (uint64_t)bytes);
}

void node_report(struct node *n)
{
    struct buffer *b = &n->scratch;
    bool all = n->report_all || n->report_waiting;
    buffer_clear(b);
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        struct partition *p = n->partitions[i];
        if (p == NULL || p->info.id == CATALOG_GROUP)
            continue;
        if (p->led == 0 && raft_leader(p->raft) == 0)
            append_report(b, p, -1, -1);
        if (p->led == 0 || p->counting ||
            (!all && p->item_count == p->reported_count && p->item_bytes == p->reported_bytes))
            continue;
        append_report(b, p, p->item_count, p->item_bytes);
        p->reported_count = p->item_count;
        p->reported_bytes = p->item_bytes;
    }
    n->report_at = instant_add(n->now, duration_ms(REPORT_MS));
    if (b->size == 0)
        return;
    if (n->report_waiting || n->catalog_leader == 0)
        n->catalog_leader = n->catalog_leader % n->options.node_count + 1;
    n->report_waiting = true;
    n->report_all = false;
    struct node_effect *e = node_push(n, NODE_REQUEST);
    e->to = n->catalog_leader;
    e->request =
        (struct request){.op = REQUEST_TABLE_REPORT, .body = arena_copy(&n->lent, buffer_slice(b))};
}

/* Not the leader: the one it names, or the next one, is asked soon. */
static void ask_elsewhere(struct node *n, uint32_t leader)
{
    bool named = leader != 0 && leader <= n->options.node_count;
    n->catalog_leader = named ? leader : n->catalog_leader % n->options.node_count + 1;
    n->report_all = true;
    n->report_at = instant_add(n->now, duration_ms(REPORT_SOON_MS));
}

void node_reported(struct node *n, const struct reply *reply)
{
    n->report_waiting = false;
    if (reply->code != REPLY_OK) {
        ask_elsewhere(n, reply->leader);
        return;
    }
    struct reader r = {reply->body, false};
    while (r.left.size > 0) {
        struct partition *p = node_partition(n, reader_u32(&r));
        if (r.failed)
            return;
        bool orphan = p != NULL && !p->closing && p->info.id != CATALOG_GROUP && p->led == 0 &&
                      raft_leader(p->raft) == 0;
        if (!orphan || n->inflight_free == NULL || !node_has_log_space(n, 0))
            continue;
        p->closing = true;
        node_append_own(n, LOG_PARTITION_CLOSE, p->info.id, 0, slice_make(NULL, 0));
    }
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
    if (op == CATALOG_CREATE && !node_knows_enough_nodes(n)) {
        node_refuse(n, o->from, q->id, REPLY_NOT_LEADER,
                    "fewer nodes have been heard of than the %u that a table's replicas need",
                    command.replicas);
        return;
    }
    if (node_can_write(n, o, 2048))
        node_catalog_propose(n, o, &command);
}

static void split_table(struct node *n, const struct operation *o)
{
    const struct request *q = &o->request;
    struct table_split split;
    if (table_split_decode(q->body, &split) != STATUS_OK) {
        node_refuse(n, o->from, q->id, REPLY_MALFORMED,
                    "not a split: 1 to %d cuts, ascending, and shares within the whole",
                    SPLIT_CUTS_MAX);
        return;
    }
    struct catalog_command command;
    catalog_command_init(&command, CATALOG_SPLIT, n->config, n->options.node_count, q->wall_ms);
    command.spec.name = slice_of("-");
    command.split = q->body;
    if (node_can_write(n, o, q->body.size + 1024))
        node_catalog_propose(n, o, &command);
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

/* Replicas that say they have no leader may be of groups that are gone: those are named. */
static void take_report(struct node *n, const struct operation *o)
{
    struct reader r = {o->request.body, false};
    buffer_clear(&n->scratch);
    while (r.left.size > 0 && !r.failed) {
        uint32_t table = reader_u32(&r), partition = reader_u32(&r);
        uint64_t member = reader_u64(&r);
        int64_t items = (int64_t)reader_u64(&r), bytes = (int64_t)reader_u64(&r);
        if (!r.failed && items >= 0 && bytes >= 0)
            catalog_report(n->catalog, table, partition, items, bytes);
        else if (!r.failed && !catalog_may_have(n->catalog, partition, member))
            buffer_append_u32(&n->scratch, partition);
    }
    struct reply *reply =
        node_push_reply(n, o->from, o->request.id, r.failed ? REPLY_MALFORMED : REPLY_OK);
    reply->body = arena_copy(&n->lent, buffer_slice(&n->scratch));
}

void node_catalog_request(struct node *n, struct operation *o)
{
    struct partition *p = node_partition(n, CATALOG_GROUP);
    if (p == NULL) {
        node_refuse(n, o->from, o->request.id, REPLY_NOT_LEADER,
                    "node %u has no replica of the catalog", n->options.id);
        return;
    }
    if (p->led == 0) {
        node_refuse_not_leader(n, o, p);
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
    case REQUEST_TABLE_SPLIT:
        split_table(n, o);
        break;
    case REQUEST_TABLE_LIST:
        if (node_leads_read(n, p, o))
            list_tables(n, o);
        break;
    case REQUEST_TABLE_REPORT:
        take_report(n, o);
        break;
    default:
        if (node_leads_read(n, p, o))
            get_table(n, o);
    }
}
