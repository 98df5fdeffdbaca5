/* tables.c - requests that make, look at and change a scenario's tables. */
#include "lab/clients/tables.h"

#include <stdio.h>

#include "base/gac_policy.h"
#include "base/settings/admission.h"
#include "gac/gac_message.h"
#include "lab/scenario/scenario_limit.h"
#include "router/limiter/limit_scope.h"

enum {
    NAME_SIZE = SCENARIO_NAME_SIZE_MAX + 16
};

void tables_write_name(struct buffer *out, const struct scenario *s, uint32_t place, uint32_t copy)
{
    char name[NAME_SIZE];
    demand_table_name(&s->tables[place], copy, name, sizeof name);
    buffer_append_format(out, "{\"TableName\":\"%s\"}", name);
}

/* A table of whole collections has a local index. No item has the index's key, so that the index
 * costs nothing. */
static void write_keys(struct buffer *out, const struct scenario_table *t, bool sort)
{
    const bool whole = t->whole_collections;
    buffer_append_format(
        out,
        ",\"KeySchema\":[{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"}%s],"
        "\"AttributeDefinitions\":[{\"AttributeName\":\"pk\",\"AttributeType\":\"S\"}%s%s",
        sort ? ",{\"AttributeName\":\"sk\",\"KeyType\":\"RANGE\"}" : "",
        sort ? ",{\"AttributeName\":\"sk\",\"AttributeType\":\"S\"}" : "",
        whole ? ",{\"AttributeName\":\"no\",\"AttributeType\":\"S\"}" : "");
    for (uint32_t i = 0; i < t->indexes.count; i++) {
        buffer_append_text(out, ",{\"AttributeName\":\"");
        index_append_attribute(out, &t->indexes.at[i]);
        buffer_append_text(out, "\",\"AttributeType\":\"S\"}");
    }
    buffer_append_u8(out, ']');
    if (whole)
        buffer_append_text(out,
                           ",\"LocalSecondaryIndexes\":[{\"IndexName\":\"by-no\",\"KeySchema\":["
                           "{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"},"
                           "{\"AttributeName\":\"no\",\"KeyType\":\"RANGE\"}],"
                           "\"Projection\":{\"ProjectionType\":\"KEYS_ONLY\"}}]");
}

/* As router/limiter/limit_settings.c makes its table. */
static void write_limiter_keys(struct buffer *out)
{
    buffer_append_text(out, ",\"KeySchema\":[{\"AttributeName\":\"PK\",\"KeyType\":\"HASH\"},"
                            "{\"AttributeName\":\"SK\",\"KeyType\":\"RANGE\"}],"
                            "\"AttributeDefinitions\":["
                            "{\"AttributeName\":\"PK\",\"AttributeType\":\"S\"},"
                            "{\"AttributeName\":\"SK\",\"AttributeType\":\"S\"}]");
}

static void write_throughput(struct buffer *out, int64_t rcu, int64_t wcu)
{
    buffer_append_format(out,
                         ",\"ProvisionedThroughput\":{\"ReadCapacityUnits\":%lld,"
                         "\"WriteCapacityUnits\":%lld}",
                         (long long)rcu, (long long)wcu);
}

static void write_partitions(struct buffer *out, const struct scenario *s, int64_t partitions)
{
    const struct config *config = &s->cluster.config;
    if (partitions > 0)
        buffer_append_format(out,
                             ",\"WarmThroughput\":{\"ReadUnitsPerSecond\":%lld,"
                             "\"WriteUnitsPerSecond\":%lld}",
                             (long long)(partitions * config_admission(config)->partition_max_rcu),
                             (long long)(partitions * config_admission(config)->partition_max_wcu));
}

static void write_index(struct buffer *out, const struct scenario *s,
                        const struct scenario_table *t, const struct index_options *x)
{
    buffer_append_format(out, "{\"IndexName\":\"%s\",\"KeySchema\":[{\"AttributeName\":\"",
                         x->name);
    index_append_attribute(out, x);
    buffer_append_format(out,
                         "\",\"KeyType\":\"HASH\"}],\"Projection\":{\"ProjectionType\":\"%s\"}",
                         x->projection == INDEX_ALL ? "ALL" : "KEYS_ONLY");
    if (!t->on_demand)
        write_throughput(out, x->rcu > 0 ? x->rcu : t->rcu, x->wcu > 0 ? x->wcu : t->wcu);
    write_partitions(out, s, x->partitions);
    buffer_append_u8(out, '}');
}

static void write_indexes(struct buffer *out, const struct scenario *s,
                          const struct scenario_table *t)
{
    for (uint32_t i = 0; i < t->indexes.count; i++) {
        buffer_append_text(out, i == 0 ? ",\"GlobalSecondaryIndexes\":[" : ",");
        write_index(out, s, t, &t->indexes.at[i]);
    }
    if (t->indexes.count > 0)
        buffer_append_u8(out, ']');
}

static void write_maximum(struct buffer *out, const struct scenario_table *t)
{
    if (t->max_rcu == 0 && t->max_wcu == 0)
        return;
    buffer_append_text(out, ",\"OnDemandThroughput\":{");
    if (t->max_rcu > 0)
        buffer_append_format(out, "\"MaxReadRequestUnits\":%lld%s", (long long)t->max_rcu,
                             t->max_wcu > 0 ? "," : "");
    if (t->max_wcu > 0)
        buffer_append_format(out, "\"MaxWriteRequestUnits\":%lld", (long long)t->max_wcu);
    buffer_append_u8(out, '}');
}

static void write_tag(struct buffer *out, bool *first, const char *key, const char *value)
{
    buffer_append_format(out, "%s{\"Key\":\"%s\",\"Value\":\"%s\"}", *first ? ",\"Tags\":[" : ",",
                         key, value);
    *first = false;
}

static void write_tags(struct buffer *out, const struct scenario_table *t)
{
    char weight[24];
    bool first = true;
    snprintf(weight, sizeof weight, "%lld", (long long)t->weight);
    if (t->gac > 0)
        write_tag(out, &first, "weir:gac", gac_policy_name((enum gac_policy)(t->gac - 1)));
    if (t->weight > 1)
        write_tag(out, &first, "weir:weight", weight);
    if (t->key_sharding != NULL)
        write_tag(out, &first, "weir:key-sharding", t->key_sharding);
    if (!first)
        buffer_append_u8(out, ']');
}

void tables_write_create(struct buffer *out, const struct scenario *s, uint32_t place,
                         uint32_t copy)
{
    const struct scenario_table *t = &s->tables[place];
    char name[NAME_SIZE];
    demand_table_name(t, copy, name, sizeof name);
    buffer_append_format(out, "{\"TableName\":\"%s\"", name);
    if (strcmp(name, LIMITER_TABLE) == 0)
        write_limiter_keys(out);
    else
        write_keys(out, t, demand_has_sort_key(s, place));
    if (t->on_demand) {
        buffer_append_text(out, ",\"BillingMode\":\"PAY_PER_REQUEST\"");
        write_maximum(out, t);
    } else {
        write_throughput(out, t->rcu, t->wcu);
    }
    write_partitions(out, s, t->partitions);
    write_indexes(out, s, t);
    write_tags(out, t);
    buffer_append_u8(out, '}');
}

void tables_write_update(struct buffer *out, const struct scenario *s,
                         const struct scaling_update *u)
{
    char name[NAME_SIZE];
    demand_table_name(&s->tables[u->place], u->copy, name, sizeof name);
    buffer_append_format(out, "{\"TableName\":\"%s\",\"BillingMode\":\"PROVISIONED\"", name);
    write_throughput(out, u->units[ADMIT_READ], u->units[ADMIT_WRITE]);
    buffer_append_u8(out, '}');
}

void tables_write_expiry(struct buffer *out, const struct scenario *s, uint32_t place,
                         uint32_t copy)
{
    char name[NAME_SIZE];
    demand_table_name(&s->tables[place], copy, name, sizeof name);
    buffer_append_format(out,
                         "{\"TableName\":\"%s\",\"TimeToLiveSpecification\":{\"AttributeName\":"
                         "\"" TABLES_EXPIRY_NAME "\",\"Enabled\":true}}",
                         name);
}

void tables_write_limit(struct buffer *out, const struct scenario_limit *l)
{
    buffer_append_u8(out, '{');
    if (l->entity != NULL)
        buffer_append_format(out, "\"entity\":\"%s\",", l->entity);
    buffer_append_format(out,
                         "\"resource\":\"%s\",\"limits\":[{\"name\":\"" SCENARIO_LIMIT_NAME
                         "\",\"capacity\":%lld,\"refill_amount\":%lld,\"refill_period_ms\":%lld,"
                         "\"smallest_request\":%lld}]}",
                         l->resource, (long long)l->capacity, (long long)l->refill,
                         (long long)(l->period_ns / NS_PER_MS), (long long)l->smallest);
}

bool tables_is_active(struct slice answer)
{
    static const char active[] = "\"TableStatus\":\"ACTIVE\"";
    return memmem(answer.data, answer.size, active, sizeof active - 1) != NULL;
}
