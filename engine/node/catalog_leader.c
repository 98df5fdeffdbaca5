/* node/catalog_leader.c - leading group 0: answering for tables, and hearing from the nodes. */
#include <xxhash.h>

#include "base/must.h"
#include "engine/node/control_port.h"
#include "engine/node/node_internal.h"

enum {
    REPORT_SOON_MS = 100,
    REPORT_GAP_MS = 20, /* at least between two reports */
    EVENTS_PAGE_MAX = 1000
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
    struct catalog_command read;
    buffer_clear(&n->scratch);
    catalog_command_encode(&n->scratch, command);
    if (catalog_command_decode(buffer_slice(&n->scratch), &read) != STATUS_OK) {
        node_refuse(n, o->from, o->request.id, REPLY_MALFORMED,
                    "not what the catalog can do: a name, an amount or a date makes no sense");
        return;
    }
    node_propose(n, node_partition(n, CATALOG_GROUP), o, LOG_CATALOG, buffer_slice(&n->scratch),
                 slice_make(NULL, 0));
}

/* The last node of all groups that this node knows: each replica knows its own, the catalog all. */
static uint32_t last_node_known(const struct node *n)
{
    uint32_t last = 0;
    const struct table *t;
    for (uint32_t id = 0; id < n->partitions_size; id++) {
        const struct partition *p = n->partitions[id];
        const struct raft_members *m = p != NULL ? raft_members(p->raft) : NULL;
        for (uint32_t i = 0; m != NULL && i < m->count; i++)
            last = last > raft_member_node(m->all[i].id) ? last : raft_member_node(m->all[i].id);
    }
    for (struct slice name = {NULL, 0};
         n->catalog != NULL && (t = catalog_after(n->catalog, name)) != NULL; name = t->name) {
        for (uint32_t i = 0; i < t->partition_count; i++)
            for (uint32_t m = 0; m < t->partitions[i].member_count; m++)
                last = last > partition_node(&t->partitions[i], m)
                           ? last
                           : partition_node(&t->partitions[i], m);
    }
    return last;
}

enum status node_check(const struct node *n, struct buffer *error)
{
    uint32_t node = last_node_known(n);
    if (node <= n->options.node_count)
        return STATUS_OK;
    buffer_append_format(error,
                         "the data has partitions on node %u too, but only %u %s named: start with "
                         "all the nodes the data was written with",
                         node, n->options.node_count,
                         n->options.node_count == 1 ? "node is" : "nodes are");
    return STATUS_MALFORMED;
}

/* ---- for the controller ---- */

uint64_t node_control_term(const struct node *n)
{
    const struct partition *p = node_partition(n, CATALOG_GROUP);
    return p != NULL && n->stop_error == 0 ? p->led : 0;
}

struct instant node_control_urgent(const struct node *n)
{
    return n->urgent_at;
}

void node_control_view(const struct node *n, struct control_view *out)
{
    *out = (struct control_view){.term = node_control_term(n),
                                 .self = n->options.id,
                                 .node_count = n->options.node_count,
                                 .catalog = n->catalog,
                                 .loads = n->loads};
    must(out->term != 0);
    for (uint32_t node = 1; node <= n->options.node_count; node++)
        out->reachable[node] = node_is_reachable(n, node);
}

const struct catalog *node_catalog(const struct node *n)
{
    return n->catalog;
}

/* ---- reports ---- */

static void report_of(const struct node *n, const struct partition *p, bool leads,
                      struct partition_report *out)
{
    *out = (struct partition_report){.table_id = p->info.table_id,
                                     .partition = p->info.id,
                                     .member = raft_self(p->raft),
                                     .epoch = p->info.epoch,
                                     .items = leads ? p->item_count : -1,
                                     .bytes = leads ? p->item_bytes : -1};
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        out->totals[kind] = p->counts[kind].load;
        out->excess_ms[kind] = leads ? excess_ms(&p->excess[kind], n->now) : 0;
    }
}

/* Appends the record of what has something to say. */
static void append_report(const struct node *n, struct buffer *b, struct partition *p, bool all)
{
    bool leads = p->led != 0;
    struct partition_report r;
    bool well = raft_leader(p->raft) != 0 && !p->doubted && p->frozen.index == 0;
    if (leads ? p->info.id == CATALOG_GROUP : well)
        return;
    if (leads && p->counting)
        return; /* what it holds is not known yet */
    report_of(n, p, leads, &r);
    uint64_t hash = XXH3_64bits(&r, sizeof r);
    if (leads && !all && hash == p->reported && p->frozen.index == 0)
        return;
    partition_report_encode(b, &r);
    if (leads)
        p->reported = hash;
}

static void append_head(const struct node *n, struct buffer *b)
{
    struct node_report r = {
        .node = n->options.id,
        .capacity_mcu = {[ADMIT_READ] = n->config->node_rcu * MCU_PER_UNIT,
                         [ADMIT_WRITE] = n->config->node_wcu * MCU_PER_UNIT},
    };
    memcpy(r.consumed_mcu, n->consumed_mcu, sizeof r.consumed_mcu);
    node_report_encode(b, &r);
}

void node_report(struct node *n)
{
    struct buffer *b = &n->scratch;
    bool all = n->report_all || n->report_waiting;
    buffer_clear(b);
    append_head(n, b);
    size_t head_size = b->size;
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        if (n->partitions[i] != NULL)
            append_report(n, b, n->partitions[i], all);
    }
    n->report_at = instant_add(n->now, duration_ms(n->config->load_report_ms));
    if (b->size == head_size)
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

void node_report_soon(struct node *n)
{
    struct instant soon = {n->report_at.ns +
                           (REPORT_GAP_MS - n->config->load_report_ms) * NS_PER_MS};
    if (instant_before(soon, n->now))
        soon = n->now;
    n->report_at = instant_earlier(n->report_at, soon);
}

/* Not the leader: the one it names, or the next one, is asked soon. */
static void ask_elsewhere(struct node *n, uint32_t leader)
{
    bool named = leader != 0 && leader <= n->options.node_count;
    n->catalog_leader = named ? leader : n->catalog_leader % n->options.node_count + 1;
    n->report_all = true;
    n->report_at = instant_add(n->now, duration_ms(REPORT_SOON_MS));
}

/* What its group has let go of counts for nobody, whatever it has promised whom. A partition that
 * is gone is closed where it is led, too: the others have closed. */
void node_reported(struct node *n, const struct reply *reply)
{
    n->report_waiting = false;
    if (reply->code != REPLY_OK) {
        ask_elsewhere(n, reply->leader);
        return;
    }
    struct reader r = {reply->body, false};
    const uint64_t as_of = r.left.size > 0 ? reader_u64(&r) : 0;
    while (r.left.size > 0) {
        struct partition *p = node_partition(n, reader_u32(&r));
        uint64_t member = reader_u64(&r);
        bool gone = reader_u8(&r) != 0;
        if (r.failed)
            return;
        if (p != NULL && raft_self(p->raft) == member && (gone || p->led == 0))
            node_close_orphan(n, p, as_of);
    }
    for (uint32_t i = 0; i < n->partitions_size; i++) {
        if (n->partitions[i] != NULL)
            n->partitions[i]->doubted = false; /* whoever doubts it still says so again */
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
            (op != CATALOG_CREATE || (command.spec.partition_key.name.size > 0 &&
                                      command.spec.billing != BILLING_AS_IT_IS));
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
    if (node_can_write(n, o, q->body.size + 2048))
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
        r->more = (o->request.items_max > 0 && r->count == o->request.items_max) ||
                  n->scratch.size >= PAGE_SIZE_MAX;
        if (r->more)
            break;
        buffer_append_sized(&n->scratch, t->name);
        r->count++;
    }
    r->body = arena_copy(&n->lent, buffer_slice(&n->scratch));
}

/* A load that has just become a reason for a split is not to wait for the controller's next look.
 */
static void note_excess(struct node *n, const struct partition_report *r)
{
    const struct partition_load *before = loads_of(n->loads, r->partition);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        bool known = before != NULL && before->epoch == r->epoch &&
                     before->excess_ms[kind] >= n->config->split_hold_ms;
        if (r->excess_ms[kind] >= n->config->split_hold_ms && !known)
            n->urgent_at = n->now;
    }
}

/* Replicas that say they have no leader may be of groups that are gone: those are named.
 * Reply: u64 the catalog's log index that says so | for each u32 partition, u64 member, u8 whether
 * the partition is gone. Or nothing. */
static void take_report(struct node *n, const struct operation *o)
{
    struct reader r = {o->request.body, false};
    struct node_report head;
    struct partition_report p;
    buffer_clear(&n->scratch);
    if (node_report_decode(&r, &head) == STATUS_OK)
        loads_take_node(n->loads, n->now, &head);
    while (r.left.size > 0 && !r.failed && partition_report_decode(&r, &p) == STATUS_OK) {
        bool gone = catalog_is_gone(n->catalog, p.partition);
        if (p.items >= 0 && catalog_has(n->catalog, p.table_id, p.partition, p.member)) {
            catalog_report(n->catalog, p.table_id, p.partition, p.items, p.bytes);
            note_excess(n, &p);
            loads_take_partition(n->loads, n->now, &p);
        } else if (gone || (p.items < 0 && !catalog_may_have(n->catalog, p.partition, p.member))) {
            if (n->scratch.size == 0)
                buffer_append_u64(&n->scratch, node_catalog_as_of(n));
            buffer_append_u32(&n->scratch, p.partition);
            buffer_append_u64(&n->scratch, p.member);
            buffer_append_u8(&n->scratch, gone);
        }
    }
    struct reply *reply =
        node_push_reply(n, o->from, o->request.id, r.failed ? REPLY_MALFORMED : REPLY_OK);
    reply->body = arena_copy(&n->lent, buffer_slice(&n->scratch));
}

static void list_events(struct node *n, const struct operation *o)
{
    struct reader r = {o->request.body, false};
    uint64_t after = reader_u64(&r), last = catalog_last_event(n->catalog);
    if (r.failed || r.left.size > 0) {
        node_refuse(n, o->from, o->request.id, REPLY_MALFORMED, "which event to start after?");
        return;
    }
    if (last >= EVENTS_MAX && after < last - EVENTS_MAX)
        after = last - EVENTS_MAX;
    uint32_t most = o->request.items_max;
    if (most == 0 || most > EVENTS_PAGE_MAX)
        most = EVENTS_PAGE_MAX;
    struct reply *reply = node_push_reply(n, o->from, o->request.id, REPLY_OK);
    buffer_clear(&n->scratch);
    for (; after < last && reply->count < most && n->scratch.size < PAGE_SIZE_MAX; reply->count++)
        buffer_append_sized(&n->scratch, catalog_event(n->catalog, ++after));
    reply->more = after < last;
    reply->body = arena_copy(&n->lent, buffer_slice(&n->scratch));
}

/* Whether a node that is well has had the time to say so to this leader of the catalog. */
static bool has_heard_everyone(const struct node *n)
{
    int64_t wait_ms = n->config->support_ms + n->config->load_report_ms;
    return !instant_before(n->now, instant_add(n->catalog_led_since, duration_ms(wait_ms)));
}

/* Whether another node that answers, and may hold replicas, has none of the partition. The catalog
 * need not know it yet: it soon will. */
static bool has_other_place(const struct node *n, const struct partition_info *p)
{
    for (uint32_t node = 1; node <= n->options.node_count; node++) {
        if ((node_is_reachable(n, node) || !has_heard_everyone(n)) &&
            !catalog_is_drained(n->catalog, node) && partition_member_on(p, node) == 0)
            return true;
    }
    return false;
}

/* A partition of the table that the node could not give away; NULL: there is none. */
static const struct partition_info *stuck_on(const struct node *n, const struct table *t,
                                             uint32_t node)
{
    for (uint32_t i = 0; t != NULL && i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        if (partition_member_on(p, node) != 0 && !has_other_place(n, p))
            return p;
    }
    return NULL;
}

/* A node is not told to give away what no other node can take now. */
static bool drain_has_room(struct node *n, const struct operation *o, uint32_t node)
{
    const struct table *t = catalog_itself(n->catalog);
    const struct partition_info *p = stuck_on(n, t, node);
    for (struct slice name = {NULL, 0}; p == NULL && (t = catalog_after(n->catalog, name)) != NULL;
         name = t->name)
        p = stuck_on(n, t, node);
    if (p == NULL)
        return true;
    if (p->id == CATALOG_GROUP)
        node_refuse(n, o->from, o->request.id, REPLY_LIMIT_EXCEEDED,
                    "node %u cannot be emptied: each other node that answers has a copy of the "
                    "catalog, or is being emptied. Add a node first",
                    node);
    else
        node_refuse(n, o->from, o->request.id, REPLY_LIMIT_EXCEEDED,
                    "node %u cannot be emptied: each other node that answers has a copy of "
                    "partition %u of table %.*s, or is being emptied. Add a node first",
                    node, p->id, (int)t->name.size, (const char *)t->name.data);
    return false;
}

static void decide(struct node *n, const struct operation *o)
{
    struct reader r = {o->request.body, false};
    uint8_t op = reader_u8(&r);
    struct decision decision;
    if (r.failed || op < CATALOG_EVENT || op > CATALOG_MERGE || op == CATALOG_LET_GO ||
        op == CATALOG_LEFT || decision_decode(r.left, &decision) != STATUS_OK ||
        (op == CATALOG_MERGE && decision.merge != MERGE_BEGIN)) {
        node_refuse(n, o->from, o->request.id, REPLY_MALFORMED, "not a decision");
        return;
    }
    if (op == CATALOG_MERGE && !node_settling_rests(n, decision.table_id)) {
        node_refuse(n, o->from, o->request.id, REPLY_OVERLOADED,
                    "not all replicas of the table are known to be where they belong");
        return;
    }
    if (op == CATALOG_DRAIN && decision.drain && !drain_has_room(n, o, decision.to_node))
        return;
    struct catalog_command command;
    catalog_command_init(&command, (enum catalog_op)op, n->config, n->options.node_count,
                         o->request.wall_ms);
    command.spec.name = slice_of("-");
    command.decision = r.left;
    if (node_can_write(n, o, o->request.body.size + 1024))
        node_catalog_propose(n, o, &command);
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
        if (node_leads_read(n, p, o)) /* the answer may have replicas erased */
            take_report(n, o);
        break;
    case REQUEST_EVENTS:
        if (node_leads_read(n, p, o))
            list_events(n, o);
        break;
    case REQUEST_DECIDE:
        decide(n, o);
        break;
    default:
        if (node_leads_read(n, p, o))
            get_table(n, o);
    }
}
