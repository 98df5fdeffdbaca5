/* table_description.c - describes a table, follows its changes, reads its settings. */
#include "router/operations/table_description.h"

#include "engine/message/request_traits.h"
#include "router/json/json_writer.h"
#include "router/limiter/limit.h"
#include "router/operations/shapes.h"
#include "router/operations/table_throughput.h"

/* ---- description ---- */

static const char *table_status_name(enum table_status status)
{
    static const char *const NAMES[] = {[TABLE_CREATING] = "CREATING",
                                        [TABLE_ACTIVE] = "ACTIVE",
                                        [TABLE_UPDATING] = "UPDATING",
                                        [TABLE_DELETING] = "DELETING"};
    return NAMES[status];
}

static void table_write_key_attr(struct buffer *out, const struct key_attr *k, const char *what,
                                 const char *value)
{
    json_write_open(out, '{');
    json_member_string(out, "AttributeName", k->name);
    json_member_text(out, what, value);
    json_write_close(out, '}');
}

static void table_write_keys(struct buffer *out, const struct table *t)
{
    json_member_open(out, "AttributeDefinitions", '[');
    table_write_key_attr(out, &t->partition_key, "AttributeType",
                         attr_type_name(t->partition_key.type));
    if (table_has_sort_key(t))
        table_write_key_attr(out, &t->sort_key, "AttributeType", attr_type_name(t->sort_key.type));
    json_write_close(out, ']');
    json_member_open(out, "KeySchema", '[');
    table_write_key_attr(out, &t->partition_key, "KeyType", "HASH");
    if (table_has_sort_key(t))
        table_write_key_attr(out, &t->sort_key, "KeyType", "RANGE");
    json_write_close(out, ']');
}

/* Writes seconds since 1970. 0: the time is not known, and nothing is written. */
static void table_write_date(struct buffer *out, const char *key, int64_t wall_ms)
{
    if (wall_ms == 0)
        return;
    json_member_thousandths(out, key, wall_ms);
}

static void table_write_throughput(struct buffer *out, const struct table *t)
{
    json_member_open(out, "ProvisionedThroughput", '{');
    table_write_date(out, "LastIncreaseDateTime", t->increased_ms);
    table_write_date(out, "LastDecreaseDateTime", t->decreased_ms);
    json_member_integer(out, "NumberOfDecreasesToday", t->decreases_today);
    json_member_integer(out, "ReadCapacityUnits", t->rcu);
    json_member_integer(out, "WriteCapacityUnits", t->wcu);
    json_write_close(out, '}');
}

static void table_write_billing(struct buffer *out, const struct table *t)
{
    if (t->billing != BILLING_ON_DEMAND)
        return;
    json_member_open(out, "BillingModeSummary", '{');
    json_member_text(out, "BillingMode", "PAY_PER_REQUEST");
    table_write_date(out, "LastUpdateToPayPerRequestDateTime",
                     t->on_demand_ms[0] != 0 ? t->on_demand_ms[0] : t->created_ms);
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
    if (t->class == TABLE_CLASS_UNSAID)
        return;
    json_member_open(out, "TableClassSummary", '{');
    json_member_text(out, "TableClass",
                     t->class == TABLE_CLASS_STANDARD ? "STANDARD" : "STANDARD_INFREQUENT_ACCESS");
    json_write_close(out, '}');
}

static void table_write_encryption(struct buffer *out, const struct router *r,
                                   const struct table *t)
{
    if (t->encryption != ENCRYPTION_WITH_KEY)
        return;
    struct buffer arn = {0};
    struct slice key =
        t->encryption_key.size > 0 ? t->encryption_key : slice_of("alias/aws/dynamodb");
    if (!slice_starts_with(key, slice_of("arn:")))
        buffer_append_format(&arn, "arn:aws:kms:%s:%s:%s", r->options.region, r->options.account,
                             slice_starts_with(key, slice_of("alias/")) ? "" : "key/");
    buffer_append_slice(&arn, key);
    json_member_open(out, "SSEDescription", '{');
    json_member_text(out, "Status", "ENABLED");
    json_member_text(out, "SSEType", "KMS");
    json_member_string(out, "KMSMasterKeyArn", buffer_slice(&arn));
    json_write_close(out, '}');
    buffer_deinit(&arn);
}

/* `brief`: as in DeleteTable's answer, without keys and CreationDateTime. */
static void table_description_write(struct buffer *out, const struct router *r,
                                    const struct table *t, bool brief)
{
    struct buffer arn = {0};
    table_arn_append(&arn, r, t->name);
    json_write_open(out, '{');
    if (!brief)
        table_write_keys(out, t);
    json_member_string(out, "TableName", t->name);
    json_member_text(out, "TableStatus", table_status_name(t->status));
    if (!brief)
        table_write_date(out, "CreationDateTime", t->created_ms);
    table_write_throughput(out, t);
    table_write_billing(out, t);
    table_throughput_write(out, r->config, t);
    json_member_integer(out, "TableSizeBytes", t->size_bytes);
    json_member_integer(out, "ItemCount", t->item_count);
    json_member_string(out, "TableArn", buffer_slice(&arn));
    json_write_key(out, "TableId");
    table_write_id(out, t->uuid);
    table_write_encryption(out, r, t);
    table_write_class(out, t);
    json_member_bool(out, "DeletionProtectionEnabled", false);
    json_write_close(out, '}');
    buffer_deinit(&arn);
}

bool table_take_reply(struct call *c, const struct subrequest *s, const struct reply *r,
                      struct table *out)
{
    if (r->code == REPLY_TABLE_NOT_FOUND)
        return fault_set(call_fault(c), FAULT_NOT_FOUND,
                         "Requested resource not found: Table: %.*s not found",
                         SHOWN(request_table_name(&s->request)));
    if (r->code != REPLY_OK)
        return call_refuse(c, s, r);
    return table_decode(arena_copy(&c->arena, r->table.bytes), &c->arena, out) == STATUS_OK ||
           fault_set(call_fault(c), FAULT_INTERNAL, "The catalog's answer makes no sense");
}

/* ---- changes ---- */

enum {
    FOLLOWS = 1 /* value of subrequest->index: asks whether a change has happened */
};

static void table_change_ask(struct call *c, struct slice name, uint32_t attempts)
{
    struct subrequest *s = call_request(c, NULL, REQUEST_TABLE_GET);
    s->request.table.name = name;
    s->index = FOLLOWS;
    s->attempts = attempts;
    subrequest_start_later(c->router, s);
}

static void table_change_follow(struct call *c, const struct table *t)
{
    if (t->status == TABLE_ACTIVE || c->router->config->table_change_delay_ms > 0)
        return;
    c->follow_until = instant_add(c->router->now, duration_ms(TABLE_CHANGE_WAIT_MS));
    c->follow_table = t->id;
    table_change_ask(c, t->name, 0);
}

/* Whether the change has happened. A reply that does not tell counts as: not yet. */
static bool table_change_is_over(const struct call *c, const struct reply *r)
{
    struct table t;
    struct arena arena = {0};
    if (r->code != REPLY_OK)
        return r->code == REPLY_TABLE_NOT_FOUND;
    bool over = table_decode(r->table.bytes, &arena, &t) == STATUS_OK &&
                (t.id != c->follow_table || t.status == TABLE_ACTIVE);
    arena_deinit(&arena);
    return over;
}

bool table_change_took(struct call *c, struct subrequest *s, const struct reply *r)
{
    if (s->index != FOLLOWS)
        return false;
    bool late = !instant_before(c->router->now, c->follow_until);
    if (table_change_is_over(c, r) || late)
        route_forget(c->router, s->request.table.name);
    else
        table_change_ask(c, s->request.table.name, s->attempts + 1);
    return true;
}

bool table_description_answer(struct call *c, struct subrequest *s, const struct reply *r,
                              const char *member)
{
    struct table t;
    if (!table_take_reply(c, s, r, &t))
        return false;
    if (s->request.op != REQUEST_TABLE_GET)
        route_forget(c->router, t.name);
    if (s->request.op == REQUEST_TABLE_UPDATE || s->request.op == REQUEST_TABLE_CREATE)
        limit_tell(c->router, &t, s->request.op == REQUEST_TABLE_CREATE);
    json_write_open(&c->body, '{');
    json_write_key(&c->body, member);
    table_description_write(&c->body, c->router, &t, s->request.op == REQUEST_TABLE_DELETE);
    json_write_close(&c->body, '}');
    if (s->request.op != REQUEST_TABLE_GET)
        table_change_follow(c, &t);
    return true;
}

bool table_description_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    return table_change_took(c, s, r) || table_description_answer(c, s, r, "TableDescription");
}

/* ---- settings ---- */

static bool table_stream_is_on(const struct json_value *v)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    if (v->type == JSON_ABSENT)
        return false;
    shape_bind(&shape_stream_specification, v, m);
    return shape_boolean(&m[STREAM_SPECIFICATION_STREAM_ENABLED], false);
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
    if (!enabled && (named || m[SSE_SPECIFICATION_SSE_TYPE].type == JSON_STRING))
        return fault_invalid(
            f, INVALID "SSEType and KMSMasterKeyId of SSESpecification need Enabled to be true");
    if (m[SSE_SPECIFICATION_SSE_TYPE].type == JSON_STRING &&
        !slice_is(json_string(&m[SSE_SPECIFICATION_SSE_TYPE]), "KMS"))
        return fault_invalid(f, INVALID "SSEType AES256 is not supported");
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

bool table_settings_read(struct call *c, const struct table_settings *s, struct table_spec *spec)
{
    struct fault *f = call_fault(c);
    if (shape_boolean(s->protection, false))
        return fault_set_later(f, "DeletionProtectionEnabled");
    if (table_stream_is_on(s->stream))
        return fault_set_later(f, "StreamSpecification");
    if (s->table_class->type == JSON_STRING)
        spec->class = slice_is(json_string(s->table_class), "STANDARD")
                          ? TABLE_CLASS_STANDARD
                          : TABLE_CLASS_INFREQUENT_ACCESS;
    return table_read_encryption(c, s->encryption, spec);
}
