/* lone_node.c - keeps the node's effects for the test, which says when the disk has done its
 * work. */
#include "tests/support/lone_node.h"

#include "base/settings/choices.h"
#include "base/settings/storage.h"
#include "engine/catalog/split.h"
#include "engine/item/storage_key.h"
#include "engine/message/index_messages.h"
#include "engine/message/request_traits.h"
#include "engine/message/stream_messages.h"
#include "engine/message/transaction_messages.h"
#include "server/node_recovery.h"
#include "tests/check.h"
#include "tests/temporary.h"

/* ---- effects ---- */

static void take_answer(struct lone_node *w, const struct reply *r)
{
    assert_true(w->answer_count < ANSWERS_MAX);
    if (r->id < w->next_id && r->id + SENT_MAX >= w->next_id) /* a router refuses any other */
        assert_true(reply_fits(r, w->sent[r->id % SENT_MAX]));
    struct answer *a = &w->answers[w->answer_count++];
    struct buffer body = a->body, text = a->text, last = a->last;
    *a = (struct answer){.id = r->id,
                         .code = r->code,
                         .consumed_mcu = r->consumed_mcu,
                         .verdict = r->verdict,
                         .body = body,
                         .last = last,
                         .text = text};
    if (r->kind == ANSWER_ITEM) {
        a->found = r->item.found;
        a->fault = r->item.fault;
        a->collection_bytes = r->item.collection_bytes;
    } else if (r->kind == ANSWER_RANGE) {
        a->count = r->range.count;
        a->scanned = r->range.scanned;
        buffer_set(&a->last, r->range.last);
        a->more = r->range.more;
    } else if (r->kind == ANSWER_PARTS) {
        buffer_set(&a->body, reply_parts(r)->replies);
    } else if (r->kind == ANSWER_STATS) {
        a->space = (struct metrics_store){
            (int64_t)r->stats.used_bytes, (int64_t)r->stats.total_bytes,
            (int64_t)r->stats.growth_left_bytes, (int64_t)r->stats.refused_full,
            (int64_t)r->stats.refused_waiting};
    } else if (r->kind == ANSWER_FROZEN) {
        a->frozen = (struct frozen){r->frozen.index, r->frozen.term};
    } else if (r->kind == ANSWER_SESSION) {
        a->session = reply_session(r)->id;
    } else if (r->kind == ANSWER_STATE) {
        a->decided = reply_state(r)->decided;
    } else if (r->kind == ANSWER_RECORDS) {
        a->closed = reply_records(r)->closed;
        a->trimmed = reply_records(r)->trimmed;
        a->index = reply_records(r)->index;
        a->place = reply_records(r)->place;
    }
    buffer_clear(&a->body);
    buffer_clear(&a->text);
    buffer_append_slice(&a->body, reply_bytes(r));
    buffer_append_slice(&a->text, r->text);
}

static void take_effects(struct lone_node *w)
{
    const struct node_effect *e;
    while ((e = node_next_effect(w->node)) != NULL) {
        switch (e->kind) {
        case NODE_REPLY:
            assert_int_equal(e->to, ROUTER);
            take_answer(w, &e->reply);
            break;
        case NODE_REQUEST:
            if (w->others == NULL)
                fail_msg("a lone node has nobody to ask");
            w->others(w->others_context, e);
            break;
        case NODE_SEND:
            if (w->others == NULL)
                fail_msg("a lone node has no peers");
            w->others(w->others_context, e);
            break;
        case NODE_CHECKPOINT:
            assert_false(w->checkpoint);
            w->checkpoint = true;
            break;
        case NODE_TOUCH:
            assert_true(w->touch_count < TOUCHES_MAX);
            w->touches[w->touch_count++] = e->touch;
            break;
        case NODE_TRIM_LOG:
            assert_true(e->lsn >= w->trimmed && e->lsn <= w->log.size);
            w->trimmed = e->lsn;
            break;
        }
    }
}

void lone_take_effects(struct lone_node *w)
{
    take_effects(w);
    node_end_turn(w->node, w->now);
    take_effects(w);
}

void lone_touch_end(struct lone_node *w, size_t i)
{
    assert_true(i < w->touch_count);
    const struct touch t = w->touches[i];
    w->touches[i] = w->touches[--w->touch_count];
    store_touch(node_store(w->node), t.key, t.reverse, t.bytes);
    node_touched(w->node, w->now, t.ticket);
    lone_take_effects(w);
}

/* ---- life ---- */

static bool lone_log_range(void *context, uint64_t *first, uint64_t *last)
{
    const struct lone_node *w = context;
    *first = *last = 0;
    return w->log.size > 0;
}

static enum status lone_log_read(void *context, uint64_t segment, struct buffer *memory,
                                 struct slice *out)
{
    const struct lone_node *w = context;
    (void)segment;
    (void)memory;
    *out = buffer_slice(&w->log);
    return STATUS_OK;
}

static enum status lone_log_prepare(void *context, uint64_t segment)
{
    (void)context;
    assert_int_equal(segment, 0);
    return STATUS_OK;
}

/* There is nothing behind the end of `log`. */
static enum status lone_log_zero(void *context, uint64_t segment, uint64_t offset, uint64_t size)
{
    const struct lone_node *w = context;
    (void)segment;
    (void)size;
    assert_int_equal(offset, w->log.size);
    return STATUS_OK;
}

static enum status medium_seek(struct backing *b, struct slice key, bool reverse,
                               struct backing_change *out)
{
    const struct lone_medium *m = (const struct lone_medium *)b->methods; /* its first member */
    return m->unreadable ? STATUS_IO : m->lmdb->seek(b, key, reverse, out);
}

static void medium_open(struct lone_medium *m, struct backing *b)
{
    m->lmdb = b->methods;
    m->methods = *m->lmdb;
    m->methods.seek = medium_seek;
    b->methods = &m->methods;
}

enum status lone_recover(struct lone_node *w, struct buffer *error)
{
    struct backing_options options = {
        .path = w->directory,
        .map_initial_bytes = (uint64_t)config_storage(&w->config)->map_initial_bytes,
        .map_max_bytes = (uint64_t)config_storage(&w->config)->map_max_bytes};
    struct backing *backing;
    struct node_options node = {.config = &w->config,
                                .id = 1,
                                .node_count = w->node_count != 0 ? w->node_count : 1,
                                .seed = 1};
    const struct log_port log = {.context = w,
                                 .range = lone_log_range,
                                 .read = lone_log_read,
                                 .prepare = lone_log_prepare,
                                 .zero = lone_log_zero};
    assert_int_equal(backing_open_lmdb(&options, &backing), STATUS_OK);
    medium_open(&w->medium, backing);
    struct store *store = store_create(backing, w->resident_max, 1);
    assert_int_equal(node_create(&node, store, error, &w->node), STATUS_OK);
    struct node_recovery recovery = {
        .node = w->node, .log = &log, .place = w->directory, .segment_bytes = SEGMENT_BYTES};
    enum status status = node_recover(&recovery, error);
    if (status == STATUS_OK)
        assert_int_equal(recovery.next_lsn, w->log.size);
    return status;
}

void lone_start(struct lone_node *w, uint64_t log_space)
{
    struct buffer error = {0};
    assert_int_equal(lone_recover(w, &error), STATUS_OK);
    node_start(w->node, w->now, SEGMENT_BYTES, w->log.size);
    node_log_space(w->node, log_space, 0);
    lone_take_effects(w); /* sets the timers of the groups */
    node_tick(w->node, w->now);
    lone_take_effects(w);
}

void lone_open(struct lone_node *w)
{
    lone_start(w, SEGMENT_BYTES);
    while (!node_is_ready(w->node) && lone_write_begin(w))
        lone_write_end(w, 0);
    assert_true(node_is_ready(w->node));
}

void lone_die(struct lone_node *w)
{
    node_destroy(w->node);
    w->in_flight = NULL;
    w->checkpoint = false;
    w->touch_count = 0;
}

void lone_crash(struct lone_node *w)
{
    lone_die(w);
    lone_open(w);
}

void lone_set(struct lone_node *w, const char *name, const char *value)
{
    struct buffer error = {0};
    assert_int_equal(config_set(&w->config, slice_of(name), slice_of(value), &error), STATUS_OK);
}

void lone_init(struct lone_node *w, enum profile profile)
{
    *w = (struct lone_node){.now = {1000000}, .resident_max = UINT64_MAX, .next_id = 1};
    assert_int_equal(temporary_setup(&w->directory), 0);
    config_init(&w->config, profile);
    config_edit_choices(&w->config)->gac = GAC_OFF; /* there are no routers */
    lone_set(w, "map_initial_bytes", "1MiB");
}

void lone_deinit(struct lone_node *w)
{
    node_destroy(w->node);
    arena_deinit(&w->arena);
    buffer_deinit(&w->log);
    buffer_deinit(&w->table_bytes);
    buffer_deinit(&w->key);
    buffer_deinit(&w->item);
    for (size_t i = 0; i < ANSWERS_MAX; i++) {
        buffer_deinit(&w->answers[i].body);
        buffer_deinit(&w->answers[i].text);
        buffer_deinit(&w->answers[i].last);
    }
    assert_int_equal(temporary_teardown(&w->directory), 0);
}

/* ---- the disk and the clock, a step at a time ---- */

bool lone_write_begin(struct lone_node *w)
{
    if (w->in_flight == NULL)
        w->in_flight = node_next_batch(w->node);
    return w->in_flight != NULL;
}

void lone_write_reaches_disk(struct lone_node *w)
{
    const struct log_batch *b = w->in_flight;
    assert_int_equal(b->lsn, w->log.size + b->gap);
    for (uint32_t i = 0; i < b->gap; i++)
        buffer_append_u8(&w->log, 0);
    buffer_append_slice(&w->log, buffer_slice(&b->bytes));
}

void lone_write_end(struct lone_node *w, int error)
{
    if (error == 0)
        lone_write_reaches_disk(w);
    uint64_t lsn = w->in_flight->lsn;
    w->in_flight = NULL;
    node_log_written(w->node, w->now, lsn, error);
    lone_take_effects(w);
}

void lone_write_all(struct lone_node *w)
{
    while (lone_write_begin(w))
        lone_write_end(w, 0);
}

void lone_checkpoint_end(struct lone_node *w)
{
    assert_true(w->checkpoint);
    w->checkpoint = false;
    node_checkpoint_done(w->node, w->now, store_checkpoint_write(node_store(w->node)));
    lone_take_effects(w);
}

void lone_pass(struct lone_node *w, int64_t ms)
{
    w->now = instant_add(w->now, duration_ms(ms));
    node_tick(w->node, w->now);
    lone_take_effects(w);
}

void lone_checkpoint_all(struct lone_node *w)
{
    lone_pass(w, config_storage(&w->config)->checkpoint_ms);
    while (w->checkpoint)
        lone_checkpoint_end(w);
}

/* ---- requests ---- */

uint64_t lone_send(struct lone_node *w, struct request *r)
{
    r->id = w->next_id++;
    w->sent[r->id % SENT_MAX] = r->op;
    w->answer_count = 0;
    node_request(w->node, w->now, w->waited, ROUTER, r);
    lone_take_effects(w);
    return r->id;
}

const struct answer *lone_answer(const struct lone_node *w)
{
    assert_int_equal(w->answer_count, 1);
    return &w->answers[0];
}

void lone_assert_answer(const struct lone_node *w, enum reply_code code)
{
    assert_int_equal(lone_answer(w)->code, code);
    assert_int_equal(lone_answer(w)->id, w->next_id - 1);
}

void lone_key(struct lone_node *w, uint32_t name)
{
    char text[16], collection[16];
    int size = snprintf(text, sizeof text, "%u", name);
    struct attr a = {ATTR_STRING, slice_make(text, (size_t)size)};
    buffer_clear(&w->key);
    if (w->collections == 0) {
        storage_key_append(&w->key, w->table.id, &a, NULL);
        return;
    }
    int digits = snprintf(collection, sizeof collection, "%u", name % w->collections);
    struct attr id = {ATTR_STRING, slice_make(collection, (size_t)digits)};
    storage_key_append(&w->key, w->table.id, &id, &a);
}

struct slice lone_item(struct lone_node *w, uint32_t version, size_t filler)
{
    static uint8_t bytes[400000];
    struct item_writer writer;
    memset(bytes, (int)version, sizeof bytes);
    buffer_clear(&w->item);
    item_begin(&writer, &w->item);
    item_name(&writer, slice_of("v"));
    item_binary(&writer, slice_make(&version, sizeof version));
    item_name(&writer, slice_of("f"));
    item_binary(&writer, slice_make(bytes, filler));
    item_end(&writer);
    return buffer_slice(&w->item);
}

struct request lone_request(struct lone_node *w, enum request_op op, uint32_t name)
{
    lone_key(w, name);
    const struct partition_info *p = table_partition_of(&w->table, buffer_slice(&w->key));
    struct request r = {.op = op, .partition = p->id, .epoch = p->epoch};
    if (op == REQUEST_GET) {
        r.get.key = buffer_slice(&w->key);
        r.get.consistent = true;
    } else if (op == REQUEST_RANGE) {
        r.range.lo = buffer_slice(&w->key);
        r.range.consistent = true;
    } else if (traits_of(&r)->write) {
        r.write.key = buffer_slice(&w->key);
        r.write.return_values = RETURN_OLD;
    }
    return r;
}

uint64_t lone_put_sized(struct lone_node *w, uint32_t name, uint32_t version, size_t filler)
{
    struct request r = lone_request(w, REQUEST_PUT, name);
    r.write.item = lone_item(w, version, filler);
    return lone_send(w, &r);
}

uint64_t lone_put(struct lone_node *w, uint32_t name, uint32_t version)
{
    return lone_put_sized(w, name, version, version * 100 % 5000);
}

uint64_t lone_send_to(struct lone_node *w, enum request_op op, uint32_t name)
{
    struct request r = lone_request(w, op, name);
    return lone_send(w, &r);
}

static uint32_t version_in(struct slice item)
{
    struct attr a;
    uint32_t version;
    assert_int_equal(item_check(item), STATUS_OK);
    assert_true(item_find(item, slice_of("v"), &a));
    memcpy(&version, a.body.data, sizeof version);
    return version;
}

uint32_t answer_version(const struct answer *a)
{
    assert_true(a->code == REPLY_OK || a->code == REPLY_CONDITION_FAILED);
    return a->found ? version_in(buffer_slice(&a->body)) : 0;
}

uint32_t lone_get(struct lone_node *w, uint32_t name)
{
    lone_send_to(w, REQUEST_GET, name);
    return answer_version(lone_answer(w));
}

void lone_fetch_table(struct lone_node *w)
{
    struct request r = {.op = REQUEST_TABLE_GET, .table.name = slice_of("t")};
    lone_send(w, &r);
    lone_assert_answer(w, REPLY_OK);
    arena_reset(&w->arena);
    buffer_clear(&w->table_bytes);
    buffer_append_slice(&w->table_bytes, buffer_slice(&lone_answer(w)->body));
    assert_int_equal(table_decode(buffer_slice(&w->table_bytes), &w->arena, &w->table), STATUS_OK);
}

void lone_table_op(struct lone_node *w, enum request_op op, int64_t rcu, int64_t wcu)
{
    struct buffer b = {0};
    struct table_spec spec = {.name = slice_of("t"),
                              .partition_key = {slice_of("id"), ATTR_STRING},
                              .whole_collections = w->collections > 0,
                              .indexes = w->indexes,
                              .globals = w->globals,
                              .add_index = w->add_index,
                              .add_throughput = w->add_throughput,
                              .gac = w->gac,
                              .stream = w->stream,
                              .billing = BILLING_PROVISIONED,
                              .rcu = rcu,
                              .wcu = wcu};
    if (w->collections > 0)
        spec.sort_key = (struct key_attr){slice_of("n"), ATTR_STRING};
    table_spec_encode(&b, &spec);
    struct request r = {.op = op, .table = {.name = slice_of("t"), .spec = buffer_slice(&b)}};
    lone_send(w, &r);
    lone_write_all(w);
    lone_assert_answer(w, REPLY_OK);
    buffer_deinit(&b);
    lone_pass(w, 0);
    lone_write_all(w);
    lone_pass(w, 0);
    lone_write_all(w);
}

void lone_open_table(struct lone_node *w, int64_t rcu, int64_t wcu)
{
    lone_open(w);
    lone_table_op(w, REQUEST_TABLE_CREATE, rcu, wcu);
    lone_fetch_table(w);
    assert_int_equal(w->table.status, TABLE_ACTIVE);
}

void lone_split_table(struct lone_node *w)
{
    struct buffer body = {0};
    uint8_t point[STORAGE_KEY_BOUND_SIZE];
    struct table_split split = {.table_id = w->table.id,
                                .partition = w->table.partitions[0].id,
                                .epoch = w->table.partitions[0].epoch,
                                .point_count = 1};
    split.points[0] = storage_key_write_bound(point, w->table.id, UINT64_C(1) << 63);
    table_split_share_equally(&split);
    table_split_encode(&body, &split);
    struct request r = {.op = REQUEST_TABLE_SPLIT, .table_split.split = buffer_slice(&body)};
    lone_send(w, &r);
    buffer_deinit(&body);
}

void lone_update_partition(struct lone_node *w, const struct partition_info *info)
{
    struct buffer word = {0};
    partition_info_encode(&word, info);
    struct request r = {.op = REQUEST_PARTITION_OPEN,
                        .partition = info->id,
                        .epoch = info->epoch,
                        .replica = {.info = buffer_slice(&word), .as_of = UINT64_MAX / 2}};
    lone_send(w, &r);
    buffer_deinit(&word);
}

void lone_assert_verified(struct lone_node *w, int64_t items)
{
    struct node_verification v;
    assert_int_equal(node_verify(w->node, &v), STATUS_OK);
    assert_int_equal(v.damaged, 0);
    assert_int_equal(v.miscounted, 0);
    assert_int_equal(v.items, items);
}
