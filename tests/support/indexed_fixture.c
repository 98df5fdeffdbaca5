/* indexed_fixture.c - puts items, and looks for their rows in the index. */
#include "tests/support/indexed_fixture.h"

#include "base/config.h"
#include "engine/index/index.h"
#include "engine/item/storage_key.h"
#include "engine/message/index_messages.h"
#include "engine/message/message.h"
#include "engine/transaction/transaction.h"
#include "tests/check.h"

static struct slice index_name(uint32_t number, char text[16])
{
    const int size = snprintf(text, 16, number == 0 ? "by-v" : "by-v%u", number);
    return slice_make(text, (size_t)size);
}

void indexed_open(struct indexed_fixture *s, int64_t index_wcu)
{
    indexed_open_many(s, index_wcu, 1);
}

void indexed_open_many(struct indexed_fixture *s, int64_t index_wcu, uint32_t count)
{
    struct index x[GLOBAL_INDEXES_MAX];
    char names[GLOBAL_INDEXES_MAX][16];
    struct buffer spec = {0};
    *s = (struct indexed_fixture){0};
    lone_init(&s->w, PROFILE_STRICT);
    for (uint32_t i = 0; i < count; i++) {
        x[i] = (struct index){.name = index_name(i, names[i]),
                              .partition_count = 1,
                              .keys = {{slice_of("v"), ATTR_BINARY}},
                              .projection = PROJECT_ALL};
        const struct table_spec throughput = {.name = x[i].name,
                                              .partition_key = x[i].keys[0],
                                              .billing = BILLING_PROVISIONED,
                                              .rcu = 10,
                                              .wcu = index_wcu};
        buffer_clear(&spec);
        table_spec_encode(&spec, &throughput);
        buffer_append_sized(&s->globals, buffer_slice(&spec));
    }
    const struct index_set set = {{slice_of("id"), ATTR_STRING}, {{NULL, 0}, 0}, count, 0, x};
    index_set_encode(&s->indexes, &set);
    buffer_deinit(&spec);
    s->w.indexes = buffer_slice(&s->indexes);
    s->w.globals = buffer_slice(&s->globals);
}

void indexed_fetch(struct indexed_fixture *s)
{
    indexed_fetch_other(s, 0);
}

void indexed_fetch_other(struct indexed_fixture *s, uint32_t number)
{
    char name[16], whole[24];
    index_name(number, name);
    snprintf(whole, sizeof whole, "t/%s", name);
    struct request r = {.op = REQUEST_TABLE_GET, .table.name = slice_of(whole)};
    lone_send(&s->w, &r);
    lone_assert_answer(&s->w, REPLY_OK);
    buffer_set(&s->table_bytes, buffer_slice(&lone_answer(&s->w)->body));
    arena_reset(&s->arena);
    assert_int_equal(table_decode(buffer_slice(&s->table_bytes), &s->arena, &s->index), STATUS_OK);
    assert_int_equal(s->index.index_of, s->w.table.id);
}

void indexed_table(struct indexed_fixture *s)
{
    lone_open_table(&s->w, 1000, 1000);
    indexed_fetch(s);
}

void indexed_close(struct indexed_fixture *s)
{
    lone_deinit(&s->w);
    buffer_deinit(&s->indexes);
    buffer_deinit(&s->globals);
    buffer_deinit(&s->table_bytes);
    arena_deinit(&s->arena);
}

void indexed_pass(struct indexed_fixture *s, int64_t ms)
{
    for (int64_t i = 0; i < ms; i++) {
        lone_pass(&s->w, 1);
        lone_write_all(&s->w);
    }
}

uint32_t indexed_rows(struct indexed_fixture *s)
{
    const struct partition_info *p = &s->index.partitions[0];
    struct request r = {.op = REQUEST_RANGE, .partition = p->id, .epoch = p->epoch};
    r.range.lo = p->lo;
    r.range.hi = p->hi;
    r.range.bytes_max = PAGE_SIZE_MAX;
    r.range.count_only = true;
    lone_send(&s->w, &r);
    lone_assert_answer(&s->w, REPLY_OK);
    return lone_answer(&s->w)->count;
}

void indexed_row_key(struct indexed_fixture *s, uint32_t name, uint32_t version, struct buffer *out)
{
    const struct attr v = {ATTR_BINARY, slice_make(&version, sizeof version)};
    lone_key(&s->w, name);
    struct slice item_key = buffer_slice(&s->w.key);
    storage_key_skip_hash(&item_key);
    buffer_clear(out);
    storage_key_append_collection(out, s->index.id, &v);
    buffer_append_slice(out, item_key);
}

bool indexed_has(struct indexed_fixture *s, uint32_t name, uint32_t version)
{
    struct buffer key = {0};
    indexed_row_key(s, name, version, &key);
    const struct partition_info *p = table_partition_of(&s->index, buffer_slice(&key));
    struct request r = {.op = REQUEST_GET, .partition = p->id, .epoch = p->epoch};
    r.get.key = buffer_slice(&key);
    r.get.consistent = true;
    lone_send(&s->w, &r);
    lone_assert_answer(&s->w, REPLY_OK);
    buffer_deinit(&key);
    return lone_answer(&s->w)->found;
}

void indexed_put(struct indexed_fixture *s, uint32_t name, uint32_t version)
{
    lone_put_sized(&s->w, name, version, 10);
    lone_write_all(&s->w);
    lone_assert_answer(&s->w, REPLY_OK);
}

const struct partition *indexed_base(struct indexed_fixture *s)
{
    return partitions_find(&s->w.node->partitions, s->w.table.partitions[0].id);
}

size_t indexed_backlog(struct indexed_fixture *s)
{
    return index_feeds_lag(&s->w.node->feeds, indexed_base(s)).bytes;
}

struct index_feed *indexed_feed(struct indexed_fixture *s)
{
    return index_feed_live(&s->w.node->feeds, indexed_base(s));
}

enum reply_code indexed_fill(struct indexed_fixture *s, struct slice from)
{
    struct request r = lone_request(&s->w, REQUEST_INDEX_FILL, 0);
    *request_edit_fill(&r) = (struct request_fill){from, s->index.id};
    lone_send(&s->w, &r);
    return s->w.answer_count == 0 ? REPLY_UNKNOWN : lone_answer(&s->w)->code;
}

enum reply_code indexed_leave(struct indexed_fixture *s, uint32_t name)
{
    struct request r = lone_request(&s->w, REQUEST_DELETE, name);
    struct transaction_part part = {.id = {1, 1}, .anchor = r.write.key};
    struct buffer bytes = {0};
    transaction_part_walk(&(struct codec){.out = &bytes}, &part);
    r.write.transaction = buffer_slice(&bytes);
    r.write.origin = WRITE_BY_MOVE;
    lone_send(&s->w, &r);
    buffer_deinit(&bytes);
    return s->w.answer_count == 0 ? REPLY_UNKNOWN : lone_answer(&s->w)->code;
}

void indexed_merge(struct indexed_fixture *s, enum merge_step step, uint64_t epoch)
{
    struct partition_info p = s->w.table.partitions[0];
    struct buffer body = {0};
    p.merge = step;
    p.merge_with = 4000000000;
    p.epoch = epoch;
    partition_info_encode(&body, &p);
    struct request r = {
        .op = REQUEST_PARTITION_MERGE, .partition = p.id, .group.info = buffer_slice(&body)};
    lone_send(&s->w, &r);
    s->w.answer_count = 0;
    buffer_deinit(&body);
}
