/* scenario_table.c - reads a table of a scenario. */
#include "lab/scenario/scenario_table.h"

#include "base/settings/tables.h"
#include "engine/admission/admission.h"
#include "engine/admission/share.h"
#include "engine/catalog/table.h"
#include "engine/catalog/table_name.h"

#define AT(member) FIELD_MEMBER(struct scenario_table, member)

static const char *const gac_choices[] = {"as-configured", "off",   "static",
                                          "periodic",      "lease", NULL};

const struct field scenario_table_fields[] = {
    {"name", FIELD_ANY_TEXT, AT(name), .required = true,
     .help = "Name of the table, or the beginning of the names of its copies."},
    {"copies", FIELD_INTEGER, AT(copies), .min = 1, .max = SCENARIO_COPIES_MAX,
     .help = "Number of these tables: NAME-1, NAME-2 and so on. Default: 1."},
    {"rcu", FIELD_INTEGER, AT(rcu), .min = 0, .max = 100000000,
     .help = "Provisioned read units per second. Default: 1000."},
    {"wcu", FIELD_INTEGER, AT(wcu), .min = 0, .max = 100000000,
     .help = "Provisioned write units per second. Default: 1000."},
    {"unlimited", FIELD_FLAG, AT(unlimited),
     .help = "The measures ignore the limit of the table. Default: false."},
    {"on_demand", FIELD_FLAG, AT(on_demand),
     .help = "The table has no provisioned throughput. Default: false."},
    {"partitions", FIELD_INTEGER, AT(partitions), .min = 0, .max = 100000,
     .help = "Partitions at the start, at least as many as its throughput needs. Default: 0."},
    {"max_rcu", FIELD_INTEGER, AT(max_rcu), .min = 0, .max = 100000000,
     .help = "On demand: the maximum of read units per second; 0: no maximum. Default: 0."},
    {"max_wcu", FIELD_INTEGER, AT(max_wcu), .min = 0, .max = 100000000,
     .help = "On demand: the maximum of write units per second; 0: no maximum. Default: 0."},
    {"gac", FIELD_CHOICE, AT(gac), .choices = gac_choices,
     .help = "Policy of global admission control of this table. Default: as-configured."},
    {"bytes", FIELD_INTEGER, AT(bytes), .min = 0, .max = INT64_MAX / 4,
     .help = "Bytes stored at the start. `full` and `real` store at most 64 MiB in all tables. "
             "Default: 0."},
    {"expire_at", FIELD_DURATION, AT(expire_at_ns), .max = SCENARIO_NS_MAX,
     .help = "Time of the run at which the time to live of all items is over that clients put, in "
             "whole seconds. Only at the fidelity `full`. Default: 0s, never."},
    {"weight", FIELD_INTEGER, AT(weight), .min = 1, .max = TABLE_WEIGHT_MAX,
     .help = "The tag weir:weight: nodes share throughput beyond allocations in proportion to it. "
             "Default: 1."},
    {"whole_collections", FIELD_FLAG, AT(whole_collections),
     .help = "No split divides an item collection, as with a local index. Default: false."},
    {"key_sharding", FIELD_ANY_TEXT, AT(key_sharding), .former = "salting",
     .help =
         "The tag weir:key-sharding: auto, counter, or a number of shards for hot keys. Not at the "
         "fidelity `admission`. Default: none."},
    {"autoscaling", FIELD_NODE, AT(autoscaling), .read = autoscaling_read,
     .fields = autoscaling_fields,
     .help = "A client changes the throughput by consumption. Default: none."},
    {"indexes", FIELD_LIST, AT(indexes.at), .max = INDEXES_MAX,
     .count_at = offsetof(struct scenario_table, indexes.count), .distinct = true,
     .read = index_read, .fields = index_fields,
     .help = "A list of global indexes. Only at the fidelity `full`. Default: none."},
    FIELDS_END};

bool scenario_table_read(struct reading *r, const struct document_node *n, void *target)
{
    struct scenario_table *t = target;
    *t = (struct scenario_table){.copies = 1, .rcu = 1000, .wcu = 1000, .weight = 1};
    if (!fields_read(r, n, scenario_table_fields, t))
        return false;
    size_t size = strlen(t->name);
    if (size > SCENARIO_NAME_SIZE_MAX || size < TABLE_NAME_SIZE_MIN ||
        !table_name_is_valid(slice_of(t->name)))
        return reading_fail(
            r, n, "the name of a table has %d to %d letters, digits, _, - and ., not `%s`",
            TABLE_NAME_SIZE_MIN, SCENARIO_NAME_SIZE_MAX, t->name);
    if (!t->on_demand && (t->rcu == 0 || t->wcu == 0))
        return reading_fail(r, n, "table %s needs at least 1 rcu and 1 wcu, or on_demand: true",
                            t->name);
    enum key_sharding_mode mode;
    uint32_t shards;
    if (t->key_sharding != NULL &&
        !key_sharding_mode_parse(slice_of(t->key_sharding), &mode, &shards))
        return reading_fail(
            r, n,
            "table %s: key_sharding is auto, counter, off, or a number from 2 to %d, not `%s`",
            t->name, KEY_SHARDS_MAX, t->key_sharding);
    const char *fault =
        autoscaling_check(&t->autoscaling, t->on_demand, (int64_t[]){t->rcu, t->wcu});
    return indexes_check(r, n, &t->indexes, t->on_demand) &&
           (fault == NULL || reading_fail(r, n, "table %s: %s", t->name, fault));
}

static bool check_partitions(struct reading *r, const struct document_node *at,
                             const struct config *config, const char *name, int64_t partitions,
                             const int64_t units[ADMIT_KINDS])
{
    const uint32_t needed = share_partitions_initial(config, units[ADMIT_READ], units[ADMIT_WRITE]);
    const int64_t max = config_tables(config)->table_partitions_max;
    if (partitions > 0 && partitions < needed)
        return reading_fail(r, at,
                            "partitions of %s is %lld, but must be 0 or at least %u: its "
                            "throughput of %lld RCU and %lld WCU needs so many",
                            name, (long long)partitions, needed, (long long)units[ADMIT_READ],
                            (long long)units[ADMIT_WRITE]);
    const int64_t count = partitions > 0 ? partitions : needed;
    return count <= max || reading_fail(r, at,
                                        "%s would need %lld partitions, but "
                                        "cluster.settings.table_partitions_max is %lld",
                                        name, (long long)count, (long long)max);
}

bool scenario_table_check(struct reading *r, const struct scenario *s, uint32_t place)
{
    const struct scenario_table *t = &s->tables[place];
    const struct config *config = &s->cluster.config;
    const struct settings_tables *tables = config_tables(config);
    const int64_t units[] = {t->on_demand ? tables->on_demand_rcu : t->rcu,
                             t->on_demand ? tables->on_demand_wcu : t->wcu};
    if (!check_partitions(r, document_nearest(r->document, "tables.%u.partitions", place + 1),
                          config, t->name, t->partitions, units))
        return false;
    for (uint32_t i = 0; i < t->indexes.count; i++) {
        const struct index_options *x = &t->indexes.at[i];
        const struct document_node *at =
            document_nearest(r->document, "tables.%u.indexes.%u.partitions", place + 1, i + 1);
        if (!check_partitions(r, at, config, x->name, x->partitions,
                              (int64_t[]){x->rcu > 0 ? x->rcu : units[ADMIT_READ],
                                          x->wcu > 0 ? x->wcu : units[ADMIT_WRITE]}))
            return false;
    }
    return true;
}
