/* tables.c - makes the scenario's tables, and changes them by hand. */
#include <stdlib.h>

#include "base/settings/admission.h"
#include "engine/admission/share.h"
#include "lab/fidelity/admission/model_internal.h"

static struct table_spec spec_of(const struct model *m, const struct model_table *mt)
{
    const struct scenario_table *s = mt->scenario;
    struct table_spec spec = {.name = slice_of(mt->name),
                              .partition_key = {slice_of("pk"), ATTR_STRING},
                              .sort_key = {slice_of("sk"), ATTR_STRING},
                              .whole_collections = s->whole_collections,
                              .gac = (uint8_t)s->gac,
                              .weight = (uint8_t)s->weight,
                              .billing = s->on_demand ? BILLING_ON_DEMAND : BILLING_PROVISIONED,
                              .rcu = s->on_demand ? 0 : s->rcu,
                              .wcu = s->on_demand ? 0 : s->wcu};
    if (s->partitions > 0) { /* so much warm throughput needs so many partitions */
        spec.warm[ADMIT_READ] = s->partitions * config_admission(m->config)->partition_max_rcu;
        spec.warm[ADMIT_WRITE] = s->partitions * config_admission(m->config)->partition_max_wcu;
    }
    if (s->on_demand) {
        spec.maximum[ADMIT_READ] = s->max_rcu > 0 ? s->max_rcu : MAXIMUM_NONE;
        spec.maximum[ADMIT_WRITE] = s->max_wcu > 0 ? s->max_wcu : MAXIMUM_NONE;
    }
    return spec;
}

static bool table_create(struct model *m, struct model_table *mt, struct buffer *error)
{
    struct catalog_command c;
    struct catalog_result out;
    catalog_command_init(&c, CATALOG_CREATE, m->config, m->node_count, 1);
    c.spec = spec_of(m, mt);
    memcpy(c.uuid, &mt->number, sizeof mt->number);
    mt->id = m->table_count + 1;
    m->table_count++;
    model_control_apply(m, &c, &out);
    if (out.code != REPLY_OK) {
        buffer_append_format(error, "the cluster refuses table %s: %.*s", mt->name,
                             (int)out.text.size, (const char *)out.text.data);
        return false;
    }
    must(out.table->id == mt->id);
    for (uint32_t i = 0; i < mt->route_count; i++)
        mt->routes[i].partition->bytes = mt->scenario->bytes / mt->route_count;
    return true;
}

bool model_tables_create(struct model *m, struct buffer *error)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->scenario->table_count; i++)
        count += (uint32_t)m->scenario->tables[i].copies;
    m->tables = must_calloc(count + 1, sizeof m->tables[0]);
    for (uint32_t i = 0; i < m->scenario->table_count; i++) {
        for (uint32_t copy = 0; copy < m->scenario->tables[i].copies; copy++) {
            struct model_table *mt = &m->tables[m->table_count];
            mt->scenario = &m->scenario->tables[i];
            mt->number = m->table_count;
            demand_table_name(mt->scenario, copy, mt->name, sizeof mt->name);
            if (!table_create(m, mt, error))
                return false;
        }
    }
    return true;
}

static void partition_destroy(struct model_partition *p)
{
    heat_deinit(&p->heat);
    buffer_deinit(&p->bounds);
    for (struct model_flow *f; (f = LIST_FIRST(&p->flows)) != NULL;) {
        LIST_REMOVE(f, entry);
        free(f);
    }
    free(p->replicas);
    free(p);
}

void model_tables_destroy(struct model *m)
{
    for (uint32_t id = 1; id < m->partition_room; id++) {
        if (m->partitions[id] != NULL)
            partition_destroy(m->partitions[id]);
    }
    for (struct model_partition *p; (p = SLIST_FIRST(&m->gone)) != NULL;) {
        SLIST_REMOVE_HEAD(&m->gone, gone);
        partition_destroy(p);
    }
    free(m->partitions);
    for (uint32_t i = 0; m->tables != NULL && i < m->table_count; i++) {
        free(m->tables[i].routes);
        id_map_deinit(&m->tables[i].sizes);
    }
    free(m->tables);
}

/* ---- by hand ---- */

static void split_one(struct model *m, const struct table *t, const struct partition_info *p)
{
    uint8_t key[STORAGE_KEY_BOUND_SIZE];
    struct table_split split;
    struct catalog_command c = model_control_command(m, CATALOG_SPLIT);
    struct catalog_result out;
    struct buffer body = {0};
    if (!demand_split_evenly(t, p, key, &split))
        return;
    table_split_encode(&body, &split);
    c.split = buffer_slice(&body);
    model_control_apply(m, &c, &out);
    buffer_deinit(&body);
}

void model_tables_split(struct model *m, struct model_table *mt)
{
    const struct table *t = catalog_find_id(m->catalog, mt->id);
    uint32_t count = t->partition_count;
    uint32_t *ids = must_calloc(count, sizeof ids[0]);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = t->partitions[i].id;
    m->by_hand = true;
    for (uint32_t i = 0; i < count; i++) {
        t = catalog_find_id(m->catalog, mt->id);
        split_one(m, t, table_find_partition(t, ids[i]));
    }
    m->by_hand = false;
    free(ids);
}

void model_tables_update(struct model *m, const struct scaling_update *u)
{
    struct catalog_command c = model_control_command(m, CATALOG_UPDATE);
    struct catalog_result out;
    c.spec = (struct table_spec){.name = slice_of(m->tables[u->table].name),
                                 .billing = BILLING_PROVISIONED,
                                 .rcu = u->units[ADMIT_READ],
                                 .wcu = u->units[ADMIT_WRITE]};
    model_control_apply(m, &c, &out);
    scaling_updated(&m->scaling, u, out.code == REPLY_OK);
}

/* ---- autoscaling ---- */

static void tables_consumed(void *context, const struct scaling_update *table,
                            int64_t mcu[ADMIT_KINDS])
{
    const struct model *m = context;
    memcpy(mcu, m->tables[table->table].consumed_mcu, sizeof m->tables[0].consumed_mcu);
}

static void tables_change(void *context, const struct scaling_update *u)
{
    model_tables_update(context, u);
}

void model_tables_run(struct model *m)
{
    const struct scaling_port port = {m, tables_consumed, tables_change};
    scaling_begin(&m->scaling, m->scenario, &m->scheduler, m->measure, &port);
}
