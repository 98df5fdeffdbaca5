/* list_append.c - requests about lists and their marks, and what answers say of them. */
#include "sim/check/list_append.h"

#include <stdio.h>

const char *const work_transactions_tables[WORK_TRANSACTION_TABLES + 1] = {"lists", "sorted-lists",
                                                                           "anchors"};

/* ---- keys ---- */

void list_partition(uint32_t together, char out[LIST_KEY_TEXT])
{
    snprintf(out, LIST_KEY_TEXT, "%u", together);
}

bool list_is_in(const struct list_read *r, uint32_t key)
{
    if (r->range == LIST_SCAN)
        return key % WORK_TRANSACTION_TABLES == r->first;
    return key % WORK_TRANSACTION_TABLES == WORK_TRANSACTION_TABLES - 1 &&
           list_together(key) == list_together(r->first);
}

static void append_key_members(struct buffer *out, uint32_t key, bool mark)
{
    const char *prefix = mark ? "m" : "";
    char partition[LIST_KEY_TEXT];
    list_partition(list_together(key), partition);
    if (key % WORK_TRANSACTION_TABLES == 0)
        buffer_append_format(out, "\"k\":{\"S\":\"%s%u\"}", prefix, key);
    else
        buffer_append_format(out, "\"k\":{\"S\":\"%s\"},\"s\":{\"S\":\"%s%u\"}", partition, prefix,
                             key);
}

static void append_table(struct buffer *out, uint32_t key)
{
    buffer_append_format(out, "\"TableName\":\"%s\"",
                         work_transactions_tables[key % WORK_TRANSACTION_TABLES]);
}

void list_append_key(struct buffer *out, uint32_t key, bool mark)
{
    append_table(out, key);
    buffer_append_text(out, ",\"Key\":{");
    append_key_members(out, key, mark);
    buffer_append_text(out, "}");
}

/* ---- requests ---- */

static void append_pad(struct buffer *out, uint32_t number, uint32_t pad)
{
    buffer_append_text(out, "{\"S\":\"");
    memset(buffer_reserve(out, pad), (int)('a' + number % 26), pad);
    out->size += pad;
    buffer_append_text(out, "\"}");
}

void list_append_update(struct buffer *out, uint32_t key, uint32_t number, uint32_t pad)
{
    list_append_key(out, key, false);
    buffer_append_format(
        out,
        ",\"UpdateExpression\":\"SET l = list_append(if_not_exists(l, :none), :one), v = :v%s\","
        "\"ExpressionAttributeValues\":{\":none\":{\"L\":[]},\":v\":{\"N\":\"%u\"},"
        "\":one\":{\"L\":[{\"N\":\"%u\"}]}",
        pad > 0 ? ", p = :p" : " REMOVE p", number, number);
    if (pad > 0) {
        buffer_append_text(out, ",\":p\":");
        append_pad(out, number, pad);
    }
    buffer_append_text(out, "}");
}

/* The list must be as it was seen: its last number tells. */
static void append_seen(struct buffer *out, const struct serial_list *seen)
{
    if (seen->count == 0)
        buffer_append_text(out, ",\"ConditionExpression\":\"attribute_not_exists(v)\"");
    else
        buffer_append_format(out,
                             ",\"ConditionExpression\":\"v = :seen\","
                             "\"ExpressionAttributeValues\":{\":seen\":{\"N\":\"%u\"}}",
                             seen->numbers[seen->count - 1]);
}

static void append_replace(struct buffer *out, const struct list_part *part, uint32_t number,
                           uint32_t pad)
{
    append_table(out, part->key);
    buffer_append_text(out, ",\"Item\":{");
    append_key_members(out, part->key, false);
    buffer_append_text(out, ",\"l\":{\"L\":[");
    for (uint32_t i = 0; i < part->seen.count; i++)
        buffer_append_format(out, "{\"N\":\"%u\"},", part->seen.numbers[i]);
    buffer_append_format(out, "{\"N\":\"%u\"}]},\"v\":{\"N\":\"%u\"}", number, number);
    if (pad > 0) {
        buffer_append_text(out, ",\"p\":");
        append_pad(out, number, pad);
    }
    buffer_append_text(out, "}");
    append_seen(out, &part->seen);
}

void list_append_part(struct buffer *out, const struct list_part *part, uint32_t number,
                      uint32_t pad)
{
    static const char *const names[] = {
        [LIST_APPEND] = "Update",       [LIST_REPLACE] = "Put",  [LIST_CHECK] = "ConditionCheck",
        [LIST_FAIL] = "ConditionCheck", [LIST_PUT_MARK] = "Put", [LIST_DELETE_MARK] = "Delete",
        [LIST_ANCHOR] = "Put"};
    buffer_append_format(out, "{\"%s\":{", names[part->act]);
    switch (part->act) {
    case LIST_APPEND:
        list_append_update(out, part->key, number, pad);
        break;
    case LIST_REPLACE:
        append_replace(out, part, number, pad);
        break;
    case LIST_CHECK:
        list_append_key(out, part->key, false);
        append_seen(out, &part->seen);
        break;
    case LIST_FAIL:
        list_append_key(out, part->key, false);
        buffer_append_text(out, ",\"ConditionExpression\":\"attribute_exists(absent)\"");
        break;
    case LIST_PUT_MARK:
        append_table(out, part->key);
        buffer_append_text(out, ",\"Item\":{");
        append_key_members(out, part->key, true);
        buffer_append_format(out, ",\"v\":{\"N\":\"%u\"}}", number);
        break;
    case LIST_DELETE_MARK:
        list_append_key(out, part->key, true);
        break;
    case LIST_ANCHOR:
        buffer_append_format(out, "\"TableName\":\"%s\",\"Item\":{\"k\":{\"S\":\"%u\"}}",
                             work_transactions_tables[WORK_TRANSACTION_TABLES], part->key);
        break;
    }
    buffer_append_text(out, "}}");
}

const char *list_append_read(struct buffer *out, const struct list_read *r, struct slice after)
{
    char partition[LIST_KEY_TEXT];
    buffer_append_text(out, "{\"ConsistentRead\":true,");
    append_table(out, r->first);
    if (r->range != LIST_SCAN) {
        list_partition(list_together(r->first), partition);
        buffer_append_format(out,
                             ",\"KeyConditionExpression\":\"k = :k\","
                             "\"ExpressionAttributeValues\":{\":k\":{\"S\":\"%s\"}}",
                             partition);
    }
    if (r->range == LIST_QUERY_BY)
        buffer_append_text(out, ",\"IndexName\":\"by-v\"");
    else if (r->range == LIST_QUERY_FETCHED)
        buffer_append_text(out, ",\"IndexName\":\"keys-by-v\",\"Select\":\"ALL_ATTRIBUTES\"");
    if (r->limit > 0)
        buffer_append_format(out, ",\"Limit\":%u", r->limit);
    if (after.size > 0)
        buffer_append_format(out, ",\"ExclusiveStartKey\":%.*s", (int)after.size,
                             (const char *)after.data);
    buffer_append_text(out, "}");
    return r->range == LIST_SCAN ? "Scan" : "Query";
}

/* ---- answers ---- */

/* No text of these items has a brace. */
bool list_next(struct slice *rest, struct slice *object)
{
    size_t from = 0, to;
    uint32_t depth = 0;
    while (from < rest->size && rest->data[from] == ',')
        from++;
    if (from == rest->size || rest->data[from] != '{')
        return false;
    for (to = from; to == from || depth > 0; to++) {
        must(to < rest->size);
        depth += rest->data[to] == '{';
        depth -= rest->data[to] == '}';
    }
    *object = slice_make(rest->data + from, to - from);
    *rest = slice_make(rest->data + to, rest->size - to);
    return true;
}

static struct serial_list read_list(struct slice item)
{
    struct serial_list list = {0};
    size_t capacity = 0;
    struct slice rest = dynamo_behind(item, "\"l\":{\"L\":["), number;
    while (list_next(&rest, &number)) {
        list.numbers = must_grow(list.numbers, list.count, &capacity, sizeof list.numbers[0]);
        list.numbers[list.count++] = (uint32_t)dynamo_number(number, "\"N\":\"");
    }
    return list;
}

bool list_find(struct slice item, struct list_found *out)
{
    struct slice key = dynamo_behind(item, "\"s\":{\"S\":\"");
    if (key.size == 0)
        key = dynamo_behind(item, "\"k\":{\"S\":\"");
    *out = (struct list_found){.mark = key.size > 0 && key.data[0] == 'm',
                               .value = (uint32_t)dynamo_value(item),
                               .list = read_list(item)};
    out->key = (uint32_t)dynamo_number_at(slice_make(key.data + out->mark, key.size - out->mark));
    const uint32_t last = out->list.count > 0 ? out->list.numbers[out->list.count - 1] : 0;
    const struct slice pad = dynamo_behind(item, "\"p\":{\"S\":\"");
    const bool whole = pad.size == 0 || pad.data[0] == 'a' + out->value % 26;
    return key.size > 0 && out->value > 0 && whole && (out->mark || out->value == last);
}
