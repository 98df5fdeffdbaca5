/* list_streams.c - ListStreams: the streams of one table, or those of all tables in the order of
 * names.
 *
 * The catalog lists tables, not streams: a page of names is fetched, then each of these tables. */
#include "engine/message/request_traits.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"
#include "router/operations/operations.h"
#include "router/operations/streams.h"
#include "router/operations/table_description.h"

enum {
    STREAMS_MAX = 100,
    TABLES_STEP = 25 /* fetched at once */
};

struct list_streams {
    bool one;             /* of one table only */
    struct slice name;    /* the table, or the last one that was listed */
    struct slice label;   /* streams of the first table up to this one are left out; empty: none */
    uint32_t left;        /* streams */
    uint32_t table_count; /* being fetched */
    const struct table *tables[TABLES_STEP]; /* NULL: deleted meanwhile */
    bool more;                               /* tables */
    bool ended;
};

static void list_fetch(struct call *c, struct list_streams *l, struct slice name)
{
    struct subrequest *s = call_request(c, NULL, REQUEST_TABLE_GET);
    s->request.table.name = name;
    s->index = l->table_count;
    l->tables[l->table_count++] = NULL;
    subrequest_start(c->router, s);
}

static void list_names(struct call *c, struct list_streams *l)
{
    struct subrequest *s = call_request(c, NULL, REQUEST_TABLE_LIST);
    s->request.list.after = l->name;
    s->request.list.names_max = TABLES_STEP;
    subrequest_start(c->router, s);
}

static bool list_streams_begin(struct call *c, const struct json_value m[])
{
    struct list_streams *l = arena_zalloc(&c->arena, sizeof *l);
    const struct json_value *after = &m[LIST_STREAMS_EXCLUSIVE_START_STREAM_ARN];
    const struct json_value *name = &m[LIST_STREAMS_TABLE_NAME];
    c->state = l;
    l->one = name->type == JSON_STRING;
    l->left = (uint32_t)shape_integer(&m[LIST_STREAMS_LIMIT], STREAMS_MAX);
    l->more = !l->one;
    if (after->type == JSON_STRING && !call_stream_named(c, after, &l->name, &l->label))
        return false;
    const struct slice requested =
        l->one ? arena_copy(&c->arena, shape_table_of(json_string(name))) : l->name;
    if (l->one && l->label.size > 0 && !slice_equal(requested, l->name))
        return call_invalid(c, INVALID "ExclusiveStartStreamArn is not of the table %.*s",
                            SHOWN(requested));
    l->name = requested;
    json_write_open_with(&c->body, "Streams", '[');
    if (requested.size > 0)
        list_fetch(c, l, requested);
    else
        list_names(c, l);
    return true;
}

static bool list_take_names(struct call *c, struct list_streams *l, const struct reply *r)
{
    struct reader names = {r->page.records, false};
    l->more = r->page.more && r->page.count > 0;
    for (uint32_t i = 0; i < r->page.count && i < TABLES_STEP && !names.failed; i++) {
        l->name = arena_copy(&c->arena, reader_sized(&names));
        list_fetch(c, l, l->name);
    }
    return !names.failed ||
           fault_set(call_fault(c), FAULT_INTERNAL, "The catalog's answer is invalid");
}

static bool list_streams_reply(struct call *c, struct subrequest *s, const struct reply *r)
{
    struct list_streams *l = c->state;
    if (r->code == REPLY_TABLE_NOT_FOUND && !l->one)
        return true;
    if (s->request.op == REQUEST_TABLE_LIST)
        return r->code == REPLY_OK ? list_take_names(c, l, r) : call_refuse(c, s, r);
    struct table *t = arena_zalloc(&c->arena, sizeof *t);
    l->tables[s->index] = t;
    return table_take_reply(c, s, r, t);
}

static void list_write(struct call *c, struct list_streams *l, const struct table *t,
                       const struct table_stream *stream)
{
    struct buffer text = {0};
    stream_arn_append(&text, c, t->name, stream);
    if (l->left-- == 0) {
        l->ended = true;
        buffer_deinit(&text);
        return;
    }
    const struct slice arn = arena_copy(&c->arena, buffer_slice(&text));
    json_write_open(&c->body, '{');
    json_member_string(&c->body, "StreamArn", arn);
    json_member_string(&c->body, "TableName", t->name);
    buffer_clear(&text);
    table_stream_append_label(&text, stream);
    json_member_string(&c->body, "StreamLabel", buffer_slice(&text));
    json_write_close(&c->body, '}');
    c->table_arn = arn; /* the last one that was written */
    buffer_deinit(&text);
}

/* Writes the streams of a table that come after the label. */
static void list_write_table(struct call *c, struct list_streams *l, const struct table *t)
{
    const struct table_streams *set = t->stream_set;
    struct buffer label = {0};
    for (uint32_t i = 0; set != NULL && i < set->count && !l->ended; i++) {
        buffer_clear(&label);
        table_stream_append_label(&label, &set->at[i]);
        if (stream_is_shown(c->router, &set->at[i]) &&
            slice_compare(l->label, buffer_slice(&label)) < 0)
            list_write(c, l, t, &set->at[i]);
    }
    l->label = slice_make(NULL, 0);
    buffer_deinit(&label);
}

static bool list_streams_finish(struct call *c)
{
    struct list_streams *l = c->state;
    for (uint32_t i = 0; i < l->table_count && !l->ended; i++) {
        if (l->tables[i] != NULL)
            list_write_table(c, l, l->tables[i]);
    }
    l->table_count = 0;
    if (l->more && !l->ended) {
        list_names(c, l);
        return true;
    }
    json_write_close(&c->body, ']');
    if (l->ended)
        json_member_string(&c->body, "LastEvaluatedStreamArn", c->table_arn);
    json_write_close(&c->body, '}');
    return true;
}

OPERATION(list_streams, "ListStreams", .of_streams = true, .begin = list_streams_begin,
          .reply = list_streams_reply, .finish = list_streams_finish);
