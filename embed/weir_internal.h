/* weir_internal.h - declarations shared by the files behind include/weir.h. */
#pragma once

#include "base/config.h"
#include "engine/catalog/table_key.h"
#include "engine/expression/projection.h"
#include "engine/message/message.h"
#include "include/weir.h"
#include "server/host/node_host.h"

struct weir_item {
    struct buffer bytes; /* owns */
    const char *mistake; /* the first mistake; a static text, or `text` */
    bool finished;
    bool checked;
    struct item_writer writer; /* large, and unused once finished */
    char text[160];
};

/* The senders of requests to the node. */
enum {
    FROM_CALLER = 1, /* a call that waits for its answer */
    FROM_START = 2   /* a started write: the request's id is its place in `started` */
};

struct weir_table {
    struct weir_table *next;
    struct weir *db;
    struct buffer bytes; /* table_encode */
    struct arena arena;
    struct table table; /* as last fetched; splits make it stale */
};

/* A started write: until it is answered, the request, to send it again by a newer map; then the
 * completion, until the next one is taken. */
struct started {
    struct weir_table *table;
    uint64_t tag;
    bool used;                 /* without an answer */
    struct buffer bytes;       /* owns; the request's slices; then the completion's text and item */
    struct request request;    /* lends from `bytes` */
    struct weir_result result; /* lends from `bytes` */
    size_t text_size;
    struct instant until; /* end of the time in which it may be sent again */
    int32_t next;         /* next free, stale or completed element; -1: the last one */
};

struct weir {
    struct config config;
    struct loop *loop;
    struct node_host *host;     /* owns */
    struct node_server *server; /* borrows from the host */
    struct weir_table *tables;  /* owns */
    struct buffer key;
    struct buffer end;
    struct buffer key_item; /* the key attributes alone, as an item */
    struct buffer page;     /* of a query over several partitions, or with a projection */
    struct buffer last;     /* storage key that a page begins after, or ended at */
    struct buffer program;  /* of a condition or filter, then of an update */
    struct arena arena;     /* of the expressions of the call being made */
    struct buffer error;
    struct instant keep_up_at; /* the next turn, even if no caller waits */
    int broken;                /* errno of the loop: no answers come any more */
    /* the answer to the call being made */
    bool answered;
    struct reply reply;
    bool turning;       /* other events may follow the reply before the caller sees it: */
    struct buffer kept; /* then the bytes lent by the reply are copied here */
    /* started writes: indexes of `started`, or -1 */
    struct started *started; /* owns */
    size_t started_size;
    int32_t started_free;
    int32_t stale;     /* first of the writes to send again */
    int32_t done;      /* first completion */
    int32_t done_last; /* last completion; undefined if there is none */
    int32_t lent;      /* the completion that the caller reads */
    size_t in_flight;
};

/* ---- weir.c ---- */

/* Sends the requests made since the last turn, and takes the answers that come. */
void weir_turn(struct weir *db, struct instant deadline);
/* Makes a turn when one is due, for a caller whose requests are all answered at once. */
void weir_keep_up(struct weir *db);
/* The reply to `r`: at once, or after as many turns as it takes. Lends until the next call. */
const struct reply *weir_call(struct weir *db, const struct request *r);
enum weir_status weir_status_of(enum reply_code code);
/* WEIR_INVALID; db->error has the text. */
enum weir_status weir_refused(struct weir_result *result);
enum weir_status weir_invalid(struct weir *db, const char *text, struct weir_result *result);
/* A result of a get or write lends the reply's item. */
void weir_result_of(const struct reply *r, struct weir_result *out);
/* Why the reply is no success; nothing if there is nothing to say. */
void weir_append_text(struct buffer *out, const struct reply *r);

/* ---- weir_tables.c ---- */

/* The table as it is now, into `t`. */
enum weir_status weir_fetch_table(struct weir *db, struct slice name, struct weir_table *t);

/* ---- weir_expressions.c ---- */

/* Parse and check the expressions. The request lends the programs from db->program, the projection
 * lends from db->arena. Not STATUS_OK: db->error has the text. */
enum status weir_compile_write(struct weir_table *t, const char *update,
                               const struct weir_write_options *options, struct request *r);
enum status weir_compile_read(struct weir_table *t, const struct weir_query_options *options,
                              struct slice *filter, const struct projection **shown);

/* ---- weir_requests.c ---- */

/* Whether the item has the key attribute. */
bool weir_find_key(const struct key_attr *key, struct slice item, struct attr *out);
/* Appends the item's storage key; `key` lends from the item. Returns NULL, or the fault. */
const char *weir_locate(const struct weir_table *t, struct slice item, struct key *key,
                        struct buffer *out);
/* Sends the request to the partition of its key, by newer maps if need be. */
const struct reply *weir_call_routed(struct weir_table *t, struct request *r);
/* The answer to a started write. */
void weir_started_reply(struct weir *db, const struct reply *r);
void weir_started_deinit(struct weir *db);

/* For tests, which inject faults at the loop and verify the node. */
struct loop *weir_loop(struct weir *db);
struct node *weir_node(struct weir *db);

/* Completes the item. Returns NULL and its bytes, or the fault. The key of a read is checked less
 * strictly than an item to be stored. */
const char *weir_item_finish(struct weir_item *item, bool stored, struct slice *out);
