/* weir.c - include/weir.h over one node on one loop.
 *
 * The node holds all partitions and leads group 0. A call steps the node. If the answer needs the
 * disk, the call turns the loop until the answer comes. */

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/settings/choices.h"
#include "embed/weir_internal.h"
#include "engine/expression/update_program.h"
#include "engine/message/request_traits.h"

enum {
    NODE = 1
};

/* ---- replies ---- */

enum weir_status weir_status_of(enum reply_code code)
{
    switch (code) { /* without default: the compiler names a code that is missing */
    case REPLY_OK:
        return WEIR_OK;
    case REPLY_THROTTLED:
        return WEIR_THROTTLED;
    case REPLY_WRONG_PARTITION:
    case REPLY_OVERLOADED:
    case REPLY_TABLE_BUSY:
    case REPLY_STALE_MAP:
    case REPLY_LOCKED:
        return WEIR_BUSY;
    case REPLY_FULL:
        return WEIR_FULL;
    case REPLY_STOPPED:
        return WEIR_STOPPED;
    case REPLY_CORRUPT:
        return WEIR_CORRUPT;
    case REPLY_UNKNOWN:
        return WEIR_UNKNOWN;
    case REPLY_MALFORMED:
    case REPLY_TABLE_INVALID:
    case REPLY_UPDATE_FAILED:
        return WEIR_INVALID;
    case REPLY_TABLE_EXISTS:
        return WEIR_EXISTS;
    case REPLY_TABLE_NOT_FOUND:
        return WEIR_NOT_FOUND;
    case REPLY_LIMIT_EXCEEDED:
    case REPLY_COLLECTION_FULL:
        return WEIR_LIMIT;
    case REPLY_CONDITION_FAILED:
        return WEIR_CONDITION_FAILED;
    case REPLY_TOKEN_DONE: /* the library begins no transactions */
    case REPLY_TOKEN_RUNS:
    case REPLY_TOKEN_MISMATCH:
    case REPLY_ABORTED:
    case REPLY_SPREAD:
    case REPLY_NOT_LEADER:
    case REPLY_CODES:
        break;
    }
    return WEIR_IO;
}

void weir_result_of(const struct reply *r, struct weir_result *out)
{
    *out = (struct weir_result){.status = weir_status_of(r->code),
                                .reason = (enum weir_reason)r->verdict.reason,
                                .wait_ns = r->verdict.wait.ns < INT64_MAX ? r->verdict.wait.ns : 0,
                                .consumed_mcu = r->consumed_mcu};
    if (r->kind != ANSWER_ITEM)
        return;
    out->single = true;
    if (!r->item.found)
        return;
    out->count = 1;
    out->items = r->item.bytes.data;
    out->items_size = r->item.bytes.size;
}

void weir_append_text(struct buffer *out, const struct reply *r)
{
    if (r->code == REPLY_CONDITION_FAILED)
        buffer_append_text(out, "the item does not fulfil the condition");
    else if (r->code == REPLY_UPDATE_FAILED)
        buffer_append_format(out, "update: %s", update_fault_text(r->item.fault));
    else
        buffer_append_slice(out, r->text);
}

static void on_reply(void *context, uint64_t to, const struct reply *r)
{
    struct weir *db = context;
    if (to == FROM_START) {
        weir_started_reply(db, r);
        return;
    }
    db->answered = true;
    db->reply = *r;
    if (!db->turning)
        return;
    buffer_set(&db->kept, r->text);
    message_copy_slices(answer_fields[r->kind], &db->reply, &db->kept);
    db->reply.text = slice_make(db->kept.data, r->text.size);
}

static void on_request(UNUSED void *context, uint32_t node, UNUSED const struct request *r)
{
    must(node == NODE); /* the only node: it answers itself */
}

static void on_envelope(UNUSED void *context, uint32_t node, UNUSED struct slice frame)
{
    must(node == NODE); /* the node has no peers */
}

void weir_turn(struct weir *db, struct instant deadline)
{
    bool answered = db->answered;
    size_t in_flight = db->in_flight;
    db->turning = true;
    node_server_turn(db->server);
    if (db->answered != answered || db->in_flight != in_flight)
        deadline = loop_now(db->loop); /* a caller waits for that */
    if (loop_turn(db->loop, instant_earlier(deadline, node_server_deadline(db->server))) !=
        STATUS_OK)
        db->broken = errno != 0 ? errno : EIO;
    node_server_turn(db->server);
    db->turning = false;
    db->keep_up_at = instant_add(loop_now(db->loop), duration_ms(1));
}

void weir_keep_up(struct weir *db)
{
    loop_read_clock(db->loop);
    if (!instant_before(loop_now(db->loop), db->keep_up_at))
        weir_turn(db, loop_now(db->loop));
}

/* The loop has failed: the node's answers never come. */
static void answer_broken(struct weir *db)
{
    buffer_clear(&db->kept);
    buffer_append_format(&db->kept, "the loop of system calls has failed: %s",
                         strerror(db->broken));
    db->reply = (struct reply){.code = REPLY_UNKNOWN, .text = buffer_slice(&db->kept)};
    db->answered = true;
}

const struct reply *weir_call(struct weir *db, const struct request *r)
{
    weir_keep_up(db);
    db->answered = false;
    node_server_request(db->server, FROM_CALLER, r);
    while (!db->answered && db->broken == 0)
        weir_turn(db, INSTANT_NEVER);
    if (!db->answered)
        answer_broken(db);
    buffer_clear(&db->error);
    weir_append_text(&db->error, &db->reply);
    return &db->reply;
}

enum weir_status weir_refused(struct weir_result *result)
{
    if (result != NULL)
        *result = (struct weir_result){.status = WEIR_INVALID};
    return WEIR_INVALID;
}

enum weir_status weir_invalid(struct weir *db, const char *text, struct weir_result *result)
{
    buffer_clear(&db->error);
    buffer_append_text(&db->error, text);
    return weir_refused(result);
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
    return node_server_node(db->server);
}

/* ---- databases ---- */

static enum status weir_configure(struct weir *db, const char *settings, struct buffer *error)
{
    config_init(&db->config, PROFILE_AWS);
    enum status status =
        config_parse(&db->config, slice_of(settings == NULL ? "" : settings), error);
    /* no routers: the node keeps the limit of a table */
    config_edit_choices(&db->config)->gac = GAC_OFF;
    return status == STATUS_OK ? config_check(&db->config, error) : status;
}

static enum status open_all(struct weir *db, const char *directory, const char *settings,
                            struct buffer *error)
{
    enum status status = weir_configure(db, settings, error);
    if (status != STATUS_OK)
        return status;
    if (loop_create(&db->loop) != STATUS_OK)
        return loop_explain(error);
    uint64_t seed;
    must(getrandom(&seed, sizeof seed, 0) == sizeof seed);
    struct node_host_options options = {
        .directory = directory,
        .node = {.config = &db->config, .id = NODE, .node_count = 1, .seed = seed},
        .messages = {.context = db,
                     .reply = on_reply,
                     .request = on_request,
                     .envelope = on_envelope},
    };
    status = node_host_open(db->loop, &options, error, &db->host);
    if (status == STATUS_OK)
        db->server = node_host_server(db->host);
    while (status == STATUS_OK && !node_is_ready(node_server_node(db->server)) &&
           !node_is_stopped(node_server_node(db->server)) && db->broken == 0)
        weir_turn(db, INSTANT_NEVER);
    if (db->broken != 0)
        return buffer_explain(error, STATUS_IO, "the loop of system calls has failed: %s",
                              strerror(db->broken));
    return status;
}

enum weir_status weir_open(const char *directory, const char *settings, struct weir **out,
                           char **error)
{
    struct weir *db = must_calloc(1, sizeof *db);
    db->started_free = db->stale = db->done = db->lent = -1;
    struct buffer text = {0};
    *out = NULL;
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
    if (db == NULL)
        return;
    while (db->tables != NULL) {
        struct weir_table *next = db->tables->next;
        buffer_deinit(&db->tables->bytes);
        arena_deinit(&db->tables->arena);
        free(db->tables);
        db->tables = next;
    }
    if (db->host != NULL)
        node_host_close(db->host);
    loop_destroy(db->loop);
    buffer_deinit(&db->key);
    buffer_deinit(&db->end);
    buffer_deinit(&db->error);
    buffer_deinit(&db->kept);
    buffer_deinit(&db->key_item);
    buffer_deinit(&db->page);
    buffer_deinit(&db->last);
    buffer_deinit(&db->program);
    arena_deinit(&db->arena);
    weir_started_deinit(db);
    free(db);
}

enum weir_status weir_checkpoint(struct weir *db)
{
    struct node *n = node_server_node(db->server);
    struct store *s = node_store(n);
    while (store_active_bytes(s) > 0 || store_is_frozen(s) || !node_is_idle(n)) {
        if (node_is_stopped(n) || db->broken != 0)
            return WEIR_STOPPED;
        if (node_is_full(n))
            return WEIR_FULL;
        node_checkpoint_soon(n);
        weir_turn(db, INSTANT_NEVER);
    }
    return WEIR_OK;
}
