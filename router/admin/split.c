/* split.c - POST /weir/split: splits a partition by hand.
 *
 *   {"TableName": name, "Partition": number, "SplitPoint": base64 of a storage key}
 *
 * Without a SplitPoint the partition's range of hashes is halved. The answer {"Partitions": count}
 * comes when the catalog has changed its map. The nodes follow within milliseconds. */
#include "engine/catalog/split.h"
#include "router/admin/pages.h"
#include "router/json/base64.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/table_description.h"

enum {
    SPLIT_TABLE_NAME,
    SPLIT_PARTITION,
    SPLIT_SENT,
    SPLIT_SENT_AS_CUT, /* the former name, for one version */
    SPLIT_MEMBERS
};

static const struct shape SPLIT_NUMBER = {
    .kind = SHAPE_LONG, .min = 1, .max = UINT32_MAX, .min_set = true};

static const struct shape SPLIT_INPUT = {
    .kind = SHAPE_STRUCTURE,
    .java = "SplitInput",
    .members = (const struct shape_member[]){
        [SPLIT_TABLE_NAME] = {"TableName", &shape_table_name, MEMBER_REQUIRED, 0},
        [SPLIT_PARTITION] = {"Partition", &SPLIT_NUMBER, MEMBER_REQUIRED, 1},
        [SPLIT_SENT] = {"SplitPoint", &shape_string_value, MEMBER_OPTIONAL, 2},
        [SPLIT_SENT_AS_CUT] = {"Cut", &shape_string_value, MEMBER_OPTIONAL, 3},
        [SPLIT_MEMBERS] = {0},
    }};

struct split {
    struct slice name;
    uint32_t partition;
    struct slice point; /* empty: the middle of the range of hashes */
};

static bool split_begin(struct call *c, const struct json_value m[])
{
    struct split *p = arena_zalloc(&c->arena, sizeof *p);
    c->state = p;
    p->name = arena_copy(&c->arena, json_string(&m[SPLIT_TABLE_NAME]));
    p->partition = (uint32_t)shape_integer(&m[SPLIT_PARTITION], 0);
    const struct json_value *sent =
        &m[m[SPLIT_SENT].type == JSON_STRING ? SPLIT_SENT : SPLIT_SENT_AS_CUT];
    if (sent->type == JSON_STRING) {
        struct slice text = json_string(sent);
        if (text.size == 0 || base64_check(text) != BASE64_OK)
            return call_invalid(c, "SplitPoint is not base64");
        uint8_t *bytes = arena_alloc(&c->arena, text.size);
        p->point = slice_make(bytes, base64_decode(text, bytes));
    }
    call_get_table(c, p->name);
    return true;
}

/* Finds the middle of the range of hashes. False: the range is too narrow. */
static bool split_find_middle(struct call *c, const struct partition_info *info,
                              struct slice *point)
{
    uint64_t lo = storage_key_bound_hash(info->lo, 0);
    uint64_t hi = storage_key_bound_hash(info->hi, UINT64_MAX);
    if (hi - lo < 2)
        return call_invalid(c, "The partition is a range within one hash: name a SplitPoint");
    *point = storage_key_write_bound(arena_alloc(&c->arena, STORAGE_KEY_BOUND_SIZE), info->table_id,
                                     storage_key_even_split(lo, hi, 1, 2));
    return true;
}

static bool send_split(struct call *c, const struct subrequest *sent, const struct reply *r)
{
    struct split *p = c->state;
    struct table t;
    if (!table_take_reply(c, sent, r, &t))
        return false;
    const struct partition_info *info = table_find_partition(&t, p->partition);
    if (info == NULL)
        return call_invalid(c, "The table has no partition %u", p->partition);
    struct table_split split = {
        .table_id = t.id, .partition = info->id, .epoch = info->epoch, .point_count = 1};
    if (p->point.size == 0 && !split_find_middle(c, info, &p->point))
        return false;
    split.points[0] = p->point;
    table_split_share_equally(&split);
    table_split_encode(&c->bytes, &split);
    struct subrequest *s = call_request(c, NULL, REQUEST_TABLE_SPLIT);
    s->request.table_split.name = p->name;
    s->request.table_split.split = buffer_slice(&c->bytes);
    subrequest_start(c->router, s);
    return true;
}

static bool split_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct table t;
    if (s->request.op == REQUEST_TABLE_GET)
        return send_split(c, s, r);
    if (r->code == REPLY_MALFORMED)
        return call_invalid(c, "%.*s", SHOWN(r->text));
    if (r->code == REPLY_TABLE_BUSY)
        return fault_set(call_fault(c), FAULT_IN_USE, "%.*s", SHOWN(r->text));
    if (!table_take_reply(c, s, r, &t))
        return false;
    json_write_open(&c->body, '{');
    json_member_integer(&c->body, "Partitions", t.partition_count);
    json_write_close(&c->body, '}');
    return true;
}

const struct operation operation_split = {
    .name = "Split", .input = &SPLIT_INPUT, .begin = split_begin, .reply = split_reply};
