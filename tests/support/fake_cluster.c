/* fake_cluster.c - the answers of the catalog, from memory; clients; the effects of the router. */
#include "tests/support/fake_cluster.h"
#include "engine/message/frames.h"
#include "engine/message/request_traits.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <zlib.h>

#include "base/must.h"
#include "base/settings/choices.h"
#include "engine/item/storage_key.h"
#include "engine/message/partition_stats.h"
#include "router/core/router_internal.h"
#include "server/link_rights.h"
#include "tests/support/fake_node.h"

/* ---- the world ---- */

void fake_init(struct fake_cluster *f)
{
    *f = (struct fake_cluster){.now = {NS_PER_S}, .next_partition = 1, .seed = 78};
    config_init(&f->config, PROFILE_AWS);
    config_edit_choices(&f->config)->gac = GAC_OFF;
}

void fake_start(struct fake_cluster *f)
{
    struct router_options options = {.config = &f->config,
                                     .node_count = FAKE_NODES,
                                     .region = f->region,
                                     .account = f->account,
                                     .seed = f->seed,
                                     .number = 1,
                                     .on_loopback = f->on_loopback,
                                     .admin_token = f->admin_token,
                                     .answered = f->answered,
                                     .answered_context = f,
                                     .gac_servers = f->gac == NULL ? 0 : f->gac->count};
    f->router = router_create(&options);
    router_set_wall_clock(f->router, f->now, FAKE_WALL_MS);
    for (uint32_t s = 1; s <= options.gac_servers; s++)
        fake_gac_up(f, s);
}

void fake_deinit(struct fake_cluster *f)
{
    router_destroy(f->router);
    for (size_t i = 0; i < f->item_count; i++) {
        buffer_deinit(&f->items[i].key);
        buffer_deinit(&f->items[i].item);
    }
    for (size_t i = 0; i < f->held_count; i++)
        buffer_deinit(&f->held[i].frame);
    for (size_t i = 0; i < f->frame_count; i++)
        buffer_deinit(&f->frames[i].bytes);
    free(f->frames);
    buffer_deinit(&f->tokens);
    for (size_t i = 0; i < f->table_count; i++) {
        for (size_t j = 0; j < 8; j++) {
            free((void *)(uintptr_t)f->partitions[i][j].lo.data);
            free((void *)(uintptr_t)f->partitions[i][j].hi.data);
        }
        free((void *)(uintptr_t)f->tables[i].name.data);
        free((void *)(uintptr_t)f->tables[i].partition_key.name.data);
        free((void *)(uintptr_t)f->tables[i].sort_key.name.data);
        free((void *)(uintptr_t)f->tables[i].encryption_key.data);
        free((void *)(uintptr_t)f->tables[i].tags.data);
        free((void *)(uintptr_t)f->tables[i].ttl_attribute.data);
    }
    for (size_t i = 0; i <= FAKE_CLIENTS_MAX; i++)
        buffer_deinit(&f->clients[i].received);
    buffer_deinit(&f->last);
    buffer_deinit(&f->names);
    arena_deinit(&f->arena);
    free(f->items);
    free(f->held);
}

static struct slice slice_owned(struct slice s)
{
    if (s.size == 0)
        return slice_make(NULL, 0);
    uint8_t *copy = malloc(s.size);
    must(copy != NULL);
    memcpy(copy, s.data, s.size);
    return slice_make(copy, s.size);
}

static struct slice hash_bound(uint32_t table, uint32_t at, uint32_t of)
{
    struct buffer b = {0};
    storage_key_append_hash(&b, table, (uint64_t)(((unsigned __int128)at << 64) / of));
    struct slice bound = slice_owned(buffer_slice(&b));
    buffer_deinit(&b);
    return bound;
}

void fake_repartition(struct fake_cluster *f, struct table *t, uint32_t partitions)
{
    struct partition_info *p = f->partitions[t - f->tables];
    must(partitions <= 8);
    for (uint32_t i = 0; i < 8; i++) {
        free((void *)(uintptr_t)p[i].lo.data);
        free((void *)(uintptr_t)p[i].hi.data);
        p[i] = (struct partition_info){0};
    }
    for (uint32_t i = 0; i < partitions; i++) {
        p[i] = (struct partition_info){
            .id = f->next_partition,
            .member_count = 1,
            .members = {raft_member_id(f->next_partition % FAKE_NODES + 1, 1, 0)},
            .epoch = 1,
            .table_id = t->id,
            .lo = hash_bound(t->id, i, partitions)};
        f->next_partition++;
        if (i + 1 < partitions)
            p[i].hi = hash_bound(t->id, i + 1, partitions);
    }
    t->partition_count = partitions;
    t->partitions = p;
}

struct table *fake_table(struct fake_cluster *f, const char *name, const char *key_name,
                         enum attr_type key_type, const char *sort_name, enum attr_type sort_type,
                         uint32_t partitions)
{
    must(f->table_count < FAKE_TABLES_MAX);
    struct table *t = &f->tables[f->table_count++];
    *t = (struct table){.id = f->table_count,
                        .name = slice_owned(slice_of(name)),
                        .status = TABLE_ACTIVE,
                        .partition_key = {slice_owned(slice_of(key_name)), key_type},
                        .billing = BILLING_PROVISIONED,
                        .rcu = 10,
                        .wcu = 5,
                        .warm = {[ADMIT_READ] = 10, [ADMIT_WRITE] = 5},
                        .created_ms = INT64_C(1700000000000)};
    if (sort_name != NULL)
        t->sort_key = (struct key_attr){slice_owned(slice_of(sort_name)), sort_type};
    fake_repartition(f, t, partitions);
    return t;
}

void fake_shard_keys(struct fake_cluster *f, struct table *t, const struct key_sharding *registry)
{
    struct buffer bytes = {0};
    key_sharding_encode(&bytes, registry);
    t->key_sharding = arena_copy(&f->arena, buffer_slice(&bytes));
    must(key_sharding_decode(t->key_sharding, &f->arena, &t->sharded_keys) == STATUS_OK);
    buffer_deinit(&bytes);
}

/* ---- the catalog ---- */

static struct table *find_table(struct fake_cluster *f, struct slice name)
{
    for (uint32_t i = 0; i < f->table_count; i++) {
        if (slice_equal(f->tables[i].name, name))
            return &f->tables[i];
    }
    return NULL;
}

static void answer_list(struct fake_cluster *f, const struct request *q, struct reply *r,
                        struct buffer *body)
{
    struct slice after = q->list.after;
    r->kind = ANSWER_PAGE;
    for (;;) {
        const struct table *next = NULL;
        for (uint32_t i = 0; i < f->table_count; i++) {
            const struct table *t = &f->tables[i];
            if (t->index_of == 0 && slice_compare(t->name, after) > 0 &&
                (next == NULL || slice_compare(t->name, next->name) < 0))
                next = t;
        }
        if (next == NULL)
            return;
        r->page.more = r->page.count == q->list.names_max;
        if (r->page.more)
            return;
        buffer_append_sized(body, next->name);
        r->page.count++;
        r->page.records = buffer_slice(body);
        after = next->name;
    }
}

static void replace_owned(struct slice *s, struct slice by)
{
    struct slice copy = slice_owned(by);
    free((void *)(uintptr_t)s->data);
    *s = copy;
}

/* False: there would be too many tags. */
static bool take_labels(struct table *t, const struct table_spec *spec)
{
    struct buffer tags = {0};
    bool few = tags_merge(&tags, t->tags, spec->tags) <= TAGS_MAX;
    if (few)
        replace_owned(&t->tags, buffer_slice(&tags));
    buffer_deinit(&tags);
    if (!few)
        return false;
    if (spec->protection != PROTECTION_UNSPECIFIED)
        t->protected = spec->protection == PROTECTION_ON;
    if (spec->class != TABLE_CLASS_UNSPECIFIED)
        t->class = spec->class;
    if (spec->encryption != ENCRYPTION_UNSPECIFIED) {
        t->encryption = spec->encryption;
        replace_owned(&t->encryption_key, spec->encryption_key);
    }
    if (spec->ttl != TTL_DISABLED) { /* it follows at once */
        t->ttl = spec->ttl == TTL_ENABLING ? TTL_ENABLED : TTL_DISABLED;
        replace_owned(&t->ttl_attribute,
                      t->ttl == TTL_ENABLED ? spec->ttl_attribute : slice_make(NULL, 0));
    }
    return true;
}

static void take_throughput(struct table *t, const struct table_spec *spec)
{
    t->version++;
    if (spec->billing == BILLING_ON_DEMAND && t->billing != BILLING_ON_DEMAND)
        t->on_demand_since_ms = t->created_ms;
    t->billing = spec->billing;
    t->rcu = spec->rcu;
    t->wcu = spec->wcu;
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        if (spec->warm[kind] > 0)
            t->warm[kind] = spec->warm[kind];
        if (spec->maximum[kind] != 0)
            t->maximum[kind] = spec->maximum[kind] == MAXIMUM_NONE ? 0 : spec->maximum[kind];
    }
}

/* ---- tables with indexes ---- */

static void append_indexes(const struct fake_cluster *f, const struct table *t, struct buffer *out)
{
    struct buffer bytes = {0};
    for (uint32_t i = 0; i < f->table_count; i++) {
        if (f->tables[i].index_of != t->id || f->tables[i].name.size == 0)
            continue;
        buffer_clear(&bytes);
        table_encode(&bytes, &f->tables[i]);
        buffer_append_sized(out, buffer_slice(&bytes));
    }
    buffer_deinit(&bytes);
}

/* Sets the reply to the table and its indexes. */
static void show_table(const struct fake_cluster *f, const struct table *t, struct reply *r,
                       struct buffer *body)
{
    table_encode(body, t);
    const size_t size = body->size;
    if (t->index_of == 0)
        append_indexes(f, t, body);
    r->table.bytes = slice_make(body->data, size);
    r->table.agreed_ms = f->agreed_ms;
    r->table.indexes = slice_make(body->data + size, body->size - size);
}

void fake_set_indexes(struct fake_cluster *f, struct table *t, const struct index_set *set)
{
    struct buffer bytes = {0};
    index_set_encode(&bytes, set);
    t->indexes = arena_copy(&f->arena, buffer_slice(&bytes));
    must(index_set_decode(t->indexes, &f->arena, &t->index_set) == STATUS_OK);
    buffer_deinit(&bytes);
}

static void create_index(struct fake_cluster *f, const struct table *t, struct index *x,
                         struct slice throughput)
{
    const struct index_set alone = {t->partition_key, t->sort_key, 1, 0, x};
    struct buffer name = {0}, key = {0};
    struct table_spec spec;
    must(table_spec_decode(throughput, &spec) == STATUS_OK && slice_equal(spec.name, x->name));
    table_append_index_name(&name, t, x);
    buffer_append_u8(&name, 0);
    buffer_append_slice(&key, x->keys[0].name);
    buffer_append_u8(&key, 0);
    struct table *own =
        fake_table(f, (const char *)name.data, (const char *)key.data,
                   x->partition_count > 1 ? ATTR_BINARY : x->keys[0].type, NULL, 0, 2);
    must(own->id == x->table_id);
    own->index_of = t->id;
    own->gac = t->gac;
    fake_set_indexes(f, own, &alone);
    take_throughput(own, &spec);
    own->status = TABLE_CREATING;
    buffer_deinit(&name);
    buffer_deinit(&key);
}

static void create_indexes(struct fake_cluster *f, struct table *t, const struct table_spec *spec)
{
    const struct index_set *set;
    struct reader throughputs = {spec->globals, false};
    must(index_set_decode(spec->indexes, &f->arena, &set) == STATUS_OK);
    for (uint32_t i = 0; i < index_set_global(set); i++)
        set->at[set->local_count + i].table_id = t->id + 1 + i;
    if (set != NULL)
        fake_set_indexes(f, t, set);
    for (uint32_t i = 0; i < index_set_global(set); i++)
        create_index(f, t, &set->at[set->local_count + i], reader_sized(&throughputs));
    must(throughputs.left.size == 0 && !throughputs.failed);
}

static void settle_indexes(struct fake_cluster *f, const struct table *t)
{
    for (uint32_t i = 0; i < f->table_count && !f->hold_indexes; i++) {
        if (f->tables[i].index_of == t->id)
            f->tables[i].status = TABLE_ACTIVE;
    }
}

static void update_indexes(struct fake_cluster *f, const struct table *t,
                           const struct table_spec *spec)
{
    for (struct reader r = {spec->globals, false}; r.left.size > 0;) {
        struct table_spec own;
        must(table_spec_decode(reader_sized(&r), &own) == STATUS_OK);
        const struct index *x = index_set_find(t->index_set, own.name);
        struct table *index = &f->tables[x->table_id - 1];
        must(index->status == TABLE_ACTIVE && own.billing != BILLING_AS_IT_IS);
        take_throughput(index, &own);
        index->status = TABLE_UPDATING;
    }
}

static void answer_create(struct fake_cluster *f, const struct table_spec *spec, struct reply *r,
                          struct buffer *body)
{
    char name[256], key[256], sort[256];
    const struct index_set *set;
    must(index_set_decode(spec->indexes, &f->arena, &set) == STATUS_OK);
    const bool full = f->table_count + 1 + index_set_global(set) > FAKE_TABLES_MAX;
    if (find_table(f, spec->name) != NULL || full) {
        r->code = full ? REPLY_LIMIT_EXCEEDED : REPLY_TABLE_EXISTS;
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)spec->name.size, (const char *)spec->name.data);
    snprintf(key, sizeof key, "%.*s", (int)spec->partition_key.name.size,
             (const char *)spec->partition_key.name.data);
    snprintf(sort, sizeof sort, "%.*s", (int)spec->sort_key.name.size,
             (const char *)spec->sort_key.name.data);
    struct table *t = fake_table(f, name, key, spec->partition_key.type,
                                 sort[0] == '\0' ? NULL : sort, spec->sort_key.type, 1);
    t->gac = spec->gac;
    must(take_labels(t, spec));
    take_throughput(t, spec);
    t->warm[ADMIT_READ] = spec->rcu;
    t->warm[ADMIT_WRITE] = spec->wcu;
    t->whole_collections = spec->whole_collections;
    create_indexes(f, t, spec);
    t->status = TABLE_CREATING;
    show_table(f, t, r, body);
    if (!f->hold_changes)
        t->status = TABLE_ACTIVE;
    settle_indexes(f, t);
}

static const struct table *busy_index(const struct fake_cluster *f, const struct table *t)
{
    for (uint32_t i = 0; i < f->table_count; i++) {
        if (f->tables[i].index_of == t->id && f->tables[i].status != TABLE_ACTIVE)
            return &f->tables[i];
    }
    return NULL;
}

/* Frees the names of the table and its indexes. */
static void table_drop(struct fake_cluster *f, struct table *t)
{
    for (uint32_t i = 0; i < f->table_count; i++) {
        if (f->tables[i].index_of == t->id)
            f->tables[i].name.size = 0;
    }
    t->name.size = 0;
}

static void answer_update(struct fake_cluster *f, struct table *t, const struct table_spec *spec,
                          struct reply *r, struct buffer *body)
{
    if (!take_labels(t, spec)) {
        r->code = REPLY_TABLE_INVALID;
        r->text = slice_of("too many tags");
        return;
    }
    if (spec->billing != BILLING_AS_IT_IS) {
        take_throughput(t, spec);
        t->status = TABLE_UPDATING;
    }
    update_indexes(f, t, spec);
    show_table(f, t, r, body);
    t->status = TABLE_ACTIVE;
    settle_indexes(f, t);
}

static void answer_catalog(struct fake_cluster *f, const struct request *q, struct reply *r,
                           struct buffer *body)
{
    struct table_spec spec = {.name = request_table_name(q)};
    if (q->op == REQUEST_TABLE_CREATE || q->op == REQUEST_TABLE_UPDATE)
        must(table_spec_decode(q->table.spec, &spec) == STATUS_OK);
    struct table *t = find_table(f, spec.name);
    if (q->op == REQUEST_TABLE_LIST) {
        answer_list(f, q, r, body);
        return;
    }
    if (q->op == REQUEST_TABLE_CREATE) {
        answer_create(f, &spec, r, body);
    } else if (t == NULL) {
        r->code = REPLY_TABLE_NOT_FOUND;
    } else if (t->status == TABLE_DELETING && q->op != REQUEST_TABLE_GET) {
        r->code = REPLY_TABLE_BUSY;
        show_table(f, t, r, body);
    } else if (q->op == REQUEST_TABLE_DELETE && t->protected) {
        r->code = REPLY_TABLE_INVALID;
        r->text = slice_of("protected");
    } else if (q->op == REQUEST_TABLE_DELETE && busy_index(f, t) != NULL) {
        r->code = REPLY_TABLE_BUSY;
        show_table(f, busy_index(f, t), r, body);
    } else if (q->op == REQUEST_TABLE_UPDATE) {
        answer_update(f, t, &spec, r, body);
    } else {
        if (q->op == REQUEST_TABLE_DELETE)
            t->status = TABLE_DELETING;
        show_table(f, t, r, body);
        if (q->op == REQUEST_TABLE_DELETE && !f->hold_changes)
            table_drop(f, t);
    }
    r->kind = ANSWER_TABLE;
}

static void answer_stats(struct fake_cluster *f, uint32_t node, struct reply *r,
                         struct buffer *body)
{
    for (uint32_t t = 0; t < f->table_count; t++) {
        for (uint32_t i = 0; i < f->tables[t].partition_count; i++) {
            const struct partition_info *p = &f->tables[t].partitions[i];
            struct partition_stats s = {.partition = p->id, .node = node, .table_id = p->table_id};
            s.kinds[ADMIT_READ].counts.load.refused[ADMIT_REFUSED_KEY_RANGE] = 7;
            s.bytes = 12345;
            s.leads = true;
            s.voters = s.caught_up = 1;
            if (partition_node(p, 0) == node)
                partition_stats_encode(body, &s);
        }
    }
    r->kind = ANSWER_STATS;
    r->stats.records = buffer_slice(body);
    r->stats.used_bytes = 9000 + node;
    r->stats.total_bytes = 20000;
    r->stats.growth_left_bytes = 8000;
    r->stats.refused_full = 3;
    r->stats.refused_waiting = 4;
}

/* ---- requests ---- */

static void fake_cluster_answer(struct fake_cluster *f, uint32_t node, const struct request *q)
{
    struct reply r = {.id = q->id, .code = REPLY_OK};
    struct buffer body = {0}, costs = {0};
    uint32_t catalog = f->leader != 0 ? f->leader : 1;
    must(link_rights_request(&(struct link_peer){.kind = PEER_ROUTER, .id = 1}, q) == NULL);
    if (traits_of(q)->data)
        fake_answer_data(f, q, node, &r, &body, &costs);
    else if (q->op == REQUEST_STATS)
        answer_stats(f, node, &r, &body);
    else if (q->op == REQUEST_PING)
        ; /* REPLY_OK is the whole answer */
    else if (node != catalog)
        r = (struct reply){.id = q->id, .code = REPLY_NOT_LEADER, .leader = catalog};
    else
        answer_catalog(f, q, &r, &body);
    router_reply(f->router, f->now, node, &r);
    buffer_deinit(&body);
    buffer_deinit(&costs);
}

static void request_hold(struct fake_cluster *f, uint32_t node, const struct request *q)
{
    if (f->held_count == f->held_room) {
        f->held_room = f->held_room == 0 ? 16 : f->held_room * 2;
        f->held = realloc(f->held, f->held_room * sizeof *f->held);
        must(f->held != NULL);
    }
    struct fake_request *h = &f->held[f->held_count++];
    *h = (struct fake_request){.node = node};
    request_encode(&h->frame, q);
}

/* ---- global admission control ---- */

static void request_gac(struct fake_cluster *f, uint32_t server, struct slice frame)
{
    struct buffer answer = {0};
    if (fake_gac_request(f->gac, f->now, server, f->seed, frame, &answer))
        must(router_gac_receive(f->router, f->now, server, buffer_slice(&answer)) == STATUS_OK);
    buffer_deinit(&answer);
}

static void send_gac(struct fake_cluster *f, uint32_t server, struct slice frame)
{
    f->frames = realloc(f->frames, (f->frame_count + 1) * sizeof f->frames[0]);
    must(f->frames != NULL);
    f->frames[f->frame_count] = (struct fake_frame){.server = server};
    buffer_append_slice(&f->frames[f->frame_count++].bytes, frame);
    if (!f->hold_gac)
        fake_deliver_gac(f);
}

void fake_deliver_gac(struct fake_cluster *f)
{
    for (size_t i = 0; i < f->frame_count; i++) {
        request_gac(f, f->frames[i].server, buffer_slice(&f->frames[i].bytes));
        buffer_deinit(&f->frames[i].bytes);
    }
    f->frame_count = 0;
}

void fake_gac_up(struct fake_cluster *f, uint32_t server)
{
    router_gac_up(f->router, f->now, server);
    fake_pump(f);
}

void fake_gac_down(struct fake_cluster *f, uint32_t server, bool gone)
{
    router_gac_down(f->router, f->now, server, gone);
    fake_pump(f);
}

static void take_client_effect(struct fake_cluster *f, const struct router_effect *e)
{
    struct fake_client *c = &f->clients[e->connection];
    must(c->open);
    must(!c->aborted);
    must(!c->closed || e->kind == ROUTER_ABORT);
    c->aborted = e->kind == ROUTER_ABORT;
    c->closed |= e->kind != ROUTER_SEND_BYTES;
    if (e->kind != ROUTER_SEND_BYTES)
        return;
    buffer_append_slice(&c->received, e->bytes);
    if (c->unread)
        c->unsent += e->bytes.size;
    router_unsent(f->router, f->now, e->connection, c->unsent);
}

void fake_parse(struct fake_cluster *f)
{
    must(f->parse.parse != NULL);
    f->parse.parse(f->parse.text);
    f->parse.parse = NULL;
    router_parsed(f->router, f->now);
}

static void take_parse(struct fake_cluster *f, const struct router_effect *e)
{
    f->parse = *e;
    if (!f->hold_parse)
        fake_parse(f);
}

static void pump_effects(struct fake_cluster *f)
{
    struct router_effect e;
    while (router_next_effect(f->router, &e)) {
        if (e.kind == ROUTER_SEND_REQUEST) {
            f->requests[e.request->op]++;
            if ((f->down >> e.node & 1) != 0)
                router_not_sent(f->router, f->now, e.node, e.request->id);
            else if ((f->hung >> e.node & 1) != 0 || (f->hold && e.request->op != REQUEST_PING))
                request_hold(f, e.node, e.request);
            else
                fake_cluster_answer(f, e.node, e.request);
            continue;
        }
        if (e.kind == ROUTER_PARSE)
            take_parse(f, &e);
        else if (e.kind == ROUTER_SEND_GAC)
            send_gac(f, e.gac_server, e.bytes);
        else
            take_client_effect(f, &e);
    }
}

static void note_steps(struct fake_cluster *f)
{
    const uint64_t taken = f->router->fault.reading.taken;
    f->read_max = taken > f->read_max ? taken : f->read_max;
}

void fake_turn(struct fake_cluster *f)
{
    router_tick(f->router, f->now);
    note_steps(f);
    pump_effects(f);
}

void fake_pump(struct fake_cluster *f)
{
    pump_effects(f);
    while (!f->stands && !instant_before(f->now, router_deadline(f->router)))
        fake_turn(f);
}

static struct fake_request take_held(struct fake_cluster *f, size_t index, struct request *q)
{
    must(index < f->held_count);
    struct fake_request h = f->held[index];
    f->held_count--;
    memmove(&f->held[index], &f->held[index + 1], (f->held_count - index) * sizeof h);
    must(request_decode(slice_make(h.frame.data + 4, h.frame.size - 4), q) == STATUS_OK);
    return h;
}

void fake_answer(struct fake_cluster *f, size_t index)
{
    struct request q;
    struct fake_request h = take_held(f, index, &q);
    fake_cluster_answer(f, h.node, &q);
    buffer_deinit(&h.frame);
    fake_pump(f);
}

void fake_answer_all(struct fake_cluster *f)
{
    while (f->held_count > 0)
        fake_answer(f, 0);
}

void fake_answer_with(struct fake_cluster *f, size_t index, const struct reply *given)
{
    struct request q;
    struct fake_request h = take_held(f, index, &q);
    struct reply r = *given;
    r.id = q.id;
    router_reply(f->router, f->now, h.node, &r);
    buffer_deinit(&h.frame);
    fake_pump(f);
}

void fake_answer_code(struct fake_cluster *f, size_t index, enum reply_code code)
{
    fake_answer_with(f, index, &(struct reply){.code = code, .text = slice_of("as the test said")});
}

/* ---- clients ---- */

static void begin_client(struct fake_cluster *f, uint64_t connection)
{
    struct fake_client *c = &f->clients[connection];
    must(!c->open);
    buffer_clear(&c->received);
    *c = (struct fake_client){.received = c->received, .open = true};
}

void fake_open(struct fake_cluster *f, uint64_t connection)
{
    begin_client(f, connection);
    router_open(f->router, f->now, connection);
    fake_pump(f);
}

void fake_open_admin(struct fake_cluster *f, uint64_t connection)
{
    begin_client(f, connection);
    router_open_admin(f->router, f->now, connection);
    fake_pump(f);
}

void fake_read(struct fake_cluster *f, uint64_t connection, size_t left)
{
    must(left <= f->clients[connection].unsent);
    f->clients[connection].unsent = left;
    router_unsent(f->router, f->now, connection, left);
    fake_pump(f);
}

void fake_send(struct fake_cluster *f, uint64_t connection, struct slice bytes)
{
    if (!f->clients[connection].closed)
        router_receive(f->router, f->now, f->waited, connection, bytes);
    note_steps(f);
    fake_pump(f);
}

void fake_send_text(struct fake_cluster *f, uint64_t connection, const char *text)
{
    fake_send(f, connection, slice_of(text));
}

void fake_advance_ms(struct fake_cluster *f, int64_t ms)
{
    struct instant end = instant_add(f->now, duration_ms(ms));
    for (;;) {
        struct instant next = router_deadline(f->router);
        if (instant_before(end, next))
            break;
        f->now = instant_before(next, f->now) ? f->now : next;
        router_tick(f->router, f->now);
        fake_pump(f);
    }
    f->now = end;
}

/* ---- HTTP ---- */

struct slice fake_header(struct fake_answer a, const char *name)
{
    const char *at = (const char *)a.head.data, *end = at + a.head.size;
    size_t size = strlen(name);
    while (at < end) {
        const char *line_end = memchr(at, '\r', (size_t)(end - at));
        if ((size_t)(line_end - at) > size + 2 && strncasecmp(at, name, size) == 0 &&
            at[size] == ':')
            return slice_make(at + size + 2, (size_t)(line_end - at) - size - 2);
        at = line_end + 2;
    }
    return slice_make(NULL, 0);
}

static uint64_t number_of(struct slice digits)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size; i++)
        value = value * 10 + (uint64_t)(digits.data[i] - '0');
    return value;
}

struct fake_answer fake_take_answer(struct fake_cluster *f, uint64_t connection)
{
    static struct buffer lent;
    struct fake_answer a = {0};
    struct buffer *in = &f->clients[connection].received;
    const char *end = in->size == 0 ? NULL : memmem(in->data, in->size, "\r\n\r\n", 4);
    if (end == NULL)
        return a;
    buffer_clear(&lent);
    buffer_append_slice(&lent, buffer_slice(in));
    a.head = slice_make(lent.data, (size_t)(end - (const char *)in->data) + 2);
    a.status = atoi((const char *)lent.data + strlen("HTTP/1.1 "));
    size_t size = number_of(fake_header(a, "Content-Length"));
    size_t at = a.head.size + 2;
    must(at + size <= lent.size);
    a.body = slice_make(lent.data + at, size);
    if (a.status != 100)
        must(number_of(fake_header(a, "x-amz-crc32")) == crc32(0, a.body.data, (uInt)size));
    memmove(in->data, in->data + at + size, in->size - at - size);
    in->size -= at + size;
    return a;
}

void fake_request_text(struct buffer *out, const char *operation, struct slice body)
{
    buffer_append_format(out,
                         "POST / HTTP/1.1\r\nHost: localhost:8000\r\n"
                         "Content-Type: application/x-amz-json-1.0\r\n"
                         "X-Amz-Target: %s%s\r\nContent-Length: %zu\r\n\r\n",
                         strchr(operation, '.') == NULL ? "DynamoDB_20120810." : "", operation,
                         body.size);
    buffer_append_slice(out, body);
}

void fake_send_call(struct fake_cluster *f, uint64_t connection, const char *operation,
                    const char *body)
{
    struct buffer b = {0};
    if (!f->clients[connection].open)
        fake_open(f, connection);
    fake_request_text(&b, operation, slice_of(body));
    fake_send(f, connection, buffer_slice(&b));
    buffer_deinit(&b);
}

struct request fake_held(const struct fake_cluster *f, size_t index)
{
    struct request q;
    must(index < f->held_count);
    const struct slice frame = buffer_slice(&f->held[index].frame);
    must(request_decode(slice_make(frame.data + 4, frame.size - 4), &q) == STATUS_OK);
    return q;
}

struct fake_answer fake_call(struct fake_cluster *f, const char *operation, const char *body)
{
    if (f->clients[1].closed)
        f->clients[1].open = false;
    fake_send_call(f, 1, operation, body);
    return fake_take_answer(f, 1);
}
