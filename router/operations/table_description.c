/* table_description.c - describes a table, follows its changes, reads its settings. */
#include "router/operations/table_description.h"

#include "base/settings/requests.h"
#include "engine/message/request_traits.h"
#include "router/core/limit.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/streams.h"

/* ---- description ---- */

const char *table_status_name(enum table_status status)
{
    static const char *const NAMES[] = {[TABLE_CREATING] = "CREATING",
                                        [TABLE_ACTIVE] = "ACTIVE",
                                        [TABLE_UPDATING] = "UPDATING",
                                        [TABLE_DELETING] = "DELETING"};
    return NAMES[status];
}

static void table_write_keys(struct buffer *out, const struct table *t)
{
    const struct key_attr keys[2] = {t->partition_key, t->sort_key};
    table_definitions_write(out, t);
    table_key_schema_write(out, keys, 1, table_has_sort_key(t) ? 2 : 1);
}

/* A table that was never on demand has no summary. */
static void table_write_billing(struct buffer *out, const struct table *t, bool is_new)
{
    bool on_demand = t->billing == BILLING_ON_DEMAND;
    if (!on_demand && t->on_demand_since_ms == 0)
        return;
    json_member_open(out, "BillingModeSummary", '{');
    json_member_text(out, "BillingMode", on_demand ? "PAY_PER_REQUEST" : "PROVISIONED");
    if (!is_new)
        table_date_write(out, "LastUpdateToPayPerRequestDateTime", t->on_demand_since_ms);
    json_write_close(out, '}');
}

static void table_write_id(struct buffer *out, const uint8_t uuid[16])
{
    char text[37];
    size_t at = 0;
    for (int i = 0; i < 16; i++) {
        static const char HEX[] = "0123456789abcdef";
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[at++] = '-';
        text[at++] = HEX[uuid[i] >> 4];
        text[at++] = HEX[uuid[i] & 15];
    }
    json_write_string(out, slice_make(text, at));
}

static void table_write_class(struct buffer *out, const struct table *t)
{
    if (t->class == TABLE_CLASS_UNSPECIFIED)
        return;
    json_member_open(out, "TableClassSummary", '{');
    json_member_text(out, "TableClass",
                     t->class == TABLE_CLASS_STANDARD ? "STANDARD" : "STANDARD_INFREQUENT_ACCESS");
    json_write_close(out, '}');
}

static void table_write_encryption(struct buffer *out, const struct call *c, const struct table *t)
{
    if (t->encryption != ENCRYPTION_WITH_KEY)
        return;
    struct buffer arn = {0};
    struct slice key =
        t->encryption_key.size > 0 ? t->encryption_key : slice_of("alias/aws/dynamodb");
    if (!slice_starts_with(key, slice_of("arn:")))
        buffer_append_format(&arn, "arn:aws:kms:%.*s:%s:%s", TEXT_OF(call_region(c)),
                             c->router->options.account,
                             slice_starts_with(key, slice_of("alias/")) ? "" : "key/");
    buffer_append_slice(&arn, key);
    json_member_open(out, "SSEDescription", '{');
    json_member_text(out, "Status", "ENABLED");
    json_member_text(out, "SSEType", "KMS");
    json_member_string(out, "KMSMasterKeyArn", buffer_slice(&arn));
    json_write_close(out, '}');
    buffer_deinit(&arn);
}

/* A stream that is disabled is the latest one until it is forgotten, but the table has none. */
static void table_write_stream(struct buffer *out, const struct call *c, const struct table *t)
{
    const struct table_streams *set = t->stream_set;
    const struct table_stream *s = set != NULL && set->count > 0 ? &set->at[set->count - 1] : NULL;
    struct buffer text = {0};
    if (s == NULL || !stream_is_shown(c->router, s))
        return;
    if (s->disabled_ms == 0) {
        json_member_open(out, "StreamSpecification", '{');
        json_member_bool(out, "StreamEnabled", true);
        json_member_text(out, "StreamViewType", stream_view_name(s->view));
        json_write_close(out, '}');
    }
    table_stream_append_label(&text, s);
    json_member_string(out, "LatestStreamLabel", buffer_slice(&text));
    buffer_clear(&text);
    stream_arn_append(&text, c, t->name, s);
    json_member_string(out, "LatestStreamArn", buffer_slice(&text));
    buffer_deinit(&text);
}

/* Each operation shows a little less than DescribeTable: DeleteTable no keys and no
 * CreationDateTime, CreateTable no date of the billing mode, and WarmThroughput only if it is more
 * than any table has. */
static void table_description_write(struct buffer *out, const struct call *c,
                                    const struct table_record *record, enum request_op op)
{
    const struct router *r = c->router;
    const struct table *t = &record->table;
    struct buffer arn = {0};
    bool brief = op == REQUEST_TABLE_DELETE, is_new = op == REQUEST_TABLE_CREATE;
    table_arn_append(&arn, c, t->name);
    json_write_open(out, '{');
    if (!brief)
        table_write_keys(out, t);
    json_member_string(out, "TableName", t->name);
    json_member_text(out, "TableStatus", table_status_name(table_record_status(record)));
    if (!brief)
        table_date_write(out, "CreationDateTime", t->created_ms);
    table_provisioned_write(out, r, t);
    table_write_billing(out, t, is_new);
    table_throughput_write(out, r->config, t, is_new);
    json_member_integer(out, "TableSizeBytes", t->size_bytes);
    json_member_integer(out, "ItemCount", t->item_count);
    json_member_string(out, "TableArn", buffer_slice(&arn));
    json_write_key(out, "TableId");
    table_write_id(out, t->uuid);
    if (!brief)
        table_indexes_write(out, c, record, is_new);
    table_write_encryption(out, c, t);
    table_write_class(out, t);
    table_write_stream(out, c, t);
    json_member_bool(out, "DeletionProtectionEnabled", t->protected);
    json_write_close(out, '}');
    buffer_deinit(&arn);
}

bool table_take_record(struct call *c, const struct subrequest *s, const struct reply *r,
                       struct table_record *out)
{
    if (r->code == REPLY_TABLE_NOT_FOUND)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "Requested resource not found: Table: %.*s not found",
                         SHOWN(request_table_name(&s->request)));
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    return table_record_read(&c->arena, r, out) == STATUS_OK ||
           fault_set(call_fault(c), FAULT_INTERNAL, "The catalog's answer is invalid");
}

bool table_take_reply(struct call *c, const struct subrequest *s, const struct reply *r,
                      struct table *out)
{
    struct table_record record;
    const bool taken = table_take_record(c, s, r, &record);
    if (taken)
        *out = record.table;
    return taken;
}

/* ---- changes ---- */

enum {
    FOLLOWS = 1 /* value of subrequest->index: asks whether a change has happened */
};

static void table_change_query(struct call *c, struct slice name, uint32_t attempts)
{
    struct subrequest *s = call_request(c, NULL, REQUEST_TABLE_GET);
    s->request.table.name = name;
    s->index = FOLLOWS;
    s->attempts = attempts;
    subrequest_start_later(c->router, s);
}

void table_change_follow(struct call *c, const struct table_record *record)
{
    if (table_record_is_idle(record) ||
        config_requests(c->router->config)->table_change_delay_ms > 0)
        return;
    c->follow_until = instant_add(c->router->now, duration_ms(TABLE_CHANGE_WAIT_MS));
    c->follow_table = record->table.id;
    table_change_query(c, record->table.name, 0);
}

/* Whether the change has happened. A reply that does not tell counts as: not yet. */
static bool table_change_is_over(const struct call *c, const struct reply *r)
{
    struct table_record record;
    struct arena arena = {0};
    if (r->code != REPLY_OK)
        return r->code == REPLY_TABLE_NOT_FOUND;
    bool over = table_record_read(&arena, r, &record) == STATUS_OK &&
                (record.table.id != c->follow_table || table_record_is_idle(&record));
    arena_deinit(&arena);
    return over;
}

bool table_change_took(struct call *c, struct subrequest *s, const struct reply *r)
{
    if (s->index != FOLLOWS)
        return false;
    bool late = !instant_before(c->router->now, c->follow_until);
    if (table_change_is_over(c, r) || late)
        route_invalidate(c->router, s->request.table.name);
    else
        table_change_query(c, s->request.table.name, s->attempts + 1);
    return true;
}

/* Until a change of the throughput has happened, the service shows the former one. */
static void table_show_former(struct table *t, const struct table *former)
{
    t->billing = former->billing;
    t->on_demand_since_ms = former->on_demand_since_ms;
    t->rcu = former->rcu;
    t->wcu = former->wcu;
    t->increased_ms = former->increased_ms;
    t->decreased_ms = former->decreased_ms;
    t->decreases_today = former->decreases_today;
}

/* The same for each index that changes. */
static void table_show_former_indexes(struct call *c, struct table_record *shown,
                                      const struct table_record *former)
{
    for (uint32_t i = 0; i < index_set_global(shown->table.index_set); i++) {
        const struct table *x = shown->indexes[i];
        const struct table *before =
            x != NULL && x->status == TABLE_UPDATING
                ? table_record_index(former, index_set_global_at(shown->table.index_set, i))
                : NULL;
        if (before == NULL)
            continue;
        struct table *copy = arena_alloc(&c->arena, sizeof *copy);
        *copy = *x;
        table_show_former(copy, before);
        shown->indexes[i] = copy;
    }
}

/* The cached routes of the table and of its indexes are out of date. */
static void table_invalidate_routes(struct call *c, const struct table *t)
{
    route_invalidate(c->router, t->name);
    for (uint32_t i = 0; i < index_set_global(t->index_set); i++)
        route_invalidate(c->router, call_index_table(c, t, index_set_global_at(t->index_set, i)));
}

/* All routers will hear of the limits of the table and its indexes. An index that UpdateTable adds
 * is CREATING; any other is not, or the update would be refused. */
static void table_notify_limits(struct call *c, const struct table_record *record, bool created)
{
    limit_notify(c->router, &record->table, created);
    for (uint32_t i = 0; i < index_set_global(record->table.index_set); i++) {
        const struct table *x = record->indexes[i];
        if (x != NULL)
            limit_notify(c->router, x, x->status == TABLE_CREATING);
    }
}

bool table_description_answer(struct call *c, struct subrequest *s, const struct reply *r,
                              const char *member, const struct table_record *former)
{
    struct table_record record;
    if (!table_take_record(c, s, r, &record))
        return false;
    if (s->request.op != REQUEST_TABLE_GET)
        table_invalidate_routes(c, &record.table);
    if (s->request.op == REQUEST_TABLE_UPDATE || s->request.op == REQUEST_TABLE_CREATE)
        table_notify_limits(c, &record, s->request.op == REQUEST_TABLE_CREATE);
    if (s->request.op != REQUEST_TABLE_GET)
        table_change_follow(c, &record);
    if (former != NULL && record.table.status == TABLE_UPDATING)
        table_show_former(&record.table, &former->table);
    if (former != NULL)
        table_show_former_indexes(c, &record, former);
    json_write_open(&c->body, '{');
    json_write_key(&c->body, member);
    table_description_write(&c->body, c, &record, s->request.op);
    json_write_close(&c->body, '}');
    return true;
}

bool table_description_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    return table_change_took(c, s, r) ||
           table_description_answer(c, s, r, "TableDescription", NULL);
}

/* ---- settings ---- */

static bool table_read_stream(struct call *c, const struct json_value *v, bool is_new,
                              struct table_spec *spec)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    if (v->type == JSON_ABSENT)
        return true;
    shape_bind(&shape_stream_specification, v, m);
    bool on = shape_boolean(&m[STREAM_SPECIFICATION_STREAM_ENABLED], false);
    if (on != (m[STREAM_SPECIFICATION_STREAM_VIEW_TYPE].type == JSON_STRING))
        return call_invalid(
            c, INVALID "%s",
            on ? is_new ? "Table is being created with a stream enabled, UpdateViewType is required"
                        : "If stream is being enabled then UpdateViewType is required"
            : is_new
                ? "Table is being created with a stream disabled, UpdateViewType should not be "
                  "specified"
                : "If stream is being disabled, then UpdateViewType must not be specified");
    const enum stream_view view =
        on ? stream_view_of(json_string(&m[STREAM_SPECIFICATION_STREAM_VIEW_TYPE])) : STREAM_OFF;
    spec->stream = (uint8_t)(1 + view);
    return true;
}

static bool table_read_encryption(struct call *c, const struct json_value *v,
                                  struct table_spec *spec)
{
    struct fault *f = call_fault(c);
    struct json_value m[SHAPE_MEMBERS_MAX];
    if (v->type == JSON_ABSENT)
        return true;
    shape_bind(&shape_sse_specification, v, m);
    bool enabled = shape_boolean(&m[SSE_SPECIFICATION_ENABLED], false);
    bool named = m[SSE_SPECIFICATION_KMS_MASTER_KEY_ID].type == JSON_STRING;
    bool typed = m[SSE_SPECIFICATION_SSE_TYPE].type == JSON_STRING;
    if (!enabled && (typed || named))
        return fault_invalid(f, INVALID "%s can not be specified if Enabled is false",
                             typed ? "SSEType" : "KMSMasterKeyId");
    if (typed && !slice_is(json_string(&m[SSE_SPECIFICATION_SSE_TYPE]), "KMS"))
        return fault_invalid(f, INVALID "SSEType AES256 is not supported");
    if (named && !typed)
        return fault_invalid(f, INVALID "SSEType KMS is required if KMSMasterKeyId is specified");
    spec->encryption = enabled ? ENCRYPTION_WITH_KEY : ENCRYPTION_BY_DEFAULT;
    if (!named)
        return true;
    struct slice key = json_string(&m[SSE_SPECIFICATION_KMS_MASTER_KEY_ID]);
    if (key.size == 0 || key.size > ENCRYPTION_KEY_SIZE_MAX)
        return fault_invalid(f, INVALID "KMSMasterKeyId has %zu bytes, and may have 1 to %d",
                             key.size, ENCRYPTION_KEY_SIZE_MAX);
    spec->encryption_key = arena_copy(&c->arena, key);
    return true;
}

/* A class that is none has a text of its own, unlike other members with choices. */
static bool table_read_class(struct call *c, const struct json_value *v, struct table_spec *spec)
{
    if (v->type != JSON_STRING)
        return true;
    bool standard = slice_is(json_string(v), "STANDARD");
    spec->class = standard ? TABLE_CLASS_STANDARD : TABLE_CLASS_INFREQUENT_ACCESS;
    return standard || slice_is(json_string(v), "STANDARD_INFREQUENT_ACCESS") ||
           call_invalid(c, "Invalid table-class parameter provided. Please try again with a valid "
                           "table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].");
}

bool table_settings_read(struct call *c, const struct table_settings *s, struct table_spec *spec)
{
    if (!table_read_stream(c, s->stream, s->is_new, spec))
        return false;
    if (s->protection->type != JSON_ABSENT)
        spec->protection = shape_boolean(s->protection, false) ? PROTECTION_ON : PROTECTION_OFF;
    return table_read_class(c, s->table_class, spec) &&
           table_read_encryption(c, s->encryption, spec);
}
