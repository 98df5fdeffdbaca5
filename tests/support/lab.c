/* lab.c - clients of a simulated cluster, and what its nodes know. */
#include "tests/support/lab.h"

#include "engine/node/control_port.h"
#include "tests/check.h"

static void node_saw(void *context, uint32_t node, const struct trace_event *e)
{
    struct lab *l = context;
    l->leads[node] += e->kind == NODE_TRACE_LEADS;
}

void lab_init(struct lab *l)
{
    *l = (struct lab){0};
    l->world.plan =
        (struct world_plan){.seed = check_first_seed(0),
                            .nodes = 3,
                            .routers = 1,
                            .config = &l->configs[0],
                            .configs = l->configs,
                            .delays = {.ns_min = 50 * NS_PER_US, .spread_ns = 50 * NS_PER_US},
                            .timings = {.turn_ns = 20 * NS_PER_US,
                                        .write_min_ns = 200 * NS_PER_US,
                                        .write_spread_ns = 50 * NS_PER_US,
                                        .checkpoint_spread_ns = 50 * NS_PER_MS},
                            .watch = {.saw = node_saw, .context = l}};
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

void lab_start(struct lab *l)
{
    struct world *w = &l->world;
    w->plan.clients = w->plan.routers * LAB_CLIENTS + 1;
    world_init(w, &w->plan);
    world_start(w);
    for (uint32_t i = 0; i < w->plan.routers * LAB_CLIENTS; i++) {
        struct http_client_options http = world_http(w, i, w->plan.seed + i);
        http.router_first += i / LAB_CLIENTS;
        http.router_count = 1;
        http_client_init(&l->clients[i / LAB_CLIENTS][i % LAB_CLIENTS], &http);
    }
}

struct http_client_options lab_http(const struct lab *l, uint64_t seed)
{
    return world_http(&l->world, l->world.plan.routers * LAB_CLIENTS, seed);
}

void lab_deinit(struct lab *l)
{
    for (uint32_t i = 0; i < l->world.plan.routers * LAB_CLIENTS; i++)
        http_client_deinit(&l->clients[i / LAB_CLIENTS][i % LAB_CLIENTS]);
    world_deinit(&l->world);
    buffer_deinit(&l->body);
}

void lab_pass(struct lab *l, int64_t ns)
{
    struct instant until = instant_add(l->world.scheduler.now, (struct duration){ns});
    while (scheduler_step(&l->world.scheduler, until)) {
        if (l->watch != NULL)
            gac_watch_sample(l->watch, l->world.scheduler.now, l->world.routers,
                             l->world.plan.routers);
    }
}

/* ---- calls ---- */

static void call_done(void *context, int status, struct slice body)
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
    http_client_call(&l->clients[router][i], operation, slice_of(body), duration_ms(10000),
                     call_done, &l->counts[router][i]);
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
    int64_t end = l->world.scheduler.now.ns + ns;
    for (int i = 0; i < count; i++)
        flows[i].due_ns = l->world.scheduler.now.ns;
    while (l->world.scheduler.now.ns < end) {
        int64_t next = end;
        for (int i = 0; i < count; i++) {
            struct flow *f = &flows[i];
            for (; f->due_ns <= l->world.scheduler.now.ns && f->per_second > 0;
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
        lab_pass(l, next - l->world.scheduler.now.ns);
    }
}

/* ---- what the nodes know ---- */

struct table lab_table_of(struct lab *l, const char *name, struct arena *arena)
{
    struct request r = {.id = 1, .op = REQUEST_TABLE_GET, .table.name = slice_of(name)};
    struct table t = {0};
    buffer_clear(&l->body);
    world_request(&l->world, &r, &l->body);
    struct slice bytes = arena_copy(arena, buffer_slice(&l->body));
    if (bytes.size == 0 || table_decode(bytes, arena, &t) != STATUS_OK)
        fail_msg("nobody knows the table %s", name);
    return t;
}

int64_t lab_events_of(struct lab *l, enum event_kind kind)
{
    struct request r = {.id = 1, .op = REQUEST_EVENTS};
    int64_t count = 0;
    for (uint32_t node = 1; node <= l->world.plan.nodes; node++) {
        buffer_clear(&l->body);
        if (node_process_is_up(l->world.nodes[node]))
            node_process_request(l->world.nodes[node], &r, &l->body);
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
    node_process_request(l->world.nodes[node], &r, &l->body);
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
    for (uint32_t node = 1; node <= l->world.plan.nodes; node++) {
        if (node_process_is_up(l->world.nodes[node]) && lab_stats_of(l, node, table).leads)
            return node;
    }
    return 0;
}

uint32_t lab_catalog_leader(struct lab *l)
{
    for (uint32_t node = 1; node <= l->world.plan.nodes; node++) {
        const struct node *n = node_process_node(l->world.nodes[node]);
        if (n != NULL && node_control_term(n) != 0)
            return node;
    }
    return 0;
}

const struct catalog *lab_catalog(struct lab *l)
{
    uint32_t leader = lab_catalog_leader(l);
    assert_int_not_equal(leader, 0);
    return node_catalog(node_process_node(l->world.nodes[leader]));
}
