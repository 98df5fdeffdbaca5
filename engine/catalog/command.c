/* command.c - catalog commands as bytes. */
#include "engine/catalog/catalog.h"

void catalog_command_init(struct catalog_command *c, enum catalog_op op,
                          const struct config *config, uint32_t node_count, int64_t wall_ms)
{
    *c = (struct catalog_command){
        .op = op,
        .spec.billing = BILLING_PROVISIONED,
        .wall_ms = wall_ms,
        .node_count = node_count,
        .replicas = (uint32_t)(config->replicas < node_count ? config->replicas : node_count),
        .node_mcu = {[ADMIT_READ] = config->node_rcu * MCU_PER_UNIT,
                     [ADMIT_WRITE] = config->node_wcu * MCU_PER_UNIT},
        .partition_max_mcu = {[ADMIT_READ] = config->partition_max_rcu * MCU_PER_UNIT,
                              [ADMIT_WRITE] = config->partition_max_wcu * MCU_PER_UNIT},
        .table_max = {[ADMIT_READ] = config->table_max_rcu, [ADMIT_WRITE] = config->table_max_wcu},
        .on_demand = {[ADMIT_READ] = config->on_demand_rcu, [ADMIT_WRITE] = config->on_demand_wcu},
        .on_demand_promise_percent = config->on_demand_promise_percent,
        .on_demand_switches_max = config->on_demand_switches_max,
        .gac = (uint8_t)gac_policy_of(config, GAC_AS_CONFIGURED),
        .tables_max = config->tables_max,
        .table_partitions_max = config->table_partitions_max,
    };
}

void catalog_command_encode(struct buffer *out, const struct catalog_command *c)
{
    buffer_append_u8(out, (uint8_t)c->op);
    buffer_append_u32(out, c->table_id);
    buffer_append_u32(out, c->node);
    buffer_append_u32(out, c->generation);
    buffer_append_u32(out, c->partition_count);
    buffer_append_u8(out, (uint8_t)c->status);
    buffer_append_sized(out, c->split);
    buffer_append_sized(out, c->group);
    buffer_append(out, c->uuid, sizeof c->uuid);
    buffer_append_u64(out, (uint64_t)c->wall_ms);
    buffer_append_u32(out, c->node_count);
    buffer_append_u32(out, c->replicas);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        buffer_append_u64(out, (uint64_t)c->node_mcu[kind]);
        buffer_append_u64(out, (uint64_t)c->partition_max_mcu[kind]);
        buffer_append_u64(out, (uint64_t)c->table_max[kind]);
        buffer_append_u64(out, (uint64_t)c->on_demand[kind]);
    }
    buffer_append_u64(out, (uint64_t)c->on_demand_promise_percent);
    buffer_append_u64(out, (uint64_t)c->on_demand_switches_max);
    buffer_append_u8(out, c->gac);
    buffer_append_u64(out, (uint64_t)c->tables_max);
    buffer_append_u64(out, (uint64_t)c->table_partitions_max);
    buffer_append_sized(out, c->decision);
    table_spec_encode(out, &c->spec);
}

static bool command_within(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

/* Settings of the one who proposed it, and its clock: what calculations rely on. */
static bool settings_are_sound(const struct catalog_command *c)
{
    const int64_t rate_max = INT64_C(1) << 50, wall_max = INT64_C(1) << 52;
    bool sound = command_within(c->wall_ms, 0, wall_max) &&
                 command_within(c->on_demand_promise_percent, 0, 100) &&
                 command_within(c->on_demand_switches_max, 0, ON_DEMAND_SWITCHES_MAX) &&
                 command_within(c->tables_max, 0, UINT32_MAX) &&
                 command_within(c->table_partitions_max, 0, PARTITION_ID_MAX);
    for (int kind = 0; kind < ADMIT_KINDS; kind++)
        sound = sound && command_within(c->node_mcu[kind], 0, rate_max) &&
                command_within(c->partition_max_mcu[kind], 1, rate_max) &&
                command_within(c->table_max[kind], 0, rate_max) &&
                command_within(c->on_demand[kind], 0, rate_max);
    return sound;
}

enum status catalog_command_decode(struct slice bytes, struct catalog_command *out)
{
    struct reader r = {bytes, false};
    uint8_t op = reader_u8(&r);
    out->table_id = reader_u32(&r);
    out->node = reader_u32(&r);
    out->generation = reader_u32(&r);
    out->partition_count = reader_u32(&r);
    uint8_t status = reader_u8(&r);
    out->split = reader_sized(&r);
    out->group = reader_sized(&r);
    struct slice uuid = reader_take(&r, sizeof out->uuid);
    if (uuid.size > 0)
        memcpy(out->uuid, uuid.data, uuid.size);
    out->wall_ms = (int64_t)reader_u64(&r);
    out->node_count = reader_u32(&r);
    out->replicas = reader_u32(&r);
    for (int kind = 0; kind < ADMIT_KINDS; kind++) {
        out->node_mcu[kind] = (int64_t)reader_u64(&r);
        out->partition_max_mcu[kind] = (int64_t)reader_u64(&r);
        out->table_max[kind] = (int64_t)reader_u64(&r);
        out->on_demand[kind] = (int64_t)reader_u64(&r);
    }
    out->on_demand_promise_percent = (int64_t)reader_u64(&r);
    out->on_demand_switches_max = (int64_t)reader_u64(&r);
    out->gac = reader_u8(&r);
    out->tables_max = (int64_t)reader_u64(&r);
    out->table_partitions_max = (int64_t)reader_u64(&r);
    out->decision = reader_sized(&r);
    if (r.failed || out->gac >= GAC_POLICIES || op == 0 || op >= CATALOG_OPS ||
        out->node_count == 0 || out->node_count > NODES_MAX || out->replicas == 0 ||
        out->replicas > REPLICAS_MAX || out->node > NODES_MAX)
        return STATUS_MALFORMED;
    if (!settings_are_sound(out))
        return STATUS_MALFORMED;
    struct table_split split;
    if (op == CATALOG_SPLIT && table_split_decode(out->split, &split) != STATUS_OK)
        return STATUS_MALFORMED;
    struct reader group = {out->group, false};
    struct partition_info info;
    if (op == CATALOG_FOUND && (partition_info_decode(&group, &info) != STATUS_OK ||
                                info.id != CATALOG_GROUP || group.left.size > 0))
        return STATUS_MALFORMED;
    if (op == CATALOG_SETTLE ? status < TABLE_CREATING || status > TABLE_DELETING : status != 0)
        return STATUS_MALFORMED;
    out->status = (enum table_status)status;
    out->op = (enum catalog_op)op;
    struct decision decision;
    bool decides = op >= CATALOG_EVENT && op <= CATALOG_MERGE;
    if (decides ? decision_decode(out->decision, &decision) != STATUS_OK : out->decision.size > 0)
        return STATUS_MALFORMED;
    if (decides && (op == CATALOG_MERGE) != (decision.merge != 0))
        return STATUS_MALFORMED;
    if (table_spec_decode(r.left, &out->spec) != STATUS_OK ||
        (op == CATALOG_CREATE && out->spec.billing == BILLING_AS_IT_IS))
        return STATUS_MALFORMED;
    return STATUS_OK;
}
