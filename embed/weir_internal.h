/* weir_internal.h - declarations shared by the files behind include/weir.h. */
#pragma once

#include "engine/catalog/table.h"
#include "include/weir.h"
#include "server/host/node_host.h"

struct weir_item {
    struct buffer bytes; /* owns */
    const char *mistake; /* the first mistake; a static text */
    bool finished;
    bool checked;
    struct item_writer writer; /* last: large, and unused once finished */
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

/* A write without an answer: the data to send it again by a newer map. */
struct started {
    struct weir_table *table;
    enum request_op op;
    uint64_t tag;
    bool used;
    struct buffer bytes; /* the key, then the item */
    size_t key_size;
    struct instant until; /* end of the time in which it may be sent again */
    int32_t next;         /* next free or stale element; -1: the last one */
};

struct weir {
    struct config config;
    struct loop *loop;
    struct node_host *host;     /* owns */
    struct node_server *server; /* borrows from the host */
    struct weir_table *tables;  /* owns */
    struct buffer key;
    struct buffer end;
    struct buffer page; /* of a query over several partitions */
    struct buffer error;
    struct instant keep_up_at; /* the next turn, even if no caller waits */
    int broken;                /* errno of the loop: no answers come any more */
    /* the answer to the call being made */
    bool answered;
    struct reply reply;
    bool turning;       /* other events may follow the reply before the caller sees it: */
    struct buffer kept; /* then the bytes lent by the reply are copied here */
    /* started writes; completions of them: a ring */
    struct started *started; /* owns */
    size_t started_size;
    int32_t started_free;
    int32_t stale; /* first of the writes to send again */
    struct weir_result *done;
    size_t done_size;
    size_t done_head;
    size_t done_count;
    size_t in_flight;
};

/* ---- weir.c ---- */

/* Sends the requests made since the last turn, and takes the answers that come. */
void weir_turn(struct weir *db, struct instant deadline);
/* Makes a turn when one is due, for a caller whose requests are all answered at once. */
void weir_keep_up(struct weir *db);
/* The reply to `r`: at once, or after as many turns as it takes. Lends until the next call. */
const struct reply *weir_call(struct weir *db, const struct request *r);
/* The table as it is now, into `t`. */
enum weir_status weir_fetch_table(struct weir *db, struct slice name, struct weir_table *t);
enum weir_status weir_invalid(struct weir *db, const char *text, struct weir_result *result);
void weir_result_of(const struct reply *r, struct weir_result *out);

/* ---- weir_requests.c ---- */

/* The answer to a started write. */
void weir_started_reply(struct weir *db, const struct reply *r);
void weir_started_deinit(struct weir *db);

/* For tests, which inject faults at the loop and verify the node. */
struct loop *weir_loop(struct weir *db);
struct node *weir_node(struct weir *db);

/* Completes the item. Returns NULL and its bytes, or the fault. The key of a read is checked less
 * strictly than an item to be stored. */
const char *weir_item_finish(struct weir_item *item, bool stored, struct slice *out);
