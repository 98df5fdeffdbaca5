/* weir_requests.c - reads and writes of single items, sent to the partition that holds them now.
 *
 * Partitions may be split while a table is open. Then the node refuses requests by the old map, and
 * changes nothing. The map is fetched again and the request repeated, for at most
 * request_deadline_ms. */
#include <stdlib.h>

#include "base/settings/requests.h"
#include "embed/weir_internal.h"
#include "engine/message/request_traits.h"

enum {
    NONE = -1,
    RETRY_MS = 1
};

/* ---- where an item lives ---- */

bool weir_find_key(const struct key_attr *key, struct slice item, struct attr *out)
{
    return item_find(item, key->name, out) && out->type == key->type &&
           (out->type == ATTR_NUMBER || out->body.size > 0);
}

const char *weir_locate(const struct weir_table *t, struct slice item, struct key *key,
                        struct buffer *out)
{
    *key = (struct key){0};
    if (!weir_find_key(&t->table.partition_key, item, &key->partition))
        return "the item lacks the table's partition key, or it is empty or of another type";
    if (table_has_sort_key(&t->table) && !weir_find_key(&t->table.sort_key, item, &key->sort))
        return "the item lacks the table's sort key, or it is empty or of another type";
    if (key->partition.body.size > PARTITION_KEY_SIZE_MAX)
        return "a partition key has at most 2048 bytes";
    if (key->sort.body.size > SORT_KEY_SIZE_MAX)
        return "a sort key has at most 1024 bytes";
    key_append_storage(out, &t->table, key);
    return NULL;
}

/* Makes the item's bytes, its key, and its storage key in db->key. Returns NULL, or the fault. */
static const char *request_prepare(struct weir_table *t, const struct weir_item *item, bool stored,
                                   struct slice *bytes, struct key *key)
{
    buffer_clear(&t->db->key);
    const char *wrong = weir_item_finish((struct weir_item *)(uintptr_t)item, stored, bytes);
    return wrong != NULL ? wrong : weir_locate(t, *bytes, key, &t->db->key);
}

/* ---- asking by a map that may be stale ---- */

static bool is_refused_by_map(struct weir *db, enum reply_code code)
{
    return (code == REPLY_STALE_MAP || code == REPLY_WRONG_PARTITION || code == REPLY_NOT_LEADER) &&
           db->broken == 0 && !node_is_stopped(node_server_node(db->server));
}

static struct instant last_try(const struct weir *db)
{
    return instant_add(loop_now(db->loop),
                       duration_ms(config_requests(&db->config)->request_deadline_ms));
}

static void request_route(const struct weir_table *t, struct request *r)
{
    const struct partition_info *p = table_partition_for(&t->table, r);
    r->partition = p->id;
    r->epoch = p->epoch;
}

const struct reply *weir_call_routed(struct weir_table *t, struct request *r)
{
    struct weir *db = t->db;
    struct instant until = last_try(db);
    for (;;) {
        request_route(t, r);
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
    struct key attrs;
    const char *wrong = request_prepare(table, key, false, &bytes, &attrs);
    if (wrong != NULL)
        return weir_invalid(table->db, wrong, result);
    struct request r = {.op = REQUEST_GET,
                        .get = {.key = buffer_slice(&table->db->key), .consistent = consistent}};
    weir_result_of(weir_call_routed(table, &r), result);
    if (result->status == WEIR_OK && result->count == 0)
        result->status = WEIR_NOT_FOUND;
    return result->status;
}

/* A write, as its caller describes it. */
struct write {
    enum request_op op;
    const struct weir_item *item; /* or its key */
    const char *update;
    const struct weir_write_options *options;
};

/* Makes the request of a write. It lends from the item and from db. Not STATUS_OK: db->error has
 * the text. */
static enum status write_request(struct weir_table *t, const struct write *w, struct request *r)
{
    struct weir *db = t->db;
    struct slice bytes;
    struct key key;
    const char *wrong = request_prepare(t, w->item, w->op == REQUEST_PUT, &bytes, &key);
    if (wrong != NULL) {
        weir_invalid(db, wrong, NULL);
        return STATUS_MALFORMED;
    }
    *r = (struct request){.op = w->op, .write.key = buffer_slice(&db->key)};
    if (w->op == REQUEST_PUT)
        r->write.item = bytes;
    if (w->op == REQUEST_UPDATE) {
        buffer_clear(&db->key_item);
        key_append_item(&db->key_item, &t->table, &key);
        r->write.item = buffer_slice(&db->key_item);
    }
    return w->options == NULL && w->update == NULL
               ? STATUS_OK
               : weir_compile_write(t, w->update, w->options, r);
}

static enum weir_status write_one(struct weir_table *table, const struct write *w,
                                  struct weir_result *result)
{
    struct request r;
    if (write_request(table, w, &r) != STATUS_OK)
        return weir_refused(result);
    weir_result_of(weir_call_routed(table, &r), result);
    return result->status;
}

enum weir_status weir_put(struct weir_table *table, const struct weir_item *item,
                          struct weir_result *result)
{
    return weir_put_if(table, item, NULL, result);
}

enum weir_status weir_delete(struct weir_table *table, const struct weir_item *key,
                             struct weir_result *result)
{
    return weir_delete_if(table, key, NULL, result);
}

enum weir_status weir_put_if(struct weir_table *table, const struct weir_item *item,
                             const struct weir_write_options *options, struct weir_result *result)
{
    return write_one(table, &(struct write){REQUEST_PUT, item, NULL, options}, result);
}

enum weir_status weir_delete_if(struct weir_table *table, const struct weir_item *key,
                                const struct weir_write_options *options,
                                struct weir_result *result)
{
    return write_one(table, &(struct write){REQUEST_DELETE, key, NULL, options}, result);
}

enum weir_status weir_update(struct weir_table *table, const struct weir_item *key,
                             const char *update, const struct weir_write_options *options,
                             struct weir_result *result)
{
    return write_one(table, &(struct write){REQUEST_UPDATE, key, update, options}, result);
}

/* ---- started writes ---- */

static int32_t take_started(struct weir *db)
{
    if (db->started_free == NONE) {
        size_t size = db->started_size == 0 ? 64 : db->started_size * 2;
        must(size <= INT32_MAX);
        db->started = must_have(realloc(db->started, size * sizeof db->started[0]));
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
    struct request r = s->request;
    r.id = (uint64_t)at;
    request_route(s->table, &r);
    node_server_request(db->server, FROM_START, &r);
}

/* The write is done with: its bytes become those of the completion. */
static void push_done(struct weir *db, struct started *s, const struct reply *r)
{
    struct reply kept = *r;
    buffer_clear(&s->bytes);
    weir_append_text(&s->bytes, r);
    s->text_size = s->bytes.size;
    message_copy_slices(answer_fields[kept.kind], &kept, &s->bytes);
    weir_result_of(&kept, &s->result);
    s->result.tag = s->tag;
    s->used = false;
    s->next = NONE;
    int32_t at = (int32_t)(s - db->started);
    if (db->done == NONE)
        db->done = at;
    else
        db->started[db->done_last].next = at;
    db->done_last = at;
    db->in_flight--;
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
}

static enum weir_status start_one(struct weir_table *table, const struct write *w, uint64_t tag)
{
    struct weir *db = table->db;
    struct request r;
    if (write_request(table, w, &r) != STATUS_OK)
        return WEIR_INVALID;
    weir_keep_up(db);
    int32_t at = take_started(db);
    struct started *s = &db->started[at];
    s->table = table;
    s->tag = tag;
    s->used = true;
    s->until = last_try(db);
    s->request = r;
    buffer_clear(&s->bytes);
    message_copy_slices(traits_of(&r)->fields, &s->request, &s->bytes);
    db->in_flight++;
    send_started(db, at);
    return WEIR_OK;
}

enum weir_status weir_put_start(struct weir_table *table, const struct weir_item *item,
                                uint64_t tag)
{
    return weir_put_if_start(table, item, NULL, tag);
}

enum weir_status weir_delete_start(struct weir_table *table, const struct weir_item *key,
                                   uint64_t tag)
{
    return weir_delete_if_start(table, key, NULL, tag);
}

enum weir_status weir_put_if_start(struct weir_table *table, const struct weir_item *item,
                                   const struct weir_write_options *options, uint64_t tag)
{
    return start_one(table, &(struct write){REQUEST_PUT, item, NULL, options}, tag);
}

enum weir_status weir_delete_if_start(struct weir_table *table, const struct weir_item *key,
                                      const struct weir_write_options *options, uint64_t tag)
{
    return start_one(table, &(struct write){REQUEST_DELETE, key, NULL, options}, tag);
}

enum weir_status weir_update_start(struct weir_table *table, const struct weir_item *key,
                                   const char *update, const struct weir_write_options *options,
                                   uint64_t tag)
{
    return start_one(table, &(struct write){REQUEST_UPDATE, key, update, options}, tag);
}

enum weir_status weir_complete(struct weir *db, struct weir_result *result)
{
    if (db->lent != NONE) {
        db->started[db->lent].next = db->started_free;
        db->started_free = db->lent;
        db->lent = NONE;
    }
    if (db->done == NONE && db->in_flight == 0)
        return WEIR_NOT_FOUND;
    while (db->done == NONE) {
        bool stale = db->stale != NONE;
        if (db->broken != 0)
            give_up_started(db);
        else if (stale)
            send_stale(db);
        if (db->done == NONE)
            weir_turn(db, stale ? instant_add(loop_now(db->loop), duration_ms(RETRY_MS))
                                : INSTANT_NEVER);
    }
    const struct started *s = &db->started[db->done];
    *result = s->result;
    buffer_clear(&db->error);
    buffer_append(&db->error, s->bytes.data, s->text_size);
    db->lent = db->done;
    db->done = s->next;
    return WEIR_OK;
}
