/* create_table.c - CreateTable: makes a table_spec from the members of the input. */
#include "router/json/shapes.h"
#include "router/operations/key_definitions.h"
#include "router/operations/operations.h"
#include "router/operations/table_description.h"
#include "router/operations/table_indexes.h"
#include "router/operations/table_tags.h"
#include "router/operations/table_throughput.h"

static const struct json_value NO_MAXIMA = {.type = JSON_ABSENT};

/* ---- billing ---- */

static bool create_read_billing(struct call *c, const struct json_value m[],
                                struct table_spec *spec)
{
    struct throughput_spec requested = {0};
    spec->billing = BILLING_PROVISIONED;
    if (m[CREATE_TABLE_BILLING_MODE].type == JSON_STRING &&
        slice_is(json_string(&m[CREATE_TABLE_BILLING_MODE]), "PAY_PER_REQUEST"))
        spec->billing = BILLING_ON_DEMAND;
    if (spec->billing == BILLING_PROVISIONED &&
        m[CREATE_TABLE_PROVISIONED_THROUGHPUT].type == JSON_ABSENT)
        return call_invalid(c, INVALID "ReadCapacityUnits and WriteCapacityUnits must both be "
                                       "specified when BillingMode is PROVISIONED");
    /* An empty structure is taken here, unlike in UpdateTable. */
    const struct json_value *maxima = &m[CREATE_TABLE_ON_DEMAND_THROUGHPUT];
    if (maxima->type == JSON_OBJECT && json_count(maxima) == 0)
        maxima = &NO_MAXIMA;
    return table_read_throughput(c, &m[CREATE_TABLE_PROVISIONED_THROUGHPUT], maxima,
                                 &m[CREATE_TABLE_WARM_THROUGHPUT], &requested) &&
           table_take_throughput(c, &requested, NULL, spec);
}

/* ---- keys and indexes ---- */

static bool create_read_keys(struct call *c, const struct json_value m[], struct table_spec *spec)
{
    const struct json_value *definitions = &m[CREATE_TABLE_ATTRIBUTE_DEFINITIONS];
    struct key_attr keys[2] = {0};
    const struct index_set *set;
    size_t count;
    if (!definitions_differ(c, definitions) ||
        !key_schema_read(c, definitions, &m[CREATE_TABLE_KEY_SCHEMA], false, keys, &count))
        return false;
    spec->partition_key = keys[0];
    spec->sort_key = keys[1];
    return table_indexes_read(c, definitions, &m[CREATE_TABLE_LOCAL_SECONDARY_INDEXES],
                              &m[CREATE_TABLE_GLOBAL_SECONDARY_INDEXES], spec, &set) &&
           definitions_are_used(c, definitions, spec, set);
}

/* ---- the rest ---- */

static bool create_read(struct call *c, const struct json_value m[], struct table_spec *spec)
{
    struct table_settings settings = {
        true, &m[CREATE_TABLE_DELETION_PROTECTION_ENABLED], &m[CREATE_TABLE_STREAM_SPECIFICATION],
        &m[CREATE_TABLE_SSE_SPECIFICATION], &m[CREATE_TABLE_TABLE_CLASS]};
    spec->name = arena_copy(&c->arena, call_table_named(c, &m[CREATE_TABLE_TABLE_NAME]));
    return create_read_billing(c, m, spec) && create_read_keys(c, m, spec) &&
           table_tags_create(c, &m[CREATE_TABLE_TAGS], spec) &&
           table_settings_read(c, &settings, spec);
}

static bool create_begin(struct call *c, const struct json_value m[])
{
    struct table_spec spec = {0};
    if (!create_read(c, m, &spec))
        return false;
    call_send_spec(c, REQUEST_TABLE_CREATE, &spec);
    return true;
}

OPERATION(create_table, "CreateTable", .name_first = true, .begin = create_begin,
          .reply = table_description_reply);
