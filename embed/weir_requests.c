/* weir_requests.c - reads and writes of items, sent to the partition that holds them now.
 *
 * Partitions may be split while a table is open. Then the node refuses requests by the old map, and
 * changes nothing. The map is fetched again and the request repeated, for at most
 * request_deadline_ms. A query reads all partitions of its collection. */
#include <stdlib.h>

#include "embed/weir_internal.h"
#include "engine/item/storage_key.h"

enum {
    NONE = -1,
    RETRY_MS = 1
};

/* ---- where an item lives ---- */

static bool key_attr(const struct key_attr *key, struct slice item, struct attr *out)
{
    return item_find(item, key->name, out) && out->type == key->type &&
           (out->type == ATTR_NUMBER || out->body.size > 0);
}

/* Writes the item's storage key to db->key. Returns NULL, or the fault. */
static const char *locate(struct weir_table *t, struct slice item)
{
    struct attr partition, sort;
    bool sorted = t->table.sort_key.name.size > 0;
    if (!key_attr(&t->table.partition_key, item, &partition))
        return "the item lacks the table's partition key, or it is empty or of another type";
    if (sorted && !key_attr(&t->table.sort_key, item, &sort))
        return "the item lacks the table's sort key, or it is empty or of another type";
    if (partition.body.size > PARTITION_KEY_SIZE_MAX)
        return "a partition key has at most 2048 bytes";
    if (sorted && sort.body.size > SORT_KEY_SIZE_MAX)
        return "a sort key has at most 1024 bytes";
    buffer_clear(&t->db->key);
    storage_key_append(&t->db->key, t->table.id, &partition, sorted ? &sort : NULL);
    return NULL;
}

/* Makes the item's bytes, and its storage key in db->key. Returns NULL, or the fault. */
static const char *prepare(struct weir_table *t, const struct weir_item *item, bool stored,
                           struct slice *bytes)
{
    const char *wrong = weir_item_finish((struct weir_item *)(uintptr_t)item, stored, bytes);
    return wrong != NULL ? wrong : locate(t, *bytes);
}

/* ---- asking by a map that may be stale ---- */

static bool is_refused_by_map(struct weir *db, enum reply_code code)
{
    return (code == REPLY_STALE_MAP || code == REPLY_WRONG_PARTITION || code == REPLY_NOT_LEADER) &&
           db->broken == 0 && !node_is_stopped(node_server_node(db->server));
}

static struct instant last_try(const struct weir *db)
{
    return instant_add(loop_now(db->loop), duration_ms(db->config.request_deadline_ms));
}

static void route(const struct weir_table *t, struct request *r)
{
    const struct partition_info *p = table_partition_for(&t->table, r);
    r->partition = p->id;
    r->epoch = p->epoch;
}

static const struct reply *call_routed(struct weir_table *t, struct request *r)
{
    struct weir *db = t->db;
    struct instant until = last_try(db);
    for (;;) {
        route(t, r);
        const struct reply *reply = weir_call(db, r);
        if (!is_refused_by_map(db, reply->code) || !instant_before(loop_now(db->loop), until))
            return reply;
        weir_turn(db, instant_add(loop_now(db->loop), duration_ms(RETRY_MS)));
        weir_fetch_table(db, t->table.name, t);
    }
}

/* ---- one item ---- */

enum weir_status weir_get(struct weir_table *table, const struct weir_item *key, bool consistent,
                          struct weir_result *result)
{
    struct slice bytes;
    const char *wrong = prepare(table, key, false, &bytes);
    if (wrong != NULL)
        return weir_invalid(table->db, wrong, result);
    struct request r = {.op = REQUEST_GET, .get = {buffer_slice(&table->db->key), consistent}};
    const struct reply *reply = call_routed(table, &r);
    weir_result_of(reply, result);
    result->single = true;
    if (reply->code != REPLY_OK)
        return result->status;
    if (!reply->item.found)
        result->status = WEIR_NOT_FOUND;
    result->count = reply->item.found;
    result->items = reply->item.bytes.data;
    result->items_size = reply->item.bytes.size;
    return result->status;
}

static enum weir_status write_one(struct weir_table *table, enum request_op op,
                                  const struct weir_item *item, struct weir_result *result)
{
    struct slice bytes;
    const char *wrong = prepare(table, item, op == REQUEST_PUT, &bytes);
    if (wrong != NULL)
        return weir_invalid(table->db, wrong, result);
    struct request r = {.op = op, .write.key = buffer_slice(&table->db->key)};
    if (op == REQUEST_PUT)
        r.write.item = bytes;
    weir_result_of(call_routed(table, &r), result);
    return result->status;
}

enum weir_status weir_put(struct weir_table *table, const struct weir_item *item,
                          struct weir_result *result)
{
    return write_one(table, REQUEST_PUT, item, result);
}

enum weir_status weir_delete(struct weir_table *table, const struct weir_item *key,
                             struct weir_result *result)
{
    return write_one(table, REQUEST_DELETE, key, result);
}

/* ---- started writes ---- */

static int32_t take_started(struct weir *db)
{
    if (db->started_free == NONE) {
        size_t size = db->started_size == 0 ? 64 : db->started_size * 2;
        must(size <= INT32_MAX);
        db->started = realloc(db->started, size * sizeof db->started[0]);
        must(db->started != NULL);
        for (size_t i = size; i-- > db->started_size;) {
            db->started[i] = (struct started){.next = db->started_free};
            db->started_free = (int32_t)i;
        }
        db->started_size = size;
    }
    int32_t at = db->started_free;
    db->started_free = db->started[at].next;
    return at;
}

static void send_started(struct weir *db, int32_t at)
{
    const struct started *s = &db->started[at];
    struct request r = {.op = s->op, .id = (uint64_t)at};
    r.write.key = slice_make(s->bytes.data, s->key_size);
    if (s->op == REQUEST_PUT)
        r.write.item = slice_make(s->bytes.data + s->key_size, s->bytes.size - s->key_size);
    route(s->table, &r);
    node_server_request(db->server, FROM_START, &r);
}

static void push_done(struct weir *db, struct started *s, const struct reply *r)
{
    if (db->done_count == db->done_size) {
        size_t size = db->done_size == 0 ? 64 : db->done_size * 2;
        struct weir_result *done = must_calloc(size, sizeof *done);
        for (size_t i = 0; i < db->done_count; i++)
            done[i] = db->done[(db->done_head + i) % db->done_size];
        free(db->done);
        db->done = done;
        db->done_size = size;
        db->done_head = 0;
    }
    struct weir_result *result = &db->done[(db->done_head + db->done_count++) % db->done_size];
    weir_result_of(r, result);
    result->tag = s->tag;
    db->in_flight--;
    s->used = false;
    s->next = db->started_free;
    db->started_free = (int32_t)(s - db->started);
}

void weir_started_reply(struct weir *db, const struct reply *r)
{
    must(r->id < db->started_size && db->started[r->id].used);
    struct started *s = &db->started[r->id];
    if (is_refused_by_map(db, r->code) && instant_before(loop_now(db->loop), s->until)) {
        s->next = db->stale;
        db->stale = (int32_t)r->id;
    } else {
        push_done(db, s, r);
    }
}

/* Sends stale writes by the newest map. Writes refused again are repeated in the next turn. */
static void send_stale(struct weir *db)
{
    int32_t at = db->stale;
    db->stale = NONE;
    for (struct weir_table *t = db->tables; at != NONE && t != NULL; t = t->next)
        weir_fetch_table(db, t->table.name, t);
    for (int32_t next; at != NONE; at = next) {
        next = db->started[at].next;
        send_started(db, at);
    }
}

/* No answers come any more: each started write may have been done. */
static void give_up_started(struct weir *db)
{
    const struct reply unknown = {.code = REPLY_UNKNOWN};
    for (size_t i = 0; i < db->started_size; i++) {
        if (db->started[i].used)
            push_done(db, &db->started[i], &unknown);
    }
}

void weir_started_deinit(struct weir *db)
{
    for (size_t i = 0; i < db->started_size; i++)
        buffer_deinit(&db->started[i].bytes);
    free(db->started);
    free(db->done);
}

static enum weir_status start_one(struct weir_table *table, enum request_op op,
                                  const struct weir_item *item, uint64_t tag)
{
    struct weir *db = table->db;
    struct slice bytes;
    const char *wrong = prepare(table, item, op == REQUEST_PUT, &bytes);
    if (wrong != NULL)
        return weir_invalid(db, wrong, NULL);
    weir_keep_up(db);
    int32_t at = take_started(db);
    struct started *s = &db->started[at];
    s->table = table;
    s->op = op;
    s->tag = tag;
    s->used = true;
    s->key_size = db->key.size;
    s->until = last_try(db);
    buffer_clear(&s->bytes);
    buffer_append_slice(&s->bytes, buffer_slice(&db->key));
    if (op == REQUEST_PUT)
        buffer_append_slice(&s->bytes, bytes);
    db->in_flight++;
    send_started(db, at);
    return WEIR_OK;
}

enum weir_status weir_put_start(struct weir_table *table, const struct weir_item *item,
                                uint64_t tag)
{
    return start_one(table, REQUEST_PUT, item, tag);
}

enum weir_status weir_delete_start(struct weir_table *table, const struct weir_item *key,
                                   uint64_t tag)
{
    return start_one(table, REQUEST_DELETE, key, tag);
}

enum weir_status weir_complete(struct weir *db, struct weir_result *result)
{
    if (db->done_count == 0 && db->in_flight == 0)
        return WEIR_NOT_FOUND;
    while (db->done_count == 0) {
        bool stale = db->stale != NONE;
        if (db->broken != 0)
            give_up_started(db);
        else if (stale)
            send_stale(db);
        if (db->done_count == 0)
            weir_turn(db, stale ? instant_add(loop_now(db->loop), duration_ms(RETRY_MS))
                                : INSTANT_NEVER);
    }
    *result = db->done[db->done_head];
    db->done_head = (db->done_head + 1) % db->done_size;
    db->done_count--;
    return WEIR_OK;
}

/* ---- queries ---- */

/* Appends the items of one partition to those of the partitions before it. */
static void add_page(struct weir *db, const struct reply *reply, bool first, bool last,
                     struct weir_result *result)
{
    result->count += reply->range.count;
    result->items = reply->range.items.data;
    result->items_size = reply->range.items.size;
    if (first && last)
        return; /* the items are lent without a copy */
    buffer_append_slice(&db->page, reply->range.items);
    result->items = db->page.data;
    result->items_size = db->page.size;
}

static void set_bound(struct buffer *bound, struct slice to)
{
    struct buffer copy = {0};
    buffer_append_slice(&copy, to);
    buffer_deinit(bound);
    *bound = copy;
}

/* Keys from db->key to db->end, partition by partition, up to a page. */
static void query_range(struct weir_table *t, const struct weir_query_options *options,
                        struct weir_result *result)
{
    struct weir *db = t->db;
    int64_t read_bytes = 0;
    *result = (struct weir_result){0};
    buffer_clear(&db->page);
    for (bool first = true, last = false; !last; first = false) {
        struct slice lo = buffer_slice(&db->key), hi = buffer_slice(&db->end);
        struct request r = {
            .op = REQUEST_RANGE,
            .range = {.lo = lo,
                      .hi = hi,
                      .reverse = options->reverse,
                      .consistent = options->consistent,
                      .items_max = options->limit == 0 ? 0 : options->limit - result->count,
                      .bytes_max = (uint32_t)(PAGE_SIZE_MAX - read_bytes)}};
        const struct reply *reply = call_routed(t, &r);
        if (reply->code == REPLY_THROTTLED && !first) {
            result->more = true;
            return;
        }
        if (reply->code != REPLY_OK) {
            weir_result_of(reply, result);
            return;
        }
        read_bytes += reply->range.read_bytes;
        bool goes_on = !reply->range.more &&
                       table_range_past(&t->table, r.partition, options->reverse, &lo, &hi);
        bool full = read_bytes >= PAGE_SIZE_MAX ||
                    (options->limit > 0 && result->count + reply->range.count >= options->limit);
        last = !goes_on || full;
        add_page(db, reply, first, last, result);
        result->more = reply->range.more || (goes_on && full);
        result->consumed_mcu = read_cost_mcu(read_bytes, options->consistent);
        if (!last)
            set_bound(options->reverse ? &db->end : &db->key, options->reverse ? hi : lo);
    }
}

enum weir_status weir_query(struct weir_table *table, const struct weir_item *key,
                            const struct weir_query_options *options, struct weir_result *result)
{
    static const struct weir_query_options none = {0};
    struct weir *db = table->db;
    struct slice bytes;
    struct attr partition;
    if (options == NULL)
        options = &none;
    const char *wrong = weir_item_finish((struct weir_item *)(uintptr_t)key, false, &bytes);
    if (wrong == NULL && !key_attr(&table->table.partition_key, bytes, &partition))
        wrong = "the key lacks the table's partition key, or it is empty or of another type";
    if (wrong != NULL)
        return weir_invalid(db, wrong, result);
    struct buffer position = {0};
    if (options->after != NULL) {
        wrong = prepare(table, options->after, false, &bytes);
        buffer_append_slice(&position, buffer_slice(&db->key));
    }
    if (wrong == NULL) {
        buffer_clear(&db->key);
        buffer_clear(&db->end);
        storage_key_append_collection(&db->key, table->table.id, &partition);
        storage_key_append_collection(&db->end, table->table.id, &partition);
        storage_key_successor(&db->end);
        if (position.size > 0) {
            struct buffer *bound = options->reverse ? &db->end : &db->key;
            buffer_clear(bound);
            buffer_append_slice(bound, buffer_slice(&position));
            if (!options->reverse)
                buffer_append_u8(bound, 0); /* the least key above the last one */
        }
        query_range(table, options, result);
    } else {
        weir_invalid(db, wrong, result);
    }
    buffer_deinit(&position);
    return result->status;
}
