#include "tests/support/lab.h"

#include "engine/node/control_port.h"
#include "tests/check.h"

void lab_init(struct lab *l)
{
    *l = (struct lab){.node_count = 3, .router_count = 1, .seed = check_first_seed(0)};
    for (int i = 0; i <= LAB_NODES_MAX; i++)
        config_init(&l->configs[i], PROFILE_AWS);
    lab_set(l, "gac", "off");
}

void lab_set(struct lab *l, const char *name, const char *value)
{
    struct buffer error = {0};
    for (int i = 0; i <= LAB_NODES_MAX; i++)
        assert_int_equal(config_set(&l->configs[i], slice_of(name), slice_of(value), &error),
                         STATUS_OK);
}

static void saw(void *context, uint32_t node, const struct trace_event *e)
{
    struct lab *l = context;
    l->leads[node] += e->kind == NODE_TRACE_LEADS;
}

static void start_gac(struct lab *l)
{
    struct gac_process_options gac = {.scheduler = &l->scheduler,
                                      .network = l->network,
                                      .trace = &l->trace,
                                      .config = &l->configs[0],
                                      .servers = l->gac_count};
    for (uint32_t i = 0; i < l->gac_count; i++) {
        gac.process = LAB_GAC + i;
        gac.number = i + 1;
        gac.seed = l->seed + 100 + i;
        l->gac[i] = gac_process_create(&gac);
        gac_process_start(l->gac[i]);
    }
}

/* And its clients. */
static void start_router(struct lab *l, uint32_t i)
{
    l->routers[i] =
        router_process_create(&(struct router_process_options){.scheduler = &l->scheduler,
                                                               .network = l->network,
                                                               .trace = &l->trace,
                                                               .config = &l->configs[0],
                                                               .process = LAB_ROUTER + i,
                                                               .node_count = l->node_count,
                                                               .gac_first = LAB_GAC,
                                                               .gac_servers = l->gac_count,
                                                               .seed = l->seed + 7 + i});
    router_process_start(l->routers[i]);
    for (uint32_t c = 0; c < LAB_CLIENTS; c++) {
        http_client_init(&l->clients[i][c],
                         &(struct http_client_options){.scheduler = &l->scheduler,
                                                       .network = l->network,
                                                       .process = LAB_CLIENT + i * LAB_CLIENTS + c,
                                                       .router_first = LAB_ROUTER + i,
                                                       .router_count = 1,
                                                       .seed = l->seed + i * LAB_CLIENTS + c});
    }
}

void lab_start(struct lab *l)
{
    l->network = network_create(&(struct network_options){
        .scheduler = &l->scheduler,
        .trace = &l->trace,
        .processes = LAB_CLIENT - 1 + l->router_count * LAB_CLIENTS,
        .delays = {.least_ns = 50 * NS_PER_US, .spread_ns = 50 * NS_PER_US},
        .seed = l->seed + 1});
    struct node_process_options node = {.scheduler = &l->scheduler,
                                        .network = l->network,
                                        .trace = &l->trace,
                                        .node_count = l->node_count,
                                        .saw = saw,
                                        .context = l,
                                        .timings = {.turn_ns = 20 * NS_PER_US,
                                                    .write_least_ns = 200 * NS_PER_US,
                                                    .write_spread_ns = 50 * NS_PER_US,
                                                    .checkpoint_spread_ns = 50 * NS_PER_MS}};
    struct buffer error = {0};
    for (uint32_t id = 1; id <= l->node_count; id++) {
        node.id = id;
        node.seed = l->seed + id;
        node.config = &l->configs[id];
        l->nodes[id] = node_process_create(&node);
        assert_int_equal(node_process_start(l->nodes[id], &error), STATUS_OK);
    }
    start_gac(l);
    for (uint32_t i = 0; i < l->router_count; i++)
        start_router(l, i);
}

void lab_deinit(struct lab *l)
{
    for (uint32_t i = 0; i < l->router_count; i++) {
        for (uint32_t c = 0; c < LAB_CLIENTS; c++)
            http_client_deinit(&l->clients[i][c]);
        router_process_destroy(l->routers[i]);
    }
    for (uint32_t i = 0; i < l->gac_count; i++)
        gac_process_destroy(l->gac[i]);
    for (uint32_t id = 1; id <= l->node_count; id++)
        node_process_destroy(l->nodes[id]);
    network_destroy(l->network);
    scheduler_deinit(&l->scheduler);
    buffer_deinit(&l->body);
}

void lab_pass(struct lab *l, int64_t ns)
{
    struct instant until = instant_add(l->scheduler.now, (struct duration){ns});
    while (scheduler_step(&l->scheduler, until)) {
        if (l->watch != NULL)
            gac_watch_look(l->watch, l->scheduler.now, l->routers, l->router_count);
    }
}

/* ---- calls ---- */

static void done(void *context, int status, struct slice body)
{
    struct counts **slot = context;
    struct counts *c = *slot;
    *slot = NULL;
    if (status == 200)
        c->ok++;
    else if (memmem(body.data, body.size, "KeyRange", 8) != NULL)
        c->key_range++;
    else if (memmem(body.data, body.size, "ReadMaxOnDemandThroughputExceeded", 33) != NULL)
        c->maximum++;
    else if (memmem(body.data, body.size, "ThroughputExceeded", 18) != NULL)
        c->throttled++;
    else
        c->failed++;
}

void lab_call_at(struct lab *l, uint32_t router, struct counts *counts, const char *operation,
                 const char *body)
{
    uint32_t *next = &l->next_client[router], tried = 0;
    while (l->counts[router][*next % LAB_CLIENTS] != NULL && tried++ < LAB_CLIENTS)
        ++*next;
    assert_true(tried < LAB_CLIENTS);
    uint32_t i = (*next)++ % LAB_CLIENTS;
    l->counts[router][i] = counts;
    http_client_call(&l->clients[router][i], operation, slice_of(body), duration_ms(10000), done,
                     &l->counts[router][i]);
}

void lab_call(struct lab *l, struct counts *counts, const char *operation, const char *body)
{
    lab_call_at(l, 0, counts, operation, body);
}

void lab_create_table(struct lab *l, const char *name, int rcu, int wcu)
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"TableName\":\"%s\",\"KeySchema\":[{\"AttributeName\":\"k\",\"KeyType\":\"HASH\"}],"
             "\"AttributeDefinitions\":[{\"AttributeName\":\"k\",\"AttributeType\":\"S\"}],"
             "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%d,\"WriteCapacityUnits\":%d}}",
             name, rcu, wcu);
    struct counts c = {0};
    lab_call(l, &c, "CreateTable", body);
    lab_pass(l, 2 * NS_PER_S);
    assert_int_equal(c.ok, 1);
}

void lab_run_flows(struct lab *l, struct flow *flows, int count, int64_t ns)
{
    int64_t end = l->scheduler.now.ns + ns;
    for (int i = 0; i < count; i++)
        flows[i].due_ns = l->scheduler.now.ns;
    while (l->scheduler.now.ns < end) {
        int64_t next = end;
        for (int i = 0; i < count; i++) {
            struct flow *f = &flows[i];
            for (; f->due_ns <= l->scheduler.now.ns && f->per_second > 0;
                 f->due_ns += NS_PER_S / f->per_second) {
                char body[512], number[24] = "";
                const char *more =
                    f->puts == NULL ? f->more : f->puts[f->put_next++ % f->put_count];
                if (f->rest != NULL)
                    snprintf(number, sizeof number, "%010lld", (long long)f->number++);
                snprintf(body, sizeof body, "{\"TableName\":\"%s\",%s%s%s}", f->table, more, number,
                         f->rest != NULL ? f->rest : "");
                lab_call(l, &f->counts, f->operation, body);
            }
            if (f->per_second > 0 && f->due_ns < next)
                next = f->due_ns;
        }
        lab_pass(l, next - l->scheduler.now.ns);
    }
}

/* ---- what the nodes know ---- */

struct table lab_table_of(struct lab *l, const char *name, struct arena *arena)
{
    struct request r = {.id = 1, .op = REQUEST_TABLE_GET, .key = slice_of(name)};
    struct table t;
    for (uint32_t node = 1; node <= l->node_count; node++) {
        buffer_clear(&l->body);
        if (!node_process_is_up(l->nodes[node]))
            continue;
        node_process_ask(l->nodes[node], &r, &l->body);
        struct slice bytes = arena_copy(arena, buffer_slice(&l->body));
        if (bytes.size > 0 && table_decode(bytes, arena, &t) == STATUS_OK)
            return t;
    }
    fail_msg("nobody knows the table %s", name);
    return t;
}

int64_t lab_events_of(struct lab *l, enum event_kind kind)
{
    uint8_t after[8] = {0};
    struct request r = {.id = 1, .op = REQUEST_EVENTS, .body = slice_make(after, sizeof after)};
    int64_t count = 0;
    for (uint32_t node = 1; node <= l->node_count; node++) {
        buffer_clear(&l->body);
        if (node_process_is_up(l->nodes[node]))
            node_process_ask(l->nodes[node], &r, &l->body);
        struct reader records = {buffer_slice(&l->body), false};
        while (records.left.size > 0) {
            struct reader record = {reader_sized(&records), false};
            struct event e;
            assert_int_equal(event_decode(&record, &e), STATUS_OK);
            assert_true(e.wall_ms >= SIM_WALL_BASE_MS - SIM_WALL_SKEW_RARE_MS && e.reason.size > 0);
            count += e.kind == kind;
        }
    }
    return count;
}

struct partition_stats lab_stats_of(struct lab *l, uint32_t node, uint32_t table)
{
    struct request r = {.id = 1, .op = REQUEST_STATS};
    struct partition_stats s, found = {0};
    buffer_clear(&l->body);
    node_process_ask(l->nodes[node], &r, &l->body);
    struct reader records = {buffer_slice(&l->body), false};
    while (records.left.size > 0 && partition_stats_decode(&records, &s) == STATUS_OK) {
        if (s.table_id == table)
            found = s;
    }
    assert_int_equal(found.table_id, table);
    return found;
}

uint32_t lab_leader_of(struct lab *l, uint32_t table)
{
    for (uint32_t node = 1; node <= l->node_count; node++) {
        if (node_process_is_up(l->nodes[node]) && lab_stats_of(l, node, table).leads)
            return node;
    }
    return 0;
}

uint32_t lab_catalog_leader(struct lab *l)
{
    for (uint32_t node = 1; node <= l->node_count; node++) {
        const struct node *n = node_process_node(l->nodes[node]);
        if (n != NULL && node_control_term(n) != 0)
            return node;
    }
    return 0;
}

const struct catalog *lab_catalog(struct lab *l)
{
    uint32_t leader = lab_catalog_leader(l);
    assert_int_not_equal(leader, 0);
    return node_catalog(node_process_node(l->nodes[leader]));
}
