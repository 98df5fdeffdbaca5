/* weir_query.c - queries and scans: pages of items, read partition by partition.
 *
 * A page ends at a limit, at PAGE_SIZE_MAX bytes, or at the end of its range. Limits count the
 * items that were read, before the filter. The nodes filter; projections are made here. */
#include "embed/weir_internal.h"

/* A page being read. The range that is left is [db->key, db->end). */
struct page {
    const struct weir_query_options *options;
    struct slice filter;
    const struct projection *shown; /* NULL: whole items */
    bool by_partition;              /* capacity is rounded up for each partition */
    int64_t read_bytes;
};

/* Appends the items of one partition to those of the partitions before it. */
static void page_add(struct weir *db, const struct page *p, const struct reply *reply, bool alone,
                     struct weir_result *result)
{
    if (reply->range.scanned > 0)
        buffer_set(&db->last, reply->range.last);
    result->count += reply->range.count;
    result->scanned += reply->range.scanned;
    result->items = reply->range.items.data;
    result->items_size = reply->range.items.size;
    if (alone && p->shown == NULL)
        return; /* the items are lent without a copy */
    struct reader items = {reply->range.items, false};
    if (p->shown == NULL)
        buffer_append_slice(&db->page, reply->range.items);
    while (p->shown != NULL && items.left.size > 0) {
        const size_t at = db->page.size;
        buffer_append_u32(&db->page, 0);
        projection_append(&db->page, p->shown, reader_sized(&items));
        put_u32(db->page.data + at, (uint32_t)(db->page.size - at - sizeof(uint32_t)));
    }
    must(!items.failed);
    result->items = db->page.data;
    result->items_size = db->page.size;
}

static struct request page_request(const struct weir *db, const struct page *p,
                                   const struct weir_result *result)
{
    const struct weir_query_options *o = p->options;
    return (struct request){.op = REQUEST_RANGE,
                            .range = {.lo = buffer_slice(&db->key),
                                      .hi = buffer_slice(&db->end),
                                      .reverse = o->reverse,
                                      .consistent = o->consistent,
                                      .filter = p->filter,
                                      .count_only = o->count_only,
                                      .items_max = o->limit == 0 ? 0 : o->limit - result->scanned,
                                      .bytes_max = (uint32_t)(PAGE_SIZE_MAX - p->read_bytes)}};
}

/* Lends the key of the last item read, as an item. */
static void page_end(struct weir_table *t, struct weir_result *result)
{
    struct weir *db = t->db;
    struct key key;
    if (!key_of_storage(&t->table, NULL, buffer_slice(&db->last), &db->arena, &key)) {
        buffer_clear(&db->error);
        buffer_append_text(&db->error, "a stored key is damaged");
        *result = (struct weir_result){.status = WEIR_CORRUPT};
        return;
    }
    buffer_clear(&db->key_item);
    key_append_item(&db->key_item, &t->table, &key);
    result->last = db->key_item.data;
    result->last_size = db->key_item.size;
}

static void page_read(struct weir_table *t, struct page *p, struct weir_result *result)
{
    struct weir *db = t->db;
    const struct weir_query_options *o = p->options;
    *result = (struct weir_result){0};
    buffer_clear(&db->page);
    for (bool first = true, last = false; !last; first = false) {
        struct request r = page_request(db, p, result);
        const struct reply *reply = weir_call_routed(t, &r);
        if (reply->code == REPLY_THROTTLED && result->scanned > 0) {
            result->more = true;
            break;
        }
        if (reply->code != REPLY_OK) {
            weir_result_of(reply, result);
            return;
        }
        struct slice lo = r.range.lo, hi = r.range.hi;
        bool goes_on =
            !reply->range.more && table_range_past(&t->table, r.partition, o->reverse, &lo, &hi);
        p->read_bytes += reply->range.read_bytes;
        bool full = p->read_bytes >= PAGE_SIZE_MAX ||
                    (o->limit > 0 && result->scanned + reply->range.scanned >= o->limit);
        last = !goes_on || full;
        page_add(db, p, reply, first && last, result);
        result->more = reply->range.more || (goes_on && full);
        result->consumed_mcu = p->by_partition ? result->consumed_mcu + reply->consumed_mcu
                                               : read_cost_mcu(p->read_bytes, o->consistent);
        if (!last)
            buffer_set(o->reverse ? &db->end : &db->key, o->reverse ? hi : lo);
    }
    if (result->more)
        page_end(t, result);
}

/* Begins the range behind options->after. Returns NULL, or the fault. */
static const char *page_skip(struct weir_table *t, const struct weir_query_options *options)
{
    struct weir *db = t->db;
    struct slice bytes;
    struct key key;
    if (options->after == NULL)
        return NULL;
    const char *wrong =
        weir_item_finish((struct weir_item *)(uintptr_t)options->after, false, &bytes);
    buffer_clear(&db->last);
    if (wrong == NULL)
        wrong = weir_locate(t, bytes, &key, &db->last);
    if (wrong != NULL)
        return wrong;
    struct slice at = buffer_slice(&db->last);
    if (slice_compare(at, buffer_slice(&db->key)) < 0 ||
        slice_compare(at, buffer_slice(&db->end)) >= 0)
        return "after: the item is none of those that the query reads";
    buffer_set(options->reverse ? &db->end : &db->key, at);
    if (!options->reverse)
        buffer_append_u8(&db->key, 0); /* the least key above the last one */
    return NULL;
}

static enum weir_status page_run(struct weir_table *t, const struct weir_query_options *options,
                                 bool by_partition, struct weir_result *result)
{
    struct page p = {.options = options, .by_partition = by_partition};
    const char *wrong = page_skip(t, options);
    if (wrong != NULL)
        return weir_invalid(t->db, wrong, result);
    if (weir_compile_read(t, options, &p.filter, &p.shown) != STATUS_OK)
        return weir_refused(result);
    page_read(t, &p, result);
    return result->status;
}

static const struct weir_query_options no_options = {0};

enum weir_status weir_query(struct weir_table *table, const struct weir_item *key,
                            const struct weir_query_options *options, struct weir_result *result)
{
    struct weir *db = table->db;
    struct slice bytes;
    struct attr partition;
    const char *wrong = weir_item_finish((struct weir_item *)(uintptr_t)key, false, &bytes);
    if (wrong == NULL && !weir_find_key(&table->table.partition_key, bytes, &partition))
        wrong = "the key lacks the table's partition key, or it is empty or of another type";
    if (wrong != NULL)
        return weir_invalid(db, wrong, result);
    buffer_clear(&db->key);
    storage_key_append_collection(&db->key, table->table.id, &partition);
    buffer_set(&db->end, buffer_slice(&db->key));
    storage_key_successor(&db->end);
    return page_run(table, options != NULL ? options : &no_options, false, result);
}

enum weir_status weir_scan(struct weir_table *table, const struct weir_query_options *options,
                           struct weir_result *result)
{
    struct weir *db = table->db;
    buffer_clear(&db->key);
    storage_key_append_hash(&db->key, table->table.id, 0);
    buffer_set(&db->end, slice_make(db->key.data, STORAGE_KEY_TABLE_SIZE));
    storage_key_successor(&db->end);
    return page_run(table, options != NULL ? options : &no_options, true, result);
}
