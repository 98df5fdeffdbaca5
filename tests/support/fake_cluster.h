/* fake_cluster.h - a router and a double of the cluster behind it, for tests of the router alone.
 *
 * Nodes and catalog answer from memory, and clients are buffers. Answers come at once, or a test
 * delivers held answers one by one, in any order, or never.
 * Why a double: a test gives single requests the answers that it wants (any refusal, any leader,
 * any order). Fuzz targets need thousands of runs a second. What a router and nodes do together is
 * tested in a simulated world (tests/support/lab.h).
 * The double is no kinder than the cluster. A request needs a partition of the right epoch with a
 * replica on that node and a key inside its range. An item is checked. A request that the router
 * may not send fails a must.
 * The rows of indexes change with their item. */
#pragma once

#include "base/config.h"
#include "engine/catalog/table.h"
#include "router/core/router.h"
#include "tests/support/fake_gac.h"

enum {
    FAKE_TABLES_MAX = 16,
    FAKE_CLIENTS_MAX = 64,
    FAKE_NODES = 3
};
#define FAKE_WALL_MS INT64_C(1700000000123) /* at the start */

struct fake_item {
    struct buffer key;
    struct buffer item;
};

/* A request that the router has sent, and that is not answered yet. */
struct fake_request {
    uint32_t node;
    struct buffer frame; /* request_encode's */
};

struct fake_client {
    struct buffer received;
    bool open;
    bool closed;  /* by the router */
    bool aborted; /* by the router, without waiting for what is unsent */
    bool unread;  /* reads nothing: what it is sent stays unsent */
    size_t unsent;
};

/* A frame for a server of global admission control. */
struct fake_frame {
    uint32_t server;
    struct buffer bytes;
};

struct fake_cluster {
    struct config config; /* gac = off, unless a test turns it on */
    struct fake_gac *gac; /* borrows; NULL: none */
    uint64_t seed;
    struct router *router;
    struct instant now;
    struct waiting waited; /* of the bytes that are sent next, for the processor */
    struct table tables[FAKE_TABLES_MAX];
    struct partition_info partitions[FAKE_TABLES_MAX][8];
    struct buffer names; /* of tables and keys */
    struct arena arena;  /* sets of indexes */
    uint32_t table_count;
    uint32_t next_partition;
    struct fake_item *items; /* in key order */
    size_t item_count;       /* and rows of local indexes */
    size_t item_room;
    struct buffer tokens; /* of updates that were done: each sized key, sized token */
    struct buffer last;   /* the key that the last answer about a range lends */
    bool on_loopback;
    const char *admin_token;
    const char *region, *account; /* of router_options; NULL: not given */
    void (*answered)(void *context, const struct router_answer *a); /* the context is the cluster */
    uint32_t down;     /* bit i: node i cannot be reached */
    uint32_t hung;     /* bit i: node i does not answer; requests to it are held */
    uint32_t leader;   /* leads partitions and catalog; 0: each node does, node 1 the catalog */
    bool no_leader;    /* no node leads a partition; refusals name `leader` all the same */
    bool hold_changes; /* tables stay CREATING or DELETING */
    int64_t agreed_ms; /* what the clocks of most nodes have reached */
    bool hold_indexes; /* tables of global indexes stay CREATING or UPDATING */
    bool hold;         /* requests to nodes are held, except pings */
    struct fake_request *held;
    size_t held_count;
    size_t held_room;
    bool hold_parse;            /* large texts wait for fake_parse */
    struct router_effect parse; /* the text that waits; its `parse` is NULL: none does */
    bool stands; /* the pump ends with the router's turn: a call that rests goes on at fake_turn */
    bool hold_gac; /* frames stay on their way until fake_deliver_gac */
    struct fake_frame *frames;
    size_t frame_count;
    struct fake_client clients[FAKE_CLIENTS_MAX + 1]; /* by connection id, from 1 */
    /* the next `fail_count` data requests get this answer */
    enum reply_code fail_code;
    enum admit_reason fail_reason;
    int64_t fail_wait_us;
    int fail_count;
    int fail_after; /* after this many were answered */
    uint32_t
        range_items_max; /* a node looks at so many items for a range, then has more; 0: at all */
    uint64_t applied;    /* the last entry of every partition's log */
    uint64_t follower_applied; /* followers have applied so much of it */
    bool index_behind;         /* global indexes lack changes */
    uint64_t seen;             /* nodes know sharded keys only up to this version; 0: all */
    uint64_t read_max;         /* steps of a turn's values: the most so far */
    /* requests so far, by operation */
    int64_t requests[REQUEST_OPS];
};

/* Call fake_start after changing the configuration. */
void fake_init(struct fake_cluster *f);
void fake_start(struct fake_cluster *f);
void fake_deinit(struct fake_cluster *f);

/* An active table with `partitions` equal ranges of the hash space. sort_name NULL: no sort key. */
struct table *fake_table(struct fake_cluster *f, const char *name, const char *key_name,
                         enum attr_type key_type, const char *sort_name, enum attr_type sort_type,
                         uint32_t partitions);
/* From now on the catalog tells these indexes of the table. Copies them. */
void fake_set_indexes(struct fake_cluster *f, struct table *t, const struct index_set *set);
/* Gives the table a registry of sharded keys, whose nodes know it at once. */
void fake_shard_keys(struct fake_cluster *f, struct table *t, const struct key_sharding *registry);
/* The item with this storage key goes to another shard of its partition key. */
void fake_move_item(struct fake_cluster *f, struct slice key, uint64_t bare, uint32_t shard);
/* Cuts the table's ranges anew: the router's map is out of date then. */
void fake_repartition(struct fake_cluster *f, struct table *t, uint32_t partitions);

/* ---- clients ---- */

void fake_open(struct fake_cluster *f, uint64_t connection);
void fake_send(struct fake_cluster *f, uint64_t connection, struct slice bytes);
/* Sends a whole request, on a connection that is opened if it is not open. */
void fake_send_call(struct fake_cluster *f, uint64_t connection, const char *operation,
                    const char *body);
void fake_open_admin(struct fake_cluster *f, uint64_t connection);
/* A client with `unread` has now taken all but `left` bytes. */
void fake_read(struct fake_cluster *f, uint64_t connection, size_t left);
void fake_send_text(struct fake_cluster *f, uint64_t connection, const char *text);

/* Lets time pass, with a tick at each of the router's deadlines. */
void fake_advance_ms(struct fake_cluster *f, int64_t ms);

/* Takes the router's effects until there are none, and no call rests. */
void fake_pump(struct fake_cluster *f);
/* Parses the text that waits. The effects come with the next pump or turn. */
void fake_parse(struct fake_cluster *f);
/* One more turn of the router's loop. */
void fake_turn(struct fake_cluster *f);

/* A held request; its slices lend from the frame while that is held. */
struct request fake_held(const struct fake_cluster *f, size_t index);
/* Answers held requests: the one at `index`, all, with a reply (its id is set), or with a code. */
void fake_answer(struct fake_cluster *f, size_t index);
void fake_answer_all(struct fake_cluster *f);
void fake_answer_with(struct fake_cluster *f, size_t index, const struct reply *given);
void fake_answer_code(struct fake_cluster *f, size_t index, enum reply_code code);

/* ---- global admission control ---- */

/* Frames held so far arrive. */
void fake_deliver_gac(struct fake_cluster *f);
/* The link to the server closes, or is open again. */
void fake_gac_down(struct fake_cluster *f, uint32_t server, bool gone);
void fake_gac_up(struct fake_cluster *f, uint32_t server);

/* ---- HTTP from the client's side ---- */

struct fake_answer {
    int status;        /* 0: none has come */
    struct slice head; /* status line and header lines */
    struct slice body;
};

/* Takes the first answer from what the client has received. Checks Content-Length and x-amz-crc32.
 * Lends until the next call. */
struct fake_answer fake_take_answer(struct fake_cluster *f, uint64_t connection);
/* The value of a header line, or an empty slice. */
struct slice fake_header(struct fake_answer a, const char *name);

/* Sends a POST with X-Amz-Target and the body on connection 1, which is opened if needed. Returns
 * the answer. */
struct fake_answer fake_call(struct fake_cluster *f, const char *operation, const char *body);
/* Appends the request that fake_call sends. An operation with a dot is the whole X-Amz-Target. */
void fake_request_text(struct buffer *out, const char *operation, struct slice body);
