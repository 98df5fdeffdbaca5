/* control_fixture.c - a view that a test fills in, and what the controller asks for. */
#include "tests/support/control_fixture.h"

#include "base/settings/admission.h"
#include "tests/check.h"

enum reply_code control_fixture_apply(struct control_fixture *w, struct catalog_command *command)
{
    struct buffer b = {0};
    struct catalog_result result;
    memset(command->uuid, 7, sizeof command->uuid);
    if (command->spec.name.size == 0)
        command->spec.name = slice_of("-");
    catalog_command_encode(&b, command);
    catalog_apply(w->catalog, buffer_slice(&b), &result);
    buffer_deinit(&b);
    return result.code;
}

struct catalog_command control_fixture_command(struct control_fixture *w, enum catalog_op op)
{
    struct catalog_command c;
    catalog_command_init(&c, op, &w->config, NODES, 1000);
    return c;
}

void control_fixture_introduce(struct control_fixture *w, uint32_t node)
{
    struct catalog_command c = control_fixture_command(w, CATALOG_NODE);
    c.node = node;
    c.generation = node * 11;
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
    w->view.reachable[node] = true;
    w->nodes[node] =
        (struct node_report){.node = node,
                             .capacity_mcu = {config_admission(&w->config)->node_rcu * 1000,
                                              config_admission(&w->config)->node_wcu * 1000}};
}

const struct table *control_fixture_create(struct control_fixture *w, const char *name,
                                           enum table_billing billing, int64_t rcu, int64_t wcu)
{
    struct catalog_command c = control_fixture_command(w, CATALOG_CREATE);
    c.spec = (struct table_spec){.name = slice_of(name),
                                 .partition_key = {slice_of("k"), ATTR_STRING},
                                 .billing = billing,
                                 .rcu = rcu,
                                 .wcu = wcu};
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
    c = control_fixture_command(w, CATALOG_RECONCILED);
    catalog_command_reconciled(&c, catalog_find(w->catalog, slice_of(name)));
    assert_int_equal(control_fixture_apply(w, &c), REPLY_OK);
    return catalog_find(w->catalog, slice_of(name));
}

void control_fixture_init(struct control_fixture *w, uint32_t nodes)
{
    *w = (struct control_fixture){
        .catalog = catalog_create(), .loads = cluster_loads_create(), .now = {1}};
    config_init(&w->config, PROFILE_AWS);
    w->controller = controller_create(&w->config);
    w->view = (struct control_view){
        .term = 1, .self = 1, .node_count = NODES, .catalog = w->catalog, .loads = w->loads};
    for (uint32_t node = 1; node <= nodes; node++)
        control_fixture_introduce(w, node);
}

void control_fixture_deinit(struct control_fixture *w)
{
    controller_destroy(w->controller);
    cluster_loads_destroy(w->loads);
    catalog_destroy(w->catalog);
    for (int i = 0; i < CONTROL_FIXTURE_DECISIONS_MAX; i++)
        buffer_deinit(&w->bodies[i]);
}

void control_fixture_evaluate(struct control_fixture *w, int64_t ms, bool apply_all)
{
    const struct control_request *asked;
    w->now = instant_add(w->now, duration_ms(ms));
    w->decision_count = 0;
    controller_evaluate(w->controller, w->now, &w->view);
    while ((asked = controller_next_request(w->controller)) != NULL) {
        const struct request *r = &asked->request;
        if (r->op != REQUEST_DECIDE) {
            w->other = *asked;
            continue;
        }
        uint32_t i = w->decision_count++;
        assert_true(i < CONTROL_FIXTURE_DECISIONS_MAX);
        assert_int_equal(asked->node, 1);
        buffer_clear(&w->bodies[i]);
        buffer_append_slice(&w->bodies[i], r->decide.decision);
        struct slice decision = buffer_slice(&w->bodies[i]);
        w->ops[i] = (enum catalog_op)r->decide.op;
        assert_int_equal(decision_decode(decision, &w->decisions[i]), STATUS_OK);
        struct reply reply = {.id = r->id, .code = REPLY_OK};
        if (apply_all) {
            struct catalog_command c = control_fixture_command(w, w->ops[i]);
            c.decision = decision;
            reply.code = control_fixture_apply(w, &c);
        }
        controller_reply(w->controller, &reply);
    }
}

void control_fixture_serve(struct control_fixture *w, const struct table *t, struct demand *d,
                           int64_t ms)
{
    d->consumed_mcu = d->refused_mcu = 0;
    for (uint32_t i = 0; i < t->partition_count; i++) {
        const struct partition_info *p = &t->partitions[i];
        struct partition_report *r = &w->reports[p->id];
        struct load_total *total = &r->totals[ADMIT_WRITE];
        int64_t max = p->on_demand ? config_admission(&w->config)->partition_max_wcu *
                                         MCU_PER_UNIT /* it bursts */
                                   : p->rate_mcu[ADMIT_WRITE];
        int64_t asked = d->units[i] * ms, served = max * ms / 1000;
        served = asked < served ? asked : served;
        r->table_id = t->id;
        r->partition = p->id;
        r->member = p->members[0];
        r->epoch = p->epoch;
        total->consumed_mcu += served;
        total->refused_mcu += asked - served;
        total->refused[ADMIT_REFUSED_ALLOCATION] += asked > served;
        d->consumed_mcu += served;
        d->refused_mcu += asked - served;
        cluster_loads_take_partition(w->loads, instant_add(w->now, duration_ms(ms)), r);
    }
}

int control_fixture_seconds_to_question(struct control_fixture *w, const char *name,
                                        struct demand *d, int max)
{
    w->other = (struct control_request){0};
    for (int i = 1; i <= max * 2; i++) {
        control_fixture_serve(w, catalog_find(w->catalog, slice_of(name)), d, 500);
        control_fixture_evaluate(w, 500, true);
        if (w->other.request.op != 0)
            return (i + 1) / 2;
    }
    return -1;
}
