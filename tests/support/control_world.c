/* control_world.c - reports of loads that go on, and evaluations of the controller. */
#include "tests/support/control_world.h"

#include "base/settings/admission.h"
#include "engine/item/storage_key.h"
#include "tests/check.h"

/* ---- life ---- */

void control_world_begin(struct control_world *w)
{
    w->c.generation = 11;
    catalog_world_begin(&w->c, CONTROL_NODES);
    w->loads = cluster_loads_create();
    w->controller = controller_create(&w->c.config);
    w->now = (struct instant){1};
    w->view = (struct control_view){.term = 1,
                                    .self = 1,
                                    .node_count = CONTROL_NODES,
                                    .catalog = w->c.catalog,
                                    .loads = w->loads};
}

/* All but what the file has set is forgotten. */
void control_world_end(struct control_world *w)
{
    const bool terse = w->terse;
    struct catalog_world kept = {0};
    controller_destroy(w->controller);
    cluster_loads_destroy(w->loads);
    catalog_world_end(&w->c);
    for (int i = 0; i < CONTROL_DECISIONS_MAX; i++)
        buffer_deinit(&w->bodies[i]);
    for (int i = 0; i < CONTROL_GROUPS_MAX; i++) {
        for (int k = 0; k < HEAVY_KEYS_MAX; k++)
            buffer_deinit(&w->keys[i][k]);
    }
    memcpy(kept.settings, w->c.settings, sizeof kept.settings);
    *w = (struct control_world){.c = kept, .terse = terse};
}

void control_world_add_node(struct control_world *w, uint32_t node)
{
    const struct settings_admission *s = config_admission(&w->c.config);
    assert_in_range(node, 1, CONTROL_NODES);
    catalog_world_add_node(&w->c, node, node * w->c.generation);
    w->view.reachable[node] = true;
    w->nodes[node] = (struct node_report){
        .node = node, .capacity_mcu = {s->node_rcu * MCU_PER_UNIT, s->node_wcu * MCU_PER_UNIT}};
}

struct control_table *control_world_load(struct control_world *w, const char *name)
{
    for (int i = 0; i < CONTROL_TABLES_MAX; i++) {
        struct control_table *t = &w->tables[i];
        if (t->name[0] == '\0') {
            snprintf(t->name, sizeof t->name, "%s", name);
            memset(t->units, -1, sizeof t->units);
        }
        if (strcmp(t->name, name) == 0)
            return t;
    }
    fail_msg("too many tables with a load");
    return NULL;
}

/* ---- reports ---- */

/* One of KEY#SHARD:UNITS. */
static void note_heavy_key(struct control_world *w, struct partition_report *r, char *key)
{
    char *units = strchr(key, ':'), *shard = strchr(key, '#');
    assert_true(units != NULL && r->heavy_count < HEAVY_KEYS_MAX);
    struct buffer *b = &w->keys[r->partition][r->heavy_count];
    *units = '\0';
    if (shard != NULL)
        *shard = '\0';
    const struct attr a = {.type = ATTR_STRING, .body = slice_of(key)};
    buffer_clear(b);
    storage_key_append_collection(b, r->table_id, &a);
    if (shard != NULL)
        key_shard_put(b->data, key_shard_bare_hash(buffer_slice(b)),
                      (uint32_t)case_number(shard + 1));
    r->heavy[r->heavy_count++] =
        (struct heavy_key){buffer_slice(b), case_number(units + 1) * MCU_PER_UNIT};
}

static struct partition_report *note_begin(struct control_world *w, const struct partition_info *p)
{
    assert_true(p->id < CONTROL_GROUPS_MAX);
    struct partition_report *r = &w->reports[p->id];
    r->table_id = p->table_id;
    r->partition = p->id;
    r->member = p->members[0];
    r->epoch = p->epoch;
    return r;
}

void control_world_note(struct control_world *w, const struct partition_info *p,
                        const struct control_load *l, int64_t ms)
{
    struct partition_report *r = note_begin(w, p);
    struct load_total *total = &r->totals[ADMIT_WRITE];
    const int64_t scale = ms == 0 ? 1000 : ms;
    char heavy[sizeof l->heavy], *rest = heavy;
    r->epoch += (uint64_t)l->epoch;
    total->consumed_mcu += l->consumed * scale;
    total->refused_mcu += l->refused * scale;
    total->refused[ADMIT_REFUSED_KEY_RANGE] += (l->refused + l->refusals) * scale / 1000;
    total->refused[ADMIT_REFUSED_INDEX] += l->index_refusals;
    r->index_refusal = l->index;
    r->write_direction = l->direction;
    r->bytes = l->bytes >= 0 ? l->bytes : r->bytes;
    if (l->excess_ms >= 0)
        r->excess_ms[ADMIT_WRITE] = l->excess_ms;
    r->heavy_count = 0;
    memcpy(heavy, l->heavy, sizeof heavy);
    for (char *key; (key = strtok_r(rest, ",", &rest)) != NULL;)
        note_heavy_key(w, r, key);
}

/* What the partition's allocation lets through is served, up to the partition maximum where it
 * bursts. The rest is refused. */
static void note_demand(struct control_world *w, const struct partition_info *p, int64_t units,
                        struct control_table *sums)
{
    struct load_total *total = &note_begin(w, p)->totals[ADMIT_WRITE];
    const int64_t max = p->on_demand
                            ? config_admission(&w->c.config)->partition_max_wcu * MCU_PER_UNIT
                            : p->rate_mcu[ADMIT_WRITE];
    const int64_t demand = units * CONTROL_EVALUATION_MS, most = max * CONTROL_EVALUATION_MS / 1000,
                  served = demand < most ? demand : most;
    total->consumed_mcu += served;
    total->refused_mcu += demand - served;
    total->refused[ADMIT_REFUSED_ALLOCATION] += demand > served;
    sums->consumed += served;
    sums->refused += demand - served;
}

static void serve_table(struct control_world *w, struct control_table *loaded)
{
    const struct table *t = catalog_world_table(&w->c, loaded->name);
    const struct instant then = instant_add(w->now, duration_ms(CONTROL_EVALUATION_MS));
    loaded->consumed = loaded->refused = 0;
    for (uint32_t i = 0; i < t->partition_count && i < CONTROL_PARTITIONS_MAX; i++) {
        const struct partition_info *p = &t->partitions[i];
        if (loaded->loads[i].set)
            control_world_note(w, p, &loaded->loads[i], CONTROL_EVALUATION_MS);
        else if (loaded->units[i] >= 0)
            note_demand(w, p, loaded->units[i], loaded);
        if (loaded->loads[i].set || loaded->units[i] >= 0)
            cluster_loads_take_partition(w->loads, loaded->loads[i].set ? w->now : then,
                                         &w->reports[p->id]);
    }
    w->nodes[partition_node(&t->partitions[0], 0)].consumed_mcu[ADMIT_WRITE] += loaded->consumed;
}

void control_world_step(struct control_world *w)
{
    for (int i = 0; i < CONTROL_TABLES_MAX && w->tables[i].name[0] != '\0'; i++)
        serve_table(w, &w->tables[i]);
    for (uint32_t node = 1; w->nodes_report && node <= CONTROL_NODES; node++) {
        w->nodes[node].consumed_mcu[ADMIT_WRITE] += w->busy[node] * CONTROL_EVALUATION_MS;
        if (w->nodes[node].node != 0)
            cluster_loads_take_node(w->loads, w->now, &w->nodes[node]);
    }
    control_world_evaluate(w, CONTROL_EVALUATION_MS);
}

/* ---- looks ---- */

static void evaluation_decided(struct control_world *w, const struct request *r)
{
    const uint32_t i = w->decision_count++;
    struct reply reply = {.id = r->id, .code = REPLY_OK};
    assert_true(i < CONTROL_DECISIONS_MAX);
    buffer_clear(&w->bodies[i]);
    buffer_append_slice(&w->bodies[i], r->decide.decision);
    const struct slice body = buffer_slice(&w->bodies[i]);
    w->ops[i] = (enum catalog_op)r->decide.op;
    assert_int_equal(decision_decode(body, &w->decisions[i]), STATUS_OK);
    if (w->unresponsive)
        return;
    if (!w->refusing) {
        struct catalog_command c = catalog_world_command(&w->c, w->ops[i]);
        c.decision = body;
        reply.code = catalog_world_apply(&w->c, &c);
    }
    controller_reply(w->controller, &reply);
}

void control_world_evaluate(struct control_world *w, int64_t ms)
{
    const struct control_request *r;
    w->now = instant_add(w->now, duration_ms(ms));
    w->decision_count = 0;
    w->has_request = false;
    controller_evaluate(w->controller, w->now, &w->view);
    while ((r = controller_next_request(w->controller)) != NULL) {
        if (r->request.op == REQUEST_DECIDE) {
            assert_int_equal(r->node, 1);
            evaluation_decided(w, &r->request);
            continue;
        }
        w->has_request = true;
        w->request = *r;
    }
}

void control_world_answer(struct control_world *w, enum reply_code code, struct slice advice)
{
    struct reply reply = {.id = w->request.request.id, .code = code};
    assert_int_not_equal(w->request.request.op, 0);
    if (advice.size > 0) {
        reply.kind = ANSWER_ADVICE;
        reply.advice.bytes = advice;
    }
    w->request = (struct control_request){0};
    controller_reply(w->controller, &reply);
}
