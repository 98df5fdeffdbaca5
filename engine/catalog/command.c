/* command.c - catalog commands as bytes. */
#include "base/gac_policy.h"
#include "base/settings/admission.h"
#include "base/settings/key_sharding.h"
#include "base/settings/replication.h"
#include "base/settings/streams.h"
#include "base/settings/tables.h"
#include "engine/catalog/catalog.h"

void catalog_command_init(struct catalog_command *c, enum catalog_op op,
                          const struct config *config, uint32_t node_count, int64_t wall_ms)
{
    *c = (struct catalog_command){
        .op = op,
        .spec.billing = BILLING_PROVISIONED,
        .wall_ms = wall_ms,
        .agreed_ms = wall_ms,
        .node_count = node_count,
        .replicas = (uint32_t)MIN(config_replication(config)->replicas, node_count),
        .node_mcu = {[ADMIT_READ] = config_admission(config)->node_rcu * MCU_PER_UNIT,
                     [ADMIT_WRITE] = config_admission(config)->node_wcu * MCU_PER_UNIT},
        .partition_max_mcu = {[ADMIT_READ] =
                                  config_admission(config)->partition_max_rcu * MCU_PER_UNIT,
                              [ADMIT_WRITE] =
                                  config_admission(config)->partition_max_wcu * MCU_PER_UNIT},
        .table_max = {[ADMIT_READ] = config_tables(config)->table_max_rcu,
                      [ADMIT_WRITE] = config_tables(config)->table_max_wcu},
        .on_demand = {[ADMIT_READ] = config_tables(config)->on_demand_rcu,
                      [ADMIT_WRITE] = config_tables(config)->on_demand_wcu},
        .on_demand_reserved_percent = config_tables(config)->on_demand_reserved_percent,
        .on_demand_switches_max = config_tables(config)->on_demand_switches_max,
        .gac = (uint8_t)gac_policy_of(config, GAC_AS_CONFIGURED),
        .decreases_max = config_tables(config)->decreases_max,
        .decrease_wait_s = config_tables(config)->decrease_wait_s,
        .ttl_change_ms = config_tables(config)->ttl_change_ms,
        .tables_max = config_tables(config)->tables_max,
        .sharded_keys_max = config_key_sharding(config)->sharded_keys_max,
        .table_partitions_max = config_tables(config)->table_partitions_max,
        .stream_retention_ms = config_streams(config)->stream_retention_ms,
    };
}

/* Bounds of the proposing node's settings and clock. Calculations rely on the bounds. */
static const int64_t command_rate_max = INT64_C(1) << 50;
static const int64_t command_wall_max = INT64_C(1) << 52;

/* The head of a command. The table_spec follows, up to the end. */
static void command_walk(struct codec *c, struct catalog_command *m)
{
    m->op = (enum catalog_op)codec_choice(c, m->op, 1, CATALOG_OPS - 1);
    codec_u32(c, &m->table_id);
    codec_u32(c, &m->node);
    codec_u32(c, &m->generation);
    codec_u64(c, &m->reconciled);
    codec_check(c, m->op == CATALOG_RECONCILED || m->reconciled == 0);
    codec_sized(c, &m->split, UINT32_MAX);
    codec_sized(c, &m->group, UINT32_MAX);
    codec_bytes(c, m->uuid, sizeof m->uuid);
    codec_i64(c, &m->wall_ms, 0, command_wall_max);
    codec_i64(c, &m->agreed_ms, 0, command_wall_max);
    codec_u32(c, &m->node_count);
    codec_u32(c, &m->replicas);
    codec_check(c, m->node_count >= 1 && m->node_count <= NODES_MAX && m->replicas >= 1 &&
                       m->replicas <= REPLICAS_MAX && m->node <= NODES_MAX);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        codec_i64(c, &m->node_mcu[kind], 0, command_rate_max);
        codec_i64(c, &m->partition_max_mcu[kind], 1, command_rate_max);
        codec_i64(c, &m->table_max[kind], 0, command_rate_max);
        codec_i64(c, &m->on_demand[kind], 0, command_rate_max);
    }
    codec_i64(c, &m->on_demand_reserved_percent, 0, 100);
    codec_i64(c, &m->on_demand_switches_max, 0, ON_DEMAND_SWITCHES_MAX);
    m->gac = codec_choice(c, m->gac, 0, GAC_POLICIES - 1);
    codec_i64(c, &m->decreases_max, 1, UINT32_MAX);
    codec_i64(c, &m->decrease_wait_s, 1, UINT32_MAX);
    codec_i64(c, &m->ttl_change_ms, 0, UINT32_MAX);
    codec_i64(c, &m->tables_max, 0, UINT32_MAX);
    codec_i64(c, &m->sharded_keys_max, 0, UINT32_MAX);
    codec_i64(c, &m->table_partitions_max, 0, PARTITION_ID_MAX);
    codec_i64(c, &m->stream_retention_ms, 0, command_wall_max);
    codec_sized(c, &m->decision, UINT32_MAX);
}

void catalog_command_reconciled(struct catalog_command *c, const struct table *t)
{
    c->table_id = t->id;
    c->reconciled = table_reconcile_hash(t);
}

void catalog_command_encode(struct buffer *out, const struct catalog_command *c)
{
    struct catalog_command copy = *c;
    command_walk(&(struct codec){.out = out}, &copy);
    table_spec_encode(out, &c->spec);
}

/* Checks the records inside the command. */
static bool parts_are_valid(const struct catalog_command *c)
{
    struct table_split split;
    if (c->op == CATALOG_SPLIT && table_split_decode(c->split, &split) != STATUS_OK)
        return false;
    struct partition_info info;
    if (c->op == CATALOG_FOUND &&
        (partition_info_decode(c->group, &info) != STATUS_OK || info.id != CATALOG_GROUP))
        return false;
    if (c->op < CATALOG_EVENT || c->op > CATALOG_KEY_SHARDS)
        return c->decision.size == 0;
    struct decision decision;
    return decision_decode(c->decision, &decision) == STATUS_OK &&
           (c->op == CATALOG_MERGE) == (decision.merge != 0) &&
           (c->op == CATALOG_KEY_SHARDS) == (decision.key_shards.change != 0);
}

enum status catalog_command_decode(struct slice bytes, struct catalog_command *out)
{
    struct codec c = {.in = &(struct reader){bytes, false}};
    command_walk(&c, out);
    bool valid = !codec_failed(&c) && parts_are_valid(out) &&
                 table_spec_decode(c.in->left, &out->spec) == STATUS_OK &&
                 (out->op != CATALOG_CREATE || out->spec.billing != BILLING_AS_IT_IS);
    return valid ? STATUS_OK : STATUS_MALFORMED;
}
