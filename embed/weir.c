/* weir.c - include/weir.h over one node on one loop.
 *
 * The node holds all partitions and leads group 0. A call steps the node, and if the answer needs
 * the disk, turns the loop until it is there. */
#include "include/weir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/must.h"
#include "embed/node_host.h"
#include "embed/weir_internal.h"
#include "engine/catalog/table.h"
#include "engine/item/storage_key.h"

enum {
    NODE = 1,
    FROM_CALLER = 1,
    FROM_START = 2,
    SETTLE_MS = 5000
};

struct weir_table {
    struct weir_table *next;
    struct weir *db;
    struct buffer bytes; /* table_encode */
    struct arena arena;
    struct table table;
};

struct weir {
    struct config config;
    struct loop *loop;
    struct node_host *node;
    struct weir_table *tables; /* owns */
    struct buffer key;
    struct buffer end;
    struct buffer error;
    struct instant keep_up_at; /* the next turn, even if nobody waits */
    /* the answer to the call being made */
    bool answered;
    struct reply reply;
    bool turning;       /* other events may follow the reply before the caller sees it: */
    struct buffer kept; /* what it lent is copied here then */
    /* completions of started writes: a ring */
    struct weir_result *done;
    size_t done_size;
    size_t done_head;
    size_t done_count;
    size_t in_flight;
};

/* ---- replies ---- */

static enum weir_status status_of(enum reply_code code)
{
    static const enum weir_status statuses[REPLY_CODES] = {
        [REPLY_OK] = WEIR_OK,
        [REPLY_THROTTLED] = WEIR_THROTTLED,
        [REPLY_WRONG_PARTITION] = WEIR_NOT_FOUND,
        [REPLY_OVERLOADED] = WEIR_BUSY,
        [REPLY_FULL] = WEIR_FULL,
        [REPLY_STOPPED] = WEIR_STOPPED,
        [REPLY_CORRUPT] = WEIR_CORRUPT,
        [REPLY_UNKNOWN] = WEIR_UNKNOWN,
        [REPLY_MALFORMED] = WEIR_INVALID,
        [REPLY_TABLE_EXISTS] = WEIR_EXISTS,
        [REPLY_TABLE_NOT_FOUND] = WEIR_NOT_FOUND,
        [REPLY_TABLE_BUSY] = WEIR_BUSY,
        [REPLY_LIMIT_EXCEEDED] = WEIR_LIMIT,
        [REPLY_NOT_LEADER] = WEIR_IO,
        [REPLY_STALE_MAP] = WEIR_BUSY,
        [REPLY_COLLECTION_FULL] = WEIR_LIMIT,
    };
    return statuses[code];
}

static void result_of(const struct reply *r, struct weir_result *out)
{
    *out = (struct weir_result){.status = status_of(r->code),
                                .reason = (enum weir_reason)r->verdict.reason,
                                .wait_ns = r->verdict.wait.ns,
                                .consumed_mcu = r->consumed_mcu,
                                .more = r->more};
}

static void push_done(struct weir *db, const struct reply *r)
{
    if (db->done_count == db->done_size) {
        size_t size = db->done_size == 0 ? 64 : db->done_size * 2;
        struct weir_result *done = calloc(size, sizeof *done);
        must(done != NULL);
        for (size_t i = 0; i < db->done_count; i++)
            done[i] = db->done[(db->done_head + i) % db->done_size];
        free(db->done);
        db->done = done;
        db->done_size = size;
        db->done_head = 0;
    }
    struct weir_result *result = &db->done[(db->done_head + db->done_count++) % db->done_size];
    result_of(r, result);
    result->tag = r->id;
    db->in_flight--;
}

static void on_reply(void *context, uint32_t node, uint64_t to, const struct reply *r)
{
    struct weir *db = context;
    (void)node;
    if (to == FROM_START) {
        push_done(db, r);
        return;
    }
    db->answered = true;
    db->reply = *r;
    if (!db->turning)
        return;
    buffer_clear(&db->kept);
    buffer_append_slice(&db->kept, r->body);
    buffer_append_slice(&db->kept, r->text);
    db->reply.body = slice_make(db->kept.data, r->body.size);
    db->reply.text = slice_make(db->kept.data + r->body.size, r->text.size);
}

static void on_request(void *context, uint32_t from, uint32_t to, const struct request *r)
{
    (void)context;
    (void)from;
    (void)r;
    must(to == NODE); /* the only one: the node answers itself */
}

static void on_send(void *context, uint32_t from, uint32_t to, struct slice frame)
{
    (void)context;
    (void)from;
    (void)frame;
    must(to == NODE); /* it has no peers */
}

/* What was asked since the last turn leaves with it; what it brings is answered in it. */
static void turn(struct weir *db, struct instant deadline)
{
    bool answered = db->answered;
    size_t in_flight = db->in_flight;
    db->turning = true;
    node_host_end_turn(db->node);
    if (db->answered != answered || db->in_flight != in_flight)
        deadline = loop_now(db->loop); /* somebody waits for that */
    must(loop_turn(db->loop, instant_earlier(deadline, node_host_deadline(db->node))) == STATUS_OK);
    node_host_end_turn(db->node);
    db->turning = false;
    db->keep_up_at = instant_add(loop_now(db->loop), duration_ms(1));
}

/* Time goes on for a caller whose requests are all answered at once, too. */
static void keep_up(struct weir *db)
{
    loop_read_clock(db->loop);
    if (!instant_before(loop_now(db->loop), db->keep_up_at))
        turn(db, loop_now(db->loop));
}

/* The reply to `r`: at once, or after as many turns as it takes. */
static const struct reply *call(struct weir *db, const struct request *r)
{
    keep_up(db);
    db->answered = false;
    node_host_request(db->node, FROM_CALLER, r);
    while (!db->answered)
        turn(db, INSTANT_NEVER);
    buffer_clear(&db->error);
    if (db->reply.text.size > 0)
        buffer_append_slice(&db->error, db->reply.text);
    return &db->reply;
}

static enum weir_status invalid(struct weir *db, const char *text, struct weir_result *result)
{
    buffer_clear(&db->error);
    buffer_append_text(&db->error, text);
    if (result != NULL)
        *result = (struct weir_result){.status = WEIR_INVALID};
    return WEIR_INVALID;
}

const char *weir_error(const struct weir *db)
{
    struct buffer *b = (struct buffer *)(uintptr_t)&db->error;
    *buffer_reserve(b, 1) = '\0';
    return (const char *)b->data;
}

struct loop *weir_loop(struct weir *db)
{
    return db->loop;
}

struct node *weir_node(struct weir *db)
{
    return node_host_node(db->node);
}

/* ---- databases ---- */

static enum status configure(struct weir *db, const char *settings, struct buffer *error)
{
    struct slice text = slice_of(settings == NULL ? "" : settings);
    enum profile profile = PROFILE_AWS;
    config_init(&db->config, profile);
    /* The profile first, wherever it stands: the other settings start from it. */
    static const char name[] = "profile";
    for (size_t at = 0; at < text.size;) {
        const uint8_t *newline = memchr(text.data + at, '\n', text.size - at);
        size_t end = newline == NULL ? text.size : (size_t)(newline - text.data);
        struct slice line = slice_make(text.data + at, end - at);
        const uint8_t *equals = memchr(line.data, '=', line.size);
        if (slice_starts_with(line, slice_of(name)) && equals != NULL) {
            struct slice value =
                slice_make(equals + 1, (size_t)(line.data + line.size - equals) - 1);
            while (value.size > 0 && value.data[0] == ' ')
                value = slice_make(value.data + 1, value.size - 1);
            if (!profile_parse(value, &profile)) {
                buffer_append_text(error, "profile is off, aws, strict or research");
                return STATUS_MALFORMED;
            }
            config_init(&db->config, profile);
        }
        at = end + 1;
    }
    enum status status = config_parse(&db->config, text, error);
    db->config.gac = GAC_OFF; /* there are no routers: the node keeps to what a table may use */
    return status == STATUS_OK ? config_check(&db->config, error) : status;
}

static enum status open_all(struct weir *db, const char *directory, const char *settings,
                            struct buffer *error)
{
    enum status status = configure(db, settings, error);
    if (status != STATUS_OK)
        return status;
    if (loop_create(&db->loop) != STATUS_OK) {
        buffer_append_format(error, "cannot set up io_uring: %s", strerror(errno));
        return STATUS_IO;
    }
    uint64_t seed;
    must(getrandom(&seed, sizeof seed, 0) == sizeof seed);
    struct node_host_options options = {
        .directory = directory,
        .node = {.config = &db->config, .id = NODE, .node_count = 1, .seed = seed},
        .reply = on_reply,
        .request = on_request,
        .send = on_send,
        .context = db,
    };
    status = node_host_open(db->loop, &options, error, &db->node);
    while (status == STATUS_OK && !node_is_ready(node_host_node(db->node)) &&
           !node_is_stopped(node_host_node(db->node)))
        turn(db, INSTANT_NEVER);
    return status;
}

enum weir_status weir_open(const char *directory, const char *settings, struct weir **out,
                           char **error)
{
    struct weir *db = calloc(1, sizeof *db);
    must(db != NULL);
    struct buffer text = {0};
    enum status status = open_all(db, directory, settings, &text);
    if (status == STATUS_OK) {
        *out = db;
    } else {
        weir_close(db);
        if (error != NULL)
            *error = strndup((const char *)text.data, text.size);
    }
    buffer_deinit(&text);
    switch (status) {
    case STATUS_OK:
        return WEIR_OK;
    case STATUS_MALFORMED:
        return WEIR_INVALID;
    case STATUS_CORRUPT:
        return WEIR_CORRUPT;
    case STATUS_FULL:
        return WEIR_FULL;
    default:
        return WEIR_IO;
    }
}

void weir_close(struct weir *db)
{
    while (db->tables != NULL) {
        struct weir_table *next = db->tables->next;
        buffer_deinit(&db->tables->bytes);
        arena_deinit(&db->tables->arena);
        free(db->tables);
        db->tables = next;
    }
    if (db->node != NULL)
        node_host_close(db->node);
    loop_destroy(db->loop);
    buffer_deinit(&db->key);
    buffer_deinit(&db->end);
    buffer_deinit(&db->error);
    buffer_deinit(&db->kept);
    free(db->done);
    free(db);
}

enum weir_status weir_checkpoint(struct weir *db)
{
    struct node *n = node_host_node(db->node);
    struct store *s = node_store(n);
    while (store_active_bytes(s) > 0 || store_is_frozen(s) || !node_is_idle(n)) {
        if (node_is_stopped(n))
            return WEIR_STOPPED;
        if (node_is_full(n))
            return WEIR_FULL;
        node_checkpoint_soon(n);
        turn(db, INSTANT_NEVER);
    }
    return WEIR_OK;
}

/* ---- tables ---- */

static enum weir_status fetch_table(struct weir *db, const char *name, struct weir_table *t)
{
    struct request r = {.op = REQUEST_TABLE_GET, .key = slice_of(name)};
    const struct reply *reply = call(db, &r);
    if (reply->code != REPLY_OK)
        return status_of(reply->code);
    buffer_clear(&t->bytes);
    arena_reset(&t->arena);
    buffer_append_slice(&t->bytes, reply->body);
    must(table_decode(buffer_slice(&t->bytes), &t->arena, &t->table) == STATUS_OK);
    return WEIR_OK;
}

enum weir_status weir_table_create(struct weir *db, const char *name,
                                   const struct weir_table_options *options)
{
    bool on_demand = options->read_units == 0 && options->write_units == 0;
    struct table_spec spec = {
        .name = slice_of(name),
        .billing = on_demand ? BILLING_ON_DEMAND : BILLING_PROVISIONED,
        .rcu = options->read_units,
        .wcu = options->write_units,
        .partition_key = {slice_of(options->partition_key),
                          (enum attr_type)options->partition_key_type},
    };
    if (options->sort_key != NULL)
        spec.sort_key =
            (struct key_attr){slice_of(options->sort_key), (enum attr_type)options->sort_key_type};
    buffer_clear(&db->key);
    table_spec_encode(&db->key, &spec);
    struct request r = {.op = REQUEST_TABLE_CREATE,
                        .body = buffer_slice(&db->key),
                        .wall_ms = loop_wall_ms(db->loop)};
    const struct reply *reply = call(db, &r);
    if (reply->code != REPLY_OK)
        return status_of(reply->code);
    struct weir_table t = {0};
    enum weir_status status = WEIR_OK;
    struct instant end = instant_add(loop_now(db->loop), duration_ms(SETTLE_MS));
    do {
        turn(db, instant_add(loop_now(db->loop), duration_ms(1)));
        status = fetch_table(db, name, &t);
    } while (status == WEIR_OK &&
             (t.table.status != TABLE_ACTIVE || !node_is_ready(node_host_node(db->node))) &&
             instant_before(loop_now(db->loop), end));
    buffer_deinit(&t.bytes);
    arena_deinit(&t.arena);
    return status;
}

enum weir_status weir_table_open(struct weir *db, const char *name, struct weir_table **out)
{
    struct weir_table *t = db->tables;
    while (t != NULL && !slice_is(t->table.name, name))
        t = t->next;
    if (t == NULL) {
        t = calloc(1, sizeof *t);
        must(t != NULL);
        enum weir_status status = fetch_table(db, name, t);
        if (status != WEIR_OK) {
            buffer_deinit(&t->bytes);
            arena_deinit(&t->arena);
            free(t);
            return status;
        }
        t->db = db;
        t->next = db->tables;
        db->tables = t;
    }
    *out = t;
    return WEIR_OK;
}

/* ---- requests ---- */

static bool key_attr(const struct key_attr *key, struct slice item, struct attr *out)
{
    return item_find(item, key->name, out) && out->type == key->type &&
           (out->type == ATTR_NUMBER || out->body.size > 0);
}

/* Where the item lives, in db->key; NULL or what is wrong. */
static const char *locate(struct weir_table *t, struct slice item, struct request *r)
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
    r->key = buffer_slice(&t->db->key);
    const struct partition_info *p = table_partition_of(&t->table, r->key);
    r->partition = p->id;
    r->epoch = p->epoch;
    return NULL;
}

/* The item's bytes and place; NULL or what is wrong with it. */
static const char *prepare(struct weir_table *t, const struct weir_item *item, bool stored,
                           struct request *r, struct slice *bytes)
{
    const char *wrong = weir_item_finish((struct weir_item *)(uintptr_t)item, stored, bytes);
    return wrong != NULL ? wrong : locate(t, *bytes, r);
}

enum weir_status weir_get(struct weir_table *table, const struct weir_item *key, bool consistent,
                          struct weir_result *result)
{
    struct request r = {.op = REQUEST_GET, .consistent = consistent};
    struct slice bytes;
    const char *wrong = prepare(table, key, false, &r, &bytes);
    if (wrong != NULL)
        return invalid(table->db, wrong, result);
    const struct reply *reply = call(table->db, &r);
    result_of(reply, result);
    if (reply->code == REPLY_OK && !reply->found)
        result->status = WEIR_NOT_FOUND;
    result->count = reply->found;
    result->items = reply->body.data;
    result->items_size = reply->body.size;
    result->single = true;
    return result->status;
}

static enum weir_status write_one(struct weir_table *table, enum request_op op,
                                  const struct weir_item *item, struct weir_result *result)
{
    struct request r = {.op = op};
    struct slice bytes;
    const char *wrong = prepare(table, item, op == REQUEST_PUT, &r, &bytes);
    if (wrong != NULL)
        return invalid(table->db, wrong, result);
    if (op == REQUEST_PUT)
        r.body = bytes;
    result_of(call(table->db, &r), result);
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

static enum weir_status start_one(struct weir_table *table, enum request_op op,
                                  const struct weir_item *item, uint64_t tag)
{
    struct weir *db = table->db;
    struct request r = {.op = op, .id = tag};
    struct slice bytes;
    const char *wrong = prepare(table, item, op == REQUEST_PUT, &r, &bytes);
    if (wrong != NULL)
        return invalid(db, wrong, NULL);
    if (op == REQUEST_PUT)
        r.body = bytes;
    keep_up(db);
    db->in_flight++;
    node_host_request(db->node, FROM_START, &r);
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
    while (db->done_count == 0)
        turn(db, INSTANT_NEVER);
    *result = db->done[db->done_head];
    db->done_head = (db->done_head + 1) % db->done_size;
    db->done_count--;
    return WEIR_OK;
}

/* The part of an item collection that lies in one partition, into `result`. */
static enum weir_status query_range(struct weir_table *t, const struct weir_query_options *options,
                                    struct weir_result *result)
{
    struct weir *db = t->db;
    struct slice from = options->reverse ? buffer_slice(&db->end) : buffer_slice(&db->key);
    const struct partition_info *p = table_partition_of(&t->table, from);
    struct request r = {.op = REQUEST_RANGE,
                        .partition = p->id,
                        .epoch = p->epoch,
                        .key = buffer_slice(&db->key),
                        .end = buffer_slice(&db->end),
                        .reverse = options->reverse,
                        .consistent = options->consistent,
                        .items_max = options->limit,
                        .bytes_max = PAGE_SIZE_MAX};
    const struct reply *reply = call(db, &r);
    result_of(reply, result);
    result->count = reply->count;
    result->items = reply->body.data;
    result->items_size = reply->body.size;
    return result->status;
}

enum weir_status weir_query(struct weir_table *table, const struct weir_item *key,
                            const struct weir_query_options *options, struct weir_result *result)
{
    static const struct weir_query_options none = {0};
    struct weir *db = table->db;
    struct request r = {0};
    struct slice bytes;
    struct attr partition;
    if (options == NULL)
        options = &none;
    const char *wrong = weir_item_finish((struct weir_item *)(uintptr_t)key, false, &bytes);
    if (wrong == NULL && !key_attr(&table->table.partition_key, bytes, &partition))
        wrong = "the key lacks the table's partition key, or it is empty or of another type";
    if (wrong != NULL)
        return invalid(db, wrong, result);
    struct buffer position = {0};
    if (options->after != NULL) {
        wrong = prepare(table, options->after, false, &r, &bytes);
        buffer_append_slice(&position, r.key);
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
                buffer_append_u8(bound, 0); /* the least key behind it */
        }
        query_range(table, options, result);
    } else {
        invalid(db, wrong, result);
    }
    buffer_deinit(&position);
    return result->status;
}
